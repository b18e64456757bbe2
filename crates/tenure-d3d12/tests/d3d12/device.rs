//! Properties of a device, and its creation.

use tenure_core::QueueKind;
use tenure_core::device::{Features, HeapCategory, HeapDesc, MemoryTypeId, Priority, StateModel, prelude::*};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{ID3D12Device10, ID3D12InfoQueue};
use tenure_d3d12::windows::core::Interface;
use tenure_d3d12::{Device, DeviceConfig, adapters};

use crate::bench::{GPU_ONLY, MIB, create, device, heap_desc};
use crate::device_thread::on_device_thread;

#[test]
fn adapters_are_listed_with_clean_names() {
    let adapters = on_device_thread(adapters).unwrap();
    assert!(!adapters.is_empty(), "an adapter");
    for adapter in &adapters {
        let info = adapter.info();
        assert!(!info.name.is_empty() && !info.name.contains('\0'), "{info:?}");
        assert!(info.name.chars().all(|character| !character.is_control()), "{info:?}");
    }
    let first = adapters[0].clone();
    let made = on_device_thread(move || Device::create_on(&first, &DeviceConfig::default())).unwrap();
    assert_eq!(made.adapter(), adapters[0].info());
    assert_eq!(made.properties().name, adapters[0].info().name);
}

#[test]
fn feature_levels_are_shown() {
    let level = device().feature_level().to_string();
    assert!(["11_0", "11_1", "12_0", "12_1", "12_2"].contains(&level.as_str()), "{level}");
}

#[test]
fn queues_are_direct_compute_and_copy() {
    let device = device();
    let kinds: Vec<_> = device.properties().queues.iter().map(|queue| queue.kind).collect();
    assert_eq!(kinds, [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy]);
}

/// Features that the runtime lacks are not used, whatever the options.
#[test]
fn options_switch_features_off_and_never_on() {
    let on = device();
    let none = DeviceConfig::default()
        .tight_alignment(false)
        .gpu_upload_heaps(false)
        .enhanced_barriers(false)
        .relaxed_casting(false)
        .not_zeroed(false);
    let off = create(none);
    let switched = Features::TIGHT_ALIGNMENT | Features::GPU_UPLOAD | Features::NOT_ZEROED;
    assert!(!off.properties().features.intersects(switched));
    // If a driver requires it, resource states have one more rule than layouts.
    let of_states = Features::COPY_SRC_WITH_READS;
    assert!(on.properties().features.contains(off.properties().features - of_states));
    assert_eq!(off.properties().state_model, StateModel::Promotion);
    if on.raw().cast::<ID3D12Device10>().is_err() {
        assert_eq!(on.properties().state_model, StateModel::Promotion, "too old for layouts");
    }
    let memories = |device: &Device| device.properties().memory_types.len();
    assert_eq!(memories(&off), 3);
    let has_upload = on.properties().features.contains(Features::GPU_UPLOAD);
    assert_eq!(memories(&on), if has_upload { 4 } else { 3 });
}

/// Without the debug layer, only its absence is reported.
#[test]
fn validation_is_used_where_it_is() {
    let device = create(DeviceConfig::default().validation(true));
    let has_messages = device.raw().cast::<ID3D12InfoQueue>().is_ok();
    assert_eq!(device.is_validated(), has_messages);
    device.deliver_messages();
    assert!(!create(DeviceConfig::default()).is_validated(), "nobody asked for it");
}

#[test]
fn priorities_are_hints() {
    let device = device();
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        let desc = HeapDesc { priority, ..heap_desc(MIB, GPU_ONLY, HeapCategory::Any) };
        let heap = device.create_heap(&desc).unwrap();
        assert_eq!(heap.desc(), &desc);
        // SAFETY: the heap is alive; the description is returned by value.
        let made = unsafe { heap.raw().GetDesc() };
        assert_eq!((made.SizeInBytes, made.Alignment), (desc.size, desc.alignment));
    }
}

#[test]
fn every_memory_type_makes_heaps() {
    let device = device();
    for memory in (0_u8..).map(MemoryTypeId).take(device.properties().memory_types.len()) {
        device.create_heap(&heap_desc(MIB, memory, HeapCategory::Buffers)).unwrap();
    }
}

#[test]
fn the_budget_has_a_line_for_each_segment() {
    let device = device();
    let budget = device.budget().unwrap();
    assert_eq!(budget.len(), device.properties().memory_heaps.len());
    assert_eq!(budget.len(), if device.properties().uma { 1 } else { 2 });
    assert!(budget[0].budget > 0);
}
