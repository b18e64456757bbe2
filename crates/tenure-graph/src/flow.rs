//! The checked declaration as plain data: the queue, uses and dependencies of each pass.

use tenure_track::state::Layout;

use super::declare::Use;
use super::{Graph, GraphError, Resource, ResourceId};
use crate::device::{MAX_QUEUES, Properties, QueueId, QueueKind, QueueProperties, State, StateModel, Usage};

/// The device that a graph is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The queues; the first one supports all kinds of work.
    pub queues: &'a [QueueProperties],
    /// The rules for states.
    pub state_model: StateModel,
}

impl<'a> From<&'a Properties> for Target<'a> {
    fn from(properties: &'a Properties) -> Self {
        Self { queues: &properties.queues, state_model: properties.state_model }
    }
}

/// The combined uses of a resource in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PassUse {
    /// The resource.
    pub resource: ResourceId,
    /// All states that the pass declared.
    pub states: State,
    /// Whether the whole resource is transitioned to these states before the pass. If not, the states exclude each other, and
    /// the pass itself requests each of them.
    pub automatic: bool,
}

/// The error of a graph of such resources.
type Refusal<R> = GraphError<<R as Resource>::CpuMemory>;

/// The queue, uses and dependencies of each pass.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The queue of each pass; its index is below [`MAX_QUEUES`].
    pub(super) queues: Vec<QueueId>,
    /// The kind of that queue.
    pub(super) kinds: Vec<QueueKind>,
    /// The uses of each pass, each resource once.
    pub(super) uses: Grouped<PassUse>,
    /// The earlier passes that each pass is declared to run after.
    pub(super) after: Grouped<usize>,
    /// The number of resources.
    pub(super) resources: usize,
}

/// States in which a use may write. Acceleration structures are built in the state in which they are read.
pub(super) const fn writes(states: State) -> bool {
    states.intersects(State::WRITES.union(State::ACCELERATION_STRUCTURE))
}

impl Flow {
    /// Checks a graph on a device and converts it.
    pub(super) fn new<R: Resource>(graph: &Graph<R>, target: Target<'_>) -> Result<Self, Refusal<R>> {
        graph.resources.iter().try_for_each(check_desc)?;
        let count = graph.passes.len();
        let mut flow = Self {
            queues: Vec::with_capacity(count),
            kinds: Vec::with_capacity(count),
            uses: Grouped::new(),
            after: Grouped::new(),
            resources: graph.resources.len(),
        };
        // The last pass to use each resource, and the index of that use.
        let mut seen = vec![None; graph.resources.len()];
        for pass in 0..count {
            let kind = flow.add_queue(graph, pass, target.queues)?;
            flow.add_after(graph, pass)?;
            for one in graph.uses_of(pass) {
                let desc = check_use(graph, pass, *one, kind)?;
                flow.add_use(graph, pass, *one, desc, &mut seen)?;
            }
            flow.uses.finish();
        }
        flow.check_first_uses(graph)?;
        Ok(flow)
    }

    fn add_queue<R: Resource>(
        &mut self,
        graph: &Graph<R>,
        pass: usize,
        queues: &[QueueProperties],
    ) -> Result<QueueKind, Refusal<R>> {
        let pass = &graph.passes[pass];
        let queue = pass.queue.among(queues);
        let known = queues.get(queue.index()).filter(|_| queue.index() < MAX_QUEUES);
        let Some(known) = known else {
            let queues = queues.len().min(MAX_QUEUES);
            return Err(GraphError::UnknownQueue { pass: pass.name.clone(), queue, queues });
        };
        self.queues.push(queue);
        self.kinds.push(known.kind);
        Ok(known.kind)
    }

    fn add_after<R: Resource>(&mut self, graph: &Graph<R>, index: usize) -> Result<(), Refusal<R>> {
        let (pass, passes) = (&graph.passes[index].name, graph.passes.len());
        for after in graph.after_of(index).iter().map(|after| after.index()) {
            let Some(other) = graph.passes.get(after) else {
                return Err(GraphError::UnknownPass { pass: pass.clone(), index: after, passes });
            };
            if after >= index {
                return Err(GraphError::NotEarlier {
                    pass: pass.clone(),
                    index,
                    other: other.name.clone(),
                    after,
                });
            }
            self.after.push(after);
        }
        self.after.finish();
        Ok(())
    }

    fn add_use<R: Resource>(
        &mut self,
        graph: &Graph<R>,
        pass: usize,
        one: Use,
        desc: &R,
        seen: &mut [Option<(usize, usize)>],
    ) -> Result<(), Refusal<R>> {
        let seen = &mut seen[one.resource.index()];
        let earlier = seen.filter(|(by, _)| *by == pass).and_then(|(_, place)| self.uses.at_mut(place));
        let Some(earlier) = earlier else {
            if let Some((by, _)) = seen
                && desc.usage().contains(Usage::TRANSIENT_ATTACHMENT)
            {
                let name = |pass: usize| graph.passes[pass].name.clone();
                let (first, pass, resource) = (name(*by), name(pass), desc.name().clone());
                return Err(GraphError::LeavesPass { resource, first, pass });
            }
            let first = PassUse { resource: one.resource, states: one.state, automatic: true };
            *seen = Some((pass, self.uses.push(first)));
            return Ok(());
        };
        let other = earlier.states & EXCLUSIVE;
        if writes(one.state) && !other.is_empty() && other != one.state {
            let (pass, resource) = (graph.passes[pass].name.clone(), desc.name().clone());
            return Err(GraphError::TwoWrites { pass, resource, state: other, other: one.state });
        }
        earlier.automatic &= goes_with(desc, earlier.states, one.state);
        earlier.states |= one.state;
        Ok(())
    }

    /// Checks that the first use of each resource writes it.
    fn check_first_uses<R: Resource>(&self, graph: &Graph<R>) -> Result<(), Refusal<R>> {
        let mut used = vec![false; self.resources];
        for (pass, uses) in self.uses.iter().enumerate() {
            for one in uses {
                let index = one.resource.index();
                if !used[index] && !writes(one.states) {
                    return Err(GraphError::NotWrittenFirst {
                        pass: graph.passes[pass].name.clone(),
                        resource: graph.resources[index].name().clone(),
                        state: one.states,
                    });
                }
                used[index] = true;
            }
        }
        Ok(())
    }
}

/// States that exclude all others.
const EXCLUSIVE: State = State::WRITES.union(State::ACCELERATION_STRUCTURE);

/// Whether a resource can be in both states at once, in the image layout that either use expects.
fn goes_with(desc: &impl Resource, one: State, other: State) -> bool {
    let is_read = !writes(one | other);
    one == other || (is_read && (!desc.is_texture() || Layout::of(one) == Layout::of(other)))
}

fn check_desc<R: Resource>(desc: &R) -> Result<(), Refusal<R>> {
    let resource = || desc.name().clone();
    if let Some(memory) = desc.cpu_memory() {
        return Err(GraphError::NotGpuOnly { resource: resource(), memory });
    }
    if !desc.alignment().is_power_of_two() {
        return Err(GraphError::BadAlignment { resource: resource(), alignment: desc.alignment() });
    }
    desc.validate().map_err(|source| GraphError::InvalidDesc { resource: resource(), source })
}

fn check_use<R: Resource>(
    graph: &Graph<R>,
    pass: usize,
    one: Use,
    kind: QueueKind,
) -> Result<&R, Refusal<R>> {
    let (pass, state, index) = (&graph.passes[pass].name, one.state, one.resource.index());
    let Some(desc) = graph.resources.get(index) else {
        return Err(GraphError::UnknownResource {
            pass: pass.clone(),
            index,
            resources: graph.resources.len(),
        });
    };
    let resource = || desc.name().clone();
    let is_valid = if writes(state) { state.bits().count_ones() == 1 } else { !state.is_empty() };
    if !is_valid {
        return Err(GraphError::InvalidState { pass: pass.clone(), resource: resource(), state });
    }
    if !State::allowed_for(desc.usage()).contains(state) {
        return Err(GraphError::NotInUsage {
            pass: pass.clone(),
            resource: resource(),
            state,
            usage: desc.usage(),
        });
    }
    if !State::allowed_on(kind).contains(state) {
        return Err(GraphError::NotOnQueue { pass: pass.clone(), resource: resource(), state, kind });
    }
    Ok(desc)
}

/// Lists of different lengths, one for each index, in one allocation.
#[derive(Clone, Debug)]
pub(super) struct Grouped<T> {
    items: Vec<T>,
    /// The end of each list.
    ends: Vec<usize>,
}

impl<T> Grouped<T> {
    pub(super) const fn new() -> Self {
        Self { items: Vec::new(), ends: Vec::new() }
    }

    /// Ends the list that has been pushed to, and begins the next.
    pub(super) fn finish(&mut self) {
        self.ends.push(self.items.len());
    }

    /// Appends an item to the unfinished list. Returns its index among all items.
    pub(super) fn push(&mut self, item: T) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// The lists of pairs (index of the list, item), items in the order of the pairs.
    pub(super) fn of_pairs(count: usize, mut pairs: Vec<(usize, T)>) -> Self {
        pairs.sort_by_key(|(index, _)| *index);
        let mut grouped = Self::new();
        let mut pairs = pairs.into_iter().peekable();
        for index in 0..count {
            while let Some((_, item)) = pairs.next_if(|(at, _)| *at == index) {
                grouped.push(item);
            }
            grouped.finish();
        }
        grouped
    }

    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The list of an index; empty for an index beyond the last.
    pub(super) fn get(&self, index: usize) -> &[T] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.items.get(start..end).unwrap_or_default()
    }

    pub(super) fn at_mut(&mut self, place: usize) -> Option<&mut T> {
        self.items.get_mut(place)
    }

    /// The lists in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.len()).map(|index| self.get(index))
    }
}
