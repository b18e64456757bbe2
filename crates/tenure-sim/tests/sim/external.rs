//! The program's own fences and submissions.

use std::time::Duration;

use tenure_core::device::{CommandList as _, *};
use tenure_core::{
    BufferDesc, Config, Error, Gpu, MemoryUse, Queue, State, Subresource, SyncPoint, TextureDesc, Usage,
};
use tenure_sim::{Checks, Device, DeviceConfig, HazardKind, Lag, List, Profile};

use crate::common::{COPY, GRAPHICS, buffer, local_type};
use crate::hazard_table::assert_listed;

fn submit(
    device: &Device,
    queue: QueueId,
    signal: u64,
    waits: &[tenure_sim::ExternalPoint],
    signals: &[tenure_sim::ExternalPoint],
) {
    let sync =
        SubmitSync { external_waits: waits, external_signals: signals, ..SubmitSync::new(&[], signal) };
    device.submit_with(Permit::checked(), queue, &[], sync).unwrap();
}

fn kinds(device: &Device) -> Vec<HazardKind> {
    device.take_hazards().iter().inspect(|found| assert_listed(found)).map(|hazard| hazard.kind).collect()
}

fn filled(device: &Device, buffer: &tenure_sim::Resource, queue: QueueId) -> List {
    let mut list = device.create_list(Permit::checked(), queue).unwrap();
    list.begin().unwrap();
    list.fill_buffer(buffer, 0, 256, 7);
    list.close().unwrap();
    list
}

#[test]
fn submissions_wait_for_the_programs_fences() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let (fence, done) = (device.create_fence("streamed"), device.create_fence("drawn"));
        submit(&device, GRAPHICS, 1, &[fence.at(2)], &[done.at(5)]);
        assert_eq!((device.completed(GRAPHICS), done.value()), (Ok(0), 0));
        fence.signal(1);
        assert_eq!(device.completed(GRAPHICS), Ok(0));
        submit(&device, COPY, 1, &[], &[fence.at(2)]);
        assert_eq!((device.completed(GRAPHICS), done.value()), (Ok(1), 5));
        assert_eq!(device.completed(COPY), Ok(1));
        drop((fence, done));
        device.check_clean().unwrap();
    }
}

#[test]
fn binary_semaphores_are_signalled_and_waited_for_in_turn() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None));
    let semaphore = device.create_semaphore("acquired");
    for serial in [1, 3, 5] {
        submit(&device, GRAPHICS, serial, &[], &[semaphore.at(0)]);
        submit(&device, GRAPHICS, serial + 1, &[semaphore.at(0)], &[]);
    }
    assert_eq!(device.completed(GRAPHICS), Ok(6));
    drop(semaphore);
    device.check_clean().unwrap();
}

#[test]
fn each_misuse_of_a_fence_is_found() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Manual));
    let (fence, semaphore) = (device.create_fence("frame"), device.create_semaphore("acquired"));

    submit(&device, GRAPHICS, 1, &[semaphore.at(0)], &[]);
    assert_eq!(kinds(&device), [HazardKind::NeverSignalled], "a binary semaphore that nothing signals");
    submit(&device, GRAPHICS, 2, &[], &[semaphore.at(0)]);
    submit(&device, GRAPHICS, 3, &[], &[semaphore.at(0)]);
    assert_eq!(kinds(&device), [HazardKind::SignalledTwice], "signalled before anything waited");

    submit(&device, GRAPHICS, 4, &[], &[fence.at(3)]);
    submit(&device, GRAPHICS, 5, &[], &[fence.at(3)]);
    assert_eq!(kinds(&device), [HazardKind::SignalledTwice], "a value that it reaches anyway");
    fence.signal(2);
    assert_eq!(kinds(&device), [HazardKind::SignalledTwice], "a value that is behind");

    drop(semaphore);
    assert_eq!(kinds(&device), [HazardKind::DestroyedInUse]);
    assert!(device.run_until_idle());
    let point = fence.at(9);
    drop(fence);
    submit(&device, GRAPHICS, 6, &[], &[point]);
    assert_eq!(kinds(&device), [HazardKind::DeadFence]);
}

#[test]
fn fences_that_nothing_signals_are_named_at_the_end() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let fence = device.create_fence("never");
    submit(&device, GRAPHICS, 1, &[fence.at(4)], &[]);
    assert!(!device.wait(QueueSerial { queue: GRAPHICS, serial: 1 }, Duration::from_millis(5)).unwrap());
    let found = device.check_clean().unwrap_err();
    assert_eq!(found.hazards[0].kind, HazardKind::NeverSignalled);
    let text = found.hazards[0].to_string();
    assert!(text.contains("'never'") && text.contains("reach 4") && text.contains("at 0"), "{text}");
    fence.signal(4);
    assert!(device.run_until_idle());
    drop(fence);
    device.check_clean().unwrap();
}

/// Accesses ordered by a fence are no race; without it there is one.
#[test]
fn fences_order_queues() {
    for is_ordered in [true, false] {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
        let desc = buffer(256, Usage::COPY_DST);
        let target = device.create_committed(&desc, local_type(&device, &desc)).unwrap();
        let fence = device.create_fence("copied");
        let lists = [filled(&device, &target, COPY), filled(&device, &target, GRAPHICS)];
        let point = [fence.at(1)];
        let sync = SubmitSync { external_signals: &point, ..SubmitSync::new(&[], 1) };
        device.submit_with(Permit::checked(), COPY, &[&lists[0]], sync).unwrap();
        let waits = if is_ordered { &point[..] } else { &[] };
        let sync = SubmitSync { external_waits: waits, ..SubmitSync::new(&[], 1) };
        device.submit_with(Permit::checked(), GRAPHICS, &[&lists[1]], sync).unwrap();
        assert!(device.run_until_idle());
        let expected: &[HazardKind] = if is_ordered { &[] } else { &[HazardKind::QueueRace] };
        assert_eq!(kinds(&device), expected, "ordered: {is_ordered}");
        lists.into_iter().for_each(|list| device.destroy_list(Permit::checked(), list));
        device.destroy_resource(Permit::checked(), target);
        drop(fence);
        device.check_clean().unwrap();
    }
}

/// Work that the program submits by itself is found when something it uses is destroyed.
#[test]
fn destroying_resources_of_external_work_is_a_hazard() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    let desc = buffer(256, Usage::COPY_DST);
    let target = device.create_committed(&desc, local_type(&device, &desc)).unwrap();
    let list = filled(&device, &target, GRAPHICS);
    let answer = device.submit_external(Permit::checked(), GRAPHICS, &[], 1, |mut queue| {
        queue.submit(&[&list], &[], &[])?;
        queue.submit(&[&list], &[], &[])
    });
    assert!(answer.unwrap().is_err(), "a list is submitted once");
    device.destroy_resource(Permit::checked(), target);
    assert_eq!(kinds(&device), [HazardKind::DestroyedInUse]);
    assert!(device.run_until_idle());
    assert_eq!(device.completed(GRAPHICS), Ok(1));
    device.destroy_list(Permit::checked(), list);
}

/// The parts of one external submission are ordered by their waits, and complete as one.
#[test]
fn the_parts_of_an_external_submission_complete_together() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let (first, last) = (device.create_fence("first"), device.create_fence("last"));
    device
        .submit_external(Permit::checked(), GRAPHICS, &[], 1, |mut queue| {
            queue.submit(&[], &[], &[first.at(1)]).unwrap();
            queue.submit(&[], &[last.at(1)], &[]).unwrap();
        })
        .unwrap();
    assert_eq!((first.value(), device.completed(GRAPHICS)), (1, Ok(0)));
    last.signal(1);
    assert_eq!(device.completed(GRAPHICS), Ok(1));
    drop((first, last));
    device.check_clean().unwrap();
}

/// A regression that users found: an engine's own submission, and a buffer dropped right after it.
#[test]
fn a_buffer_outlives_the_programs_own_submission() {
    for profile in Profile::ALL {
        let device = Device::with_config(DeviceConfig::new(*profile).lag(Lag::Manual));
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::COPY_DST).name("rock")).unwrap();
        let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
        list.begin().unwrap();
        list.fill_buffer(rock.raw(), rock.offset(), 256, 7);
        list.close().unwrap();
        let ((), point) = gpu
            .submit_external(Queue::Graphics, &SyncPoint::NONE, |mut queue| {
                queue.submit(&[&list], &[], &[]).map_err(Error::from)
            })
            .unwrap();
        drop(rock);
        gpu.reclaim().unwrap();
        gpu.trim();
        assert_eq!(kinds(&device), []);
        assert!(device.run_until_idle());
        assert!(gpu.wait(&point, Duration::from_secs(1)).unwrap());
        gpu.reclaim().unwrap();
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.destroy_list(Permit::checked(), list);
        device.check_clean().unwrap();
    }
}

/// A recording waits for and signals the program's own fences; a discarded one does neither.
#[test]
fn recordings_wait_for_and_signal_external_points() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None));
    let (streamed, drawn) = (device.create_fence("streamed"), device.create_fence("drawn"));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let mut discarded = gpu.record(Queue::Graphics, "discarded").unwrap();
    discarded.wait_for_external(streamed.at(7));
    discarded.signal_external(drawn.at(7));
    drop(discarded);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.wait_for_external(streamed.at(1));
    recording.signal_external(drawn.at(1));
    let point = recording.submit().unwrap();
    assert!(!gpu.wait(&point, Duration::from_millis(1)).unwrap());
    streamed.signal(1);
    assert!(gpu.wait(&point, Duration::from_secs(1)).unwrap());
    assert_eq!(drawn.value(), 1);
    drop(gpu);
    drop((streamed, drawn));
    device.check_clean().unwrap();
}

/// Barriers continue from the state that the program declared.
#[test]
fn declared_states_are_led_on_from() {
    for profile in Profile::ALL {
        let device = Device::with_config(DeviceConfig::new(*profile).lag(Lag::None).checks(Checks::all()));
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let usage = Usage::COPY_DST | Usage::COPY_SRC | Usage::RENDER_TARGET;
        let desc = tenure_core::TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage).name("target");
        let target = gpu.create_texture(&desc).unwrap();
        let mut first = gpu.record(Queue::Graphics, "clear").unwrap();
        first.use_resource(&target, Subresource::All, State::RENDER_TARGET).unwrap();
        first.raw().use_texture(target.raw(), Subresource::All, State::RENDER_TARGET);
        first.submit().unwrap();

        // The program's own list leaves it in the copy source state.
        let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
        list.begin().unwrap();
        list.barriers(&[Barrier::Transition {
            resource: target.raw(),
            subresource: Subresource::All,
            before: State::RENDER_TARGET,
            after: State::COPY_SRC,
            transfer: None,
        }]);
        list.use_texture(target.raw(), Subresource::All, State::COPY_SRC);
        list.close().unwrap();
        let ((), point) = gpu
            .submit_external(Queue::Graphics, &SyncPoint::NONE, |mut queue| {
                queue.submit(&[&list], &[], &[]).map_err(Error::from)
            })
            .unwrap();
        let depth = gpu.declare_state(&target, Subresource::All, State::DEPTH_WRITE, &point);
        assert!(matches!(depth, Err(Error::State { .. })), "{depth:?}");
        // Other buffers in the same API buffer have been used differently.
        let small = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX | Usage::COPY_SRC)).unwrap();
        let shared = gpu.declare_state(&small, Subresource::All, State::COPY_SRC, &point);
        assert!(shared.unwrap_err().to_string().contains("own_resource"));
        let alone = BufferDesc::new(256, Usage::VERTEX | Usage::COPY_SRC).own_resource();
        let alone = gpu.create_buffer(&alone).unwrap();
        gpu.declare_state(&alone, Subresource::All, State::COPY_SRC, &point).unwrap();
        drop((small, alone));
        let other = gpu.declare_state(&target, Subresource::One(1), State::COPY_SRC, &point);
        assert!(matches!(other, Err(Error::State { .. })), "{other:?}");
        gpu.declare_state(&target, Subresource::All, State::COPY_SRC, &point).unwrap();

        let mut next = gpu.record(Queue::Graphics, "draw").unwrap();
        next.use_resource(&target, Subresource::All, State::RENDER_TARGET).unwrap();
        next.raw().use_texture(target.raw(), Subresource::All, State::RENDER_TARGET);
        next.submit().unwrap();
        drop(target);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.destroy_list(Permit::checked(), list);
        device.check_clean().unwrap();
    }
}

#[test]
fn submissions_of_failed_or_panicked_external_code_count() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let refused: Result<((), SyncPoint), Error> =
        gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |mut queue| {
            queue.submit(&[], &[], &[]).unwrap();
            Err(DeviceError::Unsupported { feature: "what the program wanted" }.into())
        });
    assert!(refused.is_err());
    assert_eq!(gpu.submitted().serial(GRAPHICS), 1, "what came before the error is counted");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| -> Result<(), Error> {
            panic!("the program's own")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(gpu.submitted().serial(GRAPHICS), 2);
    // The lock is free again, and nothing is held back.
    let buffer = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST).memory(MemoryUse::GpuOnly)).unwrap();
    gpu.upload(&buffer, 0, &[1; 64]).unwrap();
    let nested: Result<((), SyncPoint), Error> =
        gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
            let recording = gpu.record(Queue::Graphics, "inside")?;
            let refused = recording.submit().unwrap_err().to_string();
            assert!(refused.contains("from inside submit_external"), "{refused}");
            assert!(gpu.submit_external(Queue::Copy, &SyncPoint::NONE, |_| Ok::<(), Error>(())).is_err());
            Ok(())
        });
    nested.unwrap();
    assert!(gpu.record(Queue::Graphics, "after").unwrap().submit().is_ok());
    drop(buffer);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A submission from inside the program's own submission is refused at once, whatever locks are held by a
/// thread that waits for the queue, and loses nothing.
#[test]
fn calls_inside_of_a_submission_never_wait_for_one() {
    for what in 0..4 {
        let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None));
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::UNORDERED_ACCESS)).unwrap();
        let mine = gpu.create_buffer(&BufferDesc::new(4096, Usage::UNORDERED_ACCESS)).unwrap();
        let recording = |buffer| {
            let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
            recording.use_resource(buffer, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            recording
        };
        let (prepared, other) = (recording(&mine), recording(&buffer));
        let mut frame = Some(gpu.begin_frame().unwrap());
        let (entered, enters) = std::sync::mpsc::channel();
        let manager = &gpu;
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                enters.recv().unwrap();
                if what > 0 {
                    manager.flush_uploads().unwrap();
                }
                other.submit().unwrap();
            });
            gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
                gpu.upload(&mine, 0, &[7; 64]).unwrap();
                entered.send(()).unwrap();
                // Until the other thread waits for the queue, most likely.
                std::thread::sleep(Duration::from_millis(50));
                let refused = match what {
                    0 => prepared.submit().err(),
                    1 => gpu.reclaim().err(),
                    2 => frame.take().and_then(|frame| frame.end().err()),
                    _ => gpu.flush_uploads().err(),
                };
                assert!(
                    refused.is_none_or(|error| error.to_string().contains("from inside submit_external"))
                );
                Ok::<_, Error>(())
            })
            .unwrap();
            thread.join().unwrap();
        });
        drop(frame);
        gpu.flush_uploads().unwrap();
        drop((buffer, mine));
        assert!(gpu.shutdown().is_clean());
    }
}

/// With several queues, a declared state belongs to the queue of the last submission that supports it.
#[test]
fn a_declared_state_is_of_the_queue_that_was_used_last() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC | Usage::SHADER_READ;
    let texture = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
    let uses = |queue, state| {
        let mut recording = gpu.record(queue, "use").unwrap();
        recording.use_resource(&texture, Subresource::All, state).unwrap();
        recording.barriers();
        if state == State::UNORDERED_ACCESS {
            recording.raw().use_texture(texture.raw(), Subresource::All, state);
        }
        recording.submit().unwrap()
    };
    for queue in [Queue::Compute, Queue::Graphics, Queue::Compute] {
        // A submission on each queue, the last on this one.
        for other in [Queue::Copy, Queue::Compute, Queue::Graphics] {
            gpu.record(other, "nothing").unwrap().submit().unwrap();
        }
        uses(queue, State::UNORDERED_ACCESS);
        gpu.declare_state(&texture, Subresource::All, State::UNORDERED_ACCESS, &gpu.submitted()).unwrap();
        gpu.record(Queue::Copy, "later, and of no use").unwrap().submit().unwrap();
        gpu.declare_state(&texture, Subresource::All, State::UNORDERED_ACCESS, &gpu.submitted()).unwrap();
        uses(Queue::Copy, State::COPY_SRC);
    }
    drop(texture);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
