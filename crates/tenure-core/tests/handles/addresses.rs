//! Objects by GPU address.

use std::thread;

use tenure_core::device::{
    CommandList as _, Device as _, FaultAccess, MemoryDevice, MemoryTypeId, Permit, QueueDevice as _,
    QueueId, ResourceDesc,
};
use tenure_core::{
    AddressUse, BufferDesc, BufferInfo, BufferViewDesc, Commands, Config, Error, Format, Gpu, Graph,
    ObjectKind, Queue, RecordingProgress, State, Subresource, SyncPoint, TextureDesc, UnfinishedRecording,
    Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, NativeQueue, Profile};

use crate::{SECOND, device, gpu, mesh};

const PROFILE: Profile = Profile::VULKAN_NVIDIA;

#[test]
fn live_objects_are_found_by_each_of_their_bytes() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let buffers: Vec<_> = ["rock", "tree", "hill"].map(|name| mesh(&gpu, name, 256)).into();
    for buffer in &buffers {
        let start = buffer.gpu_address().unwrap();
        for offset in [0, 1, 255] {
            let report = gpu.whose(start + offset);
            let [owner] = report.owners.as_slice() else { panic!("{report}") };
            assert_eq!((owner.name.as_str(), owner.kind), (buffer.name().as_str(), ObjectKind::Buffer));
            assert_eq!((owner.addresses.clone(), owner.state), (start..start + 256, AddressUse::Live));
            assert_eq!(report.below, None);
        }
    }
    let reported = gpu.report().objects;
    let of = |name: &str| reported.iter().find(|object| object.name == name).unwrap().address;
    assert_eq!(of("tree"), buffers[1].gpu_address());
}

#[test]
fn an_access_beyond_an_end_names_the_object_below() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let rock = mesh(&gpu, "rock", 1000);
    let end = rock.gpu_address().unwrap() + 1000;
    let report = gpu.whose(end + 4);
    assert_eq!((report.owners.len(), report.below.as_ref().unwrap().name.as_str()), (0, "rock"));
    let text = report.to_string();
    assert!(text.contains("4 B after the end of buffer 'rock' (1000 B at"), "{text}");
    let nowhere = gpu.whose(1);
    assert_eq!(nowhere.to_string(), "0x1: no object of the manager is or was there");
    assert!(gpu.whose(u64::MAX).owners.is_empty() && gpu.whose_range(0..u64::MAX).owners.len() == 1);
    assert!(gpu.whose_range(end..end).owners.is_empty());
}

/// The text of a report has a limit, because that of a loss is in each later error; it has live and former objects.
#[test]
fn texts_name_the_first_objects_of_many() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let mut all: Vec<_> = (0..1000).map(|_| mesh(&gpu, "rock", 256)).collect();
    let first = all[0].gpu_address().unwrap();
    all.drain(500..).for_each(drop);
    let report = gpu.whose_range(first..u64::MAX);
    assert_eq!(report.owners.len(), 1000);
    let text = report.to_string();
    assert_eq!((text.matches("buffer 'rock'").count(), text.matches("released in frame 0").count()), (16, 8));
    assert!(text.ends_with("; and 492 more live objects; and 492 more former objects"), "{text}");
}

/// The frame and the submissions of a drop tell which work may still use the bytes.
#[test]
fn released_objects_are_found_beside_those_that_have_their_bytes_now() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let mut address = 0;
    for round in 0..3_u64 {
        let frame = gpu.begin_frame().unwrap();
        let rock = mesh(&gpu, "rock", 4096);
        address = rock.gpu_address().unwrap();
        frame.submit(frame.record(Queue::Graphics, "opaque").unwrap()).unwrap();
        drop(rock);
        frame.end().unwrap();
        gpu.wait(&gpu.submitted(), std::time::Duration::from_secs(1)).unwrap();
        gpu.reclaim().unwrap();
        let newest = &gpu.whose(address).owners[0];
        assert_eq!(newest.state, AddressUse::Released { frame: round + 1, submissions: round + 1 });
    }
    let live = mesh(&gpu, "tree", 4096);
    assert_eq!(live.gpu_address(), Some(address), "the first hole is the best one");
    let names: Vec<_> =
        gpu.whose(address + 8).owners.into_iter().map(|owner| (owner.name, owner.state)).collect();
    let released = |frame| ("rock".to_owned(), AddressUse::Released { frame, submissions: frame });
    assert_eq!(names, [("tree".to_owned(), AddressUse::Live), released(3), released(2), released(1)]);
}

#[test]
fn views_are_listed_and_keep_their_resource() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let desc = BufferDesc::new(1024, Usage::UNORDERED_ACCESS).name("particles");
    let buffer = gpu.create_buffer(&desc).unwrap();
    let address = buffer.gpu_address().unwrap();
    let view =
        |name| gpu.create_buffer_view(&buffer, &BufferViewDesc::structured_writable(4).name(name)).unwrap();
    let (first, second) = (view("written"), view("read"));
    assert_eq!(gpu.whose(address).owners[0].views, ["read", "written"]);
    drop((buffer, first));
    let owner = &gpu.whose(address).owners[0];
    assert_eq!(
        (owner.state, owner.views.as_slice()),
        (AddressUse::Kept { dropped: 0 }, ["read".to_owned()].as_slice())
    );
    drop(second);
    assert!(matches!(gpu.whose(address).owners[0].state, AddressUse::Released { .. }));
}

/// Any thread may drop an object: the thread that created it remembers it.
#[test]
fn drops_on_other_threads_are_remembered() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = gpu(&device);
    let buffers: Vec<_> = (0..100).map(|_| mesh(&gpu, "rock", 256)).collect();
    let addresses: Vec<_> = buffers.iter().map(|buffer| buffer.gpu_address().unwrap()).collect();
    thread::scope(|scope| scope.spawn(move || drop(buffers)).join().unwrap());
    for address in addresses {
        assert!(matches!(
            gpu.whose(address).owners[0].state,
            AddressUse::Released { frame: 0, submissions: 0 }
        ));
    }
}

#[test]
fn the_history_is_bounded() {
    for (limit, kept) in [(0, 0), (1, 1), (7, 7), (100, 20)] {
        let device = device(PROFILE, Lag::Submissions(0));
        let gpu = Gpu::new(device, Config::default().released_history(limit)).unwrap();
        let buffers: Vec<_> = (0..20).map(|_| mesh(&gpu, "rock", 256)).collect();
        let addresses: Vec<_> = buffers.iter().map(|buffer| buffer.gpu_address().unwrap()).collect();
        buffers.into_iter().for_each(drop);
        let found: Vec<_> = addresses.iter().map(|address| gpu.whose(*address).owners.len()).collect();
        assert_eq!(found.iter().sum::<usize>(), kept, "the newest of {limit}");
        assert!(found.is_sorted(), "{found:?}");
    }
    assert!(Config::default().released_history(65_537).validate().is_err());
}

#[test]
fn objects_without_an_address_are_not_remembered() {
    let device = device(PROFILE, Lag::Submissions(0));
    let gpu = Gpu::new(device, Config::default().released_history(1)).unwrap();
    let rock = mesh(&gpu, "rock", 256);
    let address = rock.gpu_address().unwrap();
    drop(rock);
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    drop(gpu.create_texture(&desc).unwrap());
    assert_eq!(gpu.whose(address).owners.len(), 1);
}

/// A list that the program has recorded once, and submits after the drop of a buffer in it, loses the device; the report names
/// the buffer.
#[test]
fn a_page_fault_names_the_released_object() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::None).page_faults(true));
    let gpu = gpu(&device);
    let desc = BufferDesc::new(64 << 20, Usage::SHADER_READ).name("level");
    let level = gpu.create_buffer(&desc).unwrap();
    let address = level.gpu_address().unwrap();
    let mut list = device.create_list(Permit::checked(), QueueId(0)).unwrap();
    list.begin().unwrap();
    list.use_buffer(level.raw(), 4096, 256, State::NON_PIXEL_SHADER);
    list.close().unwrap();
    let frame = gpu.begin_frame().unwrap();
    frame.submit(frame.record(Queue::Graphics, "opaque").unwrap()).unwrap();
    drop(level);
    frame.end().unwrap();
    gpu.trim();
    assert_eq!(gpu.loss(), None);

    let run = |mut queue: NativeQueue<'_>| queue.submit(&[&list], &[], &[]).map_err(Error::from);
    let _lost_inside = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, run);
    let error = gpu.wait(&gpu.submitted(), SECOND).unwrap_err();
    let loss = gpu.loss().unwrap();
    let [fault] = loss.faults.as_slice() else { panic!("{loss}") };
    assert_eq!((fault.fault.access, fault.fault.addresses.start), (FaultAccess::Read, address + 4096));
    let owner = &fault.whose.as_ref().unwrap().owners[0];
    assert_eq!(
        (owner.name.as_str(), owner.state),
        ("level", AddressUse::Released { frame: 1, submissions: 1 })
    );
    let reason = format!(
        "the GPU stopped at a page fault; the GPU reports an invalid read at {:#x}: byte 4096 of buffer 'level' \
         (67108864 B at {address:#x}, created in frame 0, released in frame 1 after 1 submission)",
        address + 4096
    );
    assert_eq!(loss.to_string(), reason);
    assert_eq!(error.to_string(), format!("(unnamed): the device is lost: {reason}"));
    let [unfinished] = loss.unfinished.as_slice() else { panic!("{:?}", loss.unfinished) };
    assert_eq!((unfinished.queue, unfinished.serials.clone()), (0, 2..3));
    assert!(unfinished.recordings.is_empty(), "external work has no name");
    let later = gpu.create_buffer(&desc).unwrap_err();
    assert_eq!(later.to_string(), format!("level: the device is lost: {reason}"));
    assert_eq!(gpu.shutdown().lost, Some(reason));
    assert!(device.take_hazards().is_empty());
}

/// A texture has an address on a device that reports it, and is found like a buffer.
#[test]
fn a_page_fault_names_the_released_texture() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::None).page_faults(true));
    let gpu = gpu(&device);
    let desc = TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, Usage::SHADER_READ).name("cliff");
    let cliff = gpu.create_texture(&desc).unwrap();
    let mut list = device.create_list(Permit::checked(), QueueId(0)).unwrap();
    list.begin().unwrap();
    list.use_texture(cliff.raw(), Subresource::All, State::PIXEL_SHADER);
    list.close().unwrap();
    drop(cliff);
    gpu.trim();
    let run = |mut queue: NativeQueue<'_>| queue.submit(&[&list], &[], &[]).map_err(Error::from);
    let _lost_inside = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, run);
    gpu.wait(&gpu.submitted(), SECOND).unwrap_err();
    let loss = gpu.loss().unwrap();
    let owner = &loss.faults[0].whose.as_ref().unwrap().owners[0];
    assert_eq!((owner.name.as_str(), owner.kind), ("cliff", ObjectKind::Texture), "{loss}");
    assert!(matches!(owner.state, AddressUse::Released { .. }), "{loss}");
}

/// Recordings that the GPU had not finished are named, by queue, up to a limit.
#[test]
fn unfinished_recordings_are_named() {
    let device = device(PROFILE, Lag::Manual);
    let gpu = gpu(&device);
    let submit = |queue, name: String| gpu.record(queue, name).unwrap().submit().unwrap();
    for done in 0..3 {
        submit(Queue::Graphics, format!("done {done}"));
    }
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    for number in 0..1100 {
        submit(Queue::Graphics, format!("pass {number}"));
    }
    submit(Queue::Compute, "light".to_owned());
    device.faults().remove("hung");
    assert!(gpu.begin_frame().is_err());
    let unfinished = gpu.loss().unwrap().unfinished;
    assert_eq!(unfinished.iter().map(|work| work.serials.clone()).collect::<Vec<_>>(), [4..1104, 1..2]);
    let names = unfinished[0].recordings.iter().map(|recording| (recording.serial, recording.name.clone()));
    let expected = (76..1100).map(|number| (number + 4, format!("pass {number}")));
    assert_eq!(names.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(unfinished[1].recordings[0].name, "light");
}

/// A device with markers that faults, its manager, and a buffer of the program to destroy too early.
fn with_markers() -> (Device, Gpu<Device>, <Device as MemoryDevice>::Resource) {
    let config = DeviceConfig::new(PROFILE).lag(Lag::Manual).page_faults(true).markers(true);
    let device = Device::with_config(config);
    let gpu = gpu(&device);
    let desc = ResourceDesc::Buffer(BufferInfo::new(256, Usage::SHADER_READ));
    let level = device.create_committed(&desc, MemoryTypeId(0)).unwrap();
    (device, gpu, level)
}

/// By its markers, the report names the scopes that the GPU had begun and not completed.
#[test]
fn markers_tell_where_the_gpu_was() {
    let (device, gpu, level) = with_markers();
    gpu.record(Queue::Graphics, "depth").unwrap().submit().unwrap();
    drop(gpu.record(Queue::Graphics, "discarded").unwrap());
    let mut main = gpu.record(Queue::Graphics, "main").unwrap();
    let nothing = |_: &mut Commands<Device>| Ok::<_, Error>(());
    main.gpu_time("sky", nothing).unwrap();
    main.gpu_time("shadows", |commands| {
        commands.gpu_time("cascade 0", nothing)?;
        commands.gpu_time("cascade 1", |commands| {
            commands.raw().use_buffer(&level, 0, 256, State::NON_PIXEL_SHADER);
            Ok::<_, Error>(())
        })
    })
    .unwrap();
    main.gpu_time("opaque", nothing).unwrap();
    main.submit().unwrap();
    gpu.record(Queue::Graphics, "post").unwrap().submit().unwrap();
    gpu.record(Queue::Compute, "light").unwrap().submit().unwrap();
    device.destroy_resource(Permit::checked(), level);
    device.run_until_idle();
    let error = gpu.reclaim().unwrap_err();

    let loss = gpu.loss().unwrap();
    let progress = |queue: usize| -> Vec<_> {
        let all = loss.unfinished[queue].recordings.iter();
        all.map(|recording| (recording.name.clone(), recording.progress.clone().unwrap())).collect()
    };
    let scopes = ["shadows", "cascade 1"].map(str::to_owned).to_vec();
    let running = ("main".to_owned(), RecordingProgress::Running { scopes });
    let graphics = progress(0);
    let [.., main, post] = graphics.as_slice() else { panic!("{graphics:?}") };
    assert_eq!((main, post), (&running, &("post".to_owned(), RecordingProgress::NotBegun)));
    let text = "; recording 'main' on queue 0: running, in 'shadows', 'cascade 1'";
    assert!(loss.to_string().contains(text) && error.to_string().contains(text), "{loss}\n{error}");
}

/// Passes of a graph have markers, without the option that measures them.
#[test]
fn markers_name_the_pass_of_a_graph() {
    let (device, gpu, level) = with_markers();
    let mut graph = Graph::new();
    let target = graph.buffer(BufferDesc::new(256, Usage::COPY_SRC | Usage::COPY_DST));
    let passes: Vec<_> = ["depth", "shadows", "opaque"]
        .map(|name| graph.pass(Queue::Graphics, name).uses(target, State::COPY_DST).id())
        .into();
    let frame = gpu.begin_frame().unwrap();
    frame
        .execute(&graph, |pass, recording, _| {
            if pass == passes[1] {
                recording.raw().use_buffer(&level, 0, 256, State::NON_PIXEL_SHADER);
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    device.destroy_resource(Permit::checked(), level);
    device.run_until_idle();
    gpu.reclaim().unwrap_err();
    let text = gpu.loss().unwrap().to_string();
    assert!(text.ends_with(": running, in 'shadows'"), "{text}");
}

/// Words are used again and again, by recordings on several queues, and markers change nothing else.
#[test]
fn markers_last_for_any_number_of_recordings() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::Submissions(3)).markers(true));
    let gpu = gpu(&device);
    for number in 0..6000 {
        let queue = [Queue::Graphics, Queue::Compute, Queue::Copy][number % 3];
        let mut recording = gpu.record(queue, "pass").unwrap();
        recording.gpu_time("scope", |_| Ok::<_, Error>(())).unwrap();
        if number % 5 == 0 {
            drop(recording);
        } else {
            recording.submit().unwrap();
        }
        if number % 50 == 0 {
            gpu.reclaim().unwrap();
        }
    }
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    assert!(device.take_hazards().is_empty());
    gpu.record(Queue::Graphics, "last").unwrap().submit().unwrap();
    device.faults().remove("hung");
    gpu.reclaim().unwrap_err();
    let last = &gpu.loss().unwrap().unfinished[0].recordings[0];
    assert_eq!((last.name.as_str(), last.progress.as_ref()), ("last", Some(&RecordingProgress::NotBegun)));
}

/// Recordings are named also while more are in flight than words are there; only the first ones have progress.
#[test]
fn recordings_without_words_have_no_progress() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::Manual).markers(true));
    let gpu = gpu(&device);
    let pairs = u64::from(device.properties().markers.words / 2);
    let newest = pairs + 1000;
    for _ in 0..newest {
        gpu.record(Queue::Graphics, "pass").unwrap().submit().unwrap();
    }
    device.faults().remove("hung");
    gpu.reclaim().unwrap_err();
    let unfinished = &gpu.loss().unwrap().unfinished[0];
    assert_eq!((unfinished.serials.clone(), unfinished.recordings.len()), (1..newest + 1, 1024));
    let has_words = |recording: &UnfinishedRecording| recording.serial <= pairs;
    assert!(
        unfinished.recordings.iter().all(|recording| recording.progress.is_some() == has_words(recording))
    );
    assert!(unfinished.recordings.first().is_some_and(has_words));
}

/// Recordings of a queue that is far behind keep no words from other queues.
#[test]
fn a_slow_queue_leaves_markers_to_the_others() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::Manual).markers(true));
    let gpu = gpu(&device);
    for _ in 0..100 {
        gpu.record(Queue::Compute, "slow").unwrap().submit().unwrap();
    }
    for _ in 0..1000 {
        gpu.record(Queue::Graphics, "pass").unwrap().submit().unwrap();
        device.complete_one(QueueId(0)).unwrap();
        gpu.reclaim().unwrap();
    }
    gpu.record(Queue::Graphics, "last").unwrap().submit().unwrap();
    device.faults().remove("hung");
    gpu.reclaim().unwrap_err();
    let last = gpu.loss().unwrap().unfinished[0].recordings.pop().unwrap();
    assert_eq!((last.name.as_str(), last.progress), ("last", Some(RecordingProgress::NotBegun)));
}

/// Complete recordings of a queue that is idle keep no words from other queues.
#[test]
fn an_idle_queue_leaves_markers_to_the_others() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::Manual).markers(true));
    let gpu = gpu(&device);
    for _ in 0..1100 {
        gpu.record(Queue::Compute, "load").unwrap().submit().unwrap();
    }
    device.run_until_idle();
    gpu.reclaim().unwrap();
    for name in ["first", "second"] {
        gpu.record(Queue::Graphics, name).unwrap().submit().unwrap();
    }
    device.faults().remove("hung");
    gpu.reclaim().unwrap_err();
    let second = gpu.loss().unwrap().unfinished[0].recordings.pop().unwrap();
    assert_eq!((second.name.as_str(), second.progress), ("second", Some(RecordingProgress::NotBegun)));
}

/// A scope beyond those that are marked is part of its recording.
#[test]
fn only_the_first_scopes_of_a_recording_are_marked() {
    let (device, gpu, level) = with_markers();
    let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
    for _ in 0..300 {
        recording.gpu_time("scope", |_| Ok::<_, Error>(())).unwrap();
    }
    recording
        .gpu_time("beyond", |commands| {
            commands.raw().use_buffer(&level, 0, 256, State::NON_PIXEL_SHADER);
            Ok::<_, Error>(())
        })
        .unwrap();
    recording.submit().unwrap();
    device.destroy_resource(Permit::checked(), level);
    device.run_until_idle();
    gpu.reclaim().unwrap_err();
    let progress = gpu.loss().unwrap().unfinished[0].recordings[0].progress.clone();
    assert_eq!(progress, Some(RecordingProgress::Running { scopes: Vec::new() }));
}

/// The words keep the numbers of an earlier manager of the device.
#[test]
fn markers_of_an_earlier_manager_are_not_taken_for_progress() {
    let device = Device::with_config(DeviceConfig::new(PROFILE).lag(Lag::Manual).markers(true));
    let record = |gpu: &Gpu<Device>| {
        let mut recording = gpu.record(Queue::Graphics, "pass").unwrap();
        recording.gpu_time("scope", |_| Ok::<_, Error>(())).unwrap();
        recording.submit().unwrap();
    };
    for _ in 0..3 {
        let gpu = gpu(&device);
        (0..5).for_each(|_| record(&gpu));
        assert!(device.run_until_idle());
        assert!(gpu.shutdown().is_clean());
    }
    let gpu = gpu(&device);
    (0..5).for_each(|_| record(&gpu));
    device.faults().remove("hung");
    gpu.reclaim().unwrap_err();
    let recordings = &gpu.loss().unwrap().unfinished[0].recordings;
    let progress: Vec<_> = recordings.iter().filter_map(|recording| recording.progress.clone()).collect();
    assert_eq!(progress, vec![RecordingProgress::NotBegun; 5]);
}
