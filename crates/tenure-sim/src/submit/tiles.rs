//! Changes of tile mappings, in the order of submission.

use std::sync::Arc;

use tenure_core::device::{
    CallRule, Device, DeviceError, QueueId, QueueSerial, TileSource, TileUpdate, check,
};

use crate::command::{TileChange, TileOrigin};
use crate::layout::TILE;
use crate::memory::{Heap, HeapState, Memory};
use crate::requirements::tiles::region_tiles;
use crate::resource::{Resource, ResourceState};
use crate::timeline::{Job, Queues, Work};

impl Queues {
    pub(crate) fn update_tiles(
        &self,
        queue: QueueId,
        updates: &[TileUpdate<'_, impl Device<Heap = Heap, Resource = Resource>>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let changes = updates.iter().map(|update| self.tile_change(update)).collect::<Result<Vec<_>, _>>()?;
        let mut timeline = self.timeline.lock();
        timeline.check(self, queue, waits, signal)?;
        for change in &changes {
            change.note_use(queue, signal);
        }
        timeline.push(self, queue, Work::new(Job::Tiles(changes), waits.into()));
        drop(timeline);
        self.changed.notify_all();
        Ok(())
    }

    fn tile_change(
        &self,
        update: &TileUpdate<'_, impl Device<Heap = Heap, Resource = Resource>>,
    ) -> Result<TileChange, DeviceError> {
        let resource = reserved(&update.resource.state)?;
        let tiles = region_tiles(&resource.layout, &update.region)?;
        let origin = match &update.source {
            TileSource::Unmapped => TileOrigin::Unmapped,
            TileSource::Heap { heap, offset } => {
                self.check_tile_heap(resource, &heap.state, *offset, tiles.len() as u64)?;
                TileOrigin::Heap { heap: Arc::clone(&heap.state), offset: *offset }
            }
            TileSource::CopyOf { resource, region } => {
                let source = reserved(&resource.state)?;
                let from = region_tiles(&source.layout, region)?;
                if from.len() != tiles.len() {
                    let rule = CallRule::TileRegionsOfOneSize;
                    return Err(DeviceError::invalid_call(rule, from.len() as u64, tiles.len() as u64));
                }
                TileOrigin::CopyOf { resource: Arc::clone(source), tiles: from }
            }
        };
        Ok(TileChange { resource: Arc::clone(resource), tiles, origin })
    }

    fn check_tile_heap(
        &self,
        resource: &ResourceState,
        heap: &HeapState,
        offset: u64,
        tiles: u64,
    ) -> Result<(), DeviceError> {
        self.check_category(&resource.desc, heap)?;
        check::memory_type(self.tile_types(&resource.desc)?, heap.memory())?;
        check::tiles_in_heap(tiles, TILE, offset, heap.desc.size)
    }
}

fn reserved(state: &Arc<ResourceState>) -> Result<&Arc<ResourceState>, DeviceError> {
    match &state.memory {
        Memory::Reserved(_) => Ok(state),
        _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
    }
}

impl TileChange {
    fn note_use(&self, queue: QueueId, serial: u64) {
        self.resource.last_use.raise(queue, serial);
        match &self.origin {
            TileOrigin::Heap { heap, .. } => heap.last_use.raise(queue, serial),
            TileOrigin::CopyOf { resource, .. } => resource.last_use.raise(queue, serial),
            TileOrigin::Unmapped => {}
        }
    }
}
