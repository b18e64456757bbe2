//! Slots of API objects that are created in blocks and allocated individually.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_suballoc::{Handle, Slots};

/// A slot of a block.
pub(crate) struct Slot<T> {
    /// The block. Returned with the slot, so that a block without used slots has a single owner.
    pub(crate) object: Arc<T>,
    pub(crate) index: u32,
    block: u32,
    handle: Handle,
}

struct Block<T> {
    object: Arc<T>,
    slots: Slots,
    /// The frame in which it became empty.
    empty_since: Option<u64>,
}

impl<T> Block<T> {
    fn is_referred_to(&self) -> bool {
        Arc::strong_count(&self.object) > 1
    }
}

/// Blocks with their used slots. A slot comes from the first block with room, so that later blocks become
/// empty. Deterministic, O(log blocks).
pub(crate) struct SlotBlocks<T> {
    blocks: Vec<Option<Block<T>>>,
    /// The blocks with free slots.
    with_room: BTreeSet<u32>,
    empty: BTreeSet<u32>,
    pub(crate) capacity: u64,
    pub(crate) used: u64,
    pub(crate) peak: u64,
}

impl<T> Default for SlotBlocks<T> {
    fn default() -> Self {
        let (with_room, empty) = (BTreeSet::new(), BTreeSet::new());
        Self { blocks: Vec::new(), with_room, empty, capacity: 0, used: 0, peak: 0 }
    }
}

impl<T> SlotBlocks<T> {
    /// Allocates a free slot of an existing block.
    pub(crate) fn take(&mut self) -> Option<Slot<T>> {
        let id = self.with_room()?;
        let block = self.blocks.get_mut(id as usize)?.as_mut()?;
        let range = block.slots.allocate(1).ok()?;
        block.empty_since = None;
        self.empty.remove(&id);
        if block.slots.free_count() == 0 {
            self.with_room.remove(&id);
        }
        self.used += 1;
        self.peak = self.peak.max(self.used);
        Some(Slot { object: block.object.clone(), index: range.first, block: id, handle: range.handle })
    }

    /// The first block with a free slot.
    pub(crate) fn with_room(&self) -> Option<u32> {
        self.with_room.first().copied()
    }

    /// Adds a block of `capacity` slots, all free. Returns the object if the capacity is too large.
    pub(crate) fn add(&mut self, object: T, capacity: u32, frame: u64) -> Result<(), T> {
        let vacant = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        let (Ok(slots), Ok(id)) = (Slots::new(capacity), u32::try_from(vacant)) else { return Err(object) };
        let block = Block { object: Arc::new(object), slots, empty_since: Some(frame) };
        match self.blocks.get_mut(vacant) {
            Some(place) => *place = Some(block),
            None => self.blocks.push(Some(block)),
        }
        self.capacity += u64::from(capacity);
        self.with_room.insert(id);
        self.empty.insert(id);
        Ok(())
    }

    /// Frees a slot.
    pub(crate) fn free(&mut self, slot: Slot<T>, frame: u64) {
        let Slot { object, block: id, handle, .. } = slot;
        drop(object);
        let Some(block) = self.blocks.get_mut(id as usize).and_then(Option::as_mut) else { return };
        if block.slots.free(handle).is_err() {
            return;
        }
        self.used -= 1;
        self.with_room.insert(id);
        if block.slots.is_empty() {
            block.empty_since = Some(frame);
            self.empty.insert(id);
        }
    }

    /// Takes out the blocks that have been empty since before `oldest`, except those with other references: on
    /// a lost device, slots are freed while open recordings may still refer to them.
    pub(crate) fn trim_older(&mut self, oldest: u64, retired: &mut Vec<T>) {
        while let Some(id) = self.empty.iter().copied().find(|id| self.is_idle(*id, oldest)) {
            self.empty.remove(&id);
            self.with_room.remove(&id);
            if let Some(block) = self.blocks.get_mut(id as usize).and_then(Option::take) {
                self.capacity -= u64::from(block.slots.capacity());
                retired.extend(Arc::into_inner(block.object));
            }
        }
    }

    fn is_idle(&self, id: u32, oldest: u64) -> bool {
        let block = self.blocks.get(id as usize).and_then(Option::as_ref);
        block.is_some_and(|block| {
            block.empty_since.is_some_and(|since| since < oldest) && !block.is_referred_to()
        })
    }

    /// Whether a block is referenced: by a slot, or by a recording.
    pub(crate) fn is_referred_to(&self) -> bool {
        self.blocks.iter().flatten().any(Block::is_referred_to)
    }

    /// Takes out all blocks; none may be referenced.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        let all = std::mem::take(self);
        all.blocks.into_iter().flatten().filter_map(|block| Arc::into_inner(block.object)).collect()
    }
}
