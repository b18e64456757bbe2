//! Tables: consecutive descriptors in shader-visible heaps, which outlive recordings.

use std::cell::OnceCell;
use std::sync::Arc;

use super::bind::{Bind, KeptBind, KeptBinds, Sources, gather, kept_source, shares};
use super::dynamic::Descriptors;
use super::followers::WeakFollower;
use super::movable_slot::Following;
use super::service::DescriptorService;
use super::{ShaderStages, ShownUse};
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::descriptor_store::{StaticRange, VisibleHeap, count};
use crate::device::{DescriptorKind, DescriptorSource, Device};
use crate::held_objects::LazyHeldObjects;
use crate::memory::{Holder, MakeRoom, MovableBacking};
use crate::registry::{ObjectKind, RegistryKey};
use crate::time::Stamp;
use crate::{Error, Name};

/// A descriptor table to create.
#[non_exhaustive]
pub struct DescriptorTableDesc<'a, D: Device> {
    /// The descriptors, in order: all of views, or all of samplers; at least one.
    pub binds: &'a [Bind<'a, D>],
    /// The name.
    pub name: Name,
}

debug_fields!([D: Device] DescriptorTableDesc<'_, D>, "DescriptorTableDesc", this, name: this.name, binds: this.binds);

impl<'a, D: Device> DescriptorTableDesc<'a, D> {
    /// A table of these descriptors.
    #[must_use]
    pub fn new(binds: &'a [Bind<'a, D>]) -> Self {
        Self { binds, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A range of descriptors in a shader-visible heap, which outlives recordings.
///
/// It is immutable, so that it cannot change while the GPU reads it: to change a table, create another and drop the
/// old one. A slot of a bindless array is a table of one. If it contains a [movable](crate::TextureDesc::movable)
/// resource, its descriptors are replaced after a move, and each recording must get the current ones from
/// [`Scratch::table`](crate::Scratch::table). It keeps its views and their resources alive.
/// [`Commands::use_table`](crate::Commands::use_table) declares the uses of all of these. Dropping
/// it frees its descriptors once no recording and no GPU work uses them any more. `Send` and `Sync`.
///
/// ```
/// use tenure::{
///     BufferDesc, BufferViewDesc, Config, DescriptorTableDesc, Format, Gpu, TextureDesc, TextureViewDesc,
///     Usage, sim,
/// };
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
/// let grass = gpu.create_texture(&grass)?;
/// let lights = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).stride(48).name("lights"))?;
/// let grass = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
/// let lights = gpu.create_buffer_view(&lights, &BufferViewDesc::structured(48))?;
/// let binds = [(&grass).into(), (&lights).into()];
/// let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("meadow"))?;
/// drop((grass, lights)); // the table keeps them, and they the texture and the buffer
/// let _bind = (table.heap(), table.first());
/// assert_eq!(table.len(), 2);
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct DescriptorTable<D: Device> {
    name: Name,
    kind: DescriptorKind,
    row: Row<D>,
    len: u32,
    registry_key: RegistryKey,
    born: Stamp,
    kept: Box<[KeptBind<D>]>,
    /// The evictable blocks of its immovable resources.
    blocks: Box<[BlockKey]>,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

debug_fields!([D: Device] DescriptorTable<D>, "DescriptorTable", this, name: this.name, kind: this.kind, len: this.len);

/// The row of descriptors.
enum Row<D: Device> {
    Fixed(StaticRange),
    /// Replaced after each move of a resource.
    Movable(Arc<MovableRow<D>>),
}

/// The row of a table with movable resources.
pub(crate) struct MovableRow<D: Device> {
    kept: KeptBinds<D>,
    pub(super) range: Following<StaticRange>,
    name: Name,
    kind: DescriptorKind,
    born: Stamp,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

impl<D: Device> MovableRow<D> {
    /// The row after the current move.
    fn next(&self) -> StaticRange {
        match self.range.read_next(|range| *range) {
            Some(range) => range,
            None => unreachable!("it has a row as long as there is a table"),
        }
    }

    /// Pins the resources, and returns the final row.
    fn pin(&self) -> StaticRange {
        self.kept.pin();
        self.next()
    }

    /// The row. Keeps the places of its resources while the recording is open.
    fn hold(&self, held: LazyHeldObjects<'_, D>) -> StaticRange {
        self.kept.hold(held);
        self.next()
    }

    /// Makes another row from the views after the current move.
    fn make(&self, room: &dyn MakeRoom) -> Result<StaticRange, Error> {
        let (service, context) = (&self.service, &self.service.context);
        let (heap, next) = (service.visible(room, &self.name, self.kind)?, self.kept.next());
        let sources: Sources<'_, D> = next.iter().map(kept_source).collect();
        take_row(context, heap, &self.name, &sources)
    }

    /// Makes another row from the views after the current move. False on failure.
    pub(super) fn follow(&self, room: &dyn MakeRoom) -> bool {
        self.range.follow(&self.service, || self.make(room))
    }

    /// Releases the unneeded row.
    pub(super) fn settle(&self) {
        self.range.take_former().into_iter().for_each(|range| self.retire(range));
    }

    /// Queues an unreferenced range for release.
    fn retire(&self, range: StaticRange) {
        self.service.retire_row(self.kind, range, self.born);
    }
}

/// Allocates a range of a heap, and writes it.
fn take_row<D: Device>(
    context: &Context<D>,
    heap: &VisibleHeap<D>,
    name: &Name,
    sources: &[DescriptorSource<'_, D>],
) -> Result<StaticRange, Error> {
    let range = heap.take_static(count(sources.len() as u64), name, || context.reclaim_now())?;
    match heap.fill(context.device(), range.first, sources) {
        Ok(()) => Ok(range),
        Err(source) => {
            heap.return_static(&range);
            Err(context.refused(name, source))
        }
    }
}

impl<D: Device> Drop for MovableRow<D> {
    fn drop(&mut self) {
        self.kept.forget_follower(&self.service);
    }
}

impl<D: Device> DescriptorTable<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        desc: &DescriptorTableDesc<'_, D>,
    ) -> Result<Self, Error> {
        let (context, DescriptorTableDesc { binds, name }) = (&service.context, desc);
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let noted = OnceCell::new();
        let mut sources = Sources::new();
        // Holds movable resources until the follower is registered.
        let held =
            LazyHeldObjects { noted: &noted, pool: &context.held_objects, holder: Holder::NO_RECORDING };
        let kind = gather(service, name, binds, held, &mut sources).map_err(|error| *error)?;
        let kept = shares(name, binds.iter().copied())?;
        let heap = service.visible(room, name, kind)?;
        let range = take_row(context, heap, name, &sources)?;
        let born = context.clock.stamp();
        let (row, blocks) = match KeptBinds::of(binds.iter().copied()) {
            Some(kept) => {
                let (range, name, service) = (Following::new(range), name.clone(), service.clone());
                let row = Arc::new(MovableRow { kept, range, name, kind, born, service });
                row.kept.add_follower(&row.service, || WeakFollower::Table(Arc::downgrade(&row)));
                (Row::Movable(row), binds.iter().filter_map(Bind::fixed_block).collect())
            }
            None => (Row::Fixed(range), binds.iter().filter_map(Bind::block).collect()),
        };
        let registry_key = context.register(name, ObjectKind::DescriptorTable, 0);
        let (name, len, service) = (name.clone(), range.count, service.clone());
        Ok(Self { name, kind, row, len, registry_key, born, kept, blocks, service })
    }

    /// The table for a recording; its resources do not move until that is submitted.
    pub(crate) fn hold<'r>(&'r self, held: LazyHeldObjects<'r, D>) -> Descriptors<'r, D> {
        let range = match &self.row {
            Row::Fixed(range) => *range,
            Row::Movable(row) => row.hold(held),
        };
        Descriptors::lasting(&self.visible().heap, self.kind, range.first, range.count)
    }

    /// The evictable blocks that now contain its resources.
    pub(crate) fn each_block(&self, mut visit: impl FnMut(BlockKey)) {
        self.blocks.iter().copied().for_each(&mut visit);
        if let Row::Movable(row) = &self.row {
            row.kept.blocks().for_each(visit);
        }
    }

    fn visible(&self) -> &VisibleHeap<D> {
        match self.service.store().visible.get(self.kind) {
            Some(heap) => heap,
            None => unreachable!("a heap stays as long as the manager"),
        }
    }

    pub(crate) fn blocks(&self) -> &[BlockKey] {
        &self.blocks
    }

    /// The movable resources.
    pub(crate) fn movables(&self) -> &[Arc<MovableBacking<D>>] {
        match &self.row {
            Row::Fixed(_) => &[],
            Row::Movable(row) => &row.kept.movables,
        }
    }

    /// The key of its registry entry, as a number.
    pub(crate) fn registry_key_bits(&self) -> u64 {
        self.registry_key.to_bits()
    }

    /// The declared uses of its resources.
    pub(crate) fn shown(&self, stages: ShaderStages) -> impl Iterator<Item = ShownUse<'_, D>> {
        self.kept.iter().filter_map(move |bind| bind.shown(stages))
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.service.context
    }

    /// The shader-visible heap.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        &self.visible().heap
    }

    /// The index of its first descriptor in the heap. Pins its movable resources: recordings should use
    /// [`Scratch::table`](crate::Scratch::table) instead.
    #[must_use]
    pub fn first(&self) -> u32 {
        match &self.row {
            Row::Fixed(range) => range.first,
            Row::Movable(row) => row.pin().first,
        }
    }

    /// The number of descriptors; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Kind of the descriptors: views or samplers.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }
}

impl<D: Device> Drop for DescriptorTable<D> {
    #[inline(never)]
    fn drop(&mut self) {
        self.service.context.unregister(self.registry_key);
        match &self.row {
            Row::Fixed(range) => self.service.retire_row(self.kind, *range, self.born),
            Row::Movable(row) => row.range.take().into_iter().for_each(|range| row.retire(range)),
        }
    }
}
