//! Running a graph: its passes in recordings, with what each needs around it.

use std::sync::Arc;

use super::graph::{Graph, PassId, PassPlan, ResourceId, TransientDesc};
use super::heap::Taker;
use super::pool::{Inner, queue_kind};
use super::prepare::Prepared;
use super::resources::{Resources, Slot};
use crate::device::{Device, State, Subresource};
use crate::time::SyncPoint;
use crate::{Error, Name, Recording};

impl<D: Device> Inner<D> {
    /// Records and submits the passes of a graph; see [`Frame::execute`](crate::Frame::execute).
    pub(crate) fn execute<E: From<Error>>(
        self: &Arc<Self>,
        graph: &Graph,
        mut record: impl FnMut(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), E>,
    ) -> Result<SyncPoint, E> {
        let mut run = Run::new(self, graph)?;
        let prepared = run.prepared.clone();
        let mut points: Vec<SyncPoint> = Vec::with_capacity(prepared.compiled.batches().len());
        for batch in prepared.compiled.batches() {
            let name = batch.passes.first().and_then(|pass| prepared.compiled.pass(*pass));
            let mut recording =
                Recording::open(&self.shared, batch.queue, name.map_or("graph", |pass| pass.name))?;
            for wait in batch.waits.iter().filter_map(|wait| points.get(*wait)) {
                recording.wait_for(wait)?;
            }
            for pass in &batch.passes {
                run.pass(*pass, &mut recording, &mut record)?;
            }
            points.push(recording.submit()?);
        }
        Ok(points.iter().fold(SyncPoint::NONE, |mut all, point| {
            all.merge(point);
            all
        }))
    }
}

/// A graph that is running.
struct Run<'p, D: Device> {
    pool: &'p Inner<D>,
    prepared: Arc<Prepared>,
    /// The numbers of the plan's heaps.
    heaps: Vec<Option<u64>>,
    /// What is acquired, by resource.
    slots: Vec<Option<Slot<D>>>,
}

impl<'p, D: Device> Run<'p, D> {
    fn new(pool: &'p Inner<D>, graph: &Graph) -> Result<Self, Error> {
        let state = &mut *pool.state.lock();
        state.stats.executions += 1;
        let (prepared, heaps) = state.claim(&pool.shared, graph)?;
        let slots = (0..graph.resources()).map(|_| None).collect();
        Ok(Self { pool, prepared, heaps, slots })
    }

    fn pass<E: From<Error>>(
        &mut self,
        id: PassId,
        recording: &mut Recording<D>,
        record: &mut impl FnMut(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), E>,
    ) -> Result<(), E> {
        let prepared = self.prepared.clone();
        let Some(pass) = prepared.compiled.pass(id) else { return Ok(()) };
        self.acquire(&pass, recording)?;
        for used in pass.uses.iter().filter(|used| used.automatic) {
            self.require(used.resource, recording, used.states)?;
        }
        recording.barriers();
        let number = recording.id();
        let resources = Resources { graph: prepared.compiled.graph(), uses: pass.uses, slots: &self.slots };
        record(id, recording, &resources)?;
        let is_same = recording.id() == number && Arc::ptr_eq(recording.shared(), &self.pool.shared);
        if !is_same {
            let rule = "a pass is recorded into the recording that it was given";
            return Err(Error::Transient { name: Name::from(pass.name), rule }.into());
        }
        // What the pass noted last is not one use with what follows.
        recording.barriers();
        for resource in pass.to_common {
            self.require(*resource, recording, State::COMMON)?;
        }
        recording.barriers();
        self.discard(pass.discards);
        Ok(())
    }

    /// Brings all of a resource into a state.
    fn require(&self, id: ResourceId, recording: &mut Recording<D>, state: State) -> Result<(), Error> {
        match self.slots.get(id.index()).and_then(Option::as_ref) {
            Some(slot) => slot.object.require(recording, Subresource::All, state),
            None => Ok(()),
        }
    }

    fn acquire(&mut self, pass: &PassPlan<'_>, recording: &Recording<D>) -> Result<(), Error> {
        if pass.acquires.is_empty() {
            return Ok(());
        }
        let others = self.pool.shared.recordings.oldest_open_but(recording.id());
        let queue = queue_kind(&self.pool.shared, recording.queue());
        let taker = Taker { recording: 0, queue, others };
        for id in pass.acquires {
            let slot = self.acquire_one(*id, taker)?;
            if let Some(place) = self.slots.get_mut(id.index()) {
                *place = slot;
            }
        }
        Ok(())
    }

    fn acquire_one(&self, id: ResourceId, taker: Taker) -> Result<Option<Slot<D>>, Error> {
        let compiled = &self.prepared.compiled;
        let kind = self.prepared.kinds.get(id.index()).and_then(Option::as_ref);
        let (Some(kind), Some(place)) = (kind, compiled.placement(id)) else { return Ok(None) };
        let name = compiled.desc(id).map(TransientDesc::name).cloned().unwrap_or_default();
        let shared = &self.pool.shared;
        let state = &mut *self.pool.state.lock();
        state.note_request(kind.needs.size);
        let (object, seating) = match self.heaps.get(place.heap).copied().flatten() {
            None => state.acquire_lone(shared, taker, kind, &name)?,
            Some(heap) => {
                let at = state.heaps.iter().position(|known| known.id == heap);
                let gone = || Error::Contract { rule: "a heap in use is there", value: heap };
                state.acquire_in(shared, at.ok_or_else(gone)?, taker, kind, &name, place.offset)?
            }
        };
        Ok(Some(Slot { object, seating }))
    }

    fn discard(&mut self, ids: &[ResourceId]) {
        for id in ids {
            if let Some(slot) = self.slots.get_mut(id.index()).and_then(Option::take) {
                self.pool.release(slot.seating);
            }
        }
    }
}

impl<D: Device> Drop for Run<'_, D> {
    fn drop(&mut self) {
        for slot in self.slots.drain(..).flatten() {
            self.pool.release(slot.seating);
        }
        self.pool.state.lock().let_go(&self.heaps);
    }
}
