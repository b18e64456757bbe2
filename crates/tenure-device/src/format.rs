//! Texel formats, to the extent that memory management needs.

/// Memory layout of a texel format: the extent and the size of a block of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexelBlock {
    /// Width of a block in texels.
    pub width: u32,
    /// Height of a block in texels.
    pub height: u32,
    /// Size of a block in bytes.
    pub bytes: u32,
}

/// A plane of a texel format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plane {
    /// Colour or depth.
    #[default]
    First,
    /// Stencil.
    Stencil,
}

/// The families of block-compressed formats; a device supports a family as a whole.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// BC1 to BC7: on desktop GPUs, and the only family of Direct3D 12.
    Bc,
    /// ETC2 and EAC: on phones.
    Etc2,
    /// ASTC for values from 0 to 1 (LDR): on phones.
    Astc,
}

/// The kind of a format's contents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Color,
    Depth,
    DepthStencil,
    Compressed(Compression),
}

use Class::{Color, Depth, DepthStencil};

#[expect(non_upper_case_globals, reason = "words of the table beside the names of an enum")]
mod compressed {
    use super::{Class, Compression};

    pub(super) const Bc: Class = Class::Compressed(Compression::Bc);
    pub(super) const Etc2: Class = Class::Compressed(Compression::Etc2);
    pub(super) const Astc: Class = Class::Compressed(Compression::Astc);
}
use compressed::{Astc, Bc, Etc2};

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: $width:literal x $height:literal, $bytes:literal, $class:ident;)*) => {
        /// A texel format.
        ///
        /// No device supports all of them: see `Gpu::supports_format`.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format { $($(#[$doc])* $name,)* }

        impl Format {
            /// Every format, for tests and tables.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The size of one block of texels, depth and stencil together.
            ///
            /// ```
            /// use tenure::Format;
            /// assert_eq!(Format::Rgba8Unorm.block().bytes, 4);
            /// assert_eq!(Format::Bc1Unorm.block().width, 4);
            /// ```
            #[must_use]
            pub const fn block(self) -> TexelBlock {
                match self { $(Self::$name => TexelBlock { width: $width, height: $height, bytes: $bytes },)* }
            }

            const fn class(self) -> Class {
                match self { $(Self::$name => $class,)* }
            }
        }
    };
}

formats! {
    /// One 8-bit channel, unsigned, from 0 to 1.
    R8Unorm: 1 x 1, 1, Color;
    /// One 8-bit channel, signed, from -1 to 1.
    R8Snorm: 1 x 1, 1, Color;
    /// One 8-bit channel, unsigned integers.
    R8Uint: 1 x 1, 1, Color;
    /// One 8-bit channel, signed integers.
    R8Sint: 1 x 1, 1, Color;
    /// Two 8-bit channels, unsigned, from 0 to 1.
    Rg8Unorm: 1 x 1, 2, Color;
    /// Two 8-bit channels, signed, from -1 to 1.
    Rg8Snorm: 1 x 1, 2, Color;
    /// Two 8-bit channels, unsigned integers.
    Rg8Uint: 1 x 1, 2, Color;
    /// Two 8-bit channels, signed integers.
    Rg8Sint: 1 x 1, 2, Color;
    /// Four 8-bit channels, unsigned, from 0 to 1.
    Rgba8Unorm: 1 x 1, 4, Color;
    /// Four 8-bit channels, sRGB.
    Rgba8Srgb: 1 x 1, 4, Color;
    /// Four 8-bit channels, signed, from -1 to 1.
    Rgba8Snorm: 1 x 1, 4, Color;
    /// Four 8-bit channels, unsigned integers.
    Rgba8Uint: 1 x 1, 4, Color;
    /// Four 8-bit channels, signed integers.
    Rgba8Sint: 1 x 1, 4, Color;
    /// Four 8-bit channels, blue first.
    Bgra8Unorm: 1 x 1, 4, Color;
    /// Four 8-bit channels, blue first, sRGB.
    Bgra8Srgb: 1 x 1, 4, Color;
    /// 16 bits: 5 for blue (the lowest), 6 for green, 5 for red.
    B5G6R5Unorm: 1 x 1, 2, Color;
    /// 16 bits: 5 for blue (the lowest), green and red each, 1 for alpha.
    Bgr5A1Unorm: 1 x 1, 2, Color;
    /// 10-bit colour, 2-bit alpha.
    Rgb10A2Unorm: 1 x 1, 4, Color;
    /// 10-bit colour, 2-bit alpha, unsigned integers.
    Rgb10A2Uint: 1 x 1, 4, Color;
    /// Packed floating-point colour without alpha.
    R11G11B10Float: 1 x 1, 4, Color;
    /// Floating-point colour without alpha: 9 bits each and one exponent of 5 bits. Read-only in shaders.
    Rgb9E5Float: 1 x 1, 4, Color;
    /// One 16-bit channel, unsigned, from 0 to 1.
    R16Unorm: 1 x 1, 2, Color;
    /// One 16-bit channel, signed, from -1 to 1.
    R16Snorm: 1 x 1, 2, Color;
    /// One 16-bit channel, unsigned integers.
    R16Uint: 1 x 1, 2, Color;
    /// One 16-bit channel, signed integers.
    R16Sint: 1 x 1, 2, Color;
    /// One half float.
    R16Float: 1 x 1, 2, Color;
    /// Two 16-bit channels, unsigned, from 0 to 1.
    Rg16Unorm: 1 x 1, 4, Color;
    /// Two 16-bit channels, signed, from -1 to 1.
    Rg16Snorm: 1 x 1, 4, Color;
    /// Two 16-bit channels, unsigned integers.
    Rg16Uint: 1 x 1, 4, Color;
    /// Two 16-bit channels, signed integers.
    Rg16Sint: 1 x 1, 4, Color;
    /// Two half floats.
    Rg16Float: 1 x 1, 4, Color;
    /// Four 16-bit channels, unsigned, from 0 to 1.
    Rgba16Unorm: 1 x 1, 8, Color;
    /// Four 16-bit channels, signed, from -1 to 1.
    Rgba16Snorm: 1 x 1, 8, Color;
    /// Four 16-bit channels, unsigned integers.
    Rgba16Uint: 1 x 1, 8, Color;
    /// Four 16-bit channels, signed integers.
    Rgba16Sint: 1 x 1, 8, Color;
    /// Four half floats.
    Rgba16Float: 1 x 1, 8, Color;
    /// One 32-bit unsigned integer.
    R32Uint: 1 x 1, 4, Color;
    /// One 32-bit signed integer.
    R32Sint: 1 x 1, 4, Color;
    /// One float.
    R32Float: 1 x 1, 4, Color;
    /// Two 32-bit unsigned integers.
    Rg32Uint: 1 x 1, 8, Color;
    /// Two 32-bit signed integers.
    Rg32Sint: 1 x 1, 8, Color;
    /// Two floats.
    Rg32Float: 1 x 1, 8, Color;
    /// Four 32-bit unsigned integers.
    Rgba32Uint: 1 x 1, 16, Color;
    /// Four 32-bit signed integers.
    Rgba32Sint: 1 x 1, 16, Color;
    /// Four floats.
    Rgba32Float: 1 x 1, 16, Color;
    /// 16-bit depth.
    D16Unorm: 1 x 1, 2, Depth;
    /// 24-bit depth, 8-bit stencil. Not supported by every device: see `Gpu::depth_stencil_format`.
    D24UnormS8Uint: 1 x 1, 4, DepthStencil;
    /// Float depth.
    D32Float: 1 x 1, 4, Depth;
    /// Float depth, 8-bit stencil.
    D32FloatS8Uint: 1 x 1, 8, DepthStencil;
    /// BC1: colour, 1-bit alpha.
    Bc1Unorm: 4 x 4, 8, Bc;
    /// BC1: colour, 1-bit alpha, sRGB.
    Bc1Srgb: 4 x 4, 8, Bc;
    /// BC2: colour, 4-bit alpha.
    Bc2Unorm: 4 x 4, 16, Bc;
    /// BC2: colour, 4-bit alpha, sRGB.
    Bc2Srgb: 4 x 4, 16, Bc;
    /// BC3: colour, smooth alpha.
    Bc3Unorm: 4 x 4, 16, Bc;
    /// BC3: colour, smooth alpha, sRGB.
    Bc3Srgb: 4 x 4, 16, Bc;
    /// BC4: one channel, from 0 to 1.
    Bc4Unorm: 4 x 4, 8, Bc;
    /// BC4: one channel, from -1 to 1.
    Bc4Snorm: 4 x 4, 8, Bc;
    /// BC5: two channels, from 0 to 1.
    Bc5Unorm: 4 x 4, 16, Bc;
    /// BC5: two channels, from -1 to 1.
    Bc5Snorm: 4 x 4, 16, Bc;
    /// BC6H: half-float colour, never negative.
    Bc6hUfloat: 4 x 4, 16, Bc;
    /// BC6H: half-float colour, signed.
    Bc6hSfloat: 4 x 4, 16, Bc;
    /// BC7: colour and alpha of high quality.
    Bc7Unorm: 4 x 4, 16, Bc;
    /// BC7: colour and alpha of high quality, sRGB.
    Bc7Srgb: 4 x 4, 16, Bc;
    /// ETC2: colour.
    Etc2Rgb8Unorm: 4 x 4, 8, Etc2;
    /// ETC2: colour, sRGB.
    Etc2Rgb8Srgb: 4 x 4, 8, Etc2;
    /// ETC2: colour, 1-bit alpha.
    Etc2Rgb8A1Unorm: 4 x 4, 8, Etc2;
    /// ETC2: colour, 1-bit alpha, sRGB.
    Etc2Rgb8A1Srgb: 4 x 4, 8, Etc2;
    /// ETC2: colour, alpha.
    Etc2Rgba8Unorm: 4 x 4, 16, Etc2;
    /// ETC2: colour, alpha, sRGB.
    Etc2Rgba8Srgb: 4 x 4, 16, Etc2;
    /// EAC: one channel, from 0 to 1.
    EacR11Unorm: 4 x 4, 8, Etc2;
    /// EAC: one channel, from -1 to 1.
    EacR11Snorm: 4 x 4, 8, Etc2;
    /// EAC: two channels, from 0 to 1.
    EacRg11Unorm: 4 x 4, 16, Etc2;
    /// EAC: two channels, from -1 to 1.
    EacRg11Snorm: 4 x 4, 16, Etc2;
    /// ASTC: blocks of 4 by 4 texels.
    Astc4x4Unorm: 4 x 4, 16, Astc;
    /// ASTC: blocks of 4 by 4 texels, sRGB.
    Astc4x4Srgb: 4 x 4, 16, Astc;
    /// ASTC: blocks of 5 by 4 texels.
    Astc5x4Unorm: 5 x 4, 16, Astc;
    /// ASTC: blocks of 5 by 4 texels, sRGB.
    Astc5x4Srgb: 5 x 4, 16, Astc;
    /// ASTC: blocks of 5 by 5 texels.
    Astc5x5Unorm: 5 x 5, 16, Astc;
    /// ASTC: blocks of 5 by 5 texels, sRGB.
    Astc5x5Srgb: 5 x 5, 16, Astc;
    /// ASTC: blocks of 6 by 5 texels.
    Astc6x5Unorm: 6 x 5, 16, Astc;
    /// ASTC: blocks of 6 by 5 texels, sRGB.
    Astc6x5Srgb: 6 x 5, 16, Astc;
    /// ASTC: blocks of 6 by 6 texels.
    Astc6x6Unorm: 6 x 6, 16, Astc;
    /// ASTC: blocks of 6 by 6 texels, sRGB.
    Astc6x6Srgb: 6 x 6, 16, Astc;
    /// ASTC: blocks of 8 by 5 texels.
    Astc8x5Unorm: 8 x 5, 16, Astc;
    /// ASTC: blocks of 8 by 5 texels, sRGB.
    Astc8x5Srgb: 8 x 5, 16, Astc;
    /// ASTC: blocks of 8 by 6 texels.
    Astc8x6Unorm: 8 x 6, 16, Astc;
    /// ASTC: blocks of 8 by 6 texels, sRGB.
    Astc8x6Srgb: 8 x 6, 16, Astc;
    /// ASTC: blocks of 8 by 8 texels.
    Astc8x8Unorm: 8 x 8, 16, Astc;
    /// ASTC: blocks of 8 by 8 texels, sRGB.
    Astc8x8Srgb: 8 x 8, 16, Astc;
    /// ASTC: blocks of 10 by 5 texels.
    Astc10x5Unorm: 10 x 5, 16, Astc;
    /// ASTC: blocks of 10 by 5 texels, sRGB.
    Astc10x5Srgb: 10 x 5, 16, Astc;
    /// ASTC: blocks of 10 by 6 texels.
    Astc10x6Unorm: 10 x 6, 16, Astc;
    /// ASTC: blocks of 10 by 6 texels, sRGB.
    Astc10x6Srgb: 10 x 6, 16, Astc;
    /// ASTC: blocks of 10 by 8 texels.
    Astc10x8Unorm: 10 x 8, 16, Astc;
    /// ASTC: blocks of 10 by 8 texels, sRGB.
    Astc10x8Srgb: 10 x 8, 16, Astc;
    /// ASTC: blocks of 10 by 10 texels.
    Astc10x10Unorm: 10 x 10, 16, Astc;
    /// ASTC: blocks of 10 by 10 texels, sRGB.
    Astc10x10Srgb: 10 x 10, 16, Astc;
    /// ASTC: blocks of 12 by 10 texels.
    Astc12x10Unorm: 12 x 10, 16, Astc;
    /// ASTC: blocks of 12 by 10 texels, sRGB.
    Astc12x10Srgb: 12 x 10, 16, Astc;
    /// ASTC: blocks of 12 by 12 texels.
    Astc12x12Unorm: 12 x 12, 16, Astc;
    /// ASTC: blocks of 12 by 12 texels, sRGB.
    Astc12x12Srgb: 12 x 12, 16, Astc;
}

/// Pairs of linear and sRGB formats.
const SRGB: [(Format, Format); 23] = [
    (Format::Rgba8Unorm, Format::Rgba8Srgb),
    (Format::Bgra8Unorm, Format::Bgra8Srgb),
    (Format::Bc1Unorm, Format::Bc1Srgb),
    (Format::Bc2Unorm, Format::Bc2Srgb),
    (Format::Bc3Unorm, Format::Bc3Srgb),
    (Format::Bc7Unorm, Format::Bc7Srgb),
    (Format::Etc2Rgb8Unorm, Format::Etc2Rgb8Srgb),
    (Format::Etc2Rgb8A1Unorm, Format::Etc2Rgb8A1Srgb),
    (Format::Etc2Rgba8Unorm, Format::Etc2Rgba8Srgb),
    (Format::Astc4x4Unorm, Format::Astc4x4Srgb),
    (Format::Astc5x4Unorm, Format::Astc5x4Srgb),
    (Format::Astc5x5Unorm, Format::Astc5x5Srgb),
    (Format::Astc6x5Unorm, Format::Astc6x5Srgb),
    (Format::Astc6x6Unorm, Format::Astc6x6Srgb),
    (Format::Astc8x5Unorm, Format::Astc8x5Srgb),
    (Format::Astc8x6Unorm, Format::Astc8x6Srgb),
    (Format::Astc8x8Unorm, Format::Astc8x8Srgb),
    (Format::Astc10x5Unorm, Format::Astc10x5Srgb),
    (Format::Astc10x6Unorm, Format::Astc10x6Srgb),
    (Format::Astc10x8Unorm, Format::Astc10x8Srgb),
    (Format::Astc10x10Unorm, Format::Astc10x10Srgb),
    (Format::Astc12x10Unorm, Format::Astc12x10Srgb),
    (Format::Astc12x12Unorm, Format::Astc12x12Srgb),
];

/// Further pairs of compressed formats with equal blocks that differ only in the interpretation of the bits.
const SIGNED: [(Format, Format); 5] = [
    (Format::Bc4Unorm, Format::Bc4Snorm),
    (Format::Bc5Unorm, Format::Bc5Snorm),
    (Format::Bc6hUfloat, Format::Bc6hSfloat),
    (Format::EacR11Unorm, Format::EacR11Snorm),
    (Format::EacRg11Unorm, Format::EacRg11Snorm),
];

/// The other format of a pair.
fn other(pairs: &[(Format, Format)], format: Format) -> Option<Format> {
    pairs.iter().find_map(|&(one, two)| match format {
        format if format == one => Some(two),
        format if format == two => Some(one),
        _ => None,
    })
}

impl Format {
    /// True for formats of depth-stencil targets.
    #[must_use]
    pub const fn is_depth(self) -> bool {
        matches!(self.class(), Depth | DepthStencil)
    }

    /// True for formats with both depth and stencil, whose planes the APIs copy separately.
    #[must_use]
    pub const fn has_stencil(self) -> bool {
        matches!(self.class(), DepthStencil)
    }

    /// The family of a block-compressed format.
    #[must_use]
    pub const fn compression(self) -> Option<Compression> {
        match self.class() {
            Class::Compressed(compression) => Some(compression),
            _ => None,
        }
    }

    /// True for block-compressed formats.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.compression().is_some()
    }

    /// True for sRGB formats.
    #[must_use]
    pub fn is_srgb(self) -> bool {
        SRGB.iter().any(|&(_, srgb)| srgb == self)
    }

    /// The sRGB variant of the format, if there is one.
    ///
    /// ```
    /// use tenure::Format;
    /// assert_eq!(Format::Bc7Unorm.to_srgb(), Some(Format::Bc7Srgb));
    /// assert_eq!(Format::Bc7Srgb.to_srgb(), Some(Format::Bc7Srgb));
    /// assert_eq!(Format::Bc5Unorm.to_srgb(), None);
    /// ```
    #[must_use]
    pub fn to_srgb(self) -> Option<Self> {
        SRGB.iter().find(|&&(linear, srgb)| self == linear || self == srgb).map(|&(_, srgb)| srgb)
    }

    /// The linear variant of the format: itself, unless it is an sRGB format.
    #[must_use]
    pub fn to_linear(self) -> Self {
        if self.is_srgb() { other(&SRGB, self).unwrap_or(self) } else { self }
    }

    /// The sRGB variant of a linear format, and the reverse; `None` where there is none. Views of a texture may have it if
    /// `TextureDesc::view_formats` contains it.
    ///
    /// ```
    /// use tenure::Format;
    /// assert_eq!(Format::Rgba8Srgb.srgb_twin(), Some(Format::Rgba8Unorm));
    /// assert_eq!(Format::Rgba8Unorm.srgb_twin(), Some(Format::Rgba8Srgb));
    /// ```
    #[must_use]
    pub fn srgb_twin(self) -> Option<Self> {
        other(&SRGB, self)
    }

    /// True when the APIs allow views of one format in the other: colour formats with texels of equal size; for compressed
    /// formats only pairs that differ in the interpretation of the bits.
    ///
    /// ```
    /// use tenure::Format;
    /// assert!(Format::Rgba8Unorm.is_castable_to(Format::R32Uint));
    /// assert!(Format::Bc4Unorm.is_castable_to(Format::Bc4Snorm));
    /// assert!(!Format::Bc3Unorm.is_castable_to(Format::Bc7Unorm));
    /// ```
    #[must_use]
    pub fn is_castable_to(self, format: Self) -> bool {
        match (self.class(), format.class()) {
            (Color, Color) => self.block().bytes == format.block().bytes,
            (Class::Compressed(_), Class::Compressed(_)) => {
                self == format || [&SRGB[..], &SIGNED].iter().any(|pairs| other(pairs, self) == Some(format))
            }
            _ => false,
        }
    }

    /// The block of one plane in a buffer, as used by copies; `None` for stencil of a format without stencil. For 24-bit depth
    /// it has 4 bytes; the highest byte is written as 0 and undefined when read.
    ///
    /// ```
    /// use tenure::{Format, resource::Plane};
    /// let bytes = |format: Format, plane| format.plane_block(plane).map(|block| block.bytes);
    /// assert_eq!(bytes(Format::D24UnormS8Uint, Plane::First), Some(4));
    /// assert_eq!(bytes(Format::D32FloatS8Uint, Plane::Stencil), Some(1));
    /// assert_eq!(bytes(Format::D32Float, Plane::Stencil), None);
    /// ```
    #[must_use]
    pub const fn plane_block(self, plane: Plane) -> Option<TexelBlock> {
        match (plane, self.class()) {
            (Plane::First, DepthStencil) => Some(TexelBlock { width: 1, height: 1, bytes: 4 }),
            (Plane::First, _) => Some(self.block()),
            (Plane::Stencil, DepthStencil) => Some(TexelBlock { width: 1, height: 1, bytes: 1 }),
            (Plane::Stencil, _) => None,
        }
    }

    /// Alignment in bytes of a plane's texels in a buffer, in addition to the device's alignments: the block size, and on
    /// Vulkan 4 for depth and stencil. 1 for a plane that the format lacks.
    #[must_use]
    pub const fn copy_alignment(self, plane: Plane) -> u64 {
        match self.plane_block(plane) {
            Some(TexelBlock { bytes: 0..4, .. }) if self.is_depth() => 4,
            Some(block) => block.bytes as u64,
            None => 1,
        }
    }

    /// The planes, which are copied individually: one, plus stencil if the format has it.
    #[must_use]
    pub const fn planes(self) -> &'static [Plane] {
        if self.has_stencil() { &[Plane::First, Plane::Stencil] } else { &[Plane::First] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_twin_has_an_equal_block_and_name() {
        for format in Format::ALL.iter().copied() {
            let Some(twin) = format.srgb_twin() else {
                assert!(!format.is_srgb(), "{format:?}");
                assert_eq!((format.to_linear(), format.to_srgb()), (format, None));
                continue;
            };
            let named = |format: Format| format!("{format:?}").replace("Srgb", "Unorm");
            assert_eq!((twin.block(), named(twin)), (format.block(), named(format)));
            assert_ne!(format.is_srgb(), twin.is_srgb());
            assert_eq!(twin.srgb_twin(), Some(format));
            assert_eq!(format.to_srgb(), twin.to_srgb());
            assert_eq!(format.to_linear(), twin.to_linear());
            assert!(format.is_castable_to(twin));
        }
        let srgb = Format::ALL.iter().filter(|format| format!("{format:?}").ends_with("Srgb"));
        assert_eq!(srgb.count(), SRGB.len(), "each sRGB format is in the table");
    }

    #[test]
    fn compressed_formats_are_cast_within_their_kind_alone() {
        for (one, two) in Format::ALL.iter().flat_map(|one| Format::ALL.iter().map(move |two| (*one, *two))) {
            assert_eq!(one.is_castable_to(two), two.is_castable_to(one), "{one:?} {two:?}");
            let kind = |format: Format| {
                let name = format!("{format:?}");
                ["Unorm", "Snorm", "Srgb", "Ufloat", "Sfloat"]
                    .iter()
                    .fold(name, |name, end| name.replace(end, ""))
            };
            if one.is_compressed() {
                assert_eq!(one.is_castable_to(two), kind(one) == kind(two), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn planes_are_of_depth_and_stencil() {
        for format in Format::ALL.iter().copied() {
            assert_eq!(format.planes().len(), if format.has_stencil() { 2 } else { 1 });
            let blocks = format.planes().iter().filter_map(|plane| format.plane_block(*plane));
            assert_eq!(blocks.count(), format.planes().len());
            assert_eq!(format.plane_block(Plane::Stencil).is_some(), format.has_stencil());
            assert_eq!(format.is_compressed(), format.block().width > 1, "{format:?}");
        }
    }
}
