//! Checking bytes on a device that does not: the GPU copies them to where the CPU can read them.

use std::collections::VecDeque;

use tenure::device::{BufferInfo, Device, DeviceError, Permit, ResourceDesc, State, Usage};
use tenure::memory::type_order;
use tenure::time::SyncPoint;
use tenure::{Buffer, BufferDesc, Error, Gpu, MemoryUse, Name, Recording};

use super::counted::Counted;
use super::hazards::Hazards;
use super::objects::{Content, FOLLOWED};
use super::traffic::DRAWS;
use super::witness::{Sight, Witness};

/// Copies what draws would read into a buffer of its own, which the device does not count, and
/// compares when the submission is complete.
pub(super) struct Readbacks<'a, D: Device> {
    hazards: &'a Hazards,
    /// A part for each frame that may be in flight. `None` before it begins and when it is done.
    buffer: Option<Buffer<Counted<D>>>,
    unused: Vec<Part>,
    /// What is being recorded.
    open: Option<Batch>,
    /// What was submitted, oldest first.
    in_flight: VecDeque<(SyncPoint, Batch)>,
    /// Reads that were compared.
    checked: u64,
}

/// A part of the buffer: its first byte.
#[derive(Clone, Copy)]
struct Part(u64);

/// Bytes of one.
const PART: u64 = (DRAWS * FOLLOWED) as u64;

/// The copies of one submission, one after the other.
struct Batch {
    part: Part,
    copies: Vec<Copied>,
}

struct Copied {
    name: Name,
    slot: usize,
    expected: Content,
}

impl Batch {
    /// Where copy number `index` is in the buffer.
    const fn offset(&self, index: usize) -> u64 {
        self.part.0 + (index * FOLLOWED) as u64
    }
}

impl<'a, D: Device> Readbacks<'a, D> {
    /// Wrong bytes go to `hazards`.
    pub(super) fn new(hazards: &'a Hazards) -> Self {
        let in_flight = VecDeque::new();
        Self { hazards, buffer: None, unused: Vec::new(), open: None, in_flight, checked: 0 }
    }

    /// The part for the submission that is being recorded.
    fn part(&mut self, gpu: &Gpu<Counted<D>>) -> Result<Option<Part>, Error> {
        if self.unused.is_empty()
            && let Some((at, _)) = self.in_flight.front()
        {
            let patience = gpu.config().frame_timeout;
            if !gpu.wait(at, patience)? {
                let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
                return Err(Error::Timeout { what: "an earlier frame", waited_ms });
            }
            self.check_completed(gpu)?;
        }
        Ok(self.unused.pop())
    }

    fn check_completed(&mut self, gpu: &Gpu<Counted<D>>) -> Result<(), Error> {
        let completed = gpu.completed()?;
        while let Some((_, batch)) = self.in_flight.pop_front_if(|(at, _)| at.is_covered_by(&completed)) {
            self.check(&batch)?;
        }
        Ok(())
    }

    fn check(&mut self, batch: &Batch) -> Result<(), Error> {
        let Some(buffer) = &self.buffer else { return Ok(()) };
        for (index, Copied { name, slot, expected }) in batch.copies.iter().enumerate() {
            let mut found = [0; FOLLOWED];
            let expected = expected.bytes();
            let found = &mut found[..expected.len()];
            buffer.read(batch.offset(index), found)?;
            if found != expected {
                self.hazards.report(format_args!(
                    "wrong bytes: the GPU read {found:02x?} at the beginning of '{name}' in slot {slot}, not \
                     {expected:02x?}"
                ));
            }
        }
        self.checked += batch.copies.len() as u64;
        self.unused.push(batch.part);
        Ok(())
    }
}

impl<D: Device> Witness<Counted<D>> for Readbacks<'_, D> {
    fn begin(&mut self, gpu: &Gpu<Counted<D>>) -> Result<(), Error> {
        let parts = u64::from(gpu.config().frames_in_flight);
        self.buffer = Some(create(gpu, parts * PART)?);
        self.unused = (0..parts).map(|part| Part(part * PART)).collect();
        Ok(())
    }

    fn look(
        &mut self,
        gpu: &Gpu<Counted<D>>,
        recording: &mut Recording<Counted<D>>,
        sight: &Sight<'_, Counted<D>>,
    ) -> Result<(), Error> {
        if self.open.is_none() {
            let part = self.part(gpu)?;
            self.open = part.map(|part| Batch { part, copies: Vec::with_capacity(DRAWS) });
        }
        let (Some(to), Some(batch)) = (&self.buffer, &mut self.open) else { return Ok(()) };
        let Sight { buffer, slot, content: expected } = *sight;
        let offset = batch.offset(batch.copies.len());
        recording.copy_buffer(buffer, 0, to, offset, expected.bytes().len() as u64)?;
        batch.copies.push(Copied { name: buffer.name().clone(), slot, expected });
        Ok(())
    }

    fn submitted(&mut self, gpu: &Gpu<Counted<D>>, at: SyncPoint) -> Result<(), Error> {
        self.in_flight.extend(self.open.take().map(|batch| (at, batch)));
        if self.in_flight.is_empty() { Ok(()) } else { self.check_completed(gpu) }
    }

    fn finish(&mut self) -> Result<u64, Error> {
        while let Some((_, batch)) = self.in_flight.pop_front() {
            self.check(&batch)?;
        }
        self.buffer = None;
        Ok(self.checked)
    }
}

/// A buffer to read back from, which neither tenure's policy nor the device's counters see.
fn create<D: Device>(gpu: &Gpu<Counted<D>>, size: u64) -> Result<Buffer<Counted<D>>, Error> {
    let (counted, usage) = (gpu.device(), Usage::COPY_DST);
    let resource = ResourceDesc::Buffer(BufferInfo { size, usage });
    let device = counted.inner();
    let allowed = device.requirements(&resource)?.memory_types;
    let order = type_order(device.properties(), MemoryUse::Readback);
    let memory = order.into_iter().find(|memory| allowed.checked_shr(memory.0.into()).unwrap_or(0) & 1 == 1);
    let memory = memory.ok_or(DeviceError::Unsupported { feature: "memory to read back from" })?;
    let object = device.create_committed(&resource, memory)?;
    let desc = BufferDesc::new(size, usage).memory(MemoryUse::Readback).name("witness");
    gpu.adopt_buffer(counted.adopt(object), &desc, State::COMMON).map_err(|rejected| {
        // SAFETY: nothing has used it yet.
        let permit = unsafe { Permit::new() };
        counted.destroy_resource(permit, rejected.object);
        rejected.error
    })
}
