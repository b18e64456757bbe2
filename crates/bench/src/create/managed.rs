//! Creating resources with tenure.

use tenure_core::device::Device;
use tenure_core::{Error, Frame, Gpu, Queue, Recording};

use super::Way;

/// Creates handles and drops them after a submission that may use them; the end of the frame frees their memory.
pub(super) struct Managed<D: Device, F> {
    gpu: Gpu<D>,
    create: F,
    /// The present frame, and a recording that is submitted in it.
    frame: Option<(Frame<D>, Option<Recording<D>>)>,
}

impl<D: Device, F> Managed<D, F> {
    pub(super) const fn new(gpu: Gpu<D>, create: F) -> Self {
        Self { gpu, create, frame: None }
    }
}

fn words(error: Error) -> String {
    error.to_string()
}

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Way for Managed<D, F> {
    type Made = T;

    fn begin(&mut self) -> Result<(), String> {
        let frame = self.gpu.begin_frame().map_err(words)?;
        let recording = frame.record(Queue::Graphics, "uses them").map_err(words)?;
        self.frame = Some((frame, Some(recording)));
        Ok(())
    }

    fn create(&mut self, _: u32) -> Result<T, String> {
        (self.create)(&self.gpu).map_err(words)
    }

    fn submit(&mut self) -> Result<(), String> {
        let Some((frame, recording)) = &mut self.frame else { return Ok(()) };
        recording.take().map_or(Ok(()), |recording| frame.submit(recording).map(drop)).map_err(words)
    }

    fn drop_all(&mut self, made: &mut Vec<T>) -> Result<(), String> {
        made.clear();
        Ok(())
    }

    fn give_back(&mut self) -> Result<(), String> {
        self.frame.take().map_or(Ok(()), |(frame, _)| frame.end()).map_err(words)
    }
}
