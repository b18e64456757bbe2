//! Placed resources are destroyed before their heap, whatever the program does.

use crate::harness::PERMIT;
use std::sync::{Arc, Mutex};

use tenure_core::device::{HeapCategory, prelude::*};
use tenure_core::{Format, Usage};
use tenure_d3d12::LiveObjects;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Object;
use windows_core::{GUID, IUnknown, Interface, implement};

use crate::bench::{Bench, GPU_ONLY, KIB, MIB, UPLOAD, buffer, device, heap_desc, pattern, texture};

/// Notes when the object that holds it is released.
#[implement]
struct Witness {
    name: &'static str,
    released: Arc<Mutex<Vec<&'static str>>>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.released.lock().unwrap().push(self.name);
    }
}

fn watch<T: Interface>(object: &T, name: &'static str, released: &Arc<Mutex<Vec<&'static str>>>) {
    let object: ID3D12Object = object.cast().unwrap();
    let witness: IUnknown = Witness { name, released: released.clone() }.into();
    let id = GUID::from_u128(0x7e0a_6d1c_51f2_4c0e_9d15_0b4f_3c92_a7e1);
    // SAFETY: both are alive; the object takes a reference of its own.
    unsafe { object.SetPrivateDataInterface(&id, &witness) }.unwrap();
}

#[test]
fn a_heap_destroyed_too_early_stays_until_it_is_empty() {
    let mut bench = Bench::new(device());
    let released = Arc::new(Mutex::new(Vec::new()));
    let seen = || released.lock().unwrap().clone();
    let device = bench.device.clone();
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let first = device.create_placed(PERMIT, &buffer(5000, Usage::COPY_SRC), &heap, 0).unwrap();
    let second = device.create_placed(PERMIT, &buffer(5000, Usage::COPY_SRC), &heap, 64 * KIB).unwrap();
    watch(heap.raw(), "heap", &released);
    watch(first.raw(), "first", &released);
    watch(second.raw(), "second", &released);
    device.destroy_heap(PERMIT, heap);
    assert_eq!(seen(), [""; 0], "two resources need it");
    let expected = LiveObjects { heaps: 1, resources: 2, heaps_destroyed_early: 1, ..Default::default() };
    assert_eq!(device.live_objects(), expected, "and it is told");
    let bytes = pattern(5000, 3);
    assert_eq!(bench.round_trip(&first, &bytes), bytes);
    device.destroy_resource(PERMIT, first);
    assert_eq!(seen(), ["first"]);
    assert_eq!(bench.round_trip(&second, &bytes), bytes);
    device.destroy_resource(PERMIT, second);
    assert_eq!(seen(), ["first", "second", "heap"]);
    assert_eq!(device.live_objects(), LiveObjects { heaps_destroyed_early: 1, ..Default::default() });
}

#[test]
fn objects_destroyed_in_order_are_released_at_once() {
    let device = device();
    let released = Arc::new(Mutex::new(Vec::new()));
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let image =
        device.create_placed(PERMIT, &texture(64, Format::R8Unorm, Usage::SHADER_READ), &heap, 0).unwrap();
    watch(heap.raw(), "heap", &released);
    watch(image.raw(), "image", &released);
    device.destroy_resource(PERMIT, image);
    device.destroy_heap(PERMIT, heap);
    assert_eq!(*released.lock().unwrap(), ["image", "heap"]);
    assert_eq!(device.live_objects(), LiveObjects::default());
}

/// A mapping keeps its bytes, even past its resource and its heap.
#[test]
fn mappings_outlive_their_resource() {
    let device = device();
    let heap = device.create_heap(&heap_desc(MIB, UPLOAD, HeapCategory::Any)).unwrap();
    let staging = device.create_placed(PERMIT, &buffer(100, Usage::COPY_SRC), &heap, 0).unwrap();
    let mapping = device.map(&staging).unwrap();
    device.destroy_resource(PERMIT, staging);
    device.destroy_heap(PERMIT, heap);
    mapping.write(0, &[7; 100]).unwrap();
    let mut seen = [0; 100];
    mapping.read(0, &mut seen).unwrap();
    assert_eq!(seen, [7; 100]);
}
