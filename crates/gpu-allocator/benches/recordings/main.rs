//! Plays recordings to the original and to this crate, on a driver that does nothing, in turn:
//! `cargo bench -p gpu-allocator@0.28.100 --bench recordings -- FILE...`
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a benchmark may end with a panic")]

#[allow(dead_code, reason = "the tests have the driver fail as well")]
#[path = "../../tests/vulkan/fake.rs"]
mod fake;
mod play;

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use comfy_table::{Table, presets};
use tenure_trace::Trace;

use self::play::{Figures, ours, theirs};

/// Bytes.
const MIB: u64 = 1 << 20;

/// Time in the allocator and what it reserves, on recordings of programs.
#[derive(Parser)]
struct Args {
    /// Recordings, as tenure and `TENURE_TRACE` write them.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How often each is played; the median of the rounds counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// What cargo passes.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let Args { files, rounds, .. } = Args::parse();
    let clock = clock();
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "recording",
        "allocate, ns: p50 / p99",
        "original",
        "free, ns: p50 / p99",
        "original",
        "reserved, MiB",
        "original",
        "live, MiB",
    ]);
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let trace = tenure_trace::read_all(File::open(&file).unwrap(), &*name).unwrap();
        table.add_row(row(&name, &trace, rounds, clock));
    }
    println!("The clock's own {clock} ns are taken off.\n\n{table}");
}

fn row(name: &str, trace: &Trace, rounds: u32, clock: u64) -> [String; 8] {
    let mut played = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        played[0].push(ours::play(trace));
        played[1].push(theirs::play(trace));
    }
    let [ours, theirs] = played;
    let calls = |figures: &[Figures], pick: fn(&Figures) -> [u64; 2]| {
        let [p50, p99] = [0, 1].map(|which| median(figures.iter().map(|found| pick(found)[which]).collect()));
        format!("{} / {}", p50.saturating_sub(clock), p99.saturating_sub(clock))
    };
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / MIB as f64);
    [
        name.trim_end_matches(".gz").trim_end_matches(".csv").to_owned(),
        calls(&ours, |found| found.allocate),
        calls(&theirs, |found| found.allocate),
        calls(&ours, |found| found.free),
        calls(&theirs, |found| found.free),
        mib(ours[0].reserved),
        mib(theirs[0].reserved),
        mib(trace.summary.peak_live_bytes),
    ]
}

/// Nanoseconds that a measurement takes of itself.
fn clock() -> u64 {
    median((0..100_000).map(|_| Instant::now().elapsed().as_nanos() as u64).collect())
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
