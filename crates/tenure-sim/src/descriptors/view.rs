//! Checks of individual views.

use tenure_core::device::{
    Allowed, BufferAccess, BufferView, CallRule, DeviceError, Dimension, Elements, Format, MemoryFlags,
    Properties, TextureAccess, TextureInfo, TextureView, ViewShape, check,
};

use crate::requirements::formats::{is_plain, is_renderable, is_storable};
use crate::resource::ResourceState;

fn aligned(rule: impl Into<CallRule>, value: u64, alignment: u64) -> Result<(), DeviceError> {
    check::multiple(rule.into(), value, alignment.max(1))
}

fn lacks(format: Format, feature: &'static str) -> Result<(), DeviceError> {
    Err(DeviceError::UnsupportedFormat { format, feature })
}

fn within(rule: &'static str, value: u64, limit: u64) -> Result<(), DeviceError> {
    check::at_most(rule.into(), value, limit)
}

/// Checks a view of a buffer.
pub(crate) fn buffer(
    properties: &Properties,
    resource: &ResourceState,
    view: &BufferView,
) -> Result<(), DeviceError> {
    if !resource.is_buffer() {
        return Err(DeviceError::invalid_value(CallRule::IsBuffer, resource.label.id));
    }
    check::usage(resource.desc.usage(), view.access.usage())?;
    let is_local = resource.flags.contains(MemoryFlags::DEVICE_LOCAL);
    if is_d3d12(properties) && !is_local && resource.flags.contains(MemoryFlags::HOST_CACHED) {
        return Err(DeviceError::broken_rule("shaders see no readback heap"));
    }
    check::buffer_view(view.offset, view.size, resource.layout.bytes())?;
    match view.access {
        BufferAccess::Constants => constants(properties, resource.address, view),
        BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements) => {
            of_elements(properties, resource.address, view, elements)
        }
    }
}

fn is_d3d12(properties: &Properties) -> bool {
    properties.api == tenure_core::device::Api::Direct3D12
}

/// Checks that the viewed bytes begin at an aligned address, at any placement of the buffer.
fn at_address(address: Option<u64>, view: &BufferView, alignment: u64) -> Result<(), DeviceError> {
    let Some(begin) = address.map(|address| address.saturating_add(view.offset)) else { return Ok(()) };
    aligned("the address of a view is aligned", begin, alignment)
}

fn constants(properties: &Properties, address: Option<u64>, view: &BufferView) -> Result<(), DeviceError> {
    let alignment = properties.constant_alignment;
    at_address(address, view, alignment)?;
    aligned(CallRule::ConstantsAligned, view.offset, alignment)?;
    if is_d3d12(properties) {
        aligned(CallRule::ConstantsAligned, view.size, alignment)?;
    }
    within("the view of constants is not too large", view.size, properties.descriptors.constant_size)
}

fn of_elements(
    properties: &Properties,
    address: Option<u64>,
    view: &BufferView,
    elements: Elements,
) -> Result<(), DeviceError> {
    let d3d12 = is_d3d12(properties);
    let (limits, bytes) = (&properties.descriptors, elements.bytes());
    match elements {
        Elements::Raw => {
            aligned("the offset of a raw view is aligned", view.offset, properties.storage_alignment)?;
            at_address(address, view, properties.storage_alignment)?;
        }
        Elements::Structured(stride) => {
            if stride == 0 || !stride.is_multiple_of(4) || (d3d12 && stride > 2048) {
                let rule = "a multiple of 4, not 0, and on Direct3D 12 at most 2048";
                return Err(DeviceError::invalid_desc("stride", stride, Allowed::Rule(rule)));
            }
            // Direct3D 12 counts in elements, Vulkan in bytes.
            let step = if d3d12 { bytes } else { properties.storage_alignment };
            aligned("the offset of a structured view is aligned", view.offset, step)?;
        }
        Elements::Typed(format) => {
            if !is_plain(format) {
                return lacks(format, "typed views of buffers");
            }
            aligned("the offset of a typed view is aligned", view.offset, bytes.max(1))?;
            aligned("the offset of a typed view is aligned", view.offset, limits.typed_alignment)?;
        }
    }
    aligned("a view holds whole elements", view.size, bytes)?;
    if matches!(elements, Elements::Typed(_)) {
        let count = view.size / bytes.max(1);
        return within("the typed view has not too many elements", count, u64::from(limits.typed_elements));
    }
    within("the view is not too large", view.size, limits.storage_size)
}

/// Checks a view of a texture.
pub(crate) fn texture(resource: &ResourceState, view: &TextureView) -> Result<(), DeviceError> {
    let Some(info) = resource.layout.texture() else {
        return Err(DeviceError::invalid_value(CallRule::IsTexture, resource.label.id));
    };
    check::usage(resource.desc.usage(), view.access.usage())?;
    check::view_format(view, info)?;
    check::view_range(view, info)?;
    shape(info, view)?;
    check::view_plane(view, view.format)?;
    access(view)
}

fn shape(info: &TextureInfo, view: &TextureView) -> Result<(), DeviceError> {
    let volume = info.dimension == Dimension::D3;
    if (view.shape == ViewShape::D3) != volume {
        return Err(DeviceError::invalid_value(
            "a volume is shown as one, and nothing else is",
            u64::from(volume),
        ));
    }
    let layers = u64::from(view.layers);
    let square = info.width == info.height && info.samples == 1;
    match view.shape {
        ViewShape::D2 if layers != 1 => Err(DeviceError::invalid_call("one layer is shown", layers, 1_u64)),
        ViewShape::Cube if layers != 6 => {
            Err(DeviceError::invalid_call("a cube has six layers", layers, 6_u64))
        }
        ViewShape::CubeArray if !layers.is_multiple_of(6) => {
            Err(DeviceError::invalid_call("cubes have six layers each", layers, 6_u64))
        }
        ViewShape::Cube | ViewShape::CubeArray if !square => {
            Err(DeviceError::invalid_call("the faces of a cube are square", info.width, info.height))
        }
        ViewShape::Cube | ViewShape::CubeArray if view.access != TextureAccess::Sampled => {
            Err(DeviceError::broken_rule("cubes are only read"))
        }
        _ => Ok(()),
    }
}

fn access(view: &TextureView) -> Result<(), DeviceError> {
    match view.access {
        TextureAccess::Storage if !is_storable(view.format) => {
            lacks(view.format, "unordered access to textures")
        }
        TextureAccess::RenderTarget if !is_renderable(view.format) => lacks(view.format, "render targets"),
        TextureAccess::DepthStencil { .. } if !view.format.is_depth() => lacks(view.format, "depth targets"),
        TextureAccess::DepthStencil { .. } if view.shape == ViewShape::D3 => {
            Err(DeviceError::Unsupported { feature: "volumes as depth targets" })
        }
        TextureAccess::InputAttachment if view.shape == ViewShape::D3 => {
            Err(DeviceError::Unsupported { feature: "volumes as input attachments" })
        }
        _ => Ok(()),
    }
}
