//! Random declarations for tests of compiled graphs.

use proptest::collection::vec;
use proptest::prelude::*;
use tenure_core::{Queue, State};

use super::model::{Declared, Pass};

const QUEUES: [Queue; 3] = [Queue::Graphics, Queue::Compute, Queue::Copy];

/// A random use: its buffer, whether it writes, and one of two states.
type Draw = (usize, bool, bool);

fn state(queue: Queue, writes: bool, copies: bool) -> State {
    match (writes, copies || queue == Queue::Copy) {
        (true, true) => State::COPY_DST,
        (true, false) => State::UNORDERED_ACCESS,
        (false, true) => State::COPY_SRC,
        (false, false) => State::NON_PIXEL_SHADER,
    }
}

/// Declarations without errors, with at most `most` passes.
pub(crate) fn declared(most: usize) -> impl Strategy<Value = Declared> {
    let uses = |buffers| vec((0..buffers, prop::bool::weighted(0.3), any::<bool>()), 0..4);
    let queue = || prop_oneof![3 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    (1_usize..10).prop_flat_map(move |buffers| {
        let pass = (queue(), uses(buffers), vec(1_usize..6, 0..2));
        (vec(1_u64..32, buffers), vec(pass, 1..=most)).prop_map(|(buffers, passes)| {
            let mut written = vec![false; buffers.len()];
            let passes = passes.into_iter().enumerate().map(|(index, (queue, draws, back))| {
                let queue = QUEUES[queue];
                let uses = draws.into_iter().fold(Vec::new(), |mut uses, (buffer, writes, copies): Draw| {
                    if uses.iter().all(|(used, _)| *used != buffer) {
                        uses.push((buffer, state(queue, writes || !written[buffer], copies)));
                        written[buffer] = true;
                    }
                    uses
                });
                Pass { queue, uses, after: back.iter().filter_map(|back| index.checked_sub(*back)).collect() }
            });
            let passes = passes.collect();
            Declared { buffers, passes }
        })
    })
}
