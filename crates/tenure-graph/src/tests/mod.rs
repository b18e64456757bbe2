//! Compares each layout method with a naive implementation of the sharing rule.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod exhaustive;
mod improvement;
mod methods;
mod random;

use tenure_plan::PlanConfig;

use super::flow::Grouped;
use super::flow::{Flow, PassUse, writes};
use super::layout::{Layout, LayoutMethod, Problem};
use super::order::Order;
use super::order::dependencies;
use super::pack::Limits;
use super::{Need, ResourceId};
use crate::device::{QueueId, QueueKind, State};

/// A graph as plain data: the content of a declaration.
#[derive(Clone, Debug, Default)]
struct PlainGraph {
    /// The queue of each pass.
    queues: Vec<u8>,
    /// Resource and state, of each pass.
    uses: Vec<Vec<(usize, State)>>,
    /// The passes that each pass is declared to run after.
    after: Vec<Vec<usize>>,
    /// The requirements of each resource.
    needs: Vec<Need>,
}

impl PlainGraph {
    fn pass(&mut self, queue: u8, after: &[usize]) -> usize {
        self.queues.push(queue);
        self.uses.push(Vec::new());
        self.after.push(after.to_vec());
        self.queues.len() - 1
    }

    /// A resource of `size` bytes, used in those passes: written in the first, read in the others.
    fn resource(&mut self, size: u64, passes: &[usize]) -> usize {
        let resource = self.needs.len();
        self.needs.push(Need { size, alignment: 1, heap_alignment: 1, class: 0 });
        for (at, &pass) in passes.iter().enumerate() {
            let state = if at == 0 { State::UNORDERED_ACCESS } else { State::NON_PIXEL_SHADER };
            self.uses[pass].push((resource, state));
        }
        resource
    }

    fn problem(&self, limits: Limits) -> Problem {
        let mut uses = Grouped::new();
        let mut after = Grouped::new();
        for pass in 0..self.queues.len() {
            for &(resource, states) in &self.uses[pass] {
                uses.push(PassUse { resource: ResourceId::new(resource), states, automatic: true });
            }
            uses.finish();
            for &earlier in &self.after[pass] {
                after.push(earlier);
            }
            after.finish();
        }
        let queues: Vec<QueueId> = self.queues.iter().map(|&queue| QueueId(queue)).collect();
        let kinds = vec![QueueKind::Graphics; queues.len()];
        let flow = Flow { queues, kinds, uses, after, resources: self.needs.len() };
        let order = Order::new(&flow.queues, &dependencies(&flow));
        let is_used = |resource: &usize| self.uses.iter().flatten().any(|(used, _)| used == resource);
        let need = |resource| Some(resource).filter(is_used).map(|resource: usize| self.needs[resource]);
        let needs = (0..self.needs.len()).map(need).collect();
        Problem { flow, order, needs, limits }
    }

    /// Which pass has ended before which begins: `order[one][other]`.
    fn order(&self) -> Vec<Vec<bool>> {
        let count = self.queues.len();
        let conflict = |one: usize, other: usize| {
            self.uses[one].iter().any(|(resource, state)| {
                let same = self.uses[other].iter().find(|(used, _)| used == resource);
                same.is_some_and(|(_, other)| writes(*state) || writes(*other))
            })
        };
        let direct = |one: usize, other: usize| {
            let same_queue = self.queues[one] == self.queues[other];
            one < other && (same_queue || conflict(one, other) || self.after[other].contains(&one))
        };
        let row = |one| (0..count).map(|other| direct(one, other)).collect();
        let mut before: Vec<Vec<bool>> = (0..count).map(row).collect();
        for middle in 0..count {
            for one in 0..count {
                for other in 0..count {
                    before[one][other] |= before[one][middle] && before[middle][other];
                }
            }
        }
        before
    }

    /// The passes that use each resource.
    fn users(&self) -> Vec<Vec<usize>> {
        let uses = |resource| move |pass: &usize| self.uses[*pass].iter().any(|(used, _)| *used == resource);
        (0..self.needs.len()).map(|it| (0..self.queues.len()).filter(uses(it)).collect()).collect()
    }

    /// The pairs of resources that must not share bytes.
    fn conflicts(&self) -> Vec<(usize, usize)> {
        let (order, users) = (self.order(), self.users());
        let precedes =
            |one: usize, other: usize| users[one].iter().all(|&a| users[other].iter().all(|&b| order[a][b]));
        let pairs = (0..users.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        pairs.filter(|&(one, other)| !precedes(one, other) && !precedes(other, one)).collect()
    }

    /// All interval methods, whatever the bytes on each queue.
    fn methods(&self) -> Vec<LayoutMethod> {
        let mut queues = self.queues.clone();
        queues.sort_unstable();
        queues.dedup();
        let both = |queue: u8| {
            [LayoutMethod::Extended { kept: queue.into() }, LayoutMethod::Nested { kept: queue.into() }]
        };
        queues.into_iter().flat_map(both).collect()
    }

    /// Checks that no two conflicting resources share bytes, and that all placements keep alignments and limits.
    fn check(&self, layout: &Layout, limits: &Limits) {
        let users = self.users();
        for (resource, need) in self.needs.iter().enumerate() {
            let place = layout.places[resource];
            assert_eq!(place.is_some(), !users[resource].is_empty(), "a place for what is used");
            let Some(place) = place else { continue };
            let heap = layout.heaps[place.heap];
            assert_eq!(heap.class, need.class);
            assert!(place.offset.is_multiple_of(need.alignment));
            assert!(heap.alignment >= need.heap_alignment);
            assert!(place.offset + need.size <= heap.size);
            assert!(heap.size <= limits.get(&need.class).copied().unwrap_or(u64::MAX));
        }
        for (one, other) in self.conflicts() {
            let (Some(a), Some(b)) = (layout.places[one], layout.places[other]) else { continue };
            let apart = a.heap != b.heap
                || a.offset + self.needs[one].size <= b.offset
                || b.offset + self.needs[other].size <= a.offset;
            assert!(apart, "{one} at {a:?} and {other} at {b:?} in {self:?}");
        }
        assert_eq!(layout.peak, layout.heaps.iter().map(|heap| heap.size).sum::<u64>());
    }

    /// Lays the graph out by every method, and checks each layout.
    fn check_all(&self, limits: &Limits) {
        let problem = self.problem(limits.clone());
        let options = PlanConfig::new().nodes(200);
        let mut lowest = u64::MAX;
        for method in self.methods() {
            let found = problem.layout(method, &[], &options).unwrap().unwrap();
            self.check(&found.layout, limits);
            assert!(found.lower_bound <= found.layout.peak);
            lowest = lowest.min(found.layout.peak);
        }
        if let Some(exact) = problem.layout(LayoutMethod::Exact, &[], &options).unwrap() {
            self.check(&exact.layout, limits);
            lowest = lowest.min(exact.layout.peak);
        }
        let best = problem.best(&[], &options).unwrap();
        self.check(&best.layout, limits);
        assert!(best.lower_bound <= best.layout.peak.min(lowest));
    }
}
