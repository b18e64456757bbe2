//! A subscriber of events that panics, or calls the manager.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber, span};

use super::{Act, Callbacks};
use crate::setup::Setup;

/// Runs a program; in some, a subscriber listens on this thread.
pub(crate) fn with_subscriber<T>(callbacks: &Arc<Callbacks>, setup: &Setup, run: impl FnOnce() -> T) -> T {
    let seed = setup.callbacks().next();
    if !callbacks.is_hostile || !seed.is_multiple_of(4) {
        return run();
    }
    with_default(Listener { callbacks: callbacks.clone(), seed, calls: AtomicU64::new(0) }, run)
}

struct Listener {
    callbacks: Arc<Callbacks>,
    seed: u64,
    calls: AtomicU64,
}

impl Listener {
    /// The number of this call.
    fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        let number = self.number();
        self.callbacks.act(match number % 5 {
            0 => Act::Panic,
            1 => Act::Call(self.seed.wrapping_add(number)),
            _ => Act::Nothing,
        });
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
