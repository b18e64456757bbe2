//! The measurements as tables: a figure for each peer and each workload.

use comfy_table::Table;

use super::figures::{self, Figures};
use super::packing::packing;
use super::peers::{
    BLOCKS_PACKING_REFERENCE, BLOCKS_TIME_REFERENCE, Contender, PACKING_REFERENCE, Space, TIME_REFERENCE,
};
use super::trace::Trace;
use super::{Args, opening};
use crate::table::{figure, table};
use crate::timing::mean;

/// Seeds that packing is the mean of.
pub(super) const PACKING_SEEDS: u64 = 4;

/// A figure of the peers whose memory is divided in these ways: its title, the peer that the others are compared with, and
/// its decimals.
type Metric = (&'static [Space], &'static str, Option<&'static str>, usize, fn(&Figures) -> Option<f64>);

const ONE: &[Space] = &[Space::One, Space::None];
const BLOCKS: &[Space] = &[Space::Blocks];
const ALL: &[Space] = &[Space::One, Space::Blocks, Space::None];
const OVER_BEST: Option<&str> = Some(BLOCKS_PACKING_REFERENCE);

const METRICS: [Metric; 11] = [
    (ONE, "one range: nanoseconds per call (median of the rounds)", Some(TIME_REFERENCE), 1, |it| it.call),
    (
        BLOCKS,
        "many blocks: nanoseconds per call (median of the rounds)",
        Some(BLOCKS_TIME_REFERENCE),
        1,
        |it| it.call,
    ),
    (ALL, "allocation, p99.99, ns", None, 0, |it| Some(it.allocations?.p9999.into())),
    (ALL, "allocation, slowest, ns", None, 0, |it| Some(it.allocations?.max.into())),
    (ALL, "allocations that failed, with three times the peak (W6: twelve times)", None, 0, |it| it.failures),
    (BLOCKS, "many blocks: most bytes reserved / peak live bytes", OVER_BEST, 3, |it| it.reserved_peak),
    (BLOCKS, "many blocks: bytes reserved on average / peak live bytes", OVER_BEST, 3, |it| it.reserved_mean),
    (BLOCKS, "many blocks: most blocks at once", None, 0, |it| it.blocks),
    (ALL, "metadata when the most is live, bytes per allocation or hole", None, 1, |it| {
        Some(it.metadata?.per_node)
    }),
    (ALL, "metadata after the younger half is freed and trimmed, part of the peak", None, 2, |it| {
        Some(it.metadata?.after_younger_half)
    }),
    (ALL, "metadata after all is freed and trimmed, bytes", None, 0, |it| Some(it.metadata?.empty as f64)),
];

/// Measures and prints the selected figures.
pub(super) fn print(args: &Args, peers: &[Contender], seeds: &[Vec<Trace>]) {
    let traces = &seeds[0];
    let columns: Vec<_> = traces.iter().map(|trace| figures::measure(peers, trace, args.rounds)).collect();
    let mut grids: Vec<_> = METRICS.iter().map(|metric| Grid::new(metric, peers, &columns)).collect();
    if !args.skip_packing {
        grids.extend(packings(peers, seeds));
    }
    for Trace { name, about, .. } in traces {
        println!("{name}: {about}");
    }
    for grid in grids.iter().filter(|grid| grid.rows.iter().any(has_cells)) {
        println!("\n{}\n\n{}", grid.title, grid.table(traces));
    }
    println!("\nopening a block of 64 MiB\n\n{}", opening::table(args.rounds));
}

/// The name of a peer, and its figure for each workload.
type Row = (&'static str, Vec<Option<f64>>);

fn has_cells((_, cells): &Row) -> bool {
    cells.iter().any(Option::is_some)
}

struct Grid {
    title: &'static str,
    reference: Option<&'static str>,
    decimals: usize,
    rows: Vec<Row>,
}

impl Grid {
    fn new(
        &(spaces, title, reference, decimals, of): &Metric,
        peers: &[Contender],
        columns: &[Vec<Figures>],
    ) -> Self {
        let chosen = peers.iter().enumerate().filter(|(_, peer)| spaces.contains(&peer.space));
        let cells = |at: usize| columns.iter().map(|column| of(&column[at])).collect();
        Self { title, reference, decimals, rows: chosen.map(|(at, peer)| (peer.name, cells(at))).collect() }
    }

    /// As a table, without the rows that have nothing.
    fn table(&self, traces: &[Trace]) -> Table {
        let mut header = "peer".to_owned();
        traces.iter().for_each(|trace| header += &format!(" | {}", trace.name));
        header += &self.reference.map_or_else(String::new, |name| format!(" | / {name} (geometric mean)"));
        let reference = self.rows.iter().find(|(name, _)| Some(*name) == self.reference);
        let rows = self.rows.iter().filter(|row| has_cells(row)).map(|(name, cells)| {
            let mut row = (*name).to_owned();
            cells.iter().for_each(|cell| row += &format!(" | {}", figure(*cell, self.decimals)));
            let over = reference.and_then(|(_, reference)| geometric_mean(cells, reference));
            row + &self.reference.map_or_else(String::new, |_| format!(" | {}", figure(over, 3)))
        });
        table(&header, rows)
    }
}

/// The geometric mean of the ratios of all cells that both rows have; `None` without any.
fn geometric_mean(cells: &[Option<f64>], over: &[Option<f64>]) -> Option<f64> {
    let both = cells.iter().zip(over).filter_map(|(cell, over)| cell.zip(*over));
    let logs: Vec<f64> = both.map(|(cell, over)| (cell / over).ln()).collect();
    (!logs.is_empty()).then(|| mean(&logs).exp())
}

/// The mean packing of all seeds; over the reference, the mean and the worst of the seeds.
fn packings(peers: &[Contender], seeds: &[Vec<Trace>]) -> [Grid; 3] {
    let peers: Vec<_> = peers.iter().filter(|peer| peer.space == Space::One).collect();
    let workloads = 0..seeds[0].len();
    // For each peer and each workload the figures of all seeds.
    let of_seeds = |peer, workload: usize| {
        seeds.iter().map(|traces| packing(peer, &traces[workload])).collect::<Option<Vec<f64>>>()
    };
    let of_workloads = |peer| workloads.clone().map(|workload| of_seeds(peer, workload)).collect();
    let all: Vec<Vec<_>> = peers.iter().map(|peer| of_workloads(peer)).collect();
    let reference = peers.iter().position(|peer| peer.name == PACKING_REFERENCE);
    let over = |at: usize, workload: usize| -> Option<Vec<f64>> {
        let (ours, best) = (all[at][workload].as_ref()?, all[reference?][workload].as_ref()?);
        Some(ours.iter().zip(best).map(|(ours, best)| ours / best).collect())
    };
    let grid = |title, reference, decimals, cell: &dyn Fn(usize, usize) -> Option<f64>| {
        let row =
            |at: usize| (peers[at].name, workloads.clone().map(|workload| cell(at, workload)).collect());
        Grid { title, reference, decimals, rows: (0..peers.len()).map(row).collect() }
    };
    let worst = |figures: Vec<f64>| figures.into_iter().fold(f64::MIN, f64::max);
    [
        grid(
            "one range: smallest that serves / peak live bytes (mean of four seeds)",
            Some(PACKING_REFERENCE),
            3,
            &|at, workload| all[at][workload].as_deref().map(mean),
        ),
        grid("one range: the same over best fit, mean of four seeds", None, 4, &|at, workload| {
            over(at, workload).as_deref().map(mean)
        }),
        grid("one range: the same over best fit, worst of four seeds", None, 4, &|at, workload| {
            over(at, workload).map(worst)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::geometric_mean;

    #[test]
    fn the_geometric_mean_skips_missing_cells() {
        let (cells, over) = ([Some(2.0), None, Some(16.0)], [Some(1.0), Some(3.0), Some(2.0)]);
        assert!(geometric_mean(&cells, &over).is_some_and(|mean| (mean - 4.0).abs() < 1e-9));
        assert_eq!(geometric_mean(&cells[1..2], &over[1..2]), None);
    }
}
