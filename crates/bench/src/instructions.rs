//! Instructions per call, counted by callgrind: the same on a busy machine as on a quiet one.

use std::process::{Command, Stdio};

use crate::Result;
use crate::suballoc::peers::{Contender, Space};
use crate::suballoc::peers_named;
use crate::suballoc::replay::{ALLOCATE, FREE};
use crate::suballoc::trace::{Kind, Trace};
use crate::suballoc::workloads::{self, Scale};
use crate::table::table;

/// Calls of the workload W1, allocations and frees.
const CALLS: usize = 100_000;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
    /// Replay with one peer, to be watched by callgrind.
    #[arg(long, hide = true)]
    pub replay: Option<String>,
}

/// Counts and prints.
///
/// # Errors
/// There is no such peer, or no callgrind.
pub fn run(args: &Args) -> Result {
    let mut trace = workloads::named("W1", 1, Scale::Short).ok_or("there is no W1")?;
    trace.ops.truncate(CALLS);
    if let Some(name) = &args.replay {
        let peers = peers_named(&[])?;
        let peer = peers.iter().find(|peer| peer.name == name);
        (peer.ok_or_else(|| format!("no peer is called {name}"))?.counted)(&trace, trace.ample_bytes);
        return Ok(());
    }
    let peers = peers_named(&args.only)?;
    let counts = peers.iter().filter(|peer| (peer.can_replay)(&trace)).map(|peer| count(peer, &trace));
    let table = table("peer | memory | allocate | free | both", counts.collect::<Result<Vec<_>>>()?);
    println!("{}, {CALLS} calls: instructions\n\n{table}", trace.name);
    Ok(())
}

/// A row: the average of a peer's calls.
fn count(peer: &Contender, trace: &Trace) -> Result<String> {
    let calls = |kind| trace.ops.iter().filter(|op| op.kind == kind).count().max(1) as f64;
    let replay = ["instructions", "--replay", peer.name];
    let allocation = collected(&replay, ALLOCATE)? as f64 / calls(Kind::Allocate);
    let free = collected(&replay, FREE)? as f64 / calls(Kind::Free);
    let space = match peer.space {
        Space::One => "one range",
        Space::Blocks => "blocks",
        Space::None => "–",
    };
    let both = allocation + free;
    Ok(format!("{} | {space} | {allocation:.0} | {free:.0} | {both:.0}", peer.name))
}

/// Runs this program with the arguments under callgrind, which counts only inside the functions whose names contain
/// `function`.
///
/// # Errors
/// There is no callgrind, or the program fails.
pub(crate) fn collected(arguments: &[&str], function: &str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .stdout(Stdio::null());
    let output = command.output().map_err(|error| {
        format!("valgrind, which has callgrind, cannot be run: {error}; on Debian: apt-get install valgrind")
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The line `==1234== Collected : 5678`.
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    Ok(count.ok_or_else(|| format!("callgrind failed on {}:\n{said}", arguments.join(" ")))?)
}
