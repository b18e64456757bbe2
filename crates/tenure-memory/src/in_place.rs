//! Memory that the CPU writes directly, without staging: rules for initial data, uploads and mapped blocks.
//!
//! | GPU-only buffer | memory | mapped if its memory type is one of [`writable_types`] |
//! | --- | --- | --- |
//! | with initial data, on unified memory | usual | yes |
//! | with initial data, on a card, up to [`max_over_bus`](crate::InPlaceConfig::max_over_bus) bytes | [`filled_type_order`] | yes |
//! | other, only read by the GPU | usual | yes |
//! | other, written by shaders | usual | no: each write would need a barrier that makes it visible to the CPU |
//!
//! Evictable and movable resources are never mapped, nor are acceleration structures and transient resources.
//!
//! Textures are not mapped: the device writes them ([`write_texture`](crate::device::MemoryDevice::write_texture)), if they
//! are colour textures with one sample and initial data, and, on a card, have at most
//! [`max_over_bus`](crate::InPlaceConfig::max_over_bus) bytes.

use crate::Config;
use crate::device::{
    BufferInfo, Device, Features, MemoryFlags, MemoryTypeId, Properties, ResourceDesc, State, TextureInfo,
    Usage,
};
use crate::{BlockTraits, MemoryUse, PoolKind, TypeOrder, type_order};

/// The memory types in which the CPU may write GPU-only buffers, one bit each: coherent, and local to the GPU with the size
/// of its entire memory.
///
/// In memory that must be flushed, the CPU would write back whole atoms, including bytes of neighbours that the GPU may be
/// writing at that moment.
///
/// ```
/// use tenure::device::Device;
/// use tenure::memory::in_place::writable_types;
/// use tenure::sim;
/// let types = |profile| writable_types(sim::Device::new(profile).properties());
/// assert_eq!(types(sim::Profile::VULKAN_LAVAPIPE), 0b1, "the only type there is");
/// assert_eq!(types(sim::Profile::D3D12_REBAR), 0b1000, "GPU upload heaps");
/// assert_eq!(types(sim::Profile::VULKAN_NVIDIA), 0, "a window of 214 MiB is for those who ask for it");
/// ```
#[must_use]
pub fn writable_types(properties: &Properties) -> u32 {
    let heaps = &properties.memory_heaps;
    let excluded = MemoryFlags::LAZILY_ALLOCATED;
    let is_writable =
        |flags: MemoryFlags| flags.contains(MemoryFlags::HOST_COHERENT) && !flags.intersects(excluded);
    let types = (0_u32..32).zip(&properties.memory_types);
    types
        .filter(|(_, found)| found.is_gpu_upload(heaps) && is_writable(found.flags))
        .fold(0, |all, (index, _)| all | 1 << index)
}

/// The memory types to try for a buffer that is filled in place: first the types in which the CPU may write it, then the
/// others, both in the order for GPU-only memory.
///
/// ```
/// use tenure::device::Device;
/// use tenure::memory::in_place::filled_type_order;
/// use tenure::sim;
/// let order = filled_type_order(sim::Device::new(sim::Profile::D3D12_REBAR).properties());
/// assert_eq!((order[0].0, order[1].0), (3, 0), "GPU upload heaps, and then those of the GPU alone");
/// ```
#[must_use]
pub fn filled_type_order(properties: &Properties) -> TypeOrder {
    let writable = writable_types(properties);
    let mut order = type_order(properties, MemoryUse::GpuOnly);
    order.sort_by_key(|memory| !has_bit(writable, *memory));
    order
}

fn has_bit(types: u32, memory: MemoryTypeId) -> bool {
    1_u32.checked_shl(memory.0.into()).is_some_and(|bit| types & bit != 0)
}

/// The state in which the CPU leaves a texture without previous content, among the states in which it may write it: the state
/// for shader reads if shaders read the texture, so that no barrier follows. Compute queues support that state, too.
pub fn first_written_state(states: State, usage: Usage) -> Option<State> {
    let read = State::NON_PIXEL_SHADER;
    let wanted =
        if usage.contains(Usage::SHADER_READ) { [read, State::COPY_DST] } else { [State::COPY_DST; 2] };
    wanted.into_iter().find(|state| states.contains(*state))
}

/// The policy, for a device and a configuration.
#[derive(Debug)]
pub struct InPlace {
    /// 0 if nothing is written in place.
    types: u32,
    order: TypeOrder,
    /// Whether filled buffers have their own order of memory types.
    has_own_order: bool,
    /// Bytes of the largest write.
    max_write: u64,
    /// Whether textures are written in place, if the device supports it.
    has_textures: bool,
}

impl InPlace {
    pub(crate) fn new(properties: &Properties, config: &Config) -> Self {
        let is_on = config.in_place.initial_data || config.in_place.uploads;
        let types = if is_on { writable_types(properties) } else { 0 };
        let order = filled_type_order(properties);
        let max_write = if properties.uma { u64::MAX } else { config.in_place.max_over_bus };
        let has_own_order =
            config.in_place.initial_data && types != 0 && order != type_order(properties, MemoryUse::GpuOnly);
        let has_textures =
            is_on && config.in_place.textures && properties.features.contains(Features::TEXTURE_WRITES);
        Self { types, order, has_own_order, max_write, has_textures }
    }

    /// Whether `bytes` of a texture are written in place, if the device supports it.
    pub const fn allows_texture(&self, bytes: u64) -> bool {
        self.has_textures && bytes <= self.max_write
    }

    /// The states in which the CPU may write a texture created with initial data; empty if its content must be staged.
    pub fn texture_states<D: Device>(&self, device: &D, info: &TextureInfo, traits: BlockTraits) -> State {
        let is_fixed = !traits.is_evictable && !traits.is_movable;
        let bytes = info.packed_bytes().unwrap_or(u64::MAX);
        let is_copied_to = info.usage.contains(Usage::COPY_DST);
        if !(is_fixed && is_copied_to && info.is_writable_by_cpu() && self.allows_texture(bytes)) {
            return State::COMMON;
        }
        let states = device.texture_write_states(info);
        if first_written_state(states, info.usage).is_some() { states } else { State::COMMON }
    }

    /// Whether `bytes` of a buffer are written in place, if its memory is mapped.
    #[inline]
    pub const fn allows(&self, bytes: u64) -> bool {
        self.types != 0 && bytes <= self.max_write
    }

    /// The order for buffers with initial data, if it differs from that of others.
    #[inline]
    pub fn own_order(&self) -> Option<&TypeOrder> {
        self.has_own_order.then_some(&self.order)
    }

    /// Whether a block of a pool of GPU-only ranges is mapped.
    pub fn maps_block(&self, kind: PoolKind, memory: MemoryTypeId, traits: BlockTraits) -> bool {
        kind != PoolKind::AccelerationStructures && self.maps(memory, traits)
    }

    /// Whether a GPU-only API resource is mapped.
    pub fn maps_resource(
        &self,
        desc: &ResourceDesc,
        is_filled: bool,
        memory: MemoryTypeId,
        traits: BlockTraits,
    ) -> bool {
        let ResourceDesc::Buffer(BufferInfo { usage, .. }) = desc else { return false };
        usage.contains(Usage::COPY_DST)
            && !usage.contains(Usage::ACCELERATION_STRUCTURE)
            && (is_filled || usage.is_read_only())
            && self.maps(memory, traits)
    }

    fn maps(&self, memory: MemoryTypeId, traits: BlockTraits) -> bool {
        has_bit(self.types, memory) && !traits.is_evictable && !traits.is_movable
    }
}
