//! Gathering what was last used at about the same time into the same blocks.
//!
//! # Algorithm
//! A block is evicted when nothing in it is expected to be used soon, and all of it is made resident again for whatever
//! in it is used first. Where things that are used at different times share a block, it stays for one of them, or the
//! others come back with it and are not used. So, as long as something of a memory heap is evicted, the blocks of the
//! resources there that may be evicted and may move are looked at in turn, some at the end of each frame. In a block
//! whose things were last used at different times, or that is half empty, those that are cold are noted: those which have
//! not been used for some frames. When each block was looked at, what was noted is sorted by its last use, and the things
//! between whose last uses there are few frames form groups (best fit). A group moves to a gathered block with things of
//! that time which has room, or fills a new one. Nothing is created in gathered blocks. What has no company stays where
//! it is.
//!
//! Things that a camera leaves behind together are in one block afterwards, and come back together. What lies in a gathered
//! block does not move again before it is used at different times.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};

use tenure_suballoc::BlockId;

use super::TRY_AGAIN;
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::device::Device;
use crate::memory::{BlockContents, Class, CompactionBudget, MovableBacking, PlannedMove, PoolId, RangeId};

/// Frames without a use after which something is cold.
const COLD: u64 = 16;

/// Frames for which it counts as cold. Later it has no company: what was used at the same time has moved.
const RECENT: u64 = 64;

/// Frames between the last uses of things that are expected to be used together again, at most; or a part of the frames
/// that have passed since, if that is more.
const TOGETHER: u64 = 8;
const PART: u64 = 8;

/// Things that are looked at before groups are made of them, in times of what a frame looks at: it bounds the time that this
/// takes.
const AT_ONCE: usize = 2;

/// New blocks that the end of a frame asks the driver for, at most.
const BLOCKS: usize = 4;

/// Something cold that had better be elsewhere.
struct Cold<D: Device> {
    movable: Weak<MovableBacking<D>>,
    /// The range that it was in.
    from: RangeId,
    last_use: u64,
    size: u64,
}

impl<D: Device> Cold<D> {
    /// What it is, if it is still where it was and was not used since.
    fn get(&self) -> Option<Arc<MovableBacking<D>>> {
        let movable = self.movable.upgrade()?;
        let found = last_use(&movable, self.from);
        (found == Some((self.last_use, true))).then_some(movable)
    }
}

/// When something was used last, which is 0 if it never was, and whether it can move at this moment; `None` if it is not in
/// that range.
fn last_use<D: Device>(movable: &MovableBacking<D>, range: RangeId) -> Option<(u64, bool)> {
    let current = movable.current.lock();
    let value = current.value();
    let may_move = !current.is_held() && !current.is_pinned() && !value.is_planned && !value.is_divided();
    let last_use = if current.last_holder() == 0 { 0 } else { current.last_use() };
    value.is_at(range).then_some((last_use, may_move))
}

/// A gathered block that has room.
#[derive(Clone, Copy)]
struct Host {
    pool: PoolId,
    block: BlockId,
    key: BlockKey,
}

/// Things that move to one block.
struct Group<D: Device> {
    class: Class,
    /// Where they go; `None`: to a new block.
    host: Option<Host>,
    /// The frames of the first and the last of the last uses of what will be in the block.
    first: u64,
    last: u64,
    /// Bytes of the block that stay free.
    free: u64,
    things: Vec<Cold<D>>,
}

impl<D: Device> Group<D> {
    /// Whether something was last used at about the same time.
    fn is_near(&self, class: Class, last_use: u64, frame: u64) -> bool {
        let (first, last) = (self.first.min(last_use), self.last.max(last_use));
        self.class == class && is_together(first, last, frame)
    }
}

/// Whether things that were last used in these frames are expected to be used together.
fn is_together(first: u64, last: u64, frame: u64) -> bool {
    last - first <= TOGETHER.max(frame.saturating_sub(last) / PART)
}

/// What gathers: the blocks that it looks at next, and what it has found.
pub(super) struct Gatherer<D: Device> {
    /// The next pool, in the order in which they were needed, and the index of the next block in it.
    next: (usize, usize),
    /// With the class of the block that each goes to, and the bytes of that.
    cold: Vec<(Class, u64, Cold<D>)>,
    /// Gathered blocks that have room, and what moves there; and what moves to new blocks.
    groups: Vec<Group<D>>,
    /// All of `groups` can move.
    is_complete: bool,
    /// The frame before which no block is looked for, because there was no room for one.
    next_try: u64,
}

impl<D: Device> Gatherer<D> {
    pub(super) const fn new() -> Self {
        Self { next: (0, 0), cold: Vec::new(), groups: Vec::new(), is_complete: false, next_try: 0 }
    }

    /// A frame has ended: goes on looking, or has what was found move, within a budget. Appends what is to move.
    pub(super) fn end_frame(
        &mut self,
        context: &Context<D>,
        budget: CompactionBudget,
        planned: &mut Vec<PlannedMove<D>>,
    ) {
        let frame = context.current_frame();
        if frame < self.next_try {
            return;
        }
        // One of the two in a frame, which bounds the time.
        match self.is_complete {
            false => self.look(context, frame, budget.pieces),
            true => self.place(context, frame, budget, planned),
        }
    }

    /// Looks at the next blocks, at so many ranges in them or a few more.
    fn look(&mut self, context: &Context<D>, frame: u64, pieces: usize) {
        let (mut number, mut left) = (0, pieces);
        context.pools.each_compacted(|shard| {
            let (next, block) = self.next;
            number += 1;
            if next + 1 != number || left == 0 {
                return;
            }
            self.next = (number, 0);
            if !context.pools.has_evicted(shard.class) {
                return;
            }
            let (contents, rest) = shard.contents(block, left);
            for contents in contents {
                left = left.saturating_sub(contents.movables.len().max(1));
                self.note_block(context, frame, (shard.id, shard.class), &contents);
            }
            if let Some(block) = rest {
                (self.next, left) = ((next, block), 0);
            }
        });
        let is_end = self.next.0 >= number;
        if is_end {
            self.next = (0, 0);
        }
        if is_end || self.cold.len() + self.groups.len() >= AT_ONCE * pieces {
            self.is_complete = true;
            let (hosts, cold) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.cold));
            self.groups = Grouping::of(hosts, cold, frame);
        }
    }

    /// Notes what is cold in a block, if it does not belong together, or the block, if it does and has room.
    fn note_block(
        &mut self,
        context: &Context<D>,
        frame: u64,
        (pool, class): (PoolId, Class),
        contents: &BlockContents<D>,
    ) {
        let BlockContents { id, block, capacity, used, movables } = contents;
        let Some(key) = block.filter(|block| context.pools.residency.is_resident(*block)) else { return };
        let uses = movables.iter().filter_map(|(movable, from)| {
            let (last_use, may_move) = last_use(movable, *from)?;
            Some((movable, *from, last_use, may_move))
        });
        let uses: Vec<_> = uses.collect();
        let all = || uses.iter().map(|(.., last_use, _)| *last_use);
        let (Some(first), Some(last)) = (all().min(), all().max()) else { return };
        if is_together(first, last, frame) && *used >= capacity / 4 * 3 {
            if class.is_gathered && frame >= last + COLD && *used < *capacity {
                let host = Some(Host { pool, block: *id, key });
                let free = capacity - used;
                self.groups.push(Group { class, host, first, last, free, things: Vec::new() });
            }
            return;
        }
        let class = Class { is_gathered: true, ..class };
        let (recent, old) = (frame.saturating_sub(COLD), frame.saturating_sub(COLD + RECENT));
        let is_cold = |last_use| (old + 1..=recent).contains(&last_use);
        let cold = uses.iter().filter(|(.., last_use, may_move)| *may_move && is_cold(*last_use));
        self.cold.extend(cold.map(|(movable, from, last_use, _)| {
            let (movable, size) = (Arc::downgrade(movable), movable.needs.size);
            (class, *capacity, Cold { movable, from: *from, last_use: *last_use, size })
        }));
    }

    /// Finds places for groups, as far as the budget allows.
    fn place(
        &mut self,
        context: &Context<D>,
        frame: u64,
        budget: CompactionBudget,
        planned: &mut Vec<PlannedMove<D>>,
    ) {
        let (mut moves, mut bytes) = (budget.moves, budget.bytes);
        let mut blocks = BLOCKS;
        while let Some(group) = self.groups.pop() {
            let found = group.things.iter().filter_map(|thing| Some((thing.get()?, thing.from)));
            let found: Vec<_> = found.collect();
            let size: u64 = found.iter().map(|(movable, _)| movable.needs.size).sum();
            let noted: u64 = group.things.iter().map(|thing| thing.size).sum();
            // Of a group that has lost half of it there is too little for a block.
            if found.is_empty() || (group.host.is_none() && size < noted / 2) {
                continue;
            }
            let is_first = bytes == budget.bytes;
            let needs_block = group.host.is_none();
            if found.len() > moves || (size > bytes && !is_first) || (needs_block && blocks == 0) {
                self.groups.push(group);
                return;
            }
            let (place, kept_free) = match group.host {
                Some(Host { pool, block, key }) if context.pools.residency.is_resident(key) => {
                    ((pool, block), None)
                }
                Some(_) => continue,
                None => match context.place_group(group.class) {
                    Some(whole) => ((whole.pool, whole.block), Some(whole.free_token())),
                    None => {
                        self.next_try = frame + TRY_AGAIN;
                        self.groups.clear();
                        break;
                    }
                },
            };
            blocks -= usize::from(needs_block);
            let gathered = context.pools.gather(place, kept_free, &found);
            (moves, bytes) = (moves.saturating_sub(gathered.len()), bytes.saturating_sub(size));
            planned.extend(gathered);
        }
        self.is_complete = false;
    }
}

/// What makes groups of things in order of their last uses.
struct Grouping<D: Device> {
    /// Groups that the next thing may be near to, in order of their first use.
    open: VecDeque<Group<D>>,
    /// The number of the first of these.
    first: usize,
    /// The free bytes and the number of each of these.
    by_room: BTreeSet<(u64, usize)>,
    done: Vec<Group<D>>,
}

impl<D: Device> Grouping<D> {
    /// Groups of what was last used at about the same time: such as fit into the blocks that `hosts` names, and such as
    /// nearly fill new ones. O(n log n).
    fn of(mut hosts: Vec<Group<D>>, mut cold: Vec<(Class, u64, Cold<D>)>, frame: u64) -> Vec<Group<D>> {
        hosts.sort_by_key(|group| (group.class, group.first));
        cold.sort_by_key(|(class, _, thing)| (*class, thing.last_use));
        let mut hosts = hosts.into_iter().peekable();
        let mut this = Self { open: VecDeque::new(), first: 0, by_room: BTreeSet::new(), done: Vec::new() };
        for (class, block, thing) in cold {
            let time = (class, thing.last_use.saturating_add(TOGETHER));
            while let Some(host) = hosts.next_if(|host| (host.class, host.first) <= time) {
                this.open(host);
            }
            // What comes later is still further away.
            while this.open.front().is_some_and(|group| !group.is_near(class, thing.last_use, frame)) {
                this.close_first();
            }
            this.add(class, block, thing, frame);
        }
        while !this.open.is_empty() {
            this.close_first();
        }
        this.done
    }

    fn open(&mut self, group: Group<D>) {
        self.by_room.insert((group.free, self.first + self.open.len()));
        self.open.push_back(group);
    }

    fn close_first(&mut self) {
        if let Some(group) = self.open.pop_front() {
            self.by_room.remove(&(group.free, self.first));
            self.first += 1;
            self.done.extend(Some(group).filter(is_worth_while));
        }
    }

    /// Adds something to the group in whose block it leaves the least room, or begins another.
    fn add(&mut self, class: Class, block: u64, thing: Cold<D>, frame: u64) {
        let best = self.by_room.range((thing.size, 0)..).next().copied();
        let found = best.and_then(|(_, number)| self.open.get_mut(number - self.first));
        // A host may begin later than what comes next.
        match found.filter(|group| group.is_near(class, thing.last_use, frame)).zip(best) {
            Some((group, (free, number))) => {
                group.free -= thing.size;
                group.first = group.first.min(thing.last_use);
                group.last = group.last.max(thing.last_use);
                group.things.push(thing);
                let left = group.free;
                self.by_room.remove(&(free, number));
                self.by_room.insert((left, number));
            }
            None => {
                let (at, free) = (thing.last_use, block.saturating_sub(thing.size));
                self.open(Group { class, host: None, first: at, last: at, free, things: vec![thing] });
            }
        }
    }
}

/// Whether little of a new block would be left empty.
fn is_worth_while<D: Device>(group: &Group<D>) -> bool {
    let bytes: u64 = group.things.iter().map(|thing| thing.size).sum();
    bytes > 0 && (group.host.is_some() || group.free <= bytes / 3)
}
