//! Suballocators: time, packing and metadata of ours and of others.

pub(crate) mod check;
pub(crate) mod counted;
mod figures;
mod grid;
mod metadata;
mod opening;
mod packing;
pub mod peers;
mod plot;
mod recorded;
pub(crate) mod replay;
mod report;
mod reserved;
pub mod rng;
pub(crate) mod singles;
pub mod trace;
pub mod workloads;

use std::fs;
use std::path::PathBuf;

pub use packing::packing;

use peers::Contender;
use report::Report;
use trace::Trace;
use workloads::Scale;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What the workloads are drawn from; packing is the mean of this seed and the three after it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Rounds of timing; peers take turns within a round, and the median of the rounds counts.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Leave out the smallest ranges, which take the most time to find.
    #[arg(long)]
    pub skip_packing: bool,
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
    /// Only workloads whose names contain this; may be given more than once.
    #[arg(long)]
    pub workload: Vec<String>,
    /// Recordings to replay instead of the workloads (or, with --workload, after them); may be given
    /// more than once.
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,
    /// Measure the slow peers too, on a 25th of each trace.
    #[arg(long)]
    pub slow: bool,
    /// Traces of a fifth of the length.
    #[arg(long)]
    pub short: bool,
    /// Measure nothing: check that live allocations do not overlap and are aligned.
    #[arg(long, conflicts_with = "plot")]
    pub check: bool,
    /// Write a picture of speed against packing, as SVG.
    #[arg(long, value_name = "FILE", conflicts_with = "skip_packing")]
    pub plot: Option<PathBuf>,
}

impl Args {
    fn scale(&self) -> Scale {
        if self.short { Scale::Short } else { Scale::Full }
    }
}

/// Runs the measurements and prints them.
///
/// # Errors
/// A peer or workload is unknown, a recording cannot be read, the picture cannot be written, or an
/// allocator returned what cannot be used.
pub fn run(args: &Args) -> Result<(), String> {
    let peers = chosen_peers(args)?;
    let seeds = chosen_traces(args)?;
    if args.check {
        return check_all(&peers, &seeds[0]);
    }
    let report = Report::measure(args, &peers, &seeds);
    if let Some(path) = &args.plot {
        fs::write(path, report.plot()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    println!("{report}");
    Ok(())
}

/// Which of all names contain one of the parts. An error if a part is in none.
pub(crate) fn chosen<'a>(what: &str, names: &[&'a str], parts: &[String]) -> Result<Vec<&'a str>, String> {
    let has = |name: &str, part: &String| name.to_lowercase().contains(&part.to_lowercase());
    if let Some(part) = parts.iter().find(|part| !names.iter().any(|name| has(name, part))) {
        return Err(format!("no {what} has {part} in its name; there are: {}", names.join("; ")));
    }
    let is_wanted = |name: &&&str| parts.is_empty() || parts.iter().any(|part| has(name, part));
    Ok(names.iter().filter(is_wanted).copied().collect())
}

/// The named peers, or all that are not slow.
pub(crate) fn peers_named(only: &[String], with_slow: bool) -> Result<Vec<Contender>, String> {
    let mut peers = peers::all();
    let names: Vec<_> = peers.iter().map(|peer| peer.name).collect();
    let names = chosen("peer", &names, only)?;
    let is_named = !only.is_empty();
    peers.retain(|peer| names.contains(&peer.name) && (is_named || with_slow || !peer.is_slow));
    Ok(peers)
}

fn chosen_peers(args: &Args) -> Result<Vec<Contender>, String> {
    peers_named(&args.only, args.slow)
}

/// The traces of each seed; recordings are the same in all, and so only in the first.
fn chosen_traces(args: &Args) -> Result<Vec<Vec<Trace>>, String> {
    let recorded: Vec<_> =
        args.trace.iter().map(|path| recorded::read(path)).collect::<Result<_, String>>()?;
    let names = workloads::NAMES;
    let names = if recorded.is_empty() || !args.workload.is_empty() {
        chosen("workload", &names, &args.workload)?
    } else {
        Vec::new()
    };
    let seeds = if args.skip_packing || args.check { 1 } else { report::PACKING_SEEDS };
    let drawn = |more| {
        let trace = |name: &&str| workloads::named(name, args.seed.wrapping_add(more), args.scale());
        names.iter().filter_map(trace).collect::<Vec<_>>()
    };
    let mut seeds: Vec<_> = (0..seeds).map(drawn).collect();
    for traces in &mut seeds {
        traces.extend(recorded.iter().cloned());
    }
    Ok(seeds)
}

/// Checks every allocation of every peer.
fn check_all(peers: &[Contender], traces: &[Trace]) -> Result<(), String> {
    for peer in peers.iter().filter(|peer| peer.space != peers::Space::None) {
        for trace in traces.iter().filter(|trace| (peer.can_replay)(trace)) {
            let trace = &figures::length_for(peer, trace);
            let checked = (peer.check)(trace, trace.ample_bytes)
                .map_err(|fault| format!("{} on {}: {fault}", peer.name, trace.name))?;
            println!(
                "{} on {}: {} allocations aligned and apart, {} refused",
                peer.name, trace.name, checked.allocations, checked.failures
            );
        }
    }
    Ok(())
}
