//! The parameters of a swap chain: the requested ones, within the capabilities of the surface.

use ash::vk;
use tenure_core::device::Usage;
use tenure_core::{ColorSpace, PresentMode, SurfaceFormat, SwapchainDesc};

use crate::format::to_vk_format;
use crate::usage::image_usage;

/// The extent of a surface whose window has the size of its swap chain.
const ANY: u32 = u32::MAX;

/// The usage of images.
pub(super) fn usage(desc: &SwapchainDesc) -> Usage {
    Usage::PRESENT | Usage::RENDER_TARGET | desc.usage
}

/// The usage flags of images.
pub(super) fn flags(desc: &SwapchainDesc) -> vk::ImageUsageFlags {
    image_usage(usage(desc))
}

/// Whether the surface has images of a format.
pub(super) fn is_offered(wanted: SurfaceFormat, offered: &[vk::SurfaceFormatKHR]) -> bool {
    let SurfaceFormat { format, color_space } = wanted;
    offered.iter().any(|offered| {
        let any = offered.format == vk::Format::UNDEFINED;
        (any || offered.format == to_vk_format(format)) && Some(offered.color_space) == vk_space(color_space)
    })
}

pub(super) const fn vk_space(space: ColorSpace) -> Option<vk::ColorSpaceKHR> {
    Some(match space {
        ColorSpace::Srgb => vk::ColorSpaceKHR::SRGB_NONLINEAR,
        ColorSpace::ExtendedSrgbLinear => vk::ColorSpaceKHR::EXTENDED_SRGB_LINEAR_EXT,
        ColorSpace::Hdr10 => vk::ColorSpaceKHR::HDR10_ST2084_EXT,
        ColorSpace::Hlg => vk::ColorSpaceKHR::HDR10_HLG_EXT,
        ColorSpace::DisplayP3 => vk::ColorSpaceKHR::DISPLAY_P3_NONLINEAR_EXT,
        _ => return None,
    })
}

pub(super) const fn vk_mode(mode: PresentMode) -> vk::PresentModeKHR {
    match mode {
        PresentMode::Fifo => vk::PresentModeKHR::FIFO,
        PresentMode::FifoRelaxed => vk::PresentModeKHR::FIFO_RELAXED,
        PresentMode::Mailbox => vk::PresentModeKHR::MAILBOX,
        PresentMode::Immediate => vk::PresentModeKHR::IMMEDIATE,
    }
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

/// The properties of a chain for the window. A new chain with equal properties would be no
/// improvement.
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

/// The transform of the images: none if the window supports that, otherwise the current one.
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
    use tenure_core::Format;

    use super::*;

    fn offered(wanted: SurfaceFormat) -> vk::SurfaceFormatKHR {
        let color_space = vk_space(wanted.color_space).unwrap();
        vk::SurfaceFormatKHR { format: to_vk_format(wanted.format), color_space }
    }

    #[test]
    fn formats_are_offered_in_their_colour_space() {
        let all = ColorSpace::ALL.map(|space| SurfaceFormat::new(Format::Rgb10A2Unorm, space));
        let rows = all.map(offered);
        for (index, format) in all.into_iter().enumerate() {
            let others = rows.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, row)| *row);
            assert!(is_offered(format, &rows) && !is_offered(format, &others.collect::<Vec<_>>()));
            assert!(!is_offered(SurfaceFormat { format: Format::Rgba8Unorm, ..format }, &rows));
            let any = vk::SurfaceFormatKHR { format: vk::Format::UNDEFINED, ..rows[index] };
            assert_eq!(all.map(|format| is_offered(format, &[any])), all.map(|other| other == format));
        }
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
}
