//! Texel formats, as far as memory management needs to know them.

/// How a texel format lies in memory: its block of texels and that block's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Texels across one block.
    pub width: u32,
    /// Texels down one block.
    pub height: u32,
    /// Bytes of one block.
    pub bytes: u32,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: $width:literal x $height:literal, $bytes:literal;)*) => {
        /// A texel format.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format { $($(#[$doc])* $name,)* }

        impl Format {
            /// Every format, for tests and tables.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The size of one block of texels.
            ///
            /// ```
            /// use tenure::Format;
            /// assert_eq!(Format::Rgba8Unorm.block().bytes, 4);
            /// assert_eq!(Format::Bc1Unorm.block().width, 4);
            /// ```
            #[must_use]
            pub const fn block(self) -> Block {
                match self { $(Self::$name => Block { width: $width, height: $height, bytes: $bytes },)* }
            }
        }
    };
}

formats! {
    /// One 8-bit channel.
    R8Unorm: 1 x 1, 1;
    /// Two 8-bit channels.
    Rg8Unorm: 1 x 1, 2;
    /// Four 8-bit channels.
    Rgba8Unorm: 1 x 1, 4;
    /// Four 8-bit channels, sRGB.
    Rgba8Srgb: 1 x 1, 4;
    /// Four 8-bit channels, blue first.
    Bgra8Unorm: 1 x 1, 4;
    /// Four 8-bit channels, blue first, sRGB.
    Bgra8Srgb: 1 x 1, 4;
    /// 10-bit colour, 2-bit alpha.
    Rgb10A2Unorm: 1 x 1, 4;
    /// Packed floating-point colour without alpha.
    R11G11B10Float: 1 x 1, 4;
    /// One half float.
    R16Float: 1 x 1, 2;
    /// Two half floats.
    Rg16Float: 1 x 1, 4;
    /// Four half floats.
    Rgba16Float: 1 x 1, 8;
    /// One 32-bit unsigned integer.
    R32Uint: 1 x 1, 4;
    /// One float.
    R32Float: 1 x 1, 4;
    /// Two floats.
    Rg32Float: 1 x 1, 8;
    /// Four floats.
    Rgba32Float: 1 x 1, 16;
    /// 16-bit depth.
    D16Unorm: 1 x 1, 2;
    /// 24-bit depth, 8-bit stencil.
    D24UnormS8Uint: 1 x 1, 4;
    /// Float depth.
    D32Float: 1 x 1, 4;
    /// Float depth, 8-bit stencil.
    D32FloatS8Uint: 1 x 1, 8;
    /// Block-compressed colour, 4 bits a texel.
    Bc1Unorm: 4 x 4, 8;
    /// Block-compressed colour with alpha, 8 bits a texel.
    Bc3Unorm: 4 x 4, 16;
    /// Block-compressed single channel, 4 bits a texel.
    Bc4Unorm: 4 x 4, 8;
    /// Block-compressed two channels, 8 bits a texel.
    Bc5Unorm: 4 x 4, 16;
    /// Block-compressed floating-point colour, 8 bits a texel.
    Bc6hFloat: 4 x 4, 16;
    /// Block-compressed colour of high quality, 8 bits a texel.
    Bc7Unorm: 4 x 4, 16;
}

impl Format {
    /// True for formats of depth-stencil targets.
    #[must_use]
    pub const fn is_depth(self) -> bool {
        matches!(self, Self::D16Unorm | Self::D24UnormS8Uint | Self::D32Float | Self::D32FloatS8Uint)
    }
    /// True for formats of depth and stencil at once, which APIs copy apart.
    #[must_use]
    pub const fn has_stencil(self) -> bool {
        matches!(self, Self::D24UnormS8Uint | Self::D32FloatS8Uint)
    }
}
