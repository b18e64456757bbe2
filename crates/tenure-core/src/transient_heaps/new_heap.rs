//! New transient heaps, by the fallback chain.

use std::sync::Arc;

use tenure_heap::{Fallback, Round, ShortageRules, Spill};

use super::pool::{Attempt, HeapRequest, State};
use crate::Error;
use crate::Name;
use crate::context::Context;
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, Priority};
use crate::memory::{
    AllocationFailure, BlockTraits, Class, MakeRoom, MemoryUse, PoolKind, Wanted, try_memory_types,
};

impl<D: Device> State<D> {
    /// Creates a heap: of the best size, or where the driver refuses it, of a half, a quarter or an eighth, if that is enough.
    /// The GPU writes resources in it, so that memory other than the preferred one is used only in the last attempt, where the
    /// driver has refused everything else. Returns its index.
    pub(crate) fn add_heap(
        &mut self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        request: &HeapRequest,
        attempt: Attempt,
        name: &Name,
    ) -> Result<usize, Error> {
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let is_last = attempt == Attempt::Last && !request.is_trial;
        let spill = if is_last { Spill::AfterRefusal } else { Spill::Never };
        // A thread that holds the lock of the transient heaps must not wait for the GPU.
        let rules = ShortageRules { spill, may_exceed_budget: !request.is_trial, may_wait: false };
        let order = context.pools.order(MemoryUse::GpuOnly);
        let wanted = Wanted::new(order, request.memory_types, request.least);
        let mut steps = Steps { state: self, context, room, request, name, wanted };
        let failure =
            match try_memory_types(&mut steps, rules, order, request.memory_types, class_of(request)) {
                Ok(at) => return Ok(at),
                Err(failure) => failure,
            };
        let HeapRequest { least, alignment, .. } = *request;
        Err(match failure {
            // Another attempt follows.
            AllocationFailure::Short { class, answers } if !is_last => {
                Error::OutOfMemory(Box::new(context.shortage(name, least, alignment, class, answers)))
            }
            failure => context.fallen(name, least, alignment, failure),
        })
    }
}

/// The name of the heaps of a request in errors and messages.
fn class_of(request: &HeapRequest) -> impl Fn(MemoryTypeId) -> Class + Copy {
    let category = request.tenants.category;
    move |memory| Class::new(memory, category, PoolKind::Transient, BlockTraits::default())
}

/// The steps of a request for a heap.
struct Steps<'a, D: Device> {
    state: &'a mut State<D>,
    context: &'a Arc<Context<D>>,
    room: &'a dyn MakeRoom,
    request: &'a HeapRequest,
    name: &'a Name,
    wanted: Option<Wanted>,
}

impl<D: Device> Steps<'_, D> {
    fn create(&mut self, memory: MemoryTypeId, size: u64) -> Result<usize, DeviceError> {
        let HeapRequest { alignment, tenants, road, .. } = *self.request;
        let category = tenants.category;
        let desc = HeapDesc { size, alignment, memory, category, priority: Priority::High };
        let objects = &self.context.pools.objects;
        let heap =
            objects.create_heap(self.context.device(), &desc, "transient heap", &objects.transient_memory)?;
        Ok(self.state.push_heap(heap, &desc, (road, tenants)))
    }
}

impl<D: Device> Fallback for Steps<'_, D> {
    type Found = usize;
    type Error = DeviceError;

    /// Existing heaps have been searched before.
    fn existing_block(&mut self, _: MemoryTypeId, _: Round) -> Result<Option<usize>, DeviceError> {
        Ok(None)
    }

    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<usize, DeviceError> {
        let context = self.context;
        let sizes = self.request.sizes(context.device().properties());
        let objects = &context.pools.objects;
        objects.make_block(context.device(), memory, sizes, round, |size| self.create(memory, size))
    }

    fn dedicated(&mut self, _: MemoryTypeId, _: Round, refusal: DeviceError) -> Result<usize, DeviceError> {
        Err(refusal)
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        self.context.pools.heap_properties().is_alike(one, other)
    }

    fn make_room(&mut self) {
        if !self.request.is_trial {
            let unused = self.state.trim_unused(self.context);
            unused.into_iter().for_each(|heap| heap.retire(self.context));
            self.room.make_room(self.wanted);
        }
    }

    #[cold]
    fn note_refusal(&mut self, memory: MemoryTypeId, refusal: &DeviceError) {
        Wanted::note_refusal(&mut self.wanted, memory, refusal);
        if let Some(times) = self.context.pools.notices.refusal(class_of(self.request)(memory)) {
            let (name, bytes) = (self.name, self.request.least);
            event!(debug, %name, bytes, %refusal, times, "no memory of this type for a transient heap; the next step follows");
        }
    }

    #[cold]
    fn note_spill(&mut self, preferred: MemoryTypeId, found: MemoryTypeId) {
        self.context.pools.note_spill(class_of(self.request)(preferred), found);
    }
}
