//! Allocation of memory for requests with the fallback chain.

use std::sync::Arc;

use tenure_heap::{Answer, Fallback, Round, ShortageRules, Spill, Step, try_each_memory_type};

use super::block::Suballocation;
use super::class::{allows, first_allowed};
use super::engine::Engine;
use super::location::Backing;
use super::policy::{PlacementKind, place_texture};
use super::request::{RangeRequest, ResourceRequest};
use super::sharding::Shards;
use super::shortage::{MakeRoom, Wanted};
use super::terms::{Request, Terms};
use super::{AllocationFlags, BlockTraits, Class, PoolKind};
use crate::Name;
use crate::api_resource::ApiResource;
use crate::device::{Device, DeviceError, MemoryTypeId, Requirements, ResourceDesc};

/// The reason for a failed allocation.
#[derive(Debug)]
pub enum AllocationFailure {
    /// Each step was short of memory; the preferred class, and the result of each step.
    Short { class: Class, answers: Vec<Answer<DeviceError>> },
    /// The device refused for another reason.
    Refused(DeviceError),
}

impl<D: Device> Engine<'_, D> {
    /// Allocates a range from an existing block of the first pool in the order of the request, and returns it with its
    /// API buffer. The usual path of [`place_range`](Self::place_range), without the fallback chain. `None` if that pool
    /// has no room, or if the request needs the chain.
    #[inline]
    pub fn take_range(self, request: &RangeRequest<'_>) -> Option<(Suballocation, Arc<ApiResource<D>>)> {
        let RangeRequest { size, align, memory_use, flags, traits, .. } = *request;
        if !(traits.is_usual() && flags.allows_usual(memory_use)) {
            return None;
        }
        let shards = self.pools.usual(request)?;
        self.shard_of_thread(shards, size, align).take(size, align)
    }

    /// Allocates a range of a shared buffer.
    pub fn place_range(
        self,
        request: RangeRequest<'_>,
        room: &dyn MakeRoom,
    ) -> Result<Backing<D>, AllocationFailure> {
        let found = self.place(request, room);
        if request.traits.is_usual()
            && let Ok(needs) = self.pools.range_needs(self.device, request.kind)
            && let Some(first) = first_allowed(self.pools.order_for_range(&request), needs.memory_types)
        {
            let class = Class::new(first, needs.category, request.kind, request.traits);
            self.pools.note_usual(&request, class);
        }
        found
    }

    /// Allocates memory for a request, and creates its object there.
    #[inline]
    pub fn place<R: Request<D>>(
        self,
        request: R,
        room: &dyn MakeRoom,
    ) -> Result<R::Found, AllocationFailure> {
        let terms = request.terms(self).map_err(AllocationFailure::Refused)?;
        // The steady state, without the chain.
        let first = match first_allowed(terms.order, terms.allowed) {
            Some(memory) => self.in_existing_blocks(&request, &terms, memory),
            None => Ok(None),
        };
        match first {
            Ok(Some(found)) => Ok(found),
            first => self.place_in_steps(request, first.err(), room),
        }
    }

    /// The class whose blocks [`place`](Self::place) tries first for a texture for the GPU alone without special traits or flags;
    /// `None` if it has dedicated memory.
    pub fn usual_class(self, desc: &ResourceDesc, needs: &Requirements) -> Option<Class> {
        let ResourceDesc::Texture(info) = desc else { return None };
        let PlacementKind::Placed(kind) = place_texture(info, needs, self.config) else { return None };
        let name = Name::default();
        let order =
            self.pools.order_for(&ResourceRequest::new(desc, needs, PlacementKind::Placed(kind), &name));
        let memory = first_allowed(order, needs.memory_types).filter(|memory| !self.is_lazy(*memory))?;
        Some(Class::new(memory, needs.category, kind, BlockTraits::default()))
    }

    /// As [`place`](Self::place), for a request whose [usual class](Self::usual_class) is known.
    #[inline]
    pub fn place_usual(
        self,
        request: ResourceRequest<'_>,
        class: Class,
        room: &dyn MakeRoom,
    ) -> Result<Backing<D>, AllocationFailure> {
        let (size, align) = (request.needs.size, request.needs.alignment);
        let found = self.pools.find(class).and_then(|shards| self.in_existing_block(shards, size, align));
        match found.map(|found| request.in_block(self, found)) {
            Some(Ok(found)) => Ok(found),
            first => self.place_in_steps(request, first.and_then(Result::err), room),
        }
    }

    /// Uses the existing blocks of a memory type, if they have room and the request uses blocks.
    #[inline(always)]
    fn in_existing_blocks<R: Request<D>>(
        self,
        request: &R,
        terms: &Terms<'_>,
        memory: MemoryTypeId,
    ) -> Result<Option<R::Found>, DeviceError> {
        let Some(kind) = terms.kind.filter(|_| !self.is_lazy(memory)) else { return Ok(None) };
        let shards = self.pool(Class::new(memory, terms.category, kind, terms.traits))?;
        let found = self.in_existing_block(shards, terms.size, terms.align);
        found.map(|found| request.in_block(self, found)).transpose()
    }

    /// Runs all steps. `refusal`: the error of the device if it has refused the object in an existing block of the
    /// preferred memory.
    #[cold]
    fn place_in_steps<R: Request<D>>(
        self,
        request: R,
        refusal: Option<DeviceError>,
        room: &dyn MakeRoom,
    ) -> Result<R::Found, AllocationFailure> {
        let terms = request.terms(self).map_err(AllocationFailure::Refused)?;
        let Terms { flags, order, usable, allowed, spill, size, .. } = terms;
        let may_wait = !flags.intersects(AllocationFlags::NEVER_WAIT | AllocationFlags::NEVER_ALLOCATE);
        let wanted = Wanted::new(order, allowed, size, may_wait);
        let (has_prepared, reclaims) = (false, room.reclaims());
        let mut steps = Steps { engine: self, request, terms, refusal, wanted, room, has_prepared, reclaims };
        if let (None, Some(memory)) = (wanted, first_allowed(order, usable)) {
            let refusal = no_memory_type(order, usable, size);
            let answers = vec![Answer { memory, step: Step::WithinBudget, refusal }];
            return Err(AllocationFailure::Short { class: steps.class(memory), answers });
        }
        let rules = ShortageRules {
            spill,
            may_exceed_budget: !flags.contains(AllocationFlags::WITHIN_BUDGET),
            may_wait,
        };
        let class = steps.class(MemoryTypeId(0));
        let found = try_memory_types(&mut steps, rules, order, allowed, |memory| Class { memory, ..class });
        let is_short = matches!(found, Err(AllocationFailure::Short { .. }));
        if !is_short || !rules.may_wait || room.reclaims() == steps.reclaims {
            return found;
        }
        // Another thread has returned memory while the driver refused the last steps.
        let may_spill = spill == Spill::BeforeBudget || (rules.may_exceed_budget && spill != Spill::Never);
        let preferred = wanted.map(|wanted| wanted.own.memory);
        for memory in order.iter().copied().filter(|memory| allows(allowed, *memory)) {
            let left = preferred.filter(|own| *own != memory && !steps.is_alike(*own, memory));
            if left.is_some() && !may_spill {
                continue;
            }
            match steps.in_existing(memory) {
                Ok(Some(again)) => {
                    if let Some(own) = left {
                        steps.note_spill(own, memory);
                    }
                    return Ok(again);
                }
                Err(error) if !error.is_shortage() => return Err(AllocationFailure::Refused(error)),
                Ok(None) | Err(_) => {}
            }
        }
        found
    }
}

/// The steps of one request.
struct Steps<'a, D: Device, R> {
    engine: Engine<'a, D>,
    request: R,
    terms: Terms<'a>,
    /// The result of the first step, if known.
    refusal: Option<DeviceError>,
    wanted: Option<Wanted>,
    room: &'a dyn MakeRoom,
    /// Whether [`MakeRoom::prepare_growth`] was called.
    has_prepared: bool,
    /// The reclaims before the last tried step.
    reclaims: usize,
}

impl<'a, D: Device, R: Request<D>> Steps<'a, D, R> {
    /// The class of the request in a memory type.
    fn class(&self, memory: MemoryTypeId) -> Class {
        let Terms { category, kind, traits, .. } = self.terms;
        Class::new(memory, category, kind.unwrap_or(PoolKind::Committed), traits)
    }

    /// The pool that serves the request in a memory type; `None` if it gets dedicated memory there.
    fn pool(&self, memory: MemoryTypeId) -> Result<Option<&'a Shards<D>>, DeviceError> {
        let has_pool = self.terms.kind.is_some() && !self.engine.is_lazy(memory);
        has_pool.then(|| self.engine.pool(self.class(memory))).transpose()
    }

    fn in_existing(&self, memory: MemoryTypeId) -> Result<Option<R::Found>, DeviceError> {
        self.engine.in_existing_blocks(&self.request, &self.terms, memory)
    }

    fn in_existing_block(&self, shards: Option<&Shards<D>>) -> Result<Option<R::Found>, DeviceError> {
        let Some(shards) = shards else { return Ok(None) };
        let found = self.engine.in_existing_block(shards, self.terms.size, self.terms.align);
        found.map(|found| self.request.in_block(self.engine, found)).transpose()
    }
}

impl<D: Device, R: Request<D>> Fallback for Steps<'_, D, R> {
    type Found = R::Found;
    type Error = DeviceError;

    fn existing_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<Option<R::Found>, DeviceError> {
        match self.refusal.take() {
            Some(refusal) => Err(refusal),
            None => self.in_existing(memory),
        }
    }

    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<R::Found, DeviceError> {
        let shards = self.pool(memory)?;
        let Terms { size, align, flags, .. } = self.terms;
        if !std::mem::replace(&mut self.has_prepared, true) {
            if flags.contains(AllocationFlags::WITHIN_BUDGET) {
                // The current budgets may be lower than some frames ago.
                self.engine.limits().expire_budgets();
            }
            self.room.prepare_growth();
            if let Some(found) = self.in_existing_block(shards)? {
                return Ok(found);
            }
        }
        match shards {
            Some(shards) => {
                let found = self.engine.grow(shards, size, align, (round, flags))?;
                self.request.in_block(self.engine, found)
            }
            None => {
                let found = self.request.dedicated(self.engine, memory, round);
                found.unwrap_or(Err(DeviceError::OutOfMemory { requested: size, memory }))
            }
        }
    }

    fn dedicated(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
        refusal: DeviceError,
    ) -> Result<R::Found, DeviceError> {
        let Terms { kind, shared, category, traits, .. } = self.terms;
        let is_lazy = self.engine.is_lazy(memory);
        if kind.is_some() && !is_lazy {
            let found = self.request.dedicated(self.engine, memory, round);
            return found.unwrap_or(Err(refusal));
        }
        // The refusal is for dedicated memory. A free range is better than a failure.
        let shared = shared.filter(|_| refusal.is_shortage() && !is_lazy);
        let pool = shared.and_then(|kind| self.engine.pools.find(Class::new(memory, category, kind, traits)));
        self.in_existing_block(pool)?.ok_or(refusal)
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        self.engine.pools.heap_properties().is_alike(one, other)
    }

    fn make_room(&mut self) {
        match self.terms.flags.contains(AllocationFlags::NEVER_ALLOCATE) {
            // If this step returns memory to the driver, that memory cannot serve this request from a block.
            true => self.room.release_completed(),
            false => self.room.make_room(self.wanted),
        }
        self.reclaims = self.room.reclaims();
    }

    fn wait_for_room(&mut self) -> bool {
        let has_waited = self.room.wait_for_room(self.wanted, self.reclaims);
        self.reclaims = self.room.reclaims();
        has_waited
    }

    #[cold]
    fn note_refusal(&mut self, memory: MemoryTypeId, refusal: &DeviceError) {
        Wanted::note_refusal(&mut self.wanted, memory, refusal);
        let class = self.class(memory);
        if let Some(times) = self.engine.pools.notices.refusal(class) {
            event!(debug, %class, %refusal, times, "no memory of this class; the next step follows");
        }
    }

    #[cold]
    fn note_spill(&mut self, preferred: MemoryTypeId, found: MemoryTypeId) {
        self.engine.pools.note_spill(self.class(preferred), found);
    }
}

/// Tries the steps of a request in each memory type that the resource allows, in the given order.
pub fn try_memory_types<F: Fallback<Error = DeviceError>>(
    steps: &mut F,
    rules: ShortageRules,
    order: &[MemoryTypeId],
    memory_types: u32,
    class: impl Fn(MemoryTypeId) -> Class,
) -> Result<F::Found, AllocationFailure> {
    let allowed = order.iter().copied().filter(|memory| allows(memory_types, *memory));
    try_each_memory_type(steps, rules, allowed).map_err(|failure| match failure {
        tenure_heap::AllocationFailure::NoMemoryType => {
            AllocationFailure::Refused(no_memory_type(order, 0, 0))
        }
        tenure_heap::AllocationFailure::OutOfMemory { preferred, answers } => {
            AllocationFailure::Short { class: class(preferred), answers }
        }
        tenure_heap::AllocationFailure::Refused(error) => AllocationFailure::Refused(error),
    })
}

/// The reason why no memory type is allowed: the resource supports some types (`needed`), but the flags of the request
/// exclude them.
pub fn no_memory_type(order: &[MemoryTypeId], needed: u32, requested: u64) -> DeviceError {
    match first_allowed(order, needed) {
        Some(memory) => DeviceError::DeviceLocalOnly { requested, memory },
        None => DeviceError::Unsupported { feature: "a memory type for this resource and use" },
    }
}
