//! Shutdown: waits for the GPU, releases everything, reports leaks.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::Name;
use crate::device::Device;
use crate::registry::Leak;

/// Most leaks, and open recordings, that are logged by name; the rest is logged as a number.
const MOST_LOGGED: usize = 16;

/// The result of a shutdown.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Live handles, by name.
    pub leaks: Vec<Leak>,
    /// Recordings that were still open, by name.
    pub open_recordings: Vec<Name>,
    /// Time spent waiting for the GPU.
    pub waited: Duration,
    /// The GPU did not finish in time: objects that it may still use were leaked, permanently.
    pub timed_out: bool,
    /// The device was lost, for this reason.
    pub lost: Option<String>,
}

impl ShutdownReport {
    /// True when there are no leaks, no open recordings, no timeout and no loss.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.leaks.is_empty() && self.open_recordings.is_empty() && !self.timed_out && self.lost.is_none()
    }

    /// The report as an error unless the shutdown was clean: for `gpu.shutdown().into_result()?`.
    ///
    /// # Errors
    /// The report, whose text names each live handle and each open recording.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX).name("rock"))?;
    /// let error = gpu.shutdown().into_result().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the shutdown was not clean: buffer 'rock' (1000 B, created in frame 0) still lives"
    /// );
    /// drop(rock);
    /// gpu.shutdown().into_result()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_clean() { Ok(()) } else { Err(self) }
    }

    pub(super) fn log(&self) {
        for leak in self.leaks.iter().take(MOST_LOGGED) {
            let Leak { name, kind, bytes, frame, .. } = leak;
            event!(warn, %name, %kind, bytes = *bytes, frame = *frame, "a handle still lives after the shutdown");
        }
        if let Some(rest) = self.leaks.get(MOST_LOGGED..).filter(|rest| !rest.is_empty()) {
            let bytes = rest.iter().map(|leak| leak.bytes).fold(0, u64::saturating_add);
            event!(warn, handles = rest.len(), bytes, "more handles still live after the shutdown");
        }
        for name in self.open_recordings.iter().take(MOST_LOGGED) {
            event!(warn, %name, "a recording is still open after the shutdown");
        }
        if let Some(rest) = self.open_recordings.get(MOST_LOGGED..).filter(|rest| !rest.is_empty()) {
            event!(warn, recordings = rest.len(), "more recordings are still open after the shutdown");
        }
        if self.timed_out {
            event!(error, waited = ?self.waited, "the GPU did not finish; its objects are left alone");
        }
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return write!(f, "the shutdown was clean");
        }
        let leaks = self.leaks.iter().map(|leak| format!("{leak} still lives"));
        let open = self.open_recordings.iter().map(|name| format!("recording '{name}' is still open"));
        let late =
            self.timed_out.then(|| format!("the GPU did not finish in {} ms", self.waited.as_millis()));
        let lost = self.lost.iter().map(|reason| format!("the device was lost: {reason}"));
        let parts: Vec<_> = lost.chain(late).chain(open).chain(leaks).collect();
        write!(f, "the shutdown was not clean: {}", parts.join("; "))
    }
}

impl std::error::Error for ShutdownReport {}

/// Waits for the GPU, releases everything and collects the leaks.
pub(super) fn shut_down<D: Device>(gpu: &Shared<D>) -> ShutdownReport {
    let start = Instant::now();
    let context = &gpu.context;
    let _call = context.call();
    if let Err(error) = gpu.services.uploads.flush(context) {
        gpu.services.uploads.discard_all(context, &error);
    }
    let waited = context.clock.wait(
        context.device(),
        &context.clock.submitted(),
        context.config.frames.shutdown_timeout,
    );
    let timed_out = waited == Ok(false);
    if timed_out {
        // The GPU might still read the objects that would be destroyed now: all of them stay, with their device.
        std::mem::forget(context.clone());
        context.is_abandoned.store(true, Ordering::Release);
        context.awaited.give_up();
    } else {
        context.is_shut_down.store(true, Ordering::Release);
        gpu.services.release_all();
        context.settle();
        gpu.compactor.end(context);
        context.pools.free_empty(context.device());
        context.descriptors.trim(context.device());
    }
    let mut leaks = Vec::new();
    context.registry.for_each(|_, record| leaks.push(Leak::of(record)));
    leaks.sort_by(|a, b| (&a.name, a.frame).cmp(&(&b.name, b.frame)));
    let open = context.recordings.list();
    ShutdownReport {
        leaks,
        open_recordings: open.iter().map(|recording| recording.name.clone()).collect(),
        waited: start.elapsed(),
        timed_out,
        lost: context.clock.loss().map(str::to_owned),
    }
}
