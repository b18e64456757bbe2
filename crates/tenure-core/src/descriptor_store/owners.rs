//! The owners of descriptors, by index and by name, for messages.

use std::collections::HashMap;

use slab::Slab;

use crate::Name;
use crate::error::DescriptorUser;

/// No owner.
const NOBODY: u32 = u32::MAX;

/// Present or former owner of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptorOwner {
    /// Owned by a table.
    Static {
        /// The table.
        name: Name,
    },
    /// Owned by a recording, open or in flight.
    Dynamic {
        /// The recording.
        recording: Name,
    },
    /// Freed. Known only with [`DescriptorConfig::poison`](crate::DescriptorConfig::poison).
    Freed {
        /// The last owner, a table or recording.
        name: Name,
    },
    /// Free, without a known owner.
    Free,
    /// The index does not exist.
    OutOfRange,
}

struct Owner {
    name: Name,
    /// The number of indices with this name.
    indices: u32,
    is_freed: bool,
}

/// The owner of each index, as a number: four bytes per index, up to the highest in use.
#[derive(Default)]
pub(crate) struct Owners {
    numbers: Vec<u32>,
    owners: Slab<Owner>,
}

impl Owners {
    /// Assigns `count` indices from `first` on to `name`, as owner, or as former owner if `is_freed`.
    pub(crate) fn assign(&mut self, first: u32, count: u32, name: Name, is_freed: bool) {
        let number = self.owners.insert(Owner { name, indices: count, is_freed });
        self.write(first, count, u32::try_from(number).unwrap_or(NOBODY));
    }

    /// Frees indices; keeps the name of the owner if `keep_name`.
    pub(crate) fn free(&mut self, first: u32, count: u32, keep_name: bool) {
        if !keep_name {
            self.write(first, count, NOBODY);
        } else if let Some(owner) = self.find_mut(first) {
            owner.is_freed = true;
        }
    }

    fn write(&mut self, first: u32, count: u32, number: u32) {
        let (start, end) = (first as usize, first as usize + count as usize);
        if self.numbers.len() < end {
            self.numbers.resize(end, NOBODY);
        }
        for place in self.numbers.iter_mut().take(end).skip(start) {
            let before = std::mem::replace(place, number) as usize;
            if let Some(owner) = self.owners.get_mut(before) {
                owner.indices -= 1;
                if owner.indices == 0 {
                    self.owners.remove(before);
                }
            }
        }
    }

    fn number(&self, index: u32) -> Option<usize> {
        self.numbers.get(index as usize).filter(|number| **number != NOBODY).map(|number| *number as usize)
    }

    fn find_mut(&mut self, index: u32) -> Option<&mut Owner> {
        self.owners.get_mut(self.number(index)?)
    }

    /// The name of the owner of an index, and whether the owner has freed it.
    pub(crate) fn find(&self, index: u32) -> Option<(&Name, bool)> {
        let owner = self.owners.get(self.number(index)?)?;
        Some((&owner.name, owner.is_freed))
    }

    /// The present owners, with their numbers of descriptors.
    pub(crate) fn users(&self) -> impl Iterator<Item = (Name, u32)> + '_ {
        let users = self.owners.iter().filter(|(_, owner)| !owner.is_freed);
        users.map(|(_, owner)| (owner.name.clone(), owner.indices))
    }
}

/// The largest users of descriptors; equal names are added up.
pub(crate) fn users_by_name(uses: impl Iterator<Item = (Name, u32)>) -> Vec<DescriptorUser> {
    const MOST: usize = 8;
    let mut counts: HashMap<Name, u32> = HashMap::new();
    for (name, count) in uses {
        let sum = counts.entry(name).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut users: Vec<_> = counts.into_iter().map(|(name, count)| DescriptorUser { name, count }).collect();
    users.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    users.truncate(MOST);
    users
}

/// The number of descriptors, which never exceeds 32 bits.
pub(crate) fn count(descriptors: u64) -> u32 {
    u32::try_from(descriptors).unwrap_or(u32::MAX)
}
