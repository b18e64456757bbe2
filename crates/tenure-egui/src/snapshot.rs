//! A walk over everything, sorted for drawing.

use std::collections::{BTreeMap, HashMap};

use egui::Color32;
use tenure_core::{LiveObject, LocationKind, PoolReport, Report};

use crate::colours::{self, PALETTE};
use crate::text::{bytes, or_else};

/// A block of a pool, with what lives in it.
#[derive(Debug, Default)]
pub(crate) struct BlockView {
    pub(crate) number: usize,
    /// Bytes.
    pub(crate) size: u64,
    /// Bytes given out.
    pub(crate) used: u64,
    /// Indices of the report's objects, by offset.
    pub(crate) objects: Vec<usize>,
    /// The part of `used` that none of the objects requested.
    pub(crate) rest: u64,
}

/// A pool and its blocks.
#[derive(Debug)]
pub(crate) struct PoolView {
    pub(crate) title: String,
    pub(crate) blocks: Vec<BlockView>,
    /// Its allocations are blocks of another pool.
    pub(crate) holds_blocks: bool,
}

/// Objects by tag or kind: those with most bytes have a colour of their own.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The text, bytes and number of each group; where there are too many, the last is of all others.
    pub(crate) all: Vec<(String, u64, u64)>,
    /// The group of each of the report's objects.
    of: Vec<usize>,
}

impl Groups {
    /// Objects by what `key` says of them.
    fn new(objects: &[LiveObject], key: impl Fn(&LiveObject) -> String) -> Self {
        let keys: Vec<String> = objects.iter().map(key).collect();
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (object, key) in objects.iter().zip(&keys) {
            let (bytes, count) = sums.entry(key).or_default();
            *bytes = bytes.saturating_add(own_bytes(object));
            *count += 1;
        }
        let mut ranked: Vec<_> = sums.into_iter().map(|(key, (bytes, count))| (key, bytes, count)).collect();
        ranked.sort_by_key(|&(_, bytes, _)| std::cmp::Reverse(bytes));
        let named = if ranked.len() > PALETTE.len() + 1 { PALETTE.len() } else { ranked.len() };
        let numbers: HashMap<&str, usize> =
            ranked.iter().enumerate().map(|(rank, (key, ..))| (*key, rank.min(named))).collect();
        let of = keys.iter().map(|key| numbers.get(key.as_str()).copied().unwrap_or(named)).collect();
        let mut all: Vec<_> =
            ranked.iter().take(named).map(|&(key, bytes, count)| (key.to_owned(), bytes, count)).collect();
        if let Some(rest) = ranked.get(named..).filter(|rest| !rest.is_empty()) {
            let sum = rest.iter().fold((0_u64, 0), |sum, it| (sum.0.saturating_add(it.1), sum.1 + it.2));
            all.push((format!("{} others", rest.len()), sum.0, sum.1));
        }
        Self { all, of }
    }

    /// The colour of one of the report's objects.
    pub(crate) fn colour(&self, object: usize) -> Color32 {
        colours::of_group(self.of.get(object).copied().unwrap_or(PALETTE.len()))
    }
}

/// The memory of an object alone. Views have none, reserved resources only their mapped tiles, and transient
/// resources share theirs.
pub(crate) fn own_bytes(object: &LiveObject) -> u64 {
    match object.location {
        None | Some(LocationKind::Reserved | LocationKind::Transient | LocationKind::Memoryless) => 0,
        Some(_) => object.bytes,
    }
}

/// A report, sorted.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) report: Report,
    pub(crate) pools: Vec<PoolView>,
    pub(crate) tags: Groups,
    pub(crate) kinds: Groups,
}

impl Snapshot {
    /// O(n log n) in the number of objects.
    pub(crate) fn new(report: Report) -> Self {
        let mut pools: Vec<PoolView> = report.pools.iter().map(|pool| PoolView::new(pool, &report)).collect();
        for (index, object) in report.objects.iter().enumerate() {
            let Some(pool) = object.pool_index.and_then(|pool| pools.get_mut(pool)) else { continue };
            if let Some(block) = object.block.and_then(|number| pool.block_mut(number)) {
                block.objects.push(index);
                block.rest = block.rest.saturating_sub(object.bytes);
            }
        }
        for block in pools.iter_mut().flat_map(|pool| &mut pool.blocks) {
            block.objects.sort_by_key(|&index| report.objects.get(index).and_then(|object| object.offset));
        }
        let tags = Groups::new(&report.objects, |object| or_else(&object.tag, "(no tag)").to_owned());
        let kinds = Groups::new(&report.objects, |object| object.kind.to_string());
        Self { report, pools, tags, kinds }
    }

    /// The index of the pool with the most allocated bytes, among pools whose blocks hold objects.
    pub(crate) fn fullest_pool(&self) -> Option<usize> {
        let holds_objects =
            |(index, _): &(usize, _)| self.pools.get(*index).is_some_and(|pool| !pool.holds_blocks);
        let pools = self.report.pools.iter().enumerate().filter(holds_objects);
        pools.rev().max_by_key(|(_, pool)| pool.stats.used).map(|(index, _)| index)
    }

    /// One of the report's objects.
    pub(crate) fn object(&self, index: usize) -> Option<&LiveObject> {
        self.report.objects.get(index)
    }

    /// Frames since an object was created.
    pub(crate) fn age(&self, object: &LiveObject) -> u64 {
        self.report.stats.frames.saturating_sub(object.frame)
    }
}

impl PoolView {
    fn new(pool: &PoolReport, report: &Report) -> Self {
        let heap = report.memory.types.get(usize::from(pool.stats.memory_type)).map_or(0, |found| found.heap);
        let title = format!(
            "{}, memory type {} in heap {heap}: {}",
            pool.stats.kind.as_str(),
            pool.stats.memory_type,
            bytes(pool.stats.capacity),
        );
        let view = |block: &tenure_core::BlockReport| BlockView {
            number: block.number,
            size: block.size,
            used: block.used,
            rest: block.used,
            objects: Vec::new(),
        };
        let mut blocks: Vec<BlockView> = pool.blocks.iter().map(view).collect();
        blocks.sort_by_key(|block| block.number);
        Self {
            title,
            blocks,
            holds_blocks: pool.stats.kind == tenure_core::memory::PoolKind::SmallBufferSlots,
        }
    }

    fn block_mut(&mut self, number: usize) -> Option<&mut BlockView> {
        let found = self.blocks.binary_search_by_key(&number, |block| block.number).ok()?;
        self.blocks.get_mut(found)
    }
}
