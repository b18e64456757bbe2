//! A plan: the offsets of all items, and its statistics.

use crate::Item;

/// The offsets of all items, and statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The offset of each item in bytes, in the order of the items.
    pub offsets: Vec<u64>,
    /// The sum over all classes of the highest end of an item, in bytes.
    pub peak: u64,
    /// A lower bound of the peak of any plan, in bytes.
    pub lower_bound: u64,
    /// Whether the plan is proven optimal: `peak` equals `lower_bound`.
    pub proven: bool,
    /// The number of items moved from their previous offset.
    pub moved: usize,
    /// The number of placements tried beyond the first pass.
    pub nodes: u64,
    /// Peaks and bounds of the classes with items, by class number.
    pub classes: Vec<ClassPlan>,
}

/// The peak and the lower bound of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassPlan {
    /// The class.
    pub class: u32,
    /// The highest end of an item, in bytes.
    pub peak: u64,
    /// A lower bound of the peak of any plan of the class, in bytes.
    pub lower_bound: u64,
}

/// The indices of the nonempty items, by class.
pub(crate) fn by_class(items: &[Item]) -> Vec<u32> {
    let mut origin = Vec::with_capacity(items.len());
    origin.extend((0..items.len() as u32).filter(|&at| items[at as usize].size > 0));
    let class = |at: &u32| items[*at as usize].class;
    if origin.iter().any(|at| class(at) != class(&origin[0])) {
        origin.sort_by_key(class);
    }
    origin
}

/// Replaces the offsets of a plan.
pub(crate) fn adopt(items: &[Item], plan: &mut Plan, offsets: Vec<u64>) {
    let classes = &mut plan.classes;
    for class in classes.iter_mut() {
        class.peak = 0;
    }
    for (item, offset) in items.iter().zip(&offsets).filter(|(item, _)| item.size > 0) {
        if let Ok(at) = classes.binary_search_by_key(&item.class, |class| class.class) {
            classes[at].peak = classes[at].peak.max(offset + item.size);
        }
    }
    plan.peak = plan.classes.iter().map(|class| class.peak).sum();
    plan.proven = plan.peak == plan.lower_bound;
    plan.moved = moved(items, &offsets);
    plan.offsets = offsets;
}

/// The number of items that are not at their previous offset.
pub(crate) fn moved(items: &[Item], offsets: &[u64]) -> usize {
    let pairs = items.iter().zip(offsets);
    pairs.filter(|(item, offset)| item.previous.is_some_and(|previous| previous != **offset)).count()
}
