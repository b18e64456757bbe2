//! The register of open recordings.

use std::collections::VecDeque;
use std::fmt;

use crate::Name;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The number of a recording, increasing from 1 in the order in which recordings are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingId(pub(super) u64);

impl RecordingId {
    /// A recording by its number.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_raw(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A recording that is still open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenRecording {
    /// The number.
    pub id: RecordingId,
    /// The name given when it was opened.
    pub name: Name,
    /// The frame in which it was opened.
    pub frame: u64,
}

/// Frames after which an open recording counts as forgotten.
const FORGOTTEN_AFTER: u64 = 30;

#[derive(Debug, Default)]
struct Registry {
    /// The open recordings, in the order of their numbers.
    open: VecDeque<OpenRecording>,
    /// The number of the newest recording ever opened.
    newest: u64,
    /// The newest recording with a warning in the log.
    warned: u64,
}

impl Registry {
    /// The position of an open recording.
    fn position(&self, number: u64) -> Option<usize> {
        self.open.binary_search_by_key(&number, |open| open.id.0).ok()
    }

    /// The number of the oldest open recording after the first `skipped`; higher than the newest number if there is none.
    fn oldest_after(&self, skipped: usize) -> u64 {
        self.open.get(skipped).map_or(self.newest + 1, |open| open.id.0)
    }
}

/// The register of open recordings.
///
/// A dropped object may still be used by the recordings open at that moment. Recordings opened later cannot use it, since a use
/// needs a handle. So the release queue stores [`newest`](Self::newest) with a dropped object; once
/// [`oldest_open`](Self::oldest_open) is higher, each recording that may use the object has been submitted or discarded.
///
/// Opening and closing a recording take a lock each; reading `newest` and `oldest_open` takes none. The register contains only
/// the open recordings, so that it does not grow while one of them stays open.
#[derive(Debug)]
pub struct Recordings {
    registry: Mutex<Registry>,
    newest: AtomicU64,
    oldest_open: AtomicU64,
}

impl Default for Recordings {
    fn default() -> Self {
        Self::new()
    }
}

impl Recordings {
    /// A register without recordings.
    #[must_use]
    pub fn new() -> Self {
        Self { registry: Mutex::default(), newest: AtomicU64::new(0), oldest_open: AtomicU64::new(1) }
    }

    /// Opens a recording. `name` and `frame` are for statistics.
    pub fn open(&self, name: impl Into<Name>, frame: u64) -> RecordingId {
        let name = name.into();
        let mut registry = self.registry.lock();
        registry.newest += 1;
        let id = RecordingId(registry.newest);
        registry.open.push_back(OpenRecording { id, name, frame });
        self.newest.store(id.0, Ordering::Release);
        id
    }

    /// Closes a recording, after its submission has its serial or when it is discarded.
    /// Closing one twice does nothing.
    pub fn close(&self, id: RecordingId) {
        let mut registry = self.registry.lock();
        let closed = registry.position(id.0).and_then(|position| registry.open.remove(position));
        self.oldest_open.store(registry.oldest_after(0), Ordering::Release);
        drop(registry);
        drop(closed);
    }

    /// The number of the newest recording ever opened; 0 before the first.
    #[inline]
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// The number of the oldest open recording; higher than the newest number if there is none. Recordings with lower numbers
    /// are closed.
    #[inline]
    #[must_use]
    pub fn oldest_open(&self) -> u64 {
        self.oldest_open.load(Ordering::Acquire)
    }

    /// The number of the oldest open recording other than `id`; higher than the newest number if there is none.
    #[doc(hidden)]
    #[must_use]
    pub fn oldest_open_but(&self, id: RecordingId) -> u64 {
        let registry = self.registry.lock();
        let is_oldest = registry.open.front().is_some_and(|oldest| oldest.id == id);
        registry.oldest_after(usize::from(is_oldest))
    }

    /// Whether a recording is open.
    #[doc(hidden)]
    #[must_use]
    pub fn is_open(&self, number: u64) -> bool {
        self.registry.lock().position(number).is_some()
    }

    /// The name of an open recording.
    #[doc(hidden)]
    #[must_use]
    pub fn name(&self, id: RecordingId) -> Option<Name> {
        let registry = self.registry.lock();
        registry.position(id.0).map(|position| registry.open[position].name.clone())
    }

    /// The oldest open recording.
    #[must_use]
    pub fn oldest(&self) -> Option<OpenRecording> {
        self.registry.lock().open.front().cloned()
    }

    /// Warns once, by name, of a recording that has been open for [`FORGOTTEN_AFTER`] frames: no object dropped since can be
    /// released. Checks only the oldest recording, so that the cost does not depend on the number of open recordings.
    #[doc(hidden)]
    pub fn warn_of_forgotten(&self, frame: u64) {
        let mut registry = self.registry.lock();
        let Some(oldest) = registry.open.front().cloned() else { return };
        let frames = frame.saturating_sub(oldest.frame);
        if frames < FORGOTTEN_AFTER || oldest.id.0 <= registry.warned {
            return;
        }
        registry.warned = oldest.id.0;
        drop(registry);
        let OpenRecording { id, name, .. } = oldest;
        event!(warn, %name, %id, frames,
            "a recording is still open, and nothing dropped since it was opened can be released"
        );
    }

    /// The number of open recordings.
    #[must_use]
    pub fn count(&self) -> usize {
        self.registry.lock().open.len()
    }

    /// The open recordings, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<OpenRecording> {
        self.registry.lock().open.iter().cloned().collect()
    }
}
