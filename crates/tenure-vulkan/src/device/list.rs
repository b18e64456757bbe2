//! The contract of command lists, which [`List`] implements with methods of the same names.

use std::ops::Range;

use tenure_core::device::{
    Barrier, BufferLayout, BufferRegion, CommandList, DeviceError, Marker, State, Subresource, TextureRegion,
};

use super::Device;
use crate::descriptor::DescriptorHeap;
use crate::query::QueryHeap;
use crate::record::List;
use crate::resource::Resource;
use crate::structure::AccelerationStructure;

macro_rules! forwarded {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {$(
        fn $name(&mut self, $($argument: $kind),*) $(-> $answer)? {
            Self::$name(self, $($argument),*)
        }
    )*};
}

impl CommandList<Device> for List {
    fn takes_barriers_in_front(&self) -> bool {
        true
    }

    forwarded! {
        begin() -> Result<(), DeviceError>;
        close() -> Result<(), DeviceError>;
        barriers(barriers: &[Barrier<'_, Device>]);
        put_in_front(barriers: &[Barrier<'_, Device>]) -> Result<(), DeviceError>;
        discard(resource: &Resource, subresource: Subresource);
        make_visible_to_cpu(written: State);
        set_descriptor_heaps(resources: Option<&DescriptorHeap>, samplers: Option<&DescriptorHeap>);
        copy_buffer(src: &Resource, src_offset: u64, dst: &Resource, dst_offset: u64, size: u64);
        copy_buffer_to_texture(src: &Resource, layout: BufferLayout, dst: &Resource, region: TextureRegion);
        copy_buffer_regions(src: &Resource, dst: &Resource, regions: &[BufferRegion]);
        copy_buffer_to_regions(src: &Resource, dst: &Resource, regions: &[(BufferLayout, TextureRegion)]);
        copy_texture_to_buffer(src: &Resource, region: TextureRegion, dst: &Resource, layout: BufferLayout);
        copy_texture(src: &Resource, dst: &Resource, subresource: Subresource);
        generate_mip(texture: &Resource, mip: u32, layers: Range<u32>);
        reset_queries(heap: &QueryHeap, first: u32, count: u32);
        write_timestamp(heap: &QueryHeap, query: u32);
        begin_query(heap: &QueryHeap, query: u32);
        end_query(heap: &QueryHeap, query: u32);
        copy_acceleration_structure(src: &AccelerationStructure, dst: &AccelerationStructure, compact: bool);
        write_compacted_size(structure: &AccelerationStructure, heap: &QueryHeap, query: u32);
        resolve_queries(heap: &QueryHeap, first: u32, count: u32, dst: &Resource, offset: u64);
        write_marker(marker: Marker);
    }
}
