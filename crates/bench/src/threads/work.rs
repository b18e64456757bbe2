//! The kinds of work that the threads do.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_core::{Buffer, BufferDesc, Error, Frame, Gpu, Queue, Usage};

use crate::null::Device;

/// The number of operations of each worker in a round.
pub(super) const EACH: usize = 4096;
/// The number of live handles in work that creates and drops.
const AT_ONCE: usize = 64;

/// A kind of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Buffers are created and dropped, 64 at a time; the memory is freed at the end of the frame.
    CreateDrop,
    /// As `CreateDrop`, and the end of the frame, on one thread, is counted.
    Frames,
    /// As `CreateDrop`, and after each 64 the worker calls `reclaim`.
    Reclaim,
    /// Each worker drops the buffers that it created.
    Release,
    /// Each worker drops buffers that another worker created.
    ReleaseOthers,
    /// Each worker drops buffers that another worker created, and creates as many.
    Trade,
    /// Constants of 64 bytes are pushed.
    Constants,
}

pub(super) const KINDS: [(Kind, &str); 7] = [
    (Kind::CreateDrop, "create and drop"),
    (Kind::Frames, "create and drop, with the frame's end"),
    (Kind::Reclaim, "create, drop and reclaim"),
    (Kind::Release, "drop one's own"),
    (Kind::ReleaseOthers, "drop another's"),
    (Kind::Trade, "drop another's, create anew"),
    (Kind::Constants, "push 64 B of constants"),
];

type Buffers = Vec<Buffer<Device>>;

/// The buffers of a worker, on separate cache lines, so that workers share only the manager.
#[repr(align(128))]
struct WorkerBuffers(Mutex<Buffers>);

/// The manager, and the buffers of each worker.
pub(super) struct Site<'a> {
    gpu: &'a Gpu<Device>,
    desc: BufferDesc,
    frame: Mutex<Option<Frame<Device>>>,
    held: Vec<WorkerBuffers>,
    /// Keeps the blocks of the pools alive during the measurement.
    _kept: Buffers,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Site<'a> {
    pub(super) fn new(gpu: &'a Gpu<Device>, workers: usize) -> Result<Self, Error> {
        let desc = BufferDesc::new(4096, Usage::VERTEX | Usage::INDEX);
        let kept = (0..2 * EACH * workers).map(|_| gpu.create_buffer(&desc)).collect::<Result<_, _>>()?;
        let held = (0..workers).map(|_| WorkerBuffers(Mutex::new(Vec::with_capacity(EACH)))).collect();
        Ok(Self { gpu, desc, frame: Mutex::new(None), held, _kept: kept })
    }

    /// Begins a frame.
    pub(super) fn begin(&self) -> Result<(), Error> {
        *lock(&self.frame) = Some(self.gpu.begin_frame()?);
        Ok(())
    }

    /// Submits a recording that may use the dropped buffers, and ends the frame.
    pub(super) fn end(&self) -> Result<(), Error> {
        let Some(frame) = lock(&self.frame).take() else { return Ok(()) };
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        frame.end()
    }

    /// Creates the buffers that a kind of work needs.
    pub(super) fn prepare(&self, kind: Kind, worker: usize) -> Result<(), Error> {
        match kind {
            Kind::Release | Kind::ReleaseOthers | Kind::Trade => self.fill(&mut self.held(worker), EACH),
            Kind::CreateDrop | Kind::Frames | Kind::Reclaim | Kind::Constants => Ok(()),
        }
    }

    /// Passes the buffers of each worker to the next.
    pub(super) fn exchange(&self, kind: Kind, threads: usize) {
        for worker in (1..threads).filter(|_| kind != Kind::Release) {
            std::mem::swap(&mut *self.held(0), &mut *self.held(worker));
        }
    }

    /// Does the work.
    pub(super) fn run(&self, kind: Kind, worker: usize) -> Result<(), Error> {
        let mut buffers = self.held(worker);
        match kind {
            Kind::CreateDrop | Kind::Frames => self.create_and_drop(&mut buffers, || Ok(())),
            Kind::Reclaim => self.create_and_drop(&mut buffers, || self.gpu.reclaim()),
            Kind::Release | Kind::ReleaseOthers => {
                buffers.clear();
                Ok(())
            }
            Kind::Trade => buffers.iter_mut().try_for_each(|buffer| {
                *buffer = self.gpu.create_buffer(&self.desc)?;
                Ok(())
            }),
            Kind::Constants => self.push_constants(),
        }
    }

    fn held(&self, worker: usize) -> MutexGuard<'_, Buffers> {
        lock(&self.held[worker].0)
    }

    fn fill(&self, buffers: &mut Buffers, count: usize) -> Result<(), Error> {
        while buffers.len() < count {
            buffers.push(self.gpu.create_buffer(&self.desc)?);
        }
        Ok(())
    }

    fn create_and_drop(
        &self,
        buffers: &mut Buffers,
        mut after: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        for _ in 0..EACH / AT_ONCE {
            self.fill(buffers, AT_ONCE)?;
            black_box(&mut *buffers).clear();
            after()?;
        }
        Ok(())
    }

    fn push_constants(&self) -> Result<(), Error> {
        let mut recording = self.gpu.record(Queue::Graphics, "draws")?;
        let (_, scratch) = recording.split();
        let mut value = [0_u32; 16];
        for draw in 0..EACH as u32 {
            value[0] = draw;
            black_box(scratch.constants(black_box(&value))?.gpu_address());
        }
        recording.submit()?;
        Ok(())
    }
}
