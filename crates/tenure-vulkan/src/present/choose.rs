//! The parameters of a swap chain: the requested ones, as far as the surface supports them.

use ash::vk;
use tenure_core::device::{Format, Usage};
use tenure_core::{PresentMode, SwapchainDesc};

use crate::format::to_vk_format;
use crate::usage::image_usage;

/// Formats to choose from by default, in order of preference.
const PREFERRED: [Format; 4] = [Format::Bgra8Srgb, Format::Rgba8Srgb, Format::Bgra8Unorm, Format::Rgba8Unorm];

/// The extent of a surface whose window takes the size of its swap chain.
const ANY: u32 = u32::MAX;

/// The usage of images.
pub(super) fn usage(desc: &SwapchainDesc) -> Usage {
    Usage::PRESENT | Usage::RENDER_TARGET | desc.usage
}

/// The usage flags of images.
pub(super) fn flags(desc: &SwapchainDesc) -> vk::ImageUsageFlags {
    image_usage(usage(desc))
}

/// The requested format, or the best of the surface's, such that images support the usage.
pub(super) fn format(
    wanted: Option<Format>,
    offered: &[vk::SurfaceFormatKHR],
    is_usable: impl Fn(Format) -> bool,
) -> Option<Format> {
    let is_offered = |format: &Format| {
        let is_found = offered.iter().any(|offered| {
            let any = offered.format == vk::Format::UNDEFINED;
            (any || offered.format == to_vk_format(*format))
                && offered.color_space == vk::ColorSpaceKHR::SRGB_NONLINEAR
        });
        is_found && is_usable(*format)
    };
    match wanted {
        Some(wanted) => Some(wanted).filter(is_offered),
        None => PREFERRED.into_iter().chain(Format::ALL.iter().copied()).find(is_offered),
    }
}

pub(super) const fn vk_mode(mode: PresentMode) -> vk::PresentModeKHR {
    match mode {
        PresentMode::Fifo => vk::PresentModeKHR::FIFO,
        PresentMode::FifoRelaxed => vk::PresentModeKHR::FIFO_RELAXED,
        PresentMode::Mailbox => vk::PresentModeKHR::MAILBOX,
        PresentMode::Immediate => vk::PresentModeKHR::IMMEDIATE,
    }
}

/// The requested mode if available; FIFO always is.
pub(super) fn mode(wanted: PresentMode, offered: &[vk::PresentModeKHR]) -> PresentMode {
    if offered.contains(&vk_mode(wanted)) { wanted } else { PresentMode::Fifo }
}

/// The requested number of images, within the surface's limits.
fn images(wanted: u32, capabilities: &vk::SurfaceCapabilitiesKHR) -> u32 {
    let most = match capabilities.max_image_count {
        0 => u32::MAX,
        most => most,
    };
    wanted.max(capabilities.min_image_count).min(most)
}

/// The window's extent, or the requested one if the window allows any.
fn extent(wanted: [u32; 2], capabilities: &vk::SurfaceCapabilitiesKHR) -> [u32; 2] {
    let vk::SurfaceCapabilitiesKHR { current_extent, min_image_extent, max_image_extent, .. } = *capabilities;
    if (current_extent.width, current_extent.height) != (ANY, ANY) {
        return [current_extent.width, current_extent.height];
    }
    // No `clamp`: it panics if a driver has swapped them.
    [
        wanted[0].max(min_image_extent.width).min(max_image_extent.width),
        wanted[1].max(min_image_extent.height).min(max_image_extent.height),
    ]
}

/// The properties of a chain for the window. A new chain with the same ones would be no improvement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) extent: [u32; 2],
    pub(super) images: u32,
    pub(super) transform: vk::SurfaceTransformFlagsKHR,
    pub(super) alpha: vk::CompositeAlphaFlagsKHR,
}

impl Shape {
    pub(super) fn new(desc: &SwapchainDesc, capabilities: &vk::SurfaceCapabilitiesKHR) -> Self {
        Self {
            extent: extent(desc.size, capabilities),
            images: images(desc.images, capabilities),
            transform: transform(capabilities),
            alpha: alpha(capabilities),
        }
    }
}

/// No transform, if the window supports it.
fn transform(capabilities: &vk::SurfaceCapabilitiesKHR) -> vk::SurfaceTransformFlagsKHR {
    let identity = vk::SurfaceTransformFlagsKHR::IDENTITY;
    match capabilities.supported_transforms.contains(identity) {
        true => identity,
        false => capabilities.current_transform,
    }
}

/// Opaque, if the window supports it.
fn alpha(capabilities: &vk::SurfaceCapabilitiesKHR) -> vk::CompositeAlphaFlagsKHR {
    use vk::CompositeAlphaFlagsKHR as Alpha;
    let order = [Alpha::OPAQUE, Alpha::INHERIT, Alpha::PRE_MULTIPLIED, Alpha::POST_MULTIPLIED];
    let offered = |alpha: &Alpha| capabilities.supported_composite_alpha.contains(*alpha);
    order.into_iter().find(offered).unwrap_or(Alpha::OPAQUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(format: Format) -> vk::SurfaceFormatKHR {
        let color_space = vk::ColorSpaceKHR::SRGB_NONLINEAR;
        vk::SurfaceFormatKHR { format: to_vk_format(format), color_space }
    }

    #[test]
    fn the_format_is_exact_or_the_best() {
        let format = |wanted, offered: &[_]| super::format(wanted, offered, |_| true);
        let both = [offered(Format::Rgba8Unorm), offered(Format::Rgba8Srgb)];
        assert_eq!(format(None, &both), Some(Format::Rgba8Srgb));
        assert_eq!(format(None, &both[..1]), Some(Format::Rgba8Unorm));
        assert_eq!(format(Some(Format::Rgba8Unorm), &both), Some(Format::Rgba8Unorm));
        assert_eq!(format(Some(Format::Bgra8Srgb), &both), None);
        assert_eq!(format(None, &[offered(Format::Rgb10A2Unorm)]), Some(Format::Rgb10A2Unorm));
        assert_eq!(format(None, &[]), None);
        let is_linear = |format| format == Format::Rgba8Unorm;
        assert_eq!(super::format(None, &both, is_linear), Some(Format::Rgba8Unorm), "for storage");
        assert_eq!(super::format(Some(Format::Rgba8Srgb), &both, is_linear), None);
        let hdr = vk::ColorSpaceKHR::HDR10_ST2084_EXT;
        let hdr = vk::SurfaceFormatKHR { color_space: hdr, ..offered(Format::Rgb10A2Unorm) };
        assert_eq!(format(None, &[hdr]), None);
        let any = vk::SurfaceFormatKHR { format: vk::Format::UNDEFINED, ..hdr };
        let any = vk::SurfaceFormatKHR { color_space: vk::ColorSpaceKHR::SRGB_NONLINEAR, ..any };
        assert_eq!(format(None, &[any]), Some(Format::Bgra8Srgb));
    }

    #[test]
    fn counts_and_extents_are_within_the_surface() {
        let extent_of = |width, height| vk::Extent2D { width, height };
        let mut found = vk::SurfaceCapabilitiesKHR {
            min_image_count: 2,
            max_image_count: 4,
            current_extent: extent_of(ANY, ANY),
            min_image_extent: extent_of(1, 1),
            max_image_extent: extent_of(4096, 2048),
            ..Default::default()
        };
        assert_eq!([0, 3, 9].map(|wanted| images(wanted, &found)), [2, 3, 4]);
        assert_eq!(extent([8192, 8192], &found), [4096, 2048]);
        found.max_image_count = 0;
        found.current_extent = extent_of(640, 0);
        assert_eq!(images(9, &found), 9, "no limit");
        assert_eq!(extent([8192, 8192], &found), [640, 0]);
    }

    #[test]
    fn a_mode_that_is_missing_is_fifo() {
        let offered = [vk::PresentModeKHR::FIFO, vk::PresentModeKHR::MAILBOX];
        assert_eq!(mode(PresentMode::Mailbox, &offered), PresentMode::Mailbox);
        assert_eq!(mode(PresentMode::Immediate, &offered), PresentMode::Fifo);
        assert_eq!(mode(PresentMode::FifoRelaxed, &[]), PresentMode::Fifo);
    }
}
