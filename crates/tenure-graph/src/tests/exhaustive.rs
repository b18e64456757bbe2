//! All graphs in which a chain of passes leaves the main queue and comes back, up to a small size.

use super::PlainGraph;
use crate::Need;
use crate::device::State;
use crate::pack::Limits;

/// A chain on queue 0 and one on queue 1. The second begins after a pass of the first, or at once; a later pass of the first
/// waits for it, or none does.
fn forks(graphics: usize, compute: usize) -> Vec<PlainGraph> {
    let mut graphs = Vec::new();
    for fork in 0..=graphics {
        for join in fork..=graphics {
            let mut graph = PlainGraph::default();
            let mut last = None;
            for pass in 0..=graphics {
                if pass == fork {
                    for _ in 0..compute {
                        let before = graph.queues.len().checked_sub(1);
                        let after: Vec<usize> = before.into_iter().collect();
                        last = Some(graph.pass(1, &after));
                    }
                }
                if pass < graphics {
                    let after: Vec<usize> = last.filter(|_| pass == join).into_iter().collect();
                    graph.pass(0, &after);
                }
            }
            graphs.push(graph);
        }
    }
    graphs
}

/// All choices of `count` elements of `0..of`, in ascending order, with repetition.
fn choices(count: usize, of: usize) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    for _ in 0..count {
        let longer = |choice: &Vec<usize>| {
            let choice = choice.clone();
            (choice.last().copied().unwrap_or(0)..of).map(move |next| [choice.clone(), vec![next]].concat())
        };
        found = found.iter().flat_map(longer).collect();
    }
    found
}

/// The graph with one resource for each set of passes, a bit for each pass.
fn with_uses(graph: &PlainGraph, sets: &[usize], first: State) -> PlainGraph {
    let mut graph = graph.clone();
    for (resource, set) in sets.iter().enumerate() {
        graph.needs.push(Need { size: 1 << resource, alignment: 1, heap_alignment: 1, class: 0 });
        let passes = (0..graph.queues.len()).filter(|pass| set >> pass & 1 == 1);
        for (at, pass) in passes.enumerate() {
            let state = if at == 0 { first } else { State::NON_PIXEL_SHADER };
            graph.uses[pass].push((resource, state));
        }
    }
    graph
}

/// Checks all graphs with this number of passes and resources. Returns the number of graphs.
fn check(graphics: usize, compute: usize, resources: usize) -> usize {
    let mut checked = 0;
    let passes = graphics + compute;
    let sets = choices(resources, (1 << passes) - 1);
    for graph in forks(graphics, compute) {
        for sets in &sets {
            let sets: Vec<usize> = sets.iter().map(|set| set + 1).collect();
            // Only reads: no order other than that of the passes. A write first: as declarations require.
            for first in [State::NON_PIXEL_SHADER, State::UNORDERED_ACCESS] {
                with_uses(&graph, &sets, first).check_all(&Limits::new());
                checked += 1;
            }
        }
    }
    checked
}

#[test]
fn all_pairs_of_resources_in_all_forks() {
    let mut checked = 0;
    for graphics in 1..=3 {
        for compute in 1..=3 {
            checked += check(graphics, compute, 2);
        }
    }
    assert_eq!(checked, PAIRS);
}

#[test]
fn all_sets_of_four_resources_in_small_forks() {
    assert_eq!(check(1, 1, 4) + check(2, 1, 4) + check(1, 2, 4) + check(2, 2, 4), FOURS);
}

const PAIRS: usize = 61_292;
const FOURS: usize = 40_590;
