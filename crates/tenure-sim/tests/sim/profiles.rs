//! The tables, and requirements of any description.

use proptest::prelude::*;
use tenure_core::device::{Device as _, *};
use tenure_sim::{Device, DeviceConfig, Profile};

use crate::common::*;

#[test]
fn tables_keep_the_contract() {
    for profile in Profile::ALL {
        let device = Device::new(*profile);
        let properties = device.properties();
        assert!((1..=32).contains(&properties.memory_types.len()));
        assert!((1..=16).contains(&properties.memory_heaps.len()));
        assert!((1..=MAX_QUEUES).contains(&properties.queues.len()));
        assert_eq!(properties.queues[0].kind, QueueKind::Graphics);
        for memory in &properties.memory_types {
            assert!(usize::from(memory.heap) < properties.memory_heaps.len(), "{profile:?}");
        }
        for alignment in [
            properties.constant_alignment,
            properties.storage_alignment,
            properties.acceleration_structure_alignment,
            properties.heap_alignment,
            properties.msaa_heap_alignment,
            properties.copy_pitch_alignment,
            properties.copy_offset_alignment,
            properties.non_coherent_atom,
            properties.tile_size,
        ] {
            assert!(alignment.is_power_of_two(), "{profile:?}");
        }
        let largest = properties.memory_heaps.iter().map(|heap| heap.size).max().unwrap();
        assert!(properties.max_heap_size <= largest);
        let can = |flags| properties.memory_types.iter().any(|memory| memory.flags.contains(flags));
        assert!(
            can(MemoryFlags::DEVICE_LOCAL) && can(MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT)
        );
        assert!(can(MemoryFlags::HOST_CACHED));
    }
}

#[test]
fn names_are_unique_and_found() {
    for profile in Profile::ALL {
        assert_eq!(Profile::by_name(profile.name()), Some(*profile));
    }
    let mut names: Vec<_> = Profile::ALL.iter().map(Profile::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Profile::ALL.len());
    assert_eq!(Profile::by_name("voodoo2"), None);
}

fn needs(profile: Profile, desc: &ResourceDesc) -> Requirements {
    Device::new(profile).requirements(desc).unwrap()
}

#[test]
fn direct3d_sizes_and_alignments() {
    let tier2 = Profile::D3D12_TIER2;
    let of = |desc: &ResourceDesc| {
        let needs = needs(tier2, desc);
        (needs.size, needs.alignment)
    };
    assert_eq!(of(&buffer(1, Usage::VERTEX)), (65_536, 65_536));
    assert_eq!(of(&buffer(65_537, Usage::VERTEX)), (131_072, 65_536));
    // 16 tiles of 4 KiB are still small; one more is not, and targets never are.
    assert_eq!(of(&texture(16, 16, Usage::SHADER_READ)), (4096, 4096));
    assert_eq!(of(&texture(128, 128, Usage::SHADER_READ)), (65_536, 4096));
    assert_eq!(of(&texture(129, 128, Usage::SHADER_READ)), (131_072, 65_536));
    assert_eq!(of(&texture(16, 16, Usage::RENDER_TARGET)), (65_536, 65_536));
    assert_eq!(of(&texture(1920, 1080, Usage::RENDER_TARGET)), (15 * 9 * 65_536, 65_536));
    let msaa = texture_info(1920, 1080, Usage::RENDER_TARGET).samples(4);
    assert_eq!(of(&ResourceDesc::Texture(msaa)), (4 * 15 * 9 * 65_536, 4 << 20));
    let compressed = texture_info(1024, 1024, Usage::SHADER_READ).format(Format::Bc7Unorm).mips(11);
    let (size, alignment) = of(&ResourceDesc::Texture(compressed));
    assert_eq!(alignment, 65_536);
    assert!((1_398_101..1_572_864).contains(&size), "{size}");

    let tight = Device::with_config(DeviceConfig::new(tier2).tight_alignment(true));
    for (usage, size, alignment) in [
        (Usage::VERTEX | Usage::INDEX | Usage::COPY_DST, 304, 8),
        (Usage::SHADER_READ, 304, 16),
        (Usage::UNORDERED_ACCESS | Usage::VERTEX, 304, 16),
        (Usage::CONSTANT, 512, 256),
        (Usage::ACCELERATION_STRUCTURE, 512, 256),
    ] {
        let needs = tight.requirements(&buffer(300, usage)).unwrap();
        assert_eq!((needs.size, needs.alignment), (size, alignment), "{usage:?}");
    }
    let of = |desc: &ResourceDesc| {
        let needs = tight.requirements(desc).unwrap();
        (needs.size, needs.alignment, tight.properties().committed_size(&needs))
    };
    assert_eq!(of(&texture(5, 5, Usage::SHADER_READ)), (256, 256, 4096), "8 x 8 texels are a tile");
    assert_eq!(of(&texture(129, 128, Usage::SHADER_READ)), (131_072, 65_536, 131_072), "not small");
    assert_eq!(of(&texture(16, 16, Usage::RENDER_TARGET)), (65_536, 65_536, 65_536), "no driver has to");
}

#[test]
fn categories_of_each_kind_of_hardware() {
    let of = |profile, desc: &ResourceDesc| needs(profile, desc).category;
    let kinds =
        [buffer(1, Usage::VERTEX), texture(8, 8, Usage::RENDER_TARGET), texture(8, 8, Usage::SHADER_READ)];
    let tier1 = kinds.each_ref().map(|desc| of(Profile::D3D12_TIER1, desc));
    assert_eq!(tier1, [HeapCategory::Buffers, HeapCategory::Targets, HeapCategory::Textures]);
    assert_eq!(kinds.each_ref().map(|desc| of(Profile::D3D12_TIER2, desc)), [HeapCategory::Any; 3]);
    let nvidia = kinds.each_ref().map(|desc| of(Profile::VULKAN_NVIDIA, desc));
    assert_eq!(nvidia, [HeapCategory::Buffers, HeapCategory::Textures, HeapCategory::Textures]);
    assert_eq!(kinds.each_ref().map(|desc| of(Profile::VULKAN_LAVAPIPE, desc)), [HeapCategory::Any; 3]);
}

#[test]
fn only_transient_attachments_live_in_lazy_memory() {
    let lazy = 1 << 2;
    let of = |usage| needs(Profile::VULKAN_MOBILE, &texture(64, 64, usage)).memory_types;
    assert_ne!(of(Usage::RENDER_TARGET | Usage::TRANSIENT_ATTACHMENT) & lazy, 0);
    assert_eq!(of(Usage::RENDER_TARGET) & lazy, 0);
    assert_eq!(of(Usage::RENDER_TARGET | Usage::SHADER_READ) & lazy, 0);
    assert_eq!(needs(Profile::VULKAN_MOBILE, &buffer(64, Usage::VERTEX)).memory_types & lazy, 0);
}

fn wild_number() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..40, 0_u32..70_000, any::<u32>(), Just(u32::MAX)]
}

fn wild_desc() -> impl Strategy<Value = ResourceDesc> {
    let usage = prop_oneof![
        any::<u32>().prop_map(Usage::from_bits_truncate),
        Just(Usage::SHADER_READ),
        Just(Usage::RENDER_TARGET),
    ];
    let buffer = (any::<u64>(), 0_u32..64, usage.clone())
        .prop_map(|(size, shift, usage)| ResourceDesc::Buffer(BufferInfo::new(size >> shift, usage)));
    let sizes =
        (wild_number(), wild_number(), wild_number(), prop_oneof![Just(1_u32), 0_u32..20, any::<u32>()]);
    let texture = (any::<bool>(), sizes, prop_oneof![Just(1_u32), 0_u32..20], 0..Format::ALL.len(), usage)
        .prop_map(|(deep, (width, height, depth_or_layers, mips), samples, format, usage)| {
            ResourceDesc::Texture(
                TextureInfo::new(
                    if deep { Dimension::D3 } else { Dimension::D2 },
                    width,
                    height,
                    Format::ALL[format],
                    usage,
                )
                .depth_or_layers(depth_or_layers)
                .mips(mips)
                .samples(samples),
            )
        });
    prop_oneof![buffer, texture]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn requirements_hold_every_texel_and_never_panic(desc in wild_desc(), profile in 0..Profile::ALL.len()) {
        let device = Device::new(Profile::ALL[profile]);
        if let Ok(needs) = device.requirements(&desc) {
            prop_assert!(needs.alignment.is_power_of_two());
            prop_assert!(needs.size.is_multiple_of(needs.alignment) || device.properties().api == Api::Direct3D12);
            prop_assert_ne!(needs.memory_types, 0);
            let bytes = match &desc {
                ResourceDesc::Buffer(info) => info.size,
                // Of 8 bytes a texel has, 3 are padding where depth and stencil are stored together.
                ResourceDesc::Texture(info) if info.format == Format::D32FloatS8Uint => {
                    info.packed_bytes().unwrap() / 8 * 5
                }
                ResourceDesc::Texture(info) => info.packed_bytes().unwrap(),
            };
            prop_assert!(needs.size >= bytes);
        }
        // A creation returns a result for any requirements.
        let _ = device.create_committed(&desc, MemoryTypeId(0));
        let _ = device.create_reserved(&desc);
    }
}
