//! Where dropped things wait for the recordings that may use them.

use std::collections::VecDeque;

use super::Entry;

/// Vectors kept for later groups; more than this many are freed.
const SPARE_VECTORS: usize = 32;

/// Entries whose newest recording is the same.
#[derive(Debug)]
struct Group<T> {
    tag: u64,
    entries: Vec<Entry<T>>,
}

/// Groups by rising tag. Tags rise with time, so that a new one nearly always belongs at the end.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    groups: VecDeque<Group<T>>,
    spare: Vec<Vec<Entry<T>>>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self { groups: VecDeque::new(), spare: Vec::new() }
    }

    pub(super) fn add(&mut self, entry: Entry<T>) {
        match self.groups.binary_search_by_key(&entry.tag, |group| group.tag) {
            Ok(index) => self.groups[index].entries.push(entry),
            Err(index) => {
                let mut entries = self.spare.pop().unwrap_or_default();
                let tag = entry.tag;
                entries.push(entry);
                self.groups.insert(index, Group { tag, entries });
            }
        }
    }

    /// Moves the entries that wait for no recording from `oldest_open` on into `due`.
    pub(super) fn take_before(&mut self, oldest_open: u64, due: &mut Vec<Entry<T>>) {
        while self.groups.front().is_some_and(|group| group.tag < oldest_open) {
            let Some(mut group) = self.groups.pop_front() else { return };
            due.append(&mut group.entries);
            if self.spare.len() < SPARE_VECTORS {
                self.spare.push(group.entries);
            }
        }
    }

    /// Bytes of the entries that wait for a recording with this number or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = self.groups.iter().filter(|group| group.tag >= recording);
        tagged.flat_map(|group| &group.entries).map(|entry| entry.bytes).sum()
    }

    /// Hands out everything.
    pub(super) fn take_all(&mut self, take: impl FnMut(Entry<T>)) {
        self.groups.drain(..).flat_map(|group| group.entries).for_each(take);
    }
}
