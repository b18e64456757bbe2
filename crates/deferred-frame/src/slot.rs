//! A frame in flight, and the bytes that its passes read.

use std::time::Duration;

use tenure::device::Device;
use tenure::{Buffer, BufferDesc, Error, Gpu, MemoryUse, SyncPoint, Usage};

use crate::pattern::Digest;
use crate::perform::fill;
use crate::script::{Script, Step};
use crate::{DeferredFrame, FrameError};

/// The longest time that a frame may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Readback memory for one frame.
pub(crate) struct Slot<D: Device> {
    /// A buffer for each queue, because queues write at the same time.
    pub(crate) lanes: Vec<Option<Buffer<D>>>,
    /// The number of the frame in flight, and the sync point of its completion.
    pub(crate) awaited: Option<(u64, SyncPoint)>,
}

impl<D: Device> Slot<D> {
    pub(crate) const fn new() -> Self {
        Self { lanes: Vec::new(), awaited: None }
    }

    /// Replaces the buffers that are too small.
    pub(crate) fn make_room(&mut self, gpu: &Gpu<D>, script: &Script) -> Result<(), Error> {
        self.lanes.resize_with(script.lanes.len(), || None);
        for (lane, size) in self.lanes.iter_mut().zip(&script.lanes) {
            if lane.as_ref().map_or(0, Buffer::size) < *size {
                let desc = BufferDesc::new(*size, Usage::COPY_DST).memory(MemoryUse::Readback);
                let desc = desc.alignment(script.grain).own_resource().name("bytes read by passes");
                *lane = Some(gpu.create_buffer(&desc)?);
            }
        }
        Ok(())
    }

    /// Waits for the frame in flight and compares the bytes that its passes read with the bytes written
    /// last. Returns a digest of them; `None` if no frame is in flight.
    pub(crate) fn check(
        &mut self,
        gpu: &Gpu<D>,
        frame: &DeferredFrame,
        script: &Script,
    ) -> Result<Option<u64>, FrameError> {
        let Some((number, point)) = self.awaited.take() else { return Ok(None) };
        if !gpu.wait(&point, TIMEOUT)? {
            let waited_ms = u64::try_from(TIMEOUT.as_millis()).unwrap_or(u64::MAX);
            return Err(FrameError::Late { frame: number, waited_ms });
        }
        let mut digest = Digest::EMPTY;
        for step in &script.steps {
            if let Some(Some(lane)) = self.lanes.get(step.queue.index()) {
                compare(number, frame, script, step, lane, &mut digest)?;
            }
        }
        Ok(Some(digest.value()))
    }
}

fn compare<D: Device>(
    number: u64,
    frame: &DeferredFrame,
    script: &Script,
    step: &Step,
    lane: &Buffer<D>,
    digest: &mut Digest,
) -> Result<(), FrameError> {
    for piece in &step.loads {
        let mut found = vec![0; piece.bytes as usize];
        lane.read(piece.at, &mut found)?;
        let mut expected = vec![0; piece.bytes as usize];
        fill(frame, number, piece, &mut expected);
        if found != expected {
            let resource = frame.resources().get(piece.resource);
            return Err(FrameError::Wrong {
                frame: number,
                pass: step.name,
                resource: resource.map(|(_, desc)| desc.name().to_string()).unwrap_or_default(),
                part: piece.number,
                writer: script.steps.get(piece.writer).map_or("no pass", |writer| writer.name),
                found,
                expected,
            });
        }
        digest.add(&found);
    }
    Ok(())
}
