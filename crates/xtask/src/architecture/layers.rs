//! Floors and cycles of a graph of names.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// The names that each name uses.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// Names by floor, and cycles.
pub(super) struct Layers {
    /// The floor of each name: the longest path to a name that uses nothing. All names of a cycle have the same
    /// floor.
    pub(super) floors: BTreeMap<String, usize>,
    pub(super) cycles: Vec<BTreeSet<String>>,
}

impl Layers {
    /// Names that are used without having an entry do not count.
    pub(super) fn of(graph: &Graph) -> Self {
        let (drawn, nodes) = drawn(graph);
        let mut floors: BTreeMap<String, usize> = BTreeMap::new();
        let mut cycles = Vec::new();
        // In the order from the bottom up.
        for group in tarjan_scc(&drawn) {
            let names: BTreeSet<String> = group.iter().map(|&node| drawn[node].to_owned()).collect();
            let used = names.iter().flat_map(|name| &graph[name]);
            let below = used.filter(|used| nodes.contains_key(used.as_str()) && !names.contains(*used));
            let floor = below.map(|used| floors[used] + 1).max().unwrap_or(0);
            floors.extend(names.iter().map(|name| (name.clone(), floor)));
            if names.len() > 1 {
                cycles.push(names);
            }
        }
        Self { floors, cycles }
    }

    /// All names from the bottom up, by floor.
    pub(super) fn by_floor(&self) -> BTreeMap<usize, Vec<&str>> {
        let mut floors: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (name, &floor) in &self.floors {
            floors.entry(floor).or_default().push(name);
        }
        floors
    }
}

fn drawn(graph: &Graph) -> (DiGraph<&str, ()>, BTreeMap<&str, NodeIndex>) {
    let mut drawn = DiGraph::new();
    let nodes: BTreeMap<&str, NodeIndex> =
        graph.keys().map(|name| (name.as_str(), drawn.add_node(name.as_str()))).collect();
    for (name, used) in graph {
        for used in used.iter().filter_map(|used| nodes.get(used.as_str())) {
            drawn.add_edge(nodes[name.as_str()], *used, ());
        }
    }
    (drawn, nodes)
}

#[cfg(test)]
mod tests {
    use super::{Graph, Layers};

    fn graph(lines: &[(&str, &[&str])]) -> Graph {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        lines.iter().map(|(name, used)| ((*name).to_owned(), names(used))).collect()
    }

    #[test]
    fn a_floor_is_the_longest_way_down() {
        let layers =
            Layers::of(&graph(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b", "std"]), ("d", &["a"])]));
        assert!(layers.cycles.is_empty());
        let expected = [(0, vec!["a"]), (1, vec!["b", "d"]), (2, vec!["c"])];
        assert_eq!(layers.by_floor(), expected.into());
    }

    #[test]
    fn a_cycle_is_found_and_has_one_floor() {
        let layers = Layers::of(&graph(&[("a", &[]), ("b", &["a", "c"]), ("c", &["b"]), ("d", &["c"])]));
        assert_eq!(layers.cycles, [["b".to_owned(), "c".to_owned()].into()]);
        assert_eq!(layers.by_floor(), [(0, vec!["a"]), (1, vec!["b", "c"]), (2, vec!["d"])].into());
    }
}
