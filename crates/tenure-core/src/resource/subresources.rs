//! Parts of textures.

use std::ops::{Bound, Range, RangeBounds};

use crate::device::{Subresource, TextureInfo};
use crate::state::StateError;

/// A part of a resource for [`use_resource`](crate::Commands::use_resource), [`discard`](crate::Commands::discard),
/// [`copy_texture`](crate::Commands::copy_texture), [`generate_mips`](crate::Commands::generate_mips) and [`declare_state`](crate::Gpu::declare_state): all of it, or some mips of
/// some array layers. Also made from a [`Subresource`]. Depth and stencil share their states, so planes are not distinguished.
///
/// An open end of a range is the end of the texture; an empty range has no effect.
///
/// ```
/// use tenure::{Config, Format, Gpu, Queue, State, Subresources, TextureDesc, Usage, sim};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
/// let cube = gpu.create_texture(&TextureDesc::d2(256, 256, Format::Rgba8Unorm, usage).mips(5).layers(6))?;
/// let mut recording = gpu.record(Queue::Graphics, "reduce the second face")?;
/// for mip in 1..5 {
///     recording.use_resource(&cube, Subresources::mip(mip - 1).of_layer(1), State::PIXEL_SHADER)?;
///     recording.use_resource(&cube, Subresources::mip(mip).of_layer(1), State::RENDER_TARGET)?;
///     // … draw …
/// }
/// recording.use_resource(&cube, Subresources::mips(..4).of_layers(1..=1), State::PIXEL_SHADER)?;
/// recording.submit()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subresources(Parts);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Same(Subresource),
    Some { mips: Span, layers: Span },
}

/// Mips or layers from `first` to before `end`, or to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: u32,
    end: Option<u32>,
}

impl Subresources {
    /// Everything.
    pub const ALL: Self = Self(Parts::Same(Subresource::All));

    /// One mip of all layers.
    #[must_use]
    pub fn mip(mip: u32) -> Self {
        Self::mips(mip..=mip)
    }

    /// Mips of all layers.
    #[must_use]
    pub fn mips(mips: impl RangeBounds<u32>) -> Self {
        Self(Parts::Some { mips: Span::new(mips), layers: Span::new(..) })
    }

    /// All mips of one layer. A cube's faces are its layers.
    #[must_use]
    pub fn layer(layer: u32) -> Self {
        Self::layers(layer..=layer)
    }

    /// All mips of some layers.
    #[must_use]
    pub fn layers(layers: impl RangeBounds<u32>) -> Self {
        Self(Parts::Some { mips: Span::new(..), layers: Span::new(layers) })
    }

    /// These mips of one layer alone.
    #[must_use]
    pub fn of_layer(self, layer: u32) -> Self {
        self.of_layers(layer..=layer)
    }

    /// These mips of some layers alone. A single [`Subresource`] stays as it is.
    #[must_use]
    pub fn of_layers(self, layers: impl RangeBounds<u32>) -> Self {
        match self.0 {
            Parts::Same(Subresource::All) => Self::layers(layers),
            Parts::Same(Subresource::One(_)) => self,
            Parts::Some { mips, .. } => Self(Parts::Some { mips, layers: Span::new(layers) }),
        }
    }

    /// The only part, if there is one: without a look at the texture, and inlined, because most uses are of this kind.
    #[inline]
    pub(crate) const fn single(self) -> Option<Subresource> {
        match self.0 {
            Parts::Same(part) => Some(part),
            Parts::Some { .. } => None,
        }
    }

    /// The mips and layers of a texture.
    ///
    /// # Errors
    /// [`StateError::NoSuchPart`].
    pub(crate) fn ranges(self, info: &TextureInfo) -> Result<[Range<u32>; 2], StateError> {
        let (of_mips, of_layers) = (info.mips, info.layers());
        match self.0 {
            Parts::Same(Subresource::All) => Ok([0..of_mips, 0..of_layers]),
            Parts::Same(Subresource::One(index)) => {
                let layer = index / of_mips.max(1);
                let mip = index - layer * of_mips;
                let layers = Span::new(layer..=layer).within("layer", of_layers)?;
                Ok([mip..mip + 1, layers])
            }
            Parts::Some { mips, layers } => {
                Ok([mips.within("mip", of_mips)?, layers.within("layer", of_layers)?])
            }
        }
    }

    /// The parts of a texture, in the order of their index; of a buffer, which has one, where `info` is `None`.
    ///
    /// # Errors
    /// [`StateError::NoSuchPart`].
    #[cold]
    pub(crate) fn each(
        self,
        info: Option<&TextureInfo>,
    ) -> Result<impl Iterator<Item = Subresource> + use<>, StateError> {
        let (of_mips, of_layers) = info.map_or((1, 1), |info| (info.mips, info.layers()));
        let (whole, mips, layers) = match self.0 {
            Parts::Same(part) => (Some(part), 0..0, 0..0),
            Parts::Some { mips, layers } => {
                let (mips, layers) = (mips.within("mip", of_mips)?, layers.within("layer", of_layers)?);
                match mips == (0..of_mips) && layers == (0..of_layers) {
                    true => (Some(Subresource::All), 0..0, 0..0),
                    false => (None, mips, layers),
                }
            }
        };
        Ok(whole.into_iter().chain(indices(mips, layers, of_mips)))
    }
}

/// These mips of these layers, of a texture with `of_mips` mips, in the order of their index.
pub(crate) fn indices(
    mips: Range<u32>,
    layers: Range<u32>,
    of_mips: u32,
) -> impl Iterator<Item = Subresource> {
    let indices = layers.flat_map(move |layer| mips.clone().map(move |mip| mip + layer * of_mips));
    indices.map(Subresource::One)
}

impl From<Subresource> for Subresources {
    fn from(part: Subresource) -> Self {
        Self(Parts::Same(part))
    }
}

impl Span {
    fn new(range: impl RangeBounds<u32>) -> Self {
        let first = match range.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => Some(last.saturating_add(1)),
            Bound::Excluded(end) => Some(*end),
            Bound::Unbounded => None,
        };
        Self { first, end }
    }

    /// As a range, if it is within `count`.
    fn within(self, part: &'static str, count: u32) -> Result<Range<u32>, StateError> {
        let end = self.end.unwrap_or(count);
        let index = self.first.max(end.saturating_sub(1));
        match self.first <= count && end <= count {
            true => Ok(self.first..end),
            false => Err(StateError::NoSuchPart { part, index, count }),
        }
    }
}
