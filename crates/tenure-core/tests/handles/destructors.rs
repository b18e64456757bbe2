//! Destructors of the program run once, where it expects them, while the device is there.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::device::{BufferInfo, MemoryTypeId, Permit, ResourceDesc, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Format, FrameConfig, Gpu, PressureConfig, Queue, State, TextureDesc,
    TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{Counted, count, device, gpu, mesh};

/// Panics when it is dropped.
struct Boom(#[expect(dead_code, reason = "counts its own drop")] Counted);

impl Drop for Boom {
    fn drop(&mut self) {
        panic!("boom");
    }
}

fn boom() -> (Boom, Arc<AtomicUsize>) {
    let (counted, dropped) = Counted::new();
    (Boom(counted), dropped)
}

/// Notes whether the device was gone when it was dropped.
struct Pipeline {
    /// One of three handles: the test's and the manager's are the others.
    device: Device,
    orphaned: Arc<AtomicUsize>,
    _dropped: Counted,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.orphaned.fetch_add(usize::from(self.device.handles() < 3), Ordering::SeqCst);
    }
}

#[test]
fn deferred_objects_are_dropped_before_the_device() {
    for is_last in [false, true] {
        let device = device(Profile::DISCRETE, Lag::Submissions(2));
        let gpu = gpu(&device);
        let orphaned = Arc::new(AtomicUsize::new(0));
        let (counted, dropped) = Counted::new();
        let pipeline = Pipeline { device: device.clone(), orphaned: orphaned.clone(), _dropped: counted };
        let pipeline = gpu.defer("pipeline", pipeline);
        gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        if is_last {
            drop(gpu);
            drop(pipeline);
        } else {
            drop(pipeline);
            drop(gpu);
        }
        assert_eq!((count(&dropped), count(&orphaned), device.handles()), (1, 0, 1), "{is_last}");
        device.check_clean().unwrap();
    }
}

#[test]
fn dropping_one_handle_does_not_panic_for_another() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let (boom, dropped) = boom();
    let (kept, rock) = (mesh(&gpu, "kept", 1000), mesh(&gpu, "rock", 20 << 20));
    let recording = gpu.record(Queue::Graphics, "open").unwrap();
    drop((gpu.defer("boom", boom), rock));
    drop(gpu);
    assert_eq!(count(&dropped), 0, "the recording may use it");
    let answer = catch_unwind(AssertUnwindSafe(|| {
        drop(recording);
        drop(kept);
    }));
    assert!(answer.is_ok(), "somebody else's destructor");
    assert_eq!(count(&dropped), 1);
    device.check_clean().unwrap();
}

/// As the last dropped object, as an object dropped with the manager, and as an object released by a dropped
/// frame.
#[test]
fn a_panic_in_a_destructor_does_not_leave_a_drop() {
    for way in 0..4 {
        let device = device(Profile::DISCRETE, Lag::Submissions(2));
        let gpu = gpu(&device);
        let (boom, dropped) = boom();
        let deferred = gpu.defer("boom", boom);
        let answer = catch_unwind(AssertUnwindSafe(|| match way {
            0 => {
                drop(gpu);
                drop(deferred);
            }
            1 => {
                drop(deferred);
                drop(gpu);
            }
            2 => {
                drop(deferred);
                assert!(gpu.shutdown().is_clean());
                drop(gpu);
            }
            _ => {
                drop(deferred);
                drop(gpu.begin_frame().unwrap());
                assert!(gpu.shutdown().is_clean());
                drop(gpu);
            }
        }));
        assert!(answer.is_ok(), "way {way}");
        assert_eq!(count(&dropped), 1, "way {way}");
        device.check_clean().unwrap();
    }
}

#[test]
fn panics_of_destructors_reach_the_reclaim_after_all_releases() {
    for ends_a_frame in [false, true] {
        let device = device(Profile::DISCRETE, Lag::None);
        let gpu = gpu(&device);
        let (first, first_dropped) = boom();
        let (second, second_dropped) = boom();
        let before = gpu.stats().released;
        let frame = gpu.begin_frame().unwrap();
        drop(gpu.defer("first", first));
        drop(mesh(&gpu, "rock", 20 << 20));
        drop(gpu.defer("second", second));
        let answer = catch_unwind(AssertUnwindSafe(|| {
            if ends_a_frame { frame.end().unwrap() } else { gpu.reclaim().unwrap() }
        }));
        let panic = answer.expect_err("the program is told");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
        assert_eq!((count(&first_dropped), count(&second_dropped)), (1, 1));
        let stats = gpu.stats();
        assert_eq!((stats.released - before, stats.pending_releases, stats.committed_resources), (3, 0, 0));
        gpu.reclaim().expect("once");
        gpu.begin_frame().expect("the frame has ended").end().unwrap();
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

/// A creation that looks for room releases memory, and runs no code of the program: it may hold a
/// lock that the destructor needs.
#[test]
fn no_destructor_runs_inside_a_creation() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = Gpu::new(device.clone(), Config::from(FrameConfig::default().idle(0))).unwrap();
    let (counted, dropped) = Counted::new();
    let (rock, counted) = (mesh(&gpu, "rock", 20 << 20), gpu.defer("counted", counted));
    drop((rock, counted));
    for call in [CallKind::CreateCommitted, CallKind::CreateHeap, CallKind::CreatePlaced] {
        device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
    }
    let made = gpu.create_buffer(&BufferDesc::new(1000, Usage::SHADER_READ));
    assert!(made.is_err(), "every way to memory is closed");
    device.faults().clear();
    assert_eq!(count(&dropped), 0);
    assert_eq!(gpu.stats().committed_resources, 0, "while the memory of what was dropped is given back");
    gpu.reclaim().unwrap();
    assert_eq!(count(&dropped), 1);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A buffer in memory that `owner` keeps.
fn kept(gpu: &Gpu<Device>, owner: impl Send + Sync + 'static) -> Buffer<Device> {
    let desc = BufferDesc::new(1000, Usage::VERTEX);
    let info = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
    let object = gpu.device().create_committed(&info, MemoryTypeId(0)).unwrap();
    gpu.adopt_buffer_in(owner, object, &desc, State::COMMON).unwrap()
}

/// The owner of an adopted buffer's memory is dropped after the buffer, by a reclaim and not by a creation that
/// looks for room; its panic stops nothing else from being released.
#[test]
fn owners_of_adopted_memory_are_dropped_by_a_reclaim() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let (boom, dropped) = boom();
    let alive = device.calls().live_resources;
    drop((kept(&gpu, boom), mesh(&gpu, "rock", 20 << 20)));
    for call in [CallKind::CreateCommitted, CallKind::CreateHeap, CallKind::CreatePlaced] {
        device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
    }
    assert!(gpu.create_buffer(&BufferDesc::new(1000, Usage::SHADER_READ)).is_err());
    device.faults().clear();
    assert_eq!(count(&dropped), 0);
    assert_eq!(device.calls().live_resources, alive, "while both buffers are destroyed");
    let answer = catch_unwind(AssertUnwindSafe(|| gpu.reclaim().unwrap()));
    assert!(answer.is_err(), "the program is told");
    assert_eq!((count(&dropped), gpu.stats().pending_releases), (1, 0));

    let (counted, dropped) = Counted::new();
    let at_the_end = kept(&gpu, counted);
    let (counted, rejected) = Counted::new();
    assert!(gpu.shutdown().into_result().is_err(), "a handle lives");
    let info = ResourceDesc::Buffer(BufferInfo::new(64, Usage::VERTEX));
    let object = device.create_committed(&info, MemoryTypeId(0)).unwrap();
    let refused = gpu.adopt_buffer_in(counted, object, &BufferDesc::new(64, Usage::VERTEX), State::COMMON);
    device.destroy_resource(Permit::checked(), refused.unwrap_err().object);
    assert_eq!(count(&rejected), 1);
    drop(gpu);
    assert_eq!(count(&dropped), 0);
    drop(at_the_end);
    assert_eq!(count(&dropped), 1);
    device.check_clean().unwrap();
}

/// The owner of an adopted texture, which may destroy the program's object, is dropped after the views and the GPU's uses.
#[test]
fn owners_of_adopted_textures_outlive_their_views() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let desc =
        TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST).name("grass");
    let create =
        || device.create_committed(&ResourceDesc::Texture(desc.info.clone()), MemoryTypeId(0)).unwrap();
    let (counted, dropped) = Counted::new();
    let grass = gpu.adopt_texture_in(counted, create(), &desc, State::COMMON).unwrap();
    let view = gpu.create_texture_view(&grass, &TextureViewDesc::sampled()).unwrap();
    drop(grass);
    gpu.reclaim().unwrap();
    assert_eq!(count(&dropped), 0, "the view keeps it");
    let recording = gpu.record(Queue::Graphics, "open").unwrap();
    drop(view);
    gpu.reclaim().unwrap();
    assert_eq!(count(&dropped), 0, "the recording may use it");
    drop(recording);
    gpu.reclaim().unwrap();
    assert_eq!(count(&dropped), 1);

    let (counted, rejected) = Counted::new();
    let refused = gpu.adopt_texture_in(counted, create(), &desc, State::RENDER_TARGET).unwrap_err();
    assert!(refused.error.to_string().starts_with("grass: "), "{}", refused.error);
    assert_eq!(count(&rejected), 1);
    device.destroy_resource(Permit::checked(), refused.object);
    drop(gpu);
    device.check_clean().unwrap();
}

/// The owner of a rejected buffer panics in its destructor: the buffer is returned nevertheless.
#[test]
fn rejected_buffers_are_returned_even_if_their_owner_panics() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let info = ResourceDesc::Buffer(BufferInfo::new(64, Usage::VERTEX));
    for is_shut_down in [false, true] {
        let (boom, dropped) = boom();
        let object = device.create_committed(&info, MemoryTypeId(0)).unwrap();
        let refused = catch_unwind(AssertUnwindSafe(|| {
            gpu.adopt_buffer_in(boom, object, &BufferDesc::new(0, Usage::VERTEX), State::COMMON)
        }));
        device.destroy_resource(Permit::checked(), refused.expect("no panic").unwrap_err().object);
        assert_eq!(count(&dropped), 1);
        assert!(gpu.shutdown().is_clean(), "{is_shut_down}");
    }
    drop(gpu);
    device.check_clean().unwrap();
}

/// Calls the manager when it is dropped.
struct Calls(Gpu<Device>);

impl Drop for Calls {
    fn drop(&mut self) {
        let Self(gpu) = self;
        drop(gpu.create_buffer_with(&BufferDesc::new(64, Usage::VERTEX), &[1; 64]).unwrap());
        gpu.reclaim().unwrap();
        gpu.begin_frame().unwrap().end().unwrap();
        gpu.trim();
        let _ = gpu.stats();
    }
}

#[test]
fn owners_of_adopted_memory_may_call_the_manager() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    drop((kept(&gpu, Calls(gpu.clone())), kept(&gpu, Calls(gpu.clone()))));
    gpu.begin_frame().unwrap().end().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().pending_releases, 0);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// As an owner, a recorder that is there already, and one that goes with the last handle.
#[test]
fn a_recorder_may_panic_in_its_destructor() {
    struct Recorder(#[expect(dead_code, reason = "panics when it is dropped")] Boom);
    impl tenure_core::Recorder for Recorder {
        fn allocated(&self, _: &tenure_core::RecordedAllocation) {}
        fn freed(&self, _: u64, _: u64) {}
        fn frame_ended(&self, _: u64) {}
    }
    for is_last in [false, true] {
        let device = device(Profile::DISCRETE, Lag::Submissions(2));
        let gpu = gpu(&device);
        let (boom, dropped) = boom();
        assert!(gpu.set_recorder(Box::new(Recorder(boom))));
        let rock = mesh(&gpu, "rock", 1000);
        gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        let answer = catch_unwind(AssertUnwindSafe(|| {
            if is_last {
                drop(gpu);
                drop(rock);
            } else {
                drop(rock);
                drop(gpu);
            }
        }));
        assert!(answer.is_ok(), "{is_last}");
        assert_eq!((count(&dropped), device.handles()), (1, 1));
        device.check_clean().unwrap();
    }
}

/// A listener that is dropped with the manager, by its shutdown, and by a frame that it has ended as the last one.
#[test]
fn a_listener_for_pressure_may_panic_in_its_destructor() {
    for way in 0..3 {
        let device = device(Profile::DISCRETE, Lag::Submissions(2));
        let pressure = PressureConfig::default().interval(1);
        let gpu = Gpu::new(device.clone(), Config::from(pressure)).unwrap();
        let (boom, dropped) = boom();
        gpu.on_pressure(move |gpu, _| {
            let _captured = &boom;
            gpu.on_pressure(|_, _| {});
        });
        drop(mesh(&gpu, "rock", 1000));
        gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        let answer = catch_unwind(AssertUnwindSafe(|| match way {
            0 => drop(gpu),
            1 => {
                assert!(gpu.shutdown().is_clean());
                drop(gpu);
            }
            _ => {
                let level = mesh(&gpu, "level", 20 << 20);
                device.set_budget(0, 1 << 20).unwrap();
                // Dropped, and not ended: a panic is not passed on.
                drop(gpu.begin_frame().unwrap());
                drop(level);
                assert_eq!(count(&dropped), 1);
                drop(gpu);
            }
        }));
        assert!(answer.is_ok(), "way {way}");
        assert_eq!((count(&dropped), device.handles()), (1, 1), "way {way}");
        device.check_clean().unwrap();
    }
}

/// The payload of a panic is the program's, too: its destructor panics where no code of the program catches it.
#[test]
fn payloads_of_panics_may_panic_in_their_destructor() {
    struct Thrown(#[expect(dead_code, reason = "panics when it is dropped")] Boom);
    struct Throws(Option<Boom>);
    impl Drop for Throws {
        fn drop(&mut self) {
            resume_unwind(Box::new(Thrown(self.0.take().unwrap())));
        }
    }
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let (counted, counts): (Vec<_>, Vec<_>) = (0..6).map(|_| boom()).unzip();
    let mut throws = counted.into_iter().map(|boom| gpu.defer("throws", Throws(Some(boom))));
    drop(throws.by_ref().take(3).collect::<Vec<_>>());
    let answer = catch_unwind(AssertUnwindSafe(|| gpu.reclaim().unwrap()));
    // The panic that is passed on is the caller's.
    std::mem::forget(answer.expect_err("the program is told"));
    drop(throws.collect::<Vec<_>>());
    let answer = catch_unwind(AssertUnwindSafe(|| drop(gpu.begin_frame().unwrap())));
    assert!(answer.is_ok());
    let dropped: usize = counts.iter().map(|counted| count(counted)).sum();
    assert_eq!((dropped, gpu.stats().pending_releases), (5, 0), "all but the one that is passed on");
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
