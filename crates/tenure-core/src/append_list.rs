//! A list to which a shared reference can append.

use std::cell::{Cell, OnceCell};
use std::iter;

/// Entries in the first chunk of a list; each further chunk has twice as many as its predecessor.
const FIRST_CHUNK: usize = 4;

/// A list that grows through a shared reference. Growing moves no entry, so references to entries stay valid.
pub(crate) struct AppendList<T> {
    first: OnceCell<Box<Chunk<T>>>,
    /// The index of the next entry: this slot and all later ones are empty.
    len: Cell<usize>,
}

struct Chunk<T> {
    places: Box<[OnceCell<T>]>,
    next: OnceCell<Box<Self>>,
}

impl<T> Chunk<T> {
    #[cold]
    fn new(size: usize) -> Box<Self> {
        let places = iter::repeat_with(OnceCell::new).take(size).collect();
        Box::new(Self { places, next: OnceCell::new() })
    }
}

impl<T> AppendList<T> {
    pub(crate) const fn new() -> Self {
        Self { first: OnceCell::new(), len: Cell::new(0) }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len.get()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends an entry; its index is the length before the call.
    pub(crate) fn push(&self, entry: T) -> &T {
        let mut index = self.len.replace(self.len() + 1);
        let (mut chunk, mut size) = (&self.first, FIRST_CHUNK);
        loop {
            let Chunk { places, next } = &**chunk.get_or_init(|| Chunk::new(size));
            if let Some(place) = places.get(index) {
                return place.get_or_init(|| entry);
            }
            index -= size;
            size *= 2;
            chunk = next;
        }
    }

    #[inline]
    pub(crate) fn get(&self, mut index: usize) -> Option<&T> {
        let mut chunk = self.first.get()?;
        while index >= chunk.places.len() {
            index -= chunk.places.len();
            chunk = chunk.next.get()?;
        }
        chunk.places.get(index)?.get()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn place(&mut self, mut index: usize) -> Option<&mut OnceCell<T>> {
        let mut chunk = self.first.get_mut()?;
        while index >= chunk.places.len() {
            index -= chunk.places.len();
            chunk = chunk.next.get_mut()?;
        }
        chunk.places.get_mut(index)
    }

    /// Takes one entry. Its slot stays empty until the next [`drain`](Self::drain) that includes it.
    pub(crate) fn take(&mut self, index: usize) -> Option<T> {
        self.place(index)?.take()
    }

    /// Swaps two entries.
    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        if a != b {
            let taken = [a, b].map(|index| self.take(index));
            for (index, entry) in [b, a].into_iter().zip(taken) {
                if let (Some(place), Some(entry)) = (self.place(index), entry) {
                    *place = entry.into();
                }
            }
        }
    }

    /// Drains the entries from an index on, in order, and sets the length to it. The iterator must run to its
    /// end.
    pub(crate) fn drain(&mut self, from: usize) -> impl Iterator<Item = T> {
        let all = from..self.len.replace(from);
        all.filter_map(|index| self.take(index))
    }
}

#[cfg(test)]
mod tests {
    use super::AppendList;

    #[test]
    fn entries_stay_where_they_are_and_leave_in_order() {
        let mut list = AppendList::new();
        let kept: Vec<&u32> = (0..100).map(|number| list.push(number)).collect();
        assert!(
            (0..)
                .zip(&kept)
                .all(|(index, entry)| list.get(index).is_some_and(|found| std::ptr::eq(found, *entry)))
        );
        assert!(list.iter().copied().eq(0..100) && list.get(100).is_none());
        list.swap(0, 70);
        list.swap(3, 3);
        assert_eq!((list.get(0), list.get(3), list.get(70)), (Some(&70), Some(&3), Some(&0)));
        assert_eq!(list.take(80), Some(80));
        assert!(list.drain(2).eq((2..70).chain([0]).chain(71..80).chain(81..100)));
        assert_eq!((list.len(), list.push(7), list.get(2), list.get(3)), (2, &7, Some(&7), None));
    }
}
