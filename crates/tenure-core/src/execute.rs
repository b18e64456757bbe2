//! Execution of a graph: its passes in recordings, each with its activations, barriers and discards.

use std::sync::Arc;

use crate::device::{Device, State, Subresource};
use crate::services::Services;
use crate::time::{RecordingId, SyncPoint};
use crate::transient_heaps::graph::{Batch, Graph, PassId, PassPlan, PassUse, ResourceId, TransientDesc};
use crate::transient_heaps::{
    Attempt, Cached, EntryRef, Object, Prepared, Request, Requester, ResourceRequest, wrong_type,
};
use crate::{
    Buffer, BufferViewDesc, Error, GpuTimeScope, Name, Recording, Texture, TextureViewDesc, TransientRule,
    Used, View,
};

/// Records and submits the passes of a graph; see [`Frame::execute`](crate::Frame::execute).
pub(crate) fn execute<D: Device, E: From<Error>>(
    services: &Arc<Services<D>>,
    graph: &Graph,
    mut record: impl FnMut(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), E>,
) -> Result<SyncPoint, E> {
    let mut run = Run::new(services, graph)?;
    let prepared = run.prepared.clone();
    for batch in prepared.compiled.batches() {
        let mut recording = run.open(batch)?;
        for id in &batch.passes {
            let Some(pass) = prepared.compiled.pass(*id) else { continue };
            let begun = run.begin(&pass, &mut recording)?;
            let resources =
                Resources { graph: prepared.compiled.graph(), uses: pass.uses, slots: &run.slots, services };
            record(*id, &mut recording, &resources)?;
            run.end(&pass, &mut recording, begun)?;
        }
        run.submit(recording)?;
    }
    Ok(run.point())
}

/// A graph during its execution.
struct Run<'p, D: Device> {
    services: &'p Arc<Services<D>>,
    prepared: Arc<Prepared>,
    /// The number of the claimed heap, by index of the plan's heaps.
    heaps: Vec<Option<u64>>,
    /// The acquired resources, by resource id.
    slots: Vec<Option<Slot<D>>>,
    /// The submission of each batch.
    points: Vec<SyncPoint>,
}

/// A pass whose commands are about to be recorded.
struct Begun {
    recording: RecordingId,
    scope: Option<GpuTimeScope>,
}

impl<'p, D: Device> Run<'p, D> {
    #[inline(never)]
    fn new(services: &'p Arc<Services<D>>, graph: &Graph) -> Result<Self, Error> {
        let transients = &services.transients;
        let (prepared, heaps) = transients.try_twice(&**services, |attempt| {
            let state = &mut *transients.state.lock();
            state.check_open()?;
            state.stats.executions += u64::from(attempt == Attempt::First);
            let (context, name) = (&transients.context, &Name::from("transient heap"));
            state.claim(&Request { context, room: &**services, attempt, name }, graph)
        })?;
        let slots = (0..graph.resources()).map(|_| None).collect();
        let points = Vec::with_capacity(prepared.compiled.batches().len());
        Ok(Self { services, prepared, heaps, slots, points })
    }

    /// The recording of a batch, which waits for batches of other queues.
    #[inline(never)]
    fn open(&self, batch: &Batch) -> Result<Recording<D>, Error> {
        let name = batch.passes.first().and_then(|pass| self.prepared.compiled.pass(*pass));
        let name = name.map_or_else(|| "graph".into(), |pass| pass.name.clone());
        let mut recording = Recording::open(self.services, batch.queue, name)?;
        for wait in batch.waits.iter().filter_map(|wait| self.points.get(*wait)) {
            recording.wait_for(wait)?;
        }
        Ok(recording)
    }

    /// Records all commands before those of a pass.
    #[inline(never)]
    fn begin(&mut self, pass: &PassPlan<'_>, recording: &mut Recording<D>) -> Result<Begun, Error> {
        let is_timed = self.services.transients.context.config.transient.gpu_times || recording.is_marked();
        // Before its barriers: their cost is part of the pass that needs them.
        let scope = is_timed.then(|| recording.begin_scope(pass.name.clone(), true)).transpose()?;
        self.acquire(pass, recording)?;
        self.pass_to(pass, recording);
        for used in pass.uses.iter().filter(|used| used.automatic) {
            self.require(used.resource, recording, used.states)?;
        }
        recording.barriers();
        Ok(Begun { recording: recording.id(), scope })
    }

    /// Records all commands after those of a pass.
    #[inline(never)]
    fn end(&mut self, pass: &PassPlan<'_>, recording: &mut Recording<D>, begun: Begun) -> Result<(), Error> {
        let Begun { recording: number, scope } = begun;
        let is_same =
            recording.id() == number && Arc::ptr_eq(recording.context(), &self.services.transients.context);
        if !is_same {
            let rule = TransientRule::OtherRecording;
            return Err(Error::Transient { name: pass.name.clone(), rule });
        }
        // The last uses declared by the pass must not be merged with later ones.
        recording.barriers();
        for resource in pass.to_common {
            self.require(*resource, recording, State::COMMON)?;
        }
        recording.barriers();
        scope.map(|scope| recording.end_gpu_time(scope)).transpose()?;
        self.discard(pass.discards);
        Ok(())
    }

    #[inline(never)]
    fn submit(&mut self, recording: Recording<D>) -> Result<(), Error> {
        self.points.push(recording.submit()?);
        Ok(())
    }

    /// The sync point of all its submissions.
    fn point(&self) -> SyncPoint {
        self.points.iter().fold(SyncPoint::NONE, |mut all, point| {
            all.merge(point);
            all
        })
    }

    /// Transitions a whole resource to a state.
    fn require(&self, id: ResourceId, recording: &mut Recording<D>, state: State) -> Result<(), Error> {
        let Some(slot) = self.slots.get(id.index()).and_then(Option::as_ref) else { return Ok(()) };
        let used: Used<'_, D> = match &slot.object {
            Object::Texture(texture) => (&texture.resource).into(),
            Object::Buffer(buffer) => (&buffer.resource).into(),
        };
        recording.use_resource(used, Subresource::All, state)
    }

    /// Grants the recording exclusive use of the resources of the pass.
    fn pass_to(&self, pass: &PassPlan<'_>, recording: &Recording<D>) {
        let slots = pass.uses.iter().filter_map(|used| self.slots.get(used.resource.index())?.as_ref());
        for aliased_range in slots.filter_map(|slot| slot.object.aliased_range()) {
            aliased_range.pass_to(recording.id().get());
        }
    }

    fn acquire(&mut self, pass: &PassPlan<'_>, recording: &Recording<D>) -> Result<(), Error> {
        if pass.acquires.is_empty() {
            return Ok(());
        }
        let requester = Requester::new(&self.services.transients.context, recording.id(), recording.queue());
        for id in pass.acquires {
            let slot = self.acquire_one(*id, requester)?;
            if let Some(place) = self.slots.get_mut(id.index()) {
                *place = slot;
            }
        }
        Ok(())
    }

    fn acquire_one(&self, id: ResourceId, requester: Requester<'_>) -> Result<Option<Slot<D>>, Error> {
        let compiled = &self.prepared.compiled;
        let description = self.prepared.descriptions.get(id.index()).and_then(Option::as_ref);
        let (Some(description), Some(place)) = (description, compiled.placement(id)) else { return Ok(None) };
        let name = &compiled.desc(id).map(TransientDesc::name).cloned().unwrap_or_default();
        let (context, room, attempt) = (&self.services.transients.context, &**self.services, Attempt::Last);
        let request = Request { context, room, attempt, name };
        let wanted = ResourceRequest { request, requester, description };
        let state = &mut *self.services.transients.state.lock();
        state.check_open()?;
        state.note_request(description.needs.size);
        let (object, entry_ref) = match self.heaps.get(place.heap).copied().flatten() {
            None => state.acquire_dedicated(&wanted)?,
            Some(heap) => {
                let gone = || Error::Internal { what: "a transient heap in use does not exist" };
                let at = state.heap_at(heap).ok_or_else(gone)?;
                state.acquire_in(&wanted, at, place.offset)?
            }
        };
        Ok(Some(Slot { object, entry_ref }))
    }

    fn discard(&mut self, ids: &[ResourceId]) {
        for id in ids {
            if let Some(slot) = self.slots.get_mut(id.index()).and_then(Option::take) {
                self.services.transients.release(slot.entry_ref);
            }
        }
    }
}

impl<D: Device> Drop for Run<'_, D> {
    #[inline(never)]
    fn drop(&mut self) {
        for slot in self.slots.drain(..).flatten() {
            self.services.transients.release(slot.entry_ref);
        }
        self.services.transients.state.lock().release_heaps(&self.heaps);
    }
}

/// A resource while passes use it.
struct Slot<D: Device> {
    object: Object<D>,
    entry_ref: EntryRef,
}

/// The resources that the pass being recorded has declared.
pub struct Resources<'p, D: Device> {
    graph: &'p Graph,
    uses: &'p [PassUse],
    slots: &'p [Option<Slot<D>>],
    /// For the creation of views.
    services: &'p Services<D>,
}

debug_fields!([D: Device] Resources<'_, D>, "Resources", this, uses: this.uses);

impl<D: Device> Resources<'_, D> {
    /// The resources that the pass declared. For the C interface.
    #[doc(hidden)]
    pub fn declared(&self) -> impl Iterator<Item = ResourceId> {
        self.uses.iter().map(|used| used.resource)
    }

    /// A texture of the graph. O(uses of the pass).
    ///
    /// # Errors
    /// [`Error::Transient`] for a resource that the pass did not declare, or declared as a buffer.
    pub fn texture(&self, id: ResourceId) -> Result<&Texture<D>, Error> {
        Ok(&self.cached_texture(id)?.resource)
    }

    /// A buffer of the graph. O(uses of the pass).
    ///
    /// # Errors
    /// [`Error::Transient`] for a resource that the pass did not declare, or declared as a texture.
    pub fn buffer(&self, id: ResourceId) -> Result<&Buffer<D>, Error> {
        Ok(&self.cached_buffer(id)?.resource)
    }

    /// A view of a texture, which is cached with the API resource: created once, not in each frame. O(views of the texture +
    /// uses of the pass).
    ///
    /// # Errors
    /// As [`texture`](Self::texture) and
    /// [`Gpu::create_texture_view`](crate::Gpu::create_texture_view).
    #[inline(never)]
    pub fn texture_view(&self, id: ResourceId, desc: &TextureViewDesc) -> Result<&View<D>, Error> {
        self.cached_texture(id)?.view(&self.services.descriptors, self.services, desc)
    }

    /// A view of a buffer; as [`texture_view`](Self::texture_view).
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer) and [`Gpu::create_buffer_view`](crate::Gpu::create_buffer_view).
    #[inline(never)]
    pub fn buffer_view(&self, id: ResourceId, desc: &BufferViewDesc) -> Result<&View<D>, Error> {
        self.cached_buffer(id)?.view(&self.services.descriptors, self.services, desc)
    }

    fn cached_texture(&self, id: ResourceId) -> Result<&Cached<D, Texture<D>>, Error> {
        self.object(id)?.texture().map(|texture| &**texture).ok_or_else(|| wrong_type(&self.name(id)))
    }

    fn cached_buffer(&self, id: ResourceId) -> Result<&Cached<D, Buffer<D>>, Error> {
        self.object(id)?.buffer().map(|buffer| &**buffer).ok_or_else(|| wrong_type(&self.name(id)))
    }

    fn object(&self, id: ResourceId) -> Result<&Object<D>, Error> {
        let is_declared = self.uses.iter().any(|known| known.resource == id);
        let slot = self.slots.get(id.index()).and_then(Option::as_ref).filter(|_| is_declared);
        let rule = TransientRule::NotDeclared;
        slot.map(|slot| &slot.object).ok_or_else(|| Error::Transient { name: self.name(id), rule })
    }

    /// The name of a resource in the graph: the API object may have another name. For the C interface.
    #[doc(hidden)]
    pub fn name_of(&self, id: ResourceId) -> Option<&Name> {
        self.graph.desc(id).map(TransientDesc::name)
    }

    fn name(&self, id: ResourceId) -> Name {
        self.name_of(id).cloned().unwrap_or_default()
    }
}
