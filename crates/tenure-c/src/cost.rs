//! Costs of resources, computed without creating them, and CPU-readable textures.

use tenure_core::Usage;
use tenure_core::memory::{Cost, LocationKind};

use crate::call::{call, call_create};
use crate::convert::{buffer_desc, texture_desc};
use crate::held::ResourceOf;
use crate::object::{Buffer, Gpu, on, on_same};
use crate::pointer::{In, Out, Outcome};
use crate::reserved::check_plain;
use crate::resource::{bytes_of, texels_of};
use crate::slot::Handle;
use crate::types::*;

/// The kind of memory allocation of a resource.
pub type tn_Location = u32;
/// Dedicated memory.
pub const TN_LOCATION_COMMITTED: tn_Location = 1;
/// No memory: the driver offers this for targets that stay within a render pass.
pub const TN_LOCATION_MEMORYLESS: tn_Location = 2;
/// An object of its own, placed in a shared heap.
pub const TN_LOCATION_PLACED: tn_Location = 3;
/// A range of a shared buffer.
pub const TN_LOCATION_RANGE: tn_Location = 4;

/// The cost of a resource at this moment: another thread may take the free memory, and the driver may refuse.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Cost {
    /// `sizeof(tn_Cost)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes of the resource.
    pub size: u64,
    /// The alignment of its location, in bytes.
    pub alignment: u64,
    /// Bytes to request from the driver; 0 if an existing block has room.
    pub new_bytes: u64,
    /// `TN_LOCATION_…`.
    pub location: tn_Location,
    /// The memory type.
    pub memory_type: u32,
    /// The memory heap of that type.
    pub heap: u32,
    /// Whether the budget and the memory cap have room for it.
    pub is_within_budget: tn_Bool,
}

/// The layout of a subresource in a buffer.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SubresourceLayout {
    /// The first byte.
    pub offset: u64,
    /// Bytes from one row of blocks to the next.
    pub row_pitch: u64,
    /// Rows of blocks in a slice.
    pub rows: u32,
    /// Slices.
    pub depth: u32,
}

descs! {
    tn_Cost: 0,
}

impl Outcome for tn_Cost {}

fn in_c(cost: &Cost) -> tn_Cost {
    tn_Cost {
        struct_size: size_of::<tn_Cost>() as u32,
        flags: 0,
        next: In::NULL,
        size: cost.size,
        alignment: cost.alignment,
        new_bytes: cost.new_bytes,
        location: match cost.location {
            LocationKind::Committed => TN_LOCATION_COMMITTED,
            LocationKind::Memoryless => TN_LOCATION_MEMORYLESS,
            LocationKind::Range => TN_LOCATION_RANGE,
            // A new resource has no other.
            _ => TN_LOCATION_PLACED,
        },
        memory_type: cost.memory_type.into(),
        heap: u32::try_from(cost.heap).unwrap_or(u32::MAX),
        is_within_budget: cost.is_within_budget.into(),
    }
}

/// The cost of `tn_buffer_create`, without creating the buffer. Initial contents are included in the cost, but not read.
///
/// Errors: as `tn_buffer_create`, except for a shortage.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_buffer_cost(gpu: Handle<Gpu>, desc: In<tn_BufferDesc>, out: Out<tn_Cost>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let desc = desc.desc()?;
        let mut wanted = buffer_desc(desc)?;
        // As the creation does.
        if bytes_of(desc)?.is_some() && !wanted.memory.is_mapped() {
            wanted = wanted.filled();
            wanted.usage |= Usage::COPY_DST;
        }
        out.set(in_c(&on!(gpu.get()?, gpu => gpu.buffer_cost(&wanted)?)));
        Ok(())
    })
}

/// The cost of `tn_texture_create`, without creating the texture. Initial contents are included in the cost, but not read.
///
/// Errors: as `tn_texture_create`, except for a shortage.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_texture_cost(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    out: Out<tn_Cost>,
) -> tn_Status {
    call(|| {
        out.check_head()?;
        let desc = desc.desc()?;
        let mut wanted = texture_desc(desc)?;
        if texels_of(desc)?.is_some() {
            wanted = wanted.filled();
            wanted.info.usage |= Usage::COPY_DST;
        }
        out.set(in_c(&on!(gpu.get()?, gpu => gpu.texture_cost(&wanted)?)));
        Ok(())
    })
}

/// Creates a CPU-readable buffer with room for all subresources of a texture, in the layouts required by `tn_recording_copy`. The
/// layouts are written to `layouts`, which has room for `count`: one per subresource, mips of the first layer first, followed by
/// those of the stencil plane. With a `count` of 0, none are written. The description provides all texel fields, name and tag.
///
/// Errors: `TN_ERROR_WRONG_LENGTH` for another number of layouts; `TN_ERROR_ARGUMENT` for other fields; as `tn_buffer_create`.
#[unsafe(no_mangle)]
extern "C" fn tn_readback_texture_create(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    layouts: Out<tn_SubresourceLayout>,
    count: usize,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create(out, || {
        layouts.check_array(count, "layouts")?;
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let wanted = texture_desc(desc)?;
        let others = [desc.flags, desc.allocation, desc.priority, desc.read_only];
        let is_plain = others == [0; 4] && desc.data.is_null() && desc.data_count == 0;
        check_plain(
            is_plain,
            desc.name,
            "flags, allocation, priority, read_only and data of a readback texture",
        )?;
        let info = &wanted.info;
        let planes = info.format.planes().len() as u64;
        let needed = u64::from(info.mips).saturating_mul(u64::from(info.layers())).saturating_mul(planes);
        if count != 0 && count as u64 != needed {
            let text = format!("{}: {count} layouts: must be {needed}, or 0", wanted.name);
            return Err(Failure::new(TN_ERROR_WRONG_LENGTH, text));
        }
        let mut found = Vec::new();
        let created = on_same!(gpu, gpu => {
            let texture = gpu.create_readback_texture(&wanted)?;
            found.extend((0..).map_while(|number| texture.layout(number)).take(count));
            ResourceOf::Own(texture.into_buffer())
        });
        let found: Vec<_> = found
            .iter()
            .map(|layout| tn_SubresourceLayout {
                offset: layout.offset,
                row_pitch: layout.row_pitch,
                rows: layout.rows,
                depth: layout.depth,
            })
            .collect();
        layouts.set_array(&found);
        Ok(created)
    })
}
