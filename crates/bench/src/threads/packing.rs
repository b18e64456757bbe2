//! The memory cost of dividing pools among threads.

use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, PoolConfig, Queue, Usage};
use tenure_sim::Profile;

use crate::Result;
use crate::null::Device;
use crate::suballoc::trace::{Kind, Op, Trace};
use crate::suballoc::workloads::{self, Scale};
use crate::table::mib;

/// Calls of each thread in a frame.
const A_FRAME: usize = 5000;

/// A row for each of the first three workloads, replayed by all threads at once, each with a seed of its own: the peak of
/// the reserved bytes with shards and without.
pub(super) fn rows(threads: usize) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for name in &workloads::NAMES[..3] {
        let of_seed = |seed| workloads::named(name, seed, Scale::Short);
        let traces: Vec<Trace> = (1..=threads as u64).filter_map(of_seed).collect();
        let (reserved, shards) = replay(&traces, Config::default())?;
        let whole = Config::from(PoolConfig::default().shards(1));
        let unsharded = replay(&traces, whole)?.0;
        let ratio = reserved as f64 / unsharded as f64;
        let [reserved, unsharded] = [reserved, unsharded].map(mib);
        rows.push(format!("{name} | {threads} | {shards} | {reserved} | {unsharded} | {ratio:.3}"));
    }
    Ok(rows)
}

/// The peak of the reserved bytes, and the shards of the pool that was divided most.
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
                let mut slots: Vec<_> = (0..trace.slots).map(|_| None).collect();
                for begin in (0..calls).step_by(A_FRAME) {
                    let mut ops = trace.ops.iter().skip(begin).take(A_FRAME);
                    note(ops.try_for_each(|op| perform(gpu, op, &mut slots)));
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
    Ok((stats.peak_reserved, stats.pools.iter().map(|pool| pool.shards).max().unwrap_or(0)))
}

fn perform(gpu: &Gpu<Device>, op: &Op, slots: &mut [Option<Buffer<Device>>]) -> Result<(), Error> {
    match op.kind {
        Kind::Allocate => {
            let desc = BufferDesc::new(op.size.into(), Usage::VERTEX | Usage::SHADER_READ);
            slots[op.slot as usize] = Some(gpu.create_buffer(&desc.alignment(op.align()))?);
        }
        Kind::Free => slots[op.slot as usize] = None,
        Kind::EndFrame => {}
    }
    Ok(())
}

fn end_frame(gpu: &Gpu<Device>) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
    frame.end()
}
