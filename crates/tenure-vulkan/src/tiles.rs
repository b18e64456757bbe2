//! Changes of tile mappings.

use std::collections::HashMap;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{
    CallRule, Device, DeviceError, QueueId, QueueSerial, TileSource, TileUpdate, check,
};

use crate::memory::Heap;
use crate::queue::{Binds, Queues, Sync, Work};
use crate::resource::{Object, Resource};
use crate::sparse::{Sparse, Target, Tile, TilePart};

/// The tiles that change, each once, and their new mappings.
#[derive(Default)]
struct Changes<'a> {
    list: Vec<Change<'a>>,
    /// The index of each tile in the list.
    index: HashMap<(Object, u64), usize>,
}

struct Change<'a> {
    resource: &'a Resource,
    sparse: &'a Sparse,
    tile: Tile,
    target: Option<Target>,
}

impl<'a> Changes<'a> {
    /// Adds a change. It replaces an earlier change of the same tile.
    fn set(&mut self, change: Change<'a>) {
        let key = (change.resource.object, change.tile.number);
        match self.index.get(&key).and_then(|index| self.list.get_mut(*index)) {
            Some(earlier) => earlier.target = change.target,
            None => {
                self.index.insert(key, self.list.len());
                self.list.push(change);
            }
        }
    }

    /// The mapping of a tile after the changes so far.
    fn get(&self, resource: &Resource, sparse: &Sparse, tile: u64) -> Option<Target> {
        let changed = self.index.get(&(resource.object, tile)).and_then(|index| self.list.get(*index));
        match changed {
            Some(change) => change.target.clone(),
            None => sparse.table.lock().get(&tile).cloned(),
        }
    }

    fn binds(&self) -> Binds {
        let mut binds = Binds::default();
        for Change { resource, tile, target, .. } in &self.list {
            let Some(part) = tile.part else { continue };
            let (memory, memory_offset) = target
                .as_ref()
                .map_or((vk::DeviceMemory::null(), 0), |target| (target.memory.handle, target.offset));
            match (resource.object, part) {
                (
                    Object::Buffer(buffer),
                    TilePart::Bytes { offset, size } | TilePart::Packed { offset, size },
                ) => {
                    let bind = bytes_bind(offset, size, memory, memory_offset);
                    binds.buffers.entry(buffer).or_default().push(bind);
                }
                (
                    Object::Image(image),
                    TilePart::Bytes { offset, size } | TilePart::Packed { offset, size },
                ) => {
                    let bind = bytes_bind(offset, size, memory, memory_offset);
                    binds.tails.entry(image).or_default().push(bind);
                }
                (Object::Image(image), TilePart::Texels { mip, layer, origin, extent }) => {
                    let bind = vk::SparseImageMemoryBind::default()
                        .subresource(
                            vk::ImageSubresource::default()
                                .aspect_mask(vk::ImageAspectFlags::COLOR)
                                .mip_level(mip)
                                .array_layer(layer),
                        )
                        .offset(offset(origin))
                        .extent(vk::Extent3D { width: extent[0], height: extent[1], depth: extent[2] })
                        .memory(memory)
                        .memory_offset(memory_offset);
                    binds.images.entry(image).or_default().push(bind);
                }
                (Object::Buffer(_), TilePart::Texels { .. }) => {}
            }
        }
        binds.buffers.values_mut().chain(binds.tails.values_mut()).for_each(join);
        binds
    }

    /// Applies the changes to the tables, after their submission.
    fn apply(self) {
        for Change { sparse, tile, target, .. } in self.list {
            let mut table = sparse.table.lock();
            match target {
                Some(target) => table.insert(tile.number, target),
                None => table.remove(&tile.number),
            };
        }
    }
}

fn offset(origin: [u32; 3]) -> vk::Offset3D {
    // Texels of an image are counted by the API in 31 bits.
    let [x, y, z] = origin.map(|texel| i32::try_from(texel).unwrap_or(i32::MAX));
    vk::Offset3D { x, y, z }
}

fn bytes_bind(offset: u64, size: u64, memory: vk::DeviceMemory, memory_offset: u64) -> vk::SparseMemoryBind {
    vk::SparseMemoryBind::default()
        .resource_offset(offset)
        .size(size)
        .memory(memory)
        .memory_offset(memory_offset)
}

/// Merges binds that are contiguous in the resource and in memory.
fn join(binds: &mut Vec<vk::SparseMemoryBind>) {
    binds.sort_unstable_by_key(|bind| bind.resource_offset);
    binds.dedup_by(|next, last| {
        let in_resource = last.resource_offset.checked_add(last.size) == Some(next.resource_offset);
        let in_memory = next.memory == vk::DeviceMemory::null()
            || last.memory_offset.checked_add(last.size) == Some(next.memory_offset);
        let follows = in_resource && last.memory == next.memory && in_memory;
        if follows {
            last.size += next.size;
        }
        follows
    });
}

/// Changes tile mappings, in the order of submission.
pub(crate) struct Tiles {
    queues: Arc<Queues>,
    /// Held while mappings change.
    order: Mutex<()>,
}

impl Tiles {
    pub(crate) fn new(queues: Arc<Queues>) -> Self {
        Self { queues, order: Mutex::new(()) }
    }

    pub(crate) fn update<D: Device<Resource = Resource, Heap = Heap>>(
        &self,
        queue: QueueId,
        updates: &[TileUpdate<'_, D>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.queues.alive()?;
        self.queues.queue(queue)?;
        // Tables change in the order of submission.
        let _order = self.order.lock();
        let mut changes = Changes::default();
        for update in updates {
            self.note(update, &mut changes)?;
        }
        let binds = changes.binds();
        let work = if changes.list.is_empty() { Work::Lists(&[]) } else { Work::Binds(&binds) };
        self.queues.execute(queue, work, Sync::new(waits, signal))?;
        changes.apply();
        Ok(())
    }

    fn note<'a, D: Device<Resource = Resource, Heap = Heap>>(
        &self,
        update: &TileUpdate<'a, D>,
        changes: &mut Changes<'a>,
    ) -> Result<(), DeviceError> {
        let resource = update.resource;
        resource.check_device(&self.queues)?;
        let sparse = resource.sparse()?;
        let tiles = sparse.tiling.tiles(&update.region)?;
        let targets: Vec<Option<Target>> = match &update.source {
            TileSource::Unmapped => tiles.iter().map(|_| None).collect(),
            TileSource::Heap { heap, offset } => {
                self.check_tile_heap(resource, sparse, heap, *offset, tiles.len() as u64)?;
                let target = |index: u64| Target {
                    memory: heap.memory.clone(),
                    offset: offset + index * sparse.tiling.layout.tile_size,
                };
                (0..).zip(&tiles).map(|(index, _)| Some(target(index))).collect()
            }
            TileSource::CopyOf { resource: source, region } => {
                source.check_device(&self.queues)?;
                let from = source.sparse()?;
                let copied = from.tiling.tiles(region)?;
                if copied.len() != tiles.len() {
                    let rule = CallRule::TileRegionsOfOneSize;
                    return Err(DeviceError::invalid_call(rule, copied.len() as u64, tiles.len() as u64));
                }
                let targets: Vec<_> =
                    copied.iter().map(|tile| changes.get(source, from, tile.number)).collect();
                check_copied(sparse, from, &targets)?;
                targets
            }
        };
        for (tile, target) in tiles.into_iter().zip(targets) {
            changes.set(Change { resource, sparse, tile, target });
        }
        Ok(())
    }

    fn check_tile_heap(
        &self,
        resource: &Resource,
        sparse: &Sparse,
        heap: &Heap,
        offset: u64,
        tiles: u64,
    ) -> Result<(), DeviceError> {
        self.queues.check_same(heap.memory.owner())?;
        heap.memory.owner().check_category(&resource.desc, heap.category)?;
        check::memory_type(sparse.tiling.layout.memory_types, heap.memory.kind)?;
        check::tiles_in_heap(tiles, sparse.tiling.layout.tile_size, offset, heap.memory.size)
    }
}

fn check_copied(sparse: &Sparse, from: &Sparse, targets: &[Option<Target>]) -> Result<(), DeviceError> {
    let (mine, theirs) = (sparse.tiling.layout.tile_size, from.tiling.layout.tile_size);
    if mine != theirs {
        return Err(DeviceError::invalid_call(
            "mappings are copied between resources with tiles of one size",
            theirs,
            mine,
        ));
    }
    targets
        .iter()
        .flatten()
        .try_for_each(|target| check::memory_type(sparse.tiling.layout.memory_types, target.memory.kind))
}
