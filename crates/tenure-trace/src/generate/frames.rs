//! Constant and staging buffers that exist for a few frames.

use std::collections::VecDeque;

use super::rng::Rng;
use super::script::{Live, Program, Script};
use crate::{Kind, Layout, MemoryKind};

const CONSTANTS: Kind = Kind::new(MemoryKind::CpuToGpu, Layout::Linear);
/// The size granularity and the alignment of constant buffers in Direct3D 12.
const UNIT: u64 = 256;
const MAX_UNITS: u64 = 16;

const PER_FRAME: u64 = 2000;
const FRAMES_IN_FLIGHT: usize = 3;
const LATE_PERCENT: u64 = 5;

pub(super) struct Frames {
    rng: Rng,
    per_frame: u64,
    /// The allocations of each frame in flight, oldest frame first.
    in_flight: VecDeque<Vec<Live>>,
}

impl Frames {
    pub(super) fn new(seed: u64, allocs: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            // A short recording also has several dozen frames.
            per_frame: (allocs / 32).clamp(1, PER_FRAME),
            in_flight: VecDeque::new(),
        }
    }

    fn free_all_but(&mut self, frames: usize, script: &mut Script) {
        while self.in_flight.len() > frames {
            for constants in self.in_flight.pop_front().into_iter().flatten() {
                script.free(constants);
            }
        }
    }
}

impl Program for Frames {
    fn step(&mut self, script: &mut Script) {
        let late = usize::from(self.rng.chance(LATE_PERCENT));
        self.free_all_but(FRAMES_IN_FLIGHT - 1 + late, script);
        let quarter = self.per_frame / 4;
        let count = self.rng.within(self.per_frame - quarter, self.per_frame + quarter);
        let frame = (0..count).map_while(|_| {
            let size = UNIT * self.rng.within(1, MAX_UNITS);
            script.alloc(size, UNIT, CONSTANTS)
        });
        self.in_flight.push_back(frame.collect());
        script.end_frame();
    }

    fn finish(&mut self, script: &mut Script) {
        self.free_all_but(0, script);
    }
}
