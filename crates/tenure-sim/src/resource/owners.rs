//! The program's objects in the bytes of a shared buffer.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::ResourceState;

/// The names given to ranges of a buffer. A name is kept after its object is destroyed, until another object
/// gets bytes of the range: a hazard on freed bytes names the object that had them last.
#[derive(Default)]
pub(crate) struct Owners {
    /// The owned ranges by first byte, each with its end and the name of its owner.
    ranges: Mutex<BTreeMap<u64, (u64, Arc<str>)>>,
    /// False until a range is named, so that programs without names only pay a load.
    has_names: AtomicBool,
}

impl Owners {
    /// Assigns the bytes to an object of that name; empty: to one without a name.
    pub(crate) fn set(&self, range: Range<u64>, name: &str) {
        if name.is_empty() && !self.has_names.load(Ordering::Relaxed) {
            return;
        }
        let mut ranges = self.ranges.lock();
        let overlapped: Vec<u64> = overlapping(&ranges, &range).map(|(start, ..)| start).collect();
        for start in overlapped {
            ranges.remove(&start);
        }
        if !name.is_empty() {
            ranges.insert(range.start, (range.end, name.into()));
            self.has_names.store(true, Ordering::Relaxed);
        }
    }

    /// The first object with bytes of the range, and its first byte.
    fn of(&self, range: &Range<u64>) -> Option<(u64, Arc<str>)> {
        let ranges = self.ranges.lock();
        let first = overlapping(&ranges, range).last();
        first.map(|(start, name)| (start, Arc::clone(name)))
    }
}

/// The owned ranges that overlap `range`, from the last to the first. Owned ranges do not overlap one another.
fn overlapping<'a>(
    ranges: &'a BTreeMap<u64, (u64, Arc<str>)>,
    range: &Range<u64>,
) -> impl Iterator<Item = (u64, &'a Arc<str>)> {
    let start = range.start;
    let before_end = ranges.range(..range.end.max(start.saturating_add(1))).rev();
    before_end.take_while(move |(_, (end, _))| *end > start).map(|(first, (_, name))| (*first, name))
}

/// A resource with the bytes concerned: `buffer 'rock' (at 4096 of buffer 'small buffers' (#2))`.
pub(crate) struct Part<'a> {
    pub(crate) resource: &'a ResourceState,
    pub(crate) range: Range<u64>,
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.resource.label;
        match self.resource.owners.of(&self.range) {
            Some((start, name)) => write!(f, "{} '{name}' (at {start} of {label})", label.kind),
            None => label.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Owners;

    fn named(owners: &Owners, start: u64, end: u64) -> Option<(u64, String)> {
        owners.of(&(start..end)).map(|(start, name)| (start, name.to_string()))
    }

    #[test]
    fn the_last_owner_of_bytes_is_known_until_there_is_another() {
        let owners = Owners::default();
        assert_eq!(named(&owners, 0, 100), None);
        owners.set(0..64, "rock");
        owners.set(64..128, "tree");
        assert_eq!(named(&owners, 0, 128), Some((0, "rock".into())), "the first");
        assert_eq!(named(&owners, 63, 64), Some((0, "rock".into())));
        assert_eq!(named(&owners, 64, 65), Some((64, "tree".into())));
        assert_eq!(named(&owners, 128, 129), None);
        owners.set(32..96, "");
        assert_eq!(named(&owners, 0, 128), None, "bytes of both went to an object without a name");
        owners.set(96..128, "hill");
        owners.set(96..100, "house");
        assert_eq!(named(&owners, 100, 128), None);
        assert_eq!(named(&owners, 99, 99), Some((96, "house".into())), "no bytes, but a place");
    }
}
