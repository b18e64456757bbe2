//! Compaction of fragmented heaps: bytes moved beside the least that there is to move, memory given back, and time.
//!
//! Each allocator makes its own layout of the same requests and frees, and then compacts it in frames of the same
//! budget. Nothing is copied: the time is that of the decisions. The targets are those of tenure's pools.

mod layouts;
mod ours;
mod report;
#[cfg(not(windows))]
mod vma;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use report::{Line, Report};

use crate::recordings::play::{Handles, Player, handles};
use crate::script::{Call, Script};

/// Bytes that are moved in a frame at most.
const FRAME_BYTES: u64 = 16 << 20;
/// Moves in a frame at most.
const FRAME_MOVES: u32 = 128;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Recordings; those of the repository when none is named.
    pub files: Vec<PathBuf>,
    /// Rounds; of the time of each frame the median of the rounds counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long, value_name = "PEER")]
    pub only: Vec<String>,
}

/// What compaction did, frame by frame.
#[derive(Default)]
struct Frames {
    /// Nanoseconds.
    times: Vec<u32>,
    moves: u64,
    /// Bytes asked for by what moved.
    bytes: u64,
    /// Moves of what had moved before, and moves out of blocks that were not given back; where they are known.
    wasted: Option<u64>,
}

/// Compacts until nothing is left to do, one frame after the other.
type Compact<P> = fn(&mut P, &mut Handles<P>) -> Result<Frames, String>;

/// An allocator that compacts.
struct Compactor<P: Player> {
    make: fn() -> Result<P, String>,
    /// Bytes of all blocks.
    reserved: fn(&P) -> u64,
    compact: Compact<P>,
}

/// An allocator with its name.
struct Contender {
    name: &'static str,
    play: fn(&Script) -> Result<Outcome, String>,
}

const CONTENDERS: &[Contender] = &[
    Contender { name: "HeapPools", play: |script| play(script, &ours::COMPACTOR) },
    #[cfg(not(windows))]
    Contender { name: "VMA, fast", play: |script| play(script, &vma::compactor::<1>()) },
    #[cfg(not(windows))]
    Contender { name: "VMA, balanced", play: |script| play(script, &vma::compactor::<2>()) },
    #[cfg(not(windows))]
    Contender { name: "VMA, full", play: |script| play(script, &vma::compactor::<4>()) },
];

/// What compacting a layout came to.
struct Outcome {
    /// The layout is made, with blocks enough to be compacted densely.
    is_made: bool,
    allocations: usize,
    /// Bytes asked for by what lives.
    live: u64,
    reserved_before: u64,
    reserved_after: u64,
    frames: Frames,
    /// The least bytes whose moves empty as many blocks as were emptied.
    minimum: u64,
}

/// Prints what each allocator makes of each layout.
///
/// # Errors
/// A recording cannot be read, a peer is unknown, an allocator refused a request or returned what cannot be used, or a
/// target is missed that does not depend on the machine.
pub fn run(args: &Args) -> Result<(), String> {
    let names: Vec<_> = CONTENDERS.iter().map(|peer| peer.name).collect();
    let names = crate::suballoc::chosen("peer", &names, &args.only)?;
    let mut report = Report::default();
    for script in layouts::all(&args.files)? {
        for contender in CONTENDERS.iter().filter(|peer| names.contains(&peer.name)) {
            let failed = |fault| format!("{} on {}: {fault}", contender.name, script.name);
            let rounds = (0..args.rounds).map(|_| (contender.play)(&script).map_err(failed));
            let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
            report.lines.extend(Line::new(&script.name, contender.name, rounds));
        }
    }
    println!("{report}");
    let missed = report.missed();
    if missed == 0 { Ok(()) } else { Err(format!("{missed} targets are missed")) }
}

/// Makes the layout of a script, and compacts it.
fn play<P: Player>(script: &Script, compactor: &Compactor<P>) -> Result<Outcome, String> {
    let mut player = (compactor.make)()?;
    let mut handles = handles::<P>(script);
    let mut sizes = vec![0; script.slots];
    for call in &script.calls {
        match call {
            Call::Allocate { slot, request } => {
                handles[*slot] = Some(player.allocate(request)?);
                sizes[*slot] = request.size;
            }
            Call::Free { slot } => {
                sizes[*slot] = 0;
                handles[*slot].take().map_or(Ok(()), |handle| player.free(handle))?;
            }
            Call::EndFrame => {}
        }
    }
    let before = blocks(&player, &handles, &sizes)?;
    let reserved_before = (compactor.reserved)(&player);
    let frames = (compactor.compact)(&mut player, &mut handles)?;
    let after = blocks(&player, &handles, &sizes)?;
    let mut sums: Vec<u64> = before.into_values().collect();
    sums.sort_unstable();
    let outcome = Outcome {
        is_made: layouts::is_made(script),
        allocations: handles.iter().flatten().count(),
        live: sizes.iter().sum(),
        reserved_before,
        reserved_after: (compactor.reserved)(&player),
        frames,
        minimum: sums.iter().take(sums.len().saturating_sub(after.len())).sum(),
    };
    // Some allocators require to be empty when dropped.
    handles.into_iter().flatten().try_for_each(|handle| player.free(handle))?;
    Ok(outcome)
}

/// The bytes that live in each block.
///
/// # Errors
/// Two allocations overlap.
fn blocks<P: Player>(
    player: &P,
    handles: &[Option<P::Handle>],
    sizes: &[u64],
) -> Result<HashMap<u64, u64>, String> {
    let live = handles.iter().zip(sizes).filter_map(|(handle, size)| Some((handle.as_ref()?, *size)));
    let places: BTreeMap<_, _> = live.clone().map(|(handle, size)| (player.place(handle), size)).collect();
    let overlaps = |((block, offset), size): (&(u64, u64), &u64), next: &(u64, u64)| {
        *block == next.0 && offset + size > next.1
    };
    let is_wrong = places.iter().zip(places.keys().skip(1)).any(|(one, next)| overlaps(one, next));
    if is_wrong || places.len() < live.count() {
        return Err("two allocations overlap".to_owned());
    }
    let mut blocks = HashMap::new();
    for ((block, _), size) in places {
        *blocks.entry(block).or_default() += size;
    }
    Ok(blocks)
}
