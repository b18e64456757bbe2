//! What driver calls cost on real machines, as a model.

use tenure_core::device::{MemoryTypeId, ResourceDesc};

use super::CallKind;

/// Nanoseconds of each driver call.
///
/// The defaults are magnitudes of drivers on desktop machines: taking memory from the kernel is
/// slow and grows with the size (it is mapped, and zeroed where the API promises zeroes), placing
/// a resource in memory that is there is cheap, and everything else lies between. They make two
/// runs comparable on a machine without a GPU; they do not predict one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A heap, before its size.
    pub create_heap: u64,
    /// A committed resource, before its size.
    pub create_committed: u64,
    /// Each MiB of a heap or committed resource.
    pub per_mib: u64,
    /// A placed buffer.
    pub create_placed_buffer: u64,
    /// A placed texture.
    pub create_placed_texture: u64,
    /// A reserved resource.
    pub create_reserved: u64,
    /// Giving a heap or a committed resource back.
    pub destroy_memory: u64,
    /// Destroying a placed or reserved resource.
    pub destroy_placed: u64,
    /// Mapping.
    pub map: u64,
    /// Writing texels of a texture, before their number.
    pub write_texture: u64,
    /// Each MiB that is written to a texture.
    pub write_texture_per_mib: u64,
    /// A command list with its allocator.
    pub create_list: u64,
    /// Destroying one.
    pub destroy_list: u64,
    /// Beginning or closing a list.
    pub list: u64,
    /// A submission.
    pub submit: u64,
    /// An update of tile mappings.
    pub update_tiles: u64,
    /// Making blocks resident or evicting them, before what is moved, or changing the priority of one.
    pub residency: u64,
    /// A heap of descriptors, a set layout, or a block of sets: making or destroying it.
    pub descriptor_heap: u64,
    /// Making a descriptor.
    pub write_descriptor: u64,
    /// Filling or clearing descriptors, before their number.
    pub fill_descriptors: u64,
    /// Each descriptor that is filled or cleared.
    pub per_descriptor: u64,
    /// An acceleration structure in memory that is there: making or destroying it.
    pub acceleration_structure: u64,
    /// Asking for requirements.
    pub requirements: u64,
    /// Polling or waiting for a fence, before the waiting.
    pub poll: u64,
    /// Asking for the budget.
    pub budget: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            create_heap: 60_000,
            create_committed: 20_000,
            per_mib: 2_000,
            create_placed_buffer: 2_000,
            create_placed_texture: 4_000,
            create_reserved: 15_000,
            destroy_memory: 20_000,
            destroy_placed: 1_000,
            map: 500,
            write_texture: 500,
            write_texture_per_mib: 200_000,
            create_list: 15_000,
            destroy_list: 5_000,
            list: 1_000,
            submit: 5_000,
            update_tiles: 10_000,
            residency: 10_000,
            descriptor_heap: 20_000,
            write_descriptor: 200,
            fill_descriptors: 50,
            per_descriptor: 10,
            acceleration_structure: 500,
            requirements: 300,
            poll: 50,
            budget: 100_000,
        }
    }
}

/// What a call asks for, for its cost, its log line and the errors injected into it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request {
    /// Bytes of memory that are taken, given back or moved, or of texels; descriptors, where a call is about those.
    pub(crate) bytes: u64,
    pub(crate) memory: u8,
    pub(crate) texture: bool,
}

impl Request {
    pub(crate) fn of(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Of a resource in memory of a type.
    pub(crate) fn for_memory(bytes: u64, memory: MemoryTypeId, desc: &ResourceDesc) -> Self {
        Self { bytes, memory: memory.0, texture: matches!(desc, ResourceDesc::Texture(_)) }
    }
}

impl Costs {
    pub(crate) fn of(&self, call: CallKind, request: Request) -> u64 {
        let sized = |base: u64| base.saturating_add((request.bytes >> 20).saturating_mul(self.per_mib));
        let many = self.fill_descriptors.saturating_add(request.bytes.saturating_mul(self.per_descriptor));
        match call {
            CallKind::CreateHeap => sized(self.create_heap),
            CallKind::CreateCommitted => sized(self.create_committed),
            CallKind::CreatePlaced if request.texture => self.create_placed_texture,
            CallKind::CreatePlaced => self.create_placed_buffer,
            CallKind::CreateReserved => self.create_reserved,
            CallKind::DestroyHeap => self.destroy_memory,
            CallKind::DestroyResource if request.bytes > 0 => self.destroy_memory,
            CallKind::DestroyResource => self.destroy_placed,
            CallKind::Map => self.map,
            CallKind::WriteTexture => {
                let mib = (request.bytes >> 20).saturating_mul(self.write_texture_per_mib);
                self.write_texture.saturating_add(mib)
            }
            CallKind::CreateList => self.create_list,
            CallKind::DestroyList => self.destroy_list,
            CallKind::BeginList | CallKind::CloseList => self.list,
            CallKind::Submit => self.submit,
            CallKind::UpdateTiles => self.update_tiles,
            CallKind::MakeResident | CallKind::Evict | CallKind::SetPriority => self.residency,
            CallKind::CreateDescriptorHeap
            | CallKind::DestroyDescriptorHeap
            | CallKind::CreateSetLayout
            | CallKind::DestroySetLayout
            | CallKind::CreateSetBlock
            | CallKind::DestroySetBlock
            | CallKind::CreateQueryHeap
            | CallKind::DestroyQueryHeap => self.descriptor_heap,
            CallKind::WriteDescriptor => self.write_descriptor,
            CallKind::FillDescriptors
            | CallKind::ClearDescriptors
            | CallKind::WriteSet
            | CallKind::ClearSet => many,
            CallKind::CreateAccelerationStructure | CallKind::DestroyAccelerationStructure => {
                self.acceleration_structure
            }
            CallKind::Requirements => self.requirements,
            CallKind::Completed | CallKind::Wait => self.poll,
            CallKind::Budget => self.budget,
        }
    }
}
