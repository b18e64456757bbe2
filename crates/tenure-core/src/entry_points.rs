//! The manager's functions for one device, compiled in the crate of that device.
//!
//! A generic function is compiled again in each crate that calls it, unless it is `#[inline(never)]` and a dependency has an
//! instance of it for the same types (since Rust 1.85, in optimised builds too). So the longer functions that programs call
//! are `#[inline(never)]`, and the crate of each device makes their instances by [`entry_points`]. Functions that those call
//! in turn are compiled there with them.
//!
//! A missing function is merely compiled in more places. `cargo xtask compile-time` shows the cost.

use std::hint::black_box;

use crate::device::{Device, State, Subresource};
use crate::query::QueryValue;
use crate::time::SyncPoint;
use crate::transient_heaps::graph::{Graph, PassId};
use crate::{
    AccelerationStructure, AnySamples, Bind, Buffer, Commands, CompactedSize, Deferred, DescriptorSet,
    DescriptorTable, Error, Frame, Gpu, Needed, OpenQuery, PageAllocator, PipelineStatistics, QueryTicket,
    Queue, Readback, ReadbackTexture, Recording, Reserved, Resources, RingSlice, SampleCount, Sampler,
    Scratch, SetDescriptor, SetLayout, ShaderStages, Subresources, SwapchainImage, Texture, TileRegion,
    Timestamp, TransientBuffer, TransientTexture, UploadRing, Used, View,
};

macro_rules! compile {
    ($($function:expr),* $(,)?) => { black_box([$($function as *const ()),*]) };
}

/// Instantiates the functions for a device in the crate that names this function. Nothing calls it.
pub fn entry_points<D: Device>() {
    gpu::<D>();
    resources::<D>();
    descriptors::<D>();
    recordings::<D>();
    commands::<D>();
    uses::<D, &'static Buffer<D>>();
    uses::<D, &'static Texture<D>>();
    uses::<D, &'static AccelerationStructure<D>>();
    uses::<D, &'static Reserved<D>>();
    uses::<D, &'static TransientBuffer<D>>();
    uses::<D, &'static TransientTexture<D>>();
    queries::<D>();
}

fn gpu<D: Device>() {
    compile![
        Gpu::<D>::new,
        Gpu::<D>::compact,
        Gpu::<D>::take_moved,
        Gpu::<D>::compaction_stats,
        Gpu::<D>::buffer_cost,
        Gpu::<D>::texture_cost,
        Gpu::<D>::depth_stencil_format,
        Gpu::<D>::begin_frame,
        Gpu::<D>::plan_graph,
        Gpu::<D>::reserve_recordings,
        Gpu::<D>::completed,
        Gpu::<D>::wait,
        Gpu::<D>::reclaim,
        Gpu::<D>::trim,
        Gpu::<D>::stats,
        Gpu::<D>::pool_reports,
        Gpu::<D>::report,
        Gpu::<D>::whose_range,
        Gpu::<D>::loss,
        Gpu::<D>::shutdown,
        Gpu::<D>::memory,
        Gpu::<D>::set_memory_cap,
        Gpu::<D>::upload,
        Gpu::<D>::upload_texture,
        Gpu::<D>::flush_uploads,
        Gpu::<D>::wait_upload,
        Gpu::<D>::upload_stats,
        Gpu::<D>::read_back,
        Gpu::<D>::read_back_texture,
        Gpu::<D>::read_back_into,
        Gpu::<D>::read_back_texture_into,
        drop::<Gpu<D>>,
        Frame::<D>::submit,
        Frame::<D>::submit_all,
        Frame::<D>::end,
        drop::<Frame<D>>,
        drop::<Deferred<D, ()>>,
    ];
    type Pass<D> = fn(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), Error>;
    compile![Frame::<D>::execute as fn(&Frame<D>, &Graph, Pass<D>) -> Result<SyncPoint, Error>];
}

fn resources<D: Device>() {
    compile![
        Gpu::<D>::create_buffer,
        Gpu::<D>::create_buffer_with,
        Gpu::<D>::adopt_buffer,
        Buffer::<D>::first_element,
        Buffer::<D>::location,
        Buffer::<D>::write,
        Buffer::<D>::read,
        Buffer::<D>::mapped_ptr,
        drop::<Buffer<D>>,
        Gpu::<D>::create_texture,
        Gpu::<D>::create_texture_with,
        Gpu::<D>::adopt_texture,
        Gpu::<D>::create_readback_texture,
        Texture::<D>::location,
        drop::<Texture<D>>,
        drop::<ReadbackTexture<D>>,
        Gpu::<D>::create_acceleration_structure,
        AccelerationStructure::<D>::location,
        drop::<AccelerationStructure<D>>,
        Gpu::<D>::create_reserved,
        Reserved::<D>::mapped_tiles,
        Reserved::<D>::map as fn(&Reserved<D>, Queue, TileRegion) -> _,
        Reserved::<D>::unmap as fn(&Reserved<D>, Queue, TileRegion) -> _,
        Reserved::<D>::copy_mappings as fn(&Reserved<D>, Queue, TileRegion, &Reserved<D>, TileRegion) -> _,
        drop::<Reserved<D>>,
        Gpu::<D>::create_pages,
        PageAllocator::<D>::create_buffer,
        PageAllocator::<D>::create_texture,
        PageAllocator::<D>::stats,
        drop::<PageAllocator<D>>,
        Gpu::<D>::create_upload_ring,
        UploadRing::<D>::allocate_untyped,
        UploadRing::<D>::find,
        UploadRing::<D>::close,
        UploadRing::<D>::stats,
        RingSlice::<'static, D>::write,
        drop::<UploadRing<D>>,
        Readback::<D>::poll,
        Readback::<D>::read,
        Readback::<D>::wait,
        drop::<Readback<D>>,
        SwapchainImage::<D>::finish,
        drop::<SwapchainImage<D>>,
        Resources::<'static, D>::texture_view,
        Resources::<'static, D>::buffer_view,
        TransientTexture::<D>::view,
        TransientBuffer::<D>::view,
        drop::<TransientTexture<D>>,
        drop::<TransientBuffer<D>>,
    ];
}

fn descriptors<D: Device>() {
    compile![
        Gpu::<D>::create_buffer_view,
        Gpu::<D>::create_texture_view,
        drop::<View<D>>,
        Gpu::<D>::create_sampler,
        drop::<Sampler<D>>,
        Gpu::<D>::create_descriptor_table,
        drop::<DescriptorTable<D>>,
        Gpu::<D>::create_set_layout,
        drop::<SetLayout<D>>,
        Gpu::<D>::create_descriptor_set,
        drop::<DescriptorSet<D>>,
        Gpu::<D>::descriptor_owner,
        Scratch::<'static, D>::descriptors,
        Scratch::<'static, D>::set,
        Scratch::<'static, D>::view,
        Scratch::<'static, D>::table,
        Scratch::<'static, D>::lasting_set,
        Commands::<D>::make_resident as fn(&mut Commands<D>, Needed<'static, D>) -> _,
        Commands::<D>::use_set,
        Commands::<D>::use_table,
        Commands::<D>::use_binds
            as fn(&mut Commands<D>, &'static [Bind<'static, D>], ShaderStages) -> Result<(), Error>,
        Commands::<D>::use_binds
            as fn(&mut Commands<D>, &'static [SetDescriptor<'static, D>], ShaderStages) -> Result<(), Error>,
    ];
}

fn recordings<D: Device>() {
    compile![
        Gpu::<D>::open_recording,
        Recording::<D>::reuse_build_scratch,
        Recording::<D>::wait_for,
        Recording::<D>::wait_for_external,
        Recording::<D>::signal_external,
        Recording::<D>::submit,
        Recording::<D>::transient_texture,
        Recording::<D>::transient_buffer,
        Scratch::<D>::transient_texture,
        Scratch::<D>::transient_buffer,
        drop::<Recording<D>>,
        Scratch::<'static, D>::constant_bytes,
        Scratch::<'static, D>::dynamic_constant_bytes,
        Scratch::<'static, D>::untyped_constants,
        Scratch::<'static, D>::find,
        Scratch::<'static, D>::build_scratch,
        Scratch::<'static, D>::buffer,
        Scratch::<'static, D>::texture,
    ];
}

fn commands<D: Device>() {
    compile![
        Commands::<D>::raw,
        Commands::<D>::set_descriptor_heaps,
        Commands::<D>::copy_buffer,
        Commands::<D>::copy_buffer_to_texture,
        Commands::<D>::copy_texture_to_buffer,
        Commands::<D>::copy_texture as fn(&mut Commands<D>, &Texture<D>, &Texture<D>, Subresource) -> _,
        Commands::<D>::copy_texture as fn(&mut Commands<D>, &Texture<D>, &Texture<D>, Subresources) -> _,
        Commands::<D>::generate_mips as fn(&mut Commands<D>, &Texture<D>, Subresource) -> _,
        Commands::<D>::generate_mips as fn(&mut Commands<D>, &Texture<D>, Subresources) -> _,
        Commands::<D>::discard as fn(&mut Commands<D>, &Texture<D>, Subresource) -> _,
        Commands::<D>::discard as fn(&mut Commands<D>, &Texture<D>, Subresources) -> _,
        Commands::<D>::copy_slice,
        Commands::<D>::copy_slice_to_texture,
        Commands::<D>::read_back,
        Commands::<D>::read_back_texture,
        Commands::<D>::query_compacted_size,
        Commands::<D>::compact,
        Commands::<D>::compact_into,
        Commands::<D>::copy_acceleration_structure,
    ];
}

/// Functions that take a resource of one of several kinds.
fn uses<D: Device, R: Into<Used<'static, D>>>() {
    compile![
        Commands::<D>::use_resource as fn(&mut Commands<D>, R, Subresource, State) -> _,
        Commands::<D>::use_resource as fn(&mut Commands<D>, R, Subresources, State) -> _,
        Commands::<D>::release_to_peer as fn(&mut Commands<D>, R, State) -> _,
        Commands::<D>::acquire_from_peer as fn(&mut Commands<D>, R, State) -> _,
        Gpu::<D>::declare_state as fn(&Gpu<D>, R, Subresource, State, &SyncPoint) -> _,
        Gpu::<D>::declare_state as fn(&Gpu<D>, R, Subresources, State, &SyncPoint) -> _,
        Gpu::<D>::make_read_only as fn(&Gpu<D>, R, State) -> _,
    ];
}

fn queries<D: Device>() {
    compile![
        Commands::<D>::begin_scope,
        Commands::<D>::end_gpu_time,
        Commands::<D>::write_timestamp,
        Commands::<D>::begin_occlusion,
        Commands::<D>::begin_binary_occlusion,
        Commands::<D>::begin_pipeline_statistics,
    ];
    query::<D, Timestamp>();
    query::<D, SampleCount>();
    query::<D, AnySamples>();
    query::<D, PipelineStatistics>();
    query::<D, CompactedSize>();
}

fn query<D: Device, V: QueryValue>() {
    compile![
        Commands::<D>::end_query as fn(&mut Commands<D>, OpenQuery<V>) -> _,
        QueryTicket::<D, V>::poll,
        QueryTicket::<D, V>::wait,
        drop::<QueryTicket<D, V>>,
    ];
}
