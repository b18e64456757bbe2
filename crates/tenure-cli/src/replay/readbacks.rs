//! Checks of bytes on a real device: the GPU copies them to a readback buffer, and the CPU compares them.

use std::collections::VecDeque;

use tenure::device::{Device, MemoryDevice as _, Permit, ResourceDesc};
use tenure::memory::type_order;
use tenure::{
    Buffer, BufferDesc, Error, Gpu, MemoryUse, Recording, State, SyncPoint, Usage,
    error::{Awaited, DeviceError},
    memory::Name,
    resource::BufferInfo,
};

use super::checker::{CheckedRead, ReadChecker};
use super::counted::Counted;
use super::hazards::Hazards;
use super::live_objects::{Content, FOLLOWED};
use super::traffic::DRAWS;

/// Copies the bytes that draws would read to a readback buffer, which is not counted, and compares them after the
/// submission is complete.
pub(super) struct Readbacks<'a, D: Device> {
    hazards: &'a Hazards,
    /// One part per frame in flight. `None` before [`begin`](ReadChecker::begin) and after
    /// [`finish`](ReadChecker::finish).
    buffer: Option<Buffer<Counted<D>>>,
    unused: Vec<Part>,
    /// The copies being recorded.
    open: Option<Batch>,
    /// The submitted copies, oldest first.
    in_flight: VecDeque<(SyncPoint, Batch)>,
    /// The number of compared reads.
    checked: u64,
}

/// The offset of a part of the buffer.
#[derive(Clone, Copy)]
struct Part(u64);

/// Bytes of a part.
const PART: u64 = (DRAWS * FOLLOWED) as u64;

/// The consecutive copies of one submission.
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
    /// Offset of the copy with this index in the buffer.
    const fn offset(&self, index: usize) -> u64 {
        self.part.0 + (index * FOLLOWED) as u64
    }
}

impl<'a, D: Device> Readbacks<'a, D> {
    /// A checker that reports wrong bytes to `hazards`.
    pub(super) fn new(hazards: &'a Hazards) -> Self {
        let in_flight = VecDeque::new();
        Self { hazards, buffer: None, unused: Vec::new(), open: None, in_flight, checked: 0 }
    }

    /// The part for the submission being recorded.
    fn part(&mut self, gpu: &Gpu<Counted<D>>) -> Result<Option<Part>, Error> {
        if self.unused.is_empty()
            && let Some((at, _)) = self.in_flight.front()
        {
            let timeout = gpu.config().frames.timeout;
            if !gpu.wait(at, timeout)? {
                let waited_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                return Err(Error::Timeout { what: Awaited::EarlierFrame, waited_ms });
            }
            self.check_completed(gpu)?;
        }
        Ok(self.unused.pop())
    }

    fn check_completed(&mut self, gpu: &Gpu<Counted<D>>) -> Result<(), Error> {
        let completed = gpu.completed()?;
        while self.in_flight.front().is_some_and(|(at, _)| at.is_covered_by(&completed))
            && let Some((_, batch)) = self.in_flight.pop_front()
        {
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

impl<D: Device> ReadChecker<Counted<D>> for Readbacks<'_, D> {
    fn begin(&mut self, gpu: &Gpu<Counted<D>>) -> Result<(), Error> {
        let parts = u64::from(gpu.config().frames.in_flight);
        self.buffer = Some(create(gpu, parts * PART)?);
        self.unused = (0..parts).map(|part| Part(part * PART)).collect();
        Ok(())
    }

    fn record_read(
        &mut self,
        gpu: &Gpu<Counted<D>>,
        recording: &mut Recording<Counted<D>>,
        read: &CheckedRead<'_, Counted<D>>,
    ) -> Result<(), Error> {
        if self.open.is_none() {
            let part = self.part(gpu)?;
            self.open = part.map(|part| Batch { part, copies: Vec::with_capacity(DRAWS) });
        }
        let (Some(to), Some(batch)) = (&self.buffer, &mut self.open) else { return Ok(()) };
        let CheckedRead { buffer, slot, content: expected } = *read;
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

/// Creates the readback buffer on the inner device, so that tenure neither places nor counts it.
fn create<D: Device>(gpu: &Gpu<Counted<D>>, size: u64) -> Result<Buffer<Counted<D>>, Error> {
    let (counted, usage) = (gpu.device(), Usage::COPY_DST);
    let resource = ResourceDesc::Buffer(BufferInfo::new(size, usage));
    let device = counted.inner();
    let allowed = device.requirements(&resource)?.memory_types;
    let order = type_order(device.properties(), MemoryUse::Readback);
    let memory = order.into_iter().find(|memory| allowed.checked_shr(memory.0.into()).unwrap_or(0) & 1 == 1);
    let memory = memory.ok_or(DeviceError::Unsupported { feature: "memory to read back from" })?;
    let object = device.create_committed(&resource, memory)?;
    let desc = BufferDesc::new(size, usage).memory(MemoryUse::Readback).name("readbacks");
    gpu.adopt_buffer(counted.adopt(object), &desc, State::COMMON).map_err(|rejected| {
        // SAFETY: the object was not used yet.
        let permit = unsafe { Permit::new() };
        counted.destroy_resource(permit, rejected.object);
        rejected.error
    })
}
