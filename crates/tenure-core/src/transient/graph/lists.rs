//! What is to be done around each pass beside its uses: acquire, discard, leave in `COMMON`.

use super::batch::Batch;
use super::flow::{Flow, writes};
use super::grouped::Grouped;
use super::{Graph, ResourceId};
use crate::device::{QueueKind, State, StateModel};

/// What is to be done around each pass.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// The resources that each pass is the first to use.
    pub(super) acquires: Grouped<ResourceId>,
    /// The resources that no pass uses after each pass, in the order of the batches.
    pub(super) discards: Grouped<ResourceId>,
    /// Of those, the ones that must be left in `COMMON`.
    pub(super) to_common: Grouped<ResourceId>,
}

/// What is known of a resource as the passes go by, in the order of the batches.
#[derive(Clone, Copy)]
struct Life {
    first: usize,
    last: usize,
    /// The states that it may be in after the last use.
    state: State,
}

impl Lists {
    pub(super) fn new(graph: &Graph, flow: &Flow, batches: &[Batch], model: StateModel) -> Self {
        let lives = lives(flow, batches);
        let (mut acquires, mut discards, mut to_common) = (Vec::new(), Vec::new(), Vec::new());
        for (index, life) in lives.iter().enumerate() {
            let Some(life) = life else { continue };
            let resource = ResourceId::new(index);
            acquires.push((life.first, resource));
            discards.push((life.last, resource));
            let is_texture = graph.resources.get(index).is_some_and(|desc| desc.is_texture());
            if model == StateModel::Promotion && is_texture && !can_follow(flow, *life) {
                to_common.push((life.last, resource));
            }
        }
        let count = flow.queues.len();
        Self {
            acquires: Grouped::of_pairs(count, acquires),
            discards: Grouped::of_pairs(count, discards),
            to_common: Grouped::of_pairs(count, to_common),
        }
    }
}

fn lives(flow: &Flow, batches: &[Batch]) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; flow.resources];
    let passes = batches.iter().flat_map(|batch| &batch.passes).map(|pass| pass.index());
    for pass in passes {
        for one in flow.uses.get(pass) {
            let life = &mut lives[one.resource.index()];
            let before = life.map_or(State::COMMON, |life| life.state);
            let state = match () {
                // Whatever a copy queue used is in `COMMON` after it.
                () if flow.kinds[pass] == QueueKind::Copy => State::COMMON,
                () if writes(one.states | before) => one.states,
                () => one.states | before,
            };
            let first = life.map_or(pass, |life| life.first);
            *life = Some(Life { first, last: pass, state });
        }
    }
    lives
}

/// Whether the queue that acquires a texture can take it from the state in which it was left, on an API
/// whose states are the device's. Buffers are in `COMMON` after each submission.
fn can_follow(flow: &Flow, life: Life) -> bool {
    match flow.kinds[life.first] {
        QueueKind::Copy => life.state.is_empty(),
        kind => State::allowed_on(kind).contains(life.state),
    }
}
