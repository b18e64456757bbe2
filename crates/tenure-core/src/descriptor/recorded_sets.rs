//! The descriptor sets that one recording has taken.

use std::cell::RefCell;
use std::sync::Arc;

use elsa::FrozenVec;
use parking_lot::Mutex;

use super::set_layout::{Form, RecordedBlock, release_block};
use crate::device::{Device, DeviceError};
use crate::gpu::Shared;

/// No block.
const NONE: u32 = u32::MAX;

/// Blocks of the layouts that a recording uses.
pub(crate) struct RecordedSets<D: Device> {
    blocks: FrozenVec<Box<RecordedBlock<D>>>,
    /// By the number of the layout: the index of the block that is being filled.
    current: RefCell<Vec<u32>>,
}

impl<D: Device> RecordedSets<D> {
    fn new() -> Self {
        Self { blocks: FrozenVec::new(), current: RefCell::new(Vec::new()) }
    }

    /// A set of a form that nobody else is given before the recording's submission is complete.
    #[inline]
    pub(super) fn take(
        &self,
        shared: &Shared<D>,
        form: &Arc<Form<D>>,
        recording: &'static str,
    ) -> Result<(&D::SetBlock, u32), DeviceError> {
        let current = self.current.borrow().get(form.id).copied().unwrap_or(NONE);
        if let Some(block) = self.blocks.get(current as usize)
            && let Some(set) = block.bump()
        {
            return Ok((&block.block, set));
        }
        self.take_block(shared, form, recording)
    }

    #[cold]
    fn take_block(
        &self,
        shared: &Shared<D>,
        form: &Arc<Form<D>>,
        recording: &'static str,
    ) -> Result<(&D::SetBlock, u32), DeviceError> {
        let block = form.take_block(shared, recording)?;
        let index = u32::try_from(self.blocks.len()).unwrap_or(NONE);
        let block = self.blocks.push_get(block);
        let mut current = self.current.borrow_mut();
        if current.len() <= form.id {
            current.resize(form.id + 1, NONE);
        }
        if let Some(place) = current.get_mut(form.id) {
            *place = index;
        }
        let set = block.bump().ok_or(DeviceError::OutOfHostMemory { what: "a block of sets" })?;
        Ok((&block.block, set))
    }

    /// Nothing uses the recording's sets any more: gives the blocks back to their layouts.
    fn release(&mut self, shared: &Shared<D>) {
        for block in self.blocks.as_mut().drain(..) {
            if let Some(place) = block.form_id().and_then(|id| self.current.get_mut().get_mut(id)) {
                *place = NONE;
            }
            release_block(shared, block);
        }
    }
}

/// What recordings note their sets in, between recordings.
#[allow(clippy::vec_box, reason = "they move between recordings, the release queue and here as they are")]
pub(super) struct RecordedSetsPool<D: Device>(Mutex<Vec<Box<RecordedSets<D>>>>);

impl<D: Device> Default for RecordedSetsPool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> RecordedSetsPool<D> {
    /// For a recording.
    pub(super) fn take(&self) -> Box<RecordedSets<D>> {
        self.0.lock().pop().unwrap_or_else(|| Box::new(RecordedSets::new()))
    }

    /// Of a recording whose sets nothing uses any more.
    pub(super) fn put_back(&self, mut sets: Box<RecordedSets<D>>, shared: &Shared<D>) {
        sets.release(shared);
        self.0.lock().push(sets);
    }
}
