//! Instructions, cache misses and mispredicted jumps per call, counted by callgrind: the same on a busy machine as on a quiet one.

use std::process::{Command, Stdio};

use crate::Result;
use crate::suballoc::peers::{Contender, Space};
use crate::suballoc::peers_named;
use crate::suballoc::replay::{ALLOCATE, FREE};
use crate::suballoc::trace::{Kind, Trace};
use crate::suballoc::workloads::{self, Scale};
use crate::table::table;

/// Calls of a workload, allocations and frees.
const CALLS: usize = 100_000;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
    /// A workload; may be given more than once.
    #[arg(long, value_name = "NAME", default_value = "W1")]
    pub workload: Vec<String>,
    /// Replay with one peer, to be watched by callgrind.
    #[arg(long, hide = true)]
    pub replay: Option<String>,
}

/// Counts and prints.
///
/// # Errors
/// There is no such peer, or no callgrind.
pub fn run(args: &Args) -> Result {
    for workload in &args.workload {
        let trace = workloads::named(workload, 1, Scale::Short);
        let mut trace = trace.ok_or_else(|| format!("no workload is called {workload}"))?;
        trace.ops.truncate(CALLS);
        if let Some(name) = &args.replay {
            let peers = peers_named(&[])?;
            let peer = peers.iter().find(|peer| peer.name == name);
            (peer.ok_or_else(|| format!("no peer is called {name}"))?.counted)(&trace, trace.ample_bytes);
            continue;
        }
        let peers = peers_named(&args.only)?;
        let counts = peers.iter().filter(|peer| (peer.can_replay)(&trace));
        let rows = counts.map(|peer| count(peer, &trace)).collect::<Result<Vec<_>>>()?;
        let table = table(
            "peer | memory | allocate | free | both | data misses of L1 | of the last level | mispredicted jumps",
            rows,
        );
        println!("{}, {} calls: instructions per call\n\n{table}", trace.name, trace.ops.len());
    }
    Ok(())
}

/// A row: the average of a peer's calls.
fn count(peer: &Contender, trace: &Trace) -> Result<String> {
    let calls = |kind| trace.ops.iter().filter(|op| op.kind == kind).count().max(1) as f64;
    let replay = ["instructions", "--replay", peer.name, "--workload", &trace.name];
    let [allocations, frees] = [ALLOCATE, FREE].map(|function| events(&replay, function, true));
    let (allocations, frees) = (allocations?, frees?);
    let [of_one, of_other] = [calls(Kind::Allocate), calls(Kind::Free)];
    // In callgrind's order: instructions, reads and writes of data, misses of L1 by instructions and by each of them, of the last
    // level likewise, then conditional jumps and how many were mispredicted, indirect jumps likewise.
    let per_call = |event: usize| {
        let of = |events: &[u64]| events.get(event).copied().unwrap_or(0) as f64;
        (of(&allocations) / of_one, of(&frees) / of_other)
    };
    let (allocation, free) = per_call(0);
    let both_of = |one: usize, other: usize| {
        let [one, other] = [per_call(one), per_call(other)];
        format!("{:.2} + {:.2}", one.0 + other.0, one.1 + other.1)
    };
    let space = match peer.space {
        Space::One => "one range",
        Space::Blocks => "blocks",
        Space::None => "–",
    };
    let (both, first, last, jumps) = (allocation + free, both_of(4, 5), both_of(7, 8), both_of(10, 12));
    Ok(format!(
        "{} | {space} | {allocation:.0} | {free:.0} | {both:.0} | {first} | {last} | {jumps}",
        peer.name
    ))
}

/// The instructions of this program with the arguments inside the functions whose names contain `function`.
///
/// # Errors
/// There is no callgrind, or the program fails.
pub(crate) fn collected(arguments: &[&str], function: &str) -> Result<u64> {
    Ok(events(arguments, function, false)?.first().copied().unwrap_or(0))
}

/// As [`collected`], with the accesses of data, their cache misses and jumps if `all`.
fn events(arguments: &[&str], function: &str, all: bool) -> Result<Vec<u64>> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .args(["cache", "branch"].map(|part| format!("--{part}-sim={}", if all { "yes" } else { "no" })))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .stdout(Stdio::null());
    let output = command.output().map_err(|error| {
        format!("valgrind, which has callgrind, cannot be run: {error}; on Debian: apt-get install valgrind")
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The line `==1234== Collected : 5678`, with more numbers for caches.
    let line = said.lines().find_map(|line| line.split_once("Collected : "));
    let counts =
        line.map(|(_, counts)| counts.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>());
    Ok(counts
        .and_then(Result::ok)
        .ok_or_else(|| format!("callgrind failed on {}:\n{said}", arguments.join(" ")))?)
}
