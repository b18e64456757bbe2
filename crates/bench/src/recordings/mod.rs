//! Recordings of programs, replayed: the time of each call inside tenure and inside its peers.
//!
//! A recording has the requests of a program to its allocator. They go to tenure's memory without resources, for engines with
//! resources of their own, and, above a Vulkan driver that does nothing, to tenure's drop-in for the crate `gpu-allocator`, to
//! that crate, and to another published one.

pub(crate) mod driver;
pub(crate) mod play;
pub(crate) mod pools;
#[cfg(not(windows))]
pub(crate) mod vma;
mod wgpu;

use std::path::{Path, PathBuf};

use crate::Result;
use crate::script::{self, Reserved, Script};
use crate::suballoc::chosen;
use crate::table::table;
use crate::timing::{Percentiles, clock, medians};
use play::Times;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Recordings; those of the repository when none is named.
    pub files: Vec<PathBuf>,
    /// Rounds; peers take turns within a round, and of each call the median of the rounds counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
}

/// Replays a recording and times each call, minus the cost of the clock.
type Play = fn(&Script, u32, &mut Times) -> Result;

/// Each allocator with its name.
const CONTENDERS: &[(&str, Play)] = &[
    ("HeapPools", play::play::<pools::Pools>),
    ("drop-in", play::play::<wgpu::gpu_allocator::DropIn>),
    ("gpu-allocator 0.28", play::play::<wgpu::original::Original>),
    #[cfg(not(windows))]
    ("vk-mem", play::play::<vma::Vma>),
];

/// Replays everything and prints the times.
///
/// # Errors
/// A recording cannot be read, a peer is unknown, or an allocator refused a request or returned an unusable
/// range.
pub fn run(args: &Args) -> Result {
    let scripts = scripts(&args.files)?;
    let peers = chosen("peer", CONTENDERS.to_vec(), |(name, _)| name, &args.only)?;
    let clock = clock();
    let mut lines = Vec::new();
    for script in &scripts {
        let mut times: Vec<_> = peers.iter().map(|_| Times::default()).collect();
        for _ in 0..args.rounds {
            for ((name, play), times) in peers.iter().zip(&mut times) {
                play(script, clock, times).map_err(|fault| format!("{name} on {}: {fault}", script.name))?;
            }
        }
        lines.extend(peers.iter().zip(&times).map(|((peer, _), times)| Line {
            recording: &script.name,
            peer,
            calls: [medians(&times.allocations), medians(&times.frees)],
            memory: times.memory,
            live: script.peak_bytes,
        }));
        lines.extend(script.own.map(|memory| Line {
            recording: &script.name,
            peer: "the program",
            calls: [Vec::new(), Vec::new()],
            memory,
            live: script.peak_bytes,
        }));
    }
    if scripts.len() > 1 {
        let all: Vec<_> = peers.iter().map(|(peer, _)| Line::all(&lines, peer)).collect();
        lines.extend(all);
    }
    let header = "recording | peer | allocate, ns: p50 | p99 | p99.99 | free, ns: p50 | p99 | p99.99 | reserved / live | \
                  driver allocations";
    println!(
        "The clock's own {clock} ns are taken off each call.\n\n{}",
        table(header, lines.iter().map(Line::row))
    );
    Ok(())
}

/// The named recordings, or those of the repository, in the order of their names.
///
/// # Errors
/// One cannot be read.
pub(crate) fn scripts(files: &[PathBuf]) -> Result<Vec<Script>> {
    let mut files = files.to_vec();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        files = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
        files.sort();
    }
    files.iter().map(|path| script::read(path)).collect()
}

/// One recording, played to one allocator.
struct Line<'a> {
    recording: &'a str,
    peer: &'static str,
    /// The median of each allocation and of each free, in nanoseconds.
    calls: [Vec<u32>; 2],
    memory: Reserved,
    /// The peak of the live bytes.
    live: u64,
}

impl Line<'_> {
    /// All calls of all recordings together, and the sums of their peaks.
    fn all(lines: &[Self], peer: &'static str) -> Self {
        let lines = || lines.iter().filter(|line| line.peer == peer);
        Self {
            recording: "all",
            peer,
            calls: [0, 1].map(|kind| lines().flat_map(|line| line.calls[kind].iter().copied()).collect()),
            memory: Reserved {
                peak: lines().map(|line| line.memory.peak).sum(),
                driver_allocations: lines().map(|line| line.memory.driver_allocations).sum(),
            },
            live: lines().map(|line| line.live).sum(),
        }
    }

    fn row(&self) -> String {
        let [allocate, free] = self.calls.each_ref().map(|times| {
            // The program's own calls were not timed.
            if times.is_empty() {
                return "– | – | –".to_owned();
            }
            let Percentiles { p50, p99, p9999, .. } = Percentiles::of(times.clone());
            format!("{p50} | {p99} | {p9999}")
        });
        let reserved = self.memory.peak as f64 / self.live as f64;
        let driver = self.memory.driver_allocations;
        format!("{} | {} | {allocate} | {free} | {reserved:.3} | {driver}", self.recording, self.peer)
    }
}
