//! Direct writes of textures by the CPU (`VK_EXT_host_image_copy`).

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    BufferLayout, DeviceError, State, TEXTURE_WRITES, TextureInfo, TextureRegion, TextureWrite, Usage, check,
};

use super::Resources;
use super::handle::Resource;
use crate::error::unsupported;
use crate::format::{aspect, aspects};
use crate::loaded::{Api, HostImageCalls};
use crate::stages::image_layout;

/// States of one layout each, in which textures of all usages may be written.
const STATES: [State; 4] = [
    State::SHADER_READ,
    State::COPY_SRC.union(State::RESOLVE_SRC),
    State::COPY_DST.union(State::RESOLVE_DST),
    State::UNORDERED,
];

/// The states in whose layouts the CPU may write images.
pub(super) fn states(api: &Api) -> State {
    if api.host_images.is_none() {
        return State::COMMON;
    }
    let (instance, physical) = (&api.instance, api.physical);
    let mut counts = vk::PhysicalDeviceHostImageCopyPropertiesEXT::default();
    ask(instance, physical, &mut counts);
    let none = vk::ImageLayout::UNDEFINED;
    let mut sources = vec![none; counts.copy_src_layout_count as usize];
    let mut destinations = vec![none; counts.copy_dst_layout_count as usize];
    let mut found = vk::PhysicalDeviceHostImageCopyPropertiesEXT::default()
        .copy_src_layouts(&mut sources)
        .copy_dst_layouts(&mut destinations);
    ask(instance, physical, &mut found);
    let is_offered = |state: &State| destinations.contains(&image_layout(*state, Usage::SHADER_READ));
    STATES.into_iter().filter(is_offered).collect()
}

fn ask(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    found: &mut vk::PhysicalDeviceHostImageCopyPropertiesEXT<'_>,
) {
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(found);
    // SAFETY: the physical device belongs to the instance and has the extension; the arrays have space for the
    // numbers of layouts in the structure.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
}

impl Resources {
    pub(crate) fn texture_write_states(&self, info: &TextureInfo) -> State {
        if self.api.host_images.is_none() {
            return State::COMMON;
        }
        let mut info = info.clone();
        info.usage |= Usage::CPU_WRITE;
        match self.is_optimal_for_cpu(&info) {
            Ok(true) => self.written_in,
            Ok(false) | Err(_) => State::COMMON,
        }
    }

    pub(crate) fn write_texture(
        &self,
        texture: &Resource,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        self.alive()?;
        let calls = self.api.host_images.ok_or_else(|| unsupported(TEXTURE_WRITES))?;
        texture.check_device(self)?;
        let (image, info) = texture.as_image()?;
        check::texture_writes(info, states, self.written_in, writes)?;
        let copies = writes.iter().map(|write| host_copy(info, write));
        let copies: SmallVec<[_; 16]> = copies.collect::<Result<_, _>>()?;
        let (before, after) = states;
        if writes.is_empty() {
            return Ok(());
        }
        let layout = image_layout(after, info.usage);
        if before.is_empty() {
            self.lay_out(calls, (image, info), layout, writes)?;
        }
        let info = vk::CopyMemoryToImageInfoEXT::default()
            .dst_image(image)
            .dst_image_layout(layout)
            .regions(&copies);
        // SAFETY: the image was created for such copies and is in this layout, and the regions are within it; the
        // texels are within the slices that `writes` has borrowed; the caller promises that the image is not in
        // use elsewhere.
        let result = unsafe { (calls.copy)(self.api.handle(), &info) };
        self.check("vkCopyMemoryToImage", result)
    }

    /// Moves the written subresources without contents into a layout.
    fn lay_out(
        &self,
        calls: HostImageCalls,
        (image, info): (vk::Image, &TextureInfo),
        layout: vk::ImageLayout,
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        let transition = |write: &TextureWrite<'_>| {
            let range = vk::ImageSubresourceRange {
                aspect_mask: aspects(info.format),
                base_mip_level: write.region.mip,
                level_count: 1,
                base_array_layer: write.region.layer,
                layer_count: 1,
            };
            vk::HostImageLayoutTransitionInfoEXT::default()
                .image(image)
                .old_layout(vk::ImageLayout::UNDEFINED)
                .new_layout(layout)
                .subresource_range(range)
        };
        let transitions: SmallVec<[_; 16]> = writes.iter().map(transition).collect();
        let count = u32::try_from(transitions.len()).unwrap_or(u32::MAX);
        // SAFETY: as for the copy; the device lists the layout among the supported ones.
        let result = unsafe { (calls.transition)(self.api.handle(), count, transitions.as_ptr()) };
        self.check("vkTransitionImageLayout", result)
    }
}

/// The API's form of a write that was checked.
fn host_copy<'a>(
    info: &TextureInfo,
    write: &TextureWrite<'a>,
) -> Result<vk::MemoryToImageCopyEXT<'a>, DeviceError> {
    let layout = BufferLayout { offset: 0, row_pitch: write.row_pitch, rows: write.rows };
    let copy = image_copy(layout, info, &write.region)?;
    Ok(vk::MemoryToImageCopyEXT {
        p_host_pointer: write.bytes.as_ptr().cast(),
        memory_row_length: copy.buffer_row_length,
        memory_image_height: copy.buffer_image_height,
        image_subresource: copy.image_subresource,
        image_offset: copy.image_offset,
        image_extent: copy.image_extent,
        ..Default::default()
    })
}

/// The copy in the API's units: row lengths in texels, and slice heights in rows of texels.
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
        TextureInfo::new(Dimension::D2, width, height, format, Usage::COPY_DST).depth_or_layers(4).mips(mips)
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
        let volume = info.dimension(Dimension::D3);
        let copy = image_copy(layout, &volume, &region([0; 3], [68, 36, 4])).unwrap();
        assert_eq!(copy.buffer_image_height, 36);
        let huge = BufferLayout { offset: 0, row_pitch: u64::MAX, rows: u32::MAX };
        assert!(image_copy(huge, &volume, &region([0; 3], [68, 36, 4])).is_err());
    }
}
