//! Checks that the targets are met, and that the bound is valid.

use super::scenarios;
use super::trace::Trace;
use super::{belady, managed, play, returning};

/// The deterministic targets of each scenario, at as many laps as the command plays.
#[test]
fn the_targets_are_met() {
    for trace in scenarios::all(super::LAPS) {
        let line = play(&trace, true).unwrap();
        assert_eq!(line.missed(), [""; 0], "{}", trace.name);
    }
}

/// Resources in slower memory return as soon as possible, and move once.
#[test]
fn returning_resources_meet_their_targets() {
    for figure in returning::all().unwrap() {
        assert!(figure.is_met(), "{}: {} of {}", figure.what, figure.value, figure.target);
    }
}

/// Each run of a scenario gives the same.
#[test]
fn the_outcomes_are_the_same_in_each_run() {
    let outcomes = || {
        let traces = scenarios::all(1).into_iter();
        traces.map(|trace| managed::play(&trace).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(), outcomes());
}

/// No player pages in less than the bound, also where the operating system does not wait.
#[test]
fn no_strategy_pages_in_less_than_the_bound() {
    let random = (0..40).map(|seed| scenarios::random(seed, 10 + seed as usize, 120));
    for (seed, mut trace) in random.chain(scenarios::all(1)).enumerate() {
        for delay in [0, 4] {
            trace.demotion_delay = delay;
            let line = play(&trace, false).unwrap();
            for (player, outcome) in line.players {
                let paged = outcome.bytes_in;
                assert!(line.bound <= paged, "{seed}, delay {delay}, {player}: {paged} of {}", line.bound);
            }
        }
    }
}

/// Two objects of 2 MiB used in turn, with room for 3 MiB: once both are known, half of one is paged in each
/// time.
#[test]
fn the_bound_keeps_parts_of_blocks() {
    const MIB: u64 = 1 << 20;
    let mut trace = Trace::new("two by turns", 3 * MIB);
    trace.demotion_delay = 0;
    let world = trace.world([2 * MIB, 2 * MIB]);
    let uses = 60;
    for step in 0..uses {
        // Long enough after each other that nothing is in flight.
        trace.draw(vec![world[step % 2]]);
        for _ in 0..8 {
            trace.draw(Vec::new());
        }
    }
    let bound = belady::bytes_in(&trace);
    assert!((28 * MIB..=60 * MIB).contains(&bound), "{} MiB", bound as f64 / MIB as f64);
}
