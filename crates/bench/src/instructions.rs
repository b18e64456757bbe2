//! Instructions per call, counted by callgrind: the same on a busy machine as on a quiet one.

use std::process::{Command, Stdio};

use crate::suballoc::counted;
use crate::suballoc::peers::{Contender, Space};
use crate::suballoc::peers_named;
use crate::suballoc::trace::{Kind, Trace};
use crate::suballoc::workloads::{self, Scale};
use crate::table::{row, table};

/// Calls of the workload W1, allocations and frees.
const CALLS: usize = 100_000;

/// What to count.
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
pub fn run(args: &Args) -> Result<(), String> {
    let trace = workloads::named("W1", 1, Scale::Short).ok_or("there is no W1")?.cut(CALLS);
    if let Some(name) = &args.replay {
        let peers = peers_named(&[], true)?;
        let peer = peers.iter().find(|peer| peer.name == name);
        let peer = peer.ok_or_else(|| format!("no peer is called {name}"))?;
        (peer.counted)(&trace, trace.ample_bytes);
        return Ok(());
    }
    let peers = peers_named(&args.only, false)?;
    let can_replay = |peer: &&Contender| (peer.can_replay)(&trace);
    let counts = peers.iter().filter(can_replay).map(|peer| count(peer, &trace));
    let counts: Vec<_> = counts.collect::<Result<_, _>>()?;
    let header = ["peer", "memory", "allocate", "free", "both"];
    println!("{}, {} calls: instructions\n\n{}", trace.name, trace.calls, table(&header, counts));
    Ok(())
}

/// A row: what a peer's calls took on average.
fn count(peer: &Contender, trace: &Trace) -> Result<Vec<String>, String> {
    let calls = |kind| trace.ops.iter().filter(|op| op.kind == kind).count().max(1) as f64;
    let allocation = collected(peer, counted::ALLOCATE)? as f64 / calls(Kind::Allocate);
    let free = collected(peer, counted::FREE)? as f64 / calls(Kind::Free);
    let space = match peer.space {
        Space::One => "one range",
        Space::Blocks => "blocks",
        Space::None => "–",
    };
    let figures = [allocation, free, allocation + free].map(|figure| format!("{figure:.0}"));
    Ok([row![peer.name, space], figures.to_vec()].concat())
}

/// Replays under callgrind, which counts only inside the functions whose names contain `function`.
fn collected(peer: &Contender, function: &str) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args(["instructions", "--replay", peer.name])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| {
            format!(
                "valgrind, which has callgrind, cannot be run: {error}; on Debian: apt-get install valgrind"
            )
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(parsed);
    count.ok_or_else(|| format!("callgrind failed on {}:\n{said}", peer.name))
}

/// The number in callgrind's line `==1234== Collected : 5678`.
fn parsed(line: &str) -> Option<u64> {
    line.split_once("Collected : ")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parsed;

    #[test]
    fn the_count_is_read_from_callgrinds_summary() {
        assert_eq!(parsed("==77== Collected : 81234567"), Some(81_234_567));
        assert_eq!(parsed("==77== I   refs:      0"), None);
        assert_eq!(parsed("==77== Collected : "), None);
    }
}
