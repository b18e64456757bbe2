//! Blocks of descriptor sets, by layout: those of lasting sets, and those of recordings.

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

/// The layout, and its blocks. Referenced by the handles, and by releases that await the GPU.
pub(crate) struct SetLayoutInner<D: Device> {
    pub(crate) name: Name,
    /// A small number, unique among the live layouts of the manager.
    pub(crate) id: usize,
    pub(crate) layout: D::SetLayout,
    /// The bindings, in the order of their numbers.
    pub(crate) bindings: Box<[SetBinding]>,
    /// The number of sets in a block.
    sets: u32,
    pub(crate) pool: Mutex<SetPool<D>>,
}

/// Unused sets.
pub(crate) struct SetPool<D: Device> {
    /// Blocks of lasting sets, which are taken one by one.
    pub(crate) lasting: SlotBlocks<D::SetPool>,
    /// Blocks for recordings; the last used on top. Kept like command lists: the number of recordings in flight
    /// at once varies, and sometimes all of them are needed.
    #[allow(
        clippy::vec_box,
        reason = "they move between recordings, the release queue and here as they are"
    )]
    pub(crate) idle: Vec<Box<RecordedBlock<D>>>,
}

/// A block whose sets one recording uses in order, then the next.
pub(crate) struct RecordedBlock<D: Device> {
    pub(crate) block: D::SetPool,
    /// The number of sets, and of those that the recording has used.
    sets: u32,
    used: Cell<u32>,
    /// The recording that uses it.
    recording: Name,
    /// The layout, while a recording or the GPU uses it.
    layout_inner: Option<Arc<SetLayoutInner<D>>>,
}

impl<D: Device> RecordedBlock<D> {
    /// The next unused set.
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
    /// A layout without blocks, with `sets` sets per block.
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

    /// A lasting set; the device writes it while no other thread can write its block.
    pub(crate) fn take_lasting(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
        frame: u64,
        writes: &[SetWrite<'_, D>],
    ) -> Result<Slot<D::SetPool>, DeviceError> {
        let mut pool = self.pool.lock();
        if pool.lasting.with_room().is_none() {
            let block = self.make_block(store, device)?;
            if let Err(block) = pool.lasting.add(block, self.sets, frame) {
                store.destroy_set_pool(device, block);
            }
        }
        let slot = pool.lasting.take().ok_or(DeviceError::OutOfHostMemory { what: "a pool of sets" })?;
        match device.write_set(Permit::own(), &slot.object, slot.index, writes) {
            Ok(()) => Ok(slot),
            Err(error) => {
                pool.lasting.free(slot, frame);
                Err(error)
            }
        }
    }

    /// Whether a block of lasting sets has a free set.
    pub(crate) fn has_room(&self) -> bool {
        self.pool.lock().lasting.with_room().is_some()
    }

    /// Frees a lasting set that nothing reads any more; `freed_by` is its name, if the device should poison it.
    pub(crate) fn free_lasting(
        &self,
        device: &D,
        frame: u64,
        slot: Slot<D::SetPool>,
        freed_by: Option<&str>,
    ) {
        let mut pool = self.pool.lock();
        device.clear_set(Permit::own(), &slot.object, slot.index, freed_by);
        pool.lasting.free(slot, frame);
    }

    /// An unused block for a recording.
    pub(crate) fn take_idle_block(&self) -> Option<Box<RecordedBlock<D>>> {
        self.pool.lock().idle.pop()
    }

    /// Makes a block for a recording.
    pub(crate) fn make_recorded_block(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
    ) -> Result<Box<RecordedBlock<D>>, DeviceError> {
        let block = self.make_block(store, device)?;
        let (sets, used) = (self.sets, Cell::new(0));
        Ok(Box::new(RecordedBlock { block, sets, used, recording: Name::default(), layout_inner: None }))
    }

    fn make_block(&self, store: &DescriptorStore<D>, device: &D) -> Result<D::SetPool, DeviceError> {
        let block = device.create_set_pool(Permit::own(), &self.layout, self.sets)?;
        store.note_set_pool();
        if !self.name.is_empty() {
            device.set_name(Permit::own(), ObjectRef::SetPool(&block), self.name.as_str());
        }
        Ok(block)
    }

    /// Takes out the blocks of lasting sets that have been unused since before `oldest`.
    pub(crate) fn trim_older(&self, oldest: u64, retired: &mut Vec<D::SetPool>) {
        self.pool.lock().lasting.trim_older(oldest, retired);
    }

    /// Takes out the unused blocks for recordings.
    pub(crate) fn trim(&self, retired: &mut Vec<D::SetPool>) {
        retired.extend(self.pool.lock().idle.drain(..).map(|block| block.block));
    }

    /// Whether a block of lasting sets is referenced: on a lost device, an open recording may still refer to
    /// one.
    pub(crate) fn is_referred_to(&self) -> bool {
        self.pool.lock().lasting.is_referred_to()
    }

    /// Destroys the layout and its blocks. The blocks must be unused.
    pub(crate) fn destroy(self, store: &DescriptorStore<D>, device: &D) {
        let SetPool { mut lasting, idle } = self.pool.into_inner();
        let blocks = lasting.take_all().into_iter().chain(idle.into_iter().map(|block| block.block));
        blocks.for_each(|block| store.destroy_set_pool(device, block));
        device.destroy_set_layout(Permit::own(), self.layout);
    }
}

/// Recycles the sets of a recording, which nothing reads any more.
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
    /// Adds a layout, which is constructed with its number.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> SetLayoutInner<D>) -> Arc<SetLayoutInner<D>> {
        let mut set_layouts = self.0.lock();
        let place = set_layouts.vacant_entry();
        let layout_inner = Arc::new(make(place.key()));
        place.insert(Arc::downgrade(&layout_inner));
        layout_inner
    }

    /// Frees the number of a destroyed layout.
    pub(crate) fn remove(&self, id: usize) {
        self.0.lock().try_remove(id);
    }

    /// Visits the existing layouts.
    pub(crate) fn each(&self, visit: impl FnMut(Arc<SetLayoutInner<D>>)) {
        self.0.lock().iter().filter_map(|(_, layout_inner)| layout_inner.upgrade()).for_each(visit);
    }

    /// The number of existing layouts.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }
}

/// A set of a block.
pub(crate) struct LastingSet<D: Device> {
    pub(crate) slot: Slot<D::SetPool>,
    pub(crate) layout_inner: Arc<SetLayoutInner<D>>,
    pub(crate) name: Name,
}

/// No block.
const NONE: u32 = u32::MAX;

/// A set with one descriptor of dynamic constants, for a page of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageSet {
    /// The index of the page in the recording.
    pub(crate) page: usize,
    /// The bytes that a shader may read from each offset.
    pub(crate) range: u64,
    /// The index of its block.
    block: u32,
    set: u32,
}

/// The pools of sets that a recording uses, by layout.
pub(crate) struct RecordedSets<D: Device> {
    blocks: AppendList<Box<RecordedBlock<D>>>,
    /// For each layout, by its number, the index of the block that is being filled.
    current: RefCell<Vec<u32>>,
    /// For each layout, by its number, the newest set of a page.
    of_pages: RefCell<Vec<Option<PageSet>>>,
}

impl<D: Device> RecordedSets<D> {
    fn new() -> Self {
        let (current, of_pages) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        Self { blocks: AppendList::new(), current, of_pages }
    }

    /// The newest set of a page, of a layout.
    #[inline]
    pub(crate) fn of_page(&self, layout_inner: &SetLayoutInner<D>) -> Option<PageSet> {
        self.of_pages.borrow().get(layout_inner.id).copied().flatten()
    }

    /// The block and the index of a set of a page.
    #[inline]
    pub(crate) fn find(&self, found: PageSet) -> Option<(&D::SetPool, u32)> {
        self.blocks.get(found.block as usize).map(|block| (&block.block, found.set))
    }

    /// Stores the last allocated set as the set of a page.
    pub(crate) fn keep_of_page(
        &self,
        layout_inner: &SetLayoutInner<D>,
        (page, range): (usize, u64),
        set: u32,
    ) {
        let block = self.current.borrow().get(layout_inner.id).copied().unwrap_or(NONE);
        let mut of_pages = self.of_pages.borrow_mut();
        if of_pages.len() <= layout_inner.id {
            of_pages.resize(layout_inner.id + 1, None);
        }
        if let Some(place) = of_pages.get_mut(layout_inner.id) {
            *place = Some(PageSet { page, range, block, set });
        }
    }

    /// The next unused set of a layout, in a block that the recording has.
    #[inline]
    pub(crate) fn take(&self, layout_inner: &SetLayoutInner<D>) -> Option<(&D::SetPool, u32)> {
        let current = self.current.borrow().get(layout_inner.id).copied().unwrap_or(NONE);
        let block = self.blocks.get(current as usize)?;
        block.bump().map(|set| (&block.block, set))
    }

    /// Adds a block of a layout, for the recording of this name; returns its first set.
    pub(crate) fn add(
        &self,
        layout_inner: &Arc<SetLayoutInner<D>>,
        recording: &Name,
        mut block: Box<RecordedBlock<D>>,
    ) -> Result<(&D::SetPool, u32), DeviceError> {
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
        let set = block.bump().ok_or(DeviceError::OutOfHostMemory { what: "a pool of sets" })?;
        Ok((&block.block, set))
    }

    fn release(&mut self, device: &D, poisons: bool) {
        self.of_pages.get_mut().clear();
        for block in self.blocks.drain(0) {
            if let Some(place) = block.form_id().and_then(|id| self.current.get_mut().get_mut(id)) {
                *place = NONE;
            }
            release_block(device, poisons, block);
        }
    }
}

/// Unused [`RecordedSets`], kept for the next recordings.
#[allow(clippy::vec_box, reason = "they move between recordings, the release queue and here as they are")]
pub(crate) struct RecordedSetsPool<D: Device>(Mutex<Vec<Box<RecordedSets<D>>>>);

impl<D: Device> Default for RecordedSetsPool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> RecordedSetsPool<D> {
    /// Takes one for a recording.
    pub(crate) fn take(&self) -> Box<RecordedSets<D>> {
        self.0.lock().pop().unwrap_or_else(|| Box::new(RecordedSets::new()))
    }

    /// Takes back the sets of a recording, which nothing uses any more.
    pub(crate) fn recycle(&self, mut sets: Box<RecordedSets<D>>, device: &D, poisons: bool) {
        sets.release(device, poisons);
        self.0.lock().push(sets);
    }
}
