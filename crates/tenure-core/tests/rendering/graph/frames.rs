//! Frames of a renderer as graphs of one queue.

use tenure_core::transient::graph::{Graph, ResourceId};
use tenure_core::{Queue, State};
use tenure_plan::{Item, PlanConfig, plan};

use super::model::{buffer, compile};

/// The lives and sizes of a frame's resources, in passes and units of 64 KiB: `first-last x size`.
const FRAMES: &str = include_str!("../../../../tenure-plan/tests/frames.txt");

/// The first pass, the first pass after the lifetime, and units.
type Life = (usize, usize, u64);

/// The frames by name.
pub(crate) fn frames() -> Vec<(&'static str, Vec<Life>)> {
    let life = |text: &str| {
        let (life, size) = text.split_once('x').unwrap();
        let (first, last) = life.split_once('-').unwrap();
        (first.parse().unwrap(), last.parse().unwrap(), size.parse().unwrap())
    };
    let frame = |line: &'static str| {
        let (name, lives) = line.split_once(": ").unwrap();
        (name, lives.split(' ').map(life).collect())
    };
    FRAMES.lines().map(frame).collect()
}

/// A graph with resources of these lifetimes: written in the first pass, read in the last.
pub(crate) fn graph(lives: &[Life]) -> Graph {
    let mut graph = Graph::new();
    let ids: Vec<ResourceId> = lives.iter().map(|&(_, _, units)| graph.buffer(buffer(units))).collect();
    for pass in 0..lives.iter().map(|life| life.1).max().unwrap_or(0) {
        let mut builder = graph.pass(Queue::Graphics, "pass");
        for (&id, &(first, last, _)) in ids.iter().zip(lives) {
            if first == pass {
                builder = builder.uses(id, State::UNORDERED_ACCESS);
            } else if last == pass + 1 {
                builder = builder.uses(id, State::NON_PIXEL_SHADER);
            }
        }
    }
    graph
}

#[test]
fn frames_reserve_the_peak_of_their_plan() {
    const UNIT: u64 = 64 << 10;
    for (name, lives) in frames() {
        let items: Vec<Item> = lives
            .iter()
            .map(|&(first, last, units)| Item::new(first as u64..last as u64, units * UNIT).aligned(UNIT))
            .collect();
        let expected = plan(&items, &PlanConfig::new().nodes(20_000)).unwrap();
        let compiled = compile(&graph(&lives)).unwrap();
        assert_eq!(
            (compiled.peak(), compiled.lower_bound()),
            (expected.peak, expected.lower_bound),
            "{name}"
        );
        assert!(compiled.is_proven() && compiled.peak() < compiled.bytes_apart(), "{name}");
        assert_eq!(compiled.batches().len(), 1);
        let declared: Vec<_> = lives.iter().map(|&(first, last, _)| Some(first..last)).collect();
        assert_eq!(compiled.lifetimes(), declared, "{name}");
    }
}
