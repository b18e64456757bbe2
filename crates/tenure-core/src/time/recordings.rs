//! The register of open recordings.

use std::collections::VecDeque;
use std::fmt;

use crate::Name;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The number of a recording, rising from 1 in the order in which recordings are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingId(pub(crate) u64);

impl RecordingId {
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
    /// Its number.
    pub id: RecordingId,
    /// The name given when it was opened.
    pub name: Name,
    /// The frame in which it was opened.
    pub frame: u64,
}

/// Frames after which an open recording is taken to be forgotten.
const FORGOTTEN_AFTER: u64 = 30;

#[derive(Debug, Default)]
struct Registry {
    /// Recordings `first..first + len`; `None` where closed. The front is always open.
    recordings: VecDeque<Option<OpenRecording>>,
    first: u64,
    /// The number of those that are open.
    open: usize,
    /// The newest recording that the log has warned of as forgotten.
    warned: u64,
}

/// The register of open recordings.
///
/// A dropped object may still be used by the recordings that are open at that moment. No recording that is
/// opened later can use it, since that takes a handle. So the release queue notes [`newest`](Self::newest)
/// with a dropped object; once [`oldest_open`](Self::oldest_open) is higher, each recording that may use
/// the object has been submitted or discarded.
///
/// Opening and closing a recording take a lock each; reading `newest` and `oldest_open` takes none.
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
        Self {
            registry: Mutex::new(Registry { recordings: VecDeque::new(), first: 1, open: 0, warned: 0 }),
            newest: AtomicU64::new(0),
            oldest_open: AtomicU64::new(1),
        }
    }

    /// Opens a recording. `name` and `frame` are for statistics.
    pub fn open(&self, name: impl Into<Name>, frame: u64) -> RecordingId {
        let name = name.into();
        let mut registry = self.registry.lock();
        let id = RecordingId(registry.first + registry.recordings.len() as u64);
        registry.open += 1;
        registry.recordings.push_back(Some(OpenRecording { id, name, frame }));
        self.newest.store(id.0, Ordering::Release);
        id
    }

    /// Closes a recording, after its submission has its serial or when it is discarded.
    /// Closing one twice does nothing.
    pub fn close(&self, id: RecordingId) {
        let mut registry = self.registry.lock();
        let Some(index) = id.0.checked_sub(registry.first).and_then(|index| usize::try_from(index).ok())
        else {
            return;
        };
        let closed = registry.recordings.get_mut(index).and_then(Option::take);
        registry.open -= usize::from(closed.is_some());
        while registry.recordings.front().is_some_and(Option::is_none) {
            registry.recordings.pop_front();
            registry.first += 1;
        }
        self.oldest_open.store(registry.first, Ordering::Release);
    }

    /// The number of the newest recording ever opened; 0 when there was none.
    #[inline]
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Every recording with a lower number is closed.
    #[inline]
    #[must_use]
    pub fn oldest_open(&self) -> u64 {
        self.oldest_open.load(Ordering::Acquire)
    }

    /// The number of the oldest open recording other than `id`; higher than that of the newest when there is
    /// none.
    pub(crate) fn oldest_open_but(&self, id: RecordingId) -> u64 {
        let registry = self.registry.lock();
        let numbered = (registry.first..).zip(&registry.recordings);
        let other = numbered.filter(|(_, open)| open.is_some()).find(|(number, _)| *number != id.0);
        other.map_or(registry.first + registry.recordings.len() as u64, |(number, _)| number)
    }

    /// Whether a recording is open.
    pub(crate) fn is_open(&self, number: u64) -> bool {
        let registry = self.registry.lock();
        let index = number.checked_sub(registry.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| registry.recordings.get(index)).is_some_and(Option::is_some)
    }

    /// The name of a recording that is open.
    pub(crate) fn name(&self, id: RecordingId) -> Option<Name> {
        let registry = self.registry.lock();
        let index = usize::try_from(id.0.checked_sub(registry.first)?).ok()?;
        registry.recordings.get(index)?.as_ref().map(|open| open.name.clone())
    }

    /// The recording that has been open for longest.
    #[must_use]
    pub fn oldest(&self) -> Option<OpenRecording> {
        self.registry.lock().recordings.front().cloned().flatten()
    }

    /// Warns once, by name, of a recording that has been open for [`FORGOTTEN_AFTER`] frames: nothing that was
    /// dropped since can be released. Only the oldest recording is checked, so that the cost does not depend on
    /// the number of open recordings.
    pub(crate) fn warn_of_forgotten(&self, frame: u64) {
        let mut registry = self.registry.lock();
        let Some(oldest) = registry.recordings.front().cloned().flatten() else { return };
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
        self.registry.lock().open
    }

    /// The open recordings, oldest first. Cost: the span from the oldest open to the newest.
    #[must_use]
    pub fn list(&self) -> Vec<OpenRecording> {
        self.registry.lock().recordings.iter().flatten().cloned().collect()
    }
}
