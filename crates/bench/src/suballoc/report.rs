//! What was measured, as tables or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::Args;
use super::measure;
use super::peers::{self, Contender, PACKING_REFERENCE, TIME_REFERENCE};
use super::trace::Trace;
use super::workloads::{self, Scale};

/// Seeds that packing is the mean of.
const PACKING_SEEDS: u64 = 4;

/// A figure for each peer and each workload.
struct Grid {
    title: &'static str,
    /// Name of the peer that the others are compared with.
    reference: &'static str,
    decimals: usize,
    rows: Vec<Row>,
}

struct Row {
    peer: &'static str,
    cells: Vec<Option<f64>>,
}

/// All that was measured.
pub(super) struct Report {
    workloads: Vec<(&'static str, &'static str)>,
    grids: Vec<Grid>,
}

impl Report {
    /// Measures what the arguments ask for.
    pub(super) fn measure(args: &Args) -> Self {
        let wanted = |name: &str, parts: &[String]| {
            let name = name.to_lowercase();
            parts.is_empty() || parts.iter().any(|part| name.contains(&part.to_lowercase()))
        };
        let mut peers = peers::all();
        peers.retain(|peer| wanted(peer.name, &args.peer));
        let traces = |seed| {
            let mut traces = workloads::all(seed, Scale::Full);
            traces.retain(|trace| wanted(trace.name, &args.workload));
            traces
        };
        let timed = traces(args.seed);
        let mut grids = vec![times(&peers, &timed, args.rounds)];
        if !args.skip_packing {
            let seeds = (0..PACKING_SEEDS).map(|more| traces(args.seed.wrapping_add(more)));
            grids.push(packing(&peers, &seeds.collect::<Vec<_>>()));
        }
        Self { workloads: timed.iter().map(|trace| (trace.name, trace.about)).collect(), grids }
    }

    pub(super) fn to_json(&self) -> Value {
        let grid = |grid: &Grid| {
            let rows = grid.rows.iter().map(|row| {
                let cells = self.workloads.iter().zip(&row.cells);
                let cells = cells.map(|((name, _), cell)| ((*name).to_owned(), json!(cell)));
                (row.peer.to_owned(), Value::Object(cells.collect()))
            });
            json!({ "title": grid.title, "peers": Value::Object(rows.collect()) })
        };
        json!(self.grids.iter().map(grid).collect::<Vec<_>>())
    }
}

fn times(peers: &[Contender], traces: &[Trace], rounds: u32) -> Grid {
    let columns: Vec<_> = traces.iter().map(|trace| measure::median_times(peers, trace, rounds)).collect();
    Grid {
        title: "nanoseconds per call (median)",
        reference: TIME_REFERENCE,
        decimals: 1,
        rows: rows(peers, |peer| columns.iter().map(|column| column[peer]).collect()),
    }
}

fn packing(peers: &[Contender], seeds: &[Vec<Trace>]) -> Grid {
    let workloads = seeds.first().map_or(0, Vec::len);
    let mean = |peer: &Contender, workload: usize| {
        let figures = seeds.iter().map(|traces| measure::packing(peer, &traces[workload]));
        let figures: Option<Vec<f64>> = figures.collect();
        figures.map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    Grid {
        title: "memory needed / peak live bytes (mean of four seeds)",
        reference: PACKING_REFERENCE,
        decimals: 3,
        rows: rows(peers, |peer| (0..workloads).map(|w| mean(&peers[peer], w)).collect()),
    }
}

fn rows(peers: &[Contender], cells: impl Fn(usize) -> Vec<Option<f64>>) -> Vec<Row> {
    let row = |(index, peer): (usize, &Contender)| Row { peer: peer.name, cells: cells(index) };
    peers.iter().enumerate().map(row).collect()
}

impl Grid {
    fn reference(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.peer == self.reference)
    }

    /// A row over the reference: each cell, and the geometric mean of those that both have.
    fn ratios(&self, row: &Row) -> Option<(Vec<Option<f64>>, f64)> {
        let reference = self.reference()?;
        let cells = row.cells.iter().zip(&reference.cells);
        let ratios: Vec<_> = cells.map(|(cell, of)| Some((*cell)? / (*of)?)).collect();
        let logs: Vec<f64> = ratios.iter().flatten().map(|ratio| ratio.ln()).collect();
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        Some((ratios, mean))
    }

    fn table(&self, workloads: &[(&'static str, &'static str)]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let names = workloads.iter().map(|(name, _)| (*name).to_owned());
        let header = std::iter::once("peer".to_owned()).chain(names);
        let over = format!("/ {} (geometric mean)", self.reference);
        table.set_header(header.chain([over]));
        for row in &self.rows {
            let decimals = self.decimals;
            let cell = |cell: &Option<f64>| match cell {
                Some(value) => format!("{value:.decimals$}"),
                None => "–".to_owned(),
            };
            let mean = self.ratios(row).map(|(_, mean)| mean);
            let mean = mean.filter(|mean| mean.is_finite());
            let last = mean.map_or("–".to_owned(), |mean| format!("{mean:.3}"));
            let cells = row.cells.iter().map(cell);
            table.add_row(std::iter::once(row.peer.to_owned()).chain(cells).chain([last]));
        }
        table
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, about) in &self.workloads {
            writeln!(f, "{name}: {about}")?;
        }
        for grid in &self.grids {
            writeln!(f, "\n{}\n\n{}", grid.title, grid.table(&self.workloads))?;
        }
        Ok(())
    }
}
