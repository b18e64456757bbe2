//! The last frames, in numbers.

use std::collections::VecDeque;

use tenure_core::device::Device;
use tenure_core::{Gpu, HeapMemory};

/// The frames that are kept: ten seconds at 60 a second.
const MOST: usize = 600;

/// The end of a frame.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The frame's number.
    pub(crate) frame: u64,
    /// Each memory heap.
    pub(crate) heaps: Vec<HeapMemory>,
    /// Bytes of dropped objects that wait, in all heaps.
    pub(crate) pending: u64,
}

/// The last frames, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    all: VecDeque<Sample>,
}

impl Samples {
    /// Takes down the numbers of now, once for each frame of a program that has frames.
    pub(crate) fn take<D: Device>(&mut self, gpu: &Gpu<D>) {
        let frame = gpu.stats().frames;
        if frame > 0 && self.all.back().is_some_and(|last| last.frame == frame) {
            self.all.pop_back();
        }
        while self.all.len() >= MOST {
            self.all.pop_front();
        }
        let memory = gpu.memory();
        self.all.push_back(Sample { frame, heaps: memory.heaps, pending: memory.pending_bytes });
    }

    pub(crate) fn last(&self) -> Option<&Sample> {
        self.all.back()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Sample> {
        self.all.get(index)
    }

    /// A heap in each sample.
    pub(crate) fn heap(&self, heap: usize) -> impl Iterator<Item = &HeapMemory> {
        self.all.iter().filter_map(move |sample| sample.heaps.get(heap))
    }
}
