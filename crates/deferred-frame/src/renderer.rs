//! Rendering frames one after the other.

use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{
    Buffer, BufferDesc, Error, Frame, Gpu, SyncPoint, UploadRing, UploadRingDesc, Usage,
    device::{QueueId, QueueKind},
};

use crate::memory::{Memory, Sharing};
use crate::perform::Stage;
use crate::script::{Script, Step};
use crate::slot::Slot;
use crate::{DeferredFrame, FrameError};

/// Runs the frame of a deferred renderer repeatedly. A pass writes bytes that identify the frame and the pass to
/// every resource that it declares to write. It reads every resource that it declares to read, and every resource
/// that it writes after an earlier pass has written it.
pub struct Renderer<'g, D: Device> {
    gpu: &'g Gpu<D>,
    frame: DeferredFrame,
    script: Script,
    /// The steps of unchecked frames.
    unchecked: Vec<Step>,
    kinds: Vec<QueueKind>,
    sharing: Sharing,
    memory: Memory<D>,
    ring: UploadRing<D>,
    depth: Buffer<D>,
    /// A slot for each frame in flight.
    slots: Vec<Slot<D>>,
    /// The number of frames begun.
    number: u64,
    digests: Vec<u64>,
    times: Times,
}

/// The times of the last frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The time that the execution of all passes took, with their submissions.
    pub executing: Duration,
    /// The part of it in which passes recorded the copies that replace shaders.
    pub passes: Duration,
}

impl Times {
    /// The time that was not spent in the passes.
    #[must_use]
    pub fn overhead(&self) -> Duration {
        self.executing.saturating_sub(self.passes)
    }
}

/// The size of a ring is a multiple of this, which is a multiple of every alignment that is used in it.
const RING_STEP: u64 = 64 << 10;

impl<'g, D: Device> Renderer<'g, D> {
    /// A renderer for frames of a size, whose resources share memory in the way of `sharing`.
    ///
    /// # Errors
    /// The errors of its creations.
    pub fn new(gpu: &'g Gpu<D>, [width, height]: [u32; 2], sharing: Sharing) -> Result<Self, FrameError> {
        let properties = gpu.device().properties();
        let frame = DeferredFrame::new(width, height);
        let script = Script::new(&frame, properties);
        let unchecked = script.unchecked();
        let kinds = properties.queues.iter().map(|queue| queue.kind).collect();
        let memory = Memory::new(gpu, &frame, sharing)?;
        let count = gpu.config().frames.in_flight;
        let ring = create_ring(gpu, &script)?;
        let depth = create_depth(gpu, &script)?;
        let mut slots: Vec<Slot<D>> = (0..count.max(1)).map(|_| Slot::new()).collect();
        slots.iter_mut().try_for_each(|slot| slot.make_room(gpu, &script))?;
        let (number, digests, times) = (0, Vec::new(), Times::default());
        Ok(Self {
            gpu,
            frame,
            script,
            unchecked,
            kinds,
            sharing,
            memory,
            ring,
            depth,
            slots,
            number,
            digests,
            times,
        })
    }

    /// The frame.
    #[must_use]
    pub const fn frame(&self) -> &DeferredFrame {
        &self.frame
    }

    /// The times of the last frame.
    #[must_use]
    pub const fn times(&self) -> Times {
        self.times
    }

    /// Sets the size of the next frames. Waits for the frames in flight.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn resize(&mut self, [width, height]: [u32; 2]) -> Result<(), FrameError> {
        self.settle()?;
        let (old, properties) = (self.script.clone(), self.gpu.device().properties());
        self.frame = DeferredFrame::new(width, height);
        self.script = Script::new(&self.frame, properties);
        self.unchecked = self.script.unchecked();
        self.memory = Memory::new(self.gpu, &self.frame, self.sharing)?;
        if ring_size(self.gpu, &old) < ring_size(self.gpu, &self.script) {
            self.ring = create_ring(self.gpu, &self.script)?;
        }
        if self.depth.size() < self.script.depth {
            self.depth = create_depth(self.gpu, &self.script)?;
        }
        let Self { gpu, script, slots, .. } = self;
        Ok(slots.iter_mut().try_for_each(|slot| slot.make_room(gpu, script))?)
    }

    /// Renders the next frame, and checks an earlier one that is complete.
    ///
    /// # Errors
    /// [`FrameError::Wrong`] when a pass of an earlier frame read other bytes than were written;
    /// [`FrameError::Late`]; the errors of tenure.
    pub fn render(&mut self) -> Result<(), FrameError> {
        self.next(true)
    }

    /// Renders the next frame without checks: passes record only the copies that they are declared to make,
    /// so that nearly all of the time is spent in tenure. Checks an earlier frame that is complete.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_unchecked(&mut self) -> Result<(), FrameError> {
        self.next(false)
    }

    fn next(&mut self, is_checked: bool) -> Result<(), FrameError> {
        let count = self.slots.len() as u64;
        let index = usize::try_from(self.number % count.max(1)).unwrap_or(0);
        self.check(index)?;
        let frame = self.gpu.begin_frame()?;
        let done = self.record(&frame, index, is_checked)?;
        if let Some(slot) = self.slots.get_mut(index)
            && is_checked
        {
            slot.awaited = Some((self.number, done));
        }
        self.number += 1;
        Ok(frame.end()?)
    }

    fn record(&mut self, frame: &Frame<D>, index: usize, is_checked: bool) -> Result<SyncPoint, FrameError> {
        let stage = Stage {
            frame: &self.frame,
            number: self.number,
            grain: self.script.grain,
            ring: &self.ring,
            depth: &self.depth,
            lanes: self.slots.get(index).map(|slot| &*slot.lanes).unwrap_or_default(),
        };
        let (steps, kinds) = (if is_checked { &self.script.steps } else { &self.unchecked }, &self.kinds);
        let start = Instant::now();
        let mut passes = Duration::ZERO;
        let kind = |queue: QueueId| kinds.get(queue.index()).copied().unwrap_or(QueueKind::Graphics);
        let done = match &mut self.memory {
            Memory::Graph => frame.execute(self.frame.graph(), |pass, recording, resources| {
                let start = Instant::now();
                let Some(step) = steps.get(pass.index()) else { return Ok(()) };
                let recorded = stage.perform(step, kind(step.queue), recording, |resource| {
                    self.frame.find(resource, resources)
                });
                passes += start.elapsed();
                recorded
            })?,
            memory => memory.execute(frame, &self.frame, steps, |step, recording, memory| {
                let start = Instant::now();
                let recorded =
                    stage.perform(step, kind(step.queue), recording, |resource| memory.find(resource));
                passes += start.elapsed();
                recorded
            })?,
        };
        self.times = Times { executing: start.elapsed(), passes };
        Ok(done)
    }

    /// Waits for all frames in flight and checks them.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn settle(&mut self) -> Result<(), FrameError> {
        let count = self.slots.len() as u64;
        // The oldest first.
        for number in self.number..self.number + count {
            self.check(usize::try_from(number % count.max(1)).unwrap_or(0))?;
        }
        Ok(())
    }

    fn check(&mut self, index: usize) -> Result<(), FrameError> {
        let Self { gpu, frame, script, slots, digests, .. } = self;
        if let Some(slot) = slots.get_mut(index) {
            digests.extend(slot.check(gpu, frame, script)?);
        }
        Ok(())
    }

    /// A digest of the bytes that the passes read, for each checked frame. Equal frames of the same size have
    /// equal digests, independent of the memory of their resources.
    #[must_use]
    pub fn digests(&self) -> &[u64] {
        &self.digests
    }
}

fn ring_size<D: Device>(gpu: &Gpu<D>, script: &Script) -> u64 {
    // Two more than the frames in flight, because the ring skips bytes at its end.
    let frames = u64::from(gpu.config().frames.in_flight) + 2;
    // The bytes of each pass begin at a multiple of the grain.
    let frame = script.staged + script.steps.len() as u64 * script.grain;
    (frame * frames).next_multiple_of(RING_STEP)
}

fn create_ring<D: Device>(gpu: &Gpu<D>, script: &Script) -> Result<UploadRing<D>, Error> {
    gpu.create_upload_ring(&UploadRingDesc::new(ring_size(gpu, script)).name("bytes written by passes"))
}

/// The buffer for depth, filled with zeros: copies must read initialised memory.
fn create_depth<D: Device>(gpu: &Gpu<D>, script: &Script) -> Result<Buffer<D>, Error> {
    let size = script.depth.max(4);
    let desc = BufferDesc::new(size, Usage::COPY_SRC).alignment(script.grain).own_resource();
    gpu.create_buffer_with(&desc.name("depth copies"), &vec![0; usize::try_from(size).unwrap_or(4)])
}
