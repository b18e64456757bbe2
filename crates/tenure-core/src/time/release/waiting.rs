//! Where dropped things wait for the recordings that may use them.

use std::collections::VecDeque;

use super::Entry;
use super::pile::Pile;
use super::spares::Spares;

/// Entries whose newest recording is the same.
#[derive(Debug)]
struct Group<T> {
    tag: u64,
    pile: Pile<T>,
}

/// Groups by rising tag. Tags rise with time, so that a new one nearly always belongs at the end.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    groups: VecDeque<Group<T>>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self { groups: VecDeque::new() }
    }

    /// Where the group with this tag is, or else belongs.
    fn place(&self, tag: u64) -> Result<usize, usize> {
        self.groups.binary_search_by_key(&tag, |group| group.tag)
    }

    pub(super) fn add(&mut self, entry: Entry<T>, spares: &mut Spares<T>) {
        match self.place(entry.tag) {
            Ok(index) => self.groups[index].pile.push(entry),
            Err(index) => {
                let (tag, mut pile) = (entry.tag, spares.take());
                pile.push(entry);
                self.groups.insert(index, Group { tag, pile });
            }
        }
    }

    /// Takes a whole pile, if it can be a group of its own.
    ///
    /// # Errors
    /// The pile, if not.
    pub(super) fn add_pile(&mut self, pile: Pile<T>) -> Result<(), Pile<T>> {
        let Some(tag) = pile.common_tag() else { return Err(pile) };
        match self.place(tag) {
            Ok(_) => Err(pile),
            Err(index) => {
                self.groups.insert(index, Group { tag, pile });
                Ok(())
            }
        }
    }

    /// Moves the entries that wait for no recording from `oldest_open` on into `due`.
    pub(super) fn take_before(&mut self, oldest_open: u64, due: &mut Vec<Pile<T>>) {
        while let Some(group) = self.groups.pop_front_if(|group| group.tag < oldest_open) {
            due.push(group.pile);
        }
    }

    /// Bytes of the entries that wait for a recording with this number or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        self.groups.iter().filter(|group| group.tag >= recording).map(|group| group.pile.bytes()).sum()
    }

    /// Hands out everything.
    pub(super) fn take_all(&mut self, mut take: impl FnMut(Pile<T>)) {
        self.groups.drain(..).for_each(|group| take(group.pile));
    }
}
