//! Seeing to it that the GPU reads the bytes that it should.

use tenure::device::{Device, State};
use tenure::time::SyncPoint;
use tenure::{Buffer, Error, Gpu, Recording, sim};

use super::objects::Content;

/// What a buffer begins with at one point of a recording.
pub(super) struct Sight<'a, D: Device> {
    /// The buffer, in the state in which draws read vertices.
    pub(super) buffer: &'a Buffer<D>,
    /// Its number, to tell it from others of its name.
    pub(super) slot: usize,
    /// The bytes that the GPU should read there.
    pub(super) content: Content,
}

/// Looks at what the GPU reads.
pub(super) trait Witness<D: Device> {
    /// Makes ready, before anything else is created.
    fn begin(&mut self, gpu: &Gpu<D>) -> Result<(), Error>;

    /// Records a read of a buffer, and that it is to be checked.
    fn look(&mut self, gpu: &Gpu<D>, recording: &mut Recording<D>, sight: &Sight<'_, D>)
    -> Result<(), Error>;

    /// What was recorded since the last time is complete at `at`. Called once a frame.
    fn submitted(&mut self, gpu: &Gpu<D>, at: SyncPoint) -> Result<(), Error>;

    /// Everything submitted is complete: drops what it created, and says how many reads were
    /// checked.
    fn finish(&mut self) -> Result<u64, Error>;
}

/// The simulated device reads and checks by itself, and reports hazards.
#[derive(Default)]
pub(super) struct Itself {
    looked: u64,
}

impl Witness<sim::Device> for Itself {
    fn begin(&mut self, _: &Gpu<sim::Device>) -> Result<(), Error> {
        Ok(())
    }

    fn look(
        &mut self,
        _: &Gpu<sim::Device>,
        recording: &mut Recording<sim::Device>,
        sight: &Sight<'_, sim::Device>,
    ) -> Result<(), Error> {
        let Sight { buffer, content, .. } = sight;
        let (list, bytes) = (recording.raw(), content.bytes());
        list.use_buffer(buffer.raw(), buffer.offset(), bytes.len() as u64, State::VERTEX_OR_CONSTANT);
        list.expect_bytes(buffer.raw(), buffer.offset(), bytes);
        self.looked += 1;
        Ok(())
    }

    fn submitted(&mut self, _: &Gpu<sim::Device>, _: SyncPoint) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self) -> Result<u64, Error> {
        Ok(self.looked)
    }
}
