//! Values passed through another language as numbers: valid ones work, all others are refused.

use std::time::Duration;

use tenure_core::{
    AnySamples, Config, Error, ErrorKind, Gpu, GpuTimeScope, Name, OpenQuery, QueryRule, Queue, QueueId,
    SampleCount, SyncPoint,
};
use tenure_sim::{Device, Profile};

fn gpu() -> Gpu<Device> {
    Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap()
}

fn is_not_begun<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Query { rule: QueryRule::NotBegun, .. }))
}

#[test]
fn a_query_ends_once_and_only_where_it_began() {
    let gpu = gpu();
    let mut recording = gpu.record(Queue::Graphics, "main").unwrap();
    let first = [recording.id().get(), 0];
    assert!(is_not_begun(recording.end_query(OpenQuery::<SampleCount>::from_raw(first))));
    let [id, query] = recording.begin_binary_occlusion().unwrap().into_raw();
    for wrong in [[id, query + 1], [id, query | 1 << 32], [id, u64::MAX]] {
        assert!(is_not_begun(recording.end_query(OpenQuery::<AnySamples>::from_raw(wrong))), "{wrong:?}");
    }
    let other = recording.end_query(OpenQuery::<AnySamples>::from_raw([id + 1, query]));
    assert!(matches!(other, Err(Error::Query { rule: QueryRule::OtherRecording { .. }, .. })));
    assert!(
        is_not_begun(recording.end_query(OpenQuery::<SampleCount>::from_raw([id, query]))),
        "another kind"
    );
    let ticket = recording.end_query(OpenQuery::<AnySamples>::from_raw([id, query])).unwrap();
    assert!(is_not_begun(recording.end_query(OpenQuery::<AnySamples>::from_raw([id, query]))));
    recording.submit().unwrap();
    assert_eq!(ticket.wait(Duration::from_secs(1)), Ok(AnySamples(false)));
}

#[test]
fn a_scope_ends_once() {
    let gpu = gpu();
    let frame = gpu.begin_frame().unwrap();
    let mut recording = frame.record(Queue::Graphics, "main").unwrap();
    let [id, outer] = recording.begin_gpu_time("outer").unwrap().into_raw();
    let [_, inner] = recording.begin_gpu_time("inner").unwrap().into_raw();
    recording.end_gpu_time(GpuTimeScope::from_raw([id, inner])).unwrap();
    for wrong in [[id, inner], [id, inner + 1], [id, u64::MAX], [id, 1 << 32 | outer]] {
        assert!(is_not_begun(recording.end_gpu_time(GpuTimeScope::from_raw(wrong))), "{wrong:?}");
    }
    recording.end_gpu_time(GpuTimeScope::from_raw([id, outer])).unwrap();
    let done = frame.submit(recording).unwrap();
    gpu.wait(&done, Duration::from_secs(1)).unwrap();
    frame.end().unwrap();
    let times: Vec<_> = gpu.stats().gpu_times.into_iter().map(|time| (time.name, time.depth)).collect();
    assert_eq!(times, [("outer".to_owned(), 0), ("inner".to_owned(), 1)]);
}

/// Vulkan's copy-only queues have no timestamps.
#[test]
fn a_scope_that_is_not_measured_ends_once() {
    let gpu = Gpu::new(Device::new(Profile::VULKAN_NVIDIA), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Copy, "uploads").unwrap();
    assert!(recording.write_timestamp().is_err());
    let [id, outer] = recording.begin_gpu_time("outer").unwrap().into_raw();
    let [_, inner] = recording.begin_gpu_time("inner").unwrap().into_raw();
    assert_ne!(outer, inner);
    for wrong in [[id, 0], [id, inner + 1], [id, u64::MAX]] {
        assert!(is_not_begun(recording.end_gpu_time(GpuTimeScope::from_raw(wrong))), "{wrong:?}");
    }
    for scope in [outer, inner] {
        recording.end_gpu_time(GpuTimeScope::from_raw([id, scope])).unwrap();
        assert!(is_not_begun(recording.end_gpu_time(GpuTimeScope::from_raw([id, scope]))));
    }
    recording.submit().unwrap();
    let mut later = gpu.record(Queue::Copy, "more uploads").unwrap();
    let id = later.id().get();
    assert!(is_not_begun(later.end_gpu_time(GpuTimeScope::from_raw([id, outer]))));
    later.submit().unwrap();
}

#[test]
fn timestamps_of_one_queue_have_a_time_between_them() {
    let (gpu, other) = (gpu(), gpu());
    let mut recording = gpu.record(Queue::Graphics, "main").unwrap();
    let [begin, end] = [(); 2].map(|()| recording.write_timestamp().unwrap());
    assert_eq!(end.since(&begin), Ok(None));
    let done = recording.submit().unwrap();
    gpu.wait(&done, Duration::from_secs(1)).unwrap();
    assert!(end.since(&begin).unwrap().unwrap() > Duration::ZERO);
    assert_eq!(begin.since(&end), Ok(Some(Duration::ZERO)));

    // Refused at once, and not only when both have arrived.
    let mut compute = gpu.record(Queue::Compute, "compute").unwrap();
    let late = compute.write_timestamp().unwrap();
    let rule = QueryRule::OtherQueue { queue: QueueId(1), earlier: QueueId(0) };
    let refused = Error::Query { recording: "compute".into(), id: compute.id(), rule };
    assert_eq!(late.since(&begin), Err(refused));
    let mut elsewhere = other.record(Queue::Graphics, "elsewhere").unwrap();
    let foreign = elsewhere.write_timestamp().unwrap();
    assert!(matches!(foreign.since(&begin), Err(Error::Foreign { .. })));
    assert!(matches!(begin.since(&foreign), Err(Error::Foreign { .. })));
}

#[test]
fn a_sync_point_keeps_its_manager() {
    let (gpu, other) = (gpu(), gpu());
    let done = gpu.record(Queue::Graphics, "main").unwrap().submit().unwrap();
    let (serials, clock) = done.to_raw();
    gpu.wait(&SyncPoint::from_raw(serials, clock), Duration::from_secs(1)).unwrap();
    let foreign = other.wait(&SyncPoint::from_raw(serials, clock), Duration::ZERO);
    assert_eq!(foreign.unwrap_err().kind(), ErrorKind::Foreign);
    let never = gpu.wait(&SyncPoint::from_raw([u64::MAX; 8], clock), Duration::ZERO);
    assert_eq!(never.unwrap_err().kind(), ErrorKind::NeverSubmitted);
    let unknown = gpu.wait(&SyncPoint::from_raw(serials, u32::MAX), Duration::ZERO);
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::Foreign);
    assert_eq!(SyncPoint::from_raw([0, 7, 0, 0, 0, 0, 0, 0], 0), SyncPoint::at(QueueId(1), 7));
}

#[test]
fn a_lost_device_has_a_kind_of_its_own() {
    let gpu = gpu();
    gpu.device().faults().remove("unplugged");
    let error = gpu.create_buffer(&tenure_core::BufferDesc::new(16, tenure_core::Usage::VERTEX)).unwrap_err();
    assert_eq!((error.kind(), error.kind() as u32), (ErrorKind::DeviceLost, 29));
    assert_eq!(Name::copied("rock").as_static(), None);
}
