//! Graphs on which one layout method beats the others, and the peak of the best.

use proptest::prelude::*;
use tenure_plan::{Item, PlanConfig, plan};

use super::PlainGraph;
use crate::layout::LayoutMethod;
use crate::pack::Limits;

const KEPT: LayoutMethod = LayoutMethod::Extended { kept: 0 };
const OTHER: LayoutMethod = LayoutMethod::Extended { kept: 1 };
const NESTED: LayoutMethod = LayoutMethod::Nested { kept: 0 };

impl PlainGraph {
    fn peak(&self, method: LayoutMethod) -> u64 {
        self.problem(Limits::new()).layout(method, &[], &PlanConfig::new()).unwrap().unwrap().layout.peak
    }

    fn best(&self) -> u64 {
        self.problem(Limits::new()).best(&[], &PlanConfig::new()).unwrap().layout.peak
    }
}

/// A fork after pass 0 and a join in the last pass; each chain hands one resource from pass to pass.
fn chains(graphics: (usize, u64), compute: (usize, u64)) -> PlainGraph {
    let mut graph = PlainGraph::default();
    let fork = graph.pass(0, &[]);
    let mut queue_lifetimes: Vec<Vec<usize>> = Vec::new();
    for (queue, passes) in [(1, compute.0), (0, graphics.0)] {
        queue_lifetimes.push((0..passes).map(|_| graph.pass(queue, &[fork])).collect());
    }
    graph.pass(0, &queue_lifetimes[0]);
    for (queue_lifetime, size) in queue_lifetimes.iter().zip([compute.1, graphics.1]) {
        for pair in queue_lifetime.windows(2) {
            graph.resource(size, pair);
        }
    }
    graph
}

#[test]
fn nested_lets_both_chains_share_among_themselves() {
    let graph = chains((7, 10), (7, 4));
    let best = graph.problem(Limits::new()).best(&[], &PlanConfig::new()).unwrap();
    assert_eq!((best.layout.peak, best.lower_bound), (28, 28), "no plan of any method is lower");
    // Two of a chain live at a time, so no plan needs less than two of each.
    assert_eq!(graph.peak(NESTED), 2 * 10 + 2 * 4);
    assert_eq!(graph.peak(KEPT), 2 * 10 + 6 * 4, "the compute chain does not share");
    assert_eq!(graph.peak(OTHER), 6 * 10 + 2 * 4, "the graphics chain does not share");
}

/// Two chains, each with an early and a late resource, and one resource that both queues use, which cannot be
/// nested in the block of one queue.
#[test]
fn the_exact_method_has_fewer_conflicts_than_intervals() {
    let mut graph = PlainGraph::default();
    let fork = graph.pass(0, &[]);
    let compute: Vec<usize> = (0..4).map(|_| graph.pass(1, &[fork])).collect();
    let graphics: Vec<usize> = (0..4).map(|_| graph.pass(0, &[fork])).collect();
    let join = graph.pass(0, &[compute[3]]);
    for queue_lifetime in [&compute, &graphics] {
        graph.resource(10, &queue_lifetime[0..2]);
        graph.resource(10, &queue_lifetime[2..4]);
    }
    graph.resource(10, &[compute[3], join]);
    let best = graph.problem(Limits::new()).best(&[], &PlanConfig::new()).unwrap();
    assert_eq!((best.layout.peak, best.lower_bound), (30, 30));
}

proptest! {
    /// From any starting layout, the exact method's peak is no higher, even without any search.
    #[test]
    fn the_exact_method_is_never_worse_than_its_start(graph in super::random::plain()) {
        let problem = graph.problem(Limits::new());
        let none = PlanConfig::new().nodes(0);
        for method in graph.methods() {
            let before = problem.layout(method, &[], &none).unwrap().unwrap().layout;
            let start: Vec<_> = (0..graph.needs.len()).map(|it| before.address(it).map(|(_, address)| address)).collect();
            let exact = problem.layout(LayoutMethod::Exact, &start, &none).unwrap().unwrap().layout;
            prop_assert!(exact.peak <= before.peak, "{} from {} by {method:?}", exact.peak, before.peak);
        }
    }
}

#[test]
fn of_equal_methods_the_main_queue_keeps_its_lifetimes() {
    // One resource for each chain: no method can share bytes.
    let graph = chains((2, 10), (2, 4));
    assert_eq!([KEPT, OTHER, NESTED].map(|method| graph.peak(method)), [14; 3]);
    let best = graph.problem(Limits::new()).best(&[], &PlanConfig::new()).unwrap();
    assert_eq!((best.layout.peak, best.methods), (14, vec![(KEPT, 14)]), "proven with the first method");
}

#[test]
fn resources_that_end_before_the_fork_share_with_both_sides() {
    let mut graph = PlainGraph::default();
    let before = [graph.pass(0, &[]), graph.pass(0, &[])];
    let side = graph.pass(1, &[before[1]]);
    let main = graph.pass(0, &[]);
    let join = graph.pass(0, &[side]);
    graph.resource(30, &before);
    graph.resource(10, &[side]);
    graph.resource(20, &[main]);
    graph.resource(30, &[join]);
    assert_eq!(graph.best(), 30);
}

#[test]
fn without_a_fork_all_passes_may_run_at_the_same_time() {
    let mut graph = PlainGraph::default();
    let main = [graph.pass(0, &[]), graph.pass(0, &[])];
    let side = graph.pass(1, &[]);
    graph.resource(16, &main[..1]);
    graph.resource(16, &main[1..]);
    graph.resource(5, &[side]);
    assert_eq!(graph.best(), 21);
}

proptest! {
    #[test]
    fn on_one_queue_the_plan_is_that_of_the_plain_intervals(
        lifetimes in proptest::collection::vec((0_usize..20, 1_usize..8, 1_u64..100, 0_u32..5), 1..30)
    ) {
        let mut graph = PlainGraph::default();
        for _ in 0..28 {
            graph.pass(0, &[]);
        }
        let mut items = Vec::new();
        for (first, length, size, log2) in lifetimes {
            let resource = graph.resource(size, &[first, first + length]);
            graph.needs[resource].alignment = 1 << log2;
            let lifetime = first as u64..(first + length + 1) as u64;
            items.push(Item::new(lifetime, size).aligned(1 << log2));
        }
        let options = PlanConfig::new().nodes(1000);
        let expected = plan(&items, &options).unwrap();
        let best = graph.problem(Limits::new()).best(&[], &options).unwrap();
        prop_assert_eq!(best.layout.peak, expected.peak);
        prop_assert!(best.lower_bound <= expected.lower_bound);
    }

    #[test]
    fn no_plan_is_lower_than_the_bound(
        passes in proptest::collection::vec((0_u8..2, proptest::collection::vec(1_usize..4, 0..2)), 2..8),
        resources in proptest::collection::vec((1_u64..10, 1_u8..), 1..6),
    ) {
        let mut graph = PlainGraph::default();
        for (index, (queue, back)) in passes.iter().enumerate() {
            let after: Vec<usize> = back.iter().filter_map(|back| index.checked_sub(*back)).collect();
            graph.pass(*queue, &after);
        }
        let count = graph.queues.len();
        for (size, set) in resources {
            let users: Vec<usize> = (0..count).filter(|pass| set >> pass & 1 == 1).collect();
            if !users.is_empty() {
                graph.resource(size, &users);
            }
        }
        let best = graph.problem(Limits::new()).best(&[], &PlanConfig::new()).unwrap();
        let lowest = lowest(&graph);
        prop_assert!(best.lower_bound <= lowest && lowest <= best.layout.peak);
    }
}

/// The lowest peak there is: some order in which each resource goes to the lowest place that is free.
fn lowest(graph: &PlainGraph) -> u64 {
    let conflicts = graph.conflicts();
    let mut order: Vec<usize> = (0..graph.needs.len()).collect();
    let mut lowest = u64::MAX;
    permute(&mut order, 0, &mut |order| {
        let mut offsets: Vec<Option<u64>> = vec![None; order.len()];
        for &resource in order {
            let size = graph.needs[resource].size;
            let others = conflicts.iter().filter_map(|&(one, other)| match resource {
                _ if one == resource => Some(other),
                _ if other == resource => Some(one),
                _ => None,
            });
            let mut taken: Vec<(u64, u64)> =
                others.filter_map(|it| offsets[it].map(|at| (at, at + graph.needs[it].size))).collect();
            taken.sort_unstable();
            let fit = |at: u64, range: &(u64, u64)| if at + size > range.0 { at.max(range.1) } else { at };
            offsets[resource] = Some(taken.iter().fold(0, fit));
        }
        let ends = offsets.iter().zip(&graph.needs).map(|(at, need)| at.unwrap() + need.size);
        lowest = lowest.min(ends.max().unwrap_or(0));
    });
    lowest
}

fn permute(order: &mut Vec<usize>, from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return visit(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        permute(order, from + 1, visit);
        order.swap(from, at);
    }
}
