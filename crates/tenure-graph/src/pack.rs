//! Offsets by intervals, in as many address spaces as the size limits require.
//!
//! # Nesting
//!
//! Extended over the passes that may run on the main queue meanwhile, the resources of another queue's chain of passes all
//! overlap, though many of them are never live at the same time. [`pack_nested`] first places overlapping ones among
//! themselves, by the order of their own passes. The result is one packed group, which is live as long as any of them, and is placed
//! with the other resources.

use core::ops::Range;
use std::collections::BTreeMap;

use tenure_plan::{Item, PlanConfig, PlanError, Stability, plan};

/// An item to place: a resource, or a packed group of several.
#[derive(Clone, Debug)]
pub(super) struct PackItem {
    pub(super) lifetime: Range<usize>,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) class: u32,
    /// The address in an earlier plan, if it had one.
    pub(super) previous: Option<Address>,
}

/// An offset in one of the address spaces of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The number of the address space in its class.
    pub(super) ordinal: usize,
    pub(super) offset: u64,
}

/// The places of items.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) addresses: Vec<Address>,
    /// A lower bound of the peak of any plan of these items; 0 if none is known.
    pub(super) lower_bound: u64,
}

/// The largest size of an address space of each class; a class that is missing has no limit.
pub(super) type Limits = BTreeMap<u32, u64>;

/// Places the items. No item may be larger than the limit of its class.
///
/// Items that end above the limit are moved to another address space of the same class, and all are planned again, now without
/// regard to their previous addresses: no heap should be added just to keep those.
pub(super) fn pack(
    pack_items: &[PackItem],
    limits: &Limits,
    options: &PlanConfig,
) -> Result<Packed, PlanError> {
    let mut spaces = Spaces::default();
    let mut space_of_item: Vec<usize> = pack_items.iter().map(|item| spaces.of(item.class, 0)).collect();
    let mut options = *options;
    loop {
        let pairs = pack_items.iter().zip(&space_of_item);
        let items: Vec<Item> = pairs.map(|(item, &space)| item.item(space, &spaces)).collect();
        let plan = plan(&items, &options)?;
        let is_settled = options.stability == Stability::Ignored;
        let mut fits = true;
        for ((item, space), offset) in pack_items.iter().zip(&mut space_of_item).zip(&plan.offsets) {
            let limit = limits.get(&item.class).copied().unwrap_or(u64::MAX);
            // Items at offset 0 stay, so that this terminates.
            if *offset > 0 && offset.saturating_add(item.size) > limit {
                fits = false;
                if is_settled {
                    let ordinal = spaces.ordinal(*space);
                    *space = spaces.of(item.class, ordinal + 1);
                }
            }
        }
        if fits {
            let pairs = space_of_item.iter().zip(plan.offsets);
            let addresses =
                pairs.map(|(&space, offset)| Address { ordinal: spaces.ordinal(space), offset }).collect();
            // Another division of a class between address spaces may leave less unused.
            let is_whole = spaces.known.iter().all(|(_, ordinal)| *ordinal == 0);
            return Ok(Packed { addresses, lower_bound: if is_whole { plan.lower_bound } else { 0 } });
        }
        options = options.stability(Stability::Ignored);
    }
}

impl PackItem {
    fn item(&self, space: usize, spaces: &Spaces) -> Item {
        let lifetime = self.lifetime.start as u64..self.lifetime.end as u64;
        let class = u32::try_from(space).unwrap_or(u32::MAX);
        let item = Item::new(lifetime, self.size).aligned(self.alignment).in_class(class);
        let is_here = |address: &Address| address.ordinal == spaces.ordinal(space);
        self.previous.filter(is_here).map_or(item, |address| item.previously_at(address.offset))
    }
}

/// The address spaces in use, by class and number in the class.
#[derive(Default)]
struct Spaces {
    known: Vec<(u32, usize)>,
    index: BTreeMap<(u32, usize), usize>,
}

impl Spaces {
    fn of(&mut self, class: u32, ordinal: usize) -> usize {
        *self.index.entry((class, ordinal)).or_insert_with(|| {
            self.known.push((class, ordinal));
            self.known.len() - 1
        })
    }

    fn ordinal(&self, space: usize) -> usize {
        self.known.get(space).map_or(0, |(_, ordinal)| *ordinal)
    }
}

/// The lifetime of a resource on the only queue that uses it.
#[derive(Clone, Debug)]
pub(super) struct QueueLifetime {
    pub(super) queue: usize,
    /// The passes from its first to one past its last, not extended.
    pub(super) lifetime: Range<usize>,
}

/// Places the items, with items of one queue packed into groups where that saves bytes.
pub(super) fn pack_nested(
    pack_items: &[PackItem],
    queue_lifetimes: &[Option<QueueLifetime>],
    limits: &Limits,
    options: &PlanConfig,
) -> Result<Packed, PlanError> {
    let mut outer = Vec::with_capacity(pack_items.len());
    // The outer item that each item is in, and the offset in it.
    let mut within = vec![(0, 0); pack_items.len()];
    let mut is_tight = true;
    for group in groups(pack_items, queue_lifetimes) {
        if let Some(packed) = PackedGroup::new(&group, pack_items, queue_lifetimes, limits, options)? {
            for (&member, &offset) in group.iter().zip(&packed.offsets) {
                within[member] = (outer.len(), offset);
            }
            is_tight &= packed.is_tight;
            outer.push(packed.item);
        } else {
            for member in group {
                within[member] = (outer.len(), 0);
                outer.push(pack_items[member].clone());
            }
        }
    }
    let packed = pack(&outer, limits, options)?;
    let place = |&(outer, offset): &(usize, u64)| {
        let address = packed.addresses[outer];
        Address { offset: address.offset.saturating_add(offset), ..address }
    };
    let lower_bound = if is_tight { packed.lower_bound } else { 0 };
    Ok(Packed { addresses: within.iter().map(place).collect(), lower_bound })
}

/// The items in groups that may be packed: of one queue and class, with lifetimes linked by overlaps.
fn groups(pack_items: &[PackItem], queue_lifetimes: &[Option<QueueLifetime>]) -> Vec<Vec<usize>> {
    let kind = |member: usize| {
        queue_lifetimes[member]
            .as_ref()
            .map(|queue_lifetime| (queue_lifetime.queue, pack_items[member].class))
    };
    let mut members: Vec<usize> = (0..pack_items.len()).collect();
    members.sort_by_key(|&member| (kind(member), pack_items[member].lifetime.start));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut end = 0;
    for member in members {
        let lifetime = &pack_items[member].lifetime;
        let last = groups.last_mut();
        let linked = |group: &Vec<usize>| {
            let same = group.last().is_some_and(|&other| kind(other) == kind(member));
            same && kind(member).is_some() && lifetime.start < end
        };
        match last.filter(|group| linked(group)) {
            Some(group) => {
                group.push(member);
                end = end.max(lifetime.end);
            }
            None => {
                groups.push(vec![member]);
                end = lifetime.end;
            }
        }
    }
    groups
}

/// A group whose members are placed among themselves.
struct PackedGroup {
    item: PackItem,
    /// The offsets of its members from the beginning of the group.
    offsets: Vec<u64>,
    /// Whether no packing of these members is smaller.
    is_tight: bool,
}

impl PackedGroup {
    /// Packs a group; `None` if its members cannot share bytes, or if it is larger than a heap.
    fn new(
        group: &[usize],
        pack_items: &[PackItem],
        queue_lifetimes: &[Option<QueueLifetime>],
        limits: &Limits,
        options: &PlanConfig,
    ) -> Result<Option<Self>, PlanError> {
        let members = || {
            group.iter().filter_map(|&member| Some((&pack_items[member], queue_lifetimes[member].as_ref()?)))
        };
        let Some((first, _)) = members().next() else { return Ok(None) };
        let alignment = members().map(|(item, _)| item.alignment).fold(1, u64::max);
        let base = previous_base(members().map(|(item, _)| item), alignment);
        let planner_item = |(item, queue_lifetime): (&PackItem, &QueueLifetime)| {
            let lifetime = queue_lifetime.lifetime.start as u64..queue_lifetime.lifetime.end as u64;
            let alone = Item::new(lifetime, item.size).aligned(item.alignment);
            let before = item.previous.zip(base).filter(|(address, base)| address.ordinal == base.ordinal);
            let offset = before.and_then(|(address, base)| address.offset.checked_sub(base.offset));
            offset.map_or(alone, |offset| alone.previously_at(offset))
        };
        let items: Vec<Item> = members().map(planner_item).collect();
        let plan = plan(&items, options)?;
        let apart: u128 = members().map(|(item, _)| u128::from(item.size)).sum();
        let limit = limits.get(&first.class).copied().unwrap_or(u64::MAX);
        if u128::from(plan.peak) >= apart || plan.peak > limit {
            return Ok(None);
        }
        let start = members().map(|(item, _)| item.lifetime.start).min().unwrap_or(0);
        let end = members().map(|(item, _)| item.lifetime.end).max().unwrap_or(0);
        let (size, class) = (plan.peak, first.class);
        let item = PackItem { lifetime: start..end, size, alignment, class, previous: base };
        Ok(Some(Self { item, offsets: plan.offsets, is_tight: plan.proven }))
    }
}

/// The address of the group of these items in an earlier plan, if they were in one.
fn previous_base<'p>(pack_items: impl Iterator<Item = &'p PackItem>, alignment: u64) -> Option<Address> {
    let addresses = pack_items.filter_map(|item| item.previous);
    let lowest = addresses.min_by_key(|address| (address.ordinal, address.offset))?;
    Some(Address { offset: lowest.offset - lowest.offset % alignment, ..lowest })
}
