//! What planning comes to.

/// Where everything goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// An offset for each item, in bytes, in the order of the items.
    pub offsets: Vec<u64>,
    /// The highest end of an item, of each class, added up, in bytes.
    pub peak: u64,
    /// No plan has a lower peak than this, in bytes.
    pub lower_bound: u64,
    /// Whether no plan has a lower peak than this one: then `peak` is `lower_bound`.
    pub proven: bool,
    /// How many items are not at their previous offset, of those that had one.
    pub moved: usize,
    /// How many placements were tried beyond the first pass.
    pub nodes: u64,
    /// The same for each class that has items, by number of class.
    pub classes: Vec<ClassPlan>,
}

/// What planning came to in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassPlan {
    /// The class.
    pub class: u32,
    /// The highest end of an item, in bytes.
    pub peak: u64,
    /// No plan of the class has a lower peak, in bytes.
    pub lower_bound: u64,
}
