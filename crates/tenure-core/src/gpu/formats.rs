//! Format support of the device.

use crate::Gpu;
use crate::device::{Device, Format, Usage};

impl<D: Device> Gpu<D> {
    /// True when the device supports plain 2D textures of a format for all of `usage`.
    ///
    /// Desktop GPUs support BC1 to BC7, phones ETC2 and ASTC; a Vulkan device supports a family where its feature is enabled.
    /// Nearly all devices can sample nearly all uncompressed formats, but not every format is renderable or supports
    /// `UNORDERED_ACCESS`.
    ///
    /// The first query of a format and a usage asks the driver; false also when the device is lost.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, Usage, sim};
    ///
    /// let desktop = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// assert!(desktop.supports_format(Format::Bc7Srgb, Usage::SHADER_READ | Usage::COPY_DST));
    /// assert!(!desktop.supports_format(Format::Bc7Srgb, Usage::RENDER_TARGET));
    /// let phone = Gpu::new(sim::Device::new(sim::Profile::VULKAN_MOBILE), Config::default())?;
    /// let albedo = [Format::Bc7Srgb, Format::Astc4x4Srgb]
    ///     .into_iter()
    ///     .find(|format| phone.supports_format(*format, Usage::SHADER_READ | Usage::COPY_DST));
    /// assert_eq!(albedo, Some(Format::Astc4x4Srgb));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn supports_format(&self, format: Format, usage: Usage) -> bool {
        self.device().supports_format(format, usage)
    }

    /// True when [`generate_mips`](crate::Commands::generate_mips) works for textures of a format: where Vulkan has linear
    /// blits for it. Always false on Direct3D 12, and for depth, integers and compressed formats.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_AMD_SMALL_BAR), Config::default())?;
    /// assert!(gpu.generates_mips(Format::Rgba8Srgb));
    /// assert!(!gpu.generates_mips(Format::Rgba8Uint));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn generates_mips(&self, format: Format) -> bool {
        self.device().generates_mips(format)
    }

    /// The supported depth format nearest to `wanted`, with the uses of `usage` besides: `wanted` itself where supported, else
    /// one with at least as many bits of depth, else one with fewer; with stencil where `wanted` has it. `None` for a colour
    /// format.
    ///
    /// Every device supports `D16Unorm`, and `D32Float` or a format of 24 bits; and `D24UnormS8Uint` or `D32FloatS8Uint`: AMD's
    /// Vulkan devices support the latter only. The layout of texels in buffers depends on the format ([`Format::plane_block`]):
    /// a program that copies depth must use the texture's format.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, TextureDesc, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_AMD_SMALL_BAR), Config::default())?;
    /// let format = gpu.depth_stencil_format(Format::D24UnormS8Uint, Usage::SHADER_READ);
    /// assert_eq!(format, Some(Format::D32FloatS8Uint));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    #[inline(never)]
    pub fn depth_stencil_format(&self, wanted: Format, usage: Usage) -> Option<Format> {
        let usage = usage | Usage::DEPTH_STENCIL;
        let mut candidates = depth_candidates(wanted).iter().copied();
        candidates.find(|format| self.supports_format(*format, usage))
    }
}

/// The formats to try for a depth target in place of `wanted`, the nearest first: formats with at least as many bits of depth,
/// and stencil if wanted, before formats with fewer. Empty for colours.
const fn depth_candidates(wanted: Format) -> &'static [Format] {
    use Format::{D16Unorm, D24UnormS8Uint, D32Float, D32FloatS8Uint};
    match wanted {
        D16Unorm => &[D16Unorm, D32Float, D24UnormS8Uint, D32FloatS8Uint],
        D32Float => &[D32Float, D32FloatS8Uint, D24UnormS8Uint, D16Unorm],
        D24UnormS8Uint => &[D24UnormS8Uint, D32FloatS8Uint],
        D32FloatS8Uint => &[D32FloatS8Uint, D24UnormS8Uint],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, depth_candidates};

    #[test]
    fn candidates_for_depth_have_depth_and_keep_stencil() {
        for format in Format::ALL.iter().copied() {
            for candidate in depth_candidates(format) {
                assert!(candidate.is_depth() && (candidate.has_stencil() || !format.has_stencil()));
            }
            assert_eq!(depth_candidates(format).first(), format.is_depth().then_some(&format));
        }
    }
}
