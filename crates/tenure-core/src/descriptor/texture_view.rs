//! Views of textures: the request, and its resolution for the device.

use super::view::check_usage;
use crate::Name;
use crate::device::{
    Allowed, DeviceError, Dimension, FieldValue, Format, Plane, TextureAccess, TextureInfo, TextureView,
    ViewShape,
};

/// A view of a texture to create: the part of it that shaders or render passes see, and the format and access.
///
/// ```
/// use tenure::{Format, TextureViewDesc, descriptor::ViewShape};
/// let grass = TextureViewDesc::sampled().format(Format::Rgba8Srgb).name("grass");
/// let face = TextureViewDesc::render_target().layers(3, 1).mips(2, 1);
/// let sky = TextureViewDesc::sampled().shape(ViewShape::Cube);
/// # let _ = (grass, face, sky);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextureViewDesc {
    /// The access through the view.
    pub access: TextureAccess,
    /// The shape of the view; `None`: volume, single layer or array, like the texture.
    pub shape: Option<ViewShape>,
    /// The texture's format or one of its `view_formats`; `None`: the texture's.
    pub format: Option<Format>,
    /// The readable plane of a depth-stencil format.
    pub plane: Plane,
    /// The first mip.
    pub first_mip: u32,
    /// The number of mips; `None`: the rest for sampled views, one for written views.
    pub mips: Option<u32>,
    /// The first layer; 0 for a volume.
    pub first_layer: u32,
    /// The number of layers; `None`: the rest.
    pub layers: Option<u32>,
    /// The name; empty: the texture's.
    pub name: Name,
}

impl TextureViewDesc {
    /// A view of everything that this access allows.
    #[must_use]
    pub fn new(access: TextureAccess) -> Self {
        Self {
            access,
            shape: None,
            format: None,
            plane: Plane::First,
            first_mip: 0,
            mips: None,
            first_layer: 0,
            layers: None,
            name: Name::default(),
        }
    }

    /// A view that shaders read.
    #[must_use]
    pub fn sampled() -> Self {
        Self::new(TextureAccess::Sampled)
    }

    /// A view of one mip whose texels shaders read and write.
    #[must_use]
    pub fn storage() -> Self {
        Self::new(TextureAccess::Storage)
    }

    /// A view of one mip as a colour target.
    #[must_use]
    pub fn render_target() -> Self {
        Self::new(TextureAccess::RenderTarget)
    }

    /// A view of one mip for depth and stencil tests and writes.
    #[must_use]
    pub fn depth_stencil() -> Self {
        Self::new(TextureAccess::DepthStencil { read_only: false })
    }

    /// A view of one mip for depth and stencil tests only; shaders may read the mip at the same time.
    #[must_use]
    pub fn depth_read_only() -> Self {
        Self::new(TextureAccess::DepthStencil { read_only: true })
    }

    /// A view of one mip from which pixel shaders read the texel at their own position (Vulkan).
    #[must_use]
    pub fn input_attachment() -> Self {
        Self::new(TextureAccess::InputAttachment)
    }

    /// Sets the shape.
    #[must_use]
    pub fn shape(self, shape: ViewShape) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// Sets the format.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Selects the stencil plane.
    #[must_use]
    pub fn stencil(self) -> Self {
        Self { plane: Plane::Stencil, ..self }
    }

    /// Selects `count` mips from `first` on.
    #[must_use]
    pub fn mips(self, first: u32, count: u32) -> Self {
        Self { first_mip: first, mips: Some(count), ..self }
    }

    /// Selects `count` layers from `first` on.
    #[must_use]
    pub fn layers(self, first: u32, count: u32) -> Self {
        Self { first_layer: first, layers: Some(count), ..self }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Resolves the view for the device.
    pub(super) fn resolve(&self, info: &TextureInfo) -> Result<TextureView, DeviceError> {
        check_usage(info.usage, self.access.usage())?;
        let mips = part(Span::Mips, self.first_mip, self.mips, info.mips, self.access)?;
        let layers = part(Span::Layers, self.first_layer, self.layers, info.layers(), self.access)?;
        let shape = self.shape.unwrap_or(match (info.dimension, layers) {
            (Dimension::D3, _) => ViewShape::D3,
            (_, 1) => ViewShape::D2,
            _ => ViewShape::D2Array,
        });
        check_shape(shape, layers, self.access, info)?;
        let format = self.format.unwrap_or(info.format);
        self.check_format(format, info)?;
        Ok(TextureView {
            access: self.access,
            shape,
            format,
            plane: self.plane,
            first_mip: self.first_mip,
            mips,
            first_layer: self.first_layer,
            layers,
        })
    }

    fn check_format(&self, format: Format, info: &TextureInfo) -> Result<(), DeviceError> {
        if format != info.format && !info.view_formats.contains(&format) {
            return wrong("a view's format is the texture's or one of its view_formats", format);
        }
        if matches!(self.access, TextureAccess::DepthStencil { .. }) && !format.is_depth() {
            return wrong("a view of depth has a depth format", format);
        }
        let reads_stencil = self.plane == Plane::Stencil;
        let is_read = matches!(self.access, TextureAccess::Sampled | TextureAccess::InputAttachment);
        if reads_stencil && (!format.has_stencil() || !is_read) {
            return wrong("stencil is read from a format that has it", format);
        }
        Ok(())
    }
}

fn refuse<T>(rule: &'static str, value: u64, limit: u64) -> Result<T, DeviceError> {
    Err(DeviceError::invalid_call(rule, value, limit))
}

fn wrong<T>(rule: &'static str, value: impl Into<FieldValue>) -> Result<T, DeviceError> {
    Err(DeviceError::invalid_value(rule, value))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    Mips,
    Layers,
}

/// The number of mips or layers in view, out of `all`.
fn part(
    span: Span,
    first: u32,
    count: Option<u32>,
    all: u32,
    access: TextureAccess,
) -> Result<u32, DeviceError> {
    let (first_field, field, rule) = match span {
        Span::Mips => ("first_mip", "mips", "the mips in view must exist"),
        Span::Layers => ("first_layer", "layers", "the layers in view must exist"),
    };
    let Some(left) = all.checked_sub(first).filter(|left| *left > 0) else {
        let last = u64::from(all.saturating_sub(1));
        return Err(DeviceError::invalid_desc(first_field, first, Allowed::AtMost(last)));
    };
    let is_single = span == Span::Mips && access != TextureAccess::Sampled;
    let count = count.unwrap_or(if is_single { 1 } else { left });
    if count == 0 {
        return Err(DeviceError::invalid_desc(field, 0_u32, Allowed::AtLeast(1)));
    }
    if count > left {
        return refuse(rule, u64::from(first) + u64::from(count), u64::from(all));
    }
    if is_single && count > 1 {
        return refuse("a view that is written, or of an input attachment, has one mip", u64::from(count), 1);
    }
    Ok(count)
}

fn check_shape(
    shape: ViewShape,
    layers: u32,
    access: TextureAccess,
    info: &TextureInfo,
) -> Result<(), DeviceError> {
    let is_volume = info.dimension == Dimension::D3;
    if is_volume != (shape == ViewShape::D3) {
        return wrong("a volume has volume views, and only a volume has them", shape);
    }
    if is_volume && matches!(access, TextureAccess::DepthStencil { .. }) {
        return wrong("volumes have no depth-stencil views", shape);
    }
    let wanted = match shape {
        ViewShape::D3 | ViewShape::D2Array => return Ok(()),
        ViewShape::D2 if layers == 1 => return Ok(()),
        ViewShape::D2 => return refuse("a view without an array shape has one layer", u64::from(layers), 1),
        ViewShape::Cube => layers == 6,
        ViewShape::CubeArray => layers.is_multiple_of(6),
    };
    if !wanted {
        return refuse("a cube has six layers", u64::from(layers), 6);
    }
    if info.width != info.height {
        return refuse("the sides of a cube are square", u64::from(info.width), u64::from(info.height));
    }
    if info.samples > 1 {
        return refuse("the texels of a cube have one sample", u64::from(info.samples), 1);
    }
    if access == TextureAccess::Sampled {
        Ok(())
    } else {
        wrong("cubes are sampled, and written as layers", shape)
    }
}
