//! Reserved (sparse) resources: an address range now, tiles later (spec M9).

use std::sync::Arc;

use parking_lot::Mutex;

use super::Held;
use super::native::Native;
use crate::device::{
    BufferInfo, Device, DeviceError, QueueSerial, Requirements, ResourceDesc, TextureInfo, TileLayout,
    TileRegion, TileSource, TileUpdate, Usage,
};
use crate::gpu::{Garbage, Shared};
use crate::memory::{Home, Place, Spot, Store};
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::time::Stamp;
use crate::{Error, Name, Queue};

/// A reserved resource to create.
#[derive(Clone, Debug)]
pub struct ReservedDesc {
    /// The buffer or texture.
    pub resource: ResourceDesc,
    /// Its name.
    pub name: Name,
}

impl ReservedDesc {
    /// A reserved buffer of `size` bytes.
    #[must_use]
    pub fn buffer(size: u64, usage: Usage) -> Self {
        let resource = ResourceDesc::Buffer(BufferInfo { size, usage: usage | Usage::COPY_DST });
        Self { resource, name: Name::default() }
    }

    /// A reserved texture.
    #[must_use]
    pub fn texture(info: TextureInfo) -> Self {
        Self { resource: ResourceDesc::Texture(info), name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A run of tiles of the tile pool. Goes back when the last tile mapped to it is remapped,
/// unmapped or dropped, and the GPU is done.
struct TileRun<D: Device> {
    /// Keeps the heap: tiles are mapped into it.
    _store: Store<D>,
    spot: Spot,
    born: Stamp,
    /// Declared last, as in every handle: it goes after what it must unmake.
    shared: Arc<Shared<D>>,
}

impl<D: Device> Drop for TileRun<D> {
    fn drop(&mut self) {
        self.shared.release(Garbage::Range(self.spot), self.born, self.spot.reserved);
    }
}

/// What each tile of a resource is mapped to, by tile number.
type Mappings<D> = Vec<Option<Arc<TileRun<D>>>>;

/// A reserved (sparse) buffer or texture. Its tiles are mapped, remapped and unmapped in the order
/// of a queue's submissions; tiles that are no longer mapped go back to the pool once the GPU is
/// done with them. Dropping it unmaps everything.
pub struct Reserved<D: Device> {
    // Declared before `held`: the tiles' runs are let go of first, so that the resource, which is
    // pushed last, is never destroyed after its tiles are reused.
    mappings: Mutex<Mappings<D>>,
    layout: TileLayout,
    layers: u32,
    mips: u32,
    needs: Requirements,
    pub(super) held: Held<D>,
}

impl<D: Device> Reserved<D> {
    pub(crate) fn create(shared: &Arc<Shared<D>>, desc: &ReservedDesc) -> Result<Self, Error> {
        let refuse = |source| shared.refused(&desc.name, source);
        let needs = shared.requirements(&desc.name, &desc.resource)?;
        let objects = &shared.pools.objects;
        let native = objects.create_reserved(&shared.device, &desc.resource, &desc.name).map_err(refuse)?;
        let layout = match shared.device.tile_layout(&native.object) {
            Ok(layout) => layout,
            Err(error) => {
                shared.discard(native);
                return Err(refuse(error));
            }
        };
        let (layers, mips) = match &desc.resource {
            ResourceDesc::Buffer(_) => (1, 1),
            ResourceDesc::Texture(info) => (info.layers(), info.mips),
        };
        let home = Home { native, place: Place::Reserved };
        let held = Held::new(shared, &desc.name, ObjectKind::Reserved, home, needs.size, TraceId::default());
        let mut reserved = Self { mappings: Mutex::new(Vec::new()), layout, layers, mips, needs, held };
        let tiles = reserved.tile_count();
        reserved.mappings.get_mut().resize_with(tiles, || None);
        Ok(reserved)
    }

    /// How it is tiled.
    #[must_use]
    pub const fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// The API resource. Do not destroy or keep it.
    #[must_use]
    pub fn raw(&self) -> &D::Resource {
        &self.held.native().object
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.held.name
    }

    /// Tiles that are mapped to memory.
    #[must_use]
    pub fn mapped_tiles(&self) -> usize {
        self.mappings.lock().iter().flatten().count()
    }

    /// Maps a box of tiles to memory of the tile pool, in the order of the queue's submissions.
    /// Tiles that are mapped already get new memory, with undefined contents.
    ///
    /// # Errors
    /// [`Error::Tiles`] when the box leaves the resource, [`Error::OutOfMemory`],
    /// [`Error::Device`]; then nothing has changed.
    pub fn map(&self, queue: Queue, region: TileRegion) -> Result<QueueSerial, Error> {
        let tiles = self.tiles(region)?;
        let run = self.take_run(tiles.len())?;
        let heap = match &run._store {
            Store::Heap(block) => &block.heap,
            Store::Buffer { .. } | Store::Slot { .. } => return Err(self.broken("tiles lie in heaps")),
        };
        let source = TileSource::Heap { heap, offset: run.spot.offset };
        let at = self.update(queue, region, source)?;
        self.replace(&tiles, |_| Some(run.clone()));
        Ok(at)
    }

    /// Unmaps a box of tiles, in the order of the queue's submissions.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn unmap(&self, queue: Queue, region: TileRegion) -> Result<QueueSerial, Error> {
        let tiles = self.tiles(region)?;
        let at = self.update(queue, region, TileSource::Unmapped)?;
        self.replace(&tiles, |_| None);
        Ok(at)
    }

    /// Maps a box of tiles to whatever a box of the same shape of `source` is mapped to; the tiles
    /// are then shared, and go back when both have let go of them.
    ///
    /// # Errors
    /// As [`map`](Self::map), and [`Error::Tiles`] when the boxes differ in size.
    pub fn copy_mappings(
        &self,
        queue: Queue,
        region: TileRegion,
        source: &Self,
        source_region: TileRegion,
    ) -> Result<QueueSerial, Error> {
        let (tiles, sources) = (self.tiles(region)?, source.tiles(source_region)?);
        if region.extent != source_region.extent {
            return Err(self.refuse_tiles(
                "both boxes must have the same extent",
                sources.len(),
                tiles.len(),
            ));
        }
        let copied: Vec<_> = {
            let mappings = source.mappings.lock();
            sources.iter().map(|tile| mappings[*tile].clone()).collect()
        };
        let from = TileSource::CopyOf { resource: source.raw(), region: source_region };
        let at = self.update(queue, region, from)?;
        self.replace(&tiles, |index| copied[index].clone());
        Ok(at)
    }

    fn update(
        &self,
        queue: Queue,
        region: TileRegion,
        source: TileSource<'_, D>,
    ) -> Result<QueueSerial, Error> {
        let update = TileUpdate { resource: self.raw(), region, source };
        let shared = &self.held.shared;
        // Tiles let go of after this must outlive it: it counts as a recording until it is submitted.
        shared.submit_tiles(queue, &[update]).map_err(|source| shared.refused(&self.held.name, source))
    }

    fn replace(&self, tiles: &[usize], run: impl Fn(usize) -> Option<Arc<TileRun<D>>>) {
        let mut mappings = self.mappings.lock();
        let old: Vec<_> = tiles
            .iter()
            .enumerate()
            .map(|(index, tile)| std::mem::replace(&mut mappings[*tile], run(index)))
            .collect();
        drop(mappings);
        drop(old);
    }

    fn take_run(&self, tiles: usize) -> Result<Arc<TileRun<D>>, Error> {
        let shared = &self.held.shared;
        let size = (tiles as u64).saturating_mul(self.layout.tile_size);
        let (spot, store) = shared.place_tiles(&self.held.name, &self.needs, size, self.layout.tile_size)?;
        Ok(Arc::new(TileRun { shared: shared.clone(), _store: store, spot, born: shared.clock.stamp() }))
    }

    /// Tiles of all subresources and packed mips.
    fn tile_count(&self) -> usize {
        let standard: u64 = self.layout.subresources.iter().map(|extent| volume(*extent)).sum();
        let packed = u64::from(self.layout.packed_tiles) * u64::from(self.layers);
        usize::try_from(standard.saturating_add(packed)).unwrap_or(usize::MAX)
    }

    /// The numbers of the tiles of a box, in the order x, y, z.
    fn tiles(&self, region: TileRegion) -> Result<Vec<usize>, Error> {
        let (first, extent) = self.subresource_tiles(region.subresource)?;
        for ((origin, size), limit) in region.origin.into_iter().zip(region.extent).zip(extent) {
            let end = u64::from(origin) + u64::from(size);
            if size == 0 || end > u64::from(limit) {
                let end = usize::try_from(end).unwrap_or(usize::MAX);
                return Err(self.refuse_tiles(
                    "the box must lie within the subresource",
                    end,
                    limit as usize,
                ));
            }
        }
        let [x, y, z] = region.origin.map(|tile| tile as usize);
        let [width, height, depth] = region.extent.map(|tiles| tiles as usize);
        let [across, down, _] = extent.map(|tiles| tiles as usize);
        let row = move |z: usize, y: usize| (x..x + width).map(move |x| first + (z * down + y) * across + x);
        Ok((z..z + depth).flat_map(|z| (y..y + height).flat_map(move |y| row(z, y))).collect())
    }

    /// The number of a subresource's first tile, and its tiles across, down and deep.
    fn subresource_tiles(&self, subresource: u32) -> Result<(usize, [u32; 3]), Error> {
        let (mip, layer) = (subresource % self.mips, subresource / self.mips);
        let standard_mips = self.layout.first_packed_mip.min(self.mips);
        let standard = &self.layout.subresources;
        let index = subresource as usize;
        if layer < self.layers
            && mip < standard_mips
            && let Some(extent) = standard.get(index)
        {
            let first: u64 = standard[..index].iter().map(|extent| volume(*extent)).sum();
            return Ok((usize::try_from(first).unwrap_or(usize::MAX), *extent));
        }
        if layer < self.layers && mip == standard_mips && self.layout.packed_tiles > 0 {
            let before: u64 = standard.iter().map(|extent| volume(*extent)).sum();
            let first = before + u64::from(layer) * u64::from(self.layout.packed_tiles);
            return Ok((usize::try_from(first).unwrap_or(usize::MAX), [self.layout.packed_tiles, 1, 1]));
        }
        let limit = (self.layers * self.mips) as usize;
        Err(self.refuse_tiles(
            "the subresource must exist and be tiled by itself",
            subresource as usize,
            limit,
        ))
    }

    fn refuse_tiles(&self, rule: &'static str, value: usize, limit: usize) -> Error {
        let name = self.held.name.clone();
        Error::Tiles { name, rule, value: value as u64, limit: limit as u64 }
    }

    fn broken(&self, rule: &'static str) -> Error {
        let source = DeviceError::InvalidCall { rule, value: 0, limit: 0 };
        Error::device(&self.held.name, source)
    }
}

/// Tiles of a box.
fn volume(extent: [u32; 3]) -> u64 {
    extent.iter().fold(1_u64, |product, side| product.saturating_mul(u64::from(*side)))
}

impl<D: Device> Shared<D> {
    /// Destroys an API resource that was just made and never used.
    fn discard(&self, native: Arc<Native<D>>) {
        let _unshared = self.pools.release(&self.device, Home { native, place: Place::Reserved });
    }
}
