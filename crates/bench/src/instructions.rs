//! Instructions per call, counted by callgrind: the same on a busy machine as on a quiet one.

use std::process::{Command, Stdio};

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use crate::suballoc::counted;
use crate::suballoc::peers::{Contender, Space};
use crate::suballoc::peers_named;
use crate::suballoc::trace::{Kind, Trace};
use crate::suballoc::workloads::{self, NAMES, Scale};

/// What to count.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What the workload is drawn from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The workload.
    #[arg(long, default_value = "W1", value_parser = NAMES)]
    pub workload: String,
    /// Calls at most, allocations and frees.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub calls: u32,
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Replay with one peer, to be watched by callgrind.
    #[arg(long, hide = true)]
    pub replay: Option<String>,
}

/// Counts and prints.
///
/// # Errors
/// There is no such peer, or no callgrind.
pub fn run(args: &Args) -> Result<(), String> {
    let trace = workloads::named(&args.workload, args.seed, Scale::Short);
    let trace = trace.ok_or_else(|| format!("no workload is called {}", args.workload))?;
    let trace = trace.cut(args.calls as usize);
    if let Some(name) = &args.replay {
        let peers = peers_named(&[], true)?;
        let peer = peers.iter().find(|peer| peer.name == name);
        let peer = peer.ok_or_else(|| format!("no peer is called {name}"))?;
        (peer.counted)(&trace, trace.ample_bytes);
        return Ok(());
    }
    let peers = peers_named(&args.only, false)?;
    let can_replay = |peer: &&Contender| (peer.can_replay)(&trace);
    let counts = peers.iter().filter(can_replay).map(|peer| count(args, peer, &trace));
    let counts: Vec<_> = counts.collect::<Result<_, _>>()?;
    if args.json {
        println!("{:#}", to_json(args, &counts));
    } else {
        println!("{}, {} calls: instructions\n\n{}", trace.name, trace.calls, table(&counts));
    }
    Ok(())
}

/// What a peer's calls took on average.
struct Count {
    peer: &'static str,
    space: Space,
    allocation: f64,
    free: f64,
}

fn count(args: &Args, peer: &Contender, trace: &Trace) -> Result<Count, String> {
    let calls = |kind| trace.ops.iter().filter(|op| op.kind == kind).count().max(1) as f64;
    Ok(Count {
        peer: peer.name,
        space: peer.space,
        allocation: collected(args, peer, counted::ALLOCATE)? as f64 / calls(Kind::Allocate),
        free: collected(args, peer, counted::FREE)? as f64 / calls(Kind::Free),
    })
}

/// Replays under callgrind, which counts only inside the functions whose names contain `function`.
fn collected(args: &Args, peer: &Contender, function: &str) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args(["instructions", "--workload", &args.workload, "--replay", peer.name])
        .args(["--seed", &args.seed.to_string(), "--calls", &args.calls.to_string()])
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

fn table(counts: &[Count]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["peer", "memory", "allocate", "free", "both"]);
    for count in counts {
        let space = match count.space {
            Space::One => "one range",
            Space::Blocks => "blocks",
            Space::None => "–",
        };
        let figures = [count.allocation, count.free, count.allocation + count.free];
        let figures = figures.map(|figure| format!("{figure:.0}"));
        table.add_row([count.peer.to_owned(), space.to_owned()].into_iter().chain(figures));
    }
    table
}

fn to_json(args: &Args, counts: &[Count]) -> Value {
    let peer =
        |count: &Count| (count.peer.to_owned(), json!({ "allocate": count.allocation, "free": count.free }));
    let peers: serde_json::Map<_, _> = counts.iter().map(peer).collect();
    json!({ "workload": args.workload, "seed": args.seed, "instructions": peers })
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
