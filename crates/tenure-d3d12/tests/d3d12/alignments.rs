//! Alignments: the smallest is queried first.

use tenure_core::device::{Requirements, ResourceDesc, prelude::*};
use tenure_core::{Format, TextureDesc, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Resource;
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{GPU_ONLY, KIB, MIB, buffer, create, device};

fn needs(device: &Device, desc: &TextureDesc) -> Requirements {
    device.requirements(&ResourceDesc::Texture(desc.info.clone())).unwrap()
}

fn sampled(side: u32) -> TextureDesc {
    TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ)
}

#[test]
fn small_textures_lie_at_4_kib_and_others_at_64() {
    let device = create(DeviceConfig::default().tight_alignment(false));
    for (side, alignment) in [(1, 4 * KIB), (64, 4 * KIB), (128, 4 * KIB), (129, 64 * KIB), (1024, 64 * KIB)]
    {
        let needs = needs(&device, &sampled(side));
        assert_eq!(needs.alignment, alignment, "{side} x {side}");
        assert!(needs.size.is_multiple_of(alignment), "{side} x {side}: {needs:?}");
    }
    let target = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    assert_eq!(needs(&device, &target).alignment, 64 * KIB, "a target is never small");
    let coarse = create(DeviceConfig::default().small_textures(false).tight_alignment(false));
    assert_eq!(needs(&coarse, &sampled(16)).alignment, 64 * KIB, "switched off");
}

/// Tight alignment increases neither the alignment nor the memory of textures.
#[test]
fn tight_alignment_asks_for_no_more() {
    let (tight, rigid) = (device(), create(DeviceConfig::default().tight_alignment(false)));
    for desc in [1, 64, 129, 1024].map(sampled) {
        let (tight, rigid) = (needs(&tight, &desc), needs(&rigid, &desc));
        assert!(
            tight.alignment.is_power_of_two() && tight.alignment <= rigid.alignment,
            "{tight:?}, {rigid:?}"
        );
        assert!(
            tight.size.is_multiple_of(tight.alignment) && tight.size <= rigid.size,
            "{tight:?}, {rigid:?}"
        );
    }
}

/// A driver may support only 4 MiB for them, or 64 KiB for all.
#[test]
fn multisampled_textures_lie_at_64_kib_or_4_mib() {
    let device = create(DeviceConfig::default().tight_alignment(false));
    for side in [64, 512, 2048] {
        let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
        let needs = needs(&device, &desc);
        assert!([64 * KIB, 4 * MIB].contains(&needs.alignment), "{needs:?}");
        assert!(needs.size >= desc.info.packed_bytes().unwrap());
    }
}

fn asked_for(raw: &ID3D12Resource) -> u64 {
    // SAFETY: the resource is alive; the description is returned by value.
    unsafe { raw.GetDesc() }.Alignment
}

/// A created resource has the alignment of its queried requirements.
#[test]
fn resources_are_created_as_they_were_asked_for() {
    let device = create(DeviceConfig::default().tight_alignment(false));
    let small = ResourceDesc::Texture(sampled(16).info);
    let made = device.create_committed(&small, GPU_ONLY).unwrap();
    assert_eq!(asked_for(made.raw()), 4 * KIB);
    let large = device.create_committed(&ResourceDesc::Texture(sampled(256).info), GPU_ONLY).unwrap();
    assert!([0, 64 * KIB].contains(&asked_for(large.raw())));
}

#[test]
fn buffers_take_whole_alignments() {
    let device = device();
    let tight = create(DeviceConfig::default().tight_alignment(false));
    for size in [1, 64 * KIB, 64 * KIB + 1, 5 * MIB] {
        let needs = tight.requirements(&buffer(size, Usage::VERTEX)).unwrap();
        assert_eq!((needs.size, needs.alignment), (size.next_multiple_of(64 * KIB), 64 * KIB));
        let needs = device.requirements(&buffer(size, Usage::VERTEX)).unwrap();
        assert_eq!(needs.size, size.next_multiple_of(needs.alignment));
    }
}
