//! Lists of different lengths, one for each index, in one allocation.

/// Lists of different lengths, one for each index, in one allocation.
#[derive(Clone, Debug)]
pub(super) struct Grouped<T> {
    items: Vec<T>,
    /// Where each list ends.
    ends: Vec<usize>,
}

impl<T> Grouped<T> {
    pub(super) const fn new() -> Self {
        Self { items: Vec::new(), ends: Vec::new() }
    }

    /// Ends the list that has been pushed to, and begins the next.
    pub(super) fn finish(&mut self) {
        self.ends.push(self.items.len());
    }

    /// Puts an item at the end of the unfinished list. Returns its place among all items.
    pub(super) fn push(&mut self, item: T) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// The lists that the pairs (index, item) say, items in the order of the pairs.
    pub(super) fn of_pairs(count: usize, mut pairs: Vec<(usize, T)>) -> Self {
        pairs.sort_by_key(|(index, _)| *index);
        let mut grouped = Self::new();
        let mut pairs = pairs.into_iter().peekable();
        for index in 0..count {
            while let Some((_, item)) = pairs.next_if(|(at, _)| *at == index) {
                grouped.push(item);
            }
            grouped.finish();
        }
        grouped
    }

    /// How many lists there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The list of an index; empty for one beyond all.
    pub(super) fn get(&self, index: usize) -> &[T] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.items.get(start..end).unwrap_or_default()
    }

    pub(super) fn at_mut(&mut self, place: usize) -> Option<&mut T> {
        self.items.get_mut(place)
    }

    /// The lists in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.len()).map(|index| self.get(index))
    }
}
