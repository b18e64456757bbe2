//! What a descriptor that shaders see is made from.

use tenure_core::device::{BindingKind, BufferAccess, DescriptorSource, DeviceError};

use super::buffer_view::bytes;
use super::slot::Written;
use crate::device::Device;
use crate::shared::Shared;

impl Shared {
    /// What to write for a source.
    pub(super) fn resolve(&self, source: &DescriptorSource<'_, Device>) -> Result<Written, DeviceError> {
        match *source {
            DescriptorSource::Copy { heap, index } => heap.written(self, index),
            DescriptorSource::Constants { resource, offset, size } => {
                let buffer = self.check_bytes(resource, BufferAccess::Constants, [offset, size])?;
                Ok(bytes(BindingKind::Constants, buffer, offset, size))
            }
        }
    }
}
