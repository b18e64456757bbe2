//! Timestamps, occlusion, pipeline statistics, and GPU times of scopes.

use std::thread;
use std::time::Duration;

use tenure_core::device::QueryKind;
use tenure_core::{
    AnySamples, BindingKind, DeviceError, Error, GpuTime, QueryRule, QueryTicket, Queue, Recording,
    SampleCount, SetBinding, SetDescriptor, SetLayoutDesc, Timestamp,
};

use crate::bench::{Bench, LONG};
use crate::shader_reads::dynamic;
use crate::{Harness, Look, Through};

const QUEUES: [Queue; 3] = [Queue::Graphics, Queue::Compute, Queue::Copy];

impl<H: Harness> Bench<'_, H> {
    /// True when the queue has queries of that kind.
    fn has_queries(&self, kind: QueryKind, queue: Queue) -> bool {
        let properties = self.properties();
        let kinds = match queue {
            Queue::Graphics => tenure_core::QueueKind::Graphics,
            Queue::Compute => tenure_core::QueueKind::Compute,
            _ => tenure_core::QueueKind::Copy,
        };
        properties.has_queries(kind, properties.queue(kinds))
    }
}

/// The result is an error that says that the queue lacks such queries.
#[track_caller]
fn is_unsupported<T>(result: Result<T, Error>) {
    match result.err() {
        Some(Error::Device { source: DeviceError::Unsupported { .. }, .. }) => {}
        other => panic!("expected Unsupported, not {other:?}"),
    }
}

/// Timestamps of a recording rise, and those of a later submission of the queue are later. More are written than
/// one chunk holds.
pub fn timestamps_rise<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for queue in QUEUES {
        let record = |recording: &mut Recording<H::Device>| -> Vec<QueryTicket<H::Device, Timestamp>> {
            (0..100).map(|_| recording.write_timestamp().unwrap()).collect()
        };
        let mut first = bench.gpu.record(queue, "first").unwrap();
        if !bench.has_queries(QueryKind::Timestamp, queue) {
            is_unsupported(first.write_timestamp());
            first.submit().unwrap();
            continue;
        }
        let mut tickets = record(&mut first);
        assert_eq!(tickets[0].poll(), Ok(None), "not submitted");
        first.submit().unwrap();
        drop(record(&mut bench.gpu.record(queue, "discarded").unwrap()));
        let mut second = bench.gpu.record(queue, "second").unwrap();
        tickets.extend(record(&mut second));
        second.submit().unwrap();
        let times: Vec<_> = tickets.iter().map(|ticket| ticket.wait(LONG).unwrap()).collect();
        for pair in times.windows(2) {
            let [before, after] = [pair[0].ticks(), pair[1].ticks()];
            let is_later = pair[0].clock().ticks_between(before, after) > 0;
            assert!(is_later || before == after, "{pair:?}");
        }
        let all = times[199].since(&times[0]);
        assert!(all < Duration::from_secs(100), "{all:?}");
        assert_eq!(tickets[7].poll(), Ok(Some(times[7])), "results stay as long as their tickets");
    }
    bench.end();
}

/// Queries of samples and statistics around nothing count nothing; on queues that lack them they are refused.
pub fn queries_without_draws_count_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for queue in QUEUES {
        let mut recording = bench.gpu.record(queue, "nothing").unwrap();
        let (mut samples, mut any, mut statistics) = (None, None, None);
        if bench.has_queries(QueryKind::Occlusion, queue) {
            let query = recording.begin_occlusion().unwrap();
            samples = Some(recording.end_query(query).unwrap());
        } else {
            is_unsupported(recording.begin_occlusion());
        }
        if bench.has_queries(QueryKind::BinaryOcclusion, queue) {
            let query = recording.begin_binary_occlusion().unwrap();
            any = Some(recording.end_query(query).unwrap());
        } else {
            is_unsupported(recording.begin_binary_occlusion());
        }
        if bench.has_queries(QueryKind::PipelineStatistics, queue) {
            let query = recording.begin_pipeline_statistics().unwrap();
            statistics = Some(recording.end_query(query).unwrap());
        } else {
            is_unsupported(recording.begin_pipeline_statistics());
        }
        recording.submit().unwrap();
        assert_eq!(samples.map(|ticket| ticket.wait(LONG)).unwrap_or(Ok(SampleCount(0))), Ok(SampleCount(0)));
        assert_eq!(
            any.map(|ticket| ticket.wait(LONG)).unwrap_or(Ok(AnySamples(false))),
            Ok(AnySamples(false))
        );
        assert_eq!(
            statistics.map(|ticket| ticket.wait(LONG)).unwrap_or(Ok(<_>::default())),
            Ok(<_>::default())
        );
    }
    bench.end();
}

/// Statistics count the invocations of a dispatch, also while samples are counted.
pub fn statistics_count_dispatches<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if !bench.has_queries(QueryKind::PipelineStatistics, Queue::Graphics) {
        return bench.end();
    }
    let output = bench.output(1);
    let binding = SetBinding::new(0, BindingKind::Constants);
    let layout =
        bench.has_sets().then(|| bench.gpu.create_set_layout(&SetLayoutDesc::new(&[binding])).unwrap());
    let mut recording = bench.gpu.record(Queue::Graphics, "dispatch").unwrap();
    let (commands, scratch) = recording.split();
    bench.open(commands, &output);
    let constants = scratch.constant_bytes(&[7; 16]).unwrap();
    let (table, set);
    let through = if let Some(layout) = &layout {
        set = scratch.set(layout, &[SetDescriptor::new(0, constants)]).unwrap();
        let (block, set) = dynamic(&set);
        Through::Set { layout: layout.raw(), block, set, binding: 0, element: 0 }
    } else {
        table = scratch.descriptors(&[constants.into()]).unwrap();
        Through::Heap { heap: table.heap(), index: table.first() }
    };
    let samples = commands.begin_binary_occlusion().unwrap();
    let query = commands.begin_pipeline_statistics().unwrap();
    bench.probe(commands, through, Look::Constants, (&output, 0));
    let counted = commands.end_query(query).unwrap();
    let samples = commands.end_query(samples).unwrap();
    let query = commands.begin_pipeline_statistics().unwrap();
    let nothing = commands.end_query(query).unwrap();
    recording.submit().unwrap();
    let found = counted.wait(LONG).unwrap();
    assert!(found.compute_invocations > 0, "{found:?}");
    assert_eq!((found.vertices, found.pixel_invocations), (0, 0));
    assert_eq!(nothing.wait(LONG).unwrap().compute_invocations, 0);
    assert_eq!(samples.wait(LONG), Ok(AnySamples(false)));
    drop((output, layout, samples, counted, nothing));
    bench.end();
}

/// Tickets of a recording that is not submitted are errors, and nothing waits for ever.
pub fn queries_of_discarded_recordings_are_errors<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut recording = bench.gpu.record(Queue::Graphics, "discarded").unwrap();
    let query = recording.begin_binary_occlusion().unwrap();
    let ticket = recording.end_query(query).unwrap();
    let late = ticket.wait(Duration::from_millis(5));
    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
    drop(recording);
    let expected = Error::Discarded { name: "binary occlusion query".into(), recording: "discarded".into() };
    assert_eq!(ticket.wait(LONG), Err(expected.clone()));
    assert_eq!(ticket.poll(), Err(expected));
    // The queries are used again.
    for _ in 0..40 {
        let mut recording = bench.gpu.record(Queue::Graphics, "again").unwrap();
        let query = recording.begin_binary_occlusion().unwrap();
        let again = recording.end_query(query).unwrap();
        recording.submit().unwrap();
        assert_eq!(again.wait(LONG), Ok(AnySamples(false)));
    }
    assert_eq!(bench.gpu.stats().query_heaps_created, 1);
    drop(ticket);
    bench.end();
}

/// Queries that do not begin and end in pairs are refused, by name and number.
pub fn queries_begin_and_end_in_pairs<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let rule = |error: Option<Error>| match error {
        Some(Error::Query { rule, .. }) => rule,
        other => panic!("{other:?}"),
    };
    let kind = QueryKind::BinaryOcclusion;
    let mut recording = bench.gpu.record(Queue::Graphics, "open").unwrap();
    let query = recording.begin_binary_occlusion().unwrap();
    let again = recording.begin_binary_occlusion();
    assert_eq!(rule(again.err()), QueryRule::AlreadyBegun { kind, begun: kind });
    let mut other = bench.gpu.record(Queue::Graphics, "other").unwrap();
    let begun_in = recording.id();
    assert_eq!(rule(other.end_query(query).err()), QueryRule::OtherRecording { begun_in });
    assert_eq!(rule(recording.submit().err()), QueryRule::NotEnded { kind });
    let mut recording = bench.gpu.record(Queue::Graphics, "scope").unwrap();
    let (begun_in, scope) = (recording.id(), recording.begin_gpu_time("scope").unwrap());
    assert_eq!(rule(other.end_gpu_time(scope).err()), QueryRule::OtherRecording { begun_in });
    recording.submit().unwrap();
    other.submit().unwrap();
    bench.end();
}

/// In each frame, threads write timestamps, count and measure. After the first frames nothing is created, by the
/// counts of tenure and of the driver.
pub fn repeated_queries_create_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let work = |queue: Queue| {
        let mut recording = gpu.record(queue, "thread")?;
        let scope = recording.begin_gpu_time("scope")?;
        let mut tickets = Vec::new();
        if bench.has_queries(QueryKind::Timestamp, queue) {
            for _ in 0..70 {
                tickets.push(recording.write_timestamp()?);
            }
        }
        if queue == Queue::Graphics {
            let query = recording.begin_binary_occlusion()?;
            drop(recording.end_query(query)?);
        }
        recording.end_gpu_time(scope)?;
        let discarded = gpu.record(queue, "discarded")?.begin_gpu_time("never");
        recording.submit()?;
        discarded.map(|_| tickets)
    };
    // How many lists are needed depends on how far the GPU is behind.
    QUEUES.iter().for_each(|queue| gpu.reserve_recordings(*queue, 12).unwrap());
    let warm_up = 30;
    let (mut warm, mut measured) = ((0, None), 0);
    for round in 0..warm_up + harness.effort().frames {
        let frame = gpu.begin_frame().unwrap();
        let tickets: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = QUEUES.map(|queue| scope.spawn(move || work(queue))).into();
            threads.into_iter().flat_map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        if round % 2 == 0 {
            assert!(tickets.iter().all(|ticket| ticket.wait(LONG).is_ok()));
        }
        frame.end().unwrap();
        measured += gpu.stats().gpu_times.len() as u64;
        if round + 1 == warm_up {
            warm = (gpu.stats().objects_created(), harness.driver_objects());
        }
    }
    let created = (gpu.stats().objects_created(), harness.driver_objects());
    assert_eq!(created, warm, "API objects were created after the first frames");
    let queues = QUEUES.into_iter().filter(|queue| bench.has_queries(QueryKind::Timestamp, *queue)).count();
    let recorded = (warm_up + harness.effort().frames) * queues as u64;
    assert!(measured <= recorded && measured + 10 * queues as u64 >= recorded, "{measured} of {recorded}");
    assert_eq!(gpu.stats().gpu_times_lost, 0);
    // Heaps that a trim has given back are created anew.
    assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());
    gpu.begin_frame().unwrap().end().unwrap();
    gpu.trim();
    assert!(work(Queue::Graphics).unwrap().iter().all(|ticket| ticket.wait(LONG).is_ok()));
    assert!(gpu.stats().objects_created() > created.0);
    bench.end();
}

/// GPU times arrive once each, with the name, the depth and the frame of the scope.
pub fn gpu_times_arrive_in_the_statistics<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let has_times = bench.has_queries(QueryKind::Timestamp, Queue::Graphics);
    let mut times: Vec<GpuTime> = Vec::new();
    for number in 1..=4 {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "main").unwrap();
        recording
            .gpu_time("shadows", |commands| {
                commands.gpu_time(format!("cascade {number}"), |_| Ok::<_, Error>(()))?;
                commands.gpu_time("cascade b", |_| Ok::<_, Error>(()))
            })
            .unwrap();
        let _ends_with_its_recording = recording.begin_gpu_time("open").unwrap();
        drop(frame.record(Queue::Graphics, "discarded").unwrap().begin_gpu_time("never").unwrap());
        frame.submit(recording).unwrap();
        frame.end().unwrap();
        times.extend(gpu.stats().gpu_times);
    }
    bench.finish();
    gpu.begin_frame().unwrap().end().unwrap();
    times.extend(gpu.stats().gpu_times);
    gpu.begin_frame().unwrap().end().unwrap();
    assert_eq!(gpu.stats().gpu_times, [], "each arrives once");
    let found: Vec<_> = times.iter().map(|time| (time.frame, time.depth, time.name.as_str())).collect();
    let names = ["cascade 1", "cascade 2", "cascade 3", "cascade 4"];
    let expected: Vec<_> = (1..)
        .zip(names)
        .flat_map(|(frame, name)| {
            [(frame, 0, "shadows"), (frame, 1, name), (frame, 1, "cascade b"), (frame, 0, "open")]
        })
        .filter(|_| has_times)
        .collect();
    assert_eq!(found, expected);
    for scope in times.chunks(4) {
        let inner = scope[1].nanoseconds + scope[2].nanoseconds;
        // Each is rounded down.
        assert!(inner <= scope[0].nanoseconds + 2, "{scope:?}");
        assert!(scope[0].nanoseconds < 100_000_000_000, "{scope:?}");
    }
    bench.end();
}
