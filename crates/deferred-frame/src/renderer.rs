//! Frames, one after the other.

use std::time::{Duration, Instant};

use tenure_core::device::{Device, QueueId, QueueKind, Usage};
use tenure_core::time::SyncPoint;
use tenure_core::{Buffer, BufferDesc, Error, Frame, Gpu, UploadRing, UploadRingDesc};

use crate::memory::{Memory, Sharing};
use crate::perform::Stage;
use crate::script::{Script, Step};
use crate::slot::Slot;
use crate::{DeferredFrame, FrameError};

/// Runs the frame of a deferred renderer again and again. Each pass writes to every resource that it
/// declares to write bytes that tell the frame and the pass, and looks at every resource that it
/// declares to read, or to write once more.
pub struct Renderer<'g, D: Device> {
    gpu: &'g Gpu<D>,
    frame: DeferredFrame,
    script: Script,
    /// The steps of blind frames.
    blind: Vec<Step>,
    kinds: Vec<QueueKind>,
    sharing: Sharing,
    memory: Memory<D>,
    ring: UploadRing<D>,
    depth: Buffer<D>,
    /// As many as there may be frames in flight.
    slots: Vec<Slot<D>>,
    /// Frames begun.
    number: u64,
    digests: Vec<u64>,
    times: Times,
}

/// Where the time of the last frame went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Executing all passes, from the first to the last submission.
    pub executing: Duration,
    /// Of that, what the passes themselves took: the copies that stand for shaders.
    pub passes: Duration,
}

impl Times {
    /// What was not the passes' own.
    #[must_use]
    pub fn overhead(&self) -> Duration {
        self.executing.saturating_sub(self.passes)
    }
}

/// Rings are made in steps of this many bytes, which whatever must be aligned in them divides.
const RING_STEP: u64 = 64 << 10;

impl<'g, D: Device> Renderer<'g, D> {
    /// A renderer for frames of a size, whose resources live as `sharing` says.
    ///
    /// # Errors
    /// Those of what it creates.
    pub fn new(gpu: &'g Gpu<D>, [width, height]: [u32; 2], sharing: Sharing) -> Result<Self, FrameError> {
        let properties = gpu.device().properties();
        let frame = DeferredFrame::new(width, height);
        let script = Script::new(&frame, properties);
        let blind = script.blind();
        let kinds = properties.queues.iter().map(|queue| queue.kind).collect();
        let memory = Memory::new(gpu, &frame, sharing)?;
        let count = gpu.config().frames_in_flight;
        let ring = create_ring(gpu, &script)?;
        let depth = create_depth(gpu, &script)?;
        let mut slots: Vec<Slot<D>> = (0..count.max(1)).map(|_| Slot::new()).collect();
        slots.iter_mut().try_for_each(|slot| slot.make_room(gpu, &script))?;
        let (number, digests, times) = (0, Vec::new(), Times::default());
        Ok(Self {
            gpu,
            frame,
            script,
            blind,
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

    /// Where the time of the last frame went.
    #[must_use]
    pub const fn times(&self) -> Times {
        self.times
    }

    /// From the next frame on, frames have that size. Waits for those in flight.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn resize(&mut self, [width, height]: [u32; 2]) -> Result<(), FrameError> {
        self.settle()?;
        let (old, properties) = (self.script.clone(), self.gpu.device().properties());
        self.frame = DeferredFrame::new(width, height);
        self.script = Script::new(&self.frame, properties);
        self.blind = self.script.blind();
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

    /// Renders the next frame, and checks one that is complete.
    ///
    /// # Errors
    /// [`FrameError::Wrong`] when a pass of an earlier frame read something else than was written;
    /// [`FrameError::Late`]; whatever tenure refuses.
    pub fn render(&mut self) -> Result<(), FrameError> {
        self.next(true)
    }

    /// Renders the next frame, in which passes do nothing but what they are declared to copy, so that
    /// nearly all of the time is tenure's; and checks one that is complete.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_blindly(&mut self) -> Result<(), FrameError> {
        self.next(false)
    }

    fn next(&mut self, looks: bool) -> Result<(), FrameError> {
        let count = self.slots.len() as u64;
        let index = usize::try_from(self.number % count.max(1)).unwrap_or(0);
        self.check(index)?;
        let frame = self.gpu.begin_frame()?;
        let done = self.record(&frame, index, looks)?;
        if let Some(slot) = self.slots.get_mut(index)
            && looks
        {
            slot.awaited = Some((self.number, done));
        }
        self.number += 1;
        Ok(frame.end()?)
    }

    fn record(&mut self, frame: &Frame<'_, D>, index: usize, looks: bool) -> Result<SyncPoint, FrameError> {
        let stage = Stage {
            frame: &self.frame,
            number: self.number,
            grain: self.script.grain,
            ring: &self.ring,
            depth: &self.depth,
            lanes: self.slots.get(index).map(|slot| &*slot.lanes).unwrap_or_default(),
        };
        let (steps, kinds) = (if looks { &self.script.steps } else { &self.blind }, &self.kinds);
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

    /// For each frame that was not blind and was checked, all that its passes read, as one number: the same for the same
    /// frames of the same size, wherever their resources live.
    #[must_use]
    pub fn digests(&self) -> &[u64] {
        &self.digests
    }
}

fn ring_size<D: Device>(gpu: &Gpu<D>, script: &Script) -> u64 {
    // One frame more than are in flight, for what is skipped at the end of the ring.
    let frames = u64::from(gpu.config().frames_in_flight) + 2;
    // Each pass begins at a whole part.
    let frame = script.staged + script.steps.len() as u64 * script.grain;
    (frame * frames).next_multiple_of(RING_STEP)
}

fn create_ring<D: Device>(gpu: &Gpu<D>, script: &Script) -> Result<UploadRing<D>, Error> {
    gpu.create_upload_ring(&UploadRingDesc::new(ring_size(gpu, script)).name("what passes write"))
}

/// The buffer for depth, full of zeros: what is copied must have been written.
fn create_depth<D: Device>(gpu: &Gpu<D>, script: &Script) -> Result<Buffer<D>, Error> {
    let size = script.depth.max(4);
    let desc = BufferDesc::new(size, Usage::COPY_SRC).alignment(script.grain).own_resource();
    gpu.create_buffer_with(&desc.name("rows of depth"), &vec![0; usize::try_from(size).unwrap_or(4)])
}
