//! Views and samplers: the sources of descriptors.

use core::sync::atomic::{AtomicU32, Ordering};

use ash::vk;
use tenure_core::device::{
    AddressMode, Allowed, BindingKind, BorderColor, BufferAccess, BufferView, CallRule, Compare,
    DescriptorSource, DeviceError, Dimension, Elements, Filter, Format, Plane, SamplerInfo, State,
    TextureAccess, TextureInfo, TextureView, Usage, ViewShape, check,
};

use super::{Described, Descriptors};
use crate::error::{unsupported, unsupported_format};
use crate::format::{aspects, to_vk_format};
use crate::resource::{Resource, VkUsage};

/// The value written to a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Bytes(Bytes),
    Texels(Texels),
    /// A view, or a sampler.
    Image(vk::DescriptorImageInfo),
    /// The acceleration structure.
    Structure(vk::AccelerationStructureKHR),
}

/// The viewed bytes of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) info: vk::DescriptorBufferInfo,
    /// The GPU address of the first byte, for descriptors that are addresses; without one, the offset.
    pub(crate) address: u64,
}

impl Bytes {
    /// Bytes of a buffer resource with this object.
    fn of(resource: &Resource, buffer: vk::Buffer, offset: u64, range: u64) -> Self {
        let address = resource.address.unwrap_or(0).saturating_add(offset);
        Self { info: vk::DescriptorBufferInfo { buffer, offset, range }, address }
    }
}

/// A typed view of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texels {
    pub(crate) view: vk::BufferView,
    /// The viewed bytes, for descriptors that are addresses.
    pub(crate) bytes: Bytes,
    pub(crate) format: vk::Format,
}

/// A descriptor in the form used by sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) kind: BindingKind,
    pub(crate) value: Value,
}

/// The content of an index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Nothing,
    /// A shader-visible descriptor.
    Shader(Written),
    /// The view of a target.
    Target(vk::ImageView),
}

impl Slot {
    pub(crate) const fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Destroys its Vulkan objects. The caller promises that the GPU no longer uses them.
    pub(crate) fn destroy(self, descriptors: &Descriptors) {
        let device = &descriptors.api.device;
        match self {
            Self::Nothing | Self::Shader(Written { value: Value::Bytes(_) | Value::Structure(_), .. }) => {}
            Self::Shader(Written { value: Value::Texels(Texels { view, .. }), .. }) => {
                // SAFETY: it is ours, and the caller made sure that it is not in use.
                unsafe { device.destroy_buffer_view(view, None) };
            }
            Self::Shader(Written { value: Value::Image(info), .. })
                if info.sampler != vk::Sampler::null() =>
            {
                // SAFETY: as above.
                unsafe { device.destroy_sampler(info.sampler, None) };
                descriptors.samplers.release();
            }
            Self::Shader(Written { value: Value::Image(info), .. }) => {
                // SAFETY: as above.
                unsafe { device.destroy_image_view(info.image_view, None) };
            }
            // SAFETY: as above.
            Self::Target(view) => unsafe { device.destroy_image_view(view, None) },
        }
    }
}

impl Descriptors {
    /// The value to write for a source.
    pub(super) fn resolve(
        &self,
        source: &DescriptorSource<'_, impl Described>,
    ) -> Result<Written, DeviceError> {
        match *source {
            DescriptorSource::Copy { heap, index } => heap.written(self, index),
            DescriptorSource::Combined { views, view, samplers, sampler } => {
                let texture = views.written(self, view)?;
                let sampler = samplers.written(self, sampler)?;
                combine(texture, sampler)
            }
            DescriptorSource::Structure(structure) => {
                let value = Value::Structure(structure.traced(self)?);
                Ok(Written { kind: BindingKind::AccelerationStructure, value })
            }
            DescriptorSource::Constants { resource, offset, size } => {
                let buffer = self.check_bytes(resource, BufferAccess::Constants, [offset, size])?;
                let bytes = Bytes::of(resource, buffer, offset, size);
                Ok(Written { kind: BindingKind::Constants, value: Value::Bytes(bytes) })
            }
        }
    }
}

/// A view of a texture with a sampler.
fn combine(texture: Written, sampler: Written) -> Result<Written, DeviceError> {
    let wrong = |given, wanted| Err(DeviceError::invalid_call(CallRule::BindingKind, given, wanted));
    match (texture, sampler) {
        (
            Written { kind: BindingKind::Texture, value: Value::Image(view) },
            Written {
                kind: BindingKind::Sampler,
                value: Value::Image(vk::DescriptorImageInfo { sampler, .. }),
            },
        ) => {
            let value = Value::Image(vk::DescriptorImageInfo { sampler, ..view });
            Ok(Written { kind: BindingKind::CombinedSampler, value })
        }
        (Written { kind: BindingKind::Texture, .. }, other) => wrong(other.kind, BindingKind::Sampler),
        (other, _) => wrong(other.kind, BindingKind::Texture),
    }
}

/// The number of samplers: some drivers do not check it themselves.
#[derive(Debug, Default)]
pub(crate) struct SamplerCount(AtomicU32);

impl SamplerCount {
    fn take(&self, most: u32) -> bool {
        let more = |count: u32| count.checked_add(1).filter(|count| *count <= most);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn release(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Descriptors {
    pub(super) fn create_sampler(&self, desc: &SamplerInfo) -> Result<Slot, DeviceError> {
        let tables = &self.limits;
        desc.validate(tables.contract.anisotropy)?;
        if desc.mip_bias.abs() > tables.mip_bias {
            return Err(DeviceError::invalid_desc(
                "mip_bias",
                desc.mip_bias,
                Allowed::Rule("within maxSamplerLodBias"),
            ));
        }
        let portability = self.api.portability;
        if desc.compare.is_some() && !portability.comparison_samplers {
            return Err(unsupported("comparison samplers in descriptors (mutableComparisonSamplers)"));
        }
        if desc.mip_bias != 0.0 && !portability.mip_bias {
            return Err(unsupported("samplers with a bias (samplerMipLodBias)"));
        }
        if !self.samplers.take(tables.contract.samplers) {
            return Err(DeviceError::OutOfHostMemory { what: "samplers: maxSamplerAllocationCount" });
        }
        // SAFETY: all numbers are within the limits and features of the device.
        let made = unsafe { self.api.device.create_sampler(&info(desc), None) };
        let sampler = made.map_err(|result| {
            self.samplers.release();
            self.error("vkCreateSampler", result)
        })?;
        let value = Value::Image(vk::DescriptorImageInfo::default().sampler(sampler));
        Ok(Slot::Shader(Written { kind: BindingKind::Sampler, value }))
    }
}

fn info(desc: &SamplerInfo) -> vk::SamplerCreateInfo<'static> {
    let [across, down, deep] = desc.address.map(address);
    vk::SamplerCreateInfo::default()
        .mag_filter(filter(desc.mag))
        .min_filter(filter(desc.min))
        .mipmap_mode(match desc.mip {
            Filter::Nearest => vk::SamplerMipmapMode::NEAREST,
            Filter::Linear => vk::SamplerMipmapMode::LINEAR,
        })
        .address_mode_u(across)
        .address_mode_v(down)
        .address_mode_w(deep)
        .mip_lod_bias(desc.mip_bias)
        .anisotropy_enable(desc.anisotropy > 1)
        .max_anisotropy(desc.anisotropy as f32)
        .compare_enable(desc.compare.is_some())
        .compare_op(desc.compare.map_or(vk::CompareOp::ALWAYS, compare))
        .min_lod(desc.min_lod)
        .max_lod(desc.max_lod)
        .border_color(match desc.border {
            BorderColor::TransparentBlack => vk::BorderColor::FLOAT_TRANSPARENT_BLACK,
            BorderColor::OpaqueBlack => vk::BorderColor::FLOAT_OPAQUE_BLACK,
            BorderColor::OpaqueWhite => vk::BorderColor::FLOAT_OPAQUE_WHITE,
        })
}

const fn filter(filter: Filter) -> vk::Filter {
    match filter {
        Filter::Nearest => vk::Filter::NEAREST,
        Filter::Linear => vk::Filter::LINEAR,
    }
}

const fn address(mode: AddressMode) -> vk::SamplerAddressMode {
    match mode {
        AddressMode::Repeat => vk::SamplerAddressMode::REPEAT,
        AddressMode::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
        AddressMode::Clamp => vk::SamplerAddressMode::CLAMP_TO_EDGE,
        AddressMode::Border => vk::SamplerAddressMode::CLAMP_TO_BORDER,
    }
}

const fn compare(compare: Compare) -> vk::CompareOp {
    match compare {
        Compare::Never => vk::CompareOp::NEVER,
        Compare::Less => vk::CompareOp::LESS,
        Compare::Equal => vk::CompareOp::EQUAL,
        Compare::LessOrEqual => vk::CompareOp::LESS_OR_EQUAL,
        Compare::Greater => vk::CompareOp::GREATER,
        Compare::NotEqual => vk::CompareOp::NOT_EQUAL,
        Compare::GreaterOrEqual => vk::CompareOp::GREATER_OR_EQUAL,
        Compare::Always => vk::CompareOp::ALWAYS,
    }
}

/// The usage that the API's buffer needs.
const fn needed_usage(kind: BindingKind) -> vk::BufferUsageFlags {
    match kind {
        BindingKind::Constants => vk::BufferUsageFlags::UNIFORM_BUFFER,
        BindingKind::TypedBuffer => vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER,
        BindingKind::TypedStorageBuffer => vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER,
        _ => vk::BufferUsageFlags::STORAGE_BUFFER,
    }
}

impl Descriptors {
    /// Creates the buffer view for a view, if it needs one.
    pub(super) fn create_buffer_view(
        &self,
        resource: &Resource,
        view: &BufferView,
    ) -> Result<Slot, DeviceError> {
        let kind = BindingKind::from(view.access);
        let buffer = self.check_bytes(resource, view.access, [view.offset, view.size])?;
        let bytes = Bytes::of(resource, buffer, view.offset, view.size);
        let (BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements)) = view.access else {
            return Ok(Slot::Shader(Written { kind, value: Value::Bytes(bytes) }));
        };
        if let Elements::Structured(stride) = elements
            && (stride == 0 || !stride.is_multiple_of(4))
        {
            return Err(DeviceError::invalid_desc(
                "stride",
                stride,
                Allowed::Rule("a multiple of 4, and not 0"),
            ));
        }
        // The format is checked first: elements mean nothing in formats that buffers do not have.
        let format = match elements {
            Elements::Typed(format) => Some(self.texel_format(format, kind)?),
            Elements::Raw | Elements::Structured(_) => None,
        };
        check::multiple(CallRule::ViewWholeElements, view.size, elements.bytes())?;
        match format {
            None => Ok(Slot::Shader(Written { kind, value: Value::Bytes(bytes) })),
            Some(format) => self.create_texel_view(bytes, elements.bytes(), (kind, format)),
        }
    }

    /// Whether a resource can have a descriptor. In a descriptor buffer, that of a buffer contains its address.
    fn may_be_described(&self, resource: &Resource) -> bool {
        let has_address = match resource.usage {
            VkUsage::Buffer(usage) => usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS),
            VkUsage::Image(..) => true,
        };
        has_address || self.api.descriptor_buffers.is_none()
    }

    /// Checks a range of a buffer for a shader-visible descriptor, and returns the buffer.
    pub(super) fn check_bytes(
        &self,
        resource: &Resource,
        access: BufferAccess,
        [offset, size]: [u64; 2],
    ) -> Result<vk::Buffer, DeviceError> {
        resource.check_device(self)?;
        let (buffer, info) = resource.as_buffer()?;
        let kind = BindingKind::from(access);
        let is_made_for_it = match resource.usage {
            VkUsage::Buffer(usage) => usage.contains(needed_usage(kind)),
            VkUsage::Image(..) => false,
        };
        if !info.usage.contains(access.usage()) || !is_made_for_it {
            return Err(DeviceError::MissingUsage { needs: access.usage(), has: info.usage });
        }
        if !self.may_be_described(resource) {
            return Err(unsupported("descriptors of buffers without an address (descriptor buffers)"));
        }
        check::buffer_view(offset, size, info.size)?;
        let tables = &self.limits;
        let (alignment, most) = match kind {
            BindingKind::Constants => (tables.constant_alignment, tables.contract.constant_size),
            BindingKind::TypedBuffer | BindingKind::TypedStorageBuffer => {
                (tables.contract.typed_alignment, u64::MAX)
            }
            _ => (tables.storage_alignment, tables.contract.storage_size),
        };
        check::multiple(CallRule::ViewAligned, offset, alignment)?;
        check::at_most(CallRule::ViewTooLarge, size, most)?;
        Ok(buffer)
    }

    /// The API format, if the device supports buffers of it.
    fn texel_format(&self, format: Format, kind: BindingKind) -> Result<vk::Format, DeviceError> {
        let found = to_vk_format(format);
        let properties = self.resources.format_properties(found);
        let needed = match kind {
            BindingKind::TypedBuffer => vk::FormatFeatureFlags::UNIFORM_TEXEL_BUFFER,
            _ => vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER,
        };
        if !properties.buffer_features.contains(needed) {
            return Err(unsupported_format(format, "typed views of buffers"));
        }
        Ok(found)
    }

    fn create_texel_view(
        &self,
        bytes: Bytes,
        element: u64,
        (kind, format): (BindingKind, vk::Format),
    ) -> Result<Slot, DeviceError> {
        let vk::DescriptorBufferInfo { buffer, offset, range } = bytes.info;
        let (elements, most) = (range / element.max(1), self.limits.contract.typed_elements);
        check::at_most(CallRule::ViewTooLarge, elements, u64::from(most))?;
        let info =
            vk::BufferViewCreateInfo::default().buffer(buffer).format(format).offset(offset).range(range);
        // SAFETY: the buffer is alive and made for such views, the range is inside it and aligned,
        // and the device has such buffers of the format.
        let made = unsafe { self.api.device.create_buffer_view(&info, None) };
        let made = made.map_err(|result| self.error("vkCreateBufferView", result))?;
        Ok(Slot::Shader(Written { kind, value: Value::Texels(Texels { view: made, bytes, format }) }))
    }
}

/// The usage flags that the image and its view need, and the features that the format needs.
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

/// The usage flags of the view. A framebuffer takes the view of a target for an input attachment, too.
fn view_usage(info: &TextureInfo, access: TextureAccess) -> vk::ImageUsageFlags {
    let (usage, _) = needed(access, info.format.is_depth());
    let is_target = matches!(access, TextureAccess::RenderTarget | TextureAccess::DepthStencil { .. });
    if is_target && info.usage.contains(Usage::INPUT_ATTACHMENT) {
        return usage | vk::ImageUsageFlags::INPUT_ATTACHMENT;
    }
    usage
}

impl Descriptors {
    /// Creates a view of a texture.
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
        // The format of this view need not support the usages of other views of the image.
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

    /// The API's view type, and the number of layers. A volume as a target is viewed as an array of its slices.
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

    /// The API format, if the texture may be viewed in it and it supports the view.
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
        let found = self.resources.format_properties(format);
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
