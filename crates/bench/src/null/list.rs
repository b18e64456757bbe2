//! Command lists of the null device.

use std::hint::black_box;
use std::ops::Range;

use tenure_core::device::{Barrier, BufferRegion, CommandList};
use tenure_core::{BufferLayout, State, Subresource, TextureRegion};

use super::{Device, Resource, Result};

/// A command list that ignores all commands.
pub struct List;

/// Commands by their names and parameters.
macro_rules! ignored {
    ($($name:ident($($parameter:ty),*);)*) => { $(fn $name(&mut self, $(_: $parameter),*) {})* };
}

impl CommandList<Device> for List {
    fn begin(&mut self) -> Result {
        Ok(())
    }

    fn close(&mut self) -> Result {
        Ok(())
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Device>]) {
        black_box(barriers);
    }

    fn takes_barriers_in_front(&self) -> bool {
        true
    }

    fn put_in_front(&mut self, barriers: &[Barrier<'_, Device>]) -> Result {
        black_box(barriers);
        Ok(())
    }

    fn write_timestamp(&mut self, (): &(), query: u32) {
        black_box(query);
    }

    ignored! {
        copy_buffer(&Resource, u64, &Resource, u64, u64);
        copy_buffer_to_texture(&Resource, BufferLayout, &Resource, TextureRegion);
        copy_buffer_regions(&Resource, &Resource, &[BufferRegion]);
        copy_buffer_to_regions(&Resource, &Resource, &[(BufferLayout, TextureRegion)]);
        copy_texture_to_buffer(&Resource, TextureRegion, &Resource, BufferLayout);
        copy_texture(&Resource, &Resource, Subresource);
        generate_mip(&Resource, u32, Range<u32>);
        discard(&Resource, Subresource);
        make_visible_to_cpu(State);
        set_descriptor_heaps(Option<&()>, Option<&()>);
        reset_queries(&(), u32, u32);
        begin_query(&(), u32);
        end_query(&(), u32);
        copy_acceleration_structure(&u64, &u64, bool);
        write_compacted_size(&u64, &(), u32);
        resolve_queries(&(), u32, u32, &Resource, u64);
    }
}
