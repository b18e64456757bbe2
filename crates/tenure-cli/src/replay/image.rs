//! Images that a recording from Vulkan describes. A replay on another device creates the same images, with that
//! device's sizes.

use tenure::Format;
use tenure::Usage;
use tenure_trace::Details;

/// A Vulkan image description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    /// Texels.
    pub(super) extent: [u32; 3],
    /// `VkFormat`.
    format: u32,
    pub(super) mips: u32,
    pub(super) layers: u32,
    pub(super) samples: u32,
    /// `VkImageUsageFlags`.
    usage: u64,
}

impl Image {
    /// The image, if the recording contains its extent and format.
    pub(super) fn of(details: &Details) -> Option<Self> {
        let Details { extent, format, mips, layers, samples, usage, .. } = details;
        Some(Self {
            extent: (*extent)?,
            format: (*format)?,
            mips: mips.unwrap_or(1),
            layers: layers.unwrap_or(1),
            samples: samples.unwrap_or(1),
            usage: usage.unwrap_or(0),
        })
    }

    /// A format with the same kind and size of blocks, if there is one.
    pub(super) const fn format(&self) -> Option<Format> {
        Some(match self.format {
            1 | 9..=15 => Format::R8Unorm,
            2..=8 | 16..=22 | 70..=75 => Format::Rg8Unorm,
            37..=69 | 77..=82 | 98..=99 | 122..=123 => Format::Rgba8Unorm,
            76 => Format::R16Float,
            83 => Format::Rg16Float,
            91..=97 | 101..=103 => Format::Rgba16Float,
            100 => Format::R32Float,
            107..=109 => Format::Rgba32Float,
            124 => Format::D16Unorm,
            125 | 126 => Format::D32Float,
            129 => Format::D24UnormS8Uint,
            130 => Format::D32FloatS8Uint,
            131..=134 => Format::Bc1Unorm,
            135..=138 => Format::Bc3Unorm,
            139..=140 => Format::Bc4Unorm,
            141..=142 => Format::Bc5Unorm,
            143..=146 => Format::Bc7Unorm,
            147..=150 => Format::Etc2Rgb8Unorm,
            151..=152 => Format::Etc2Rgba8Unorm,
            157..=158 => Format::Astc4x4Unorm,
            165..=166 => Format::Astc6x6Unorm,
            171..=172 => Format::Astc8x8Unorm,
            _ => return None,
        })
    }

    pub(super) fn usage(&self) -> Usage {
        const USAGES: [(u64, Usage); 6] = [
            (0x1, Usage::COPY_SRC),
            (0x2, Usage::COPY_DST),
            (0x4, Usage::SHADER_READ),
            (0x8, Usage::UNORDERED_ACCESS),
            (0x10, Usage::RENDER_TARGET),
            (0x20, Usage::DEPTH_STENCIL),
        ];
        let asked = USAGES.into_iter().filter(|(flag, _)| self.usage & flag != 0);
        asked.fold(Usage::empty(), |usage, (_, more)| usage | more)
    }
}
