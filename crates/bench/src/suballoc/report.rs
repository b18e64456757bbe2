//! The measurements as tables.

use std::fmt;

use super::Args;
use super::figures::{self, Figures};
use super::grid::{Grid, Row};
use super::opening::{self, Opening};
use super::packing::packing;
use super::peers::{
    BLOCKS_PACKING_REFERENCE, BLOCKS_TIME_REFERENCE, Contender, PACKING_REFERENCE, Space, TIME_REFERENCE,
};
use super::plot::{self, Dot};
use super::trace::Trace;

/// Seeds that packing is the mean of.
pub(super) const PACKING_SEEDS: u64 = 4;

/// All that was measured.
pub(super) struct Report {
    workloads: Vec<String>,
    about: Vec<String>,
    grids: Vec<Grid>,
    openings: Vec<Opening>,
    dots: Vec<Dot>,
}

/// A grid of some figure, of the peers whose memory is divided in one of some ways.
struct Metric {
    title: &'static str,
    spaces: &'static [Space],
    reference: Option<&'static str>,
    decimals: usize,
    of: Of,
}

const ONE: &[Space] = &[Space::One, Space::None];
const BLOCKS: &[Space] = &[Space::Blocks];
const ALL: &[Space] = &[Space::One, Space::Blocks, Space::None];

const ONE_RANGE: &str = "one range: nanoseconds per call (median of the rounds)";
const MANY_BLOCKS: &str = "many blocks: nanoseconds per call (median of the rounds)";
const RESERVED_PEAK: &str = "many blocks: most bytes reserved / peak live bytes";

const METRICS: &[Metric] = &[
    metric(ONE, ONE_RANGE, 1, |it| it.call).beside(TIME_REFERENCE),
    metric(BLOCKS, MANY_BLOCKS, 1, |it| it.call).beside(BLOCKS_TIME_REFERENCE),
    metric(ALL, "allocation, p99.99, ns", 0, |it| Some(it.allocations?.p9999.into())),
    metric(ALL, "allocation, slowest, ns", 0, |it| Some(it.allocations?.max.into())),
    metric(ALL, "allocations that failed, with three times the peak (W6: twelve times)", 0, |it| it.failures),
    metric(BLOCKS, RESERVED_PEAK, 3, |it| it.reserved_peak).beside(BLOCKS_PACKING_REFERENCE),
    metric(BLOCKS, "many blocks: bytes reserved on average / peak live bytes", 3, |it| it.reserved_mean)
        .beside(BLOCKS_PACKING_REFERENCE),
    metric(BLOCKS, "many blocks: most blocks at once", 0, |it| it.blocks),
    metric(ALL, "metadata when the most is live, bytes per allocation or hole", 1, |it| {
        it.metadata.map(|it| it.per_node)
    }),
    metric(ALL, "metadata after every second is freed, part of what it was", 2, |it| {
        it.metadata.map(|it| it.after_half)
    }),
    metric(ALL, "metadata after the younger half is freed and trimmed, part of what it was", 2, |it| {
        it.metadata.map(|it| it.after_younger_half)
    }),
    metric(ALL, "metadata after all is freed and trimmed, bytes", 0, |it| {
        it.metadata.map(|it| it.empty as f64)
    }),
];

type Of = fn(&Figures) -> Option<f64>;

const fn metric(spaces: &'static [Space], title: &'static str, decimals: usize, of: Of) -> Metric {
    Metric { title, spaces, reference: None, decimals, of }
}

impl Metric {
    const fn beside(self, reference: &'static str) -> Self {
        Self { reference: Some(reference), ..self }
    }
}

const PACKING: &str = "one range: smallest that serves / peak live bytes (mean of four seeds)";

impl Report {
    /// Measures what the arguments ask for.
    pub(super) fn measure(args: &Args, peers: &[Contender], seeds: &[Vec<Trace>]) -> Self {
        let traces = &seeds[0];
        let columns: Vec<_> =
            traces.iter().map(|trace| figures::measure(peers, trace, args.rounds)).collect();
        let mut grids: Vec<_> = METRICS.iter().map(|metric| grid(metric, peers, &columns)).collect();
        if !args.skip_packing {
            grids.extend(packings(peers, seeds));
        }
        grids.retain(Grid::has_cells);
        Self {
            dots: dots(peers, &grids),
            workloads: traces.iter().map(|trace| trace.name.clone()).collect(),
            about: traces.iter().map(|trace| trace.about.clone()).collect(),
            grids,
            openings: opening::measure(args.rounds),
        }
    }

    /// Speed against packing.
    pub(super) fn plot(&self) -> String {
        plot::svg(&self.dots)
    }
}

fn grid(metric: &Metric, peers: &[Contender], columns: &[Vec<Figures>]) -> Grid {
    let row = |(at, peer): (usize, &Contender)| Row {
        peer: peer.name,
        cells: columns.iter().map(|column| (metric.of)(&column[at])).collect(),
    };
    let chosen = peers.iter().enumerate().filter(|(_, peer)| metric.spaces.contains(&peer.space));
    Grid {
        title: metric.title,
        reference: metric.reference,
        decimals: metric.decimals,
        rows: chosen.map(row).collect(),
    }
}

/// The mean packing of all seeds; over the reference, the mean and the worst of the seeds.
fn packings(peers: &[Contender], seeds: &[Vec<Trace>]) -> [Grid; 3] {
    let peers: Vec<_> = peers.iter().filter(|peer| peer.space == Space::One && !peer.is_slow).collect();
    let of_seeds: Vec<Vec<Row>> = seeds
        .iter()
        .map(|traces| {
            let cells = |peer: &Contender| traces.iter().map(|trace| packing(peer, trace)).collect();
            peers.iter().map(|peer| Row { peer: peer.name, cells: cells(peer) }).collect()
        })
        .collect();
    let reference = peers.iter().position(|peer| peer.name == PACKING_REFERENCE);
    let combined = |at: usize, combine: &dyn Fn(&[f64]) -> f64, is_ratio: bool| {
        let workloads = 0..seeds[0].len();
        let cell = |workload: usize| {
            let figures = of_seeds.iter().map(|rows| {
                let figure = rows[at].cells[workload]?;
                Some(if is_ratio { figure / rows[reference?].cells[workload]? } else { figure })
            });
            figures.collect::<Option<Vec<f64>>>().map(|figures| combine(&figures))
        };
        Row { peer: peers[at].name, cells: workloads.map(cell).collect() }
    };
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
    let worst = |figures: &[f64]| figures.iter().copied().fold(f64::MIN, f64::max);
    let grid = |title, reference, combine: &dyn Fn(&[f64]) -> f64, is_ratio| Grid {
        title,
        reference,
        decimals: if is_ratio { 4 } else { 3 },
        rows: (0..peers.len()).map(|at| combined(at, combine, is_ratio)).collect(),
    };
    [
        grid(PACKING, Some(PACKING_REFERENCE), &mean, false),
        grid("one range: the same over best fit, mean of four seeds", None, &mean, true),
        grid("one range: the same over best fit, worst of four seeds", None, &worst, true),
    ]
}

/// For each peer that does all workloads: memory over that of best fit, and time over that of
/// `offset-allocator`.
fn dots(peers: &[Contender], grids: &[Grid]) -> Vec<Dot> {
    let named = |title: &str| grids.iter().find(|grid| grid.title == title);
    let time = named(ONE_RANGE).and_then(|grid| grid.row(TIME_REFERENCE));
    let dot = |peer: &Contender| {
        let (times, memory) = match peer.space {
            Space::One => (named(ONE_RANGE)?, named(PACKING)?),
            Space::Blocks => (named(MANY_BLOCKS)?, named(RESERVED_PEAK)?),
            Space::None => return None,
        };
        let row = times.row(peer.name)?;
        let is_complete = row.cells.iter().filter(|cell| cell.is_some()).count() + 1 >= row.cells.len();
        is_complete.then_some(Dot {
            name: peer.name,
            is_ours: peer.is_ours,
            has_blocks: peer.space == Space::Blocks,
            time: super::grid::geometric_mean(&row.over(time?))?,
            memory: memory.ratio(memory.row(peer.name)?)?,
        })
    };
    peers.iter().filter_map(dot).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, about) in self.workloads.iter().zip(&self.about) {
            writeln!(f, "{name}: {about}")?;
        }
        for grid in &self.grids {
            writeln!(f, "\n{}\n\n{}", grid.title, grid.table(&self.workloads))?;
        }
        write!(f, "\nopening a block of 64 MiB\n\n{}", opening::table(&self.openings))
    }
}
