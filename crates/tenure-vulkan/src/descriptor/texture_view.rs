//! Views of textures.

use ash::vk;
use tenure_core::device::{
    Allowed, BindingKind, DeviceError, Dimension, Plane, State, TextureAccess, TextureInfo, TextureView,
    Usage, ViewShape, check,
};

use super::Descriptors;
use super::slot::{Slot, Value, Written};
use crate::error::{unsupported, unsupported_format};
use crate::format::{aspects, to_vk_format};
use crate::resource::{Resource, VkUsage};

/// The usage that the API's image and view need, and what the format has to be good for.
const fn needed(access: TextureAccess, is_depth: bool) -> (vk::ImageUsageFlags, vk::FormatFeatureFlags) {
    match access {
        TextureAccess::Sampled => (vk::ImageUsageFlags::SAMPLED, vk::FormatFeatureFlags::SAMPLED_IMAGE),
        TextureAccess::Storage => (vk::ImageUsageFlags::STORAGE, vk::FormatFeatureFlags::STORAGE_IMAGE),
        TextureAccess::RenderTarget => {
            (vk::ImageUsageFlags::COLOR_ATTACHMENT, vk::FormatFeatureFlags::COLOR_ATTACHMENT)
        }
        TextureAccess::DepthStencil { .. } => {
            (vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT, vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT)
        }
        TextureAccess::InputAttachment if is_depth => {
            (vk::ImageUsageFlags::INPUT_ATTACHMENT, vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT)
        }
        TextureAccess::InputAttachment => {
            (vk::ImageUsageFlags::INPUT_ATTACHMENT, vk::FormatFeatureFlags::COLOR_ATTACHMENT)
        }
    }
}

/// What the API's view is for. A framebuffer takes the view of a target for an input attachment, too.
fn view_usage(info: &TextureInfo, access: TextureAccess) -> vk::ImageUsageFlags {
    let (usage, _) = needed(access, info.format.is_depth());
    let is_target = matches!(access, TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. });
    if is_target && info.usage.contains(Usage::INPUT_ATTACHMENT) {
        return usage | vk::ImageUsageFlags::INPUT_ATTACHMENT;
    }
    usage
}

impl Descriptors {
    /// Makes a view of a texture.
    pub(super) fn create_texture_view(
        &self,
        resource: &Resource,
        view: &TextureView,
    ) -> Result<Slot, DeviceError> {
        resource.check_device(self)?;
        let (image, info) = resource.as_image()?;
        check_usage(resource, info, view)?;
        check::view_range(view, info)?;
        let (shape, layers) = self.view_shape(resource, info, view)?;
        let format = self.view_format(resource, info, view)?;
        let range = vk::ImageSubresourceRange {
            aspect_mask: view_aspect(info, view)?,
            base_mip_level: view.first_mip,
            level_count: view.mips,
            base_array_layer: view.first_layer,
            layer_count: layers,
        };
        // What other views of the image are for, this one's format need not allow.
        let mut usage = vk::ImageViewUsageCreateInfo::default().usage(view_usage(info, view.access));
        let create = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(shape)
            .format(format)
            .subresource_range(range)
            .push_next(&mut usage);
        // SAFETY: the image is alive, and made for such views; range, shape and format were checked.
        let made = unsafe { self.api.device.create_image_view(&create, None) };
        let image_view = made.map_err(|result| self.error("vkCreateImageView", result))?;
        let (kind, state) = match view.access {
            TextureAccess::Sampled => (BindingKind::Texture, State::SHADER_READ),
            TextureAccess::Storage => (BindingKind::StorageTexture, State::UNORDERED_ACCESS),
            TextureAccess::InputAttachment => (BindingKind::InputAttachment, State::PIXEL_SHADER),
            TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. } => {
                return Ok(Slot::Target(image_view));
            }
        };
        let image_layout = resource.layout_in(state);
        let value = vk::DescriptorImageInfo { sampler: vk::Sampler::null(), image_view, image_layout };
        Ok(Slot::Shader(Written { kind, value: Value::Image(value) }))
    }

    /// The API's shape and layers: a volume is a target slice by slice.
    fn view_shape(
        &self,
        resource: &Resource,
        info: &TextureInfo,
        view: &TextureView,
    ) -> Result<(vk::ImageViewType, u32), DeviceError> {
        let has = |flag| resource.image_flags().unwrap_or_default().contains(flag);
        let is_target =
            matches!(view.access, TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. });
        let layers = view.layers;
        match (info.dimension, view.shape) {
            (Dimension::D3, ViewShape::D3) if is_target => {
                if !has(vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE) {
                    return Err(unsupported("volumes of this kind as targets (2D_ARRAY_COMPATIBLE)"));
                }
                let [_, _, slices] = info.mip_extent(view.first_mip);
                Ok((vk::ImageViewType::TYPE_2D_ARRAY, slices))
            }
            (Dimension::D3, ViewShape::D3) => Ok((vk::ImageViewType::TYPE_3D, 1)),
            (Dimension::D2, ViewShape::D2) if layers == 1 => Ok((vk::ImageViewType::TYPE_2D, 1)),
            (Dimension::D2, ViewShape::D2) => {
                Err(DeviceError::invalid_desc("layers", layers, Allowed::AtMost(1)))
            }
            (Dimension::D2, ViewShape::D2Array) => Ok((vk::ImageViewType::TYPE_2D_ARRAY, layers)),
            (Dimension::D2, ViewShape::Cube | ViewShape::CubeArray) if !is_target => {
                if !has(vk::ImageCreateFlags::CUBE_COMPATIBLE) {
                    let rule = "cubes are views of square textures of six layers and one sample";
                    return Err(DeviceError::invalid_call(rule, u64::from(info.layers()), 6_u64));
                }
                self.cube_shape(view)
            }
            _ => Err(DeviceError::invalid_desc(
                "shape",
                view.shape,
                Allowed::Rule("the texture's dimension, and no cube for targets"),
            )),
        }
    }

    fn cube_shape(&self, view: &TextureView) -> Result<(vk::ImageViewType, u32), DeviceError> {
        let layers = view.layers;
        match view.shape {
            ViewShape::Cube if layers == 6 => Ok((vk::ImageViewType::CUBE, layers)),
            ViewShape::CubeArray if layers.is_multiple_of(6) => {
                if self.api.features.image_cube_array != vk::TRUE {
                    return Err(unsupported("arrays of cubes (imageCubeArray)"));
                }
                Ok((vk::ImageViewType::CUBE_ARRAY, layers))
            }
            _ => Err(DeviceError::invalid_desc(
                "layers",
                layers,
                Allowed::Rule("6, or a multiple of 6 for an array of cubes"),
            )),
        }
    }

    /// The API's format, where the texture may be seen in it and it is good for the view.
    fn view_format(
        &self,
        resource: &Resource,
        info: &TextureInfo,
        view: &TextureView,
    ) -> Result<vk::Format, DeviceError> {
        let wrong = |rule| DeviceError::invalid_desc("format", view.format, Allowed::Rule(rule));
        let VkUsage::Image(_, own, flags) = resource.usage else {
            return Err(wrong("a view of a texture"));
        };
        let format = if view.format == info.format { own } else { to_vk_format(view.format) };
        let is_cast = format != own;
        if is_cast {
            check::view_format(view, info)?;
        }
        if is_cast && !flags.contains(vk::ImageCreateFlags::MUTABLE_FORMAT) {
            return Err(unsupported("views of this image in other formats (MUTABLE_FORMAT)"));
        }
        // SAFETY: the physical device is one of the instance's.
        let found =
            unsafe { self.api.instance.get_physical_device_format_properties(self.api.physical, format) };
        if !found.optimal_tiling_features.contains(needed(view.access, info.format.is_depth()).1) {
            return Err(unsupported_format(view.format, "views for this access"));
        }
        Ok(format)
    }
}

fn check_usage(resource: &Resource, info: &TextureInfo, view: &TextureView) -> Result<(), DeviceError> {
    let usage = view.access.usage();
    let is_made_for_it = match resource.usage {
        VkUsage::Image(flags, ..) => flags.contains(needed(view.access, info.format.is_depth()).0),
        VkUsage::Buffer(_) => false,
    };
    if info.usage.contains(usage) && is_made_for_it {
        return Ok(());
    }
    Err(DeviceError::MissingUsage { needs: usage, has: info.usage })
}

fn view_aspect(info: &TextureInfo, view: &TextureView) -> Result<vk::ImageAspectFlags, DeviceError> {
    match (view.plane, view.access) {
        (Plane::First, TextureAccess::DepthStencil { .. }) => Ok(aspects(info.format)),
        (Plane::First, _) if info.format.is_depth() => Ok(vk::ImageAspectFlags::DEPTH),
        (Plane::First, _) => Ok(vk::ImageAspectFlags::COLOR),
        (Plane::Stencil, _) => check::view_plane(view, info.format).map(|()| vk::ImageAspectFlags::STENCIL),
    }
}
