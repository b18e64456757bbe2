//! Views of buffers: what is asked for, and what the device is told.

use crate::device::{
    Allowed, Api, BufferAccess, BufferView, Device, DeviceError, Elements, Format, Properties, Usage,
};
use crate::{Buffer, Error, Name};

/// A view of a buffer to create: what shaders see of it, and as what.
///
/// ```
/// use tenure::BufferViewDesc;
/// use tenure::device::Format;
/// let lights = BufferViewDesc::structured(48).name("lights");
/// let histogram = BufferViewDesc::typed_writable(Format::R32Uint).range(1024, 256);
/// # let _ = (lights, histogram);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferViewDesc {
    /// The first byte, from the beginning of the buffer.
    pub offset: u64,
    /// Bytes; `None`: the rest, as far as it is whole elements.
    pub size: Option<u64>,
    /// What shaders do with them.
    pub access: BufferAccess,
    /// Its name; empty: that of the buffer.
    pub name: Name,
}

impl BufferViewDesc {
    /// Shows the whole buffer.
    #[must_use]
    pub fn new(access: BufferAccess) -> Self {
        Self { offset: 0, size: None, access, name: Name::default() }
    }

    /// Constants (a uniform buffer, a constant buffer view).
    #[must_use]
    pub fn constants() -> Self {
        Self::new(BufferAccess::Constants)
    }

    /// Bytes that are read, in words of four.
    #[must_use]
    pub fn raw() -> Self {
        Self::new(BufferAccess::Read(Elements::Raw))
    }

    /// Bytes that are read and written, in words of four.
    #[must_use]
    pub fn raw_writable() -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Raw))
    }

    /// Structures of `stride` bytes that are read.
    #[must_use]
    pub fn structured(stride: u32) -> Self {
        Self::new(BufferAccess::Read(Elements::Structured(stride)))
    }

    /// Structures of `stride` bytes that are read and written.
    #[must_use]
    pub fn structured_writable(stride: u32) -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Structured(stride)))
    }

    /// Texels that are read.
    #[must_use]
    pub fn typed(format: Format) -> Self {
        Self::new(BufferAccess::Read(Elements::Typed(format)))
    }

    /// Texels that are read and written.
    #[must_use]
    pub fn typed_writable(format: Format) -> Self {
        Self::new(BufferAccess::ReadWrite(Elements::Typed(format)))
    }

    /// Shows so many bytes from an offset on.
    #[must_use]
    pub fn range(self, offset: u64, size: u64) -> Self {
        Self { offset, size: Some(size), ..self }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What the device is to be told, with offsets in the API buffer.
    pub(super) fn resolve<D: Device>(
        &self,
        buffer: &Buffer<D>,
        properties: &Properties,
    ) -> Result<BufferView, Error> {
        let refuse = |source| Error::device(buffer.name(), source);
        check_usage(buffer.usage(), self.access.usage()).map_err(refuse)?;
        let unit = unit(self.access).map_err(refuse)?;
        let capacity = buffer.size();
        let left = capacity.checked_sub(self.offset);
        let size = self.size.unwrap_or_else(|| left.unwrap_or(0) / unit * unit);
        if left.is_none_or(|left| size > left) {
            let (name, offset) = (buffer.name().clone(), self.offset);
            return Err(Error::OutOfRange { name, offset, size, capacity });
        }
        if size == 0 || !size.is_multiple_of(unit) {
            let allowed = if size == 0 { Allowed::AtLeast(unit) } else { Allowed::MultipleOf(unit) };
            return Err(refuse(DeviceError::invalid_desc("size", size, allowed)));
        }
        let offset = buffer.offset() + self.offset;
        check_offset(self.access, offset, properties).map_err(refuse)?;
        let size = match self.access {
            BufferAccess::Constants => {
                let size = constant_size(size, properties).map_err(refuse)?;
                if left.is_some_and(|left| size > left) {
                    let rule = "constants take multiples of 256 bytes, which the buffer has not";
                    return Err(refuse(invalid(rule, size, left.unwrap_or(0))));
                }
                size
            }
            BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements) => {
                check_size(elements, size, properties).map_err(refuse)?;
                size
            }
        };
        Ok(BufferView { offset, size, access: self.access })
    }
}

const fn invalid(rule: &'static str, value: u64, limit: u64) -> DeviceError {
    DeviceError::InvalidCall { rule, value, limit }
}

/// A resource is used as it was created for.
pub(super) fn check_usage(has: Usage, needs: Usage) -> Result<(), DeviceError> {
    if has.contains(needs) {
        return Ok(());
    }
    Err(DeviceError::MissingUsage { needs, has })
}

/// Bytes of which a view has a whole number.
fn unit(access: BufferAccess) -> Result<u64, DeviceError> {
    /// Bytes; of the largest structure that Direct3D 12 takes.
    const MAX_STRIDE: u32 = 2048;
    let (BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements)) = access else { return Ok(1) };
    match elements {
        Elements::Structured(stride) if stride == 0 || stride > MAX_STRIDE || !stride.is_multiple_of(4) => {
            let rule = "a multiple of 4, from 4 to 2048";
            Err(DeviceError::invalid_desc("stride", stride, Allowed::Rule(rule)))
        }
        Elements::Typed(format) if format.is_depth() || format.block().width > 1 => {
            let bytes = u64::from(format.block().bytes);
            Err(invalid("typed views of buffers have plain colour formats (bytes of a block)", bytes, 16))
        }
        elements => Ok(elements.bytes()),
    }
}

/// Where views may begin in the API buffer.
fn check_offset(access: BufferAccess, offset: u64, properties: &Properties) -> Result<(), DeviceError> {
    let is_d3d12 = properties.api == Api::Direct3D12;
    let aligned = |align: u64| {
        if offset.is_multiple_of(align.max(1)) {
            return Ok(());
        }
        let rule = "a view begins at an aligned offset of the API buffer (BufferDesc::alignment, stride)";
        Err(invalid(rule, offset, align))
    };
    match access {
        BufferAccess::Constants => aligned(properties.constant_alignment),
        BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements) => match elements {
            // On Direct3D 12 such views begin at whole elements.
            Elements::Structured(_) if is_d3d12 => aligned(elements.bytes()),
            Elements::Raw | Elements::Structured(_) => aligned(properties.storage_alignment),
            Elements::Typed(_) => {
                aligned(if is_d3d12 { elements.bytes() } else { 1 })?;
                aligned(properties.descriptors.typed_alignment)
            }
        },
    }
}

/// Bytes of a view of constants: whole multiples of 256 on Direct3D 12.
pub(super) fn constant_size(size: u64, properties: &Properties) -> Result<u64, DeviceError> {
    let limit = properties.descriptors.constant_size;
    let size = match properties.api {
        Api::Direct3D12 => size.checked_next_multiple_of(properties.constant_alignment).unwrap_or(u64::MAX),
        Api::Vulkan => size,
    };
    if size <= limit { Ok(size) } else { Err(invalid("bytes of constants in view", size, limit)) }
}

fn check_size(elements: Elements, size: u64, properties: &Properties) -> Result<(), DeviceError> {
    let limits = &properties.descriptors;
    let (rule, value, limit) = match elements {
        Elements::Typed(_) => {
            ("elements of a typed view", size / elements.bytes().max(1), u64::from(limits.typed_elements))
        }
        Elements::Raw | Elements::Structured(_) => ("bytes of a view", size, limits.storage_size),
    };
    if value <= limit { Ok(()) } else { Err(invalid(rule, value, limit)) }
}
