//! Acceleration structures, and a device's ray tracing limits.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{
    AccelerationStructureKind, AccelerationStructureRange, Device, DeviceError, RayTracingLimits,
    check_structure_copy,
};

use crate::features::OptionalFeatures;
use crate::loaded::{Handles, Loaded, power_of_two};
use crate::resource::Resource;

/// The missing feature of a device without them.
pub(crate) const STRUCTURES: &str = "acceleration structures (VK_KHR_acceleration_structure)";

/// An acceleration structure: a handle for
/// [`Device::destroy_acceleration_structure`](tenure_core::device::RayDevice::destroy_acceleration_structure).
/// Dropping it without that leaks it.
pub struct AccelerationStructure {
    loaded: Arc<Loaded>,
    raw: vk::AccelerationStructureKHR,
    address: u64,
    kind: AccelerationStructureKind,
    size: u64,
}

impl AccelerationStructure {
    /// The API's structure, to trace rays through.
    pub(crate) fn traced(&self, loaded: &Loaded) -> Result<vk::AccelerationStructureKHR, DeviceError> {
        self.check_device(loaded)?;
        match self.kind.is_compatible(AccelerationStructureKind::Top) {
            true => Ok(self.raw),
            false => Err(DeviceError::broken_rule("rays are traced through a top-level structure")),
        }
    }
}

const fn structure_type(kind: AccelerationStructureKind) -> vk::AccelerationStructureTypeKHR {
    match kind {
        AccelerationStructureKind::Top => vk::AccelerationStructureTypeKHR::TOP_LEVEL,
        AccelerationStructureKind::Bottom => vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL,
        _ => vk::AccelerationStructureTypeKHR::GENERIC,
    }
}

/// The device's memory limits for ray tracing, for enabled features, and the number of structures for a shader
/// stage and a set.
pub(crate) fn limits(handles: &Handles) -> (RayTracingLimits, u32) {
    let defaults = RayTracingLimits::default();
    let (has_structures, has_pipelines) = (
        handles.enabled.contains(OptionalFeatures::ACCELERATION_STRUCTURES),
        handles.enabled.contains(OptionalFeatures::RAY_TRACING_PIPELINES),
    );
    if !has_structures {
        return (defaults, 0);
    }
    let mut structures = vk::PhysicalDeviceAccelerationStructurePropertiesKHR::default();
    let mut pipelines = vk::PhysicalDeviceRayTracingPipelinePropertiesKHR::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut structures);
    if has_pipelines {
        properties = properties.push_next(&mut pipelines);
    }
    // SAFETY: the structures in the chain belong to enabled features.
    unsafe { handles.instance.get_physical_device_properties2(handles.physical, &mut properties) };
    let traced = structures
        .max_per_stage_descriptor_acceleration_structures
        .min(structures.max_descriptor_set_acceleration_structures);
    let scratch = structures.min_acceleration_structure_scratch_offset_alignment;
    let scratch_alignment = power_of_two(u64::from(scratch).max(1));
    if !has_pipelines {
        return (RayTracingLimits { scratch_alignment, ..defaults }, traced);
    }
    let aligned = |bytes: u32| power_of_two(u64::from(bytes).max(1));
    let limits = RayTracingLimits {
        scratch_alignment,
        group_handle_size: u64::from(pipelines.shader_group_handle_size),
        group_handle_alignment: aligned(pipelines.shader_group_handle_alignment),
        group_base_alignment: aligned(pipelines.shader_group_base_alignment),
    };
    (limits, traced)
}

impl AccelerationStructure {
    pub(crate) fn create(
        loaded: &Arc<Loaded>,
        range: &AccelerationStructureRange<'_, impl Device<Resource = Resource>>,
    ) -> Result<Self, DeviceError> {
        loaded.alive()?;
        let calls = loaded.api.structures.as_ref().ok_or(DeviceError::Unsupported { feature: STRUCTURES })?;
        range.buffer.check_device(loaded)?;
        let (buffer, info) = range.buffer.as_buffer()?;
        range.check(&loaded.tables.properties, info)?;
        let info = vk::AccelerationStructureCreateInfoKHR::default()
            .buffer(buffer)
            .offset(range.offset)
            .size(range.size)
            .ty(structure_type(range.kind));
        // SAFETY: the device is alive and has the extension; the range is aligned, and inside a buffer of this
        // use.
        let raw = unsafe { calls.create_acceleration_structure(&info, None) };
        let raw = raw.map_err(|result| loaded.error("vkCreateAccelerationStructureKHR", result))?;
        let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(raw);
        // SAFETY: the structure was just created.
        let address = unsafe { calls.get_acceleration_structure_device_address(&info) };
        Ok(Self { loaded: loaded.clone(), raw, address, kind: range.kind, size: range.size })
    }

    /// The structure itself. Do not destroy it.
    #[must_use]
    pub const fn raw(&self) -> vk::AccelerationStructureKHR {
        self.raw
    }

    pub(crate) const fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn destroy(self) {
        if let Some(calls) = &self.loaded.api.structures {
            // SAFETY: by the contract it is no longer in use.
            unsafe { calls.destroy_acceleration_structure(self.raw, None) };
        }
    }

    /// Checks that one structure can be copied to another.
    pub(crate) fn check_copy(&self, dst: &Self, compact: bool) -> Result<(), DeviceError> {
        check_structure_copy((self.kind, self.size), (dst.kind, dst.size), compact)
    }

    pub(crate) fn check_device(&self, loaded: &Loaded) -> Result<(), DeviceError> {
        loaded.check_same(&self.loaded)
    }
}

impl fmt::Debug for AccelerationStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}, {} B)", self.raw, self.kind, self.size)
    }
}
