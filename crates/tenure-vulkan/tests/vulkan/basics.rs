//! Helpers for tests of the device without a manager.

use crate::harness::PERMIT;
use std::time::Duration;

use tenure_core::device::{
    HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId, Priority, QueueSerial, ResourceDesc, prelude::*,
};
use tenure_core::{BufferInfo, DeviceError, Dimension, Format, QueueId, State, TextureInfo, Usage};
use tenure_vulkan::{Device, Heap, List, Resource};

pub(crate) const GRAPHICS: QueueId = QueueId(0);
pub(crate) const LONG: Duration = Duration::from_secs(20);
pub(crate) const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

pub(crate) fn at(serial: u64) -> QueueSerial {
    QueueSerial { queue: GRAPHICS, serial }
}

pub(crate) fn buffer(size: u64, usage: Usage) -> ResourceDesc {
    ResourceDesc::Buffer(BufferInfo::new(size, usage))
}

pub(crate) fn texture(side: u32, format: Format, usage: Usage) -> TextureInfo {
    TextureInfo::new(Dimension::D2, side, side, format, usage)
}

/// The first memory type for `desc` with these flags.
pub(crate) fn memory_type(device: &Device, desc: &ResourceDesc, flags: MemoryFlags) -> MemoryTypeId {
    let mask = device.requirements(desc).unwrap().memory_types;
    let types = &device.properties().memory_types;
    let fits = |index: &usize| mask >> index & 1 == 1 && types[*index].flags.contains(flags);
    let index = (0..types.len()).find(fits).expect("a memory type");
    MemoryTypeId(u8::try_from(index).unwrap())
}

/// A mapped buffer for copies.
pub(crate) fn mapped(device: &Device, size: u64) -> Resource {
    let desc = buffer(size, COPIES);
    let kind = memory_type(device, &desc, MemoryFlags::HOST_VISIBLE);
    device.create_committed(&desc, kind).unwrap()
}

pub(crate) fn heap(device: &Device, desc: &ResourceDesc, size: u64) -> Heap {
    heap_of_type(device, desc, size, memory_type(device, desc, MemoryFlags::empty()))
}

/// A heap for tiles of a reserved resource.
pub(crate) fn tile_heap(device: &Device, reserved: &Resource, desc: &ResourceDesc, size: u64) -> Heap {
    let types = device.tile_layout(reserved).unwrap().memory_types;
    heap_of_type(device, desc, size, MemoryTypeId(u8::try_from(types.trailing_zeros()).unwrap()))
}

pub(crate) fn heap_of_type(device: &Device, desc: &ResourceDesc, size: u64, memory: MemoryTypeId) -> Heap {
    let needs = device.requirements(desc).unwrap();
    let alignment = device.properties().heap_alignment.max(needs.alignment);
    let size = size.next_multiple_of(alignment);
    let heap = HeapDesc { size, alignment, memory, category: needs.category, priority: Priority::Normal };
    device.create_heap(&heap).unwrap()
}

/// A heap of that category, for any use.
pub(crate) fn heap_of(device: &Device, category: HeapCategory, size: u64) -> Heap {
    let alignment = device.properties().heap_alignment;
    let memory = MemoryTypeId(0);
    device.create_heap(&HeapDesc { size, alignment, memory, category, priority: Priority::Low }).unwrap()
}

pub(crate) fn write(device: &Device, resource: &Resource, bytes: &[u8]) {
    device.map(resource).unwrap().write(0, bytes).unwrap();
}

pub(crate) fn read(device: &Device, resource: &Resource, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    device.map(resource).unwrap().read(0, &mut bytes).unwrap();
    bytes
}

/// Records, submits as `serial` and waits; copied bytes are visible to the CPU.
pub(crate) fn run(device: &Device, serial: u64, record: impl FnOnce(&mut List)) {
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    list.begin().unwrap();
    record(&mut list);
    list.make_visible_to_cpu(State::COPY_DST);
    list.close().unwrap();
    device.submit(PERMIT, GRAPHICS, &[&list], &[], serial).unwrap();
    assert!(device.wait(at(serial), LONG).unwrap());
    device.destroy_list(PERMIT, list);
}

/// Bytes that differ from one another, and from those of another seed.
pub(crate) fn bytes(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Checks that a call breaks the rule with this text.
#[track_caller]
pub(crate) fn is_invalid<T: std::fmt::Debug>(result: Result<T, DeviceError>, rule: &str) {
    match result {
        Err(DeviceError::InvalidCall { rule: broken, .. }) => {
            assert!(broken.text().contains(rule), "{broken}")
        }
        other => panic!("{rule}: {other:?}"),
    }
}
