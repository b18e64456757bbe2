//! Views of textures: their rules, and the calls.

use tenure_core::device::{
    Allowed, DeviceError, Dimension, Plane, TextureAccess, TextureInfo, TextureView, Usage, ViewShape, check,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_DSV_FLAG_NONE, D3D12_DSV_FLAG_READ_ONLY_DEPTH,
    D3D12_DSV_FLAG_READ_ONLY_STENCIL, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE, ID3D12Resource,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;

use crate::device::descriptor::content::Content;
use crate::device::descriptor::texture_desc::{Part, Shape, depth_stencil, render_target, sampled, storage};
use crate::device::format::{components_of, is_family, read_as, to_dxgi_format, typeless};
use crate::device::inner::Inner;
use crate::device::resource::object::Resource;
use crate::device::setup::format_support::INPUT_ATTACHMENTS;
use crate::drivers::Actions;

const SHAPES: &str = "D3 for volumes alone, cubes to sample textures of one sample";

fn check_cube(view: &TextureView, info: &TextureInfo) -> Result<(), DeviceError> {
    if info.width != info.height {
        let (width, height) = (u64::from(info.width), u64::from(info.height));
        return Err(DeviceError::invalid_call("a cube is as high as wide", height, width));
    }
    let is_whole = match view.shape {
        ViewShape::Cube => view.layers == 6,
        _ => view.layers.is_multiple_of(6),
    };
    if is_whole {
        Ok(())
    } else {
        Err(DeviceError::invalid_call("a cube has six layers", u64::from(view.layers), 6_u64))
    }
}

fn check_shape(view: &TextureView, info: &TextureInfo) -> Result<(), DeviceError> {
    let refused = Err(DeviceError::invalid_desc("shape", view.shape, Allowed::Rule(SHAPES)));
    let is_volume = info.dimension == Dimension::D3;
    if is_volume != (view.shape == ViewShape::D3) {
        return refused;
    }
    let is_multisampled = info.samples > 1;
    match (view.shape, view.access) {
        (ViewShape::D2 | ViewShape::D2Array, TextureAccess::Storage) if is_multisampled => {
            Err(DeviceError::invalid_desc("samples", info.samples, Allowed::Rule("1 for unordered access")))
        }
        (ViewShape::D2, _) if view.layers != 1 => Err(DeviceError::invalid_call(
            "a view without an array shape has one layer",
            u64::from(view.layers),
            1_u64,
        )),
        (ViewShape::Cube | ViewShape::CubeArray, TextureAccess::Sampled) if !is_multisampled => {
            check_cube(view, info)
        }
        (ViewShape::Cube | ViewShape::CubeArray, _) | (ViewShape::D3, TextureAccess::DepthStencil { .. }) => {
            refused
        }
        (ViewShape::D2 | ViewShape::D2Array | ViewShape::D3, _) => Ok(()),
    }
}

/// The rules that need only the view and the texture.
pub(crate) fn check(view: &TextureView, info: &TextureInfo) -> Result<(), DeviceError> {
    if view.access == TextureAccess::InputAttachment {
        return Err(DeviceError::Unsupported { feature: INPUT_ATTACHMENTS });
    }
    check::usage(info.usage, view.access.usage())?;
    check::view_format(view, info)?;
    check::view_plane(view, view.format)?;
    check::view_range(view, info)?;
    check_shape(view, info)
}

impl Inner {
    /// Checks a resource that the program created: its format must support the view, and it must be accessible to
    /// shaders. tenure's own resources always are.
    fn check_adopted(
        &self,
        resource: &Resource,
        info: &TextureInfo,
        view: &TextureView,
        format: DXGI_FORMAT,
    ) -> Result<(), DeviceError> {
        if !resource.memory.is_adopted() {
            return Ok(());
        }
        // SAFETY: the interface is alive; the description is returned by value.
        let own = unsafe { resource.raw.GetDesc() };
        let is_castable = self.caps.relaxed_casting && !info.format.is_depth();
        // Targets of a swap chain can be sRGB, its buffers never are.
        let is_target = view.access == TextureAccess::RenderTarget && info.usage.contains(Usage::PRESENT);
        let is_castable = is_castable || (is_target && is_family(info.format, view.format));
        if own.Format != format && own.Format != typeless(info.format) && !is_castable {
            let rule = "the texture was created in the format of its view, or a typeless one (DXGI_FORMAT)";
            let number = |format: DXGI_FORMAT| u64::from(format.0.cast_unsigned());
            return Err(DeviceError::invalid_call(rule, number(format), number(own.Format)));
        }
        if view.access == TextureAccess::Sampled
            && own.Flags.contains(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE)
        {
            let flags = u64::from(own.Flags.0.cast_unsigned());
            return Err(DeviceError::invalid_value(
                "the texture was created for shaders to read (flags)",
                flags,
            ));
        }
        Ok(())
    }

    fn part(&self, resource: &Resource, view: &TextureView) -> Result<(Shape, Part), DeviceError> {
        self.check_viewed(resource)?;
        let info = resource.texture()?;
        check(view, info)?;
        if let Some(feature) = self.formats.missing_for_view(&self.raw, view.format, view.access) {
            return Err(DeviceError::UnsupportedFormat { format: view.format, feature });
        }
        let is_read = view.access == TextureAccess::Sampled;
        let format = if is_read { read_as(view.format, view.plane) } else { to_dxgi_format(view.format) };
        self.check_adopted(resource, info, view, format)?;
        let actions = self.workarounds.actions(&resource.desc);
        let is_everywhere = actions.contains(Actions::STENCIL_EVERYWHERE);
        let [_, _, depth] = info.mip_extent(view.first_mip);
        let part = Part {
            format,
            components: components_of(view.plane, is_everywhere),
            plane: u32::from(view.plane == Plane::Stencil),
            first_mip: view.first_mip,
            mips: view.mips,
            first_layer: view.first_layer,
            layers: view.layers,
            depth,
        };
        Ok((Shape::of(view, info), part))
    }

    /// Creates a view of a texture.
    ///
    /// # Safety
    /// The handle is of a live heap of this device for such views that is not shader-visible, and no other thread
    /// writes or reads it meanwhile.
    pub(crate) unsafe fn write_texture(
        &self,
        resource: &Resource,
        view: &TextureView,
        at: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> Result<Content, DeviceError> {
        const NO_COUNTER: Option<&ID3D12Resource> = None;
        let (shape, part) = self.part(resource, view)?;
        let (device, raw) = (&self.raw, &resource.raw);
        let refused = || DeviceError::invalid_desc("shape", view.shape, Allowed::Rule(SHAPES));
        match view.access {
            TextureAccess::Sampled => {
                let desc = sampled(shape, &part);
                // SAFETY: the description is a local that outlives the call, and names subresources that
                // the live texture has; the rest is the caller's promise.
                unsafe { device.CreateShaderResourceView(raw, Some(&raw const desc), at) };
                Ok(Content::Sampled(shape))
            }
            TextureAccess::Storage => {
                let desc = storage(shape, &part).ok_or_else(refused)?;
                // SAFETY: as above; the texture was created for unordered access.
                unsafe { device.CreateUnorderedAccessView(raw, NO_COUNTER, Some(&raw const desc), at) };
                Ok(Content::Storage(shape))
            }
            TextureAccess::RenderTarget => {
                let desc = render_target(shape, &part).ok_or_else(refused)?;
                // SAFETY: as above; the texture was created as a render target.
                unsafe { device.CreateRenderTargetView(raw, Some(&raw const desc), at) };
                Ok(Content::Other)
            }
            TextureAccess::InputAttachment => Err(DeviceError::Unsupported { feature: INPUT_ATTACHMENTS }),
            TextureAccess::DepthStencil { read_only } => {
                let flags = match (read_only, view.format.has_stencil()) {
                    (false, _) => D3D12_DSV_FLAG_NONE,
                    (true, false) => D3D12_DSV_FLAG_READ_ONLY_DEPTH,
                    (true, true) => D3D12_DSV_FLAG_READ_ONLY_DEPTH | D3D12_DSV_FLAG_READ_ONLY_STENCIL,
                };
                let desc = depth_stencil(shape, &part, flags).ok_or_else(refused)?;
                // SAFETY: as above; the texture was created as a depth target.
                unsafe { device.CreateDepthStencilView(raw, Some(&raw const desc), at) };
                Ok(Content::Other)
            }
        }
    }
}
