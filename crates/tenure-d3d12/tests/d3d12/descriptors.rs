//! Heaps of descriptors, copies between them, and lists that use them.

use crate::harness::PERMIT;
use tenure_core::device::{
    BufferView, Descriptor, DescriptorHeapDesc, DescriptorSource, ObjectRef, prelude::*,
};
use tenure_core::{
    BufferAccess, Config, DescriptorKind, DescriptorTableDesc, DeviceError, Elements, Format, Gpu, Queue,
    SamplerDesc, TextureAccess, TextureDesc, TextureViewDesc, Usage,
};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_DESCRIPTOR_HEAP_FLAG_NONE, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
    D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_TYPE_RTV,
    D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, ID3D12DescriptorHeap,
};
use tenure_d3d12::{LiveObjects, RawHandle as _};

use crate::bench::{COMPUTE, COPY, GRAPHICS, bad, device, refused};
use crate::probe::{CONSTANTS, TYPED_BUFFER};
use crate::viewer::{COUNT, Viewer, heap_of};

const TYPED: BufferAccess = BufferAccess::Read(Elements::Typed(Format::R32Uint));

fn desc(kind: DescriptorKind, count: u32, shader_visible: bool) -> DescriptorHeapDesc {
    DescriptorHeapDesc { kind, count, shader_visible }
}

#[test]
fn heaps_are_the_apis_own() {
    let device = device();
    let visible = [true, true, false, false];
    let types = [
        D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER,
        D3D12_DESCRIPTOR_HEAP_TYPE_RTV,
        D3D12_DESCRIPTOR_HEAP_TYPE_DSV,
    ];
    for ((kind, raw_kind), may_be_visible) in DescriptorKind::ALL.into_iter().zip(types).zip(visible) {
        for shader_visible in [false, may_be_visible] {
            let desc = desc(kind, 5, shader_visible);
            let heap = device.create_descriptor_heap(&desc).unwrap();
            assert_eq!(heap.desc(), &desc);
            // SAFETY: the interfaces are alive; everything is returned by value.
            let (raw, step) =
                unsafe { (heap.raw().GetDesc(), device.raw().GetDescriptorHandleIncrementSize(raw_kind)) };
            let flags = if shader_visible {
                D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
            } else {
                D3D12_DESCRIPTOR_HEAP_FLAG_NONE
            };
            assert_eq!((raw.Type, raw.NumDescriptors, raw.Flags), (raw_kind, 5, flags));
            let cpu = |index| heap.cpu_handle(index).map(|handle| handle.ptr);
            assert_eq!(cpu(4).unwrap() - cpu(0).unwrap(), 4 * step as usize);
            assert_eq!((cpu(5), cpu(u32::MAX)), (None, None));
            let gpu = |index| heap.gpu_handle(index).map(|handle| handle.ptr);
            assert_eq!(gpu(0).is_some(), shader_visible);
            assert_eq!(
                gpu(4).zip(gpu(0)).map(|(last, first)| last - first),
                shader_visible.then(|| 4 * u64::from(step))
            );
            assert_eq!(gpu(5), None);
            device.set_name(PERMIT, ObjectRef::DescriptorHeap(&heap), "materials");
            assert_eq!(crate::names::name(heap.raw()), "materials");
            assert_eq!(device.live_objects(), LiveObjects { descriptor_heaps: 1, ..Default::default() });
            device.destroy_descriptor_heap(PERMIT, heap);
        }
    }
    assert_eq!(device.live_objects(), LiveObjects::default());
}

#[test]
fn heaps_end_where_the_tier_does() {
    let device = device();
    let limits = device.properties().descriptors;
    assert_eq!((limits.visible_resources, limits.visible_samplers), (1_000_000, 2048));
    assert!(!limits.sets && limits.null);
    for (kind, most) in [(DescriptorKind::Resource, 1_000_000), (DescriptorKind::Sampler, 2048)] {
        let heap = device.create_descriptor_heap(&desc(kind, most, true)).unwrap();
        assert!(heap.gpu_handle(most - 1).is_some());
        let refused = device.create_descriptor_heap(&desc(kind, most + 1, true));
        assert_eq!(bad(refused, "count"), (most + 1).into());
        bad(device.create_descriptor_heap(&desc(kind, 0, true)), "count");
    }
    for kind in [DescriptorKind::RenderTarget, DescriptorKind::DepthStencil] {
        bad(device.create_descriptor_heap(&desc(kind, 1, true)), "shader_visible");
    }
    for kind in DescriptorKind::ALL {
        bad(device.create_descriptor_heap(&desc(kind, 0, false)), "count");
        // The driver may lack memory for a heap of this size.
        if let Err(error) = device.create_descriptor_heap(&desc(kind, u32::MAX, false)) {
            assert!(error.is_shortage() || matches!(error, DeviceError::InvalidCall { .. }), "{error}");
        }
    }
    assert!(
        device.create_set_layout(&[]).is_err_and(|error| matches!(error, DeviceError::Unsupported { .. }))
    );
}

/// More descriptors than one call clears, with constants between them, at indices in any order.
#[test]
fn many_descriptors_are_filled_in_at_once() {
    let mut viewer = Viewer::new();
    let words: Vec<u32> = (0..64 * 64).collect();
    let buffer = viewer.words(&words);
    let (device, from) = (viewer.device(), DescriptorKind::Resource);
    for index in 0..COUNT {
        let view = BufferView { offset: u64::from(index) * 4, size: 4, access: TYPED };
        let descriptor = Descriptor::Buffer { resource: &buffer, view };
        device.write_descriptor(PERMIT, viewer.hidden(from), index, &descriptor).unwrap();
    }
    let is_constant = |index: u32| index % 19 == 7 || index == 40;
    let sources: Vec<_> = (0..60)
        .map(|index: u32| match is_constant(index) {
            true => {
                DescriptorSource::Constants { resource: &buffer, offset: u64::from(index) * 256, size: 256 }
            }
            false => DescriptorSource::Copy { heap: viewer.hidden(from), index: COUNT - 1 - index * 3 },
        })
        .collect();
    device.fill_descriptors(PERMIT, &viewer.views, 100, &sources).unwrap();
    drop(sources);
    for index in 0..60 {
        let (shader, expected) = if is_constant(index) {
            (CONSTANTS, std::array::from_fn(|word| index * 64 + word as u32))
        } else {
            (TYPED_BUFFER, [COUNT - 1 - index * 3; 4])
        };
        assert_eq!(viewer.see(shader, &[100 + index]), expected, "{index}");
    }
    device.fill_descriptors(PERMIT, &viewer.views, COUNT, &[]).unwrap();
}

#[test]
fn refused_descriptors_change_nothing() {
    let mut viewer = Viewer::new();
    let (device, kind) = (viewer.device(), DescriptorKind::Resource);
    let buffer = viewer.words(&[11; 256]);
    let view = |offset| Descriptor::Buffer {
        resource: &buffer,
        view: BufferView { offset, size: 4, access: TYPED },
    };
    viewer.show(0, &view(0));
    device.write_descriptor(PERMIT, viewer.hidden(kind), 1, &view(64)).unwrap();
    let (from, to) = (viewer.hidden(kind), &viewer.views);
    let good = DescriptorSource::Copy { heap: from, index: 1 };
    let copy = |heap, index| DescriptorSource::Copy { heap, index };
    let constants = |offset, size| DescriptorSource::Constants { resource: &buffer, offset, size };
    let fill = |source| device.fill_descriptors(PERMIT, to, 0, &[good, source]);
    refused(fill(copy(from, 2)), "a descriptor that is copied was written");
    refused(fill(copy(from, COUNT)), "the descriptors are inside their heap");
    refused(fill(copy(to, 0)), "descriptors are written and copied from in heaps that shaders do not see");
    let samplers = viewer.hidden(DescriptorKind::Sampler);
    refused(fill(copy(samplers, 0)), "a descriptor is of the kind that its heap holds");
    refused(fill(constants(16, 256)), "the offset and the size of constants are aligned");
    assert_eq!(
        refused(fill(constants(0, 100)), "the offset and the size of constants are aligned"),
        (100, 256)
    );
    assert_eq!(refused(fill(constants(1024, 256)), "a view of a buffer is inside it"), (1280, 1024));
    bad(fill(constants(0, 0)), "size");
    let other = crate::bench::device();
    let theirs = heap_of(&other, kind, false);
    refused(fill(copy(&theirs, 0)), "an object is used with the device that made it");
    let inside = "the descriptors are inside their heap";
    refused(device.fill_descriptors(PERMIT, to, COUNT - 1, &[good, good]), inside);
    refused(device.fill_descriptors(PERMIT, to, u32::MAX, &[good, good]), inside);
    refused(device.fill_descriptors(PERMIT, from, 0, &[good]), "heaps that shaders see are filled");
    refused(other.fill_descriptors(PERMIT, to, 0, &[good]), "an object is used with the device that made it");
    let kinds = "a descriptor is of the kind that its heap holds";
    refused(device.fill_descriptors(PERMIT, &viewer.samplers, 0, &[constants(0, 256)]), kinds);
    device.clear_descriptors(PERMIT, from, 1, 1, None);
    refused(device.fill_descriptors(PERMIT, to, 0, &[good]), "a descriptor that is copied was written");
    drop(other);
    assert_eq!(viewer.see(TYPED_BUFFER, &[0]), [11; 4]);
}

/// A clear covers exactly the requested range, wherever it ends.
#[test]
fn clearing_stays_inside() {
    let mut viewer = Viewer::new();
    let buffer = viewer.words(&[5; 64]);
    let view = BufferView { offset: 0, size: 4, access: TYPED };
    for index in [0, 1, COUNT - 1] {
        viewer.show(index, &Descriptor::Buffer { resource: &buffer, view });
    }
    let device = viewer.device();
    device.clear_descriptors(PERMIT, &viewer.views, COUNT - 2, u32::MAX, Some("old"));
    device.clear_descriptors(PERMIT, &viewer.views, u32::MAX, u32::MAX, Some("old"));
    device.clear_descriptors(PERMIT, &viewer.views, 1, 1, Some("old"));
    let seen = [0, 1, COUNT - 1].map(|index| viewer.see(TYPED_BUFFER, &[index])[0]);
    assert_eq!(seen, [5, 0, 0]);
    // Without an owner to report, nothing is written.
    device.clear_descriptors(PERMIT, &viewer.views, 0, 1, None);
    assert_eq!(viewer.see(TYPED_BUFFER, &[0]), [5; 4]);
}

/// Copy queues have no shaders, and a heap is set as its own kind.
#[test]
fn lists_take_heaps_that_shaders_see() {
    let viewer = Viewer::new();
    let rule = "shaders see the heap of descriptors, as one of its kind";
    let hidden = viewer.hidden(DescriptorKind::Resource);
    for (resources, samplers) in
        [(Some(hidden), None), (Some(&viewer.samplers), None), (Some(&viewer.views), Some(&viewer.views))]
    {
        refused(viewer.bench.recorded(COMPUTE, |list| list.set_descriptor_heaps(resources, samplers)), rule);
    }
    let other = heap_of(&device(), DescriptorKind::Resource, true);
    refused(
        viewer.bench.recorded(GRAPHICS, |list| list.set_descriptor_heaps(Some(&other), None)),
        "an object is used with the device that made it",
    );
    let (views, samplers) = (Some(&viewer.views), Some(&viewer.samplers));
    for queue in [GRAPHICS, COMPUTE, COPY] {
        viewer
            .bench
            .recorded(queue, |list| {
                list.set_descriptor_heaps(None, None);
                list.set_descriptor_heaps(views, None);
                list.set_descriptor_heaps(views, samplers);
                list.set_descriptor_heaps(views, samplers);
                list.set_descriptor_heaps(None, samplers);
            })
            .unwrap();
    }
}

/// Tenure's heaps are set again after the program's.
#[test]
fn heaps_of_the_program_are_forgotten() {
    let mut viewer = Viewer::new();
    let buffer = viewer.words(&[9; 64]);
    let view = BufferView { offset: 0, size: 4, access: TYPED };
    viewer.show(0, &Descriptor::Buffer { resource: &buffer, view });
    let own = heap_of(&viewer.device(), DescriptorKind::Resource, true);
    let own: [Option<ID3D12DescriptorHeap>; 1] = [Some(own.raw().clone())];
    let seen = viewer.see_after(TYPED_BUFFER, &[0], |list| {
        // SAFETY: the list is open, and the heap alive and of its device.
        unsafe { list.raw().SetDescriptorHeaps(&own) };
        list.forget_descriptor_heaps();
    });
    assert_eq!(seen, [9; 4]);
}

/// Each thread has its own indices, as the contract requires, of common heaps.
#[test]
fn threads_share_heaps() {
    let mut viewer = Viewer::new();
    let words: Vec<u32> = (0..64 * 64).collect();
    let buffer = viewer.words(&words);
    let (device, hidden, views) = (viewer.device(), viewer.hidden(DescriptorKind::Resource), &viewer.views);
    let work = |first: u32| {
        for round in 0..200_u32 {
            let mine = first..first + 32;
            for index in mine.clone() {
                let offset = u64::from(index + round) * 4;
                let view = BufferView { offset, size: 4, access: TYPED };
                let descriptor = Descriptor::Buffer { resource: &buffer, view };
                device.write_descriptor(PERMIT, hidden, index, &descriptor).unwrap();
            }
            let copies = mine.map(|index| DescriptorSource::Copy { heap: hidden, index });
            device.fill_descriptors(PERMIT, views, first, &copies.collect::<Vec<_>>()).unwrap();
            if round != 199 {
                device.clear_descriptors(PERMIT, hidden, first, 32, None);
                device.clear_descriptors(PERMIT, views, first, 32, Some("round"));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread * 32))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    for index in (0..COUNT).step_by(7) {
        assert_eq!(viewer.see(TYPED_BUFFER, &[index]), [index + 199; 4]);
    }
}

#[test]
fn handles_of_the_api_are_returned_in_one_call() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET;
    let texture = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
    for access in [TextureAccess::Sampled, TextureAccess::RenderTarget] {
        let view = gpu.create_texture_view(&texture, &TextureViewDesc::new(access)).unwrap();
        assert_eq!(Some(view.raw()), view.heap().cpu_handle(view.index()));
        assert_ne!(view.raw().ptr, 0);
    }
    let view = gpu.create_texture_view(&texture, &TextureViewDesc::new(TextureAccess::Sampled)).unwrap();
    let sampler = gpu.create_sampler(&SamplerDesc::default()).unwrap();
    assert_ne!(sampler.raw().ptr, 0);
    let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()])).unwrap();
    assert_eq!(Some(table.raw()), table.heap().gpu_handle(table.first()));
    let mut recording = gpu.record(Queue::Graphics, "tables").unwrap();
    let of_recording = recording.split().1.descriptors(&[(&view).into()]).unwrap().raw();
    assert!(of_recording.ptr != 0 && of_recording != table.raw());
    drop((recording, table, sampler, view, texture));
    assert!(gpu.shutdown().is_clean());
}
