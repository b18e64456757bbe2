//! Reserved (sparse) resources: an address range, whose tiles are mapped later.

mod tile_map;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use tile_map::TileMap;

use crate::api_resource::ApiResource;
use crate::context::{Context, Retired};
use crate::device::{
    BufferInfo, Device, QueueSerial, Requirements, ResourceDesc, TextureInfo, TileLayout, TileRegion,
    TileSource, TileUpdate, Usage,
};
use crate::memory::{Backing, HeapBlock, Location, MakeRoom, Suballocation, TileRequest};
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::resource::{HandleInner, Labels, Used};
use crate::services::Services;
use crate::time::{Clock, Stamp, SyncPoint};
use crate::{Error, Name, Queue, TileRule};

/// A reserved resource to create.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReservedDesc {
    /// The buffer or texture.
    pub resource: ResourceDesc,
    /// The name.
    pub name: Name,
    /// The purpose, in the program's words ("terrain", "ui"): the [report](crate::Report) sums live objects by
    /// tag.
    pub tag: Name,
}

impl ReservedDesc {
    /// A reserved buffer of `size` bytes.
    #[must_use]
    pub fn buffer(size: u64, usage: Usage) -> Self {
        let resource = ResourceDesc::Buffer(BufferInfo::new(size, usage | Usage::COPY_DST));
        Self { resource, name: Name::default(), tag: Name::default() }
    }

    /// A reserved texture.
    #[must_use]
    pub fn texture(info: TextureInfo) -> Self {
        Self { resource: ResourceDesc::Texture(info), name: Name::default(), tag: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Tags it: see [`tag`](Self::tag).
    #[must_use]
    pub fn tag(self, tag: impl Into<Name>) -> Self {
        Self { tag: tag.into(), ..self }
    }
}

/// A run of tiles of the tile pool. Freed when the last tile mapped to it is remapped, unmapped or dropped, and
/// the GPU has finished with it.
struct TileRun<D: Device> {
    /// Keeps the heap alive: tiles are mapped to it.
    heap: Arc<HeapBlock<D>>,
    suballocation: Suballocation,
    /// Declared last, as in every handle: the context must outlive the heap.
    context: Arc<Context<D>>,
}

impl<D: Device> Drop for TileRun<D> {
    #[inline(never)]
    fn drop(&mut self) {
        // Any earlier submission may use the tiles through a resource, even if it was submitted before they
        // were mapped, because it may execute only now.
        self.context.release(
            Retired::Range(self.suballocation.free_token()),
            Stamp::default(),
            self.suballocation.reserved,
        );
    }
}

/// The queue on which mappings change, and a sync point to wait for first: converts from a queue, or from a
/// queue and a sync point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileQueue {
    queue: Queue,
    after: SyncPoint,
}

impl From<Queue> for TileQueue {
    fn from(queue: Queue) -> Self {
        Self { queue, after: SyncPoint::NONE }
    }
}

impl From<(Queue, SyncPoint)> for TileQueue {
    fn from((queue, after): (Queue, SyncPoint)) -> Self {
        Self { queue, after }
    }
}

/// The mappings of the tiles after all submissions so far.
struct Mappings<D: Device> {
    /// The memory of each tile, by its number; `None` for unmapped tiles.
    runs: Vec<Option<Arc<TileRun<D>>>>,
    /// The latest change on each queue; the next change waits for the changes on other queues.
    changed: SyncPoint,
}

/// A reserved (sparse) buffer or texture. Its tiles are mapped, remapped and unmapped in the order of the
/// calls, each in the order of a queue's submissions; unmapped tiles return to the pool once the GPU has
/// finished with them. Dropping the resource frees all its tiles.
///
/// A mapping change waits for earlier changes, on any queue. It does not wait for uses on other queues: pass
/// their sync point with the queue.
///
/// Unmapped tiles read as zero only if the device has
/// [`Features::UNMAPPED_TILES`](crate::device::Features::UNMAPPED_TILES); otherwise commands must not access
/// them.
pub struct Reserved<D: Device> {
    /// Declared first: the resource is released before the tiles mapped to it.
    inner: HandleInner<D>,
    mappings: Mutex<Mappings<D>>,
    /// The number of mapped tiles. Changed under the lock of the mappings, which is held during submissions.
    mapped: AtomicUsize,
    map: TileMap,
    needs: Requirements,
    /// Declared last, as in every handle.
    services: Arc<Services<D>>,
}

debug_fields!([D: Device] Reserved<D>, "Reserved", this, name: this.name(), layout: this.layout());

impl<'a, D: Device> From<&'a Reserved<D>> for Used<'a, D> {
    fn from(reserved: &'a Reserved<D>) -> Self {
        Self::of_object(&reserved.inner)
    }
}

impl<D: Device> Reserved<D> {
    pub(crate) fn create(services: &Arc<Services<D>>, desc: &ReservedDesc) -> Result<Self, Error> {
        let (context, room): (_, &dyn MakeRoom) = (&services.context, &**services);
        let refuse = |source| context.refused(&desc.name, source);
        // Memory is allocated by tiles, and tiles have the same requirements for buffers beyond the maximum
        // size, so the query is for a buffer of at most that size.
        let mut asked = desc.resource.clone();
        let mut size = 0;
        if let ResourceDesc::Buffer(info) = &mut asked {
            size = info.size;
            info.size = size.min(context.max_buffer_size);
        }
        let mut needs = context.requirements(&desc.name, &asked)?;
        needs.size = needs.size.max(size);
        let objects = &context.pools.objects;
        let reserve = || objects.create_reserved(context.device(), &desc.resource, &desc.name);
        let api_resource = room.retry(reserve).map_err(refuse)?;
        let layout = match context.device().tile_layout(&api_resource.object) {
            Ok(layout) => layout,
            Err(error) => {
                discard(context, api_resource);
                return Err(refuse(error));
            }
        };
        // A placed resource with the same description may allow more memory types.
        needs.memory_types = layout.memory_types;
        let (layers, mips) = match &desc.resource {
            ResourceDesc::Buffer(_) => (1, 1),
            ResourceDesc::Texture(info) => (info.layers(), info.mips),
        };
        let map = TileMap::new(layout, layers, mips);
        let backing = Backing { api_resource, location: Location::Reserved };
        let inner = HandleInner::new(
            context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Reserved,
            backing,
            needs.size,
            TraceId::default(),
        );
        let tiles = usize::try_from(map.count()).unwrap_or(usize::MAX);
        let runs = std::iter::repeat_with(|| None).take(tiles).collect();
        let mappings = Mutex::new(Mappings { runs, changed: SyncPoint::NONE });
        let mapped = AtomicUsize::new(0);
        Ok(Self { inner, mappings, mapped, map, needs, services: services.clone() })
    }

    /// The tiling.
    #[must_use]
    pub const fn layout(&self) -> &TileLayout {
        &self.map.layout
    }

    /// The API resource. Do not destroy or keep it.
    #[must_use]
    pub fn raw(&self) -> &D::Resource {
        &self.inner.api_resource().object
    }

    /// The GPU address of its first tile, if it is a buffer and the API has GPU addresses.
    #[must_use]
    pub fn gpu_address(&self) -> Option<u64> {
        self.inner.api_resource().address
    }

    /// Bytes of its address range.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.needs.size
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.inner.name
    }

    /// The number of tiles that are mapped to memory.
    #[must_use]
    pub fn mapped_tiles(&self) -> usize {
        self.mapped.load(Ordering::Relaxed)
    }

    /// Maps a box of tiles to memory of the tile pool, in the order of the queue's submissions. Mapped tiles
    /// get new memory, with undefined contents.
    ///
    /// Render targets and depth buffers have compression data in their tiles, which is undefined in new memory,
    /// too: before the next use as a target, clear, discard or fully copy each subresource with new tiles.
    /// Barriers do not initialize it, because the subresource has been in use before.
    ///
    /// # Errors
    /// [`Error::Tiles`] if the box exceeds the resource, [`Error::OutOfMemory`],
    /// [`Error::NeverSubmitted`], [`Error::Device`]; then nothing has changed.
    #[inline(never)]
    pub fn map(&self, on: impl Into<TileQueue>, region: TileRegion) -> Result<QueueSerial, Error> {
        let _call = self.inner.context().call();
        Clock::check_outside()?;
        let tiles = self.tiles(region)?;
        let run = self.take_run(tiles.len())?;
        let source = TileSource::Heap { heap: &run.heap.heap, offset: run.suballocation.offset };
        let mut mappings = self.mappings.lock();
        let at = self.update(on.into(), region, source, &mut mappings.changed)?;
        let old = self.replace(&mut mappings, &tiles, |_| Some(run.clone()));
        drop(mappings);
        drop(old);
        self.inner.context().settle_submission(Some(at));
        Ok(at)
    }

    /// Unmaps a box of tiles, in the order of the queue's submissions. Memory is freed per [`map`](Self::map)
    /// call: when none of its tiles is mapped any more.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    #[inline(never)]
    pub fn unmap(&self, on: impl Into<TileQueue>, region: TileRegion) -> Result<QueueSerial, Error> {
        let _call = self.inner.context().call();
        Clock::check_outside()?;
        let tiles = self.tiles(region)?;
        let mut mappings = self.mappings.lock();
        let at = self.update(on.into(), region, TileSource::Unmapped, &mut mappings.changed)?;
        let old = self.replace(&mut mappings, &tiles, |_| None);
        drop(mappings);
        drop(old);
        self.inner.context().settle_submission(Some(at));
        Ok(at)
    }

    /// Maps a box of tiles to the memory of a box of the same shape of `source`; the tiles are then shared, and
    /// freed when both resources have released them.
    ///
    /// # Errors
    /// As [`map`](Self::map); [`Error::Tiles`] when the boxes differ in shape or both are of one
    /// resource; [`Error::Foreign`] when `source` belongs to another manager.
    #[inline(never)]
    pub fn copy_mappings(
        &self,
        on: impl Into<TileQueue>,
        region: TileRegion,
        source: &Self,
        source_region: TileRegion,
    ) -> Result<QueueSerial, Error> {
        let _call = self.inner.context().call();
        Clock::check_outside()?;
        if !Arc::ptr_eq(self.inner.context(), source.inner.context()) {
            return Err(Error::Foreign { name: source.inner.name.clone() });
        }
        if std::ptr::eq(self, source) {
            return Err(self.refuse(TileRule::SameResource));
        }
        let (tiles, sources) = (self.tiles(region)?, source.tiles(source_region)?);
        if region.extent != source_region.extent {
            let rule = TileRule::Extents { tiles: tiles.len(), source_tiles: sources.len() };
            return Err(self.refuse(rule));
        }
        let (mut mine, mut theirs) = lock_both(&self.mappings, &source.mappings);
        let TileQueue { queue, mut after } = on.into();
        after.merge(&theirs.changed);
        let from = TileSource::CopyOf { resource: source.raw(), region: source_region };
        let at = self.update(TileQueue { queue, after }, region, from, &mut mine.changed)?;
        // A later change of the source must wait for this copy.
        theirs.changed.require(at.queue, at.serial);
        let old = self.replace(&mut mine, &tiles, |index| theirs.runs.get(sources[index]).cloned().flatten());
        drop((mine, theirs));
        drop(old);
        self.inner.context().settle_submission(Some(at));
        Ok(at)
    }

    fn update(
        &self,
        on: TileQueue,
        region: TileRegion,
        source: TileSource<'_, D>,
        changed: &mut SyncPoint,
    ) -> Result<QueueSerial, Error> {
        let context = self.inner.context();
        context.check_submitted(&on.after)?;
        let mut after = on.after;
        after.merge(changed);
        let update = TileUpdate { resource: self.raw(), region, source };
        let queue = on.queue.id(context.device().properties());
        let submitted = context.submit_tiles(queue, &[update], &after);
        let at = submitted.map_err(|source| context.refused(&self.inner.name, source))?;
        changed.require(at.queue, at.serial);
        Ok(at)
    }

    /// Replaces mappings, and returns the old ones, to be dropped without the lock.
    fn replace(
        &self,
        mappings: &mut Mappings<D>,
        tiles: &[usize],
        run: impl Fn(usize) -> Option<Arc<TileRun<D>>>,
    ) -> Vec<Option<Arc<TileRun<D>>>> {
        let mut mapped = self.mapped.load(Ordering::Relaxed);
        let replaced = tiles.iter().enumerate().map(|(index, tile)| {
            let slot = mappings.runs.get_mut(*tile)?;
            let old = std::mem::replace(slot, run(index));
            mapped = mapped + usize::from(slot.is_some()) - usize::from(old.is_some());
            old
        });
        let replaced = replaced.collect();
        self.mapped.store(mapped, Ordering::Relaxed);
        replaced
    }

    fn take_run(&self, tiles: usize) -> Result<Arc<TileRun<D>>, Error> {
        let context = self.inner.context();
        let tile = self.map.layout.tile_size;
        let size = (tiles as u64).saturating_mul(tile);
        let request = TileRequest { needs: &self.needs, size, tile };
        let (suballocation, heap) = context.place_tiles(&*self.services, &self.inner.name, request)?;
        Ok(Arc::new(TileRun { heap, suballocation, context: context.clone() }))
    }

    fn tiles(&self, region: TileRegion) -> Result<Vec<usize>, Error> {
        let tiles = self.map.tiles(region).map_err(|rule| self.refuse(rule))?;
        Ok(tiles.into_iter().map(|tile| usize::try_from(tile).unwrap_or(usize::MAX)).collect())
    }

    fn refuse(&self, rule: TileRule) -> Error {
        Error::Tiles { name: self.inner.name.clone(), rule }
    }
}

/// Locks two mutexes in the order of their addresses, so that two threads cannot deadlock.
fn lock_both<'a, T>(first: &'a Mutex<T>, second: &'a Mutex<T>) -> (MutexGuard<'a, T>, MutexGuard<'a, T>) {
    if std::ptr::from_ref(first) < std::ptr::from_ref(second) {
        let first = first.lock();
        (first, second.lock())
    } else {
        let second = second.lock();
        (first.lock(), second)
    }
}

/// Destroys a new API resource that was never used.
fn discard<D: Device>(context: &Context<D>, api_resource: Arc<ApiResource<D>>) {
    let _unshared = context.pools.release(
        context.device(),
        Backing { api_resource, location: Location::Reserved },
        || {},
        |range| context.pools.free(range),
    );
}
