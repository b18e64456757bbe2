//! Comparison of the tree with the bit sets.

use super::super::bits::Bits;
use super::*;
use crate::Item;
use crate::numbers::mix;

/// Random items with up to `alignments` alignments, from 1 on.
fn problem(seed: u64, count: u64, alignments: u64) -> Problem {
    let draw = |which: u64, below: u64| mix(seed << 32 ^ which) % below;
    let item = |at: u64| {
        let first = draw(4 * at, 100);
        let item = Item::new(first..first + 1 + draw(4 * at + 1, 40), 1 + draw(4 * at + 2, 500));
        item.aligned(if at == 0 { 1 } else { 1 << draw(4 * at + 3, alignments) })
    };
    let items: Vec<Item> = (0..count).map(item).collect();
    let origin: Vec<u32> = (0..count as u32).collect();
    Problem::new(&items, &origin, |_| None)
}

#[test]
fn a_tree_and_bit_sets_find_the_same() {
    for seed in 0..60 {
        let problem = problem(seed, 1 + mix(seed) % 300, 1 + seed % 40);
        let mut levels = problem.align.clone();
        levels.sort_unstable();
        levels.dedup();
        let mut order: Vec<u32> = (0..problem.len() as u32).collect();
        order.sort_by_key(|&item| mix(seed ^ u64::from(item) << 20));
        let (mut cells, mut bits) = (Cells::new(&problem, &levels), Bits::new(&problem, &levels, &order));
        cells.refill(&order);
        for ask in 0..2_000 {
            let draw = |which: u64, below: u64| (mix(seed << 40 ^ ask << 8 ^ which) % below) as u32;
            let start = draw(0, problem.sections() as u64);
            let end = start + 1 + draw(1, problem.sections() as u64 - u64::from(start));
            let segment = Segment { start, end, levels: draw(2, levels.len() as u64 + 1) as usize };
            let first = bits.first(segment);
            assert_eq!(cells.first(segment), first);
            if segment.levels < levels.len() {
                assert_eq!(cells.suited(segment), bits.suited(segment));
                let left = cells.tree.points.iter().filter(|point| point.rank != NONE);
                let within = left.filter(|point| point.is_within(segment));
                let level = |point: &Point| levels.binary_search(&problem.align(point.item as usize)).ok();
                let next = within.filter_map(level).filter(|level| *level >= segment.levels).min();
                assert_eq!(first.and_then(|first| cells.next_level(segment, first)), next);
            }
            let odd = |item: u32| item % 2 == 1;
            let fits = (draw(3, 2) == 0).then_some(&odd as &dyn Fn(u32) -> bool);
            if draw(4, 4) == 0 {
                assert_eq!(cells.take(segment, fits), bits.take(segment, fits), "{seed} {ask}");
            }
        }
    }
}
