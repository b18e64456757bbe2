//! An adversarial workload: its gaps are too small for the next allocations.

use super::rng::Rng;
use super::script::{Live, Program, Script};
use crate::{Kind, Layout, MemoryKind};

const KINDS: [Kind; 2] =
    [Kind::new(MemoryKind::GpuOnly, Layout::Linear), Kind::new(MemoryKind::CpuToGpu, Layout::Linear)];
const ALIGN: u64 = 256;
const SMALLEST: u64 = 4096;
const MAX_FILL: u64 = 128 * 1024 * 1024;

pub(super) struct Fragment {
    rng: Rng,
    /// Bytes that are live after each filling.
    fill: u64,
    /// The size that the next filling uses.
    class: u64,
    kind: Kind,
    live: Vec<Live>,
    live_bytes: u64,
}

impl Fragment {
    pub(super) fn new(seed: u64, allocs: u64) -> Self {
        // A short recording also starts over a few times.
        let smallest_allocs = (allocs / 4).clamp(1, MAX_FILL / SMALLEST);
        Self {
            rng: Rng::new(seed),
            fill: smallest_allocs * SMALLEST,
            class: SMALLEST,
            kind: KINDS[0],
            live: Vec::new(),
            live_bytes: 0,
        }
    }

    /// Allocates blocks of `class` bytes up to `fill`; returns the index of the first new allocation.
    fn fill_up(&mut self, script: &mut Script) -> usize {
        let begin = self.live.len();
        while self.live_bytes + self.class <= self.fill {
            let Some(live) = script.alloc(self.class, ALIGN, self.kind) else {
                break;
            };
            self.live_bytes += live.size();
            self.live.push(live);
        }
        begin
    }

    /// Frees every second new allocation. Whether the even or the odd ones are freed is random.
    fn punch_holes(&mut self, begin: usize, script: &mut Script) {
        let stays = self.rng.below(2) as usize;
        for (index, live) in self.live.split_off(begin).into_iter().enumerate() {
            if index % 2 == stays {
                self.live.push(live);
            } else {
                self.live_bytes -= live.size();
                script.free(live);
            }
        }
    }

    fn start_over(&mut self, script: &mut Script) {
        for live in self.live.drain(..) {
            script.free(live);
        }
        self.live_bytes = 0;
        self.class = SMALLEST;
        self.kind = KINDS[usize::from(self.rng.chance(50))];
    }
}

impl Program for Fragment {
    fn step(&mut self, script: &mut Script) {
        let begin = self.fill_up(script);
        if self.live.len() == begin {
            self.start_over(script);
        } else {
            self.punch_holes(begin, script);
            self.class *= 2;
        }
        script.end_frame();
    }

    fn finish(&mut self, script: &mut Script) {
        self.start_over(script);
    }
}
