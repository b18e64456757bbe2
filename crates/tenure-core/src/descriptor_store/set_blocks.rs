//! Blocks of descriptor sets, by layout: those of lasting sets, and those that recordings take.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use slab::Slab;

use super::DescriptorStore;
use crate::Name;
use crate::append_list::AppendList;
use crate::device::{Device, DeviceError, ObjectRef, Permit, SetBinding, SetWrite};
use crate::permit::OwnPermit as _;
use crate::slot_blocks::{Slot, SlotBlocks};

/// The layout, and its blocks. Held by the handles, and by what waits for the GPU.
pub(crate) struct SetLayoutInner<D: Device> {
    pub(crate) name: Name,
    /// A small number that no other living form of the manager has.
    pub(crate) id: usize,
    pub(crate) layout: D::SetLayout,
    /// In the order of their numbers.
    pub(crate) bindings: Box<[SetBinding]>,
    /// Sets of a block.
    sets: u32,
    pub(crate) pool: Mutex<SetPool<D>>,
}

/// Sets that nothing uses.
pub(crate) struct SetPool<D: Device> {
    /// Blocks of sets that last, one by one.
    pub(crate) lasting: SlotBlocks<D::SetBlock>,
    /// Blocks for recordings; the last used on top. As command lists they are kept: how many recordings
    /// are in flight at once varies, and now and then all of them are needed.
    #[allow(
        clippy::vec_box,
        reason = "they move between recordings, the release queue and here as they are"
    )]
    pub(crate) idle: Vec<Box<RecordedBlock<D>>>,
}

/// Sets of one recording after the other.
pub(crate) struct RecordedBlock<D: Device> {
    pub(crate) block: D::SetBlock,
    /// Sets in it, and how many the recording has used.
    sets: u32,
    used: Cell<u32>,
    /// Who has it.
    recording: Name,
    /// Its form, while a recording or the GPU has it.
    layout_inner: Option<Arc<SetLayoutInner<D>>>,
}

impl<D: Device> RecordedBlock<D> {
    /// The next set that is not used.
    #[inline]
    pub(crate) fn bump(&self) -> Option<u32> {
        let set = self.used.get();
        (set < self.sets).then(|| {
            self.used.set(set + 1);
            set
        })
    }

    pub(crate) fn form_id(&self) -> Option<usize> {
        self.layout_inner.as_ref().map(|layout_inner| layout_inner.id)
    }
}

impl<D: Device> SetLayoutInner<D> {
    /// A layout without blocks, each of which is to have `sets` sets.
    pub(crate) fn new(
        name: Name,
        id: usize,
        layout: D::SetLayout,
        bindings: Box<[SetBinding]>,
        sets: u32,
    ) -> Self {
        let pool = Mutex::new(SetPool { lasting: SlotBlocks::default(), idle: Vec::new() });
        Self { name, id, layout, bindings, sets, pool }
    }

    /// A set that lasts; the device writes it while nobody else can write its block.
    pub(crate) fn take_lasting(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
        frame: u64,
        writes: &[SetWrite<'_, D>],
    ) -> Result<Slot<D::SetBlock>, DeviceError> {
        let mut pool = self.pool.lock();
        if pool.lasting.with_room().is_none() {
            let block = self.make_block(store, device)?;
            if let Err(block) = pool.lasting.add(block, self.sets, frame) {
                store.destroy_set_block(device, block);
            }
        }
        let slot = pool.lasting.take().ok_or(DeviceError::OutOfHostMemory { what: "a block of sets" })?;
        match device.write_set(Permit::own(), &slot.object, slot.index, writes) {
            Ok(()) => Ok(slot),
            Err(error) => {
                pool.lasting.free(slot, frame);
                Err(error)
            }
        }
    }

    /// Whether a block of lasting sets has a free one.
    pub(crate) fn has_room(&self) -> bool {
        self.pool.lock().lasting.with_room().is_some()
    }

    /// Frees a lasting set that nothing reads any more; `freed_by` is its name, where the device is to note it.
    pub(crate) fn free_lasting(
        &self,
        device: &D,
        frame: u64,
        slot: Slot<D::SetBlock>,
        freed_by: Option<&str>,
    ) {
        let mut pool = self.pool.lock();
        device.clear_set(Permit::own(), &slot.object, slot.index, freed_by);
        pool.lasting.free(slot, frame);
    }

    /// A block for a recording that nothing uses.
    pub(crate) fn take_idle_block(&self) -> Option<Box<RecordedBlock<D>>> {
        self.pool.lock().idle.pop()
    }

    /// A new block for a recording.
    pub(crate) fn make_recorded_block(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
    ) -> Result<Box<RecordedBlock<D>>, DeviceError> {
        let block = self.make_block(store, device)?;
        let (sets, used) = (self.sets, Cell::new(0));
        Ok(Box::new(RecordedBlock { block, sets, used, recording: Name::default(), layout_inner: None }))
    }

    fn make_block(&self, store: &DescriptorStore<D>, device: &D) -> Result<D::SetBlock, DeviceError> {
        let block = device.create_set_block(Permit::own(), &self.layout, self.sets)?;
        store.note_set_block();
        if !self.name.is_empty() {
            device.set_name(Permit::own(), ObjectRef::SetBlock(&block), self.name.as_str());
        }
        Ok(block)
    }

    /// Takes out the blocks of lasting sets that nothing has used since before `oldest`.
    pub(crate) fn retire(&self, oldest: u64, retired: &mut Vec<D::SetBlock>) {
        self.pool.lock().lasting.retire(oldest, retired);
    }

    /// Takes out the blocks for recordings that nothing uses.
    pub(crate) fn trim(&self, retired: &mut Vec<D::SetBlock>) {
        retired.extend(self.pool.lock().idle.drain(..).map(|block| block.block));
    }

    /// Whether something refers to a block of lasting sets: on a device that is lost a recording may that is open.
    pub(crate) fn is_referred_to(&self) -> bool {
        self.pool.lock().lasting.is_referred_to()
    }

    /// Destroys the layout and its blocks, none of which is used.
    pub(crate) fn destroy(self, store: &DescriptorStore<D>, device: &D) {
        let SetPool { mut lasting, idle } = self.pool.into_inner();
        let blocks = lasting.take_all().into_iter().chain(idle.into_iter().map(|block| block.block));
        blocks.for_each(|block| store.destroy_set_block(device, block));
        device.destroy_set_layout(Permit::own(), self.layout);
    }
}

/// Nothing reads the sets of a recording any more.
fn release_block<D: Device>(device: &D, poisons: bool, mut block: Box<RecordedBlock<D>>) {
    let Some(layout_inner) = block.layout_inner.take() else { return };
    let used = block.used.replace(0);
    if poisons {
        for set in 0..used {
            device.clear_set(Permit::own(), &block.block, set, Some(block.recording.as_str()));
        }
    }
    layout_inner.pool.lock().idle.push(block);
}

/// All layouts, by number.
pub(crate) struct SetLayouts<D: Device>(Mutex<Slab<Weak<SetLayoutInner<D>>>>);

impl<D: Device> Default for SetLayouts<D> {
    fn default() -> Self {
        Self(Mutex::new(Slab::new()))
    }
}

impl<D: Device> SetLayouts<D> {
    /// Takes in a layout, which is made with its number.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> SetLayoutInner<D>) -> Arc<SetLayoutInner<D>> {
        let mut set_layouts = self.0.lock();
        let place = set_layouts.vacant_entry();
        let layout_inner = Arc::new(make(place.key()));
        place.insert(Arc::downgrade(&layout_inner));
        layout_inner
    }

    /// A layout is destroyed, and its number free.
    pub(crate) fn remove(&self, id: usize) {
        self.0.lock().try_remove(id);
    }

    /// Visits those that there are.
    pub(crate) fn each(&self, visit: impl FnMut(Arc<SetLayoutInner<D>>)) {
        self.0.lock().iter().filter_map(|(_, layout_inner)| layout_inner.upgrade()).for_each(visit);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }
}

/// A set of a block.
pub(crate) struct LastingSet<D: Device> {
    pub(crate) slot: Slot<D::SetBlock>,
    pub(crate) layout_inner: Arc<SetLayoutInner<D>>,
    pub(crate) name: Name,
}

/// No block.
const NONE: u32 = u32::MAX;

/// Blocks of the layouts that a recording uses.
pub(crate) struct RecordedSets<D: Device> {
    blocks: AppendList<Box<RecordedBlock<D>>>,
    /// By the number of the layout: the index of the block that is being filled.
    current: RefCell<Vec<u32>>,
}

impl<D: Device> RecordedSets<D> {
    fn new() -> Self {
        Self { blocks: AppendList::new(), current: RefCell::new(Vec::new()) }
    }

    /// The next set of a layout that is not used, in a block that the recording has.
    #[inline]
    pub(crate) fn take(&self, layout_inner: &SetLayoutInner<D>) -> Option<(&D::SetBlock, u32)> {
        let current = self.current.borrow().get(layout_inner.id).copied().unwrap_or(NONE);
        let block = self.blocks.get(current as usize)?;
        block.bump().map(|set| (&block.block, set))
    }

    /// Takes in a block of a layout, for the recording of this name: its first set.
    pub(crate) fn add(
        &self,
        layout_inner: &Arc<SetLayoutInner<D>>,
        recording: &Name,
        mut block: Box<RecordedBlock<D>>,
    ) -> Result<(&D::SetBlock, u32), DeviceError> {
        block.recording = recording.clone();
        block.layout_inner = Some(layout_inner.clone());
        let index = u32::try_from(self.blocks.len()).unwrap_or(NONE);
        let block = self.blocks.push(block);
        let mut current = self.current.borrow_mut();
        if current.len() <= layout_inner.id {
            current.resize(layout_inner.id + 1, NONE);
        }
        if let Some(place) = current.get_mut(layout_inner.id) {
            *place = index;
        }
        let set = block.bump().ok_or(DeviceError::OutOfHostMemory { what: "a block of sets" })?;
        Ok((&block.block, set))
    }

    fn release(&mut self, device: &D, poisons: bool) {
        for block in self.blocks.drain(0) {
            if let Some(place) = block.form_id().and_then(|id| self.current.get_mut().get_mut(id)) {
                *place = NONE;
            }
            release_block(device, poisons, block);
        }
    }
}

/// What recordings note their sets in, between recordings.
#[allow(clippy::vec_box, reason = "they move between recordings, the release queue and here as they are")]
pub(crate) struct RecordedSetsPool<D: Device>(Mutex<Vec<Box<RecordedSets<D>>>>);

impl<D: Device> Default for RecordedSetsPool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> RecordedSetsPool<D> {
    /// For a recording.
    pub(crate) fn take(&self) -> Box<RecordedSets<D>> {
        self.0.lock().pop().unwrap_or_else(|| Box::new(RecordedSets::new()))
    }

    /// Of a recording whose sets nothing uses any more.
    pub(crate) fn put_back(&self, mut sets: Box<RecordedSets<D>>, device: &D, poisons: bool) {
        sets.release(device, poisons);
        self.0.lock().push(sets);
    }
}
