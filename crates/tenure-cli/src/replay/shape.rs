//! Textures of a given number of bytes.
//!
//! Most recordings contain only the number of bytes of a texture. The replay creates a texture of that size whose
//! memory requirement on the device exceeds it as little as possible.

use tenure::device::{Device, Properties, ResourceDesc};
use tenure::{Format, TextureDesc, Usage};

use super::image::Image;

/// The alignment of multisampled textures on Direct3D 12, unique to them.
const MULTISAMPLED_ALIGNMENT: u64 = 4 << 20;
const SAMPLES: u32 = 4;
/// Textures are stored in square-like tiles; multiples of this height fill whole tiles.
const TILE_HEIGHT: u32 = 256;
const TILE_ROWS: u32 = 64;

/// A texture of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Bytes.
    pub size: u64,
    /// Bytes; a power of two.
    pub align: u64,
    /// The recorded image, if the device determines its size.
    pub image: Option<Image>,
}

/// A texture's extents, format and samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Texels.
    pub width: u32,
    /// Texels.
    pub height: u32,
    /// Texels.
    pub depth: u32,
    /// Array layers.
    pub layers: u32,
    /// Mip levels.
    pub mips: u32,
    /// Samples a texel.
    pub samples: u32,
    /// The format of a texel.
    pub format: Format,
    /// The uses.
    pub usage: Usage,
    /// Memory requirement of a recorded image on the device, in bytes; `None` for a texture with only a recorded
    /// size.
    pub image_bytes: Option<u64>,
}

impl Shape {
    /// The recorded image if the device supports it, otherwise a texture of the same size.
    pub fn wanted<D: Device>(device: &D, wanted: &Wanted) -> Self {
        let image = wanted.image.and_then(|image| Self::of_image(device, &image));
        image.unwrap_or_else(|| Self::of(device, wanted.size, wanted.align))
    }

    fn of_image<D: Device>(device: &D, image: &Image) -> Option<Self> {
        let ([width, height, depth], layers, mips) = (image.extent, image.layers, image.mips);
        let (samples, format, usage) = (image.samples, image.format()?, image.usage());
        let shape = Self { width, height, depth, layers, mips, samples, format, usage, image_bytes: None };
        let image_bytes = Some(shape.needs(device)?);
        Some(Self { image_bytes, ..shape })
    }

    /// A plain two-dimensional texture.
    pub(super) fn plain(width: u32, height: u32, layers: u32, samples: u32, format: Format) -> Self {
        // Only render targets can be multisampled.
        let target = if samples > 1 { Usage::RENDER_TARGET } else { Usage::empty() };
        let (usage, image_bytes) = (Usage::SHADER_READ | target, None);
        Self { width, height, depth: 1, layers, mips: 1, samples, format, usage, image_bytes }
    }

    /// A texture of at least `size` bytes, multisampled if `align` requires it: the candidate with the smallest
    /// memory requirement, and of these the nearest to `size`.
    ///
    /// If the device has no texture of that size, the result is a texture that it refuses.
    pub fn of<D: Device>(device: &D, size: u64, align: u64) -> Self {
        let samples = if align >= MULTISAMPLED_ALIGNMENT { SAMPLES } else { 1 };
        let properties = device.properties();
        let found = [Format::R8Unorm, Format::Rgba32Float].into_iter().find_map(|format| {
            candidates(properties, size, format, samples)
                .filter_map(|shape| Some((shape.needs(device)?, shape.bytes(), shape)))
                .min_by_key(|&(needs, bytes, _)| (needs, bytes))
        });
        let refused = || Self::plain(0, 0, 1, samples, Format::R8Unorm);
        found.map_or_else(refused, |(_, _, shape)| shape)
    }

    /// Bytes of the texels; for a recorded image, its memory requirement.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        if let Some(bytes) = self.image_bytes {
            return bytes;
        }
        [self.height, self.layers, self.samples, self.format.block().bytes]
            .into_iter()
            .fold(u64::from(self.width), |bytes, factor| bytes.saturating_mul(u64::from(factor)))
    }

    /// The texture to create.
    #[must_use]
    pub fn desc(&self) -> TextureDesc {
        let Self { width, height, depth, layers, mips, samples, format, usage, .. } = *self;
        let desc = if depth > 1 {
            TextureDesc::d3(width, height, depth, format, usage)
        } else {
            TextureDesc::d2(width, height, format, usage).layers(layers).samples(samples)
        };
        desc.mips(mips).name("texture")
    }

    fn needs<D: Device>(&self, device: &D) -> Option<u64> {
        Some(device.requirements(&ResourceDesc::Texture(self.desc().info)).ok()?.size)
    }
}

/// Shapes of at least `size` bytes: all useful heights, with as few layers as possible.
fn candidates(
    properties: &Properties,
    size: u64,
    format: Format,
    samples: u32,
) -> impl Iterator<Item = Shape> {
    let limit = properties.max_texture_2d.max(1);
    let texels = size.div_ceil(u64::from(format.block().bytes) * u64::from(samples));
    let layers = texels.div_ceil(u64::from(limit) * u64::from(limit)).max(1);
    let powers = (0..u32::BITS).map(|bit| 1 << bit);
    let rows = (1..=TILE_ROWS).map(|row| row * TILE_HEIGHT);
    powers.chain(rows).filter(move |height| *height <= limit).filter_map(move |height| {
        let width = texels.div_ceil(layers).div_ceil(u64::from(height));
        let (width, layers) = (u32::try_from(width).ok()?, u32::try_from(layers).ok()?);
        (width <= limit).then(|| Shape::plain(width, height, layers, samples, format))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure::device::{ResourceDesc, prelude::*};
    use tenure::sim;

    use super::{MULTISAMPLED_ALIGNMENT, Shape};

    fn needs(device: &sim::Device, shape: &Shape) -> (u64, u64) {
        let needs = device.requirements(&ResourceDesc::Texture(shape.desc().info)).unwrap();
        (needs.size, needs.alignment)
    }

    #[test]
    fn a_possible_size_is_met() {
        let device = sim::Device::new(sim::Profile::DISCRETE);
        for size in [1, 4096, 65_536, 1920 * 1080 * 4, 25_165_824, 268_435_456, 1 << 32, 1 << 33] {
            assert_eq!(Shape::of(&device, size, 64).bytes(), size);
        }
    }

    #[test]
    fn the_multisampled_alignment_makes_a_multisampled_texture() {
        let device = sim::Device::new(sim::Profile::DISCRETE);
        let shape = Shape::of(&device, 33 << 20, MULTISAMPLED_ALIGNMENT);
        let (size, alignment) = needs(&device, &shape);
        assert_eq!((shape.bytes(), alignment), (33 << 20, MULTISAMPLED_ALIGNMENT));
        assert!(size < 34 << 20, "{size}");
    }

    #[test]
    fn a_size_above_every_limit_is_refused() {
        for profile in sim::Profile::ALL {
            let device = sim::Device::new(*profile);
            let shape = Shape::of(&device, tenure_trace::MAX_SIZE, 64);
            let resource = ResourceDesc::Texture(shape.desc().info);
            let is_too_large = device
                .requirements(&resource)
                .map_or(true, |needs| needs.size > device.properties().max_heap_size);
            assert!(is_too_large, "{profile:?}: {shape:?}");
        }
    }

    proptest! {
        #[test]
        fn shapes_require_hardly_more_than_their_bytes(
            bytes in (0_u32..28).prop_flat_map(|bits| (1_u64 << bits)..=(2 << bits)),
            profile in prop::sample::select(sim::Profile::ALL),
        ) {
            let device = sim::Device::new(profile);
            let shape = Shape::of(&device, bytes, 64);
            prop_assert!(shape.bytes() >= bytes);
            // At least whole tiles: 4 KiB for small textures and 64 KiB for others.
            let tile = if bytes <= 65_536 { 4096 } else { 65_536 };
            let least = bytes.next_multiple_of(tile);
            let (size, _) = needs(&device, &shape);
            prop_assert!(size <= least + least / 50, "{size} for {bytes}");
        }
    }
}
