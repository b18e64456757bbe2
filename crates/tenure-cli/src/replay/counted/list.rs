//! Command lists, barriers and updates of tile mappings: the counted resources in them are replaced
//! by the inner ones.

use smallvec::SmallVec;
use tenure::device::{Barrier, CommandList, Device, TileSource, TileUpdate};
use tenure::{BufferLayout, DeviceError, State, Subresource, TextureRegion};

use super::{Counted, Resource};

/// A command list of a [`Counted`] device.
pub struct List<D: Device>(D::List);

impl<D: Device> List<D> {
    pub(super) const fn new(inner: D::List) -> Self {
        Self(inner)
    }

    /// The inner list, to record into.
    pub const fn inner(&self) -> &D::List {
        &self.0
    }

    pub(super) fn into_inner(self) -> D::List {
        self.0
    }
}

// A default here would hide the method of the inner list.
#[deny(clippy::missing_trait_methods)]
impl<D: Device> CommandList<Counted<D>> for List<D> {
    fn begin(&mut self) -> Result<(), DeviceError> {
        self.0.begin()
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.0.close()
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Counted<D>>]) {
        let barriers: SmallVec<[_; 16]> = barriers.iter().map(inner_barrier).collect();
        self.0.barriers(&barriers);
    }

    fn keep_unwritten(&mut self) {
        self.0.keep_unwritten();
    }

    fn discard(&mut self, resource: &Resource<D>, subresource: Subresource) {
        self.0.discard(&resource.inner, subresource);
    }

    fn make_visible_to_cpu(&mut self, written: State) {
        self.0.make_visible_to_cpu(written);
    }

    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&D::DescriptorHeap>,
        samplers: Option<&D::DescriptorHeap>,
    ) {
        self.0.set_descriptor_heaps(resources, samplers);
    }

    fn copy_buffer(
        &mut self,
        src: &Resource<D>,
        src_offset: u64,
        dst: &Resource<D>,
        dst_offset: u64,
        size: u64,
    ) {
        self.0.copy_buffer(&src.inner, src_offset, &dst.inner, dst_offset, size);
    }

    fn copy_buffer_to_texture(
        &mut self,
        src: &Resource<D>,
        layout: BufferLayout,
        dst: &Resource<D>,
        region: TextureRegion,
    ) {
        self.0.copy_buffer_to_texture(&src.inner, layout, &dst.inner, region);
    }

    fn copy_texture_to_buffer(
        &mut self,
        src: &Resource<D>,
        region: TextureRegion,
        dst: &Resource<D>,
        layout: BufferLayout,
    ) {
        self.0.copy_texture_to_buffer(&src.inner, region, &dst.inner, layout);
    }

    fn copy_texture(&mut self, src: &Resource<D>, dst: &Resource<D>, subresource: Subresource) {
        self.0.copy_texture(&src.inner, &dst.inner, subresource);
    }

    fn reset_queries(&mut self, heap: &D::QueryHeap, first: u32, count: u32) {
        self.0.reset_queries(heap, first, count);
    }

    fn write_timestamp(&mut self, heap: &D::QueryHeap, query: u32) {
        self.0.write_timestamp(heap, query);
    }

    fn begin_query(&mut self, heap: &D::QueryHeap, query: u32) {
        self.0.begin_query(heap, query);
    }

    fn end_query(&mut self, heap: &D::QueryHeap, query: u32) {
        self.0.end_query(heap, query);
    }

    fn copy_acceleration_structure(
        &mut self,
        src: &D::AccelerationStructure,
        dst: &D::AccelerationStructure,
        compact: bool,
    ) {
        self.0.copy_acceleration_structure(src, dst, compact);
    }

    fn write_compacted_size(
        &mut self,
        structure: &D::AccelerationStructure,
        heap: &D::QueryHeap,
        query: u32,
    ) {
        self.0.write_compacted_size(structure, heap, query);
    }

    fn resolve_queries(
        &mut self,
        heap: &D::QueryHeap,
        first: u32,
        count: u32,
        dst: &Resource<D>,
        offset: u64,
    ) {
        self.0.resolve_queries(heap, first, count, &dst.inner, offset);
    }
}

fn inner_barrier<'a, D: Device>(barrier: &Barrier<'a, Counted<D>>) -> Barrier<'a, D> {
    match *barrier {
        Barrier::Transition { resource, subresource, before, after, transfer } => {
            Barrier::Transition { resource: &resource.inner, subresource, before, after, transfer }
        }
        Barrier::Unordered { resource } => Barrier::Unordered { resource: &resource.inner },
        Barrier::Aliasing { before, after, from, to } => {
            let before = before.map(|before| &before.inner);
            Barrier::Aliasing { before, after: &after.inner, from, to }
        }
    }
}

/// The update of tile mappings, with the counted resources and heaps replaced by the inner ones.
pub(super) fn inner_update<'a, D: Device>(update: &TileUpdate<'a, Counted<D>>) -> TileUpdate<'a, D> {
    let source = match &update.source {
        TileSource::Heap { heap, offset } => TileSource::Heap { heap: &heap.inner, offset: *offset },
        TileSource::Unmapped => TileSource::Unmapped,
        TileSource::CopyOf { resource, region } => {
            TileSource::CopyOf { resource: &resource.inner, region: *region }
        }
    };
    TileUpdate { resource: &update.resource.inner, region: update.region, source }
}
