//! Acceleration structures: addresses in buffers.

use std::sync::Arc;

use tenure_core::device::{
    AccelerationStructureKind, AccelerationStructureRange, CallRule, DeviceError, Permit, RayDevice, State,
    check, check_structure_copy,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING, D3D12_RAYTRACING_ACCELERATION_STRUCTURE_COPY_MODE_CLONE,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_COPY_MODE_COMPACT,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_COMPACTED_SIZE,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_DESC, D3D12_RAYTRACING_ACCELERATION_STRUCTURE_SRV,
    D3D12_SHADER_RESOURCE_VIEW_DESC, D3D12_SHADER_RESOURCE_VIEW_DESC_0,
    D3D12_SRV_DIMENSION_RAYTRACING_ACCELERATION_STRUCTURE, ID3D12GraphicsCommandList4,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_UNKNOWN;
use windows::core::Interface;

use crate::device::error::Asked;
use crate::device::inner::Inner;
use crate::{Device, List, QueryHeap};

/// An acceleration structure: an address in a buffer, which is its only representation in Direct3D 12.
pub struct AccelerationStructure {
    address: u64,
    kind: AccelerationStructureKind,
    size: u64,
    device: Arc<Inner>,
}

impl RayDevice for Device {
    type AccelerationStructure = AccelerationStructure;

    fn create_acceleration_structure(
        &self,
        _: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<AccelerationStructure, DeviceError> {
        self.inner.look()?;
        if !Arc::ptr_eq(&self.inner, &range.buffer.device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        range.check(&self.inner.properties, range.buffer.buffer()?)?;
        let address = range.buffer.address + range.offset;
        Ok(AccelerationStructure {
            address,
            kind: range.kind,
            size: range.size,
            device: Arc::clone(&self.inner),
        })
    }

    fn acceleration_structure_address(&self, structure: &AccelerationStructure) -> u64 {
        structure.address()
    }
}

impl AccelerationStructure {
    /// Checks that shaders of a device can trace rays through it.
    pub(crate) fn check_traced(&self, device: &Inner) -> Result<(), DeviceError> {
        if !std::ptr::eq(Arc::as_ptr(&self.device), device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        match self.kind.is_compatible(AccelerationStructureKind::Top) {
            true => Ok(()),
            false => Err(DeviceError::broken_rule("rays are traced through a top-level structure")),
        }
    }

    /// The view for shaders.
    pub(crate) const fn view(&self) -> D3D12_SHADER_RESOURCE_VIEW_DESC {
        D3D12_SHADER_RESOURCE_VIEW_DESC {
            Format: DXGI_FORMAT_UNKNOWN,
            ViewDimension: D3D12_SRV_DIMENSION_RAYTRACING_ACCELERATION_STRUCTURE,
            Shader4ComponentMapping: D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
            Anonymous: D3D12_SHADER_RESOURCE_VIEW_DESC_0 {
                RaytracingAccelerationStructure: D3D12_RAYTRACING_ACCELERATION_STRUCTURE_SRV {
                    Location: self.address,
                },
            },
        }
    }

    /// The GPU address.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }
}

impl std::fmt::Debug for AccelerationStructure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccelerationStructure({:#x}, {}, {} B)", self.address, self.kind, self.size)
    }
}

impl List {
    fn check_structure(&self, structure: &AccelerationStructure) -> Result<(), DeviceError> {
        match Arc::ptr_eq(&self.device, &structure.device) {
            true => Ok(()),
            false => Err(DeviceError::broken_rule(CallRule::SameDevice)),
        }
    }

    /// The interface of the list with commands for ray tracing: every runtime with acceleration structures has it.
    fn tracing(&self) -> Result<ID3D12GraphicsCommandList4, DeviceError> {
        let list = self.raw.cast::<ID3D12GraphicsCommandList4>();
        list.map_err(|error| self.device.fail(&error, Asked::Object("ray tracing in lists")))
    }

    pub(crate) fn copy_structure(
        &self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) -> Result<(), DeviceError> {
        self.check_structure(src)?;
        self.check_structure(dst)?;
        check::state(self.kind, State::ACCELERATION_STRUCTURE)?;
        check_structure_copy((src.kind, src.size), (dst.kind, dst.size), compact)?;
        let mode = match compact {
            true => D3D12_RAYTRACING_ACCELERATION_STRUCTURE_COPY_MODE_COMPACT,
            false => D3D12_RAYTRACING_ACCELERATION_STRUCTURE_COPY_MODE_CLONE,
        };
        // SAFETY: the list is open, of a queue with shaders; both are ranges of living buffers of acceleration
        // structures. That the first is built, and the other large enough, is the caller's part.
        unsafe { self.tracing()?.CopyRaytracingAccelerationStructure(dst.address, src.address, mode) };
        Ok(())
    }

    pub(crate) fn compacted_size(
        &self,
        structure: &AccelerationStructure,
        heap: &QueryHeap,
        query: u32,
    ) -> Result<(), DeviceError> {
        self.check_structure(structure)?;
        let address = heap.size_address(self, query)?;
        let desc = D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_DESC {
            DestBuffer: address,
            InfoType: D3D12_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO_COMPACTED_SIZE,
        };
        // SAFETY: the list is open, of a queue with shaders; the address has 8 bytes of a live buffer for
        // unordered access, and the structure is in a live buffer. The caller guarantees that it is built.
        unsafe {
            self.tracing()?
                .EmitRaytracingAccelerationStructurePostbuildInfo(&raw const desc, &[structure.address]);
        }
        Ok(())
    }
}
