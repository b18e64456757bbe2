//! Acceleration structures.

use tenure_core::{AccelerationStructureDesc, AccelerationStructureKind, CompactedSize};

use crate::call::{call, call_create};
use crate::convert::unknown;
use crate::object::{AccelerationStructure, Gpu, Query, Recording, on, on_same};
use crate::pointer::{In, Out};
use crate::query_types::QueryOf;
use crate::slot::Handle;
use crate::types::*;

/// The level of an acceleration structure.
pub type tn_StructureKind = u32;
/// Contains geometry (BLAS).
pub const TN_STRUCTURE_BOTTOM: tn_StructureKind = 0;
/// Contains instances (TLAS).
pub const TN_STRUCTURE_TOP: tn_StructureKind = 1;

/// An acceleration structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_AccelerationStructureDesc {
    /// `sizeof(tn_AccelerationStructureDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes: the size that the API reports for the build (`vkGetAccelerationStructureBuildSizesKHR`,
    /// `GetRaytracingAccelerationStructurePrebuildInfo`), or a compacted size.
    pub size: u64,
    /// `TN_STRUCTURE_…`.
    pub kind: tn_StructureKind,
    /// Must be 0.
    pub reserved: u32,
    /// The name in debuggers, messages and reports.
    pub name: tn_Str,
    /// A group in statistics.
    pub tag: tn_Str,
}

descs! {
    tn_AccelerationStructureDesc: 0,
}

/// Creates an acceleration structure. The program records its build, with `tn_recording_build_scratch`, after `tn_recording_use` of
/// all structures that the build reads or writes, in `TN_STATE_ACCELERATION_STRUCTURE`. `tn_place` returns the
/// `VkAccelerationStructureKHR`, or the `ID3D12Resource*` with the offset, and the address. A structure of instances refers to
/// others by address, and does not keep them alive; descriptor tables and sets do.
///
/// Errors: `TN_ERROR_DEVICE` on a device without acceleration structures; `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_ENUM`,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_acceleration_structure_create(
    gpu: Handle<Gpu>,
    desc: In<tn_AccelerationStructureDesc>,
    out: Out<Handle<AccelerationStructure>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let kind = match desc.kind {
            TN_STRUCTURE_BOTTOM => AccelerationStructureKind::Bottom,
            TN_STRUCTURE_TOP => AccelerationStructureKind::Top,
            kind => return unknown("kind", kind),
        };
        let wanted = AccelerationStructureDesc::new(kind, desc.size);
        let wanted = wanted.name(desc.name.name()?).tag(desc.tag.name()?);
        Ok(on_same!(gpu, gpu => gpu.create_acceleration_structure(&wanted)?))
    })
}

/// Queries the compacted size of a structure after its build, which must allow compaction.
///
/// Errors: `TN_ERROR_FOREIGN`, `TN_ERROR_DEVICE`, `TN_ERROR_OUT_OF_MEMORY`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_compacted_size(
    recording: Handle<Recording>,
    structure: Handle<AccelerationStructure>,
    out: Out<Handle<Query>>,
) -> tn_Status {
    call_create(out, || {
        let mut recording = recording.alone()?;
        Ok(on_same!((&mut *recording, structure.get()?), (list, structure) => {
            QueryOf::CompactedSize(list.query_compacted_size(structure)?)
        }))
    })
}

/// Creates a structure of a compacted size, with kind, name and tag of another one, and records the compacting copy. The other one
/// can be released after the call. `size` is the result of its `tn_recording_compacted_size` query.
///
/// Errors: `TN_ERROR_ACCELERATION_STRUCTURE` for a size greater than that of the other; `TN_ERROR_FOREIGN`; those of
/// `tn_acceleration_structure_create`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_compact(
    recording: Handle<Recording>,
    structure: Handle<AccelerationStructure>,
    size: u64,
    out: Out<Handle<AccelerationStructure>>,
) -> tn_Status {
    call_create(out, || {
        let mut recording = recording.alone()?;
        Ok(on_same!((&mut *recording, structure.get()?), (list, structure) => {
            list.compact(structure, CompactedSize(size))?
        }))
    })
}

/// Records a copy between structures of the same kind.
///
/// Errors: `TN_ERROR_ACCELERATION_STRUCTURE` for different kinds, equal source and destination, and a destination that is too
/// small; `TN_ERROR_FOREIGN`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_copy_structure(
    recording: Handle<Recording>,
    src: Handle<AccelerationStructure>,
    dst: Handle<AccelerationStructure>,
) -> tn_Status {
    call(|| {
        let mut recording = recording.alone()?;
        on!((&mut *recording, src.get()?, dst.get()?), (list, src, dst) => {
            list.copy_acceleration_structure(src, dst)?;
        });
        Ok(())
    })
}
