//! Resources of one queue share bytes with each other by that queue's own order.
//!
//! Extended over what the main queue may do meanwhile, the resources of another queue's chain of passes
//! all overlap, though many of them never live at the same time. Those that overlap are placed among
//! themselves first, by the order of their own passes; the result is one block, which lives as long as
//! any of them and is placed among the rest.

use core::ops::Range;

use tenure_plan::{Item, Options, PlanError, plan};

use super::pack::{Limits, Packed, Parcel, Spot, pack};

/// The life of a resource on the only queue that uses it.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) queue: usize,
    /// From its first pass to behind its last, not extended.
    pub(super) life: Range<usize>,
}

/// Places the parcels; those that have a lane in blocks where that helps.
pub(super) fn pack_nested(
    parcels: &[Parcel],
    lanes: &[Option<Lane>],
    limits: &Limits,
    options: &Options,
) -> Result<Packed, PlanError> {
    let mut outer = Vec::with_capacity(parcels.len());
    // Which outer parcel each parcel is in, and at which offset of it.
    let mut within = vec![(0, 0); parcels.len()];
    let mut is_tight = true;
    for group in groups(parcels, lanes) {
        if let Some(block) = Block::new(&group, parcels, lanes, limits, options)? {
            for (&member, &offset) in group.iter().zip(&block.offsets) {
                within[member] = (outer.len(), offset);
            }
            is_tight &= block.is_tight;
            outer.push(block.parcel);
        } else {
            for member in group {
                within[member] = (outer.len(), 0);
                outer.push(parcels[member].clone());
            }
        }
    }
    let packed = pack(&outer, limits, options)?;
    let place = |&(outer, offset): &(usize, u64)| {
        let spot = packed.spots[outer];
        Spot { offset: spot.offset.saturating_add(offset), ..spot }
    };
    let lower_bound = if is_tight { packed.lower_bound } else { 0 };
    Ok(Packed { spots: within.iter().map(place).collect(), lower_bound })
}

/// The parcels, those in one group that may become a block: of one queue and class, their lives linked
/// by overlaps.
fn groups(parcels: &[Parcel], lanes: &[Option<Lane>]) -> Vec<Vec<usize>> {
    let kind = |member: usize| lanes[member].as_ref().map(|lane| (lane.queue, parcels[member].class));
    let mut members: Vec<usize> = (0..parcels.len()).collect();
    members.sort_by_key(|&member| (kind(member), parcels[member].life.start));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut end = 0;
    for member in members {
        let life = &parcels[member].life;
        let last = groups.last_mut();
        let linked = |group: &Vec<usize>| {
            let same = group.last().is_some_and(|&other| kind(other) == kind(member));
            same && kind(member).is_some() && life.start < end
        };
        match last.filter(|group| linked(group)) {
            Some(group) => {
                group.push(member);
                end = end.max(life.end);
            }
            None => {
                groups.push(vec![member]);
                end = life.end;
            }
        }
    }
    groups
}

/// A group placed among itself.
struct Block {
    parcel: Parcel,
    /// Of its members, from the beginning of the block.
    offsets: Vec<u64>,
    /// Whether no block of these members is smaller.
    is_tight: bool,
}

impl Block {
    /// The block of a group; `None` if its members cannot share bytes, or if it is larger than a heap.
    fn new(
        group: &[usize],
        parcels: &[Parcel],
        lanes: &[Option<Lane>],
        limits: &Limits,
        options: &Options,
    ) -> Result<Option<Self>, PlanError> {
        let members = || group.iter().filter_map(|&member| Some((&parcels[member], lanes[member].as_ref()?)));
        let Some((first, _)) = members().next() else { return Ok(None) };
        let alignment = members().map(|(parcel, _)| parcel.alignment).fold(1, u64::max);
        let base = previous_base(members().map(|(parcel, _)| parcel), alignment);
        let item = |(parcel, lane): (&Parcel, &Lane)| {
            let life = lane.life.start as u64..lane.life.end as u64;
            let item = Item::new(life, parcel.size).aligned(parcel.alignment);
            let before = parcel.previous.zip(base).filter(|(spot, base)| spot.ordinal == base.ordinal);
            let offset = before.and_then(|(spot, base)| spot.offset.checked_sub(base.offset));
            offset.map_or(item, |offset| item.previously_at(offset))
        };
        let items: Vec<Item> = members().map(item).collect();
        let plan = plan(&items, options)?;
        let apart: u128 = members().map(|(parcel, _)| u128::from(parcel.size)).sum();
        let limit = limits.get(&first.class).copied().unwrap_or(u64::MAX);
        if u128::from(plan.peak) >= apart || plan.peak > limit {
            return Ok(None);
        }
        let start = members().map(|(parcel, _)| parcel.life.start).min().unwrap_or(0);
        let end = members().map(|(parcel, _)| parcel.life.end).max().unwrap_or(0);
        let (size, class) = (plan.peak, first.class);
        let parcel = Parcel { life: start..end, size, alignment, class, previous: base };
        Ok(Some(Self { parcel, offsets: plan.offsets, is_tight: plan.proven }))
    }
}

/// Where the block of these parcels was, if they were in one.
fn previous_base<'p>(parcels: impl Iterator<Item = &'p Parcel>, alignment: u64) -> Option<Spot> {
    let spots = parcels.filter_map(|parcel| parcel.previous);
    let lowest = spots.min_by_key(|spot| (spot.ordinal, spot.offset))?;
    Some(Spot { offset: lowest.offset - lowest.offset % alignment, ..lowest })
}
