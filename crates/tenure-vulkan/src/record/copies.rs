//! What is wrong with a copy by itself: the checks made while recording.

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    BufferLayout, CallRule, DeviceError, Properties, QueueKind, Subresource, TextureInfo, TextureRegion,
    Usage, check,
};

use crate::format::{aspect, aspects};
use crate::resource::{Resource, VkUsage};
use crate::setup::Family;
use crate::shared::Shared;

/// The resource was created as a source or destination of copies.
pub(crate) fn check_usage(resource: &Resource, usage: Usage) -> Result<(), DeviceError> {
    let is_source = usage == Usage::COPY_SRC;
    let has = match resource.usage {
        VkUsage::Buffer(flags) if is_source => flags.contains(vk::BufferUsageFlags::TRANSFER_SRC),
        VkUsage::Buffer(flags) => flags.contains(vk::BufferUsageFlags::TRANSFER_DST),
        VkUsage::Image(flags, ..) if is_source => flags.contains(vk::ImageUsageFlags::TRANSFER_SRC),
        VkUsage::Image(flags, ..) => flags.contains(vk::ImageUsageFlags::TRANSFER_DST),
    };
    if has {
        return Ok(());
    }
    Err(DeviceError::MissingUsage { needs: usage, has: resource.desc.usage() })
}

/// A checked copy between buffers; `None` when there is nothing to copy.
pub(crate) fn buffer_copy(
    shared: &Shared,
    (src, src_offset): (&Resource, u64),
    (dst, dst_offset): (&Resource, u64),
    size: u64,
) -> Result<Option<(vk::Buffer, vk::Buffer, vk::BufferCopy)>, DeviceError> {
    src.check_device(shared)?;
    dst.check_device(shared)?;
    let ((from, source), (to, destination)) = (src.as_buffer()?, dst.as_buffer()?);
    check::range(CallRule::InsideResource, src_offset, size, source.size)?;
    check::range(CallRule::InsideResource, dst_offset, size, destination.size)?;
    check_usage(src, Usage::COPY_SRC)?;
    check_usage(dst, Usage::COPY_DST)?;
    if from == to {
        check::copy_within(src_offset, dst_offset, size)?;
    }
    let copy = vk::BufferCopy { src_offset, dst_offset, size };
    Ok((size > 0).then_some((from, to, copy)))
}

/// A copy between a buffer and an image.
#[derive(Clone, Copy)]
pub(crate) struct TexelCopy {
    pub(crate) buffer: vk::Buffer,
    pub(crate) image: vk::Image,
    pub(crate) region: vk::BufferImageCopy,
}

/// A checked copy between a buffer and a texture, on a queue of `family`.
pub(crate) fn texel_copy(
    (shared, family): (&Shared, &Family),
    (buffer, layout): (&Resource, BufferLayout),
    (texture, region): (&Resource, TextureRegion),
    to_texture: bool,
) -> Result<TexelCopy, DeviceError> {
    buffer.check_device(shared)?;
    texture.check_device(shared)?;
    let ((raw, held), (image, info)) = (buffer.as_buffer()?, texture.as_image()?);
    let (of_buffer, of_texture) =
        if to_texture { (Usage::COPY_SRC, Usage::COPY_DST) } else { (Usage::COPY_DST, Usage::COPY_SRC) };
    check_usage(buffer, of_buffer)?;
    check_usage(texture, of_texture)?;
    region.check(info)?;
    check::depth_copies(info.format, family.flags.contains(vk::QueueFlags::GRAPHICS))?;
    check::copy_steps(info, &region, family.transfer_granularity)?;
    check_layout(&shared.tables.properties, layout, info, &region, held.size)?;
    let region = image_copy(layout, info, &region)?;
    Ok(TexelCopy { buffer: raw, image, region })
}

/// A copy of whole subresources between images.
pub(crate) struct ImageCopy {
    pub(crate) from: vk::Image,
    pub(crate) to: vk::Image,
    /// One for each mip.
    pub(crate) regions: SmallVec<[vk::ImageCopy; 16]>,
}

/// A checked copy of whole subresources to another texture, on a queue of this kind.
pub(crate) fn subresource_copy(
    (shared, queue): (&Shared, QueueKind),
    (src, dst): (&Resource, &Resource),
    which: Subresource,
) -> Result<ImageCopy, DeviceError> {
    src.check_device(shared)?;
    dst.check_device(shared)?;
    let ((from, info), (to, other)) = (src.as_image()?, dst.as_image()?);
    if from == to {
        return Err(DeviceError::broken_rule(CallRule::CopyToAnother));
    }
    check_usage(src, Usage::COPY_SRC)?;
    check_usage(dst, Usage::COPY_DST)?;
    check::texture_copy((info, other), which, queue)?;
    Ok(ImageCopy { from, to, regions: whole_regions(info, which) })
}

/// The regions of whole subresources, which exist, with all their aspects.
fn whole_regions(info: &TextureInfo, which: Subresource) -> SmallVec<[vk::ImageCopy; 16]> {
    let whole = |mip_level, base_array_layer, layer_count| {
        let subresource = vk::ImageSubresourceLayers {
            aspect_mask: aspects(info.format),
            mip_level,
            base_array_layer,
            layer_count,
        };
        let [width, height, depth] = info.mip_extent(mip_level);
        vk::ImageCopy::default()
            .src_subresource(subresource)
            .dst_subresource(subresource)
            .extent(vk::Extent3D { width, height, depth })
    };
    let mips = info.mips.max(1);
    match which {
        Subresource::All => (0..info.mips).map(|mip| whole(mip, 0, info.layers())).collect(),
        Subresource::One(index) => std::iter::once(whole(index % mips, index / mips, 1)).collect(),
    }
}

fn check_layout(
    properties: &Properties,
    layout: BufferLayout,
    info: &TextureInfo,
    region: &TextureRegion,
    limit: u64,
) -> Result<(), DeviceError> {
    let block = region.block(info.format);
    let alignments = [
        properties.copy_offset_alignment.max(info.format.copy_alignment(region.plane)),
        properties.copy_pitch_alignment.max(block.bytes.into()),
    ];
    let most = u64::from(i32::MAX.unsigned_abs());
    check::at_most("the row pitch is not too large".into(), layout.row_pitch, most)?;
    check::copy_layout(layout, alignments, (block, region.extent), limit)
}

/// The API counts rows in texels, and slices in rows of texels.
pub(crate) fn image_copy(
    layout: BufferLayout,
    info: &TextureInfo,
    region: &TextureRegion,
) -> Result<vk::BufferImageCopy, DeviceError> {
    let block = region.block(info.format);
    let texels =
        |blocks: u64, side: u32| blocks.checked_mul(u64::from(side)).and_then(|all| u32::try_from(all).ok());
    let too_large = || {
        DeviceError::invalid_call(
            "a row and a slice are counted in 32 bits",
            layout.row_pitch,
            u64::from(u32::MAX),
        )
    };
    let row = texels(layout.row_pitch / u64::from(block.bytes.max(1)), block.width).ok_or_else(too_large)?;
    // With one slice its rows may be fewer than the region has: then they do not matter.
    let rows = match region.extent[2] {
        0 | 1 => 0,
        _ => texels(u64::from(layout.rows), block.height).ok_or_else(too_large)?,
    };
    let [width, height, depth] = region.extent;
    let [x, y, z] = region.origin.map(|texel| i32::try_from(texel).unwrap_or(i32::MAX));
    Ok(vk::BufferImageCopy {
        buffer_offset: layout.offset,
        buffer_row_length: row,
        buffer_image_height: rows,
        image_subresource: vk::ImageSubresourceLayers {
            aspect_mask: aspect(info.format, region.plane),
            mip_level: region.mip,
            base_array_layer: region.layer,
            layer_count: 1,
        },
        image_offset: vk::Offset3D { x, y, z },
        image_extent: vk::Extent3D { width, height, depth },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::device::{Dimension, Format, Plane};

    fn info(format: Format, width: u32, height: u32, mips: u32) -> TextureInfo {
        TextureInfo {
            dimension: Dimension::D2,
            width,
            height,
            depth_or_layers: 4,
            mips,
            samples: 1,
            format,
            usage: Usage::COPY_DST,
            clear: None,
            view_formats: Vec::new(),
        }
    }

    fn region(origin: [u32; 3], extent: [u32; 3]) -> TextureRegion {
        TextureRegion { mip: 0, layer: 1, plane: Plane::First, origin, extent }
    }

    #[test]
    fn rows_are_counted_in_texels() {
        let info = info(Format::Bc7Unorm, 68, 36, 1);
        let layout = BufferLayout { offset: 512, row_pitch: 512, rows: 9 };
        let copy = image_copy(layout, &info, &region([4, 8, 0], [64, 28, 1])).unwrap();
        assert_eq!((copy.buffer_offset, copy.buffer_row_length), (512, 512 / 16 * 4));
        assert_eq!(copy.buffer_image_height, 0, "one slice");
        assert_eq!(copy.image_subresource.base_array_layer, 1);
        assert_eq!(copy.image_offset, vk::Offset3D { x: 4, y: 8, z: 0 });
        let volume = TextureInfo { dimension: Dimension::D3, ..info };
        let copy = image_copy(layout, &volume, &region([0; 3], [68, 36, 4])).unwrap();
        assert_eq!(copy.buffer_image_height, 36);
        let huge = BufferLayout { offset: 0, row_pitch: u64::MAX, rows: u32::MAX };
        assert!(image_copy(huge, &volume, &region([0; 3], [68, 36, 4])).is_err());
    }

    #[test]
    fn whole_subresources_have_all_their_layers_and_aspects() {
        let depth = info(Format::D24UnormS8Uint, 20, 9, 3);
        let regions = whole_regions(&depth, Subresource::All);
        let both = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
        let found: Vec<_> = regions
            .iter()
            .map(|region| {
                let (of, extent) = (region.src_subresource, region.extent);
                assert_eq!((of.aspect_mask, of.base_array_layer, of.layer_count), (both, 0, 4));
                (of.mip_level, [extent.width, extent.height, extent.depth])
            })
            .collect();
        assert_eq!(found, [(0, [20, 9, 1]), (1, [10, 4, 1]), (2, [5, 2, 1])]);
        let one = whole_regions(&depth, Subresource::One(7));
        let [region] = one.as_slice() else { panic!("{one:?}") };
        assert_eq!((region.dst_subresource.mip_level, region.dst_subresource.base_array_layer), (1, 2));
        assert_eq!(region.dst_subresource.layer_count, 1);
        let volume = TextureInfo { dimension: Dimension::D3, ..info(Format::Rgba8Unorm, 8, 8, 2) };
        let found = whole_regions(&volume, Subresource::One(1));
        assert_eq!(found[0].extent, vk::Extent3D { width: 4, height: 4, depth: 2 });
        assert_eq!(found[0].src_subresource.base_array_layer, 0);
    }
}
