//! The state that all clones of a `Gpu` share.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::memory::PressureWatch;
use super::shutdown::{self, ShutdownReport};
use crate::compaction::Compactor;
use crate::context::{Call, Context, Panicked, RefShards};
use crate::device::{Device, DeviceError};
use crate::error::Error;
use crate::service::Service as _;
use crate::services::Services;
use crate::stats::FrameMeter;

/// The services of a manager. Dropping the last clone of its `Gpu` ends it.
pub(super) struct Shared<D: Device> {
    pub(super) services: Arc<Services<D>>,
    pub(super) compactor: Compactor<D>,
    pub(super) meter: Mutex<FrameMeter>,
    pub(super) pressure: PressureWatch<D>,
    #[cfg(feature = "metrics")]
    pub(super) published: Mutex<super::metrics::Published>,
    pub(super) context: Arc<Context<D>>,
    _ref_shards: RefShards<D>,
}

impl<D: Device> Shared<D> {
    pub(super) fn new(context: Arc<Context<D>>) -> Self {
        let services = Arc::new(Services::new(context.clone()));
        let compactor = Compactor::new(context.device().properties());
        let ref_shards = RefShards::new(&context);
        let meter = Mutex::new(FrameMeter::default());
        let pressure = PressureWatch::new();
        Self {
            services,
            compactor,
            meter,
            pressure,
            #[cfg(feature = "metrics")]
            published: Mutex::default(),
            context,
            _ref_shards: ref_shards,
        }
    }

    /// [`Error::ShutDown`] after the shutdown.
    #[inline]
    pub(super) fn check_open(&self) -> Result<(), Error> {
        self.context.check_open()
    }

    /// Begins a call that creates, records or uploads.
    #[inline]
    pub(super) fn call(&self) -> Result<Call<'_, D>, Error> {
        self.check_open()?;
        Ok(self.context.call())
    }

    /// Submits an upload that another thread's shutdown may have missed: no other call would submit it.
    #[inline]
    pub(super) fn settle_uploads(&self) -> Result<(), Error> {
        if self.context.is_closed.load(Ordering::Acquire) {
            self.services.uploads.flush(&self.context).map(drop)
        } else {
            Ok(())
        }
    }

    /// Queries the progress of the GPU and releases everything it has finished with; everything at all once the device is lost.
    pub(super) fn poll_and_reclaim(&self) -> (Result<(), DeviceError>, Panicked) {
        let context = &self.context;
        let polled = context.poll().map(drop);
        match &polled {
            Ok(()) => self.services.rings.close(&context.recordings, &context.clock),
            Err(lost) => self.services.uploads.discard_all(context, &lost.clone().into()),
        }
        (polled, context.reclaim())
    }

    /// Without a lock, because a destructor of the program may call it inside another call of it.
    pub(super) fn shut_down(&self) -> ShutdownReport {
        self.context.is_closed.store(true, Ordering::Release);
        self.services.transients.close();
        self.pressure.close();
        shutdown::shut_down(self)
    }
}

impl<D: Device> Drop for Shared<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if !self.context.is_closed.load(Ordering::Acquire) {
            self.shut_down().log();
        }
        // Uploads that another thread has pushed since the shutdown.
        self.services.uploads.discard_all(&self.context, &Error::ShutDown);
        self.services.uploads.staging.release_all(&self.context);
    }
}
