//! What residency and budgets cost when there is no pressure.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Error, Frame, Gpu, Queue, Usage};
use tenure_sim::Profile;

use crate::counting::Count;
use crate::null;
use crate::timing::{median, try_time};

const CYCLES: usize = 200;

/// Frames in which allocations are counted.
const COUNTED: usize = 8;

/// A figure, beside its target.
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) value: f64,
    pub(super) target: f64,
    /// Whether it is the same in each run, so that a miss is an error.
    pub(super) is_exact: bool,
}

impl Figure {
    pub(super) fn is_met(&self) -> bool {
        self.value <= self.target
    }
}

/// Measures.
///
/// # Errors
/// The errors of the manager.
pub(super) fn all(rounds: u32) -> Result<Vec<Figure>, Error> {
    let mut figures = Vec::new();
    for blocks in [1, 32, 256] {
        figures.extend(submissions(rounds, blocks)?);
    }
    for bytes in [4 << 10, 8 << 20] {
        figures.push(allocations(rounds, bytes)?);
    }
    Ok(figures)
}

/// A submission whose blocks are all resident, less one of as many buffers that always stay.
fn submissions(rounds: u32, blocks: u32) -> Result<[Figure; 2], Error> {
    let gpu = Gpu::new(null::Device::with_residency(Profile::D3D12_TIER2), Config::default())?;
    let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ);
    let make =
        |desc: &BufferDesc| (0..blocks).map(|_| gpu.create_buffer(desc)).collect::<Result<Vec<_>, _>>();
    let (leaving, staying) = (make(&desc.clone().evictable())?, make(&desc)?);
    let mut differences = Vec::new();
    for round in 0..rounds {
        let frame = gpu.begin_frame()?;
        // By turns, so that neither is always the first.
        let order = if round % 2 == 0 { [&leaving, &staying] } else { [&staying, &leaving] };
        let mut taken = [Duration::ZERO; 2];
        for (buffers, taken) in order.into_iter().zip(&mut taken) {
            *taken = try_time(|| submit(&frame, buffers))?;
        }
        taken.rotate_left(round as usize % 2);
        differences.push((taken[0].as_secs_f64() - taken[1].as_secs_f64()) * 1e9 / CYCLES as f64);
        frame.end()?;
    }
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
    let blocks_named =
        if blocks == 1 { "1 resident block".to_owned() } else { format!("{blocks} resident blocks") };
    Ok([
        Figure {
            what: format!("a submission that uses {blocks_named}: added (ns)"),
            value: median(differences).unwrap_or_default(),
            target: 100.0 + 5.0 * f64::from(blocks),
            is_exact: false,
        },
        Figure {
            what: format!("the same, all of it: allocations in {}", COUNTED * CYCLES),
            value: allocated as f64,
            target: 0.0,
            is_exact: true,
        },
    ])
}

fn submit(frame: &Frame<null::Device>, buffers: &[Buffer<null::Device>]) -> Result<(), Error> {
    (0..CYCLES).try_for_each(|_| {
        let mut recording = frame.record(Queue::Graphics, "cycle")?;
        buffers.iter().try_for_each(|buffer| recording.make_resident(black_box(buffer)))?;
        black_box(frame.submit(recording)?);
        Ok(())
    })
}

/// A device on which buffers of one size are created.
struct Allocating {
    gpu: Gpu<null::Device>,
    desc: BufferDesc,
    /// Keeps blocks alive.
    _kept: Vec<Buffer<null::Device>>,
    made: Vec<Buffer<null::Device>>,
}

impl Allocating {
    fn new(device: null::Device, bytes: u64) -> Result<Self, Error> {
        let gpu = Gpu::new(device, Config::default())?;
        let desc = BufferDesc::new(bytes, Usage::SHADER_READ);
        let kept = (0..CYCLES).map(|_| gpu.create_buffer(&desc)).collect::<Result<_, _>>()?;
        Ok(Self { gpu, desc, _kept: kept, made: Vec::with_capacity(CYCLES) })
    }

    /// Creates some in a frame, of which the time is taken, and drops them.
    fn round(&mut self) -> Result<Duration, Error> {
        let frame = self.gpu.begin_frame()?;
        let taken = try_time(|| {
            (0..CYCLES).try_for_each(|_| {
                self.made.push(black_box(self.gpu.create_buffer(black_box(&self.desc))?));
                Ok::<(), Error>(())
            })
        });
        self.made.clear();
        frame.end()?;
        taken
    }
}

/// An allocation on a device that names a budget, less one on a device that names none: the median over paired rounds.
fn allocations(rounds: u32, bytes: u64) -> Result<Figure, Error> {
    let mut with = Allocating::new(null::Device::new(Profile::D3D12_TIER2), bytes)?;
    let mut without = Allocating::new(null::Device::without_budgets(Profile::D3D12_TIER2), bytes)?;
    let mut differences = Vec::new();
    for round in 0..rounds {
        let (ours, least) = if round % 2 == 0 {
            let ours = with.round()?;
            (ours, without.round()?)
        } else {
            let least = without.round()?;
            (with.round()?, least)
        };
        differences.push((ours.as_secs_f64() - least.as_secs_f64()) * 1e9 / CYCLES as f64);
    }
    Ok(Figure {
        what: format!("a buffer of {} KiB: added by the budget (ns)", bytes >> 10),
        value: median(differences).unwrap_or_default(),
        target: 2.0,
        is_exact: false,
    })
}
