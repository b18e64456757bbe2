//! The interface between a device and the cases.

use std::time::Duration;

use tenure_core::device::{Device, Permit, QueueDevice};

use crate::Probe;

/// The permit for commands that `Recording` does not offer.
pub(crate) const fn permit<D: Device>() -> Permit<D> {
    // SAFETY: the recorded resources are alive and in the requested state, and the ranges are valid; cases
    // submit and destroy only through the manager.
    unsafe { Permit::new() }
}

/// The amount of work in the cases.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of random operations that are compared with a model.
    pub operations: usize,
    /// The duration of cases with many threads.
    pub threads: Duration,
    /// The number of frames in which no object may be created.
    pub frames: u64,
    /// The number of frames of a deferred renderer, each with thousands of copies.
    pub rendered: u64,
    /// The sizes of these frames.
    pub sizes: &'static [[u32; 2]],
}

impl Default for Effort {
    fn default() -> Self {
        let (threads, sizes) = (Duration::from_millis(200), &[[320, 180]]);
        Self { operations: 3000, threads, frames: 1000, rendered: 12, sizes }
    }
}

/// The functions that a case needs in addition to the device interface. Created for each case.
pub trait Harness: Sync {
    /// The device under test.
    type Device: Device;

    /// A device that was not used before. A case calls this once.
    fn device(&self) -> Self::Device;

    /// Keeps everything submitted from now on from completing, until [`settle`](Self::settle).
    /// Returns `false` if the device cannot be held: it then completes work at any time.
    fn hold(&self) -> bool {
        false
    }

    /// Completes all submissions of a device that was held.
    fn settle(&self) {}

    /// Records a dispatch into an open list of a queue with shaders. The descriptor heaps that it reads are set; the
    /// harness binds everything else.
    fn probe(&self, list: &<Self::Device as QueueDevice>::List, probe: &Probe<'_, Self::Device>);

    /// The number of objects of all kinds that the driver has created so far; `None` if they are not counted.
    fn driver_objects(&self) -> Option<u64> {
        None
    }

    /// All problems that caused no error: validation messages, hazards, leaks. Called at the end of a
    /// case, after the manager was dropped.
    fn problems(&self) -> Vec<String>;

    /// The amount of work.
    fn effort(&self) -> Effort {
        Effort::default()
    }
}
