//! Views, samplers and heaps that are not allowed: each is an error at the call, and nothing is
//! written.

use tenure_core::device::{Allowed, Device as _, *};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, HazardKind, Profile};

use crate::common::*;
use crate::views::*;

#[test]
fn heaps_have_limits() {
    for profile in Profile::ALL {
        let device = Device::new(*profile);
        let limits = device.properties().descriptors;
        let create = |kind, count, shader_visible| {
            let heap = device.create_descriptor_heap(&DescriptorHeapDesc { kind, count, shader_visible })?;
            device.destroy_descriptor_heap(Permit::checked(), heap);
            Ok::<_, DeviceError>(())
        };
        let invalid = |field, value: u32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
        for kind in DescriptorKind::ALL {
            assert_eq!(create(kind, 0, false), invalid("count", 0, Allowed::AtLeast(1)));
            assert_eq!(create(kind, 3, false), Ok(()));
            let short = DeviceError::OutOfHostMemory { what: "descriptors" };
            assert_eq!(create(kind, u32::MAX, false), Err(short));
            if !kind.is_for_shaders() {
                assert_eq!(
                    create(kind, 1, true),
                    invalid("shader_visible", 1, Allowed::Rule("0: shaders do not see targets"))
                );
            } else if limits.visible(kind) > 0 {
                assert_eq!(create(kind, limits.visible(kind), true), Ok(()));
                assert_eq!(
                    create(kind, limits.visible(kind) + 1, true),
                    invalid("count", limits.visible(kind) + 1, Allowed::AtMost(limits.visible(kind).into()))
                );
            }
        }
        device.check_clean().unwrap();
    }
}

/// Tries to create a descriptor; a failure leaves the heap unchanged.
fn is_made(device: &Device, kind: DescriptorKind, descriptor: &Descriptor<'_, Device>) -> bool {
    let heap = heap(device, "made", kind, false);
    let made = device.write_descriptor(Permit::checked(), &heap, 0, descriptor);
    let again = device.write_descriptor(Permit::checked(), &heap, 0, descriptor);
    if let Err(error) = &made {
        assert_eq!(Some(error), again.as_ref().err());
    } else {
        assert!(matches!(again, Err(DeviceError::InvalidCall { .. })), "it is taken");
    }
    device.destroy_descriptor_heap(Permit::checked(), heap);
    made.is_ok()
}

#[test]
fn views_of_buffers() {
    let (constants, read) = (BufferAccess::Constants, BufferAccess::Read);
    let typed = |format| read(Elements::Typed(format));
    let stride = |bytes| read(Elements::Structured(bytes));
    let write = BufferAccess::ReadWrite(Elements::Raw);
    // Offset, size, access; allowed on Direct3D 12, on Vulkan (NVIDIA).
    let cases = [
        (0, 256, constants, true, true),
        (256, 768, constants, true, true),
        (64, 256, constants, false, true),
        (32, 256, constants, false, false),
        (0, 100, constants, false, true),
        (0, 0, constants, false, false),
        (65_536, 65_536, constants, true, true),
        (0, 65_792, constants, false, false),
        (0, 1 << 20, read(Elements::Raw), true, true),
        (256, 1 << 20, read(Elements::Raw), false, false),
        (u64::MAX - 255, 256, read(Elements::Raw), false, false),
        (16, 4, read(Elements::Raw), true, true),
        (4, 4, read(Elements::Raw), false, false),
        (0, 6, read(Elements::Raw), false, false),
        (0, 256, write, true, true),
        (36, 36, stride(12), true, false),
        (48, 36, stride(12), true, true),
        (16, 36, stride(12), false, true),
        (0, 40, stride(12), false, false),
        (0, 256, stride(0), false, false),
        (0, 12, stride(6), false, false),
        (0, 4096, stride(4096), false, true),
        (0, 64, typed(Format::Rgba32Float), true, true),
        (4, 64, typed(Format::R32Uint), true, false),
        (16, 64, typed(Format::R32Uint), true, true),
        (8, 64, typed(Format::Rgba32Float), false, false),
        (0, 10, typed(Format::R32Uint), false, false),
        (0, 64, typed(Format::Bc1Unorm), false, false),
        (0, 64, typed(Format::D32Float), false, false),
    ];
    for (profile, column) in BOTH.into_iter().zip(0..) {
        let device = Device::new(profile);
        let usage = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let rock = committed(&device, "rock", &buffer(1 << 20, usage));
        for (offset, size, access, d3d12, vulkan) in cases {
            let made = is_made(&device, DescriptorKind::Resource, &bytes(&rock, offset, size, access));
            assert_eq!(made, [d3d12, vulkan][column], "{profile:?}: {offset}, {size}, {access:?}");
        }
        for (usage, access) in [
            (Usage::CONSTANT, constants),
            (Usage::SHADER_READ, read(Elements::Raw)),
            (Usage::UNORDERED_ACCESS, write),
        ] {
            let with = committed(&device, "with", &buffer(256, usage));
            let without = committed(
                &device,
                "without",
                &buffer(
                    256,
                    Usage::all().difference(
                        Usage::TEXTURE_ONLY
                            | Usage::CPU_WRITE
                            | usage
                            | Usage::ACCELERATION_STRUCTURE
                            | Usage::SHARED_ACROSS_DRIVERS,
                    ),
                ),
            );
            assert!(is_made(&device, DescriptorKind::Resource, &bytes(&with, 0, 256, access)));
            assert!(!is_made(&device, DescriptorKind::Resource, &bytes(&without, 0, 256, access)));
        }
        let picture = committed(&device, "picture", &texture(8, 8, Usage::SHADER_READ));
        assert!(!is_made(&device, DescriptorKind::Resource, &bytes(&picture, 0, 256, read(Elements::Raw))));
        assert!(!is_made(&device, DescriptorKind::Resource, &sampled(&rock)));
    }
}

const SAMPLED: TextureAccess = TextureAccess::Sampled;

/// Six layers of 16 x 16 with 5 mips, castable to sRGB.
#[test]
fn shaders_see_no_readback_heap() {
    for (profile, is_seen) in BOTH.into_iter().zip([false, true]) {
        let device = Device::new(profile);
        let desc = buffer(1 << 16, Usage::SHADER_READ | Usage::COPY_DST);
        let back = device.create_committed(&desc, upload_type(&device, true)).unwrap();
        let view = bytes(&back, 0, 256, BufferAccess::Read(Elements::Raw));
        assert_eq!(is_made(&device, DescriptorKind::Resource, &view), is_seen, "{profile:?}");
    }
}

fn cube() -> TextureInfo {
    texture_info(16, 16, Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET)
        .depth_or_layers(12)
        .mips(5)
        .view_formats(vec![Format::Rgba8Srgb])
}

#[test]
fn views_of_textures() {
    let base = first(SAMPLED);
    let array = TextureView { shape: ViewShape::D2Array, mips: 5, layers: 12, ..base };
    let whole = TextureView { first_mip: 0, ..array };
    let (storage, target) = (first(TextureAccess::Storage), first(TextureAccess::RenderTarget));
    let cases = [
        (base, true),
        (whole, true),
        (TextureView { first_mip: 4, ..base }, true),
        (TextureView { first_mip: 5, ..base }, false),
        (TextureView { first_mip: 1, mips: 5, ..base }, false),
        (TextureView { first_mip: u32::MAX, mips: 2, ..base }, false),
        (TextureView { mips: 0, ..base }, false),
        (TextureView { layers: 0, ..array }, false),
        (TextureView { first_layer: 1, ..array }, false),
        (TextureView { first_layer: 11, layers: 1, ..array }, true),
        (TextureView { layers: 2, ..base }, false),
        (TextureView { shape: ViewShape::Cube, layers: 6, first_layer: 6, ..base }, true),
        (TextureView { shape: ViewShape::Cube, layers: 12, ..base }, false),
        (TextureView { shape: ViewShape::CubeArray, layers: 12, ..base }, true),
        (TextureView { shape: ViewShape::CubeArray, layers: 11, ..base }, false),
        (TextureView { shape: ViewShape::D3, ..base }, false),
        (TextureView { format: Format::Rgba8Srgb, ..base }, true),
        (TextureView { format: Format::Bgra8Unorm, ..base }, false),
        (TextureView { plane: Plane::Stencil, ..base }, false),
        (storage, true),
        (TextureView { mips: 2, ..storage }, false),
        (TextureView { format: Format::Rgba8Srgb, ..storage }, false),
        (TextureView { shape: ViewShape::Cube, layers: 6, ..storage }, false),
        (target, true),
        (TextureView { format: Format::Rgba8Srgb, ..target }, true),
        (TextureView { mips: 2, ..target }, false),
        (first(TextureAccess::DepthStencil { read_only: false }), false),
    ];
    for profile in BOTH {
        let device = Device::new(profile);
        let rock = committed(&device, "rock", &ResourceDesc::Texture(cube()));
        for (view, allowed) in cases {
            let made = is_made(&device, view.access.kind(), &Descriptor::Texture { resource: &rock, view });
            assert_eq!(made, allowed, "{profile:?}: {view:?}");
        }
    }
}

#[test]
fn views_of_other_textures() {
    for profile in BOTH {
        let device = Device::new(profile);
        let is_made = |info: &TextureInfo, view: TextureView| {
            let resource = committed(&device, "rock", &ResourceDesc::Texture(info.clone()));
            let view = TextureView { format: info.format, ..view };
            is_made(&device, view.access.kind(), &Descriptor::Texture { resource: &resource, view })
        };
        let volume = texture_info(4, 4, Usage::SHADER_READ).dimension(Dimension::D3).depth_or_layers(4);
        let d3 = TextureView { shape: ViewShape::D3, ..first(SAMPLED) };
        assert!(is_made(&volume, d3));
        assert!(!is_made(&volume, first(SAMPLED)));
        assert!(!is_made(&volume, TextureView { layers: 2, ..d3 }));

        let depth =
            texture_info(4, 4, Usage::SHADER_READ | Usage::DEPTH_STENCIL).format(Format::D24UnormS8Uint);
        let stencil = TextureView { plane: Plane::Stencil, ..first(SAMPLED) };
        let target = |read_only| first(TextureAccess::DepthStencil { read_only });
        for (view, allowed) in [
            (first(SAMPLED), true),
            (stencil, true),
            (target(true), true),
            (target(false), true),
            (TextureView { plane: Plane::Stencil, ..target(false) }, false),
            (first(TextureAccess::Storage), false),
        ] {
            assert_eq!(is_made(&depth, view), allowed, "{view:?}");
        }
        let plain = depth.format(Format::D32Float);
        assert!(is_made(&plain, first(SAMPLED)) && !is_made(&plain, stencil));
        let oblong = texture_info(8, 4, Usage::SHADER_READ).depth_or_layers(6);
        assert!(!is_made(&oblong, TextureView { shape: ViewShape::Cube, layers: 6, ..first(SAMPLED) }));
        let smooth = texture_info(8, 8, Usage::RENDER_TARGET | Usage::SHADER_READ).samples(4);
        assert!(is_made(&smooth, first(SAMPLED)) && is_made(&smooth, first(TextureAccess::RenderTarget)));
    }
}

#[test]
fn misplaced_descriptors_are_refused() {
    let device = Device::new(Profile::DISCRETE);
    let rock = committed(&device, "rock", &texture(4, 4, Usage::SHADER_READ | Usage::RENDER_TARGET));
    let target = Descriptor::Texture { resource: &rock, view: first(TextureAccess::RenderTarget) };
    let sampler = Descriptor::Sampler(SamplerInfo::default());
    for (kind, descriptor) in [
        (DescriptorKind::Resource, sampled(&rock)),
        (DescriptorKind::RenderTarget, target),
        (DescriptorKind::Sampler, sampler),
    ] {
        for heap_kind in DescriptorKind::ALL {
            assert_eq!(is_made(&device, heap_kind, &descriptor), heap_kind == kind);
        }
    }
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    assert!(device.write_descriptor(Permit::checked(), &heaps.shown, 0, &sampled(&rock)).is_err());
    assert!(device.write_descriptor(Permit::checked(), &heaps.made, 8, &sampled(&rock)).is_err());
    assert!(device.write_descriptor(Permit::checked(), &heaps.made, u32::MAX, &sampled(&rock)).is_err());
}

#[test]
fn filling_is_all_or_nothing() {
    let device = manual(Profile::DISCRETE);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let samplers = Heaps::new(&device, DescriptorKind::Sampler);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    let page = committed(&device, "page", &buffer(1024, Usage::CONSTANT));
    device.write_descriptor(Permit::checked(), &heaps.made, 0, &sampled(&rock)).unwrap();
    samplers.put(&device, 0, &Descriptor::Sampler(SamplerInfo::default()));
    let copy = |heap, index| DescriptorSource::Copy { heap, index };
    let constants = |offset, size| DescriptorSource::Constants { resource: &page, offset, size };
    let right = copy(&heaps.made, 0);
    let fill = |first, sources: &[DescriptorSource<'_, Device>]| {
        device.fill_descriptors(Permit::checked(), &heaps.shown, first, sources)
    };
    for wrong in [
        copy(&heaps.made, 1),
        copy(&heaps.made, 8),
        copy(&heaps.shown, 0),
        copy(&samplers.made, 0),
        constants(128, 256),
        constants(0, 128),
        constants(1024, 256),
    ] {
        assert!(matches!(fill(0, &[right, wrong]), Err(DeviceError::InvalidCall { .. })));
    }
    assert!(fill(7, &[right, right]).is_err());
    assert!(fill(u32::MAX, &[right]).is_err());
    assert!(device.fill_descriptors(Permit::checked(), &heaps.made, 1, &[right]).is_err());
    assert!(device.fill_descriptors(Permit::checked(), &samplers.shown, 1, &[constants(0, 256)]).is_err());
    for (serial, index) in [(2, 0), (3, 7)] {
        submit(&device, GRAPHICS, serial, &[], |list| heaps.look(list, index, State::SHADER_READ));
        assert_one(&hazards(&device), HazardKind::DeadDescriptor, &["shown"]);
    }
    fill(6, &[right, constants(256, 256)]).unwrap();
    fill(8, &[]).unwrap();
    submit(&device, GRAPHICS, 4, &[], |list| heaps.look(list, 6, State::SHADER_READ));
    submit(&device, GRAPHICS, 5, &[], |list| heaps.look(list, 7, State::VERTEX_OR_CONSTANT));
    assert_clean(&hazards(&device));
    device.clear_descriptors(Permit::checked(), &heaps.shown, 7, 2, None);
    assert_one(&device.take_hazards(), HazardKind::InvalidUse, &["shown"]);
}

#[test]
fn samplers_are_checked_and_counted() {
    let limits = DescriptorLimits { samplers: 2, ..Device::new(Profile::DISCRETE).properties().descriptors };
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).descriptors(limits));
    let made = heap(&device, "made", DescriptorKind::Sampler, false);
    let write =
        |index, desc| device.write_descriptor(Permit::checked(), &made, index, &Descriptor::Sampler(desc));
    let plain = SamplerInfo::default();
    for (wrong, field) in [
        (plain.anisotropy(17), "anisotropy"),
        (plain.max_lod(f32::NAN), "max_lod"),
        (plain.min_lod(2000.0), "max_lod"),
    ] {
        assert!(
            matches!(write(0, wrong), Err(DeviceError::InvalidDesc { field: found, .. }) if found == field)
        );
    }
    write(0, plain).unwrap();
    write(1, plain).unwrap();
    assert_eq!(write(2, plain), Err(DeviceError::OutOfHostMemory { what: "samplers" }));
    device.clear_descriptors(Permit::checked(), &made, 0, 1, None);
    write(2, plain).unwrap();
    device.destroy_descriptor_heap(Permit::checked(), made);
    let made = heap(&device, "made", DescriptorKind::Sampler, false);
    for index in 0..2 {
        device.write_descriptor(Permit::checked(), &made, index, &Descriptor::Sampler(plain)).unwrap();
    }
}

/// Makes each descriptor call that can fail once; returns the failed ones.
fn every_call(device: &Device) -> Vec<CallKind> {
    let page = committed(device, "page", &buffer(1024, Usage::CONSTANT));
    let desc = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 4, shader_visible: false };
    let mut failed = Vec::new();
    let mut retried = |kind, failed_once: bool| failed.extend(failed_once.then_some(kind));
    let first = device.create_descriptor_heap(&desc);
    retried(CallKind::CreateDescriptorHeap, first.is_err());
    let made = first.unwrap_or_else(|_| device.create_descriptor_heap(&desc).unwrap());
    let shown = device.create_descriptor_heap(&DescriptorHeapDesc { shader_visible: true, ..desc }).unwrap();
    let view = bytes(&page, 0, 256, BufferAccess::Constants);
    let write = || device.write_descriptor(Permit::checked(), &made, 0, &view).is_err();
    retried(CallKind::WriteDescriptor, write() && !write());
    let source = DescriptorSource::Copy { heap: &made, index: 0 };
    let fill = || device.fill_descriptors(Permit::checked(), &shown, 0, &[source]).is_err();
    retried(CallKind::FillDescriptors, fill() && !fill());
    let bindings = [SetBinding::new(0, BindingKind::Constants)];
    let first = device.create_set_layout(&bindings);
    retried(CallKind::CreateSetLayout, first.is_err());
    let layout = first.unwrap_or_else(|_| device.create_set_layout(&bindings).unwrap());
    let first = device.create_set_pool(Permit::checked(), &layout, 2);
    retried(CallKind::CreateSetPool, first.is_err());
    let block = first.unwrap_or_else(|_| device.create_set_pool(Permit::checked(), &layout, 2).unwrap());
    let set = || {
        device
            .write_set(Permit::checked(), &block, 1, &[SetWrite { binding: 0, element: 0, source }])
            .is_err()
    };
    retried(CallKind::WriteSet, set() && !set());
    device.clear_set(Permit::checked(), &block, 1, None);
    device.clear_descriptors(Permit::checked(), &shown, 0, 1, None);
    device.destroy_set_pool(Permit::checked(), block);
    device.destroy_set_layout(Permit::checked(), layout);
    device.destroy_descriptor_heap(Permit::checked(), shown);
    device.destroy_descriptor_heap(Permit::checked(), made);
    device.destroy_resource(Permit::checked(), page);
    failed
}

#[test]
fn each_call_can_fail_and_changes_nothing() {
    let kinds = [
        CallKind::CreateDescriptorHeap,
        CallKind::WriteDescriptor,
        CallKind::FillDescriptors,
        CallKind::CreateSetLayout,
        CallKind::CreateSetPool,
        CallKind::WriteSet,
    ];
    for kind in kinds {
        let device = Device::new(Profile::VULKAN_NVIDIA);
        device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(kind));
        assert_eq!(every_call(&device), [kind]);
        device.check_clean().unwrap();
        let calls = device.calls();
        assert_eq!(calls.failed(kind), 1);
        assert!(kinds.iter().all(|kind| calls.made(*kind) > 0));
        for kind in [
            CallKind::ClearDescriptors,
            CallKind::ClearSet,
            CallKind::DestroySetLayout,
            CallKind::DestroySetPool,
        ] {
            assert_eq!(calls.made(kind), 1);
        }
        assert_eq!(calls.made(CallKind::DestroyDescriptorHeap), 2);
    }
}

#[test]
fn after_removal_nothing_is_made_and_everything_is_freed() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let heaps = Heaps::new(&device, DescriptorKind::Resource);
    let page = committed(&device, "page", &buffer(1024, Usage::CONSTANT | Usage::COPY_DST));
    let view = bytes(&page, 0, 256, BufferAccess::Constants);
    heaps.put(&device, 0, &view);
    let layout = device.create_set_layout(&[SetBinding::new(0, BindingKind::Constants)]).unwrap();
    let block = device.create_set_pool(Permit::checked(), &layout, 2).unwrap();
    let list = record(&device, GRAPHICS, |list| {
        list.fill_buffer(&page, 0, 256, 1);
        transition(list, &page, State::COPY_DST, State::VERTEX_OR_CONSTANT);
        heaps.look(list, 0, State::VERTEX_OR_CONSTANT);
    });
    device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1).unwrap();
    device.faults().remove("pulled out");
    let desc = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 4, shader_visible: false };
    let source = DescriptorSource::Copy { heap: &heaps.made, index: 0 };
    let answers = [
        device.create_descriptor_heap(&desc).err(),
        device.write_descriptor(Permit::checked(), &heaps.made, 1, &view).err(),
        device.fill_descriptors(Permit::checked(), &heaps.shown, 1, &[source]).err(),
        device.create_set_layout(&[]).err(),
        device.create_set_pool(Permit::checked(), &layout, 1).err(),
        device.write_set(Permit::checked(), &block, 0, &[]).err(),
    ];
    assert!(answers.iter().all(|answer| matches!(answer, Some(DeviceError::Lost { .. }))), "{answers:?}");
    device.clear_descriptors(Permit::checked(), &heaps.shown, 0, 1, Some("page"));
    device.clear_set(Permit::checked(), &block, 0, None);
    device.destroy_set_pool(Permit::checked(), block);
    device.destroy_set_layout(Permit::checked(), layout);
    device.destroy_descriptor_heap(Permit::checked(), heaps.shown);
    device.destroy_descriptor_heap(Permit::checked(), heaps.made);
    device.destroy_list(Permit::checked(), list);
    device.destroy_resource(Permit::checked(), page);
    device.check_clean().unwrap();
}
