//! Creating resources with tenure.

use std::hint::black_box;

use tenure_core::device::Device;
use tenure_core::{Error, Gpu, Queue};

use super::{Round, Way, fill};
use crate::timing::time;

/// Creates handles and drops them after a submission that may use them; the end of the frame frees their
/// memory.
pub(super) struct Managed<D: Device, T, F> {
    gpu: Gpu<D>,
    create: F,
    /// Keeps the blocks of the pools alive during the measurement.
    kept: Vec<T>,
    /// Empty between rounds; the vector is kept so that its allocation is not measured.
    made: Vec<T>,
}

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Managed<D, T, F> {
    pub(super) const fn new(gpu: Gpu<D>, create: F) -> Self {
        Self { gpu, create, kept: Vec::new(), made: Vec::new() }
    }

    fn try_round(&mut self, count: u32) -> Result<Round, Error> {
        if self.kept.is_empty() {
            let mut kept = Vec::new();
            fill(&mut kept, count, |_| (self.create)(&self.gpu))?;
            self.kept = kept;
        }
        let mut made = std::mem::take(&mut self.made);
        let frame = self.gpu.begin_frame()?;
        let recording = frame.record(Queue::Graphics, "uses them")?;
        let create = fill(&mut made, count, |_| (self.create)(&self.gpu))?;
        frame.submit(recording)?;
        let drop = time(|| black_box(&mut made).clear());
        let mut ended = Ok(());
        let give_back = time(|| ended = frame.end());
        ended?;
        self.made = made;
        Ok(Round { create, drop, give_back })
    }
}

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Way for Managed<D, T, F> {
    fn round(&mut self, count: u32) -> Result<Round, String> {
        self.try_round(count).map_err(|error| error.to_string())
    }
}
