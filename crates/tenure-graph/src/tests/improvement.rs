//! Searches for better plans terminate.

use tenure_plan::PlanConfig;
use test_random::Rng;

use super::PlainGraph;
use crate::cache::ImprovementSearch;
use crate::pack::Limits;

/// Resources of random sizes and lifetimes on one queue.
fn crowd(size: u64, seed: u64) -> PlainGraph {
    let mut graph = PlainGraph::default();
    for _ in 0..32 {
        graph.pass(0, &[]);
    }
    let mut rng = Rng::new(seed);
    let mut draw = |below: u64| rng.below(below);
    for _ in 0..60 {
        let (first, length) = (draw(20) as usize, draw(11) as usize);
        graph.resource(size * (1 + draw(40)), &[first, first + length + 1]);
    }
    graph
}

/// The numbers of searches and of improvements when the plan is requested 200 times.
fn asked(graph: &PlainGraph, nodes: u64) -> (u64, u64) {
    let problem = graph.problem(Limits::new());
    let mut plan = problem.best(&[], &PlanConfig::new().nodes(0)).unwrap();
    let mut search = ImprovementSearch::default();
    let mut gains = 0;
    for _ in 0..200 {
        if let Some(better) = search.search(&problem, &plan, nodes).unwrap() {
            assert!(better.plan.layout.peak < plan.layout.peak && better.moved > 0);
            graph.check(&better.plan.layout, &Limits::new());
            plan = better.plan;
            gains += 1;
        }
    }
    (search.searches(), gains)
}

#[test]
fn searches_without_gain_end() {
    let asked = |seed| asked(&crowd(1 << 20, seed), 8);
    let found: Vec<(u64, u64)> = (1..20).map(asked).collect();
    assert!(found.iter().all(|(searches, gains)| *searches <= 16 * (gains + 1)), "{found:?}");
    assert!(found.iter().any(|(searches, gains)| *searches == 16 && *gains == 0), "{found:?}");
}

#[test]
fn searches_end_when_no_improvement_is_left() {
    let asked = |seed| asked(&crowd(1 << 20, seed), 20_000);
    let found: Vec<(u64, u64)> = (1..20).map(asked).collect();
    assert!(found.iter().any(|(searches, gains)| *gains > 0 && *searches < 16), "{found:?}");
}

#[test]
fn small_gains_do_not_move_resources() {
    for seed in 1..20 {
        assert_eq!(asked(&crowd(1, seed), 20_000), (0, 0), "64 KiB at least");
        assert_eq!(asked(&crowd(1 << 20, seed), 0), (0, 0), "without a budget");
    }
}
