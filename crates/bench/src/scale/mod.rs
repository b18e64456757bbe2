//! The time of an allocation and of the end of a frame, by the number of live resources and blocks, on a
//! [null device](crate::null).
//!
//! All scenes exist at the same time and alternate, so that other load on the machine and the age of the
//! managers affect all of them alike.

mod scene;

use tenure_core::{Config, Error, PoolConfig};

use crate::table::{row, table};
use scene::{Line, Scene};

/// Rounds of each measurement; the result is their median.
const ROUNDS: u32 = 301;
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
pub fn run() -> Result<(), Error> {
    let mut scenes = scenes()?;
    let count = scenes.len();
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            scenes.iter_mut().for_each(Scene::forget_times);
        }
        // Another one begins each time.
        scenes.rotate_left(1);
        scenes.iter_mut().try_for_each(Scene::round)?;
    }
    // Back to the order they were made in.
    scenes.rotate_right((WARM_UP + ROUNDS) as usize % count);
    let lines: Vec<Line> = scenes.into_iter().map(Scene::line).collect();
    let rows = lines.iter().map(|line| {
        let figures = line.ns.map(|ns| format!("{ns:.1}"));
        [row![line.live, line.blocks], figures.to_vec()].concat()
    });
    let spreads = (0..HEADER.len() - 2).map(|column| spread(lines.iter().map(|line| line.ns[column])));
    let spreads = row!["median", ""].into_iter().chain(spreads).collect();
    println!("{}", table(&HEADER, rows.chain([spreads])));
    Ok(())
}

const HEADER: [&str; 8] = [
    "alive",
    "blocks",
    "frame end, idle (ns)",
    "create",
    "drop",
    "frame end, a release of what is new, side by side",
    "each in a hole",
    "of what is anywhere",
];

/// The median of the scenes, and how far the least and the most are from it.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let (least, median, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
    let percent = |value: f64| (value / median - 1.0) * 100.0;
    format!("{median:.1} ({:+.0} %, {:+.0} %)", percent(least), percent(most))
}

fn scenes() -> Result<Vec<Scene>, Error> {
    let alive = |live: &usize| Scene::new(&Config::default(), 4096, *live, (0, 0));
    let config =
        Config::from(PoolConfig { min_block: BLOCK, max_buffer_block: BLOCK, ..PoolConfig::default() });
    let in_blocks = |blocks: &usize| Scene::new(&config, 1024, LIVE[0], (LARGE, *blocks));
    LIVE.iter().map(alive).chain(BLOCKS.iter().map(in_blocks)).collect()
}
