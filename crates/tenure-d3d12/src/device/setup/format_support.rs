//! A device's support of each format.

use std::sync::atomic::{AtomicU32, Ordering};

use tenure_core::device::{Dimension, Format, TextureAccess, TextureInfo, Usage};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_FEATURE_DATA_FORMAT_SUPPORT, D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS,
    D3D12_FEATURE_FORMAT_SUPPORT, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, D3D12_FORMAT_SUPPORT1,
    D3D12_FORMAT_SUPPORT1_BUFFER, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, D3D12_FORMAT_SUPPORT1_RENDER_TARGET,
    D3D12_FORMAT_SUPPORT1_SHADER_LOAD, D3D12_FORMAT_SUPPORT1_TEXTURE2D, D3D12_FORMAT_SUPPORT1_TEXTURE3D,
    D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW, ID3D12Device,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_UNKNOWN;

use crate::device::format::to_dxgi_format;
use crate::device::setup::caps::ask;

/// Cached results of the driver. They do not change, so concurrent queries write the same values.
pub(crate) struct FormatSupport {
    /// `D3D12_FORMAT_SUPPORT1` of each format with [`ASKED`]; 0: not queried yet.
    support: [AtomicU32; Format::ALL.len()],
    /// For each format, two bits per sample count: queried, supported.
    samples: [AtomicU32; Format::ALL.len()],
}

/// A feature of Vulkan only.
pub(crate) const INPUT_ATTACHMENTS: &str = "input attachments";

/// Marks a cached result. Direct3D does not use the bit.
const ASKED: u32 = 1 << 31;

impl FormatSupport {
    pub(crate) fn new() -> Self {
        Self {
            support: std::array::from_fn(|_| AtomicU32::new(0)),
            samples: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    fn of(&self, device: &ID3D12Device, format: Format) -> D3D12_FORMAT_SUPPORT1 {
        let Some(slot) = self.support.get(format as usize) else { return D3D12_FORMAT_SUPPORT1(0) };
        let known = slot.load(Ordering::Relaxed);
        let support = if known & ASKED == 0 { ask_support(device, format) } else { known };
        slot.store(support | ASKED, Ordering::Relaxed);
        D3D12_FORMAT_SUPPORT1((support & !ASKED).cast_signed())
    }

    /// The missing feature for a texture, by its format, shape and usage.
    pub(crate) fn missing(&self, device: &ID3D12Device, info: &TextureInfo) -> Option<&'static str> {
        let has = self.of(device, info.format);
        // It is enough if one of the formats of its views supports a usage.
        let seen = info.view_formats.iter().fold(has, |has, format| has | self.of(device, *format));
        let shape = match info.dimension {
            Dimension::D3 => (true, D3D12_FORMAT_SUPPORT1_TEXTURE3D, "3D textures"),
            _ => (true, D3D12_FORMAT_SUPPORT1_TEXTURE2D, "2D textures"),
        };
        let uses = [
            (Usage::RENDER_TARGET, D3D12_FORMAT_SUPPORT1_RENDER_TARGET, "render targets"),
            (Usage::DEPTH_STENCIL, D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, "depth targets"),
            (
                Usage::UNORDERED_ACCESS,
                D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW,
                "unordered access to textures",
            ),
        ]
        .map(|(usage, needed, what)| (info.usage.contains(usage), needed, what));
        let mut needs = std::iter::once(shape).chain(uses);
        let offered = |needed| match needed {
            D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW => seen,
            _ => has,
        };
        needs
            .find(|(wanted, needed, _)| *wanted && !offered(*needed).contains(*needed))
            .map(|(_, _, what)| what)
    }

    /// The missing feature for a view of a texture in a format.
    pub(crate) fn missing_for_view(
        &self,
        device: &ID3D12Device,
        format: Format,
        access: TextureAccess,
    ) -> Option<&'static str> {
        let (needed, what) = match access {
            // Shaders read depth in formats that every device has.
            TextureAccess::Sampled if format.is_depth() => return None,
            TextureAccess::Sampled => (D3D12_FORMAT_SUPPORT1_SHADER_LOAD, "textures that shaders read"),
            TextureAccess::Storage => {
                (D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW, "unordered access to textures")
            }
            TextureAccess::RenderTarget => (D3D12_FORMAT_SUPPORT1_RENDER_TARGET, "render targets"),
            TextureAccess::InputAttachment => return Some(INPUT_ATTACHMENTS),
            TextureAccess::DepthStencil { .. } => (D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, "depth targets"),
        };
        (!self.of(device, format).contains(needed)).then_some(what)
    }

    /// The missing feature for a view of a buffer in a format.
    pub(crate) fn missing_for_buffer(
        &self,
        device: &ID3D12Device,
        format: Format,
        writes: bool,
    ) -> Option<&'static str> {
        let has = self.of(device, format);
        if !has.contains(D3D12_FORMAT_SUPPORT1_BUFFER) {
            return Some("typed views of buffers");
        }
        let is_missing = writes && !has.contains(D3D12_FORMAT_SUPPORT1_TYPED_UNORDERED_ACCESS_VIEW);
        is_missing.then_some("unordered access to buffers")
    }

    /// True if textures of the format can have `samples` samples, a power of two up to 16.
    pub(crate) fn has_samples(&self, device: &ID3D12Device, format: Format, samples: u32) -> bool {
        let Some(slot) = self.samples.get(format as usize) else { return false };
        let shift = samples.max(1).ilog2().min(15) * 2;
        let known = slot.load(Ordering::Relaxed) >> shift & 3;
        if known & 1 == 1 {
            return known & 2 == 2;
        }
        let supported = ask_samples(device, format, samples);
        slot.fetch_or((1 | u32::from(supported) << 1) << shift, Ordering::Relaxed);
        supported
    }
}

fn ask_support(device: &ID3D12Device, format: Format) -> u32 {
    // A driver may have uses of buffers without a format.
    if to_dxgi_format(format) == DXGI_FORMAT_UNKNOWN {
        return 0;
    }
    let question = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: to_dxgi_format(format), ..Default::default() };
    // SAFETY: the structure is that of the feature, without pointers.
    let answer = unsafe { ask(device, D3D12_FEATURE_FORMAT_SUPPORT, question) };
    answer.map_or(0, |answer| answer.Support1.0.cast_unsigned())
}

fn ask_samples(device: &ID3D12Device, format: Format, samples: u32) -> bool {
    let question = D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS {
        Format: to_dxgi_format(format),
        SampleCount: samples,
        ..Default::default()
    };
    // SAFETY: as above.
    let answer = unsafe { ask(device, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, question) };
    answer.is_some_and(|answer| answer.NumQualityLevels > 0)
}
