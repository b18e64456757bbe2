//! Recorders that panic: the manager's call continues, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_core::device::{Properties, QueueSerial};
use tenure_core::{
    BufferDesc, CompactionBudget, Format, Queue, RecordedAllocation, RecordedPlace, RecordedPlacement,
    Recorder, SyncPoint, TextureDesc, Usage,
};
use tenure_sim::{Lag, Profile};

use super::{device, gpu};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Begun,
    Allocated,
    Placed,
    Moved,
    Released,
    Freed,
    FrameEnded,
    Submitted,
    Completed,
}

/// Panics in every second call of a kind.
struct Panics {
    call: Call,
    calls: Arc<AtomicU32>,
}

impl Panics {
    fn called(&self, call: Call) {
        let number = if call == self.call { self.calls.fetch_add(1, Ordering::Relaxed) } else { 1 };
        assert!(!number.is_multiple_of(2), "a recorder of the test");
    }
}

impl Recorder for Panics {
    fn begun(&self, _: &Properties) {
        self.called(Call::Begun);
    }

    fn allocated(&self, _: &RecordedAllocation) {
        self.called(Call::Allocated);
    }

    fn placed(&self, _: &RecordedPlacement<'_>) {
        self.called(Call::Placed);
    }

    fn moved(&self, _: u64, _: &RecordedPlace) {
        self.called(Call::Moved);
    }

    fn released(&self, _: u64) {
        self.called(Call::Released);
    }

    fn freed(&self, _: u64, _: u64) {
        self.called(Call::Freed);
    }

    fn frame_ended(&self, _: u64) {
        self.called(Call::FrameEnded);
    }

    fn submitted(&self, _: QueueSerial) {
        self.called(Call::Submitted);
    }

    fn completed(&self, _: &SyncPoint) {
        self.called(Call::Completed);
    }
}

#[test]
fn a_recorder_that_panics_loses_nothing() {
    let calls = [
        Call::Begun,
        Call::Allocated,
        Call::Placed,
        Call::Moved,
        Call::Released,
        Call::Freed,
        Call::FrameEnded,
        Call::Submitted,
        Call::Completed,
    ];
    for (profile, call) in
        [Profile::DISCRETE, Profile::VULKAN_NVIDIA].into_iter().flat_map(|p| calls.map(|call| (p, call)))
    {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device);
        let count = Arc::new(AtomicU32::new(0));
        assert!(gpu.set_recorder(Box::new(Panics { call, calls: count.clone() })));
        let small = BufferDesc::new(100_000, Usage::SHADER_READ | Usage::COPY_SRC).movable();
        let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
        let large = BufferDesc::new(3 << 20, Usage::SHADER_READ);
        let mut kept = Vec::new();
        for number in 0..200 {
            let small = gpu.create_buffer_with(&small, &[number as u8; 100_000]).unwrap();
            if number % 9 == 0 {
                kept.push(small);
            }
            drop((gpu.create_texture(&texture).unwrap(), gpu.create_buffer(&large).unwrap()));
        }
        for _ in 0..40 {
            let frame = gpu.begin_frame().unwrap();
            gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
            gpu.compact(CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 100_000 }).unwrap();
            frame.end().unwrap();
        }
        let least = if call == Call::Begun { 1 } else { 2 };
        assert!(count.load(Ordering::Relaxed) >= least, "{call:?}");
        for (number, buffer) in kept.iter().enumerate() {
            let bytes = gpu.read_back(buffer, 0, 64).unwrap().wait(super::SECOND).unwrap();
            assert_eq!(bytes, [(9 * number) as u8; 64]);
        }
        drop(kept);
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{call:?}: {report:?}");
        assert_eq!(gpu.stats().pending_releases, 0);
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{call:?}: {findings}"));
    }
}
