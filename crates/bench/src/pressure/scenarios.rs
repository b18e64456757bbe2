//! The scenarios: all are the same in each run.

use tenure_core::Queue;
use test_random::Rng;

use super::small;
use super::trace::{Frame, LOCAL, SYSTEM, Submission, Trace};

const MIB: u64 = 1 << 20;

/// All scenarios that have targets, with this number of laps of a camera, or rounds.
pub(super) fn all(laps: usize) -> Vec<Trace> {
    vec![
        shrinks(laps),
        local_short(laps),
        both_segments(laps),
        larger_than_budget(laps),
        cyclic(laps),
        refilled(laps),
        idle(laps),
        background(laps, "background, budget 0", 0),
        background(laps, "background, budget 8 MiB", 8 * MIB),
        copy_queue(laps),
        sawtooth(laps),
        small::in_order_of_road(laps),
    ]
}

/// Sizes of 1 to 3 MiB.
fn sizes(count: usize) -> impl Iterator<Item = u64> {
    (0..count).map(|index| (1 + index as u64 * 7 % 3) * MIB)
}

/// The view of a camera at a point of a round trip: some tiles in a row.
fn view(tiles: &[usize], first: usize, count: usize) -> Vec<usize> {
    (first..first + count).map(|index| tiles[index % tiles.len()]).collect()
}

/// A world. Some objects are used in each frame, the others when they are in view.
struct World {
    trace: Trace,
    hot: Vec<usize>,
    tiles: Vec<usize>,
}

impl World {
    /// A scenario with a budget of `percent` per cent of the world.
    fn new(name: &'static str, hot: usize, tiles: usize, percent: u64) -> Self {
        let mut trace = Trace::new(name, 0);
        let mut world = trace.world(sizes(hot + tiles));
        trace.budget = trace.local(&world) * percent / 100;
        let tiles = world.split_off(hot);
        Self { trace, hot: world, tiles }
    }

    /// A lap around the world.
    fn lap(&mut self) {
        (0..self.tiles.len()).for_each(|first| {
            self.look(first);
        });
    }

    fn look(&mut self, first: usize) -> &mut Frame {
        let uses = self.hot.iter().copied().chain(view(&self.tiles, first, 6)).collect();
        self.trace.draw(uses)
    }
}

/// A world that fits loses 30 % of its budget for 200 frames, while the camera makes round trips.
fn shrinks(laps: usize) -> Trace {
    let mut world = World::new("budget -30 % and back", 20, 100, 102);
    let budget = world.trace.budget;
    (0..2).for_each(|_| world.lap());
    world.look(0).budget = Some(budget * 7 / 10);
    (0..laps.min(2)).for_each(|_| world.lap());
    world.look(0).budget = Some(budget);
    (0..laps.min(2)).for_each(|_| world.lap());
    world.trace
}

/// The camera goes to and fro; local memory is short by a quarter, and system memory is ample.
fn local_short(laps: usize) -> Trace {
    let mut world = World::new("local short, system ample", 16, 80, 75);
    let system: Vec<_> = (0..16).map(|_| world.trace.thing(4 * MIB, SYSTEM)).collect();
    world.trace.frames.push(Frame { created: system, ..Frame::default() });
    for _ in 0..laps + 1 {
        for first in 0..74 {
            world.look(first);
        }
        for first in (0..74).rev() {
            world.look(first);
        }
    }
    world.trace
}

/// Each submission uses local memory, which is short, and the system's.
fn both_segments(laps: usize) -> Trace {
    let mut world = World::new("both segments in one submission", 10, 60, 80);
    let system: Vec<_> = (0..32).map(|_| world.trace.thing(2 * MIB, SYSTEM)).collect();
    world.trace.frames.push(Frame { created: system.clone(), ..Frame::default() });
    for step in 0..60 * (laps + 1) {
        let shared = view(&system, step, 4);
        world.look(step).submissions[0].uses.extend(shared);
    }
    world.trace
}

/// Now and then a submission uses 120 % of the budget, which has fallen since the world was made: a world
/// larger than the budget would measure the initial delay of the operating system.
fn larger_than_budget(laps: usize) -> Trace {
    let mut trace = Trace::new("one submission larger than the budget", 130 * MIB);
    let world = trace.world((0..60).map(|_| 2 * MIB));
    trace.draw(world.clone());
    for first in 0..12 {
        trace.draw(view(&world, first, 4)).budget = (first == 0).then_some(100 * MIB);
    }
    for _ in 0..2 * laps {
        trace.draw(world.clone());
        for first in 0..12 {
            trace.draw(view(&world, first, 4));
        }
    }
    trace
}

/// A working set that comes back in turn, of 110 % of the budget.
fn cyclic(laps: usize) -> Trace {
    let mut trace = Trace::new("cyclic working set of 110 %", 200 * MIB);
    let world = trace.world((0..110).map(|_| 2 * MIB));
    for step in 0..55 * (laps + 2) {
        trace.draw(view(&world, 2 * step, 2));
    }
    trace
}

/// A level is dropped and another one created, each as large as the budget.
fn refilled(laps: usize) -> Trace {
    let mut trace = Trace::new("everything freed and filled again", 120 * MIB);
    let mut level = Vec::new();
    for _ in 0..laps + 1 {
        let dropped = std::mem::take(&mut level);
        trace.frames.push(Frame { dropped, ..Frame::default() });
        level = trace.world(sizes(60));
        for first in 0..60 {
            trace.draw(view(&level, first, 20));
        }
    }
    trace
}

/// Nothing is drawn for a long time, and idle memory is trimmed again and again.
fn idle(laps: usize) -> Trace {
    let mut world = World::new("idle with periodic trims", 20, 40, 110);
    for _ in 0..laps.min(3) {
        world.lap();
        for frame in 0..600 {
            world.trace.frames.push(Frame { trims: frame % 60 == 0, ..Frame::default() });
        }
        world.lap();
    }
    world.trace
}

/// The program is in the background, where it draws almost nothing, and returns.
fn background(laps: usize, name: &'static str, granted: u64) -> Trace {
    let mut world = World::new(name, 20, 40, 105);
    let budget = world.trace.budget;
    let little = vec![world.hot[0]];
    for _ in 0..laps.min(3) {
        world.lap();
        world.trace.draw(little.clone()).budget = Some(granted);
        for _ in 0..120 {
            world.trace.draw(little.clone());
        }
        world.trace.draw(little.clone()).budget = Some(budget);
        world.lap();
    }
    world.trace
}

/// The copy queue is the last to use the tiles that the camera leaves behind.
fn copy_queue(laps: usize) -> Trace {
    let mut world = World::new("last use on the copy queue", 16, 80, 75);
    for step in 0..80 * (laps + 1) {
        let left = world.tiles[(step + 79) % 80];
        let copy = Submission { queue: Queue::Copy, uses: vec![left] };
        world.look(step).submissions.push(copy);
    }
    world.trace
}

/// The budget rises and falls around the existing bytes, every 10 frames.
fn sawtooth(laps: usize) -> Trace {
    let mut world = World::new("sawtooth around the limit", 40, 60, 103);
    let budget = world.trace.budget;
    (0..2).for_each(|_| world.lap());
    for step in 0..60 * laps {
        let granted = [budget * 9 / 10, budget][step / 10 % 2];
        world.look(step).budget = (step % 10 == 0).then_some(granted);
    }
    world.trace
}

/// A camera that changes its direction at random. No targets, because this is unpredictable.
pub(super) fn wandering(laps: usize) -> Trace {
    let mut rng = Rng::new(7);
    let mut world = World::new("wandering camera (no target)", 16, 80, 75);
    let (mut place, mut forward) = (40, true);
    for _ in 0..80 * laps {
        forward ^= rng.below(25) == 0;
        place = if forward { place + 1 } else { place + 79 } % 80;
        world.look(place);
    }
    world.trace
}

/// Uses without any order, for which there are no targets: no policy can foresee them.
pub(super) fn random(seed: u64, things: usize, frames: usize) -> Trace {
    let mut rng = Rng::new(seed);
    let mut trace = Trace::new("random uses (no target)", 0);
    let world = trace.world(sizes(things));
    let local = trace.local(&world);
    trace.budget = local * (40 + rng.below(50)) / 100;
    for _ in 0..frames {
        let mut uses: Vec<_> =
            (0..1 + rng.below(5)).map(|_| world[rng.below(things as u64) as usize]).collect();
        uses.sort_unstable();
        uses.dedup();
        let queue = if rng.below(8) == 0 { Queue::Copy } else { Queue::Graphics };
        let frame = trace.frame(vec![Submission { queue, uses }]);
        if rng.below(30) == 0 {
            frame.budget = Some(local * (30 + rng.below(60)) / 100);
        }
    }
    debug_assert!(world.iter().all(|thing| trace.things[*thing].segment == LOCAL));
    trace
}
