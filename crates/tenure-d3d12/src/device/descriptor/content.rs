//! The content of an index of a descriptor heap, and null descriptors.

use tenure_core::device::Format;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BUFFER_SRV, D3D12_BUFFER_UAV, D3D12_CONSTANT_BUFFER_VIEW_DESC, D3D12_CPU_DESCRIPTOR_HANDLE,
    D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING, D3D12_SHADER_RESOURCE_VIEW_DESC,
    D3D12_SHADER_RESOURCE_VIEW_DESC_0, D3D12_SRV_DIMENSION_BUFFER, D3D12_UAV_DIMENSION_BUFFER,
    D3D12_UNORDERED_ACCESS_VIEW_DESC, D3D12_UNORDERED_ACCESS_VIEW_DESC_0, ID3D12Device, ID3D12Resource,
};

use crate::device::descriptor::texture_desc::{Part, Shape, sampled, storage};
use crate::device::format::to_dxgi_format;

/// The kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Not written, or freed.
    Nothing,
    /// A sampler or a target, which have no null descriptor.
    Other,
    Constants,
    Buffer,
    StorageBuffer,
    Sampled(Shape),
    Storage(Shape),
}

/// Every content, in the order of their bytes.
const ALL: [Content; 15] = [
    Content::Nothing,
    Content::Other,
    Content::Constants,
    Content::Buffer,
    Content::StorageBuffer,
    Content::Sampled(Shape::D2),
    Content::Sampled(Shape::D2Array),
    Content::Sampled(Shape::Multisampled),
    Content::Sampled(Shape::MultisampledArray),
    Content::Sampled(Shape::Cube),
    Content::Sampled(Shape::CubeArray),
    Content::Sampled(Shape::D3),
    Content::Storage(Shape::D2),
    Content::Storage(Shape::D2Array),
    Content::Storage(Shape::D3),
];

impl Content {
    pub(crate) fn from_byte(byte: u8) -> Self {
        ALL.get(usize::from(byte)).copied().unwrap_or(Self::Nothing)
    }

    /// [`Nothing`](Self::Nothing) for shapes without views.
    pub(crate) fn to_byte(self) -> u8 {
        (0..).zip(ALL).find(|(_, content)| *content == self).map_or(0, |(byte, _)| byte)
    }

    /// Writes the null descriptor of the same kind: reads through it give zeros, and writes are discarded.
    /// Samplers and targets have none.
    ///
    /// # Safety
    /// The handle is of a live heap for views of this device, no other thread writes or reads it
    /// meanwhile, and no work in flight does.
    pub(crate) unsafe fn write_null(self, device: &ID3D12Device, at: D3D12_CPU_DESCRIPTOR_HANDLE) {
        const NONE: Option<&ID3D12Resource> = None;
        let format = to_dxgi_format(Format::R32Uint);
        match self {
            Self::Nothing | Self::Other => {}
            Self::Constants => {
                let desc = D3D12_CONSTANT_BUFFER_VIEW_DESC::default();
                // SAFETY: the description is a local that outlives the call, and names no buffer; the
                // rest is the caller's promise.
                unsafe { device.CreateConstantBufferView(Some(&raw const desc), at) };
            }
            Self::Buffer => {
                let desc = D3D12_SHADER_RESOURCE_VIEW_DESC {
                    Format: format,
                    ViewDimension: D3D12_SRV_DIMENSION_BUFFER,
                    Shader4ComponentMapping: D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
                    Anonymous: D3D12_SHADER_RESOURCE_VIEW_DESC_0 {
                        Buffer: D3D12_BUFFER_SRV { NumElements: 1, ..Default::default() },
                    },
                };
                // SAFETY: as above.
                unsafe { device.CreateShaderResourceView(NONE, Some(&raw const desc), at) };
            }
            Self::StorageBuffer => {
                let desc = D3D12_UNORDERED_ACCESS_VIEW_DESC {
                    Format: format,
                    ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
                    Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
                        Buffer: D3D12_BUFFER_UAV { NumElements: 1, ..Default::default() },
                    },
                };
                // SAFETY: as above.
                unsafe { device.CreateUnorderedAccessView(NONE, NONE, Some(&raw const desc), at) };
            }
            Self::Sampled(shape) => {
                let desc = sampled(shape, &Part::null(format, shape));
                // SAFETY: as above.
                unsafe { device.CreateShaderResourceView(NONE, Some(&raw const desc), at) };
            }
            Self::Storage(shape) => {
                let Some(desc) = storage(shape, &Part::null(format, shape)) else { return };
                // SAFETY: as above.
                unsafe { device.CreateUnorderedAccessView(NONE, NONE, Some(&raw const desc), at) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Content};

    #[test]
    fn every_content_has_a_byte() {
        for (byte, content) in (0..).zip(ALL) {
            assert_eq!((content.to_byte(), Content::from_byte(byte)), (byte, content));
        }
        assert_eq!(Content::from_byte(u8::MAX), Content::Nothing);
    }
}
