//! The parameters of a swap chain in DXGI's terms.

use tenure_core::device::{Allowed, DeviceError, Format, Usage};
use tenure_core::present::{PresentMode, SwapchainDesc};
use tenure_core::{Error, SwapchainRule, TextureDesc};
use windows::Win32::Graphics::Direct3D12::D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION;
use windows::Win32::Graphics::Dxgi::Common::{DXGI_ALPHA_MODE_IGNORE, DXGI_SAMPLE_DESC};
use windows::Win32::Graphics::Dxgi::{
    DXGI_PRESENT, DXGI_PRESENT_ALLOW_TEARING, DXGI_SCALING_STRETCH, DXGI_SWAP_CHAIN_DESC1,
    DXGI_SWAP_CHAIN_FLAG, DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING,
    DXGI_SWAP_CHAIN_FLAG_FRAME_LATENCY_WAITABLE_OBJECT, DXGI_SWAP_EFFECT_FLIP_DISCARD, DXGI_USAGE,
    DXGI_USAGE_RENDER_TARGET_OUTPUT, DXGI_USAGE_SHADER_INPUT, DXGI_USAGE_UNORDERED_ACCESS,
};

use crate::device::format::to_dxgi_format;

/// Buffers that a flip-model chain can have.
const MIN_IMAGES: u32 = 2;
const MAX_IMAGES: u32 = 16;

/// The parameters that stay the same for the lifetime of a swap chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The format of the views.
    pub(super) format: Format,
    /// The format of the buffers: flip-model chains have no sRGB ones.
    pub(super) linear: Format,
    pub(super) images: u32,
    pub(super) mode: PresentMode,
    pub(super) usage: Usage,
}

impl Settings {
    /// Fills in defaults, and replaces parameters that the system does not support.
    pub(super) fn of(desc: &SwapchainDesc, can_tear: bool) -> Result<Self, Error> {
        let refuse = |rule| Err(Error::Swapchain { name: desc.name.clone(), rule });
        let format = desc.format.unwrap_or(Format::Bgra8Srgb);
        let Some(linear) = buffer_format(format) else { return refuse(SwapchainRule::Format) };
        if desc.images > MAX_IMAGES {
            let (images, min, max) = (desc.images, MIN_IMAGES, MAX_IMAGES);
            return refuse(SwapchainRule::Images { images, min, max });
        }
        Ok(Self {
            format,
            linear,
            images: desc.images.max(MIN_IMAGES),
            mode: match desc.mode {
                PresentMode::Mailbox => PresentMode::Mailbox,
                PresentMode::Immediate if can_tear => PresentMode::Immediate,
                _ => PresentMode::Fifo,
            },
            usage: desc.usage | Usage::PRESENT | Usage::RENDER_TARGET,
        })
    }

    /// The flags that the chain is created and resized with.
    pub(super) fn flags(&self) -> DXGI_SWAP_CHAIN_FLAG {
        let tearing = match self.mode {
            PresentMode::Immediate => DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING.0,
            _ => 0,
        };
        DXGI_SWAP_CHAIN_FLAG(DXGI_SWAP_CHAIN_FLAG_FRAME_LATENCY_WAITABLE_OBJECT.0 | tearing)
    }

    /// The interval and the flags of each `Present`.
    pub(super) const fn present(&self) -> (u32, DXGI_PRESENT) {
        match self.mode {
            PresentMode::Immediate => (0, DXGI_PRESENT_ALLOW_TEARING),
            // Without tearing, an image that a newer one overtakes is never shown.
            PresentMode::Mailbox => (0, DXGI_PRESENT(0)),
            _ => (1, DXGI_PRESENT(0)),
        }
    }

    /// The chain to create.
    pub(super) fn chain(&self, size: [u32; 2]) -> DXGI_SWAP_CHAIN_DESC1 {
        DXGI_SWAP_CHAIN_DESC1 {
            Width: size[0],
            Height: size[1],
            Format: to_dxgi_format(self.linear),
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            BufferUsage: buffer_usage(self.usage),
            BufferCount: self.images,
            Scaling: DXGI_SCALING_STRETCH,
            SwapEffect: DXGI_SWAP_EFFECT_FLIP_DISCARD,
            AlphaMode: DXGI_ALPHA_MODE_IGNORE,
            Flags: self.flags().0.cast_unsigned(),
            ..Default::default()
        }
    }

    /// The description with which each buffer is adopted.
    pub(super) fn texture(&self, size: [u32; 2]) -> TextureDesc {
        let mut desc = TextureDesc::d2(size[0], size[1], self.linear, self.usage);
        if self.format != self.linear {
            desc.info.view_formats.push(self.format);
        }
        desc
    }
}

/// The format of the buffers for views of a format; `None` if the flip model does not support it.
const fn buffer_format(view: Format) -> Option<Format> {
    match view {
        Format::Rgba8Unorm | Format::Rgba8Srgb => Some(Format::Rgba8Unorm),
        Format::Bgra8Unorm | Format::Bgra8Srgb => Some(Format::Bgra8Unorm),
        Format::Rgb10A2Unorm => Some(Format::Rgb10A2Unorm),
        Format::Rgba16Float => Some(Format::Rgba16Float),
        _ => None,
    }
}

fn buffer_usage(usage: Usage) -> DXGI_USAGE {
    let mut flags = DXGI_USAGE_RENDER_TARGET_OUTPUT;
    if usage.contains(Usage::SHADER_READ) {
        flags |= DXGI_USAGE_SHADER_INPUT;
    }
    if usage.contains(Usage::UNORDERED_ACCESS) {
        flags |= DXGI_USAGE_UNORDERED_ACCESS;
    }
    flags
}

/// Checks the size, because DXGI does not report the reason of a refusal.
pub(super) fn check_size(desc: &SwapchainDesc, size: [u32; 2]) -> Result<(), Error> {
    let most = D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION;
    match size.into_iter().find(|side| *side > most) {
        None => Ok(()),
        Some(side) => {
            let source = DeviceError::invalid_desc("size", side, Allowed::AtMost(most.into()));
            Err(Error::Device { name: desc.name.clone(), source })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(desc: &SwapchainDesc) -> Settings {
        Settings::of(desc, true).unwrap()
    }

    #[test]
    fn buffers_are_linear_and_views_are_not() {
        let desc = SwapchainDesc::new([8, 4]);
        let chosen = settings(&desc);
        assert_eq!((chosen.format, chosen.linear), (Format::Bgra8Srgb, Format::Bgra8Unorm));
        let texture = chosen.texture([8, 4]).info;
        assert_eq!((texture.format, &texture.view_formats[..]), (chosen.linear, &[chosen.format][..]));
        assert_eq!(chosen.chain([8, 4]).Format, to_dxgi_format(Format::Bgra8Unorm));
        let linear = settings(&desc.clone().format(Format::Rgba16Float));
        assert_eq!((linear.format, linear.linear), (Format::Rgba16Float, Format::Rgba16Float));
        assert!(linear.texture([8, 4]).info.view_formats.is_empty());
        for format in [Format::R8Unorm, Format::D32Float, Format::Bc7Unorm] {
            let refused = Settings::of(&desc.clone().format(format), true).unwrap_err();
            assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::Format, .. }), "{refused}");
        }
    }

    #[test]
    fn modes_that_the_system_lacks_are_fifo() {
        let chosen = |mode, can_tear| {
            let chosen = Settings::of(&SwapchainDesc::new([8, 8]).mode(mode), can_tear).unwrap();
            let tears = chosen.flags().0 & DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING.0 != 0;
            let (interval, flags) = chosen.present();
            assert_eq!(tears, flags == DXGI_PRESENT_ALLOW_TEARING, "one is wrong without the other");
            (chosen.mode, interval, tears)
        };
        assert_eq!(chosen(PresentMode::Fifo, true), (PresentMode::Fifo, 1, false));
        assert_eq!(chosen(PresentMode::FifoRelaxed, true), (PresentMode::Fifo, 1, false));
        assert_eq!(chosen(PresentMode::Mailbox, true), (PresentMode::Mailbox, 0, false));
        assert_eq!(chosen(PresentMode::Immediate, true), (PresentMode::Immediate, 0, true));
        assert_eq!(chosen(PresentMode::Immediate, false), (PresentMode::Fifo, 1, false));
    }

    #[test]
    fn the_number_of_images_is_dxgis() {
        let images = |images| Settings::of(&SwapchainDesc::new([8, 8]).images(images), true);
        assert_eq!([0, 2, 16].map(|asked| images(asked).unwrap().images), [2, 2, 16]);
        let refused = images(17).unwrap_err();
        assert_eq!(refused.to_string(), "swap chain: 17 images: must be 2 to 16");
    }

    #[test]
    fn sizes_end_where_textures_do() {
        let desc = SwapchainDesc::new([8, 8]).name("main");
        check_size(&desc, [16_384, 1]).unwrap();
        let refused = check_size(&desc, [1, 16_385]).unwrap_err().to_string();
        assert!(refused.starts_with("main: ") && refused.contains("16385"), "{refused}");
    }

    #[test]
    fn usages_are_asked_of_the_chain() {
        let usage = settings(&SwapchainDesc::new([8, 8]).usage(Usage::SHADER_READ | Usage::COPY_SRC)).usage;
        assert!(usage.contains(Usage::PRESENT | Usage::RENDER_TARGET | Usage::COPY_SRC));
        assert_eq!(buffer_usage(usage), DXGI_USAGE_RENDER_TARGET_OUTPUT | DXGI_USAGE_SHADER_INPUT);
    }
}
