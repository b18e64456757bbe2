//! Queries: their results, and hazards of their use.

use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, HazardKind, List, Profile, QueryHeap, Resource};

use crate::common::*;

fn heap(device: &Device, kind: QueryKind, count: u32) -> QueryHeap {
    let heap = device.create_query_heap(&QueryHeapDesc { kind, queue: GRAPHICS, count }).unwrap();
    device.set_name(Permit::checked(), ObjectRef::QueryHeap(&heap), "queries");
    heap
}

/// A buffer that the CPU reads.
fn results(device: &Device, size: u64) -> Resource {
    let memory = upload_type(device, true);
    device.create_committed(&buffer(size, Usage::COPY_DST), memory).unwrap()
}

/// The results as 64-bit numbers, once everything is done.
fn read(device: &Device, results: &Resource, count: usize) -> Vec<u64> {
    assert!(device.run_until_idle());
    let mut bytes = vec![0; count * 8];
    device.map(results).unwrap().read(0, &mut bytes).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The results of `count` queries of a kind in `record`.
fn counted(
    profile: Profile,
    kind: QueryKind,
    count: u32,
    record: impl FnOnce(&Device, &mut List, &QueryHeap),
) -> Vec<u64> {
    let device = Device::with_config(DeviceConfig::new(profile));
    let queries = heap(&device, kind, count);
    let words = u64::from(count) * kind.result_bytes() / 8;
    let out = results(&device, words * 8);
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.reset_queries(&queries, 0, count);
        record(&device, list, &queries);
        list.resolve_queries(&queries, 0, count, &out, 0);
        list.make_visible_to_cpu(State::COPY_DST);
    });
    let read = read(&device, &out, words as usize);
    device.destroy_query_heap(Permit::checked(), queries);
    assert_clean(&device.take_hazards());
    read
}

#[test]
fn timestamps_rise_with_each_command() {
    for profile in [Profile::D3D12_TIER2, Profile::VULKAN_NVIDIA, Profile::VULKAN_MOBILE] {
        let clock = Device::new(profile).properties().timestamp_clock(GRAPHICS);
        let ticks = counted(profile, QueryKind::Timestamp, 100, |_, list, queries| {
            (0..100).for_each(|query| list.write_timestamp(queries, query));
        });
        let steps = ticks.windows(2).map(|pair| clock.ticks_between(pair[0], pair[1]));
        assert!(steps.into_iter().all(|step| step == 10), "{ticks:?}");
        let wraps = ticks.windows(2).any(|pair| pair[1] < pair[0]);
        assert_eq!(wraps, clock.bits == 36, "the short counter begins again: {ticks:?}");
    }
}

#[test]
fn samples_and_statistics_count_uses() {
    let draw = |device: &Device, list: &mut List| {
        let target = committed(device, "target", &texture(8, 8, Usage::RENDER_TARGET));
        transition(list, &target, State::COMMON, State::RENDER_TARGET);
        (0..3).for_each(|_| list.use_texture(&target, Subresource::All, State::RENDER_TARGET));
    };
    let profile = Profile::VULKAN_NVIDIA;
    for (kind, expected) in [(QueryKind::Occlusion, 3), (QueryKind::BinaryOcclusion, 1)] {
        let found = counted(profile, kind, 2, |device, list, queries| {
            list.begin_query(queries, 0);
            draw(device, list);
            list.end_query(queries, 0);
            list.begin_query(queries, 1);
            list.end_query(queries, 1);
        });
        assert_eq!(found, [expected, 0]);
    }
    let found = counted(profile, QueryKind::PipelineStatistics, 1, |device, list, queries| {
        list.begin_query(queries, 0);
        draw(device, list);
        list.end_query(queries, 0);
    });
    assert_eq!(found, [3, 3, 3, 0, 0, 3, 3, 3, 0, 0, 0]);
}

/// Lists that break a rule on their own are not closed.
#[test]
fn wrong_commands_come_out_of_close() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let (times, samples) = (heap(&device, QueryKind::Timestamp, 4), heap(&device, QueryKind::Occlusion, 4));
    let out = results(&device, 64);
    let wrong = |queue, expected: CallRule, record: &dyn Fn(&mut List)| {
        let mut list = device.create_list(Permit::checked(), queue).unwrap();
        list.begin().unwrap();
        record(&mut list);
        match list.close() {
            Err(DeviceError::InvalidCall { rule, .. }) => assert_eq!(rule, expected),
            other => panic!("{expected}: {other:?}"),
        }
    };
    wrong(GRAPHICS, CallRule::QueryInside, &|list| list.write_timestamp(&times, 4));
    wrong(GRAPHICS, CallRule::QueryInside, &|list| list.reset_queries(&times, u32::MAX, u32::MAX));
    wrong(COMPUTE, CallRule::QueryQueue, &|list| list.write_timestamp(&times, 0));
    wrong(GRAPHICS, CallRule::QueryTimestamp, &|list| list.write_timestamp(&samples, 0));
    wrong(GRAPHICS, CallRule::QueryRanged, &|list| list.begin_query(&times, 0));
    wrong(GRAPHICS, CallRule::QueryBegun, &|list| list.end_query(&samples, 0));
    wrong(GRAPHICS, CallRule::QueryEnded, &|list| list.begin_query(&samples, 0));
    wrong(GRAPHICS, CallRule::QueryAlone, &|list| {
        list.begin_query(&samples, 0);
        list.begin_query(&samples, 1);
    });
    wrong(GRAPHICS, CallRule::QueryResultsAligned, &|list| list.resolve_queries(&times, 0, 1, &out, 4));
    wrong(GRAPHICS, CallRule::InsideResource, &|list| list.resolve_queries(&times, 0, 4, &out, 40));
    let refused = |kind, queue, count| device.create_query_heap(&QueryHeapDesc { kind, queue, count });
    assert!(matches!(refused(QueryKind::Timestamp, COPY, 1), Err(DeviceError::Unsupported { .. })));
    assert!(matches!(refused(QueryKind::Occlusion, COMPUTE, 1), Err(DeviceError::Unsupported { .. })));
    assert!(matches!(refused(QueryKind::Timestamp, GRAPHICS, 0), Err(DeviceError::InvalidDesc { .. })));
    assert!(matches!(refused(QueryKind::Timestamp, QueueId(9), 1), Err(DeviceError::InvalidCall { .. })));
}

#[test]
fn queries_are_ready_before_they_are_used() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let queries = heap(&device, QueryKind::Timestamp, 4);
    submit(&device, GRAPHICS, 1, &[], |list| list.write_timestamp(&queries, 0));
    assert_one(&hazards(&device), HazardKind::QueryNotReady, &["queries"]);
    let out = results(&device, 64);
    submit(&device, GRAPHICS, 2, &[], |list| {
        list.reset_queries(&queries, 0, 4);
        list.write_timestamp(&queries, 0);
        list.resolve_queries(&queries, 0, 1, &out, 0);
        list.write_timestamp(&queries, 0);
    });
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 3, &[], |list| list.write_timestamp(&queries, 0));
    assert_one(&hazards(&device), HazardKind::QueryNotReady, &["queries"]);

    // Direct3D 12 has no reset.
    let device = Device::new(Profile::D3D12_TIER2);
    let queries = heap(&device, QueryKind::Timestamp, 4);
    submit(&device, GRAPHICS, 1, &[], |list| (0..2).for_each(|_| list.write_timestamp(&queries, 0)));
    assert_clean(&hazards(&device));
}

#[test]
fn only_written_queries_are_resolved() {
    let device = Device::new(Profile::D3D12_TIER2);
    let (queries, out) = (heap(&device, QueryKind::Timestamp, 4), results(&device, 64));
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.write_timestamp(&queries, 0);
        list.resolve_queries(&queries, 0, 2, &out, 0);
    });
    let found = hazards(&device);
    assert_one(&found, HazardKind::QueryNotWritten, &["queries"]);
    assert!(found[0].to_string().contains("query 1"), "{}", found[0]);
}

#[test]
fn heaps_outlive_the_submissions_that_use_them() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let queries = heap(&device, QueryKind::Timestamp, 4);
    assert_eq!(device.calls().live_query_heaps, 1);
    submit(&device, GRAPHICS, 1, &[], |list| list.reset_queries(&queries, 0, 4));
    device.destroy_query_heap(Permit::checked(), queries);
    let found = device.take_hazards();
    assert_one(&found, HazardKind::DestroyedInUse, &["queries"]);
    assert_eq!(device.calls().live_query_heaps, 0);
    assert_one(&hazards(&device), HazardKind::WriteOfFreed, &["queries"]);
}
