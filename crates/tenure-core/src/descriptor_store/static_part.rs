//! The part of a heap for tables.

use tenure_suballoc::{Handle, SlotRange, Slots};

use super::owners::{DescriptorOwner, Owners, users_by_name};
use crate::Name;
use crate::error::{DescriptorPart, DescriptorUser};

/// The descriptors of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaticRange {
    pub(crate) first: u32,
    pub(crate) count: u32,
    handle: Handle,
}

/// Usage of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartUse {
    pub(crate) capacity: u32,
    pub(crate) free: u32,
    pub(crate) largest_free: u32,
    pub(crate) peak: u32,
    pub(crate) waiting: u32,
}

impl PartUse {
    pub(crate) fn of(slots: Option<&Slots>, peak: u32, waiting: u32) -> Self {
        let capacity = slots.map_or(0, Slots::capacity);
        let (free, largest_free) = slots.map_or((0, 0), |slots| (slots.free_count(), slots.largest_free()));
        Self { capacity, free, largest_free, peak, waiting }
    }
}

/// The static part: the indices from 0 on.
pub(crate) struct StaticPart {
    /// `None` when the part is empty.
    slots: Option<Slots>,
    owners: Owners,
    peak: u32,
    /// Descriptors of dropped tables that are not freed yet.
    waiting: u32,
}

impl StaticPart {
    pub(crate) const PART: DescriptorPart = DescriptorPart::Static;

    pub(crate) fn new(count: u32) -> Self {
        Self { slots: Slots::new(count).ok(), owners: Owners::default(), peak: 0, waiting: 0 }
    }

    /// Allocates `count` consecutive descriptors.
    pub(crate) fn take(&mut self, count: u32, name: &Name) -> Option<StaticRange> {
        let slots = self.slots.as_mut()?;
        let SlotRange { first, count, handle } = slots.allocate(count).ok()?;
        self.peak = self.peak.max(slots.capacity() - slots.free_count());
        self.owners.assign(first, count, name.clone(), false);
        Some(StaticRange { first, count, handle })
    }

    /// Notes that a table was dropped: its descriptors await the GPU.
    pub(crate) fn note_dropped(&mut self, range: &StaticRange) {
        self.waiting += range.count;
    }

    /// True if more descriptors of dropped tables wait than are free.
    pub(crate) fn is_mostly_dropped(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| self.waiting > slots.free_count())
    }

    /// The owner of a range.
    pub(crate) fn name(&self, range: &StaticRange) -> Option<&Name> {
        self.owners.find(range.first).map(|(name, _)| name)
    }

    /// Frees a range; `was_dropped`: it counted as waiting.
    pub(crate) fn free(&mut self, range: &StaticRange, was_dropped: bool, keep_name: bool) {
        if self.slots.as_mut().is_some_and(|slots| slots.free(range.handle).is_ok()) {
            self.owners.free(range.first, range.count, keep_name);
            self.waiting -= if was_dropped { range.count } else { 0 };
        }
    }

    pub(crate) fn owner(&self, index: u32) -> DescriptorOwner {
        match self.owners.find(index) {
            Some((name, false)) => DescriptorOwner::Static { name: name.clone() },
            Some((name, true)) => DescriptorOwner::Freed { name: name.clone() },
            None => DescriptorOwner::Free,
        }
    }

    pub(crate) fn usage(&self) -> PartUse {
        PartUse::of(self.slots.as_ref(), self.peak, self.waiting)
    }

    pub(crate) fn users(&self) -> Vec<DescriptorUser> {
        users_by_name(self.owners.users())
    }
}
