//! The cost of residency and budgets without pressure.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Error, Frame, Gpu, Queue, Usage};
use tenure_sim::Profile;

use super::report::Figure;
use crate::Result;
use crate::counting::Count;
use crate::null::Device;
use crate::timing::{median, try_time};

const CYCLES: usize = 200;

/// Frames in which allocations are counted.
const COUNTED: usize = 8;

/// Measures.
///
/// # Errors
/// The errors of the manager.
pub(super) fn all(rounds: u32) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for blocks in [1, 32, 256] {
        submissions(&mut figures, rounds, blocks)?;
    }
    for bytes in [4 << 10, 8 << 20] {
        figures.push(allocations(rounds, bytes)?);
    }
    Ok(figures)
}

/// The nanoseconds that each cycle of one work takes beyond one of another: the median over rounds, in which neither is
/// always the first.
fn added(rounds: u32, mut works: [impl FnMut() -> Result<Duration, Error>; 2]) -> Result<f64> {
    let mut differences = Vec::new();
    for round in 0..rounds {
        let mut taken = [Duration::ZERO; 2];
        for turn in 0..2 {
            let which = (turn + round as usize) % 2;
            taken[which] = works[which]()?;
        }
        differences.push((taken[0].as_secs_f64() - taken[1].as_secs_f64()) * 1e9 / CYCLES as f64);
    }
    Ok(median(differences).unwrap_or_default())
}

/// A submission with resident evictable blocks, minus one with the same number of buffers that are not
/// evictable.
fn submissions(figures: &mut Vec<Figure>, rounds: u32, blocks: u32) -> Result {
    let gpu = Gpu::new(Device::with_residency(Profile::D3D12_TIER2), Config::default())?;
    let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ);
    let make =
        |desc: &BufferDesc| (0..blocks).map(|_| gpu.create_buffer(desc)).collect::<Result<Vec<_>, _>>();
    let (leaving, staying) = (make(&desc.clone().evictable())?, make(&desc)?);
    let cycles = [&leaving, &staying].map(|buffers| {
        || {
            let frame = gpu.begin_frame()?;
            let taken = try_time(|| submit(&frame, buffers));
            frame.end()?;
            taken
        }
    });
    let value = added(rounds, cycles)?;
    // Not while the time is taken; by then the manager's caches are full.
    let mut allocated = 0;
    for _ in 0..COUNTED {
        let frame = gpu.begin_frame()?;
        let count = Count::start();
        submit(&frame, &leaving)?;
        allocated += count.allocations();
        drop(count);
        submit(&frame, &staying)?;
        frame.end()?;
    }
    let named = if blocks == 1 { "1 resident block".to_owned() } else { format!("{blocks} resident blocks") };
    let what = format!("a submission that uses {named}: added (ns)");
    let target = 100.0 + 5.0 * f64::from(blocks);
    figures.push(Figure { what, value, target, is_exact: false });
    let what = format!("the same, all of it: allocations in {}", COUNTED * CYCLES);
    figures.push(Figure { what, value: allocated as f64, target: 0.0, is_exact: true });
    Ok(())
}

fn submit(frame: &Frame<Device>, buffers: &[Buffer<Device>]) -> Result<(), Error> {
    (0..CYCLES).try_for_each(|_| {
        let mut recording = frame.record(Queue::Graphics, "cycle")?;
        buffers.iter().try_for_each(|buffer| recording.make_resident(black_box(buffer)))?;
        black_box(frame.submit(recording)?);
        Ok(())
    })
}

/// An allocation on a device with a budget, minus one on a device without.
fn allocations(rounds: u32, bytes: u64) -> Result<Figure> {
    let desc = BufferDesc::new(bytes, Usage::SHADER_READ);
    let (with, without) = (Device::new(Profile::D3D12_TIER2), Device::without_budgets(Profile::D3D12_TIER2));
    let gpus = [Gpu::new(with, Config::default())?, Gpu::new(without, Config::default())?];
    let make = |gpu: &Gpu<Device>, made: &mut Vec<_>| {
        (0..CYCLES).try_for_each(|_| {
            made.push(black_box(gpu.create_buffer(black_box(&desc))?));
            Ok::<(), Error>(())
        })
    };
    // Keep blocks alive.
    let mut kept = Vec::new();
    gpus.iter().try_for_each(|gpu| make(gpu, &mut kept))?;
    let creations = gpus.each_ref().map(|gpu| {
        let (make, mut made) = (&make, Vec::with_capacity(CYCLES));
        move || {
            let frame = gpu.begin_frame()?;
            let taken = try_time(|| make(gpu, &mut made));
            made.clear();
            frame.end()?;
            taken
        }
    });
    let value = added(rounds, creations)?;
    let what = format!("a buffer of {} KiB: added by the budget (ns)", bytes >> 10);
    Ok(Figure { what, value, target: 2.0, is_exact: false })
}
