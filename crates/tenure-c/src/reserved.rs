//! Reserved resources, and resources in pages.

use tenure_core::{ReservedDesc, SyncPoint, TileRegion};

use crate::call::{call, call_create};
use crate::convert::{buffer_desc, queue, sync_point, texture_desc, unknown};
use crate::held::ResourceOf;
use crate::object::{Buffer, Gpu, Pages, Reserved, Texture, on, on_same};
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// A box of tiles of one subresource.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TileRegion {
    /// The index of the subresource; 0 for a buffer. The packed mips of a layer have the index of the first of them.
    pub subresource: u32,
    /// The first tile.
    pub origin: [u32; 3],
    /// The size in tiles.
    pub extent: [u32; 3],
    /// Must be 0.
    pub reserved: u32,
}

/// A change of mappings.
pub type tn_TileAction = u32;
/// Maps new memory, with undefined contents.
pub const TN_TILES_MAP: tn_TileAction = 0;
/// Unmaps memory.
pub const TN_TILES_UNMAP: tn_TileAction = 1;
/// Maps the memory of tiles of another resource, which both share then. Both must have tiles of the same size, in memory of the
/// same types.
pub const TN_TILES_SHARE: tn_TileAction = 2;

/// A change of tile mappings.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TileUpdate {
    /// `sizeof(tn_TileUpdate)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `TN_TILES_…`.
    pub action: tn_TileAction,
    /// The queue, `TN_QUEUE_…`, whose order determines when the mappings change.
    pub queue: tn_Queue,
    /// The tiles.
    pub region: tn_TileRegion,
    /// With `TN_TILES_SHARE`: the other resource.
    pub source: Handle<Reserved>,
    /// With `TN_TILES_SHARE`: its tiles, in a box of the same shape.
    pub source_region: tn_TileRegion,
    /// Uses on other queues to wait for; null: none.
    pub after: In<tn_SyncPoint>,
}

/// The tiles of a reserved resource.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TileLayout {
    /// `sizeof(tn_TileLayout)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Size of a tile in bytes.
    pub tile_size: u64,
    /// Texels per tile; bytes for a buffer.
    pub tile_extent: [u32; 3],
    /// Tiles of the subresource; 0 for packed mips.
    pub tiles: [u32; 3],
    /// The first of the mips packed together in each layer.
    pub first_packed_mip: u32,
    /// Number of tiles of the packed mips of a layer, consecutive.
    pub packed_tiles: u32,
    /// Number of tiles with memory, in all subresources.
    pub mapped_tiles: u64,
}

/// A page allocator.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PagesDesc {
    /// `sizeof(tn_PagesDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Page size in bytes, at least 1. A larger resource gets a page of its own.
    pub page_size: u64,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// Statistics of a page allocator.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PageTotals {
    /// `sizeof(tn_PageTotals)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Number of pages.
    pub pages: u64,
    /// Bytes of all pages.
    pub page_bytes: u64,
    /// Bytes allocated since each page was last empty.
    pub used: u64,
    /// Number of resources, including released ones still used by the GPU.
    pub live: u64,
}

descs! {
    tn_TileUpdate: 0,
    tn_TileLayout: 0,
    tn_PagesDesc: 0,
    tn_PageTotals: 0,
}

impl Outcome for tn_TileLayout {}
impl Outcome for tn_PageTotals {}

fn tile_region(region: &tn_TileRegion) -> TileRegion {
    let tn_TileRegion { subresource, origin, extent, .. } = *region;
    TileRegion { subresource, origin, extent }
}

/// Rejects fields that the creation does not read.
pub(crate) fn check_plain(is_plain: bool, name: tn_Str, fields: &str) -> Result<(), Failure> {
    match is_plain {
        true => Ok(()),
        false => Err(Failure::new(TN_ERROR_ARGUMENT, format!("{}: {fields}: must be 0", name.text()?))),
    }
}

/// Whether a description sets only size, usage, memory, name and tag.
pub(crate) fn is_plain_buffer(desc: &tn_BufferDesc) -> bool {
    let others = [desc.flags, desc.stride, desc.allocation, desc.priority, desc.read_only];
    others == [0; 5] && desc.alignment == 0 && desc.data.is_null() && desc.data_size == 0
}

/// Whether a description sets only texel fields, usage, name and tag.
pub(crate) fn is_plain_texture(desc: &tn_TextureDesc) -> bool {
    let others = [desc.flags, desc.allocation, desc.priority, desc.read_only];
    others == [0; 4] && desc.data.is_null() && desc.data_count == 0
}

/// The fields that an adoption does not read.
pub(crate) const OF_ADOPTED: &str =
    "flags, alignment, stride, allocation, priority, read_only and data of an adopted resource";
const OF_RESERVED: &str =
    "flags, memory, alignment, stride, allocation, priority, read_only and data of a reserved resource";

/// Creates a reserved (sparse) buffer, without memory: `tn_reserved_update` maps its tiles. The description provides size, usage,
/// name and tag. Commands use it with `tn_recording_use` and `tn_place`, as a buffer.
///
/// Errors: `TN_ERROR_DEVICE` on a device without reserved resources; `TN_ERROR_ARGUMENT` for other fields; `TN_ERROR_ENUM`,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_reserved_buffer_create(
    gpu: Handle<Gpu>,
    desc: In<tn_BufferDesc>,
    out: Out<Handle<Reserved>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let found = buffer_desc(desc)?;
        check_plain(desc.memory == 0 && is_plain_buffer(desc), desc.name, OF_RESERVED)?;
        let wanted = ReservedDesc::buffer(found.size, found.usage).name(found.name).tag(found.tag);
        Ok(on_same!(gpu, gpu => gpu.create_reserved(&wanted)?))
    })
}

/// Creates a reserved (sparse) texture, as `tn_reserved_buffer_create`. The description provides all texel fields, usage, name and
/// tag.
///
/// Errors: as `tn_reserved_buffer_create`.
#[unsafe(no_mangle)]
extern "C" fn tn_reserved_texture_create(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    out: Out<Handle<Reserved>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let found = texture_desc(desc)?;
        check_plain(is_plain_texture(desc), desc.name, OF_RESERVED)?;
        let wanted = ReservedDesc::texture(found.info).name(found.name).tag(found.tag);
        Ok(on_same!(gpu, gpu => gpu.create_reserved(&wanted)?))
    })
}

/// Changes the tile mappings, in the order of a queue's submissions, after all earlier changes. Memory no longer used by any tile
/// is freed when the GPU has finished with it; memory mapped by one call is freed as a whole. `done` may be null: the sync point of
/// the change.
///
/// New tiles of targets must be cleared, discarded or copied to before their next use as a target. Tiles without memory read as
/// zero only on some devices.
///
/// Errors: `TN_ERROR_TILES` for tiles that the resource does not have, and for boxes of different shapes; `TN_ERROR_OUT_OF_MEMORY`,
/// `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_FOREIGN`, `TN_ERROR_ENUM`, `TN_ERROR_DEVICE`, `TN_ERROR_DEVICE_LOST`; `TN_ERROR_ARGUMENT`
/// for a source with another action.
#[unsafe(no_mangle)]
extern "C" fn tn_reserved_update(
    reserved: Handle<Reserved>,
    update: In<tn_TileUpdate>,
    done: Out<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let (reserved, update) = (reserved.get()?, update.desc()?);
        let after = update.after.value_or_none()?.map_or(SyncPoint::NONE, |after| sync_point(&after));
        let (on, region) = ((queue(update.queue)?, after), tile_region(&update.region));
        let at = match update.action {
            TN_TILES_SHARE => {
                let from = tile_region(&update.source_region);
                on!((reserved, update.source.get()?), (reserved, source) => {
                    reserved.copy_mappings(on, region, source, from)?
                })
            }
            TN_TILES_MAP | TN_TILES_UNMAP if !update.source.is_null() => {
                let text = "source: is for TN_TILES_SHARE: must be null";
                return Err(Failure::new(TN_ERROR_ARGUMENT, text));
            }
            TN_TILES_MAP => on!(reserved, reserved => reserved.map(on, region)?),
            TN_TILES_UNMAP => on!(reserved, reserved => reserved.unmap(on, region)?),
            action => return unknown("action", action),
        };
        done.set(SyncPoint::from(at).into());
        Ok(())
    })
}

/// The tile layout of one subresource of a reserved resource.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE` for a subresource that it does not have; `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_reserved_layout(
    reserved: Handle<Reserved>,
    subresource: u32,
    out: Out<tn_TileLayout>,
) -> tn_Status {
    call(|| {
        out.check_head()?;
        let (layout, mapped) =
            on!(reserved.get()?, reserved => (reserved.layout(), reserved.mapped_tiles() as u64));
        let found = usize::try_from(subresource).ok().and_then(|number| layout.subresources.get(number));
        let tiles = found.copied().ok_or_else(|| {
            let text = format!("subresource {subresource}: the resource has {}", layout.subresources.len());
            Failure::new(TN_ERROR_OUT_OF_RANGE, text)
        })?;
        out.set(tn_TileLayout {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            tile_size: layout.tile_size,
            tile_extent: layout.tile_extent,
            tiles,
            first_packed_mip: layout.first_packed_mip,
            packed_tiles: layout.packed_tiles,
            mapped_tiles: mapped,
        });
        Ok(())
    })
}

/// Creates a page allocator: it places resources consecutively in pages, for resources that are created and released together, such
/// as those of a level. A page is reused when all its resources are released; its memory is returned to the system when the
/// `tn_Pages` is released, too.
///
/// Errors: `TN_ERROR_ARGUMENT` for pages of 0 bytes; `TN_ERROR_SHUT_DOWN`, `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_TEXT`.
#[unsafe(no_mangle)]
extern "C" fn tn_pages_create(
    gpu: Handle<Gpu>,
    desc: In<tn_PagesDesc>,
    out: Out<Handle<Pages>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let wanted = tenure_core::PageAllocatorDesc::new(desc.page_size).name(desc.name.name()?);
        if desc.page_size == 0 {
            let text = format!("{}: page_size = 0: must be at least 1", wanted.name);
            return Err(Failure::new(TN_ERROR_ARGUMENT, text));
        }
        on!(gpu, gpu => gpu.check_creates(None)?);
        Ok(on_same!(gpu, gpu => gpu.create_pages(&wanted)))
    })
}

const OF_PAGES: &str = "flags, priority and data of a resource in a page";

/// Creates a buffer in a page, without contents.
///
/// Errors: as `tn_buffer_create`; `TN_ERROR_ARGUMENT` for flags, `priority` and `data`; `TN_ERROR_STATE` for a read-only buffer.
#[unsafe(no_mangle)]
extern "C" fn tn_pages_buffer_create(
    pages: Handle<Pages>,
    desc: In<tn_BufferDesc>,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create(out, || {
        let (pages, desc) = (pages.get()?, desc.desc()?);
        let wanted = buffer_desc(desc)?;
        let is_plain = [desc.flags, desc.priority] == [0; 2] && desc.data.is_null() && desc.data_size == 0;
        check_plain(is_plain, desc.name, OF_PAGES)?;
        Ok(on_same!(pages, pages => ResourceOf::Own(pages.create_buffer(&wanted)?)))
    })
}

/// Creates a texture in a page, without contents.
///
/// Errors: as `tn_pages_buffer_create`.
#[unsafe(no_mangle)]
extern "C" fn tn_pages_texture_create(
    pages: Handle<Pages>,
    desc: In<tn_TextureDesc>,
    out: Out<Handle<Texture>>,
) -> tn_Status {
    call_create(out, || {
        let (pages, desc) = (pages.get()?, desc.desc()?);
        let wanted = texture_desc(desc)?;
        let is_plain = [desc.flags, desc.priority] == [0; 2] && desc.data.is_null() && desc.data_count == 0;
        check_plain(is_plain, desc.name, OF_PAGES)?;
        Ok(on_same!(pages, pages => ResourceOf::Own(pages.create_texture(&wanted)?)))
    })
}

/// Statistics of a page allocator, in time proportional to the number of its pages.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_pages_totals(pages: Handle<Pages>, out: Out<tn_PageTotals>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let stats = on!(pages.get()?, pages => pages.stats());
        out.set(tn_PageTotals {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            pages: stats.pages,
            page_bytes: stats.reserved,
            used: stats.used,
            live: stats.live,
        });
        Ok(())
    })
}
