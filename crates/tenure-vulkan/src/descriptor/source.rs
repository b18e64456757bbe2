//! What a descriptor that shaders see is made from.

use ash::vk;
use tenure_core::device::{BindingKind, BufferAccess, CallRule, DescriptorSource, DeviceError};

use super::Described;
use super::Descriptors;
use super::buffer_view::bytes;
use super::slot::{Value, Written};

impl Descriptors {
    /// What to write for a source.
    pub(super) fn resolve(
        &self,
        source: &DescriptorSource<'_, impl Described>,
    ) -> Result<Written, DeviceError> {
        match *source {
            DescriptorSource::Copy { heap, index } => heap.written(self, index),
            DescriptorSource::Combined { views, view, samplers, sampler } => {
                let texture = views.written(self, view)?;
                let sampler = samplers.written(self, sampler)?;
                combine(texture, sampler)
            }
            DescriptorSource::Structure(structure) => {
                let value = Value::Structure(structure.traced(self)?);
                Ok(Written { kind: BindingKind::AccelerationStructure, value })
            }
            DescriptorSource::Constants { resource, offset, size } => {
                let buffer = self.check_bytes(resource, BufferAccess::Constants, [offset, size])?;
                Ok(bytes(BindingKind::Constants, buffer, offset, size))
            }
        }
    }
}

/// A view of a texture with a sampler.
fn combine(texture: Written, sampler: Written) -> Result<Written, DeviceError> {
    let wrong = |given, wanted| Err(DeviceError::invalid_call(CallRule::BindingKind, given, wanted));
    match (texture, sampler) {
        (
            Written { kind: BindingKind::Texture, value: Value::Image(view) },
            Written {
                kind: BindingKind::Sampler,
                value: Value::Image(vk::DescriptorImageInfo { sampler, .. }),
            },
        ) => {
            let value = Value::Image(vk::DescriptorImageInfo { sampler, ..view });
            Ok(Written { kind: BindingKind::CombinedSampler, value })
        }
        (Written { kind: BindingKind::Texture, .. }, other) => wrong(other.kind, BindingKind::Sampler),
        (other, _) => wrong(other.kind, BindingKind::Texture),
    }
}
