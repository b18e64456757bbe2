//! Recordings: they execute in the declared order, without superfluous waits.

use proptest::prelude::*;
use tenure_core::transient::graph::{Batch, Graph, PassId};
use tenure_core::{Queue, State};

use super::model::{buffer, closure, compile, d3d12};
use super::random::declared;

/// The order of passes that follows from the order of batches on each queue, and from their waits.
fn brought_about(batches: &[Batch], passes: usize) -> Vec<Vec<bool>> {
    let mut order = vec![vec![false; passes]; passes];
    let mut all_before = |earlier: &[PassId], later: &[PassId]| {
        for one in earlier {
            for other in later {
                order[one.index()][other.index()] = true;
            }
        }
    };
    for (index, batch) in batches.iter().enumerate() {
        for at in 1..batch.passes.len() {
            all_before(&batch.passes[..at], &batch.passes[at..=at]);
        }
        for (earlier, other) in batches[..index].iter().enumerate() {
            if other.queue == batch.queue || batch.waits.contains(&earlier) {
                all_before(&other.passes, &batch.passes);
            }
        }
    }
    closure(order)
}

fn contains(order: &[Vec<bool>], wanted: &[Vec<bool>]) -> bool {
    order.iter().zip(wanted).all(|(order, wanted)| order.iter().zip(wanted).all(|(is, must)| *is || !must))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn batches_bring_about_the_order_that_was_declared(declared in declared(14)) {
        let (graph, passes, _) = declared.graph();
        let compiled = compile(&graph).unwrap();
        let (batches, order) = (compiled.batches(), declared.order());
        let all: Vec<PassId> = batches.iter().flat_map(|batch| batch.passes.clone()).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &passes, "each pass once");
        let count = passes.len();
        prop_assert!(contains(&brought_about(batches, count), &order));
        for (index, batch) in batches.iter().enumerate() {
            prop_assert!(!batch.passes.is_empty() && batch.passes.is_sorted());
            for pass in &batch.passes {
                prop_assert_eq!(batch.queue, declared.passes[pass.index()].queue.id(&d3d12()));
            }
            for (at, &wait) in batch.waits.iter().enumerate() {
                prop_assert!(wait < index && batches[wait].queue != batch.queue);
                let mut fewer = batches.to_vec();
                fewer[index].waits.remove(at);
                prop_assert!(!contains(&brought_about(&fewer, count), &order), "in vain");
            }
        }
        // A recording ends because something waits for it, or because the next one waits.
        for (index, batch) in batches.iter().enumerate() {
            let next = batches[index + 1..].iter().find(|next| next.queue == batch.queue);
            let is_waited_for = batches.iter().any(|other| other.waits.contains(&index));
            prop_assert!(next.is_none_or(|next| is_waited_for || !next.waits.is_empty()));
        }
        for one in 0..count {
            for other in 0..count {
                prop_assert_eq!(compiled.is_before(passes[one], passes[other]), order[one][other]);
            }
        }
    }
}

#[test]
fn one_queue_is_one_recording() {
    let mut graph = Graph::new();
    let shared = graph.buffer(buffer(1));
    let passes: Vec<PassId> = (0..1000)
        .map(|_| graph.pass(Queue::Graphics, "pass").uses(shared, State::UNORDERED_ACCESS).id())
        .collect();
    let compiled = compile(&graph).unwrap();
    let expected = Batch { queue: Queue::Graphics.id(&d3d12()), passes, waits: Vec::new() };
    assert_eq!(compiled.batches(), [expected]);
}

#[test]
fn a_fork_and_a_join() {
    let mut graph = Graph::new();
    let (a, b) = (graph.buffer(buffer(1)), graph.buffer(buffer(1)));
    let write = State::UNORDERED_ACCESS;
    let read = State::NON_PIXEL_SHADER;
    graph.pass(Queue::Graphics, "depth").uses(a, write);
    graph.pass(Queue::Compute, "occlusion").uses(a, read).uses(b, write);
    graph.pass(Queue::Compute, "blur").uses(b, write);
    graph.pass(Queue::Graphics, "shadows");
    graph.pass(Queue::Graphics, "light").uses(b, read);
    graph.pass(Queue::Graphics, "tonemap").uses(b, read).uses(a, read);
    let compiled = compile(&graph).unwrap();
    let names = |batch: &Batch| -> Vec<&str> {
        batch.passes.iter().map(|pass| compiled.pass(*pass).unwrap().name.as_str()).collect()
    };
    let found: Vec<(Vec<&str>, &[usize])> =
        compiled.batches().iter().map(|batch| (names(batch), batch.waits.as_slice())).collect();
    assert_eq!(
        found,
        [
            (vec!["depth"], &[][..]),
            (vec!["shadows"], &[]),
            (vec!["occlusion", "blur"], &[0]),
            (vec!["light", "tonemap"], &[2]),
        ]
    );
}
