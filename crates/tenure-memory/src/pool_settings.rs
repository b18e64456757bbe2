//! Properties of the pool of each class.

use tenure_heap::{BlockShape, Growth, HeapProperties, InvalidProperties, PoolSuballocator};

use super::block::PoolId;
use super::class::BlockTraits;
use super::shard::PoolShard;
use super::{Class, PoolKind};
use crate::Config;
use crate::device::{Device, Properties, Usage};

/// All usages that buffers in a range pool may have.
pub(super) const fn buffer_usage(kind: PoolKind) -> Usage {
    const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);
    match kind {
        PoolKind::SmallBuffers | PoolKind::SmallBufferSlots => {
            Usage::VERTEX.union(Usage::INDEX).union(COPIES)
        }
        PoolKind::IndirectBuffers => Usage::READ_ONLY.union(COPIES),
        PoolKind::AccelerationStructures => {
            Usage::ACCELERATION_STRUCTURE.union(Usage::SHADER_READ).union(COPIES)
        }
        PoolKind::Readbacks => COPIES,
        PoolKind::UploadPages => Usage::READ_ONLY,
        PoolKind::ReadbackPages => Usage::COPY_DST,
        PoolKind::ReadOnlyBuffers => Usage::READ_ONLY.difference(Usage::INDIRECT).union(COPIES),
        _ => Usage::READ_ONLY.union(COPIES),
    }
}

/// True when the blocks of a pool of this kind are buffers, else heaps.
pub(super) const fn is_range_pool(kind: PoolKind) -> bool {
    matches!(
        kind,
        PoolKind::SmallBuffers
            | PoolKind::ReadOnlyBuffers
            | PoolKind::IndirectBuffers
            | PoolKind::AccelerationStructures
            | PoolKind::SmallUploads
            | PoolKind::Uploads
            | PoolKind::Readbacks
            | PoolKind::UploadPages
            | PoolKind::ReadbackPages
    )
}

/// The CPU access of a pool of this kind, if the kind determines it.
pub(super) const fn is_mapped(kind: PoolKind) -> bool {
    matches!(
        kind,
        PoolKind::SmallUploads
            | PoolKind::Uploads
            | PoolKind::Readbacks
            | PoolKind::UploadPages
            | PoolKind::ReadbackPages
    )
}

/// Checks that the device's tables satisfy the contract; returns their heap properties.
pub(super) fn check(properties: &Properties) -> Result<HeapProperties, InvalidProperties> {
    let heaps = properties.heap_properties();
    heaps.check()?;
    let value = properties.tile_size;
    if value.is_power_of_two() {
        Ok(heaps)
    } else {
        Err(InvalidProperties::NotPowerOfTwo { property: "tile_size", value })
    }
}

/// Creates the pool of a class: its block sizes, granule and alignments follow from its purpose.
///
/// `None` if no pool serves the class, or if the granule is refused, which the table below never causes.
pub(super) fn make_pool<D: Device>(
    device: &D,
    heaps: &HeapProperties,
    config: &Config,
    id: PoolId,
    class: Class,
) -> Option<PoolShard<D>> {
    let properties = device.properties();
    let buffers = [config.pools.min_block, config.pools.max_buffer_block];
    let textures = [config.pools.min_block, config.pools.max_texture_block];
    let slots = [config.pools.small_buffer_slot, config.pools.small_buffer_slot];
    let small_uploads = [config.pools.min_block.min(config.uploads.max_block), config.uploads.max_block];
    let uploads = [config.pools.min_block, config.uploads.max_pooled.max(config.pools.min_block)];
    let ([min, max], granule) = match class.kind {
        PoolKind::SmallBuffers => (slots, 4),
        PoolKind::ReadOnlyBuffers
        | PoolKind::IndirectBuffers
        | PoolKind::Readbacks
        | PoolKind::ReadbackPages => (buffers, 16),
        PoolKind::AccelerationStructures => (buffers, 256),
        PoolKind::SmallBufferSlots | PoolKind::UnorderedBuffers | PoolKind::PlacedBuffers => (buffers, 256),
        PoolKind::SmallUploads => (small_uploads, 16),
        PoolKind::Uploads | PoolKind::UploadPages => (uploads, 16),
        PoolKind::SmallTextures
        | PoolKind::Textures
        | PoolKind::Targets
        | PoolKind::UnorderedTextures
        | PoolKind::MultisampledTextures => (textures, 256),
        PoolKind::Tiles => (textures, properties.tile_size),
        // Plans divide their heaps.
        PoolKind::Transient | PoolKind::Committed => return None,
    };
    // All ranges begin and end at a granule, so that no two ranges share an atom.
    let granule = granule.max(heaps.flush_atom(class.memory));
    let (ranges, shape) = match class.kind {
        PoolKind::SmallUploads => (PoolSuballocator::buddy(granule.max(256)), BlockShape::PowerOfTwo),
        _ => (PoolSuballocator::general(granule).ok()?, BlockShape::Multiple),
    };
    let heap_alignment = match class.kind {
        PoolKind::MultisampledTextures => properties.msaa_heap_alignment,
        PoolKind::Tiles => properties.heap_alignment.max(properties.tile_size),
        _ => properties.heap_alignment,
    };
    let alignment = match class.kind {
        // Whole slots, so that none is cut off at the end of a heap.
        PoolKind::SmallBuffers | PoolKind::SmallBufferSlots => {
            config.pools.small_buffer_slot.max(heap_alignment)
        }
        _ => heap_alignment.max(64 << 10).max(granule),
    };
    // The resources in an evictable block are evicted and made resident together.
    let largest = if class.is_evictable { BlockTraits::ALONE } else { u64::MAX };
    let blocks = [min.min(largest), max.min(largest)];
    let divisor = match class.kind {
        // They still need few heaps, and the unused part of the last heap stays small.
        PoolKind::SmallBufferSlots => config.pools.growth_divisor.saturating_mul(4),
        _ => config.pools.growth_divisor,
    };
    let growth = Growth::new(heaps, class.memory, blocks, alignment, divisor);
    let largest = properties.max_buffer_size - properties.max_buffer_size % alignment;
    let limit = if is_range_pool(class.kind) { growth.limit.min(largest) } else { growth.limit };
    // A slot has one size.
    let halvings = if class.kind == PoolKind::SmallBuffers { 0 } else { growth.halvings };
    let growth = Growth { limit, shape, halvings, ..growth };
    let usage = buffer_usage(class.kind);
    Some(PoolShard::new(id, class, growth, heap_alignment, usage, ranges, config.frames.idle))
}

#[cfg(test)]
mod tests {
    use super::{buffer_usage, check, is_mapped, is_range_pool};
    use crate::MemoryUse;
    use crate::device::{
        Api, Features, MemoryFlags, MemoryHeap, MemoryType, Properties, QueueKind, QueueProperties,
        StateModel, Usage,
    };
    use crate::policy::{PlacementKind, buffer_subject, page_pool, place_buffer};
    use crate::{Config, UploadConfig, UploadSuballocator};

    /// A shared buffer has every usage of its ranges.
    #[test]
    fn a_shared_buffer_has_every_usage_of_its_ranges() {
        for upload_suballocator in [UploadSuballocator::General, UploadSuballocator::Buddy] {
            let config = Config::from(UploadConfig::default().suballocator(upload_suballocator));
            // Queues of all families use every buffer anyway.
            let of_textures = Usage::TEXTURE_ONLY | Usage::CPU_WRITE | Usage::QUEUES;
            let buffer_bits = Usage::all().difference(of_textures).bits();
            for usage in (0..=buffer_bits).filter_map(Usage::from_bits) {
                if usage.intersects(of_textures) {
                    continue;
                }
                for memory_use in MemoryUse::ALL {
                    for size in [1, 64 << 10, (64 << 10) + 1, 16 << 20] {
                        let subject = buffer_subject(usage, memory_use);
                        let PlacementKind::Range(kind) = place_buffer(subject, size, &config) else {
                            continue;
                        };
                        let what = format!("{usage:?} {memory_use:?}, {size} B in {kind:?}");
                        assert!(is_range_pool(kind), "{what}");
                        assert!(buffer_usage(kind).contains(usage), "{what}");
                        assert_eq!(is_mapped(kind), memory_use.is_mapped(), "{what}");
                    }
                }
            }
        }
    }

    /// The GPU only reads pages, or only copies to them; their kinds are distinct from those of the program's
    /// buffers.
    #[test]
    fn pages_have_pools_of_their_own() {
        for memory_use in MemoryUse::ALL.into_iter().filter(|memory_use| memory_use.is_mapped()) {
            let kind = page_pool(memory_use);
            assert!(is_range_pool(kind) && is_mapped(kind));
            let is_readback = memory_use == MemoryUse::Readback;
            assert_eq!(buffer_usage(kind), if is_readback { Usage::COPY_DST } else { Usage::READ_ONLY });
            for usage in (0..=Usage::all().bits()).filter_map(Usage::from_bits) {
                let placement = place_buffer(buffer_subject(usage, memory_use), 1, &Config::default());
                assert_ne!(placement, PlacementKind::Range(kind), "{usage:?}");
            }
        }
    }

    fn properties() -> Properties {
        Properties {
            name: String::new(),
            backend: "sim",
            memory_types: vec![MemoryType { flags: MemoryFlags::all(), heap: 0 }],
            memory_heaps: vec![MemoryHeap { size: 1 << 30, device_local: true }],
            queues: vec![QueueProperties { kind: QueueKind::Graphics, family: 0 }],
            features: Features::empty(),
            api: Api::Vulkan,
            state_model: StateModel::Explicit,
            residency: crate::device::Residency::None,
            uma: true,
            constant_alignment: 256,
            storage_alignment: 16,
            acceleration_structure_alignment: 256,
            heap_alignment: 64 << 10,
            msaa_heap_alignment: 4 << 20,
            copy_pitch_alignment: 256,
            copy_offset_alignment: 512,
            non_coherent_atom: 64,
            tile_size: 64 << 10,
            max_allocations: 4096,
            max_heap_size: 1 << 30,
            max_buffer_size: 1 << 30,
            max_texture_2d: 16_384,
            max_texture_3d: 2048,
            max_layers: 2048,
            descriptors: crate::device::DescriptorLimits {
                visible_resources: 1_000_000,
                visible_samplers: 2048,
                descriptors_per_index: 1,
                samplers: 2048,
                sets: false,
                null: true,
                anisotropy: 16,
                constant_size: 64 << 10,
                storage_size: 1 << 29,
                typed_elements: 1 << 27,
                typed_alignment: 16,
            },
            queries: crate::device::QueryLimits::default(),
            rays: crate::device::RayTracingLimits::default(),
            markers: crate::device::MarkerLimits::default(),
        }
    }

    #[test]
    fn tables_that_break_the_contract_are_refused() {
        assert!(check(&properties()).is_ok());
        /// Breaks a rule; returns the wrong number.
        type Break = fn(&mut Properties) -> u64;
        let break_it: [(&str, Break); 7] = [
            ("memory types", |tables| {
                tables.memory_types.clear();
                0
            }),
            ("memory types", |tables| {
                tables.memory_types = vec![tables.memory_types[0].clone(); 33];
                33
            }),
            ("each heap must exist", |tables| {
                tables.memory_types[0].heap = 1;
                1
            }),
            ("heap_alignment", |tables| {
                tables.heap_alignment = 0;
                0
            }),
            ("msaa_heap_alignment", |tables| {
                tables.msaa_heap_alignment = 3;
                3
            }),
            ("tile_size", |tables| {
                tables.tile_size = 0;
                0
            }),
            ("non_coherent_atom", |tables| {
                tables.non_coherent_atom = 48;
                48
            }),
        ];
        for (text, break_it) in break_it {
            let mut tables = properties();
            let wrong = break_it(&mut tables);
            match check(&tables) {
                Err(rule) => {
                    let rule = rule.to_string();
                    assert!(rule.contains(text) && rule.contains(&wrong.to_string()), "{rule}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
