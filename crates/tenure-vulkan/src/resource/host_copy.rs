//! Texels that the CPU writes where they stay (`VK_EXT_host_image_copy`).

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    BufferLayout, DeviceError, State, TEXTURE_WRITES, TextureInfo, TextureWrite, Usage, check,
};

use super::handle::Resource;
use crate::api::HostImageCalls;
use crate::error::unsupported;
use crate::format::aspects;
use crate::record::{image_copy, image_layout};
use crate::shared::Shared;

/// States of one layout each, in which textures of all usages may be written.
const STATES: [State; 4] = [
    State::SHADER_READ,
    State::COPY_SRC.union(State::RESOLVE_SRC),
    State::COPY_DST.union(State::RESOLVE_DST),
    State::UNORDERED_ACCESS,
];

/// The states whose layouts images may be in while the CPU writes them.
pub(crate) fn host_copy_states(instance: &ash::Instance, physical: vk::PhysicalDevice) -> State {
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
    // SAFETY: the physical device is one of the instance's and has the extension; the arrays have room for as many
    // layouts as the structure says.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
}

impl Shared {
    pub(crate) fn texture_write_states(&self, info: &TextureInfo) -> State {
        let Some(calls) = self.api.host_images else { return State::COMMON };
        let mut info = info.clone();
        info.usage |= Usage::CPU_WRITE;
        match self.is_optimal_for_cpu(&info) {
            Ok(true) => calls.states,
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
        check::texture_writes(info, states, calls.states, writes)?;
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
        // SAFETY: the image was created for such copies and is in this layout, and the regions lie in it, as do their
        // texels in the slices that `writes` has borrowed; the caller promises that nothing else uses the image.
        let result = unsafe { (calls.copy)(self.api.handle(), &info) };
        self.written("vkCopyMemoryToImage", result)
    }

    /// Brings the subresources that are written from nothing into a layout.
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
        // SAFETY: as for the copy; the layout is one of those that the device has named for it.
        let result = unsafe { (calls.transition)(self.api.handle(), count, transitions.as_ptr()) };
        self.written("vkTransitionImageLayout", result)
    }

    fn written(&self, call: &'static str, result: vk::Result) -> Result<(), DeviceError> {
        match result {
            vk::Result::SUCCESS => Ok(()),
            result => Err(self.error(call, result)),
        }
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
