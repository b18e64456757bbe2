//! The fallback chain: the memory types tried in each step, with any rules.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use tenure_heap::{
    AllocationFailure, Fallback, HeapError, MemoryTypeId, Round, ShortageRules, Spill, Step,
    try_each_memory_type,
};

/// A request that every step refuses. Types 0 and 1 are alike, 2 and 3 are other memory.
struct Refused {
    /// Returns the error of a refusal.
    error: fn(MemoryTypeId) -> HeapError,
    has_pending: bool,
    rounds: Vec<(u8, Round)>,
    calls: Vec<&'static str>,
}

impl Refused {
    fn new(has_pending: bool) -> Self {
        let error = |memory| HeapError::OutOfMemory { requested: 1, memory };
        Self { error, has_pending, rounds: Vec::new(), calls: Vec::new() }
    }
}

impl Fallback for Refused {
    type Found = ();
    type Error = HeapError;

    fn existing_block(&mut self, _: MemoryTypeId, _: Round) -> Result<Option<()>, HeapError> {
        self.calls.push("block");
        Ok(None)
    }

    fn new_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<(), HeapError> {
        self.calls.push("new block");
        Err((self.error)(memory))
    }

    fn dedicated(&mut self, memory: MemoryTypeId, round: Round, refusal: HeapError) -> Result<(), HeapError> {
        self.calls.push("alone");
        self.rounds.push((memory.0, round));
        Err(refusal)
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        one.0 / 2 == other.0 / 2
    }

    fn make_room(&mut self) {
        self.calls.push("make room");
    }

    fn wait_for_room(&mut self) -> bool {
        self.calls.push("wait");
        self.has_pending
    }
}

const TYPES: [MemoryTypeId; 4] = [MemoryTypeId(0), MemoryTypeId(1), MemoryTypeId(2), MemoryTypeId(3)];

/// The steps according to the documentation.
fn expected(rules: ShortageRules, has_pending: bool) -> Vec<(u8, Step, Round)> {
    let ShortageRules { spill, may_exceed_budget, may_wait } = rules;
    let waited = if may_exceed_budget { Round::WhateverBudget } else { Round::WithinBudget };
    let steps = [
        (true, [0, 1], Step::WithinBudget, Round::WithinBudget),
        (true, [0, 1], Step::AfterTrim, Round::WithinBudget),
        (spill == Spill::BeforeBudget, [2, 3], Step::AfterTrim, Round::WithinBudget),
        (may_exceed_budget, [0, 1], Step::BeyondBudget, Round::WhateverBudget),
        (may_wait && has_pending, [0, 1], Step::AfterWait, waited),
        (spill == Spill::AfterRefusal && may_exceed_budget, [2, 3], Step::AfterTrim, Round::WithinBudget),
        (spill != Spill::Never && may_exceed_budget, [2, 3], Step::BeyondBudget, Round::WhateverBudget),
    ];
    let taken = steps.into_iter().filter(|(is_taken, ..)| *is_taken);
    taken.flat_map(|(_, types, step, round)| types.map(|memory| (memory, step, round))).collect()
}

#[test]
fn all_steps_are_tried_in_order() {
    for spill in [Spill::BeforeBudget, Spill::AfterRefusal, Spill::Never] {
        for bits in 0..8 {
            let [may_exceed_budget, may_wait, has_pending] = [1, 2, 4].map(|bit| bits & bit != 0);
            let rules = ShortageRules { spill, may_exceed_budget, may_wait };
            let mut request = Refused::new(has_pending);
            let failure = try_each_memory_type(&mut request, rules, TYPES).unwrap_err();
            let AllocationFailure::OutOfMemory { preferred, answers } = failure else {
                panic!("{failure:?}")
            };
            let steps = answers.iter().map(|answer| (answer.memory.0, answer.step));
            let rounds = request.rounds.iter().map(|(_, round)| *round);
            let tried: Vec<_> =
                steps.zip(rounds).map(|((memory, step), round)| (memory, step, round)).collect();
            assert_eq!((preferred, tried), (TYPES[0], expected(rules, has_pending)), "{rules:?}");
            let made = |call| request.calls.iter().filter(|found| **found == call).count();
            let [blocks, new_blocks, alone] = ["block", "new block", "alone"].map(made);
            assert_eq!([blocks, new_blocks, alone], [answers.len(); 3]);
            assert_eq!((made("make room"), made("wait")), (1, usize::from(may_wait)), "{rules:?}");
        }
    }
}

#[test]
fn errors_other_than_shortages_end_the_chain() {
    let mut request = Refused::new(true);
    request.error = |_| HeapError::Lost { reason: "pulled out".into() };
    let failure = try_each_memory_type(&mut request, ShortageRules::default(), TYPES);
    assert!(matches!(failure, Err(AllocationFailure::Refused(HeapError::Lost { .. }))));
    assert_eq!(request.calls, ["block", "new block"]);
}
