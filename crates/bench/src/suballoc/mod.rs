//! Suballocators: time, packing and metadata of ours and of others.

mod figures;
mod metadata;
mod opening;
mod packing;
pub mod peers;
pub(crate) mod replay;
mod report;
pub mod rng;
pub mod trace;
pub mod workloads;

pub use packing::packing;

use crate::Result;
use peers::Contender;
use trace::Trace;
use workloads::Scale;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The seed of the workloads; packing is the mean of this seed and the three after it.
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
    /// Traces of a fifth of the length.
    #[arg(long)]
    pub short: bool,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// A peer or workload is unknown.
pub fn run(args: &Args) -> Result<()> {
    let peers = peers_named(&args.only)?;
    let names = chosen("workload", workloads::NAMES.to_vec(), |name| name, &args.workload)?;
    let scale = if args.short { Scale::Short } else { Scale::Full };
    let seeds = if args.skip_packing { 1 } else { report::PACKING_SEEDS };
    let drawn = |more| {
        let trace = |name: &&str| workloads::named(name, args.seed.wrapping_add(more), scale);
        names.iter().filter_map(trace).collect()
    };
    let seeds: Vec<Vec<Trace>> = (0..seeds).map(drawn).collect();
    report::print(args, &peers, &seeds);
    Ok(())
}

/// The ones whose names contain one of the parts, or all without parts. An error if a part is in no name.
pub(crate) fn chosen<T>(
    what: &str,
    mut all: Vec<T>,
    name: impl Fn(&T) -> &str,
    parts: &[String],
) -> Result<Vec<T>> {
    let has = |it: &T, part: &String| name(it).to_lowercase().contains(&part.to_lowercase());
    if let Some(part) = parts.iter().find(|part| !all.iter().any(|it| has(it, part))) {
        let names = all.iter().map(name).collect::<Vec<_>>().join("; ");
        return Err(format!("no {what} has {part} in its name; there are: {names}").into());
    }
    all.retain(|it| parts.is_empty() || parts.iter().any(|part| has(it, part)));
    Ok(all)
}

/// The peers of these names, or all.
pub(crate) fn peers_named(only: &[String]) -> Result<Vec<Contender>> {
    chosen("peer", peers::all(), |peer| peer.name, only)
}

#[cfg(test)]
mod tests {
    use super::{Scale, peers, workloads};

    #[test]
    fn no_peer_lets_allocations_overlap_on_any_workload() {
        for peer in peers::all().iter().filter(|peer| peer.space != peers::Space::None) {
            let traces = workloads::NAMES.map(|name| workloads::named(name, 5, Scale::Short).unwrap());
            for trace in traces.iter().filter(|trace| (peer.can_replay)(trace)) {
                let checked = (peer.check)(trace, trace.ample_bytes);
                assert!(matches!(checked, Ok(1..)), "{} on {}: {checked:?}", peer.name, trace.name);
            }
        }
    }
}
