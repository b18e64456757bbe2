//! Searches for better plans come to an end.

use tenure_plan::Options;

use super::Plain;
use crate::transient::graph::improve::Efforts;
use crate::transient::graph::pack::Limits;

/// Resources without any structure on one queue.
fn crowd(size: u64, seed: u64) -> Plain {
    let mut graph = Plain::default();
    for _ in 0..32 {
        graph.pass(0, &[]);
    }
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..60 {
        let (first, length) = (draw(20) as usize, draw(11) as usize);
        graph.resource(size * (1 + draw(40)), &[first, first + length + 1]);
    }
    graph
}

/// How many searches there were, and how many gained something, when the plan was asked for often.
fn asked(graph: &Plain, nodes: u64) -> (u64, u64) {
    let problem = graph.problem(Limits::new());
    let mut plan = problem.best(&[], &Options::new().nodes(0)).unwrap();
    let mut efforts = Efforts::default();
    let mut gains = 0;
    for _ in 0..200 {
        if let Some(better) = efforts.search(&problem, &plan, nodes).unwrap() {
            assert!(better.plan.layout.peak < plan.layout.peak && better.moved > 0);
            graph.check(&better.plan.layout, &Limits::new());
            plan = better.plan;
            gains += 1;
        }
    }
    (efforts.searches(), gains)
}

#[test]
fn searches_in_vain_come_to_an_end() {
    let asked = |seed| asked(&crowd(1 << 20, seed), 8);
    let found: Vec<(u64, u64)> = (1..20).map(asked).collect();
    assert!(found.iter().all(|(searches, gains)| *searches <= 16 * (gains + 1)), "{found:?}");
    assert!(found.iter().any(|(searches, gains)| *searches == 16 && *gains == 0), "{found:?}");
}

#[test]
fn searches_end_where_nothing_worth_it_is_left() {
    let asked = |seed| asked(&crowd(1 << 20, seed), 20_000);
    let found: Vec<(u64, u64)> = (1..20).map(asked).collect();
    assert!(found.iter().any(|(searches, gains)| *gains > 0 && *searches < 16), "{found:?}");
}

#[test]
fn what_is_small_is_not_worth_moving() {
    for seed in 1..20 {
        assert_eq!(asked(&crowd(1, seed), 20_000), (0, 0), "64 KiB at least");
        assert_eq!(asked(&crowd(1 << 20, seed), 0), (0, 0), "without a budget");
    }
}
