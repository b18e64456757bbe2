//! Submissions that the program makes itself.

use tenure_core::time::SyncPoint;
use tenure_core::{Error, Queue, Usage};

use crate::Harness;
use crate::bench::{Bench, LONG, assert_bytes, contents};
use tenure_core::{BufferDesc, QueueId};

const SIZE: u64 = 4096;

/// Objects dropped after an external submission outlive it; serials continue; later recordings follow it.
pub fn external_submissions_are_counted<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let bytes: Vec<u8> = (0..SIZE).map(|index| index as u8).collect();
    let (staging, readback) = (bench.staging(&bytes), bench.readback(SIZE));
    for round in 0..20 {
        for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            let before = bench.submit(Queue::Graphics, |recording| {
                recording.copy_buffer(&staging, 0, &readback, 0, SIZE).unwrap();
            });
            let buffer = gpu.create_buffer(&BufferDesc::new(SIZE, Usage::COPY_DST)).unwrap();
            let submitted = gpu.submit_external(queue, &before, |_| Ok::<_, Error>(round));
            let (answer, point) = submitted.unwrap();
            drop(buffer);
            assert_eq!(answer, round);
            assert_eq!(point.iter().count(), 1);
            let at = point.iter().next().unwrap();
            assert_eq!(at.serial, gpu.submitted().serial(at.queue));
            let after = bench.submit(queue, |recording| {
                recording.wait_for(&point).unwrap();
            });
            bench.wait(&after);
            assert!(point.is_covered_by(&gpu.completed().unwrap()), "{queue:?}");
            // A poll of another queue may lag behind; this one was waited for by the last.
            bench.wait(&before);
        }
    }
    assert_bytes(&contents(&readback), &bytes, "copied");
    drop((staging, readback));
    bench.end();
}

/// A refusal before the program's closure runs counts no submission; the closure's errors are returned, and its
/// submissions before an error are counted.
pub fn external_errors_are_returned<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let refused: Result<((), SyncPoint), Error> =
        gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| Err(Error::ShutDown));
    assert_eq!(refused.unwrap_err(), Error::ShutDown);
    let queue = QueueId(0);
    assert_eq!(gpu.submitted().serial(queue), 1);
    let mut never = SyncPoint::NONE;
    never.require(queue, 1000);
    let mut has_run = false;
    let refused: Result<((), SyncPoint), Error> = gpu.submit_external(Queue::Graphics, &never, |_| {
        has_run = true;
        Ok(())
    });
    assert!(matches!(refused, Err(Error::NeverSubmitted { .. })), "{refused:?}");
    let refused: Result<((), SyncPoint), Error> =
        gpu.submit_external(Queue::Id(QueueId(200)), &SyncPoint::NONE, |_| {
            has_run = true;
            Ok(())
        });
    assert!(matches!(refused, Err(Error::Device { .. })), "{refused:?}");
    assert!(!has_run);
    assert_eq!(gpu.submitted().serial(queue), 1);
    assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());

    // Nothing can be submitted from inside, and the queue is free afterwards.
    gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
        assert!(gpu.record(Queue::Graphics, "inside")?.submit().is_err());
        assert!(gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| Ok::<(), Error>(())).is_err());
        gpu.completed()?;
        gpu.reclaim()?;
        Ok::<(), Error>(())
    })
    .unwrap();
    bench.submit(Queue::Graphics, |_| ());
    bench.end();
}
