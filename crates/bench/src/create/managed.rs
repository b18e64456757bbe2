//! tenure's way.

use std::hint::black_box;

use tenure_core::device::Device;
use tenure_core::{Error, Gpu, Queue};

use super::{Round, Way};
use crate::timing::time;

/// Handles of a manager, dropped after a submission that may use them; the end of the frame gives them
/// back.
pub(super) struct Managed<D: Device, T, F> {
    gpu: Gpu<D>,
    create: F,
    /// Keeps the pools' blocks from coming and going.
    kept: Vec<T>,
}

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Managed<D, T, F> {
    pub(super) const fn new(gpu: Gpu<D>, create: F) -> Self {
        Self { gpu, create, kept: Vec::new() }
    }

    fn create(&self, count: u32) -> Result<Vec<T>, Error> {
        (0..count).map(|_| (self.create)(&self.gpu)).collect()
    }

    fn try_round(&mut self, count: u32) -> Result<Round, Error> {
        if self.kept.is_empty() {
            self.kept = self.create(count)?;
        }
        let frame = self.gpu.begin_frame()?;
        let recording = frame.record(Queue::Graphics, "uses them")?;
        let mut made = Ok(Vec::new());
        let create = time(|| made = self.create(count));
        let made = made?;
        frame.submit(recording)?;
        let drop = time(|| drop(black_box(made)));
        let mut ended = Ok(());
        let give_back = time(|| ended = frame.end());
        ended?;
        Ok(Round { create, drop, give_back })
    }
}

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Way for Managed<D, T, F> {
    fn round(&mut self, count: u32) -> Result<Round, String> {
        self.try_round(count).map_err(|error| error.to_string())
    }
}
