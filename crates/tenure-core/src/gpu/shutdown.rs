//! The end: wait, give back, report (spec T8).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Shared;
use crate::Name;
use crate::device::{Device, Permit};
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

/// Waits, gives everything back and looks what is left.
pub(super) fn shut_down<D: Device>(shared: &Arc<Shared<D>>) -> ShutdownReport {
    let start = Instant::now();
    if let Err(error) = shared.flush_pending_uploads() {
        shared.uploads.give_up_all(shared, &error);
    }
    let waited =
        shared.clock.wait(shared.device(), &shared.clock.submitted(), shared.config.shutdown_timeout);
    let timed_out = waited == Ok(false);
    if timed_out {
        // Whatever is destroyed now the GPU might still read: it all stays, with its device.
        std::mem::forget(shared.clone());
    } else {
        shared.is_shut_down.store(true, Ordering::Release);
        shared.release_pages();
        shared.settle();
        shared.pools.trim(shared.device());
        shared.descriptors.trim(shared.device());
    }
    let mut leaks = Vec::new();
    shared.registry.for_each(|record| leaks.push(Leak::of(record)));
    leaks.sort_by(|a, b| (&a.name, a.frame).cmp(&(&b.name, b.frame)));
    let open = shared.recordings.list();
    ShutdownReport {
        leaks,
        open_recordings: open.iter().map(|recording| recording.name).collect(),
        waited: start.elapsed(),
        timed_out,
        lost: shared.clock.loss().map(str::to_owned),
    }
}

impl<D: Device> Drop for Shared<D> {
    /// The last handle is gone. The manager has waited for the GPU; a recording may have been
    /// submitted since.
    fn drop(&mut self) {
        let timeout = self.config.shutdown_timeout;
        let waited = self.clock.wait(self.device(), &self.clock.submitted(), timeout);
        self.release_pages();
        match (waited, self.purge_all()) {
            (Ok(false), _) | (_, Err(_)) => self.abandon(),
            (_, Ok(purged)) => {
                purged.log();
                for list in self.contexts.take_all() {
                    self.device.destroy_list(Permit::own(), list);
                }
                self.descriptors.take_all().destroy(&self.device);
                self.pools.unmake_all(self.device());
            }
        }
    }
}

impl<D: Device> Shared<D> {
    /// Gives back what is kept for later recordings, uploads and readbacks.
    fn release_pages(&self) {
        self.constants.release_all(self);
        self.uploads.release(self);
        self.readbacks.release(self);
    }

    /// Gives back what is kept for later ones and used by none that is open or in flight.
    pub(super) fn release_idle_pages(&self) {
        self.constants.release_free(self);
        self.uploads.release(self);
        self.readbacks.release(self);
    }

    /// Leaves everything to the driver, for good, the device included: the GPU may still use it.
    fn abandon(&mut self) {
        tracing::error!(target: "tenure", "the GPU did not finish; its objects are left alone");
        self.drop_users().log();
        self.pools.abandon();
        std::mem::forget(self.contexts.take_all());
        std::mem::forget(self.descriptors.take_all());
        std::mem::forget(std::mem::take(&mut self.releases));
        std::mem::forget(self.seat.take());
        std::mem::forget(self.device.clone());
    }
}
