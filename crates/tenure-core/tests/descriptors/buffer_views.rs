//! Views of buffers: their contents, and all invalid descriptions.

use tenure_core::device::{Api, DescriptorLimits, FieldValue, prelude::*};
use tenure_core::{
    BufferAccess, BufferDesc, BufferViewDesc, Config, DescriptorKind, DescriptorTableDesc, DeviceError,
    Elements, Error, Format, Gpu, MemoryUse, PageAllocatorDesc, State, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::{BOTH, HEAPS, bytes, device, end, gpu, out, read, view};

const ALL: Usage = Usage::CONSTANT.union(Usage::SHADER_READ).union(Usage::UNORDERED_ACCESS);

/// The result of a view of a buffer with `size` bytes and all usages.
fn refused(gpu: &Gpu<Device>, size: u64, desc: &BufferViewDesc) -> Error {
    let buffer = gpu.create_buffer(&BufferDesc::new(size, ALL).stride(16).name("lights")).unwrap();
    gpu.create_buffer_view(&buffer, desc).err().unwrap_or_else(|| panic!("{desc:?} was taken"))
}

#[track_caller]
fn rule(error: Error) -> (&'static str, u64, u64) {
    match error {
        Error::Device { name, source: DeviceError::InvalidCall { rule, value, limit } } => {
            assert_eq!(name.as_str(), "lights");
            let number = |value: Option<FieldValue>| value.and_then(FieldValue::number).unwrap_or(0);
            (rule.text(), number(value), number(limit))
        }
        other => panic!("{other}"),
    }
}

#[track_caller]
fn field(error: Error) -> (&'static str, u64) {
    match error {
        Error::Device {
            name,
            source: DeviceError::InvalidDesc { field, value: FieldValue::Number(value), .. },
        } => {
            assert_eq!(name.as_str(), "lights");
            (field, value)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_range_outside_of_the_buffer_is_refused() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let cases =
            [(0, 4096 + 4), (4096, 4), (4096 + 256, 4), (u64::MAX, 4), (256, u64::MAX), (0, u64::MAX)];
        for (offset, size) in cases {
            let error = refused(&gpu, 4096, &BufferViewDesc::raw().range(offset, size));
            let Error::OutOfRange { name, offset: at, size: of, capacity } = error else { panic!("{error}") };
            assert_eq!((name.as_str(), at, of, capacity), ("lights", offset, size, 4096));
        }
        // Without a size the view takes the rest, which is empty.
        assert_eq!(field(refused(&gpu, 4096, &BufferViewDesc::raw().offset(4096))), ("size", 0));
        let far = refused(&gpu, 4096, &BufferViewDesc::raw().offset(4097));
        assert!(matches!(far, Error::OutOfRange { offset: 4097, .. }), "{far}");
        end(gpu, &device);
    }
}

#[test]
fn sizes_are_whole_elements() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    assert_eq!(field(refused(&gpu, 4096, &BufferViewDesc::raw().range(0, 0))), ("size", 0));
    assert_eq!(field(refused(&gpu, 4096, &BufferViewDesc::raw().range(0, 6))), ("size", 6));
    assert_eq!(field(refused(&gpu, 4096, &BufferViewDesc::structured(48).range(0, 100))), ("size", 100));
    let typed = BufferViewDesc::typed(Format::Rgba32Float).range(0, 40);
    assert_eq!(field(refused(&gpu, 4096, &typed)), ("size", 40));
    // A whole view shows the whole elements, and needs one.
    assert_eq!(field(refused(&gpu, 40, &BufferViewDesc::structured(48))), ("size", 0));
    let buffer = gpu.create_buffer(&BufferDesc::new(100, ALL)).unwrap();
    assert!(gpu.create_buffer_view(&buffer, &BufferViewDesc::structured(48)).is_ok());
    drop(buffer);
    end(gpu, &device);
}

#[test]
fn strides_and_formats_are_checked() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    for stride in [0, 2, 6, 2052, u32::MAX] {
        assert_eq!(
            field(refused(&gpu, 4096, &BufferViewDesc::structured(stride))),
            ("stride", stride.into())
        );
    }
    for format in Format::ALL {
        let is_plain = !format.is_depth() && format.block().width == 1;
        if !is_plain {
            let (text, ..) = rule(refused(&gpu, 4096, &BufferViewDesc::typed(*format)));
            assert_eq!(text, "typed views of buffers have plain colour formats");
        }
    }
    end(gpu, &device);
}

#[test]
fn the_usage_must_be_that_of_the_access() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    for access in [
        BufferAccess::Constants,
        BufferAccess::Read(Elements::Raw),
        BufferAccess::ReadWrite(Elements::Structured(16)),
        BufferAccess::Read(Elements::Typed(Format::R32Uint)),
    ] {
        let usage = ALL.difference(access.usage());
        let buffer = gpu.create_buffer(&BufferDesc::new(4096, usage).name("lights")).unwrap();
        let refused = gpu.create_buffer_view(&buffer, &BufferViewDesc::new(access)).unwrap_err();
        let source = DeviceError::MissingUsage { needs: access.usage(), has: usage | Usage::COPY_DST };
        assert_eq!(refused, Error::Device { name: "lights".into(), source }, "{access:?}");
    }
    end(gpu, &device);
}

#[test]
fn views_begin_at_aligned_offsets() {
    let aligned = "a view begins at an aligned offset of the API buffer (BufferDesc::alignment, stride)";
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let properties = device.properties().clone();
        let own = BufferDesc::new(64 << 10, ALL).own_resource().name("lights");
        let buffer = gpu.create_buffer(&own).unwrap();
        let offset = |desc: BufferViewDesc, offset: u64| {
            let size = 256 * 3;
            gpu.create_buffer_view(&buffer, &desc.range(offset, size)).map(drop)
        };
        let is_d3d12 = profile == HEAPS;
        let constant = properties.constant_alignment;
        assert!(offset(BufferViewDesc::constants(), constant).is_ok());
        let refusal = rule(offset(BufferViewDesc::constants(), constant / 2).unwrap_err());
        assert_eq!(refusal, (aligned, constant / 2, constant));
        let storage = properties.storage_alignment;
        assert!(offset(BufferViewDesc::raw_writable(), storage).is_ok());
        let refusal = rule(offset(BufferViewDesc::raw_writable(), storage / 2).unwrap_err());
        assert_eq!(refusal, (aligned, storage / 2, storage));
        // Structures of 48 bytes begin at whole ones, or where storage buffers do.
        let structured = offset(BufferViewDesc::structured(48), 48);
        if is_d3d12 {
            assert!(structured.is_ok());
            assert_eq!(rule(offset(BufferViewDesc::structured(48), 64).unwrap_err()), (aligned, 64, 48));
        } else {
            assert_eq!(structured.is_ok(), 48 % storage == 0);
        }
        let typed = properties.descriptors.typed_alignment.max(if is_d3d12 { 16 } else { 1 });
        assert!(offset(BufferViewDesc::typed(Format::Rgba32Float), typed).is_ok());
        assert!(offset(BufferViewDesc::typed(Format::Rgba32Float), 4).is_err());
        drop(buffer);
        end(gpu, &device);
    }
}

#[test]
fn a_range_of_a_shared_buffer_is_shown_where_it_lies() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let out = out(&gpu);
        let views: Vec<_> = [10, 20, 30].map(|byte| view(&gpu, "shared", byte)).into();
        for (view, byte) in views.iter().zip([10, 20, 30]) {
            assert_eq!(view.kind(), DescriptorKind::Resource);
            let table =
                gpu.create_descriptor_table(&DescriptorTableDesc::new(&[view.into()]).name("one")).unwrap();
            assert_eq!(read(&gpu, &out, table.heap(), table.first()), byte);
        }
        drop((views, out));
        end(gpu, &device);
    }
}

#[test]
fn direct3d_12_rounds_constants_up_within_the_buffer() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = gpu.create_buffer(&BufferDesc::new(1000, ALL).name("lights")).unwrap();
    assert!(gpu.create_buffer_view(&buffer, &BufferViewDesc::constants().range(0, 100)).is_ok());
    assert!(gpu.create_buffer_view(&buffer, &BufferViewDesc::constants().range(512, 256)).is_ok());
    let refusal = gpu.create_buffer_view(&buffer, &BufferViewDesc::constants().range(768, 232)).err();
    let text = "constants take multiples of 256 bytes, which the buffer has not";
    assert_eq!(rule(refusal.unwrap()), (text, 256, 232));
    let large = gpu.create_buffer(&BufferDesc::new(128 << 10, ALL).name("lights")).unwrap();
    let refusal = gpu.create_buffer_view(&large, &BufferViewDesc::constants()).unwrap_err();
    assert_eq!(rule(refusal), ("the bytes of constants in a view are not too many", 128 << 10, 64 << 10));
    drop((buffer, large));
    end(gpu, &device);
}

#[test]
fn no_more_is_shown_than_the_device_can() {
    let limits = device(BOTH, Lag::None).properties().descriptors;
    let limits = DescriptorLimits { storage_size: 1024, typed_elements: 100, ..limits };
    let device = Device::with_config(DeviceConfig::new(BOTH).descriptors(limits));
    let gpu = gpu(&device, Config::default());
    assert_eq!(rule(refused(&gpu, 4096, &BufferViewDesc::raw())), ("bytes of a view", 4096, 1024));
    let structured = refused(&gpu, 4096, &BufferViewDesc::structured_writable(64));
    assert_eq!(rule(structured), ("bytes of a view", 4096, 1024));
    let typed = refused(&gpu, 404, &BufferViewDesc::typed(Format::R32Uint));
    assert_eq!(rule(typed), ("elements of a typed view", 101, 100));
    end(gpu, &device);
}

#[test]
fn a_buffer_of_another_manager_is_refused() {
    let (one, other) = (device(HEAPS, Lag::None), device(HEAPS, Lag::None));
    let (here, there) = (gpu(&one, Config::default()), gpu(&other, Config::default()));
    let buffer = bytes(&there, "theirs", 1);
    let refusal = here.create_buffer_view(&buffer, &BufferViewDesc::raw()).err();
    assert_eq!(refusal, Some(Error::Foreign { name: "theirs".into() }));
    drop(buffer);
    end(here, &one);
    end(there, &other);
}

#[test]
fn a_view_is_named_after_its_buffer_unless_it_has_a_name() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let buffer = bytes(&gpu, "lights", 1);
    let named = |desc: BufferViewDesc| gpu.create_buffer_view(&buffer, &desc).unwrap().name().clone();
    assert_eq!(named(BufferViewDesc::raw()).as_str(), "lights");
    assert_eq!(named(BufferViewDesc::raw().name("near lights")).as_str(), "near lights");
    drop(buffer);
    end(gpu, &device);
}

/// Every device accepts every kind of view of a buffer, and shaders read its bytes.
#[test]
fn every_access_is_served_by_every_profile() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let buffer = gpu.create_buffer(&BufferDesc::new(4096, ALL).stride(16)).unwrap();
        for desc in [
            BufferViewDesc::constants(),
            BufferViewDesc::raw(),
            BufferViewDesc::raw_writable(),
            BufferViewDesc::structured(16),
            BufferViewDesc::structured_writable(16),
            BufferViewDesc::typed(Format::R32Uint),
            BufferViewDesc::typed_writable(Format::R32Uint),
        ] {
            let made = gpu.create_buffer_view(&buffer, &desc.clone().range(0, 1024));
            assert!(made.is_ok(), "{} {desc:?}: {}", profile.name(), made.unwrap_err());
        }
        drop(buffer);
        end(gpu, &device);
    }
}

#[test]
fn mapped_and_pooled_buffers_are_alike() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let out = out(&gpu);
    let usage = Usage::CONSTANT;
    let desc = BufferDesc::new(64, usage).usage(usage).memory(MemoryUse::Upload);
    // Its range ends where the next begins, so that 256 bytes of it cannot be shown.
    let short = gpu.create_buffer(&desc.name("lights")).unwrap();
    let refusal = gpu.create_buffer_view(&short, &BufferViewDesc::constants()).unwrap_err();
    assert_eq!(rule(refusal).1, 256);
    let camera = bytes(&gpu, "camera", 9);
    let view = gpu.create_buffer_view(&camera, &BufferViewDesc::constants()).unwrap();
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("camera")).unwrap();
    let at = tenure_sim::DescriptorAt::Heap { heap: table.heap(), index: table.first() };
    crate::submit_read(&gpu, &out, at, State::VERTEX_OR_CONSTANT);
    assert_eq!(crate::written(&gpu, &out), 9);
    drop((short, camera, view, table, out));
    end(gpu, &device);
}

/// Wherever a buffer is placed, views of the kinds in its usage begin at its offset.
#[test]
fn buffers_lie_where_views_of_them_may_begin() {
    for profile in Profile::ALL {
        let options = DeviceConfig::new(*profile).lag(Lag::None);
        let is_d3d12 = Device::new(*profile).properties().api == Api::Direct3D12;
        let device = Device::with_config(options.tight_alignment(is_d3d12));
        let gpu = gpu(&device, Config::default());
        let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
        let mut kept = Vec::new();
        for size in (0..40).map(|step| 256 + 12 * step) {
            for usage in [Usage::VERTEX, Usage::CONSTANT, Usage::SHADER_READ, Usage::UNORDERED_ACCESS] {
                let desc = BufferDesc::new(size, usage).name("lights");
                let own = desc.clone().own_resource();
                for buffer in [gpu.create_buffer(&desc), gpu.create_buffer(&own), pages.create_buffer(&desc)]
                {
                    kept.push(buffer.unwrap());
                }
            }
        }
        for buffer in &kept {
            let typed = |format| BufferViewDesc::typed(format).range(0, 64);
            let views = [
                (Usage::CONSTANT, BufferViewDesc::constants().range(0, 256)),
                (Usage::SHADER_READ, BufferViewDesc::raw().range(0, 64)),
                (Usage::SHADER_READ, typed(Format::R8Unorm)),
                (Usage::SHADER_READ, typed(Format::Rgba32Float)),
                (Usage::UNORDERED_ACCESS, BufferViewDesc::raw_writable().range(0, 64)),
            ];
            for (_, view) in views.into_iter().filter(|(usage, _)| buffer.usage().contains(*usage)) {
                let made = gpu.create_buffer_view(buffer, &view);
                assert!(made.is_ok(), "{profile:?} {:?} {view:?}: {:?}", buffer.location(), made.err());
            }
        }
        drop((kept, pages));
        end(gpu, &device);
    }
}
