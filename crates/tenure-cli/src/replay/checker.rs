//! Checks of the bytes that the GPU reads.

use tenure::device::Device;
use tenure::{Buffer, Error, Gpu, Recording, State, SyncPoint, sim};

use super::counted::Counted;
use super::live_objects::Content;

/// The expected first bytes of a buffer at one point of a recording.
pub(super) struct CheckedRead<'a, D: Device> {
    /// The buffer, in the state for vertex reads.
    pub(super) buffer: &'a Buffer<D>,
    /// Slot of the buffer, because names are not unique.
    pub(super) slot: usize,
    /// The expected bytes.
    pub(super) content: Content,
}

/// Compares the bytes that the GPU reads with the expected ones.
pub(super) trait ReadChecker<D: Device> {
    /// Creates the checker's resources, before any other resource exists.
    fn begin(&mut self, gpu: &Gpu<D>) -> Result<(), Error>;

    /// Records a checked read of a buffer.
    fn record_read(
        &mut self,
        gpu: &Gpu<D>,
        recording: &mut Recording<D>,
        read: &CheckedRead<'_, D>,
    ) -> Result<(), Error>;

    /// Notes that reads recorded since the last call are complete at `at`. Called once per frame.
    fn submitted(&mut self, gpu: &Gpu<D>, at: SyncPoint) -> Result<(), Error>;

    /// Drops the resources of the checker and returns the number of checked reads. All submissions
    /// must be complete.
    fn finish(&mut self) -> Result<u64, Error>;
}

/// The checker for the simulated device, which compares the bytes and reports hazards.
#[derive(Default)]
pub(super) struct SimulatedChecker {
    recorded: u64,
}

/// The simulated device, or a wrapper around it.
pub(super) trait InSimulation: Device {
    /// The simulated device's command list.
    fn list(list: &Self::List) -> &sim::List;

    /// The simulated device's resource.
    fn resource(resource: &Self::Resource) -> &sim::Resource;
}

impl InSimulation for sim::Device {
    fn list(list: &Self::List) -> &sim::List {
        list
    }

    fn resource(resource: &Self::Resource) -> &sim::Resource {
        resource
    }
}

impl InSimulation for Counted<sim::Device> {
    fn list(list: &Self::List) -> &sim::List {
        list.inner()
    }

    fn resource(resource: &Self::Resource) -> &sim::Resource {
        resource.inner()
    }
}

impl<D: InSimulation> ReadChecker<D> for SimulatedChecker {
    fn begin(&mut self, _: &Gpu<D>) -> Result<(), Error> {
        Ok(())
    }

    fn record_read(
        &mut self,
        _: &Gpu<D>,
        recording: &mut Recording<D>,
        read: &CheckedRead<'_, D>,
    ) -> Result<(), Error> {
        let CheckedRead { buffer, content, .. } = read;
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(buffer)?;
        let (list, resource, bytes) = (D::list(commands.raw()), D::resource(place.raw()), content.bytes());
        list.use_buffer(resource, place.offset(), bytes.len() as u64, State::VERTEX_OR_CONSTANT);
        list.expect_bytes(resource, place.offset(), bytes);
        self.recorded += 1;
        Ok(())
    }

    fn submitted(&mut self, _: &Gpu<D>, _: SyncPoint) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self) -> Result<u64, Error> {
        Ok(self.recorded)
    }
}
