//! Moves spilled resources back to their preferred memory.

use std::sync::Arc;

use super::moving::{Left, Moving};
use super::{CompactionReport, Compactor};
use crate::Error;
use crate::context::Context;
use crate::device::{Device, QueueId};
use crate::memory::{AllocationFlags, Backing, CompactionBudget, MemoryUse, MovableBacking};
use crate::services::Services;

/// Divisor for the part of a budget that stays free, so that returned resources do not make the next allocation fail.
const RESERVE: u64 = 16;

impl<D: Device> Compactor<D> {
    /// Moves spilled resources back to their preferred memory while it has room, most recently used first. Resources of more
    /// than `largest` bytes are skipped; a refusal lowers `largest`, as smaller ones may still fit. The moves in the report
    /// count against the budget; if the budget prevents a return, the report says that compaction is not done.
    ///
    /// # Errors
    /// The errors of a submission; the resources stay in their places then.
    pub(super) fn bring_back(
        &self,
        services: &Services<D>,
        budget: CompactionBudget,
        largest: &mut u64,
        report: &mut CompactionReport,
    ) -> Result<(), Error> {
        let context = &*services.context;
        // The budget query asks the operating system: skipped when no resource needs it.
        if !context.pools.has_spilled() {
            return Ok(());
        }
        let mut room = Room::of(context);
        let most = room.new_blocks.min(*largest).max(room.blocks.min(room.largest));
        let spilled = context.pools.spilled(most);
        if spilled.is_empty() {
            return Ok(());
        }
        let Some(_no_external) = context.external_work.try_write() else { return Ok(()) };
        let (mut bytes, mut made) = (report.bytes, Vec::new());
        for movable in &spilled {
            let size = movable.needs.size;
            let is_free = movable.current.read(|current| !current.is_planned);
            let is_new = size <= room.new_blocks && size <= *largest;
            // Smaller resources may still fit.
            if !(is_new || size <= room.blocks.min(room.largest)) || !is_free || !can_move(movable) {
                continue;
            }
            if report.moves + made.len() >= budget.moves || (bytes + size > budget.bytes && bytes > 0) {
                report.is_done = false;
                break;
            }
            let flags = if is_new { AllocationFlags::empty() } else { AllocationFlags::NEVER_ALLOCATE };
            let found = context.place_again(movable, flags).and_then(|backing| {
                let is_slow = context.pools.is_slow(Some(&backing.location), movable.needs.memory_types);
                if is_slow {
                    Left::made(backing.api_resource, backing.location).release_unused(context);
                    return None;
                }
                Some(backing)
            });
            let Some(backing) = found else {
                room.largest = room.largest.min(below(size));
                if is_new {
                    report.refused += 1;
                    *largest = below(size);
                }
                continue;
            };
            bytes += size;
            let largest_before = room.largest;
            room = Room::of(context);
            room.largest = room.largest.min(largest_before);
            room.new_blocks = room.new_blocks.saturating_sub(bytes - report.bytes);
            made.push((self.queue_of(services, movable), movable, backing));
        }
        made.sort_by_key(|(queue, ..)| *queue);
        let mut moved = Ok(());
        while let Some(queue) = made.first().map(|(queue, ..)| *queue) {
            let rest = made.split_off(made.partition_point(|(other, ..)| *other == queue));
            let same = std::mem::replace(&mut made, rest);
            let same = same.into_iter().map(|(_, movable, backing)| (movable, backing));
            moved = moved.and(self.bring_back_by(services, queue, same, report));
        }
        moved
    }

    /// Brings back the resources that one queue copies.
    fn bring_back_by<'a>(
        &self,
        services: &Services<D>,
        queue: QueueId,
        made: impl Iterator<Item = (&'a Arc<MovableBacking<D>>, Backing<D>)>,
        report: &mut CompactionReport,
    ) -> Result<(), Error> {
        let mut moving = Vec::new();
        for (movable, Backing { api_resource, location }) in made {
            let exchange = movable.current.lock();
            let is_gone = exchange.value().location.is_none();
            if exchange.is_held() || exchange.is_pinned() || is_gone || exchange.value().is_planned {
                drop(exchange);
                Left::made(api_resource, location).release_unused(&services.context);
                continue;
            }
            moving.push(Moving::new(movable, None, exchange, (api_resource, location)));
        }
        if moving.is_empty() {
            return Ok(());
        }
        self.finish_all(services, queue, moving, report)
    }
}

/// The next size to try after a refusal: reaches the smallest resources in few steps.
const fn below(size: u64) -> u64 {
    size / 4 * 3
}

/// Whether no recording or upload uses the resource at this moment, and one queue owns all of it.
fn can_move<D: Device>(movable: &MovableBacking<D>) -> bool {
    let current = movable.current.lock();
    !current.is_held() && !current.is_pinned() && !current.value().is_divided()
}

/// Bytes that fit into the preferred memory, with a part of its budget left free.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    /// Bytes in new blocks from the driver.
    new_blocks: u64,
    /// Bytes in existing blocks.
    blocks: u64,
    /// The largest single range in existing blocks.
    largest: u64,
}

impl Room {
    fn of<D: Device>(context: &Context<D>) -> Self {
        let objects = &context.pools.objects;
        let Some(best) = context.pools.order(MemoryUse::GpuOnly).first().copied() else {
            return Self::default();
        };
        let Some(heap) = objects.budgets.heap_index(best) else { return Self::default() };
        let budgets = objects.budgets.current(context.device());
        let reserve = budgets.get(heap).map_or(0, |found| found.budget / RESERVE);
        let headroom = objects.headroom(context.device(), heap);
        let (free, largest) = context.pools.free_for_movable(best);
        let blocks = free.min(headroom.saturating_add(free).saturating_sub(reserve));
        Self { new_blocks: headroom.saturating_sub(reserve), blocks, largest }
    }
}
