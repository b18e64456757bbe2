//! Two devices, as in two processes, which share memory and fences.

use std::time::{Duration, Instant};

use tenure_core::device::{Device as _, *};
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Gpu, LocationKind, MemoryUse, Queue, State, Subresource, TexelData,
    Texture, TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, HazardKind, Lag, Profile};

use crate::common::{COMPUTE, GRAPHICS, buffer, committed, submit};
use crate::hazard_table::assert_listed;

const SIZE: u64 = 10_000;
const SIDE: u32 = 16;
const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);
const LONG: Duration = Duration::from_secs(10);

/// One profile of each model of states.
const PROFILES: [Profile; 3] = [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA];

/// One process.
struct Process {
    device: Device,
    gpu: Gpu<Device>,
}

impl Process {
    fn new(options: DeviceConfig) -> Self {
        let device = Device::with_config(options);
        Self { gpu: Gpu::new(device.clone(), Config::default()).unwrap(), device }
    }

    fn pair(profile: Profile, lag: Lag) -> [Self; 2] {
        [(); 2].map(|()| Self::new(DeviceConfig::new(profile).lag(lag)))
    }

    /// The end of a test: nothing was wrong, and nothing is left.
    fn end(self) {
        assert!(self.gpu.shutdown().is_clean());
        drop(self.gpu);
        self.device.check_clean().unwrap();
    }

    fn run(&self, record: impl FnOnce(&mut tenure_core::Recording<Device>)) {
        let mut recording = self.gpu.record(Queue::Graphics, "run").unwrap();
        record(&mut recording);
        let point = recording.submit().unwrap();
        assert!(self.gpu.wait(&point, LONG).unwrap());
    }

    fn hazards(&self) -> Vec<HazardKind> {
        let found = self.device.take_hazards();
        found.iter().inspect(|found| assert_listed(found)).map(|hazard| hazard.kind).collect()
    }

    /// The exporter's buffer, as this process imports it.
    fn import(&self, exporter: &Self, buffer: &Buffer<Device>) -> Buffer<Device> {
        let handle = exporter.device.export(buffer.raw()).unwrap();
        let resource = self.device.import(&handle, &handle.desc()).unwrap();
        self.gpu.adopt_buffer(resource, &buffer_desc(), State::COMMON).unwrap()
    }
}

fn buffer_desc() -> BufferDesc {
    BufferDesc::new(SIZE, COPIES).name("shared buffer").shared()
}

fn texture_desc() -> TextureDesc {
    let usage = COPIES | Usage::SHADER_READ;
    TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage).name("shared texture").shared()
}

const fn region() -> TextureRegion {
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] }
}

fn texels(byte: u8) -> Vec<u8> {
    vec![byte; SIDE as usize * SIDE as usize * 4]
}

fn write(process: &Process, buffer: &Buffer<Device>, texture: &Texture<Device>, byte: u8) {
    process.gpu.upload(buffer, 0, &vec![byte; SIZE as usize]).unwrap();
    process.gpu.upload_texture(texture, region(), TexelData::new(&texels(byte))).unwrap();
    process.run(|recording| {
        recording.release_to_peer(buffer, State::COPY_SRC).unwrap();
        recording.release_to_peer(texture, State::COPY_SRC).unwrap();
    });
}

fn read(process: &Process, buffer: &Buffer<Device>, texture: &Texture<Device>, byte: u8) {
    let mut found = None;
    process.run(|recording| {
        recording.acquire_from_peer(buffer, State::COPY_SRC).unwrap();
        recording.acquire_from_peer(texture, State::COPY_SRC).unwrap();
        let bytes = recording.read_back(buffer, 0, SIZE).unwrap();
        found = Some((bytes, recording.read_back_texture(texture, region()).unwrap()));
        // A returned resource is used like any other.
        recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER).unwrap();
    });
    let (bytes, seen) = found.unwrap();
    assert!(bytes.wait(LONG).unwrap().iter().all(|found| *found == byte));
    assert_eq!(seen.wait(LONG).unwrap(), texels(byte));
}

#[test]
fn bytes_go_to_another_process_and_back() {
    for profile in PROFILES {
        let [one, other] = Process::pair(profile, Lag::Random { max: 3 });
        let buffer = one.gpu.create_buffer(&buffer_desc()).unwrap();
        let texture = one.gpu.create_texture(&texture_desc()).unwrap();
        assert_eq!([buffer.location(), texture.location()], [LocationKind::Committed; 2]);
        let reserved = other.device.calls().reserved_bytes;
        let imported = other.import(&one, &buffer);
        let handle = one.device.export(texture.raw()).unwrap();
        let resource = other.device.import(&handle, &handle.desc()).unwrap();
        let shown = other.gpu.adopt_texture(resource, &texture_desc(), State::COMMON).unwrap();
        assert_eq!([imported.location(), shown.location()], [LocationKind::Adopted; 2]);
        assert_eq!(other.device.calls().reserved_bytes, reserved, "it is no new memory");
        for round in 0..3 {
            write(&one, &buffer, &texture, 10 + round);
            read(&other, &imported, &shown, 10 + round);
            write(&other, &imported, &shown, 20 + round);
            read(&one, &buffer, &texture, 20 + round);
        }
        // The exporter ends first, and the memory stays.
        write(&one, &buffer, &texture, 30);
        assert_eq!(handle.holders(), 3, "two resources and a handle");
        drop((buffer, texture));
        one.end();
        assert_eq!(handle.holders(), 2);
        read(&other, &imported, &shown, 30);
        drop((imported, shown));
        other.end();
        assert_eq!(handle.holders(), 1);
    }
}

/// The consumer's submission waits on the GPU for the producer's, which has not run by then.
#[test]
fn a_shared_fence_orders_the_two() {
    for profile in PROFILES {
        let [one, other] = Process::pair(profile, Lag::Submissions(5));
        let buffer = one.gpu.create_buffer_with(&buffer_desc(), &vec![7; SIZE as usize]).unwrap();
        let imported = other.import(&one, &buffer);
        let fence = one.device.create_fence("order");
        let same = other.device.import_fence(&fence.export(), "order");
        let mut recording = other.gpu.record(Queue::Graphics, "read").unwrap();
        recording.wait_for_external(same.at(1));
        recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap();
        let bytes = recording.read_back(&imported, 0, SIZE).unwrap();
        recording.release_to_peer(&imported, State::COPY_SRC).unwrap();
        recording.signal_external(same.at(2));
        let point = recording.submit().unwrap();
        assert!(!other.gpu.wait(&point, Duration::from_millis(5)).unwrap(), "nothing was handed over so far");
        let mut recording = one.gpu.record(Queue::Graphics, "hand over").unwrap();
        recording.release_to_peer(&buffer, State::COPY_SRC).unwrap();
        recording.signal_external(fence.at(1));
        recording.submit().unwrap();
        // Back on another queue, which has waited only for the fence.
        let mut recording = one.gpu.record(Queue::Copy, "take back").unwrap();
        recording.wait_for_external(fence.at(2));
        recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap();
        let back = recording.read_back(&buffer, 0, 16).unwrap();
        let last = recording.submit().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(other.gpu.wait(&point, LONG).unwrap()));
            scope.spawn(|| assert!(one.gpu.wait(&last, LONG).unwrap()));
        });
        assert!(bytes.wait(LONG).unwrap().iter().all(|byte| *byte == 7));
        assert_eq!(back.wait(LONG).unwrap(), [7; 16]);
        assert_eq!((fence.value(), same.value()), (2, 2));
        drop((bytes, back, buffer, imported, fence, same));
        one.end();
        other.end();
    }
}

/// In the middle of a frame a peer's process ends that owns the memory and should signal a fence. The
/// survivor's wait returns in time, with a value; it continues with the memory, without hazards or leaks.
#[test]
fn shared_memory_outlives_the_peer() {
    for profile in PROFILES {
        let survivor = Process::new(DeviceConfig::new(profile).lag(Lag::Random { max: 3 }));
        let peer = Process::new(DeviceConfig::new(profile).lag(Lag::Manual));
        let buffer = survivor.gpu.create_buffer_with(&buffer_desc(), &vec![1; SIZE as usize]).unwrap();
        survivor.run(|recording| recording.release_to_peer(&buffer, State::COPY_DST).unwrap());
        let imported = peer.import(&survivor, &buffer);
        let fence = survivor.device.create_fence("peer's frame");
        let theirs = peer.device.import_fence(&fence.export(), "frame");

        let frame = peer.gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "theirs").unwrap();
        recording.acquire_from_peer(&imported, State::COPY_DST).unwrap();
        frame.submit(recording).unwrap();
        assert!(peer.device.run_until_idle(), "it has the memory");
        let mut recording = frame.record(Queue::Graphics, "never").unwrap();
        recording.release_to_peer(&imported, State::COPY_DST).unwrap();
        recording.signal_external(theirs.at(1));
        frame.submit(recording).unwrap();
        peer.device.end_process();
        assert!(frame.end().is_err(), "the dead make no calls");

        let mut recording = survivor.gpu.record(Queue::Graphics, "waits").unwrap();
        recording.wait_for_external(fence.at(1));
        recording.acquire_from_peer(&buffer, State::COPY_DST).unwrap();
        let point = recording.submit().unwrap();
        let begun = Instant::now();
        assert!(!survivor.gpu.wait(&point, Duration::from_millis(30)).unwrap(), "it is never signalled");
        assert!(begun.elapsed() < LONG);
        assert!(matches!(
            survivor.gpu.wait(&survivor.gpu.submitted(), Duration::ZERO),
            Ok(false) | Err(Error::Timeout { .. })
        ));
        // The surviving process signals the value that the ended peer never will.
        theirs.signal(1);
        assert_eq!(fence.value(), 0, "the dead signal nothing");
        fence.signal(1);
        assert!(survivor.gpu.wait(&point, LONG).unwrap());
        survivor.gpu.upload(&buffer, 0, &vec![2; SIZE as usize]).unwrap();
        let bytes = survivor.gpu.read_back(&buffer, 0, SIZE).unwrap();
        assert!(bytes.wait(LONG).unwrap().iter().all(|byte| *byte == 2));

        let handle = survivor.device.export(buffer.raw()).unwrap();
        drop((imported, theirs, bytes, buffer));
        drop(fence);
        survivor.end();
        let Process { device, gpu } = peer;
        drop(gpu);
        assert_eq!(handle.holders(), 1, "the handle alone");
        device.check_clean().unwrap();
    }
}

/// A resource released before its owner ended stays released, in the same state.
#[test]
fn resources_released_before_the_end_of_a_peer_stay_released() {
    let [survivor, peer] = Process::pair(Profile::VULKAN_NVIDIA, Lag::None);
    let buffer = peer.gpu.create_buffer_with(&buffer_desc(), &vec![5; SIZE as usize]).unwrap();
    peer.run(|recording| recording.release_to_peer(&buffer, State::COPY_SRC).unwrap());
    let imported = survivor.import(&peer, &buffer);
    peer.device.end_process();
    drop(buffer);
    let mut found = None;
    survivor.run(|recording| {
        recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap();
        found = Some(recording.read_back(&imported, 0, SIZE).unwrap());
    });
    assert!(found.unwrap().wait(LONG).unwrap().iter().all(|byte| *byte == 5));
    drop(imported);
    survivor.end();
    drop(peer);
}

/// A peer may write, so reads of another queue must come before, too.
#[test]
fn releases_to_a_peer_wait_for_every_queue() {
    for profile in PROFILES {
        let [one, other] = Process::pair(profile, Lag::Random { max: 9 });
        let buffer = one.gpu.create_buffer_with(&buffer_desc(), &vec![7; SIZE as usize]).unwrap();
        let imported = other.import(&one, &buffer);
        for _ in 0..8 {
            let mut recording = one.gpu.record(Queue::Copy, "reads").unwrap();
            let bytes = recording.read_back(&buffer, 0, SIZE).unwrap();
            recording.submit().unwrap();
            one.run(|recording| recording.release_to_peer(&buffer, State::COPY_SRC).unwrap());
            other.run(|recording| {
                recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap();
                recording.release_to_peer(&imported, State::COPY_SRC).unwrap();
            });
            one.run(|recording| recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap());
            assert!(bytes.wait(LONG).unwrap().iter().all(|byte| *byte == 7));
        }
        drop((buffer, imported));
        one.end();
        other.end();
    }
}

/// Values of a shared fence rise with each signal, in any order of submission.
#[test]
fn signalling_a_shared_fence_twice_is_a_hazard() {
    let [one, other] = Process::pair(Profile::DISCRETE, Lag::None);
    let fence = one.device.create_fence("order");
    let same = other.device.import_fence(&fence.export(), "order");
    same.signal(4);
    fence.signal(4);
    assert_eq!(one.hazards(), [HazardKind::SignalledTwice]);
    assert_eq!(other.hazards(), []);
    fence.signal(5);
    assert_eq!((same.value(), one.hazards()), (5, vec![]));
}

/// Each use by a device that does not own the resource is reported once, on that device.
#[test]
fn uses_by_devices_without_ownership_are_hazards() {
    let [one, other] = Process::pair(Profile::VULKAN_NVIDIA, Lag::None);
    let buffer = one.gpu.create_buffer_with(&buffer_desc(), &vec![7; SIZE as usize]).unwrap();
    assert!(one.gpu.wait(&one.gpu.flush_uploads().unwrap(), LONG).unwrap());
    let imported = other.import(&one, &buffer);
    let used = |process: &Process, buffer: &Buffer<Device>| {
        process.run(|recording| {
            recording.use_resource(buffer, Subresource::All, State::COPY_SRC).unwrap();
            drop(recording.read_back(buffer, 0, 16).unwrap());
        });
    };
    used(&other, &imported);
    assert_eq!(other.hazards(), [HazardKind::HeldByPeer], "it was imported, and never acquired");
    other.run(|recording| recording.release_to_peer(&imported, State::COPY_SRC).unwrap());
    assert_eq!(other.hazards(), [HazardKind::HeldByPeer], "it hands over what it does not have");
    used(&one, &buffer);
    assert_eq!(one.hazards(), [], "the other has taken nothing by that");
    one.run(|recording| recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap());
    assert_eq!(one.hazards(), [HazardKind::NotHandedOver], "it has it, and has never handed it over");
    other.run(|recording| recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap());
    assert_eq!(other.hazards(), [HazardKind::NotHandedOver], "the peer has it");
    other.run(|recording| recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap());
    assert_eq!(other.hazards(), [HazardKind::NotHandedOver], "it has it now");
    used(&one, &buffer);
    assert_eq!(one.hazards(), [HazardKind::HeldByPeer], "the other has taken it");
    other.run(|recording| recording.release_to_peer(&imported, State::COPY_DST).unwrap());
    used(&other, &imported);
    assert_eq!(other.hazards(), [HazardKind::HeldByPeer], "it was handed over");
    one.run(|recording| recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap());
    assert_eq!(one.hazards(), [HazardKind::NotHandedOver], "in another state");
    used(&one, &buffer);
    assert_eq!(one.hazards(), []);
    drop((buffer, imported));
    drop((one, other));
}

/// A resource released twice changes its owner once: the peer that has it by then causes no hazard.
#[test]
fn resources_released_twice_change_their_owner_once() {
    for profile in PROFILES {
        let [one, other] = Process::pair(profile, Lag::None);
        let buffer = one.gpu.create_buffer_with(&buffer_desc(), &vec![7; SIZE as usize]).unwrap();
        let imported = other.import(&one, &buffer);
        let release = || one.run(|recording| recording.release_to_peer(&buffer, State::COPY_SRC).unwrap());
        release();
        assert_eq!(one.hazards(), []);
        other.run(|recording| recording.acquire_from_peer(&imported, State::COPY_SRC).unwrap());
        release();
        assert!(one.hazards().contains(&HazardKind::HeldByPeer));
        let bytes = other.gpu.read_back(&imported, 0, SIZE).unwrap();
        assert!(bytes.wait(LONG).unwrap().iter().all(|byte| *byte == 7));
        assert_eq!(other.hazards(), []);
        drop((buffer, imported, bytes));
    }
}

/// A resource of a peer stays in the state of its release: a transition is a use, too.
#[test]
fn transitions_of_resources_of_a_peer_are_hazards() {
    for profile in PROFILES {
        let [one, other] = Process::pair(profile, Lag::None);
        let texture = one.gpu.create_texture_with(&texture_desc(), &[TexelData::new(&texels(1))]).unwrap();
        one.run(|recording| recording.release_to_peer(&texture, State::COPY_SRC).unwrap());
        assert_eq!(one.hazards(), []);
        one.run(|recording| {
            recording.use_resource(&texture, Subresource::All, State::PIXEL_SHADER).unwrap();
            recording.barriers();
        });
        assert_eq!(one.hazards(), [HazardKind::HeldByPeer], "{}", profile.name());
        drop((texture, other));
    }
}

/// The peer may write a resource that was released while another queue still reads it.
#[test]
fn releases_of_resources_read_by_another_queue_are_hazards() {
    for profile in PROFILES {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Manual));
        let buffer = committed(&device, "shared buffer", &buffer(64, COPIES | Usage::SHARED));
        let target = committed(&device, "target", &crate::common::buffer(64, Usage::COPY_DST));
        // The first of two queues runs first here, but nothing orders them.
        submit(&device, GRAPHICS, 1, &[], |list| {
            list.keep_unwritten();
            list.copy_buffer(&buffer, 0, &target, 0, 64);
        });
        let state = if device.properties().api == Api::Direct3D12 { State::COMMON } else { State::COPY_SRC };
        submit(&device, COMPUTE, 1, &[], |list| {
            list.barriers(&[Barrier::Transition {
                resource: &buffer,
                subresource: Subresource::All,
                before: state,
                after: state,
                transfer: Some(QueueTransfer { from: COMPUTE, to: QueueId::PEER }),
            }]);
        });
        assert!(device.run_until_idle());
        let found = device.take_hazards();
        let [hazard] = found.as_slice() else { panic!("{}: {found:?}", profile.name()) };
        assert_eq!(hazard.kind, HazardKind::QueueRace);
        assert_listed(hazard);
    }
}

/// The CPU may use a mapped buffer only while its device owns it.
#[test]
fn mapped_memory_is_used_in_turn() {
    let [one, other] = Process::pair(Profile::VULKAN_NVIDIA, Lag::None);
    let desc = buffer_desc().memory(MemoryUse::Readback);
    let buffer = one.gpu.create_buffer(&desc).unwrap();
    let handle = one.device.export(buffer.raw()).unwrap();
    let resource = other.device.import(&handle, &handle.desc()).unwrap();
    let imported = other.gpu.adopt_buffer(resource, &desc, State::COMMON).unwrap();
    buffer.write(0, &[3; 16]).unwrap();
    let mut found = [0; 16];
    imported.read(0, &mut found).unwrap();
    assert_eq!(other.hazards(), [HazardKind::HeldByPeer]);
    one.run(|recording| recording.release_to_peer(&buffer, State::COPY_DST).unwrap());
    other.run(|recording| recording.acquire_from_peer(&imported, State::COPY_DST).unwrap());
    imported.read(0, &mut found).unwrap();
    assert_eq!((found, other.hazards(), one.hazards()), ([3; 16], vec![], vec![]));
    buffer.write(0, &[4; 16]).unwrap();
    assert_eq!(one.hazards(), [HazardKind::HeldByPeer]);
    drop((buffer, imported));
    drop((one, other));
}

#[test]
fn invalid_imports_are_refused() {
    let [one, other] = Process::pair(Profile::VULKAN_NVIDIA, Lag::None);
    let buffer = one.gpu.create_buffer(&buffer_desc()).unwrap();
    let handle = one.device.export(buffer.raw()).unwrap();
    let smaller = ResourceDesc::Buffer(tenure_core::BufferInfo::new(SIZE - 1, buffer.usage()));
    let refused = other.device.import(&handle, &smaller).unwrap_err();
    assert!(matches!(refused, DeviceError::InvalidDesc { .. }), "{refused}");
    let elsewhere = Device::new(Profile::VULKAN_INTEL);
    let refused = elsewhere.import(&handle, &handle.desc()).unwrap_err();
    assert!(matches!(refused, DeviceError::InvalidCall { .. }), "{refused}");
    let refused = other.device.export(buffer.raw()).unwrap_err();
    assert_eq!(refused, DeviceError::broken_rule(CallRule::SameDevice));
    let plain = one.gpu.create_buffer(&BufferDesc::new(64, COPIES).own_resource()).unwrap();
    assert!(one.device.export(plain.raw()).is_err());
    // A driver exports its own allocations, not imported ones.
    let imported = other.import(&one, &buffer);
    let refused = other.device.export(imported.raw()).unwrap_err();
    assert!(refused.to_string().contains("an imported resource is exported only by"), "{refused}");
    drop(imported);
    let mut recording = one.gpu.record(Queue::Graphics, "late").unwrap();
    recording.use_resource(&buffer, Subresource::All, State::COPY_DST).unwrap();
    let refused = recording.acquire_from_peer(&buffer, State::COPY_DST).unwrap_err();
    assert!(matches!(refused, Error::State { .. }), "{refused}");
    drop(recording);
    let reserved = ResourceDesc::Buffer(tenure_core::BufferInfo::new(1 << 20, COPIES | Usage::SHARED));
    assert!(matches!(one.device.create_reserved(&reserved), Err(DeviceError::InvalidDesc { .. })));
    drop((recording_free(&one), plain, buffer));
    one.end();
    other.end();
    let without = Process::new(DeviceConfig::new(Profile::DISCRETE).shared_memory(false));
    let refused = without.gpu.create_buffer(&buffer_desc()).unwrap_err();
    assert!(matches!(refused, Error::Device { source: DeviceError::Unsupported { .. }, .. }), "{refused}");
    // Direct3D 12 shares no CPU-visible memory, and Vulkan does.
    let mapped = buffer_desc().memory(MemoryUse::Upload);
    assert!(Process::new(DeviceConfig::new(Profile::DISCRETE)).gpu.create_buffer(&mapped).is_err());
    assert!(Process::new(DeviceConfig::new(Profile::VULKAN_NVIDIA)).gpu.create_buffer(&mapped).is_ok());
}

/// Transient resources cannot be shared.
fn recording_free(process: &Process) -> tenure_core::SyncPoint {
    let frame = process.gpu.begin_frame().unwrap();
    let recording = frame.record(Queue::Graphics, "transient").unwrap();
    let refused = recording.transient_buffer(&buffer_desc()).unwrap_err();
    assert!(matches!(refused, Error::Transient { .. }), "{refused}");
    let refused = recording.transient_texture(&texture_desc()).unwrap_err();
    assert!(matches!(refused, Error::Transient { .. }), "{refused}");
    drop(recording);
    frame.end().unwrap();
    process.gpu.submitted()
}
