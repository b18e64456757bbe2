//! Scratch memory of builds: no two builds that are not ordered have the same bytes, and it is bounded.

use proptest::prelude::*;
use tenure_core::{Config, Error, Queue, StagingConfig};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Profile};

use super::*;

const PAGE: u64 = 64 << 10;

fn small_pages() -> Config {
    Config::from(StagingConfig::default().build_scratch_page(PAGE))
}

#[test]
fn many_builds_take_a_bounded_scratch() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, small_pages());
        let rocks: Vec<_> = (0..2000).map(|_| bottom(&gpu, 1024)).collect();
        let before = device.calls().live_resources;
        let mut recording = gpu.record(Queue::Graphics, "load").unwrap();
        recording.use_structures(&rocks).unwrap();
        for batch in rocks.chunks(60) {
            recording.reuse_build_scratch();
            batch.iter().for_each(|rock| build(&mut recording, rock, &[]));
        }
        recording.submit().unwrap();
        assert_eq!(device.calls().live_resources, before + 1, "one page of scratch");
        drop(rocks);
        end(&device, gpu);
    }
}

/// After a few frames nothing more is created, and idle pages are freed.
#[test]
fn pages_are_recycled_and_freed() {
    let device = late(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, small_pages());
    let rock = bottom(&gpu, 1024);
    let before = device.calls().live_resources;
    let frame = |builds: u32| {
        let frame = gpu.begin_frame().unwrap();
        if builds > 0 {
            let mut recording = frame.record(Queue::Graphics, "build").unwrap();
            for _ in 0..builds {
                recording.use_structures([&rock]).unwrap();
                build(&mut recording, &rock, &[]);
            }
            // Larger than a page: it has dedicated memory, which is freed with the recording.
            recording.split().1.build_scratch(3 * PAGE).unwrap();
            frame.submit(recording).unwrap();
        }
        frame.end().unwrap();
    };
    (0..10).for_each(|_| frame(100));
    let small = |calls: &tenure_sim::Calls| calls.live_resources;
    let warm = device.calls();
    (0..30).for_each(|_| frame(100));
    let later = device.calls();
    assert!(small(&later) <= small(&warm) + 1, "{} and {}", small(&later), small(&warm));
    let made = later.made(CallKind::CreatePlaced) - warm.made(CallKind::CreatePlaced);
    assert_eq!(made, 30, "the large ones alone");
    (0..40).for_each(|_| frame(0));
    assert_eq!(device.calls().live_resources, before, "idle pages go");
    drop(rock);
    end(&device, gpu);
}

#[test]
fn discarded_recordings_release_their_scratch() {
    let device = Device::new(Profile::D3D12_TIER2);
    let gpu = gpu_of(&device, small_pages());
    for _ in 0..100 {
        let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
        recording.split().1.build_scratch(PAGE / 2).unwrap();
        recording.reuse_build_scratch();
        drop(recording);
    }
    gpu.reclaim().unwrap();
    assert!(device.calls().made(CallKind::CreatePlaced) <= 3);
    end(&device, gpu);
}

#[test]
fn reuse_without_builds_does_nothing() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = gpu_of(&device, Config::default());
    let mut recording = gpu.record(Queue::Graphics, "empty").unwrap();
    recording.reuse_build_scratch();
    recording.split().1.build_scratch(8).unwrap();
    recording.reuse_build_scratch();
    recording.reuse_build_scratch();
    recording.submit().unwrap();
    end(&device, gpu);
}

/// A step of a random program.
#[derive(Clone, Debug)]
enum Step {
    Take(usize, u64),
    Reuse(usize),
    Submit(usize),
    Discard(usize),
    Complete,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..3_usize, prop_oneof![1..5_000_u64, 1..(2 * PAGE)]).prop_map(|(at, size)| Step::Take(at, size)),
        2 => (0..3_usize).prop_map(Step::Reuse),
        2 => (0..3_usize).prop_map(Step::Submit),
        1 => (0..3_usize).prop_map(Step::Discard),
        1 => Just(Step::Complete),
    ]
}

/// The bytes that a recording has in use: addresses.
type Ranges = Vec<std::ops::Range<u64>>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Ranges of a recording are disjoint until they are reused, and from those of every recording that is
    /// open, or that the GPU has not finished.
    #[test]
    fn ranges_in_use_never_overlap(steps in prop::collection::vec(step(), 1..150), which in 0..PROFILES.len()) {
        let profile = PROFILES[which];
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Manual));
        let gpu = gpu_of(&device, small_pages());
        let alignment = tenure_core::device::Device::properties(&device).rays.scratch_alignment;
        let open = |index: usize| gpu.record(Queue::Graphics, ["a", "b", "c"][index]).unwrap();
        let mut recordings: Vec<_> = (0..3).map(|index| Some(open(index))).collect();
        // The ranges since the last reuse, and all ranges of the recording.
        let mut current: [Ranges; 3] = Default::default();
        let mut all: [Ranges; 3] = Default::default();
        let mut in_flight: Ranges = Vec::new();
        for step in steps {
            match step {
                Step::Take(at, size) => {
                    let recording = recordings[at].as_mut().unwrap();
                    let room = recording.split().1.build_scratch(size).unwrap();
                    let start = room.gpu_address().unwrap();
                    prop_assert_eq!(start % alignment, 0);
                    let found = start..start + size;
                    let others = (0..3).filter(|other| *other != at).flat_map(|other| &all[other]);
                    let used = current[at].iter().chain(others).chain(&in_flight);
                    for used in used {
                        prop_assert!(found.end <= used.start || used.end <= found.start, "{found:?} {used:?}");
                    }
                    current[at].push(found.clone());
                    all[at].push(found);
                }
                Step::Reuse(at) => {
                    recordings[at].as_mut().unwrap().reuse_build_scratch();
                    current[at].clear();
                }
                Step::Submit(at) => {
                    recordings[at].take().unwrap().submit().unwrap();
                    in_flight.append(&mut all[at]);
                    current[at].clear();
                    recordings[at] = Some(open(at));
                }
                Step::Discard(at) => {
                    recordings[at] = Some(open(at));
                    all[at].clear();
                    current[at].clear();
                }
                Step::Complete => {
                    prop_assert!(device.run_until_idle());
                    gpu.reclaim().unwrap();
                    in_flight.clear();
                }
            }
        }
        drop(recordings);
        prop_assert!(device.run_until_idle());
        end(&device, gpu);
    }
}

/// A larger page does not fit, but another of the same size does.
#[test]
fn pages_stay_small_in_a_shortage() {
    for profile in PROFILES {
        let device = late(profile);
        let gpu = gpu_of(&device, Config::default());
        let fault = Fault::nth(1, FaultKind::OutOfMemory).larger_than(PAGE);
        device.faults().inject(fault.onwards());
        for _ in 0..3 {
            let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
            let scratch = recording.split().1;
            for _ in 0..3 {
                scratch.build_scratch(PAGE / 2 + 1).unwrap();
            }
            assert!(matches!(scratch.build_scratch(PAGE), Err(Error::OutOfMemory(_))));
        }
        device.faults().clear();
        let before = device.calls().reserved_bytes;
        let mut recording = gpu.record(Queue::Graphics, "small").unwrap();
        recording.split().1.build_scratch(100).unwrap();
        recording.submit().unwrap();
        let made = device.calls().reserved_bytes.saturating_sub(before);
        assert!(made <= PAGE, "{made}: requests that failed leave no large size");
        end(&device, gpu);
    }
}
