//! Copies, checked against the API's rules before they are recorded.

use std::ops::Range;

use tenure_core::device::{
    BufferLayout, CallRule, DeviceError, Plane, Subresource, TexelBlock, TextureInfo, TextureRegion, check,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BOX, D3D12_PLACED_SUBRESOURCE_FOOTPRINT, D3D12_SUBRESOURCE_FOOTPRINT, D3D12_TEXTURE_COPY_LOCATION,
    D3D12_TEXTURE_COPY_LOCATION_0, D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
    D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;

use crate::device::format::in_buffers;
use crate::device::memory::requirements::{READBACK, UPLOAD};
use crate::device::record::list::{List, borrowed};
use crate::device::resource::object::Resource;
use crate::device::setup::caps::Caps;
use crate::slices::{Slices, copies};

/// A range inside a buffer.
fn inside(resource: &Resource, offset: u64, size: u64) -> Result<(), DeviceError> {
    check::range(CallRule::InsideResource, offset, size, resource.buffer()?.size)
}

/// Checks that copies do not write upload heaps or read readback heaps.
fn check_direction(src: &Resource, dst: &Resource) -> Result<(), DeviceError> {
    if dst.memory_type == UPLOAD {
        return Err(DeviceError::broken_rule("nothing is copied to an upload heap"));
    }
    if src.memory_type == READBACK {
        return Err(DeviceError::broken_rule("nothing is copied from a readback heap"));
    }
    Ok(())
}

pub(crate) fn buffer(
    list: &List,
    (src, src_offset): (&Resource, u64),
    (dst, dst_offset): (&Resource, u64),
    size: u64,
) -> Result<(), DeviceError> {
    list.check_owner(src)?;
    list.check_owner(dst)?;
    inside(src, src_offset, size)?;
    inside(dst, dst_offset, size)?;
    check_direction(src, dst)?;
    if is_one(src, dst) {
        check_within(list, src_offset, dst_offset, size)?;
    }
    if size > 0 {
        // SAFETY: the list is open; both are buffers, alive, and the ranges lie inside them.
        unsafe { list.raw.CopyBufferRegion(&dst.raw, dst_offset, &src.raw, src_offset, size) };
    }
    Ok(())
}

fn is_one(src: &Resource, dst: &Resource) -> bool {
    std::ptr::eq(src, dst) || src.raw == dst.raw
}

/// Checks a copy within one buffer. It needs enhanced barriers, because a buffer in a legacy state cannot be source and
/// destination at once. The two ranges must not overlap.
fn check_within(list: &List, src_offset: u64, dst_offset: u64, size: u64) -> Result<(), DeviceError> {
    if !list.device.caps.enhanced_barriers {
        return Err(DeviceError::broken_rule("no buffer is copied to itself (legacy states)"));
    }
    check::copy_within(src_offset, dst_offset, size)
}

/// Depth is copied as a whole, and so is stencil.
fn check_depth(caps: &Caps, info: &TextureInfo, region: &TextureRegion) -> Result<(), DeviceError> {
    if info.format.has_stencil() && !caps.stencil_copies {
        return Err(DeviceError::Unsupported { feature: "copies of depth and stencil, each by itself" });
    }
    let is_whole = region.origin == [0; 3] && region.extent == info.mip_extent(region.mip);
    if info.format.is_depth() && !is_whole {
        return Err(DeviceError::broken_rule("depth is copied a whole subresource at a time"));
    }
    Ok(())
}

/// A checked copy between a buffer and a texture.
struct TexelCopy<'a> {
    buffer: &'a Resource,
    texture: &'a Resource,
    row_pitch: u32,
    /// Slices of volumes may need two copies.
    parts: (Slices, Option<Slices>),
    subresource: u32,
    region: TextureRegion,
    block: TexelBlock,
    /// The extent in texels, rounded up to whole blocks.
    extent: [u32; 3],
    format: DXGI_FORMAT,
    is_depth: bool,
}

fn check<'a>(
    list: &List,
    (buffer, layout): (&'a Resource, BufferLayout),
    (texture, region): (&'a Resource, TextureRegion),
) -> Result<TexelCopy<'a>, DeviceError> {
    list.check_owner(buffer)?;
    list.check_owner(texture)?;
    let capacity = buffer.buffer()?.size;
    let info = texture.texture()?;
    region.check(info)?;
    check_depth(&list.device.caps, info, &region)?;
    let block = region.block(info.format);
    let properties = &list.device.properties;
    let alignments = [properties.copy_offset_alignment, properties.copy_pitch_alignment];
    check::copy_layout(layout, alignments, (block, region.extent), capacity)?;
    let narrow = |rule, value: u64| {
        u32::try_from(value).map_err(|_| DeviceError::invalid_call(rule, value, u64::from(u32::MAX)))
    };
    let row_pitch = narrow("the row pitch fits 32 bits", layout.row_pitch)?;
    if region.extent[2] > 1 {
        narrow("the rows fit 32 bits", u64::from(layout.rows) * u64::from(block.height))?;
    }
    let parts = copies(layout, (block, region.extent), capacity);
    let whole = |texels: u32, block: u32| texels.checked_next_multiple_of(block).unwrap_or(texels);
    let [width, height, depth] = region.extent;
    let plane = if region.plane == Plane::Stencil { info.subresources() } else { 0 };
    Ok(TexelCopy {
        buffer,
        texture,
        row_pitch,
        parts,
        subresource: region.layer.saturating_mul(info.mips).saturating_add(region.mip).saturating_add(plane),
        region,
        block,
        extent: [whole(width, block.width), whole(height, block.height), depth],
        format: in_buffers(info.format, region.plane),
        is_depth: info.format.is_depth(),
    })
}

/// One copy command: its locations, and the start of the texels in each.
struct Part {
    in_buffer: D3D12_TEXTURE_COPY_LOCATION,
    in_texture: D3D12_TEXTURE_COPY_LOCATION,
    buffer_origin: [u32; 3],
    texture_origin: [u32; 3],
    extent: [u32; 3],
}

impl TexelCopy<'_> {
    fn parts(&self) -> impl Iterator<Item = Part> {
        [Some(&self.parts.0), self.parts.1.as_ref()].into_iter().flatten().map(|part| self.part(part))
    }

    /// The API's values for some slices. The arithmetic cannot overflow: texture coordinates are within the mip, and buffer
    /// offsets within a checked footprint.
    fn part(&self, part: &Slices) -> Part {
        let [x, y, z] = self.region.origin;
        let extent = [self.extent[0], self.extent[1], part.slices.end.saturating_sub(part.slices.start)];
        let footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
            Offset: part.offset,
            Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                Format: self.format,
                Width: extent[0],
                Height: part.rows.saturating_mul(self.block.height),
                Depth: extent[2],
                RowPitch: self.row_pitch,
            },
        };
        Part {
            in_buffer: D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrowed(&self.buffer.raw),
                Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
            },
            in_texture: in_texture(self.texture, self.subresource),
            buffer_origin: [0, part.first_row.saturating_mul(self.block.height), 0],
            texture_origin: [x, y, z.saturating_add(part.slices.start)],
            extent,
        }
    }

    /// Copies between the locations, from and to these origins.
    fn record(
        &self,
        list: &List,
        [from, to]: [&D3D12_TEXTURE_COPY_LOCATION; 2],
        [[left, top, front], [x, y, z]]: [[u32; 3]; 2],
        [width, height, depth]: [u32; 3],
    ) {
        let texels = D3D12_BOX {
            left,
            top,
            front,
            right: left.saturating_add(width),
            bottom: top.saturating_add(height),
            back: front.saturating_add(depth),
        };
        // Depth is copied whole, and must come without a box.
        let part = (!self.is_depth).then_some(&raw const texels);
        // SAFETY: the list is open; both resources are alive, the texels lie inside them, and all
        // pointers are to data that outlives the call.
        unsafe { list.raw.CopyTextureRegion(to, x, y, z, from, part) };
    }
}

pub(crate) fn to_texture(
    list: &List,
    src: (&Resource, BufferLayout),
    dst: (&Resource, TextureRegion),
) -> Result<(), DeviceError> {
    check::copy_to_plane(list.device.properties.features, dst.1.plane)?;
    let copy = check(list, src, dst)?;
    check_direction(copy.buffer, copy.texture)?;
    for part in copy.parts() {
        let places = [&part.in_buffer, &part.in_texture];
        copy.record(list, places, [part.buffer_origin, part.texture_origin], part.extent);
    }
    Ok(())
}

pub(crate) fn to_buffer(
    list: &List,
    src: (&Resource, TextureRegion),
    dst: (&Resource, BufferLayout),
) -> Result<(), DeviceError> {
    let copy = check(list, dst, src)?;
    check_direction(copy.texture, copy.buffer)?;
    for part in copy.parts() {
        let places = [&part.in_texture, &part.in_buffer];
        copy.record(list, places, [part.texture_origin, part.buffer_origin], part.extent);
    }
    Ok(())
}

/// Direct3D 12 has no blits: always an error.
pub(crate) fn generate_mip(
    list: &List,
    texture: &Resource,
    mip: u32,
    layers: &Range<u32>,
) -> Result<(), DeviceError> {
    list.check_owner(texture)?;
    check::mip_generation(texture.texture()?, (mip, layers), list.kind, false)
}

/// Copies whole subresources to another texture, with all planes.
pub(crate) fn subresources(
    list: &List,
    src: &Resource,
    dst: &Resource,
    which: Subresource,
) -> Result<(), DeviceError> {
    list.check_owner(src)?;
    list.check_owner(dst)?;
    let infos = (src.texture()?, dst.texture()?);
    if is_one(src, dst) {
        return Err(DeviceError::broken_rule(CallRule::CopyToAnother));
    }
    check::texture_copy(infos, which, list.kind)?;
    check::copy_to_layers(list.device.properties.features, infos.1, which)?;
    check_direction(src, dst)?;
    match which {
        // SAFETY: the list is open; both are textures, alive, of one description, and not the same.
        Subresource::All => unsafe { list.raw.CopyResource(&dst.raw, &src.raw) },
        Subresource::One(index) => one_subresource(list, (src, dst), infos.0, index),
    }
    Ok(())
}

/// Copies a whole subresource; each of its planes is a subresource of the API. If the device has no planes, the
/// first is depth and stencil at once.
fn one_subresource(list: &List, (src, dst): (&Resource, &Resource), info: &TextureInfo, index: u32) {
    let planes = if list.device.caps.stencil_copies { info.format.planes().len() } else { 1 };
    for plane in (0_u32..).take(planes) {
        let index = plane.saturating_mul(info.subresources()).saturating_add(index);
        let (from, to) = (in_texture(src, index), in_texture(dst, index));
        // SAFETY: the list is open; both are textures, alive, of one description, which has the subresource, and
        // the pointers are to data that outlives the call. Without a box all of it is copied.
        unsafe { list.raw.CopyTextureRegion(&raw const to, 0, 0, 0, &raw const from, None) };
    }
}

fn in_texture(texture: &Resource, subresource: u32) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrowed(&texture.raw),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: subresource },
    }
}
