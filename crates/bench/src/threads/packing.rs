//! What dividing pools among threads costs in memory.

use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, PoolConfig, Queue, Usage};
use tenure_sim::Profile;

use crate::null::Device;
use crate::suballoc::trace::{Kind, Trace};
use crate::suballoc::workloads::{self, Scale};

/// A workload replayed by several threads at once. Bytes reserved at the most.
pub(super) struct Packing {
    pub(super) what: String,
    pub(super) threads: usize,
    /// Of the pool that was divided most.
    pub(super) shards: u32,
    pub(super) reserved: u64,
    pub(super) unsharded: u64,
}

/// Calls of each thread in a frame.
const A_FRAME: usize = 5000;

/// The first three workloads, replayed by so many threads at once, each with a seed of its own: the most
/// that was reserved with shards and without.
pub(super) fn measure(threads: usize) -> Result<Vec<Packing>, Error> {
    let seeds = 1..=threads as u64;
    let mut by_thread: Vec<_> =
        seeds.map(|seed| workloads::all(seed, Scale::Short).into_iter().take(3)).collect();
    let mut lines = Vec::new();
    loop {
        let traces: Vec<Trace> = by_thread.iter_mut().filter_map(Iterator::next).collect();
        let Some(first) = traces.first() else { return Ok(lines) };
        let (reserved, shards) = replay(&traces, Config::default())?;
        let whole = Config::from(PoolConfig { shards: 1, ..PoolConfig::default() });
        let unsharded = replay(&traces, whole)?.0;
        lines.push(Packing { what: first.name.clone(), threads, shards, reserved, unsharded });
    }
}

/// How much was reserved at the most, and in how many shards of a pool.
fn replay(traces: &[Trace], config: Config) -> Result<(u64, u32), Error> {
    let gpu = Gpu::new(Device::new(Profile::D3D12_TIER2), config)?;
    let barrier = Barrier::new(traces.len());
    let failed = Mutex::new(Ok(()));
    let calls = traces.iter().map(|trace| trace.ops.len()).max().unwrap_or(0);
    thread::scope(|scope| {
        for (worker, trace) in traces.iter().enumerate() {
            let (gpu, barrier, failed) = (&gpu, &barrier, &failed);
            scope.spawn(move || {
                let note = |result: Result<(), Error>| {
                    if result.is_err() {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = result;
                    }
                };
                let mut slots: Vec<Option<Buffer<Device>>> = Vec::new();
                slots.resize_with(trace.slots, || None);
                for begin in (0..calls).step_by(A_FRAME) {
                    let end = (begin + A_FRAME).min(trace.ops.len());
                    note(part(gpu, trace, begin.min(end)..end, &mut slots));
                    barrier.wait();
                    if worker == 0 {
                        note(end_frame(gpu));
                    }
                    barrier.wait();
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    let stats = gpu.stats();
    let shards = stats.pools.iter().map(|pool| pool.shards).max().unwrap_or(0);
    Ok((stats.peak_reserved, shards))
}

fn part(
    gpu: &Gpu<Device>,
    trace: &Trace,
    range: std::ops::Range<usize>,
    slots: &mut [Option<Buffer<Device>>],
) -> Result<(), Error> {
    for op in &trace.ops[range] {
        let slot = &mut slots[op.slot as usize];
        match op.kind {
            Kind::Allocate => {
                let desc = BufferDesc::new(op.size.into(), Usage::VERTEX | Usage::SHADER_READ);
                *slot = Some(gpu.create_buffer(&desc.alignment(op.align()))?);
            }
            Kind::Free => *slot = None,
            Kind::EndFrame => {}
        }
    }
    Ok(())
}

fn end_frame(gpu: &Gpu<Device>) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
    frame.end()
}
