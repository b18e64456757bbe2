//! What the workers do.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_core::device::Usage;
use tenure_core::{Buffer, BufferDesc, Error, Frame, Gpu, Queue};

use crate::null::Device;

/// Things that each worker does in a round.
pub(super) const EACH: usize = 4096;
/// Handles that live at once where they are dropped as they come.
const AT_ONCE: usize = 64;

/// A kind of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Buffers are created and dropped, 64 at a time; what was dropped waits for the frame's end.
    CreateDrop,
    /// As before, and the end of the frame, which one thread does, is counted.
    Frames,
    /// As `CreateDrop`, and after each 64 the worker gives back what anybody has dropped.
    Purge,
    /// Buffers are dropped by those who created them.
    Release,
    /// Buffers are dropped by others than those who created them.
    ReleaseOthers,
    /// Others' buffers are dropped, and as many created in their place.
    Trade,
    /// Constants of 64 bytes are pushed.
    Constants,
}

pub(super) const KINDS: [Kind; 7] = [
    Kind::CreateDrop,
    Kind::Frames,
    Kind::Purge,
    Kind::Release,
    Kind::ReleaseOthers,
    Kind::Trade,
    Kind::Constants,
];

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CreateDrop => "create and drop",
            Self::Frames => "create and drop, with the frame's end",
            Self::Purge => "create, drop and purge",
            Self::Release => "drop one's own",
            Self::ReleaseOthers => "drop another's",
            Self::Trade => "drop another's, create anew",
            Self::Constants => "push 64 B of constants",
        }
    }

    /// Whether the frame's end belongs to the time.
    pub(super) const fn counts_the_end(self) -> bool {
        matches!(self, Self::Frames)
    }

    const fn is_prepared(self) -> bool {
        matches!(self, Self::Release | Self::ReleaseOthers | Self::Trade)
    }
}

type Buffers = Vec<Buffer<Device>>;

/// What a worker has in hand; alone on its cache lines, so that workers meet in the manager alone.
#[repr(align(128))]
struct Hand(Mutex<Buffers>);

impl Hand {
    fn lock(&self) -> MutexGuard<'_, Buffers> {
        lock(&self.0)
    }
}

/// The manager, and what each worker has in hand.
pub(super) struct Site<'a> {
    gpu: &'a Gpu<Device>,
    desc: BufferDesc,
    frame: Mutex<Option<Frame<'a, Device>>>,
    hands: Vec<Hand>,
    /// Keeps the pools' blocks from coming and going.
    _kept: Buffers,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Site<'a> {
    pub(super) fn new(gpu: &'a Gpu<Device>, workers: usize) -> Result<Self, Error> {
        let desc = BufferDesc::new(4096, Usage::VERTEX | Usage::INDEX);
        let kept = (0..2 * EACH * workers).map(|_| gpu.create_buffer(&desc)).collect::<Result<_, _>>()?;
        let hands = (0..workers).map(|_| Hand(Mutex::new(Vec::with_capacity(EACH)))).collect();
        Ok(Self { gpu, desc, frame: Mutex::new(None), hands, _kept: kept })
    }

    /// Begins a frame.
    pub(super) fn begin(&self) -> Result<(), Error> {
        *lock(&self.frame) = Some(self.gpu.begin_frame()?);
        Ok(())
    }

    /// Submits something that may use all that was dropped, and ends the frame.
    pub(super) fn end(&self) -> Result<(), Error> {
        let Some(frame) = lock(&self.frame).take() else { return Ok(()) };
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        frame.end()
    }

    /// What a worker has to have in hand.
    pub(super) fn prepare(&self, kind: Kind, worker: usize) -> Result<(), Error> {
        if !kind.is_prepared() {
            return Ok(());
        }
        self.fill(&mut self.hands[worker].lock(), EACH)
    }

    /// Gives each worker's hand to the next.
    pub(super) fn exchange(&self, kind: Kind, threads: usize) {
        if kind == Kind::Release {
            return;
        }
        for worker in 1..threads {
            std::mem::swap(&mut *self.hands[0].lock(), &mut *self.hands[worker].lock());
        }
    }

    /// The work itself.
    pub(super) fn run(&self, kind: Kind, worker: usize) -> Result<(), Error> {
        let mut hand = self.hands[worker].lock();
        match kind {
            Kind::CreateDrop | Kind::Frames => self.create_and_drop(&mut hand, || Ok(())),
            Kind::Purge => self.create_and_drop(&mut hand, || self.gpu.purge()),
            Kind::Release | Kind::ReleaseOthers => {
                hand.clear();
                Ok(())
            }
            Kind::Trade => hand.iter_mut().try_for_each(|buffer| {
                *buffer = self.gpu.create_buffer(&self.desc)?;
                Ok(())
            }),
            Kind::Constants => self.push_constants(),
        }
    }

    fn fill(&self, hand: &mut Buffers, count: usize) -> Result<(), Error> {
        while hand.len() < count {
            hand.push(self.gpu.create_buffer(&self.desc)?);
        }
        Ok(())
    }

    fn create_and_drop(
        &self,
        hand: &mut Buffers,
        mut after: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        for _ in 0..EACH / AT_ONCE {
            self.fill(hand, AT_ONCE)?;
            black_box(&mut *hand).clear();
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
