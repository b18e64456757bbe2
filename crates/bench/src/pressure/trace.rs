//! A program under memory pressure, frame by frame: one description for all players.

use std::collections::VecDeque;

use tenure_core::Queue;

/// Ticks until the GPU is done with a submission; a tick is a submission or the end of a frame.
pub(super) const LAG: u64 = 2;

/// [`Trace::demotion_delay`] if nothing else is said.
pub(super) const DEMOTION_DELAY: u64 = 4;

/// Nanoseconds of a frame.
pub(super) const FRAME_NS: u64 = 16_666_667;

/// The memory that is local to the GPU, which is paged.
pub(super) const LOCAL: usize = 0;

/// The system's memory, which is not.
pub(super) const SYSTEM: usize = 1;

/// A buffer. From 1 MiB on tenure gives it a block of its own; smaller ones share blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thing {
    /// Bytes.
    pub(super) bytes: u64,
    /// [`LOCAL`] or [`SYSTEM`].
    pub(super) segment: usize,
}

/// A submission and its uses.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) queue: Queue,
    /// Indices of things, each once.
    pub(super) uses: Vec<usize>,
}

/// The events of a frame, in this order: drops, creations, submissions, a change of the budget, the end of the frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) dropped: Vec<usize>,
    pub(super) created: Vec<usize>,
    pub(super) submissions: Vec<Submission>,
    /// Bytes that are granted of local memory from now on; 0: the operating system names none.
    pub(super) budget: Option<u64>,
    /// Idle memory is trimmed.
    pub(super) trims: bool,
}

/// A program and the budget that it runs under.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) name: &'static str,
    pub(super) things: Vec<Thing>,
    /// Bytes that are granted of local memory at first.
    pub(super) budget: u64,
    /// Submissions for which the operating system lets the program exceed its budget.
    pub(super) demotion_delay: u64,
    pub(super) frames: Vec<Frame>,
}

impl Trace {
    pub(super) fn new(name: &'static str, budget: u64) -> Self {
        let (things, frames) = (Vec::new(), Vec::new());
        Self { name, things, budget, demotion_delay: DEMOTION_DELAY, frames }
    }

    /// A thing that some frame creates.
    pub(super) fn thing(&mut self, bytes: u64, segment: usize) -> usize {
        self.things.push(Thing { bytes, segment });
        self.things.len() - 1
    }

    /// Local things, which a frame of their own creates.
    pub(super) fn world(&mut self, sizes: impl IntoIterator<Item = u64>) -> Vec<usize> {
        let created: Vec<_> = sizes.into_iter().map(|bytes| self.thing(bytes, LOCAL)).collect();
        self.frames.push(Frame { created: created.clone(), ..Frame::default() });
        created
    }

    /// A frame of one submission on the graphics queue.
    pub(super) fn draw(&mut self, uses: Vec<usize>) -> &mut Frame {
        self.frame(vec![Submission { queue: Queue::Graphics, uses }])
    }

    pub(super) fn frame(&mut self, submissions: Vec<Submission>) -> &mut Frame {
        self.frames.push(Frame { submissions, ..Frame::default() });
        self.frames.last_mut().expect("it was pushed")
    }

    /// Bytes of things that are paged.
    pub(super) fn local(&self, things: &[usize]) -> u64 {
        let things = things.iter().map(|thing| self.things[*thing]);
        things.filter(|thing| thing.segment == LOCAL).map(|thing| thing.bytes).sum()
    }

    pub(super) fn is_local(&self, thing: usize) -> bool {
        self.things[thing].segment == LOCAL
    }
}

/// Uses of submissions that are not complete.
#[derive(Debug)]
pub(super) struct Flight {
    tick: u64,
    lag: u64,
    /// With the tick at which each is done.
    submissions: VecDeque<(u64, Vec<usize>)>,
    /// For each thing, the submissions that use it.
    users: Vec<u32>,
    /// Local bytes of everything in use.
    bytes: u64,
}

impl Flight {
    pub(super) fn new(trace: &Trace, lag: u64) -> Self {
        let users = vec![0; trace.things.len()];
        Self { tick: 0, lag, submissions: VecDeque::new(), users, bytes: 0 }
    }

    /// Notes a submission.
    pub(super) fn submit(&mut self, trace: &Trace, uses: &[usize]) {
        self.pass(trace);
        for thing in uses.iter().filter(|thing| trace.is_local(**thing)) {
            self.bytes += if self.users[*thing] == 0 { trace.things[*thing].bytes } else { 0 };
            self.users[*thing] += 1;
        }
        self.submissions.push_back((self.tick + self.lag, uses.to_vec()));
    }

    /// A tick passes.
    pub(super) fn pass(&mut self, trace: &Trace) {
        self.tick += 1;
        while self.submissions.front().is_some_and(|(due, _)| *due <= self.tick) {
            self.complete_one(trace);
        }
    }

    /// Waits for the oldest submission; false if there is none.
    pub(super) fn complete_one(&mut self, trace: &Trace) -> bool {
        let Some((_, uses)) = self.submissions.pop_front() else { return false };
        for thing in uses.into_iter().filter(|thing| trace.is_local(*thing)) {
            self.users[thing] -= 1;
            self.bytes -= if self.users[thing] == 0 { trace.things[thing].bytes } else { 0 };
        }
        true
    }

    pub(super) fn uses(&self, thing: usize) -> bool {
        self.users[thing] > 0
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The results of a player: by the same rule for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Bytes that went over the link towards the GPU: made resident by the player, brought back by the operating system, or
    /// read remotely.
    pub(super) bytes_in: u64,
    /// The part of these that was evicted again without a use.
    pub(super) unused: u64,
    /// Nanoseconds in which the GPU waited for blocks, or read remotely.
    pub(super) stalled: u128,
    /// How often the CPU waited for the GPU.
    pub(super) waits: u64,
    /// Byte-nanoseconds over the budget while a block could have been evicted that no submission in flight
    /// uses.
    pub(super) over: u128,
}

impl Outcome {
    /// Counts `claimed` resident bytes, including those of submissions in flight, for some nanoseconds.
    pub(super) fn note_over(&mut self, claimed: u64, in_flight: u64, budget: u64, nanoseconds: u64) {
        if budget > 0 {
            let idle = claimed.saturating_sub(in_flight);
            self.over += u128::from(claimed.saturating_sub(budget).min(idle)) * u128::from(nanoseconds);
        }
    }
}
