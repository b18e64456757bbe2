//! Random graphs of up to three queues.

use proptest::collection::vec;
use proptest::prelude::*;

use super::PlainGraph;
use crate::Need;
use crate::device::State;
use crate::pack::Limits;

const STATES: [State; 3] = [State::UNORDERED_ACCESS, State::NON_PIXEL_SHADER, State::COPY_SRC];

fn need() -> impl Strategy<Value = Need> {
    let class = prop_oneof![6 => Just(0), 2 => Just(1), 1 => Just(Need::ALONE)];
    (1_u64..40, 0_u32..4, 0_u32..6, class).prop_map(|(size, log2, heap_log2, class)| Need {
        size,
        alignment: 1 << log2,
        heap_alignment: 1 << heap_log2,
        class,
    })
}

/// A pass: its queue, its uses, and how far back the passes are that it runs after.
fn pass(resources: usize) -> impl Strategy<Value = (u8, Vec<(usize, usize)>, Vec<usize>)> {
    let uses = vec((0..resources, 0..STATES.len()), 0..4);
    (prop_oneof![3 => Just(0), 2 => Just(1), 1 => Just(2)], uses, vec(1_usize..6, 0..2))
}

pub(super) fn plain() -> impl Strategy<Value = PlainGraph> {
    (1_usize..9).prop_flat_map(|resources| {
        (vec(need(), resources), vec(pass(resources), 1..13)).prop_map(|(needs, passes)| {
            let mut plain = PlainGraph { needs, ..PlainGraph::default() };
            for (index, (queue, uses, back)) in passes.into_iter().enumerate() {
                let after: Vec<usize> = back.iter().filter_map(|back| index.checked_sub(*back)).collect();
                plain.pass(queue, &after);
                for (resource, state) in uses {
                    let used = &mut plain.uses[index];
                    if used.iter().all(|(other, _)| *other != resource) {
                        used.push((resource, STATES[state]));
                    }
                }
            }
            plain
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn resources_in_use_at_the_same_time_share_no_bytes(plain in plain()) {
        plain.check_all(&Limits::new());
    }

    #[test]
    fn limits_on_heaps_are_kept(plain in plain(), limit in 40_u64..80, other in 40_u64..60) {
        plain.check_all(&Limits::from([(0, limit), (1, other)]));
    }

    #[test]
    fn the_order_is_the_closure_of_the_rules(plain in plain()) {
        let (order, problem) = (plain.order(), plain.problem(Limits::new()));
        for (one, row) in order.iter().enumerate() {
            let at_once = |other: &usize| !row[*other] && !order[*other][one];
            let meanwhile: Vec<usize> = (0..row.len()).filter(at_once).collect();
            let expected = (meanwhile[0], meanwhile[meanwhile.len() - 1]);
            prop_assert_eq!(problem.order.concurrent(one), expected, "the pass itself included");
            for (other, &is_before) in row.iter().enumerate() {
                prop_assert_eq!(problem.order.is_before(one, other), is_before);
            }
        }
    }

    #[test]
    fn later_passes_are_at_later_times(plain in plain()) {
        let (order, problem) = (plain.order(), plain.problem(Limits::new()));
        let times = [problem.order.earliest(), problem.order.latest()];
        for times in &times {
            for (one, row) in order.iter().enumerate() {
                let mut later = row.iter().zip(times).filter(|(is_later, _)| **is_later);
                prop_assert!(later.all(|(_, time)| times[one] < *time));
            }
        }
        prop_assert!(times[0].iter().zip(&times[1]).all(|(earliest, latest)| earliest <= latest));
    }
}
