//! A frame in flight, and what comes back from it.

use std::time::Duration;

use tenure_core::device::{Device, Usage};
use tenure_core::time::SyncPoint;
use tenure_core::{Buffer, BufferDesc, Error, Gpu, MemoryUse};

use crate::pattern::Digest;
use crate::perform::fill;
use crate::script::{Script, Step};
use crate::{DeferredFrame, FrameError};

/// How long a frame may take before that is an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory for what comes back from one frame.
pub(crate) struct Slot<D: Device> {
    /// For each queue; queues write at the same time.
    pub(crate) lanes: Vec<Option<Buffer<D>>>,
    /// The frame that is on its way, and when it is complete.
    pub(crate) awaited: Option<(u64, SyncPoint)>,
}

impl<D: Device> Slot<D> {
    pub(crate) const fn new() -> Self {
        Self { lanes: Vec::new(), awaited: None }
    }

    /// Makes what is too small anew.
    pub(crate) fn make_room(&mut self, gpu: &Gpu<D>, script: &Script) -> Result<(), Error> {
        self.lanes.resize_with(script.lanes.len(), || None);
        for (lane, size) in self.lanes.iter_mut().zip(&script.lanes) {
            if lane.as_ref().map_or(0, Buffer::size) < *size {
                let desc = BufferDesc::new(*size, Usage::COPY_DST).memory(MemoryUse::Readback);
                let desc = desc.alignment(script.grain).own_resource().name("what passes read");
                *lane = Some(gpu.create_buffer(&desc)?);
            }
        }
        Ok(())
    }

    /// Waits for the frame that is on its way and compares all that its passes read with what was
    /// written. The digest of it; `None` where there is no such frame.
    pub(crate) fn check(
        &mut self,
        gpu: &Gpu<D>,
        frame: &DeferredFrame,
        script: &Script,
    ) -> Result<Option<u64>, FrameError> {
        let Some((number, point)) = self.awaited.take() else { return Ok(None) };
        if !gpu.wait(&point, PATIENCE)? {
            let waited_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
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
                writer: script.steps.get(piece.writer).map_or("nobody", |writer| writer.name),
                found,
                expected,
            });
        }
        digest.add(&found);
    }
    Ok(())
}
