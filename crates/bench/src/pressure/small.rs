//! Scenarios of many small resources that share blocks: only these page in unused resources, together with used
//! ones.

use test_random::Rng;

use super::trace::Trace;

const KIB: u64 = 1 << 10;

/// Things created in one frame.
const LOADED: usize = 100;

/// Things of 64 to 512 KiB, which are created over some frames.
fn world(trace: &mut Trace, count: usize, percent: u64) -> Vec<usize> {
    let mut rng = Rng::new(count as u64);
    let sizes: Vec<_> = (0..count).map(|_| (4 + rng.below(29)) * 16 * KIB).collect();
    trace.budget = sizes.iter().sum::<u64>() * percent / 100;
    sizes.chunks(LOADED).flat_map(|sizes| trace.world(sizes.iter().copied())).collect()
}

/// Things along a road. The camera sees some in a row.
const ROAD: usize = 3000;
const SEEN: usize = 160;
const STEP: usize = 8;

/// Laps along a road whose things were created in this order.
fn road(name: &'static str, laps: usize, order: impl FnOnce(&mut Vec<usize>)) -> Trace {
    let mut trace = Trace::new(name, 0);
    let mut things = world(&mut trace, ROAD, 75);
    order(&mut things);
    for first in (0..ROAD * laps).step_by(STEP) {
        trace.draw((first..first + SEEN).map(|place| things[place % ROAD]).collect());
    }
    trace
}

/// The camera goes along a road whose things were created in their order.
pub(super) fn in_order_of_road(laps: usize) -> Trace {
    road("small resources along a road", laps, |_| {})
}

/// The same with an order of creation unrelated to the road. No targets: without moves, no block could hold
/// objects that are used together.
pub(super) fn in_other_order(laps: usize) -> Trace {
    road("small resources in no order (no target)", laps, |things| {
        let mut rng = Rng::new(3);
        for end in (1..things.len()).rev() {
            things.swap(end, rng.below(end as u64 + 1) as usize);
        }
    })
}

/// Tiles of a map in each direction, things on each, and tiles in view in each direction.
const MAP: usize = 32;
const THINGS: usize = 3;
const VIEW: usize = 7;

/// The camera goes around on a map whose things were created tile by tile, row by row. No targets: where it goes across
/// the rows, it sees parts of blocks.
pub(super) fn in_order_of_map(laps: usize) -> Trace {
    let mut trace = Trace::new("small resources on a map (no target)", 0);
    let things = world(&mut trace, MAP * MAP * THINGS, 30);
    let far = MAP - VIEW;
    for _ in 0..laps {
        let there = (0..far).map(|step| (step, 0)).chain((0..far).map(|step| (far, step)));
        let back = (0..far).map(|step| (far - step, far)).chain((0..far).map(|step| (0, far - step)));
        for (x, y) in there.chain(back) {
            let rows = (y..y + VIEW).map(|row| (row * MAP + x) * THINGS);
            let view = rows.flat_map(|first| first..first + VIEW * THINGS);
            trace.draw(view.map(|thing| things[thing]).collect());
        }
    }
    trace
}
