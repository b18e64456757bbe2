//! Lists, submissions, waits and fences.

use crate::harness::PERMIT;
use std::time::{Duration, Instant};

use tenure_core::device::{Barrier, QueueSerial, prelude::*};
use tenure_core::{QueueId, State, Subresource, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12GraphicsCommandList;

use crate::bench::{Bench, COMPUTE, COPY, GPU_ONLY, GRAPHICS, LONG, buffer, device, pattern, refused};
use crate::harness::Gate;

#[test]
fn lists_are_begun_closed_and_submitted_in_that_order() {
    let mut bench = Bench::new(device());
    let device = bench.device.clone();
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    refused(list.close(), "a list is begun before it is closed");
    refused(device.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "a submitted list is closed");
    list.begin().unwrap();
    refused(list.begin(), "a list is closed before it is begun again");
    refused(device.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "a submitted list is closed");
    list.close().unwrap();
    refused(list.close(), "a list is begun before it is closed");
    let done = bench.submit(GRAPHICS, &[&list], &[]);
    assert!(device.wait(done, LONG).unwrap());
    // Commands outside of begin and close are an error of the next close.
    let target = device.create_committed(&buffer(64, Usage::COPY_DST), GPU_ONLY).unwrap();
    let staging = bench.staging(&[1; 64]);
    list.copy_buffer(&staging, 0, &target, 0, 64);
    list.begin().unwrap();
    list.close().unwrap();
    let again = bench.submit(GRAPHICS, &[&list], &[]);
    assert!(device.wait(again, LONG).unwrap(), "beginning forgets what came before");
    // The runtime refuses to reset a list whose `Close` failed; so does the backend, wherever it runs.
    list.begin().unwrap();
    list.copy_buffer(&staging, 60, &target, 0, 64);
    list.close().unwrap_err();
    refused(device.submit(PERMIT, GRAPHICS, &[&list], &[], again.serial + 1), "a submitted list is closed");
    refused(list.begin(), "a list that could not be closed or begun is not begun again");
    device.destroy_list(PERMIT, list);
}

#[test]
fn lists_belong_to_one_queue_of_one_device() {
    let bench = Bench::new(device());
    let list = bench.recorded(COMPUTE, |_| ()).unwrap();
    let found = refused(
        bench.device.submit(PERMIT, GRAPHICS, &[&list], &[], 1),
        "a list is submitted to the queue it was made for",
    );
    assert_eq!(found, (0, 1));
    let other = device();
    refused(
        other.submit(PERMIT, COMPUTE, &[&list], &[], 1),
        "an object is used with the device that made it",
    );
    let nowhere = QueueId(3);
    refused(bench.device.submit(PERMIT, nowhere, &[], &[], 1), "the queue exists");
    refused(bench.device.create_list(PERMIT, nowhere), "the queue exists");
    refused(bench.device.completed(nowhere), "the queue exists");
    refused(bench.device.wait(QueueSerial { queue: nowhere, serial: 1 }, LONG), "the queue exists");
}

#[test]
fn serials_rise_by_one() {
    let mut bench = Bench::new(device());
    let device = bench.device.clone();
    let rule = "serials rise by one per submission";
    for signal in [0, 2, u64::MAX] {
        assert_eq!(refused(device.submit(PERMIT, COPY, &[], &[], signal), rule), (signal, 1));
    }
    assert_eq!(device.completed(COPY), Ok(0));
    let done = bench.submit(COPY, &[], &[]);
    assert!(device.wait(done, LONG).unwrap());
    assert_eq!(refused(device.submit(PERMIT, COPY, &[], &[], 1), rule), (1, 2));
    let own = [QueueSerial { queue: COPY, serial: 2 }];
    refused(device.submit(PERMIT, COPY, &[], &own, 2), "a submission does not wait for itself");
    let unknown = [QueueSerial { queue: QueueId(7), serial: 1 }];
    refused(device.submit(PERMIT, COPY, &[], &unknown, 2), "the queue exists");
    device.submit(PERMIT, COPY, &[], &[QueueSerial { queue: COPY, serial: 1 }], 2).unwrap();
}

/// The whole submission is one call, in order, and signals once.
#[test]
fn submissions_of_many_lists_keep_their_order() {
    let mut bench = Bench::new(device());
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let target = bench.device.create_committed(&buffer(256, usage), GPU_ONLY).unwrap();
    let sources: Vec<_> = (0..8_u8).map(|seed| bench.staging(&pattern(256, seed))).collect();
    let lists: Vec<_> = sources
        .iter()
        .map(|source| bench.recorded(GRAPHICS, |list| list.copy_buffer(source, 0, &target, 0, 256)).unwrap())
        .collect();
    let readback = bench.readback(256);
    let last = bench.recorded(GRAPHICS, |list| list.copy_buffer(&target, 0, &readback, 0, 256)).unwrap();
    let all: Vec<_> = lists.iter().collect();
    bench.submit(GRAPHICS, &all, &[]);
    let done = bench.submit(GRAPHICS, &[&last], &[]);
    assert!(bench.device.wait(done, LONG).unwrap());
    assert_eq!(bench.contents(&readback, 256), pattern(256, 7));
}

#[test]
fn queues_wait_for_each_other() {
    let mut bench = Bench::new(device());
    let device = bench.device.clone();
    let gate = Gate::new(&device);
    gate.close();
    let first = bench.submit(GRAPHICS, &[], &[]);
    gate.open();
    assert!(device.wait(first, LONG).unwrap());
    // Only the graphics queue is blocked now; the others wait for it.
    let second = QueueSerial { queue: GRAPHICS, serial: 2 };
    let copied = bench.submit(COPY, &[], &[second]);
    let computed = bench.submit(COMPUTE, &[], &[copied]);
    assert!(!device.wait(computed, Duration::from_millis(50)).unwrap(), "nothing was signalled yet");
    assert_eq!((device.completed(COPY), device.completed(COMPUTE)), (Ok(0), Ok(0)));
    assert_eq!(bench.submit(GRAPHICS, &[], &[]), second);
    assert!(device.wait(computed, LONG).unwrap());
    // A runtime may report the fences of two queues in another order than it signals them.
    assert!(device.wait(copied, LONG).unwrap());
    assert_eq!((device.completed(COPY), device.completed(COMPUTE)), (Ok(1), Ok(1)));
}

#[test]
fn waits_end_when_their_time_is_over() {
    let mut bench = Bench::new(device());
    let gate = Gate::new(&bench.device);
    gate.close();
    let held = bench.submit(GRAPHICS, &[], &[]);
    let begun = Instant::now();
    assert_eq!(bench.device.wait(held, Duration::ZERO), Ok(false));
    assert!(begun.elapsed() < Duration::from_secs(5));
    for milliseconds in [1, 60, 120] {
        let (begun, timeout) = (Instant::now(), Duration::from_millis(milliseconds));
        assert_eq!(bench.device.wait(held, timeout), Ok(false));
        assert!(begun.elapsed() >= timeout, "{milliseconds} ms: {:?}", begun.elapsed());
    }
    // Events left by the waits above end no later wait too early.
    std::thread::scope(|scope| {
        let device = &bench.device;
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(move || device.wait(held, Duration::MAX).unwrap())).collect();
        std::thread::sleep(Duration::from_millis(30));
        gate.open();
        for thread in threads {
            assert!(thread.join().unwrap());
        }
    });
    assert_eq!(bench.device.completed(GRAPHICS), Ok(1));
}

/// Commands that the program records to the raw list run with the others.
#[test]
fn the_programs_own_commands_are_recorded_through_raw() {
    let mut bench = Bench::new(device());
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let target = bench.device.create_committed(&buffer(64, usage), GPU_ONLY).unwrap();
    let (staging, readback) = (bench.staging(&pattern(64, 9)), bench.readback(64));
    bench.run(GRAPHICS, |list| {
        let raw: &ID3D12GraphicsCommandList = list.raw();
        // SAFETY: the list is open, and the buffers are alive and large enough.
        unsafe { raw.CopyBufferRegion(target.raw(), 0, staging.raw(), 0, 64) };
    });
    bench.run(GRAPHICS, |list| list.copy_buffer(&target, 0, &readback, 0, 64));
    assert_eq!(bench.contents(&readback, 64), pattern(64, 9));
    let fence = bench.device.fence(GRAPHICS).unwrap();
    // SAFETY: the fence is alive.
    assert_eq!(unsafe { fence.GetCompletedValue() }, 2, "the fence counts submissions");
    assert!(bench.device.fence(QueueId(3)).is_none() && bench.device.queue(QueueId(3)).is_none());
}

/// A list without commands is not executed; its submission completes all the same, in its order.
#[test]
fn empty_lists_complete() {
    let mut bench = Bench::new(device());
    let (empty, nothing) = (bench.recorded(GRAPHICS, |_| ()).unwrap(), State::COPY_SRC);
    let local = bench.device.create_committed(&buffer(64, Usage::COPY_SRC), GPU_ONLY).unwrap();
    let still = bench.recorded(GRAPHICS, |list| {
        list.barriers(&[]);
        list.barriers(&[Barrier::Transition {
            resource: &local,
            subresource: Subresource::All,
            before: nothing,
            after: nothing,
            transfer: None,
        }]);
    });
    let first = bench.submit(GRAPHICS, &[&empty], &[]);
    let second = bench.submit(COMPUTE, &[], &[first]);
    let third = bench.submit(GRAPHICS, &[&empty, &still.unwrap()], &[second]);
    assert!(bench.device.wait(third, LONG).unwrap());
    assert_eq!(bench.device.completed(GRAPHICS), Ok(2));
}
