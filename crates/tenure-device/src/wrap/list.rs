//! Command lists of devices that wrap another.

use std::fmt;
use std::ops::Range;

use super::{Inward, Wrap};
use crate::{
    Barrier, BufferLayout, BufferRegion, CommandList, DeviceError, Marker, QueueDevice, State, Subresource,
    TextureRegion, forward_device,
};

/// A command list of a device that wraps another: it forwards each command to the inner list.
pub struct WrappedList<W: Wrap>(<W::Inner as QueueDevice>::List);

impl<W: Wrap> WrappedList<W> {
    /// Wraps a list of the inner device.
    #[must_use]
    pub const fn new(inner: <W::Inner as QueueDevice>::List) -> Self {
        Self(inner)
    }

    /// The inner list.
    #[must_use]
    pub const fn inner(&self) -> &<W::Inner as QueueDevice>::List {
        &self.0
    }

    /// Unwraps the list.
    #[must_use]
    pub fn into_inner(self) -> <W::Inner as QueueDevice>::List {
        self.0
    }
}

impl<W: Wrap> fmt::Debug for WrappedList<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WrappedList")
    }
}

/// Commands by their parameters, each with the argument for the inner list where it differs.
macro_rules! forwarded {
    ($(fn $name:ident($($parameter:ident: $type:ty $(= $inner:expr)?),*) $(-> $answer:ty)?;)*) => {$(
        #[inline]
        fn $name(&mut self $(, $parameter: $type)*) $(-> $answer)? {
            self.0.$name($(forward_device!(@argument $parameter $(= $inner)?)),*)
        }
    )*};
}

// A default here would hide the method of the inner list.
#[deny(clippy::missing_trait_methods)]
impl<W: Wrap> CommandList<W> for WrappedList<W> {
    #[inline]
    fn takes_barriers_in_front(&self) -> bool {
        self.0.takes_barriers_in_front()
    }

    forwarded! {
        fn begin() -> Result<(), DeviceError>;
        fn close() -> Result<(), DeviceError>;
        fn barriers(barriers: &[Barrier<'_, W>] = &Inward::all(barriers, Inward::barrier));
        fn put_in_front(barriers: &[Barrier<'_, W>] = &Inward::all(barriers, Inward::barrier)) -> Result<(), DeviceError>;
        fn keep_unwritten();
        fn discard(resource: &W::Resource = W::resource(resource), subresource: Subresource);
        fn make_visible_to_cpu(written: State);
        fn set_descriptor_heaps(resources: Option<&W::DescriptorHeap>, samplers: Option<&W::DescriptorHeap>);
        fn copy_buffer(
            src: &W::Resource = W::resource(src), src_offset: u64, dst: &W::Resource = W::resource(dst), dst_offset: u64, size: u64
        );
        fn copy_buffer_to_texture(
            src: &W::Resource = W::resource(src), layout: BufferLayout, dst: &W::Resource = W::resource(dst), region: TextureRegion
        );
        fn copy_buffer_regions(
            src: &W::Resource = W::resource(src), dst: &W::Resource = W::resource(dst), regions: &[BufferRegion]
        );
        fn copy_buffer_to_regions(
            src: &W::Resource = W::resource(src), dst: &W::Resource = W::resource(dst), regions: &[(BufferLayout, TextureRegion)]
        );
        fn copy_texture_to_buffer(
            src: &W::Resource = W::resource(src), region: TextureRegion, dst: &W::Resource = W::resource(dst), layout: BufferLayout
        );
        fn copy_texture(src: &W::Resource = W::resource(src), dst: &W::Resource = W::resource(dst), subresource: Subresource);
        fn generate_mip(texture: &W::Resource = W::resource(texture), mip: u32, layers: Range<u32>);
        fn reset_queries(heap: &W::QueryHeap, first: u32, count: u32);
        fn write_timestamp(heap: &W::QueryHeap, query: u32);
        fn begin_query(heap: &W::QueryHeap, query: u32);
        fn end_query(heap: &W::QueryHeap, query: u32);
        fn copy_acceleration_structure(src: &W::AccelerationStructure, dst: &W::AccelerationStructure, compact: bool);
        fn write_compacted_size(structure: &W::AccelerationStructure, heap: &W::QueryHeap, query: u32);
        fn resolve_queries(heap: &W::QueryHeap, first: u32, count: u32, dst: &W::Resource = W::resource(dst), offset: u64);
        fn write_marker(marker: Marker);
    }
}
