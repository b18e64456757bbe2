//! New transient heaps, by the fallback chain.

use tenure_heap::{Fallback, Round, ShortageRules, Spill};

use super::heap::HeapKind;
use super::request::{Attempt, HeapRequest, Request};
use super::transients::{IdleHeaps, State};
use crate::Error;
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, Priority};
use crate::memory::{AllocationFailure, BlockTraits, Class, MemoryUse, PoolKind, Wanted, try_memory_types};

impl<D: Device> State<D> {
    /// Creates a heap: of the best size, or if the driver refuses it, of a half, a quarter or an eighth, if that is
    /// sufficient. The GPU writes resources in it, so other memory than the preferred one is used only in the last attempt,
    /// after the driver has refused everything else. Returns its index.
    pub(crate) fn add_heap(&mut self, request: &Request<'_, D>, heap: &HeapRequest) -> Result<usize, Error> {
        let Request { context, attempt, name, .. } = *request;
        let HeapRequest { memory_types, least, alignment, is_trial, .. } = *heap;
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let is_last = attempt == Attempt::Last && !is_trial;
        let spill = if is_last { Spill::AfterRefusal } else { Spill::Never };
        // A thread that holds the lock of the transient heaps must not wait for the GPU.
        let rules = ShortageRules { spill, may_exceed_budget: !is_trial, may_wait: false };
        let order = context.pools.order(MemoryUse::GpuOnly);
        let wanted = Wanted::new(order, memory_types, least, rules.may_wait);
        let mut steps = Steps { state: self, request, heap, wanted };
        let failure = match try_memory_types(&mut steps, rules, order, memory_types, class_of(heap)) {
            Ok(at) => return Ok(at),
            Err(failure) => failure,
        };
        Err(match failure {
            // Another attempt follows.
            AllocationFailure::Short { class, answers } if !is_last => {
                Error::OutOfMemory(Box::new(context.shortage(name, least, alignment, class, answers)))
            }
            failure => context.fallen(name, least, alignment, failure),
        })
    }
}

/// The name of requested heaps in errors and messages.
fn class_of(heap: &HeapRequest) -> impl Fn(MemoryTypeId) -> Class + Copy {
    let category = heap.tenants.category;
    move |memory| Class::new(memory, category, PoolKind::Transient, BlockTraits::default())
}

/// The steps of a request for a heap.
struct Steps<'a, D: Device> {
    state: &'a mut State<D>,
    request: &'a Request<'a, D>,
    heap: &'a HeapRequest,
    wanted: Option<Wanted>,
}

impl<D: Device> Steps<'_, D> {
    fn create(&mut self, memory: MemoryTypeId, size: u64) -> Result<usize, DeviceError> {
        let HeapRequest { alignment, tenants, road, .. } = *self.heap;
        let category = tenants.category;
        let desc = HeapDesc { size, alignment, memory, category, priority: Priority::High };
        let (objects, device) = (&self.request.context.pools.objects, self.request.context.device());
        let heap = objects.create_heap(device, &desc, "transient heap", &objects.transient_memory)?;
        Ok(self.state.push_heap(heap, &desc, HeapKind { road, memory, tenants }))
    }
}

impl<D: Device> Fallback for Steps<'_, D> {
    type Found = usize;
    type Error = DeviceError;

    /// Existing heaps have already been searched.
    fn existing_block(&mut self, _: MemoryTypeId, _: Round) -> Result<Option<usize>, DeviceError> {
        Ok(None)
    }

    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<usize, DeviceError> {
        let context = self.request.context;
        let sizes = self.heap.sizes(context.device().properties());
        let objects = &context.pools.objects;
        objects.make_block(context.device(), memory, sizes, round, |size| self.create(memory, size))
    }

    fn dedicated(&mut self, _: MemoryTypeId, _: Round, refusal: DeviceError) -> Result<usize, DeviceError> {
        Err(refusal)
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        self.request.context.pools.heap_properties().is_alike(one, other)
    }

    fn make_room(&mut self) {
        if !self.heap.is_trial {
            let context = self.request.context;
            let idle = self.state.trim(context, IdleHeaps::NotUsedLately);
            idle.into_iter().for_each(|heap| heap.retire(context));
            self.request.room.make_room(self.wanted);
        }
    }

    #[cold]
    fn note_refusal(&mut self, memory: MemoryTypeId, refusal: &DeviceError) {
        Wanted::note_refusal(&mut self.wanted, memory, refusal);
        if let Some(times) = self.request.context.pools.notices.refusal(class_of(self.heap)(memory)) {
            let (name, bytes) = (self.request.name, self.heap.least);
            event!(debug, %name, bytes, %refusal, times, "no memory of this type for a transient heap; the next step follows");
        }
    }

    #[cold]
    fn note_spill(&mut self, preferred: MemoryTypeId, found: MemoryTypeId) {
        self.request.context.pools.note_spill(class_of(self.heap)(preferred), found);
    }
}
