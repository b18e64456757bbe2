//! Shared code of the tests.

use std::time::Duration;

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, DeviceConfig, Hazard, HazardKind, Heap, Lag, List, Profile, Resource};

pub(crate) const GRAPHICS: QueueId = QueueId(0);
pub(crate) const COMPUTE: QueueId = QueueId(1);
pub(crate) const COPY: QueueId = QueueId(2);

/// A device whose queues run only when told to.
pub(crate) fn manual(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::Manual))
}

pub(crate) fn buffer(size: u64, usage: Usage) -> ResourceDesc {
    ResourceDesc::Buffer(BufferInfo::new(size, usage))
}

pub(crate) fn texture(width: u32, height: u32, usage: Usage) -> ResourceDesc {
    ResourceDesc::Texture(texture_info(width, height, usage))
}

pub(crate) fn texture_info(width: u32, height: u32, usage: Usage) -> TextureInfo {
    TextureInfo::new(Dimension::D2, width, height, Format::Rgba8Unorm, usage)
}

/// The host-visible memory type for writing, or for reading back.
pub(crate) fn upload_type(device: &Device, cached: bool) -> MemoryTypeId {
    let types = &device.properties().memory_types;
    let fits = |memory: &MemoryType| {
        memory.flags.contains(MemoryFlags::HOST_VISIBLE)
            && (!cached || memory.flags.contains(MemoryFlags::HOST_CACHED))
    };
    MemoryTypeId(types.iter().position(fits).unwrap() as u8)
}

/// The first device-local memory type that `desc` can live in.
pub(crate) fn local_type(device: &Device, desc: &ResourceDesc) -> MemoryTypeId {
    let mask = device.requirements(desc).unwrap().memory_types;
    let types = &device.properties().memory_types;
    let fits =
        |index: &usize| mask & 1 << index != 0 && types[*index].flags.contains(MemoryFlags::DEVICE_LOCAL);
    MemoryTypeId((0..types.len()).find(fits).unwrap() as u8)
}

/// A heap of 1 MiB or more that `desc` fits into, and an offset in it that is not 0.
pub(crate) fn heap_for(device: &Device, desc: &ResourceDesc) -> (Heap, u64) {
    let needs = device.requirements(desc).unwrap();
    let alignment = needs.alignment.max(device.properties().heap_alignment);
    let heap = device
        .create_heap(&HeapDesc {
            size: (needs.size + needs.alignment).next_multiple_of(1 << 20).next_multiple_of(alignment),
            alignment,
            memory: local_type(device, desc),
            category: needs.category,
            priority: Priority::Normal,
        })
        .unwrap();
    (heap, needs.alignment)
}

pub(crate) fn committed(device: &Device, name: &str, desc: &ResourceDesc) -> Resource {
    let resource = device.create_committed(desc, local_type(device, desc)).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&resource), name);
    resource
}

pub(crate) fn upload(device: &Device, name: &str, size: u64) -> Resource {
    let resource =
        device.create_committed(&buffer(size, Usage::COPY_SRC), upload_type(device, false)).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&resource), name);
    resource
}

pub(crate) fn record(device: &Device, queue: QueueId, record: impl FnOnce(&mut List)) -> List {
    let mut list = device.create_list(Permit::checked(), queue).unwrap();
    list.begin().unwrap();
    record(&mut list);
    list.close().unwrap();
    list
}

/// Records, submits as `serial`, and drops the list without destroying it, which these tests do not check.
pub(crate) fn submit(
    device: &Device,
    queue: QueueId,
    serial: u64,
    waits: &[QueueSerial],
    commands: impl FnOnce(&mut List),
) {
    let list = record(device, queue, commands);
    device.submit(Permit::checked(), queue, &[&list], waits, serial).unwrap();
}

pub(crate) fn after(queue: QueueId, serial: u64) -> QueueSerial {
    QueueSerial { queue, serial }
}

pub(crate) fn finish(device: &Device, queue: QueueId, serial: u64) {
    assert!(device.wait(after(queue, serial), Duration::from_secs(10)).unwrap());
}

pub(crate) fn transition(list: &mut List, resource: &Resource, before: State, after: State) {
    list.barriers(&[Barrier::Transition {
        resource,
        subresource: Subresource::All,
        before,
        after,
        transfer: None,
    }]);
}

/// Prepares a target without contents for draws.
pub(crate) fn become_target(list: &mut List, target: &Resource) {
    transition(list, target, State::COMMON, State::RENDER_TARGET);
    list.discard(target, Subresource::All);
}

/// An aliasing barrier from any to any resource.
pub(crate) fn aliasing<'a>(before: Option<&'a Resource>, after: &'a Resource) -> Barrier<'a, Device> {
    Barrier::Aliasing { before, after, from: State::all(), to: State::COMMON }
}

/// Runs everything and returns the hazards.
pub(crate) fn hazards(device: &Device) -> Vec<Hazard> {
    assert!(device.run_until_idle());
    device.take_hazards()
}

/// Exactly one hazard, of that kind, whose message names the objects.
#[track_caller]
pub(crate) fn assert_one(found: &[Hazard], kind: HazardKind, names: &[&str]) {
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, kind, "{}", found[0]);
    let message = found[0].to_string();
    for name in names {
        assert!(message.contains(&format!("'{name}'")), "{message} does not name {name}");
    }
    crate::hazard_table::assert_listed(&found[0]);
}

/// One such hazard if something is wrong, otherwise none.
#[track_caller]
pub(crate) fn assert_one_if(is_wrong: bool, found: &[Hazard], kind: HazardKind, names: &[&str]) {
    if is_wrong { assert_one(found, kind, names) } else { assert_clean(found) }
}

#[track_caller]
pub(crate) fn assert_clean(found: &[Hazard]) {
    assert!(found.is_empty(), "{found:#?}");
}
