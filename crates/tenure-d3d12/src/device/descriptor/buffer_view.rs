//! Views of buffers: their rules, and the calls.

use tenure_core::device::{
    Allowed, BufferAccess, BufferInfo, BufferView, CallRule, DeviceError, Elements, Usage, check,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BUFFER_SRV, D3D12_BUFFER_SRV_FLAG_NONE, D3D12_BUFFER_SRV_FLAG_RAW, D3D12_BUFFER_UAV,
    D3D12_BUFFER_UAV_FLAG_NONE, D3D12_BUFFER_UAV_FLAG_RAW, D3D12_CONSTANT_BUFFER_VIEW_DESC,
    D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
    D3D12_REQ_MULTI_ELEMENT_STRUCTURE_SIZE_IN_BYTES, D3D12_SHADER_RESOURCE_VIEW_DESC,
    D3D12_SHADER_RESOURCE_VIEW_DESC_0, D3D12_SRV_DIMENSION_BUFFER, D3D12_UAV_DIMENSION_BUFFER,
    D3D12_UNORDERED_ACCESS_VIEW_DESC, D3D12_UNORDERED_ACCESS_VIEW_DESC_0, ID3D12Resource,
};
use windows::Win32::Graphics::Dxgi::Common::{DXGI_FORMAT, DXGI_FORMAT_R32_TYPELESS, DXGI_FORMAT_UNKNOWN};

use crate::device::descriptor::content::Content;
use crate::device::format::to_dxgi_format;
use crate::device::inner::Inner;
use crate::device::memory::requirements::READBACK;
use crate::device::resource::object::Resource;

/// Bytes of the widest structure.
const WIDEST: u32 = D3D12_REQ_MULTI_ELEMENT_STRUCTURE_SIZE_IN_BYTES;

/// The elements of a view.
struct Counted {
    format: DXGI_FORMAT,
    first: u64,
    count: u32,
    /// 0: no structures.
    stride: u32,
}

/// The number of whole elements in a range checked to be inside the buffer.
fn counted(view: &BufferView, elements: Elements) -> Result<(u64, u32), DeviceError> {
    let bytes = elements.bytes();
    check::multiple(CallRule::ViewAligned, view.offset, bytes)?;
    check::multiple(CallRule::ViewWholeElements, view.size, bytes)?;
    let count = view.size.checked_div(bytes).unwrap_or(0);
    let limit = u64::from(u32::MAX);
    let count =
        u32::try_from(count).map_err(|_| DeviceError::invalid_call(CallRule::ViewTooLarge, count, limit))?;
    Ok((view.offset.checked_div(bytes).unwrap_or(0), count))
}

impl Inner {
    fn check_elements(&self, view: &BufferView, elements: Elements, writes: bool) -> Result<(), DeviceError> {
        let limits = &self.properties.descriptors;
        match elements {
            Elements::Raw => {
                let rule = CallRule::ViewAligned;
                check::multiple(rule, view.offset, self.properties.storage_alignment)?;
            }
            Elements::Structured(stride) => {
                if stride == 0 || stride > WIDEST || !stride.is_multiple_of(4) {
                    return Err(DeviceError::invalid_desc(
                        "stride",
                        stride,
                        Allowed::Rule("a multiple of 4, from 4 to 2048"),
                    ));
                }
            }
            Elements::Typed(format) => {
                if format.is_depth() || format.is_compressed() {
                    return Err(DeviceError::invalid_desc(
                        "format",
                        format,
                        Allowed::Rule("a plain colour format for typed views of buffers"),
                    ));
                }
                if let Some(feature) = self.formats.missing_for_buffer(&self.raw, format, writes) {
                    return Err(DeviceError::UnsupportedFormat { format, feature });
                }
                let elements = view.size.checked_div(elements.bytes()).unwrap_or(0);
                let most = u64::from(limits.typed_elements);
                return check::at_most(CallRule::ViewTooLarge, elements, most);
            }
        }
        check::at_most(CallRule::ViewTooLarge, view.size, limits.storage_size)
    }

    fn counted(&self, view: &BufferView, elements: Elements, writes: bool) -> Result<Counted, DeviceError> {
        self.check_elements(view, elements, writes)?;
        let (first, count) = counted(view, elements)?;
        let (format, stride) = match elements {
            Elements::Raw => (DXGI_FORMAT_R32_TYPELESS, 0),
            Elements::Structured(stride) => (DXGI_FORMAT_UNKNOWN, stride),
            Elements::Typed(format) => (to_dxgi_format(format), 0),
        };
        Ok(Counted { format, first, count, stride })
    }

    /// A view of constants, for a checked range.
    pub(crate) fn constants(
        &self,
        resource: &Resource,
        offset: u64,
        size: u64,
    ) -> Result<D3D12_CONSTANT_BUFFER_VIEW_DESC, DeviceError> {
        let info = self.viewed_buffer(resource)?;
        check::usage(info.usage, Usage::CONSTANT)?;
        check::buffer_view(offset, size, info.size)?;
        let alignment = self.properties.constant_alignment;
        check::multiple(CallRule::ConstantsAligned, offset, alignment)?;
        check::multiple(CallRule::ConstantsAligned, size, alignment)?;
        let most = self.properties.descriptors.constant_size;
        let bytes = u32::try_from(size).ok().filter(|_| size <= most);
        let bytes = bytes.ok_or(DeviceError::invalid_call(CallRule::ViewTooLarge, size, most))?;
        let address = resource.address.checked_add(offset).filter(|_| resource.address != 0);
        let address = address.ok_or(DeviceError::broken_rule("the buffer has an address"))?;
        Ok(D3D12_CONSTANT_BUFFER_VIEW_DESC { BufferLocation: address, SizeInBytes: bytes })
    }

    fn viewed_buffer<'a>(&self, resource: &'a Resource) -> Result<&'a BufferInfo, DeviceError> {
        self.check_viewed(resource)?;
        let info = resource.buffer()?;
        if resource.memory_type == READBACK {
            return Err(DeviceError::broken_rule("shaders see no readback heap"));
        }
        Ok(info)
    }

    /// Creates a view of a buffer.
    ///
    /// # Safety
    /// The handle is of a live heap of this device for views that is not shader-visible, and no other thread
    /// writes or reads it meanwhile.
    pub(crate) unsafe fn write_buffer(
        &self,
        resource: &Resource,
        view: &BufferView,
        at: D3D12_CPU_DESCRIPTOR_HANDLE,
    ) -> Result<Content, DeviceError> {
        const NO_COUNTER: Option<&ID3D12Resource> = None;
        let (elements, writes) = match view.access {
            BufferAccess::Constants => {
                let desc = self.constants(resource, view.offset, view.size)?;
                // SAFETY: the description is a local that outlives the call, and the range is inside a
                // live buffer; the rest is the caller's promise.
                unsafe { self.raw.CreateConstantBufferView(Some(&raw const desc), at) };
                return Ok(Content::Constants);
            }
            BufferAccess::Read(elements) => (elements, false),
            BufferAccess::ReadWrite(elements) => (elements, true),
        };
        let info = self.viewed_buffer(resource)?;
        check::usage(info.usage, view.access.usage())?;
        check::buffer_view(view.offset, view.size, info.size)?;
        let counted = self.counted(view, elements, writes)?;
        let is_raw = elements == Elements::Raw;
        if writes {
            let desc = storage(&counted, is_raw);
            // SAFETY: as above; the buffer was created for unordered access.
            unsafe {
                let desc = Some(&raw const desc);
                self.raw.CreateUnorderedAccessView(&resource.raw, NO_COUNTER, desc, at);
            }
            return Ok(Content::StorageBuffer);
        }
        let desc = read(&counted, is_raw);
        // SAFETY: as above.
        unsafe { self.raw.CreateShaderResourceView(&resource.raw, Some(&raw const desc), at) };
        Ok(Content::Buffer)
    }
}

const fn read(counted: &Counted, is_raw: bool) -> D3D12_SHADER_RESOURCE_VIEW_DESC {
    let buffer = D3D12_BUFFER_SRV {
        FirstElement: counted.first,
        NumElements: counted.count,
        StructureByteStride: counted.stride,
        Flags: if is_raw { D3D12_BUFFER_SRV_FLAG_RAW } else { D3D12_BUFFER_SRV_FLAG_NONE },
    };
    D3D12_SHADER_RESOURCE_VIEW_DESC {
        Format: counted.format,
        ViewDimension: D3D12_SRV_DIMENSION_BUFFER,
        Shader4ComponentMapping: D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
        Anonymous: D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Buffer: buffer },
    }
}

const fn storage(counted: &Counted, is_raw: bool) -> D3D12_UNORDERED_ACCESS_VIEW_DESC {
    let buffer = D3D12_BUFFER_UAV {
        FirstElement: counted.first,
        NumElements: counted.count,
        StructureByteStride: counted.stride,
        CounterOffsetInBytes: 0,
        Flags: if is_raw { D3D12_BUFFER_UAV_FLAG_RAW } else { D3D12_BUFFER_UAV_FLAG_NONE },
    };
    D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: counted.format,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 { Buffer: buffer },
    }
}
