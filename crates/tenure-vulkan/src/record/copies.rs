//! Checks of a copy while recording, independent of the resources' states.

use std::ops::Range;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    BufferLayout, BufferRegion, CallRule, DeviceError, Properties, QueueKind, Subresource, TextureInfo,
    TextureRegion, Usage, check,
};

use super::list::List;
use crate::format::aspects;
use crate::loaded::Loaded;
use crate::queue::Family;
use crate::resource::{Resource, Resources, VkUsage, image_copy};

/// Refuses a resource that was created without this usage of copies.
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

/// A checked copy between buffers; `None` if it is empty.
pub(crate) fn buffer_copy(
    loaded: &Loaded,
    (src, src_offset): (&Resource, u64),
    (dst, dst_offset): (&Resource, u64),
    size: u64,
) -> Result<Option<(vk::Buffer, vk::Buffer, vk::BufferCopy)>, DeviceError> {
    src.check_device(loaded)?;
    dst.check_device(loaded)?;
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
    (loaded, family): (&Loaded, &Family),
    (buffer, layout): (&Resource, BufferLayout),
    (texture, region): (&Resource, TextureRegion),
    to_texture: bool,
) -> Result<TexelCopy, DeviceError> {
    buffer.check_device(loaded)?;
    texture.check_device(loaded)?;
    let ((raw, held), (image, info)) = (buffer.as_buffer()?, texture.as_image()?);
    let (of_buffer, of_texture) =
        if to_texture { (Usage::COPY_SRC, Usage::COPY_DST) } else { (Usage::COPY_DST, Usage::COPY_SRC) };
    check_usage(buffer, of_buffer)?;
    check_usage(texture, of_texture)?;
    region.check(info)?;
    check::depth_copies(info.format, family.flags.contains(vk::QueueFlags::GRAPHICS))?;
    check::copy_steps(info, &region, family.transfer_granularity)?;
    check_layout(&loaded.tables.properties, layout, info, &region, held.size)?;
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
    (loaded, queue): (&Loaded, QueueKind),
    (src, dst): (&Resource, &Resource),
    which: Subresource,
) -> Result<ImageCopy, DeviceError> {
    src.check_device(loaded)?;
    dst.check_device(loaded)?;
    let ((from, info), (to, other)) = (src.as_image()?, dst.as_image()?);
    if from == to {
        return Err(DeviceError::broken_rule(CallRule::CopyToAnother));
    }
    check_usage(src, Usage::COPY_SRC)?;
    check_usage(dst, Usage::COPY_DST)?;
    check::texture_copy((info, other), which, queue)?;
    Ok(ImageCopy { from, to, regions: whole_regions(info, which) })
}

impl List {
    pub(crate) fn copy_buffer(
        &mut self,
        src: &Resource,
        src_offset: u64,
        dst: &Resource,
        dst_offset: u64,
        size: u64,
    ) {
        self.copy_buffer_regions(src, dst, &[BufferRegion { src_offset, dst_offset, size }]);
    }

    pub(crate) fn copy_buffer_regions(&mut self, src: &Resource, dst: &Resource, regions: &[BufferRegion]) {
        let check = |region: &BufferRegion| {
            let BufferRegion { src_offset, dst_offset, size } = *region;
            buffer_copy(&self.queues, (src, src_offset), (dst, dst_offset), size).transpose()
        };
        let checked: Result<SmallVec<[_; 4]>, _> = regions.iter().filter_map(check).collect();
        self.record(checked, |list, copies| {
            let Some(&(from, to, _)) = copies.first() else { return };
            let regions: SmallVec<[_; 4]> = copies.iter().map(|(_, _, region)| *region).collect();
            // SAFETY: the command buffer is open, and the ranges are inside the buffers.
            unsafe { list.queues.api.device.cmd_copy_buffer(list.buffer, from, to, &regions) };
        });
    }

    pub(crate) fn copy_buffer_to_texture(
        &mut self,
        src: &Resource,
        layout: BufferLayout,
        dst: &Resource,
        region: TextureRegion,
    ) {
        self.copy_buffer_to_regions(src, dst, &[(layout, region)]);
    }

    pub(crate) fn copy_buffer_to_regions(
        &mut self,
        src: &Resource,
        dst: &Resource,
        regions: &[(BufferLayout, TextureRegion)],
    ) {
        let checked = self.queues.queue(self.queue).and_then(|queue| {
            let loaded = (&**self.queues, &queue.family);
            let check = |(layout, region): &_| texel_copy(loaded, (src, *layout), (dst, *region), true);
            regions.iter().map(check).collect::<Result<SmallVec<[_; 4]>, _>>()
        });
        self.record(checked, |list, copies| {
            let Some(&TexelCopy { buffer, image, .. }) = copies.first() else { return };
            let regions: SmallVec<[_; 4]> = copies.iter().map(|copy| copy.region).collect();
            let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
            let device = &list.queues.api.device;
            // SAFETY: the command buffer is open, and the regions are inside both.
            unsafe { device.cmd_copy_buffer_to_image(list.buffer, buffer, image, layout, &regions) };
        });
    }

    pub(crate) fn copy_texture_to_buffer(
        &mut self,
        src: &Resource,
        region: TextureRegion,
        dst: &Resource,
        layout: BufferLayout,
    ) {
        let checked = self
            .queues
            .queue(self.queue)
            .and_then(|queue| texel_copy((&self.queues, &queue.family), (dst, layout), (src, region), false));
        self.record(checked, |list, copy| {
            let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
            let device = &list.queues.api.device;
            // SAFETY: the command buffer is open, and the region is inside both.
            unsafe {
                device.cmd_copy_image_to_buffer(list.buffer, copy.image, layout, copy.buffer, &[copy.region]);
            }
        });
    }

    pub(crate) fn copy_texture(&mut self, src: &Resource, dst: &Resource, subresource: Subresource) {
        let checked = subresource_copy((&self.queues, self.kind), (src, dst), subresource);
        self.record(checked, |list, ImageCopy { from, to, regions }| {
            let (read, written) =
                (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
            let device = &list.queues.api.device;
            // SAFETY: the command buffer is open, the images are alive and differ, and the regions are whole
            // subresources of both.
            unsafe { device.cmd_copy_image(list.buffer, from, read, to, written, &regions) };
        });
    }

    pub(crate) fn generate_mip(&mut self, texture: &Resource, mip: u32, layers: Range<u32>) {
        let checked = mip_blit((&self.queues, &self.resources, self.kind), texture, mip, &layers);
        self.record(checked, |list, blit| {
            let Some(MipBlit { image, region }) = blit else { return };
            let (read, written) =
                (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
            let (device, filter) = (&list.queues.api.device, vk::Filter::LINEAR);
            // SAFETY: the command buffer is open, on a queue with graphics; the image is alive, has one sample and a
            // format for linear blits; the regions are whole mips that exist and differ.
            unsafe { device.cmd_blit_image(list.buffer, image, read, image, written, &[region], filter) };
        });
    }
}

/// A blit of one mip to the next smaller one.
pub(crate) struct MipBlit {
    pub(crate) image: vk::Image,
    pub(crate) region: vk::ImageBlit,
}

/// A checked blit to a mip of some layers, on a queue of this kind; `None` without layers.
fn mip_blit(
    (loaded, resources, queue): (&Loaded, &Resources, QueueKind),
    texture: &Resource,
    mip: u32,
    layers: &Range<u32>,
) -> Result<Option<MipBlit>, DeviceError> {
    texture.check_device(loaded)?;
    let (image, info) = texture.as_image()?;
    check_usage(texture, Usage::COPY_SRC)?;
    check_usage(texture, Usage::COPY_DST)?;
    check::mip_generation(info, (mip, layers), queue, resources.generates_mips(info.format))?;
    let part = |mip_level| vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level,
        base_array_layer: layers.start,
        layer_count: layers.end.saturating_sub(layers.start),
    };
    let bounds = |mip| {
        let [x, y, z] = info.mip_extent(mip).map(|side| i32::try_from(side).unwrap_or(i32::MAX));
        [vk::Offset3D::default(), vk::Offset3D { x, y, z }]
    };
    let region = vk::ImageBlit {
        src_subresource: part(mip - 1),
        src_offsets: bounds(mip - 1),
        dst_subresource: part(mip),
        dst_offsets: bounds(mip),
    };
    Ok((!layers.is_empty()).then_some(MipBlit { image, region }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::device::{Dimension, Format};

    fn info(format: Format, width: u32, height: u32, mips: u32) -> TextureInfo {
        TextureInfo::new(Dimension::D2, width, height, format, Usage::COPY_DST).depth_or_layers(4).mips(mips)
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
        let volume = info(Format::Rgba8Unorm, 8, 8, 2).dimension(Dimension::D3);
        let found = whole_regions(&volume, Subresource::One(1));
        assert_eq!(found[0].extent, vk::Extent3D { width: 4, height: 4, depth: 2 });
        assert_eq!(found[0].src_subresource.base_array_layer, 0);
    }
}
