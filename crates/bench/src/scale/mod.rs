//! The time of an allocation and of the end of a frame, by the number of live resources and blocks, on a
//! [null device](crate::null).
//!
//! All scenes exist at the same time and alternate, so that other load on the machine and the age of the
//! managers affect all of them alike.

mod report;
mod scene;

use tenure_core::{Config, Error, PoolConfig};

use report::Report;
use scene::Scene;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 301, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Only so much alive, and no scenes of many blocks; may be given more than once.
    #[arg(long)]
    pub live: Vec<usize>,
}

/// Resources alive.
const LIVE: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Blocks, each with one resource that fills most of it, beside a thousand small ones.
const BLOCKS: [usize; 4] = [1, 10, 100, 1000];
/// Bytes of such a block.
const BLOCK: u64 = 16 << 20;
/// Bytes of what fills most of it.
const LARGE: u64 = 12 << 20;
/// Rounds until pools and vectors have their size, and holes are where they stay.
const WARM_UP: u32 = 30;

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run(args: &Args) -> Result<(), Error> {
    let mut scenes = scenes(args)?;
    let count = scenes.len();
    for round in 0..WARM_UP + args.rounds {
        if round == WARM_UP {
            scenes.iter_mut().for_each(Scene::forget_times);
        }
        // Another one begins each time.
        scenes.rotate_left(1);
        scenes.iter_mut().try_for_each(Scene::round)?;
    }
    // Back to the order they were made in.
    scenes.rotate_right((WARM_UP + args.rounds) as usize % count);
    let report = Report(scenes.into_iter().map(Scene::line).collect());
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
    Ok(())
}

fn scenes(args: &Args) -> Result<Vec<Scene>, Error> {
    let alive = |live: &usize| Scene::new(&Config::default(), 4096, *live, (0, 0));
    if !args.live.is_empty() {
        return args.live.iter().map(alive).collect();
    }
    let config =
        Config::from(PoolConfig { min_block: BLOCK, max_buffer_block: BLOCK, ..PoolConfig::default() });
    let in_blocks = |blocks: &usize| Scene::new(&config, 1024, LIVE[0], (LARGE, *blocks));
    LIVE.iter().map(alive).chain(BLOCKS.iter().map(in_blocks)).collect()
}
