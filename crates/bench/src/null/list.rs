//! Command lists of the null device.

use tenure_core::device::{Barrier, CommandList};
use tenure_core::{BufferLayout, State, Subresource, TextureRegion};

use super::{Device, Resource, Result};

/// A command list that ignores all commands.
pub struct List;

impl CommandList<Device> for List {
    fn begin(&mut self) -> Result {
        Ok(())
    }

    fn close(&mut self) -> Result {
        Ok(())
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Device>]) {
        std::hint::black_box(barriers);
    }

    fn copy_buffer(&mut self, _: &Resource, _: u64, _: &Resource, _: u64, _: u64) {}

    fn copy_buffer_to_texture(&mut self, _: &Resource, _: BufferLayout, _: &Resource, _: TextureRegion) {}

    fn copy_texture_to_buffer(&mut self, _: &Resource, _: TextureRegion, _: &Resource, _: BufferLayout) {}

    fn copy_texture(&mut self, _: &Resource, _: &Resource, _: Subresource) {}

    fn discard(&mut self, _: &Resource, _: Subresource) {}

    fn make_visible_to_cpu(&mut self, _: State) {}

    fn set_descriptor_heaps(&mut self, _: Option<&()>, _: Option<&()>) {}

    fn reset_queries(&mut self, (): &(), _: u32, _: u32) {}

    fn write_timestamp(&mut self, (): &(), query: u32) {
        std::hint::black_box(query);
    }

    fn begin_query(&mut self, (): &(), _: u32) {}

    fn end_query(&mut self, (): &(), _: u32) {}

    fn copy_acceleration_structure(&mut self, _: &u64, _: &u64, _: bool) {}

    fn write_compacted_size(&mut self, structure: &u64, (): &(), _: u32) {
        std::hint::black_box(structure);
    }

    fn resolve_queries(&mut self, (): &(), _: u32, _: u32, _: &Resource, _: u64) {}
}
