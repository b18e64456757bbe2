//! Recordings from their opening to their submission, and constants and timestamps in them.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::device::{Permit, prelude::*};
use tenure_core::{Error, Queue, QueueId};
use tenure_sim::Profile;

use super::{Rows, gpu, in_recording};
use crate::timing::{time, try_time};
use crate::{Result, null};

/// Pushes of constants; the lower bound is a plain copy of the same bytes to addresses with the same stride.
pub(super) fn constants(rows: &mut Rows) -> Result {
    const PUSHES: usize = 10_000;
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let apart = usize::try_from(gpu.device().properties().constant_alignment).unwrap_or(256);
    let mut bare = vec![0_u8; PUSHES * apart];
    rows.add([("push of 64 B of constants", "the bare copy", PUSHES)], || {
        let mut value = [0_u32; 16];
        let ours = in_recording(&gpu, |scratch| {
            (0..PUSHES as u32).try_for_each(|draw| {
                value[0] = draw;
                black_box(scratch.constants(black_box(&value))?.gpu_address());
                Ok(())
            })
        })?;
        let least = time(|| {
            for (draw, room) in (0..).zip(bare.chunks_exact_mut(apart)) {
                value[0] = draw;
                room[..64].copy_from_slice(bytemuck::bytes_of(black_box(&value)));
            }
            black_box(&mut bare);
        });
        Ok([(ours, least)])
    })
}

/// Recordings that are opened and submitted. The lower bound is the same calls on the device, with one list.
pub(super) fn cycles(rows: &mut Rows) -> Result {
    const CYCLES: usize = 1000;
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let mut bare = Bare::new()?;
    rows.add([("context cycle: record, submit", "the device's calls", CYCLES)], || {
        let frame = gpu.begin_frame()?;
        let cycle = try_time(|| {
            (0..CYCLES).try_for_each(|_| {
                let recording = frame.record(Queue::Graphics, "cycle")?;
                black_box(frame.submit(recording)?);
                Ok::<(), Error>(())
            })
        })?;
        let calls = try_time(|| (0..CYCLES).try_for_each(|_| bare.submit(|_| ())))?;
        frame.end()?;
        Ok([(cycle, calls)])
    })
}

/// Pairs of timestamps in a recording: with tickets for their results, and as scopes whose times go to the statistics. The
/// lower bound is the same recording and two timestamps a pair on the device.
pub(super) fn timestamps(rows: &mut Rows) -> Result {
    const PAIRS: usize = 500;
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let mut bare = Bare::new()?;
    let lines = ["timestamp pair, two tickets", "timestamp pair of a GPU time scope"];
    rows.add(lines.map(|what| (what, "the device's calls", PAIRS)), || {
        let frame = gpu.begin_frame()?;
        let tickets = try_time(|| {
            let mut recording = frame.record(Queue::Graphics, "pairs")?;
            for _ in 0..PAIRS {
                drop(black_box((recording.write_timestamp()?, recording.write_timestamp()?)));
            }
            recording.submit().map(drop)
        })?;
        let scopes = try_time(|| {
            let mut recording = frame.record(Queue::Graphics, "scopes")?;
            for _ in 0..PAIRS {
                let scope = recording.begin_gpu_time(black_box("scope"))?;
                recording.end_gpu_time(scope)?;
            }
            recording.submit().map(drop)
        })?;
        let calls = try_time(|| {
            bare.submit(|list| {
                for query in 0..PAIRS as u32 {
                    list.write_timestamp(&(), black_box(query));
                    list.write_timestamp(&(), black_box(query));
                }
            })
        })?;
        frame.end()?;
        Ok([(tickets, calls), (scopes, calls)])
    })
}

/// Frames without work. Run with and without the feature `metrics`, it shows the cost of a frame's metrics without a
/// recorder.
pub(super) fn idle_frames(rows: &mut Rows) -> Result {
    const FRAMES: usize = 1000;
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let what = if cfg!(feature = "metrics") { "frame without work, metrics" } else { "frame without work" };
    rows.add([(what, "nothing", FRAMES)], || {
        let frames = try_time(|| (0..FRAMES).try_for_each(|_| gpu.begin_frame()?.end()))?;
        Ok([(frames, Duration::ZERO)])
    })
}

/// A device without a manager, and its only list.
struct Bare {
    device: null::Device,
    list: null::List,
    serial: u64,
}

impl Bare {
    fn new() -> Result<Self> {
        let device = null::Device::new(Profile::D3D12_TIER2);
        let list = device.create_list(Permit::checked(), QueueId(0))?;
        Ok(Self { device, list, serial: 0 })
    }

    fn submit(&mut self, record: impl FnOnce(&mut null::List)) -> Result<(), Error> {
        self.list.begin()?;
        record(&mut self.list);
        self.list.close()?;
        self.serial += 1;
        let lists = black_box([&self.list]);
        Ok(self.device.submit(Permit::checked(), QueueId(0), &lists, &[], self.serial)?)
    }
}
