//! Recordings of programs, replayed: the time of each call inside tenure and inside its peers.
//!
//! A recording has what a program asked its allocator for. It is asked of tenure's set of blocks, of
//! tenure's memory without resources, which is what an engine with resources of its own uses, and, above a
//! Vulkan driver that does nothing, of tenure's drop-in for the crate `gpu-allocator`, of that crate, and of
//! another published one.

mod blocks;
mod check;
pub(crate) mod driver;
mod figures;
pub(crate) mod play;
pub(crate) mod pools;
mod report;
#[cfg(not(windows))]
pub(crate) mod vma;
mod wgpu;

use std::path::{Path, PathBuf};

use crate::script::{self, Script};
use crate::timing::clock;
use check::Checked;
use figures::Times;
use play::Player;
use report::{Line, Report};

/// What to measure.
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
    /// Measure nothing: check that live allocations do not overlap and are aligned.
    #[arg(long)]
    pub check: bool,
}

/// An allocator with its name, ready to be measured.
struct Contender {
    name: &'static str,
    play: fn(&Script, u32, &mut Times) -> Result<(), String>,
    check: fn(&Script) -> Result<Checked, String>,
}

impl Contender {
    const fn new<P: Player>(name: &'static str) -> Self {
        Self { name, play: play::play::<P>, check: check::check::<P> }
    }
}

const CONTENDERS: &[Contender] = &[
    Contender::new::<blocks::Blocks>("GeneralBlocks"),
    Contender::new::<pools::Pools>("HeapPools"),
    Contender::new::<wgpu::gpu_allocator::DropIn>("drop-in"),
    Contender::new::<wgpu::original::Original>("gpu-allocator 0.28"),
    #[cfg(not(windows))]
    Contender::new::<vma::Vma>("vk-mem"),
];

/// Replays everything and prints what it took.
///
/// # Errors
/// A recording cannot be read, a peer is unknown, or an allocator refused a request or returned what
/// cannot be used.
pub fn run(args: &Args) -> Result<(), String> {
    let files = if args.files.is_empty() { ours()? } else { args.files.clone() };
    let scripts = files.iter().map(|path| script::read(path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = CONTENDERS.iter().map(|peer| peer.name).collect();
    let names = crate::suballoc::chosen("peer", &names, &args.only)?;
    let peers: Vec<_> = CONTENDERS.iter().filter(|peer| names.contains(&peer.name)).collect();
    if args.check {
        return check_all(&peers, &scripts);
    }
    let report = measure(&peers, &scripts, args.rounds)?;
    println!("{report}");
    Ok(())
}

/// The recordings of the repository, in the order of their names.
pub(crate) fn ours() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(&folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let is_recording = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gz");
    let mut found: Vec<_> = paths.map_err(failed)?.into_iter().filter(is_recording).collect();
    found.sort();
    Ok(found)
}

fn measure(peers: &[&Contender], scripts: &[Script], rounds: u32) -> Result<Report, String> {
    let clock = clock();
    let mut report = Report::new(clock);
    for script in scripts {
        let mut times: Vec<_> = peers.iter().map(|_| Times::default()).collect();
        for _ in 0..rounds {
            for (peer, times) in peers.iter().zip(&mut times) {
                (peer.play)(script, clock, times)
                    .map_err(|fault| format!("{} on {}: {fault}", peer.name, script.name))?;
            }
        }
        for (peer, times) in peers.iter().zip(&times) {
            report.lines.push(Line::new(script, peer.name, times));
        }
    }
    if scripts.len() > 1 {
        let all: Vec<_> = peers.iter().map(|peer| report.all(peer.name)).collect();
        report.lines.extend(all);
    }
    Ok(report)
}

/// Checks every allocation of every peer.
fn check_all(peers: &[&Contender], scripts: &[Script]) -> Result<(), String> {
    for peer in peers {
        for script in scripts {
            let Checked { allocations } =
                (peer.check)(script).map_err(|fault| format!("{} on {}: {fault}", peer.name, script.name))?;
            println!("{} on {}: {allocations} allocations aligned and apart", peer.name, script.name);
        }
    }
    Ok(())
}
