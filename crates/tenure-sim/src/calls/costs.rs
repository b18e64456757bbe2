//! A model of the cost of driver calls on real machines.

use tenure_core::device::{MemoryTypeId, ResourceDesc};

use super::CallKind;

macro_rules! costs {
    ($($(#[$doc:meta])* $name:ident = $default:literal;)*) => {
        /// Nanoseconds of each driver call.
        ///
        /// The defaults are magnitudes of drivers on desktop machines: allocating memory from the kernel is slow
        /// and grows with the size (it is mapped, and zeroed if the API promises zeroes), placing a resource in
        /// existing memory is cheap, and everything else is in between. They make runs comparable on a machine
        /// without a GPU, but are not predictions.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Costs { $($(#[$doc])* pub $name: u64,)* }

        impl Default for Costs {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

costs! {
    /// A heap, before its size.
    create_heap = 60_000;
    /// A committed resource, before its size.
    create_committed = 20_000;
    /// Each MiB of a heap or committed resource.
    per_mib = 2_000;
    /// A placed buffer.
    create_placed_buffer = 2_000;
    /// A placed texture.
    create_placed_texture = 4_000;
    /// A reserved resource.
    create_reserved = 15_000;
    /// Freeing a heap or a committed resource.
    destroy_memory = 20_000;
    /// Destroying a placed or reserved resource.
    destroy_placed = 1_000;
    /// Mapping.
    map = 500;
    /// Writing texels of a texture, before their number.
    write_texture = 500;
    /// Each MiB that is written to a texture.
    write_texture_per_mib = 200_000;
    /// A command list with its allocator.
    create_list = 15_000;
    /// Destroying one.
    destroy_list = 5_000;
    /// Beginning or closing a list.
    list = 1_000;
    /// A submission.
    submit = 5_000;
    /// An update of tile mappings.
    update_tiles = 10_000;
    /// Making blocks resident or evicting them, without the transfers, or changing the priority of one.
    residency = 10_000;
    /// Creating or destroying a descriptor heap, a set layout, or a pool of sets.
    descriptor_heap = 20_000;
    /// Making a descriptor.
    write_descriptor = 200;
    /// Filling or clearing descriptors, before their number.
    fill_descriptors = 50;
    /// Each descriptor that is filled or cleared.
    per_descriptor = 10;
    /// Creating or destroying an acceleration structure in existing memory.
    acceleration_structure = 500;
    /// Asking for requirements.
    requirements = 300;
    /// Polling or waiting for a fence, without the waiting time.
    poll = 50;
    /// Querying the budget.
    budget = 100_000;
}

/// The parameters of a call, for its cost, its log line and the errors injected into it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request {
    /// Bytes of memory allocated, freed or moved, or of texels; for descriptor calls, the number of descriptors.
    pub(crate) bytes: u64,
    pub(crate) memory: u8,
    pub(crate) texture: bool,
}

impl Request {
    pub(crate) fn of(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The request for a resource in memory of a type.
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
            | CallKind::CreateSetPool
            | CallKind::DestroySetPool
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
