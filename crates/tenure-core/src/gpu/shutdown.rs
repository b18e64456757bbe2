//! The end: wait, give back, report (spec T8).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Shared;
use crate::Name;
use crate::device::Device;
use crate::registry::{ObjectKind, Record};

/// An object that outlived its manager.
#[derive(Clone, Debug)]
pub struct Leak {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: ObjectKind,
    /// Bytes asked for.
    pub bytes: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// Where it was created, when [`Config::leak_backtraces`](crate::Config::leak_backtraces) is on.
    pub backtrace: Option<String>,
}

impl Leak {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            name: record.name.clone(),
            kind: record.kind,
            bytes: record.bytes,
            frame: record.frame,
            backtrace: record.backtrace.as_ref().map(ToString::to_string),
        }
    }
}

/// How a manager ended.
#[derive(Clone, Debug, Default)]
pub struct ShutdownReport {
    /// Handles that still live, by name.
    pub leaks: Vec<Leak>,
    /// Recordings that were still open, by name.
    pub open_recordings: Vec<&'static str>,
    /// How long it waited for the GPU.
    pub waited: Duration,
    /// The GPU did not finish in time: what it may still use was left alone, for good.
    pub timed_out: bool,
    /// The device was lost, for this reason.
    pub lost: Option<String>,
}

impl ShutdownReport {
    /// True when everything ended as it should.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.leaks.is_empty() && self.open_recordings.is_empty() && !self.timed_out && self.lost.is_none()
    }

    pub(super) fn log(&self) {
        for leak in &self.leaks {
            let Leak { name, kind, bytes, frame, .. } = leak;
            tracing::warn!(target: "tenure", %name, ?kind, bytes, frame, "leaked");
        }
        for name in &self.open_recordings {
            tracing::warn!(target: "tenure", name, "recording still open");
        }
        if self.timed_out {
            tracing::error!(target: "tenure", waited = ?self.waited, "the GPU did not finish; its objects are left alone");
        }
    }
}

pub(super) fn shut_down<D: Device>(shared: &Arc<Shared<D>>) -> ShutdownReport {
    let start = Instant::now();
    let waited = shared.clock.wait(&shared.device, &shared.clock.submitted(), shared.config.shutdown_timeout);
    let timed_out = waited == Ok(false);
    let mut leaks = Vec::new();
    shared.registry.for_each(|record| leaks.push(Leak::of(record)));
    leaks.sort_by(|a, b| (&a.name, a.frame).cmp(&(&b.name, b.frame)));
    let open = shared.recordings.list();
    let report = ShutdownReport {
        leaks,
        open_recordings: open.iter().map(|recording| recording.name).collect(),
        waited: start.elapsed(),
        timed_out,
        lost: shared.clock.loss().map(str::to_owned),
    };
    if timed_out {
        // Whatever is destroyed now the GPU might still read: it all stays, with its device.
        std::mem::forget(shared.clone());
        return report;
    }
    shared.is_shut_down.store(true, Ordering::Release);
    shared.purge();
    if shared.clock.loss().is_some() {
        // A lost device uses nothing any more, so that this always purges.
        let _drained = shared.purge_all();
    }
    shared.pools.trim(&shared.device);
    report
}
