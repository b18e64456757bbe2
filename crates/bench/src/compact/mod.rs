//! Compaction of fragmented heaps: moved bytes compared with the minimum, freed memory, and time.
//!
//! Each allocator makes its own layout of the same requests and frees, and then compacts it in frames of the
//! same budget. Nothing is copied: the time is that of the planning. The targets apply to tenure's pools.

mod layouts;
mod ours;
#[cfg(not(windows))]
mod vma;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::Result;
use crate::recordings::play::{Handles, Player, handles};
use crate::script::{Call, Request, Script};
use crate::suballoc::chosen;
use crate::table::{all_met, mib, table};
use crate::timing::medians;

/// Limit on moved bytes per frame.
const FRAME_BYTES: u64 = 16 << 20;
/// Limit on moves per frame.
const FRAME_MOVES: u32 = 128;

/// Target: moved bytes divided by the minimum, at most.
const OVER_MINIMUM: f64 = 1.15;
/// Target: live bytes divided by reserved bytes afterwards, at least, on the generated layouts.
const LIVE_SHARE: f64 = 0.95;
/// Target: microseconds of the worst frame, at most, up to this number of allocations.
const WORST: (f64, usize) = (200.0, 20_000);

/// The arguments.
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

/// The result of compaction, frame by frame.
#[derive(Default)]
struct Frames {
    /// Nanoseconds.
    times: Vec<u32>,
    moves: u64,
    /// Requested bytes of the moved allocations.
    bytes: u64,
    /// Repeated moves, and moves out of blocks that were kept; `None` if unknown.
    wasted: Option<u64>,
}

/// An allocator that compacts.
struct Compactor<P: Player> {
    make: fn() -> Result<P>,
    /// Bytes of all blocks.
    reserved: fn(&P) -> u64,
    /// Compacts frame by frame until nothing is left to do.
    compact: fn(&mut P, &mut Handles<P>) -> Result<Frames>,
}

/// Makes the layout of a script, and compacts it.
type Play = fn(&Script) -> Result<Outcome>;

/// Each allocator with its name.
const CONTENDERS: &[(&str, Play)] = &[
    ("HeapPools", |script| play(script, &ours::COMPACTOR)),
    #[cfg(not(windows))]
    ("VMA, fast", |script| play(script, &vma::compactor::<1>())),
    #[cfg(not(windows))]
    ("VMA, balanced", |script| play(script, &vma::compactor::<2>())),
    #[cfg(not(windows))]
    ("VMA, full", |script| play(script, &vma::compactor::<4>())),
];

/// Prints the result of each allocator for each layout.
///
/// # Errors
/// A recording cannot be read, a peer is unknown, an allocator refused a request or returned an unusable range,
/// or a target that does not depend on the machine is missed.
pub fn run(args: &Args) -> Result {
    let peers = chosen("peer", CONTENDERS.to_vec(), |(name, _)| name, &args.only)?;
    let (mut rows, mut missed) = (Vec::new(), 0);
    for script in layouts::all(&args.files)? {
        for (name, play) in &peers {
            let rounds = (0..args.rounds).map(|_| play(&script)).collect::<Result<Vec<_>>>();
            let rounds = rounds.map_err(|fault| format!("{name} on {}: {fault}", script.name))?;
            // The rounds differ only in their times.
            let times: Vec<_> = rounds.iter().map(|round| round.frames.times.clone()).collect();
            let Some(mut outcome) = rounds.into_iter().next() else { continue };
            outcome.frames.times = medians(&times);
            missed += outcome.targets().iter().filter(|(what, is_met)| !is_met && *what != TIME).count();
            rows.push(format!("{} | {name} | {}", script.name, outcome.row()));
        }
    }
    let header = "layout | peer | live: number, MiB | reserved, MiB: before | after | live/reserved: before | after | \
                  moved, MiB | over the least | wasted moves | frames | worst frame, µs | all, µs | targets";
    let (worst, allocations) = WORST;
    println!(
        "{}\n\nTargets, for HeapPools: over the least at most {OVER_MINIMUM}; no wasted move; live/reserved at \
         least {LIVE_SHARE} on the first two layouts; up to {allocations} allocations the worst frame at most {worst} µs, \
         which does not count as missed when the command fails",
        table(header, rows)
    );
    all_met(missed)
}

/// The result of compacting a layout.
struct Outcome {
    /// True for a generated layout, with enough blocks for dense compaction.
    is_made: bool,
    allocations: usize,
    /// Requested bytes of the live allocations.
    live: u64,
    reserved_before: u64,
    reserved_after: u64,
    frames: Frames,
    /// The minimum of bytes to move to empty the same number of blocks.
    minimum: u64,
}

/// The target that depends on the machine.
const TIME: &str = "time";

impl Outcome {
    fn live_share(&self, reserved: u64) -> f64 {
        self.live as f64 / reserved.max(1) as f64
    }

    /// Moved bytes divided by this minimum; 1 if nothing had to move and nothing did.
    fn over_minimum(&self) -> f64 {
        match (self.frames.bytes, self.minimum) {
            (0, 0) => 1.0,
            (bytes, minimum) => bytes as f64 / minimum as f64,
        }
    }

    /// Microseconds of the slowest frame.
    fn worst(&self) -> f64 {
        f64::from(self.frames.times.iter().copied().max().unwrap_or(0)) / 1000.0
    }

    /// The targets, which are tenure's, and whether each is met.
    fn targets(&self) -> Vec<(&'static str, bool)> {
        let Some(wasted) = self.frames.wasted else { return Vec::new() };
        let mut targets =
            vec![("bytes moved", self.over_minimum() <= OVER_MINIMUM), ("wasted moves", wasted == 0)];
        if self.is_made {
            targets.push(("live/reserved", self.live_share(self.reserved_after) >= LIVE_SHARE));
        }
        if self.allocations <= WORST.1 {
            targets.push((TIME, self.worst() <= WORST.0));
        }
        targets
    }

    fn row(&self) -> String {
        let Self { allocations, live, reserved_before, reserved_after, ref frames, .. } = *self;
        let reserved = [reserved_before, reserved_after];
        let targets = self.targets();
        let missed = targets.iter().filter(|(_, is_met)| !is_met).map(|(what, _)| *what);
        let verdict = match (&targets[..], &missed.collect::<Vec<_>>()[..]) {
            ([], _) => String::new(),
            (_, []) => "met".to_owned(),
            (_, missed) => format!("missed: {}", missed.join(", ")),
        };
        let total = frames.times.iter().map(|time| f64::from(*time)).sum::<f64>() / 1000.0;
        let wasted = frames.wasted.map_or_else(|| "?".to_owned(), |wasted| wasted.to_string());
        let [before, after] = reserved.map(|bytes| format!("{:.3}", self.live_share(bytes)));
        let ([live, reserved_before, reserved_after, moved], count) =
            ([live, reserved[0], reserved[1], frames.bytes].map(mib), frames.times.len());
        let (over, worst) = (self.over_minimum(), self.worst());
        format!(
            "{allocations}, {live} | {reserved_before} | {reserved_after} | {before} | {after} | {moved} | {over:.2} | \
             {wasted} | {count} | {worst:.0} | {total:.0} | {verdict}"
        )
    }
}

/// Makes the layout of a script, and compacts it.
fn play<P: Player>(script: &Script, compactor: &Compactor<P>) -> Result<Outcome> {
    let mut player = (compactor.make)()?;
    let mut handles = handles::<P>(script);
    let mut requests = vec![None; script.slots];
    for call in &script.calls {
        match call {
            Call::Allocate { slot, request } => {
                handles[*slot] = Some(player.allocate(request)?);
                requests[*slot] = Some(*request);
            }
            Call::Free { slot } => {
                requests[*slot] = None;
                handles[*slot].take().map_or(Ok(()), |handle| player.free(handle))?;
            }
            Call::EndFrame => {}
        }
    }
    let before = blocks(&player, &handles, &requests)?;
    let reserved_before = (compactor.reserved)(&player);
    let frames = (compactor.compact)(&mut player, &mut handles)?;
    let after = blocks(&player, &handles, &requests)?;
    let mut sums: Vec<u64> = before.into_values().collect();
    sums.sort_unstable();
    let outcome = Outcome {
        is_made: layouts::is_made(script),
        allocations: handles.iter().flatten().count(),
        live: sums.iter().sum(),
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
/// Two allocations overlap, or one is not aligned.
fn blocks<P: Player>(
    player: &P,
    handles: &[Option<P::Handle>],
    requests: &[Option<Request>],
) -> Result<HashMap<u64, u64>> {
    let mut places = BTreeMap::new();
    for (handle, request) in handles.iter().zip(requests).filter_map(|(one, of)| one.as_ref().zip(*of)) {
        let (block, offset) = player.place(handle);
        if !offset.is_multiple_of(request.align) {
            return Err(format!("{offset} is no multiple of {}", request.align).into());
        }
        if places.insert((block, offset), request.size).is_some() {
            return Err("two allocations are in one place".into());
        }
    }
    let mut blocks = HashMap::new();
    let mut end = (0, 0);
    for ((block, offset), size) in places {
        if block == end.0 && offset < end.1 {
            return Err("two allocations overlap".into());
        }
        end = (block, offset + size);
        *blocks.entry(block).or_default() += size;
    }
    Ok(blocks)
}
