//! Plans are made once, kept, and improved where it pays off.

use std::sync::Arc;

use tenure_core::device::Properties;
use tenure_core::transient::graph::{
    Compiled, Found, Graph, Origin, Placement, PlanCache, PlanCacheConfig, ResourceId,
};
use tenure_core::{Queue, State};
use test_random::Rng;

use super::frames;
use super::model::{Needs, buffer, d3d12};

/// A cache and the arguments of its queries.
struct Asked {
    cache: PlanCache,
    properties: Properties,
    needs: Needs,
}

impl Asked {
    fn new(options: PlanCacheConfig) -> Self {
        Self { cache: PlanCache::new(options), properties: d3d12(), needs: Needs::default() }
    }

    fn get(&mut self, graph: &Graph) -> Found {
        self.cache.get_or_plan(graph, &self.properties, &mut self.needs).unwrap()
    }

    /// Whether the graph was there.
    fn has(&mut self, graph: &Graph) -> bool {
        !matches!(self.get(graph).origin, Origin::Planned { .. })
    }
}

/// Passes that each read the writes of the one before.
fn chain(units: &[u64]) -> Graph {
    let mut graph = Graph::new();
    let ids: Vec<ResourceId> = units.iter().map(|&units| graph.buffer(buffer(units))).collect();
    for (pass, &id) in ids.iter().enumerate() {
        let builder = graph.pass(Queue::Graphics, "pass").uses(id, State::UNORDERED_ACCESS);
        if let Some(&before) = pass.checked_sub(1).and_then(|before| ids.get(before)) {
            builder.uses(before, State::NON_PIXEL_SHADER);
        }
    }
    graph
}

fn placements(compiled: &Compiled, graph: &Graph) -> Vec<Option<Placement>> {
    graph.resource_ids().map(|id| compiled.placement(id)).collect()
}

#[test]
fn equal_graphs_are_planned_once() {
    let mut asked = Asked::new(PlanCacheConfig::default());
    let mut graph = chain(&[1, 2, 3]);
    let first = asked.get(&graph);
    assert_eq!(first.origin, Origin::Planned { known: 0, moved: 0 });
    assert_eq!(asked.needs.asked, 3);
    graph.clear();
    assert_eq!(asked.get(&graph).compiled.peak(), 0, "another graph");
    let again = asked.get(&chain(&[1, 2, 3]));
    assert_eq!((again.origin, asked.needs.asked), (Origin::Cached, 3));
    assert!(Arc::ptr_eq(&first.compiled, &again.compiled));
}

#[test]
fn another_resolution_is_another_plan() {
    let mut asked = Asked::new(PlanCacheConfig::default());
    let (small, large) = (chain(&[1, 2, 3]), chain(&[4, 8, 12]));
    let units = |found: Found| found.compiled.peak() >> 16;
    assert_eq!([units(asked.get(&small)), units(asked.get(&large))], [5, 20]);
    for _ in 0..3 {
        assert!(asked.has(&small) && asked.has(&large), "both are kept");
    }
}

#[test]
fn the_least_recently_used_plan_is_evicted() {
    let mut asked = Asked::new(PlanCacheConfig::default().plans(2));
    let graphs = [chain(&[1]), chain(&[2]), chain(&[3])];
    assert!(!asked.has(&graphs[0]) && !asked.has(&graphs[1]) && asked.has(&graphs[0]));
    assert!(!asked.has(&graphs[2]), "the second one goes");
    assert_eq!(asked.cache.len(), 2);
    assert!(asked.has(&graphs[0]) && asked.has(&graphs[2]) && !asked.has(&graphs[1]));
    asked.cache.clear();
    assert!(asked.cache.is_empty() && !asked.has(&graphs[0]));
    let mut none = Asked::new(PlanCacheConfig::default().plans(0));
    assert!(!none.has(&graphs[0]) && none.has(&graphs[0]), "one is always kept");
}

#[test]
fn a_bad_graph_does_not_change_the_cache() {
    let mut asked = Asked::new(PlanCacheConfig::default().plans(1));
    let good = chain(&[1]);
    assert!(!asked.has(&good));
    let mut bad = Graph::new();
    let id = bad.buffer(buffer(1));
    bad.pass(Queue::Graphics, "pass").uses(id, State::NON_PIXEL_SHADER);
    for _ in 0..2 {
        let Asked { cache, properties, needs } = &mut asked;
        assert!(cache.get_or_plan(&bad, &*properties, needs).is_err());
    }
    assert!(asked.has(&good));
}

#[test]
fn resources_stay_where_they_were_when_a_graph_changes() {
    for (name, lives) in frames::frames() {
        let mut asked = Asked::new(PlanCacheConfig::default());
        let before = asked.get(&frames::graph(&lives)).compiled;
        // One more small resource, as when an effect is switched on.
        let changed = [&lives[..], &[(3, 5, 1)]].concat();
        let Found { compiled, origin } = asked.get(&frames::graph(&changed));
        let Origin::Planned { known, moved } = origin else { panic!("{name}: {origin:?}") };
        let now = placements(&compiled, &frames::graph(&lives));
        let same = placements(&before, &frames::graph(&lives));
        let is_there = |(now, same): &(&Option<Placement>, &Option<Placement>)| now == same;
        assert_eq!(known, lives.len(), "{name}: each is found again");
        assert_eq!(now.iter().zip(&same).filter(|pair| !is_there(pair)).count(), moved, "{name}");
        assert!(moved * 4 <= lives.len(), "{name}: {moved} of {} moved", lives.len());
        assert!(compiled.peak() as f64 <= compiled.lower_bound() as f64 * 1.01, "{name}");
    }
}

#[test]
fn the_most_similar_plan_counts() {
    let mut asked = Asked::new(PlanCacheConfig::default());
    asked.get(&chain(&[1, 2, 3, 4, 5]));
    asked.get(&chain(&[10, 20, 3]));
    let found = asked.get(&chain(&[1, 2, 3, 4, 5, 1]));
    assert_eq!(found.origin, Origin::Planned { known: 5, moved: 0 });
}

/// Lifetimes without any structure, for which the first plan is rarely the best.
fn crowd(seed: u64) -> Vec<(usize, usize, u64)> {
    let mut rng = Rng::new(seed);
    let mut draw = |below: u64| rng.below(below);
    let mut life = || {
        let (first, length) = (draw(30) as usize, draw(12) as usize);
        (first, first + length + 2, draw(40) + 1)
    };
    (0..60).map(|_| life()).collect()
}

#[test]
fn plans_are_improved_only_for_a_gain() {
    let mut improved = 0;
    for seed in 1..40 {
        let graph = frames::graph(&crowd(seed));
        let options = PlanCacheConfig::default().nodes(0).improve_nodes(20_000);
        let mut asked = Asked::new(options);
        let mut last = asked.get(&graph).compiled;
        for _ in 0..24 {
            let Found { compiled, origin } = asked.get(&graph);
            match origin {
                Origin::Improved { moved } => {
                    let step = (last.peak() / 64).max(64 << 10);
                    assert!(compiled.peak() + step <= last.peak(), "{seed}: too little is gained");
                    let (old, new) = (placements(&last, &graph), placements(&compiled, &graph));
                    let differ = old.iter().zip(&new).filter(|(old, new)| old != new).count();
                    assert_eq!(differ, moved, "{seed}");
                    assert!(compiled.lower_bound() <= compiled.peak(), "{seed}");
                    improved += 1;
                }
                Origin::Cached => assert!(Arc::ptr_eq(&last, &compiled), "{seed}: the same plan"),
                Origin::Planned { .. } => panic!("{seed} was there"),
            }
            last = compiled;
        }
    }
    assert!(improved > 10, "{improved}: some first plans can be improved by a 64th");
}

#[test]
fn plans_are_not_improved_without_a_budget() {
    for (name, lives) in frames::frames() {
        let graph = frames::graph(&lives);
        let mut asked = Asked::new(PlanCacheConfig::default().nodes(0).improve_nodes(0));
        let first = asked.get(&graph).compiled;
        for _ in 0..8 {
            let found = asked.get(&graph);
            assert!(found.origin == Origin::Cached && Arc::ptr_eq(&first, &found.compiled), "{name}");
        }
    }
}

#[test]
fn the_same_graphs_in_the_same_order_have_the_same_plans() {
    let options = PlanCacheConfig::default().nodes(100).improve_nodes(500);
    let mut run = [Asked::new(options), Asked::new(options)].map(|mut asked| {
        let mut found = Vec::new();
        for seed in 1..10 {
            let graph = frames::graph(&crowd(seed));
            for _ in 0..12 {
                let Found { compiled, origin } = asked.get(&graph);
                found.push((origin, placements(&compiled, &graph)));
            }
        }
        found
    });
    let [one, other] = &mut run;
    assert_eq!(one, other);
}
