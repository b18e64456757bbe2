//! The fallback chain for resources and their ranges: the work of each step.

use std::cell::Cell;

use tenure_heap::{Answer, Fallback, Round, ShortageRules, Spill, Step, try_each_memory_type};

use super::location::Backing;
use super::maker::Maker;
use super::objects::MemoryOwner;
use super::policy::{Placement, shared_pool};
use super::pool::Store;
use super::pools::{Pools, allows};
use super::request::{MakeRoom, RangeRequest, ResourceRequest, Wanted, first_allowed};
use super::{AllocationFlags, BlockTraits, Class, MemoryUse, PoolKind, Suballocation};
use crate::device::{Device, DeviceError, MemoryTypeId, Priority, Requirements, ResourceDesc};
use crate::{Config, Strategy};

/// The reason for a failed allocation.
#[derive(Debug)]
pub(crate) enum AllocationFailure {
    /// Each step was short of memory; the preferred class, and the answer to each step.
    Short { class: Class, answers: Vec<Answer<DeviceError>> },
    /// The device refused for another reason.
    Refused(DeviceError),
}

/// The steps of one request.
struct Steps<'a, D: Device, C, E, N, A> {
    pools: &'a Pools<D>,
    /// The class in a memory type.
    class: C,
    existing_block: E,
    new_block: N,
    dedicated: A,
    flags: AllocationFlags,
    wanted: Option<Wanted>,
    room: &'a dyn MakeRoom,
    /// [`MakeRoom::prepare_growth`] was called.
    has_prepared: bool,
}

impl<T, D, C, E, N, A> Fallback for Steps<'_, D, C, E, N, A>
where
    D: Device,
    C: Fn(MemoryTypeId) -> Class,
    E: Fn(MemoryTypeId) -> Result<Option<T>, DeviceError>,
    N: Fn(MemoryTypeId, Round) -> Result<T, DeviceError>,
    A: Fn(MemoryTypeId, Round, DeviceError) -> Result<T, DeviceError>,
{
    type Found = T;
    type Error = DeviceError;

    fn existing_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<Option<T>, DeviceError> {
        (self.existing_block)(memory)
    }

    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<T, DeviceError> {
        if !std::mem::replace(&mut self.has_prepared, true) {
            self.room.prepare_growth();
            if let Some(found) = (self.existing_block)(memory)? {
                return Ok(found);
            }
        }
        (self.new_block)(memory, round)
    }

    fn dedicated(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
        refusal: DeviceError,
    ) -> Result<T, DeviceError> {
        (self.dedicated)(memory, round, refusal)
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        self.pools.heap_properties().is_alike(one, other)
    }

    fn make_room(&mut self) {
        match self.flags.contains(AllocationFlags::NEVER_ALLOCATE) {
            // Memory that goes back to the driver in this step cannot serve this request from a block.
            true => self.room.release_completed(),
            false => self.room.make_room(self.wanted),
        }
    }

    fn wait_for_room(&mut self) -> bool {
        self.room.wait_for_room(self.wanted)
    }

    #[cold]
    fn note_refusal(&mut self, memory: MemoryTypeId, refusal: &DeviceError) {
        Wanted::note_refusal(&mut self.wanted, memory, refusal);
        let class = (self.class)(memory);
        if let Some(times) = self.pools.notices.refusal(class) {
            event!(debug, %class, %refusal, times, "no memory of this class; the next step follows");
        }
    }

    #[cold]
    fn note_spill(&mut self, preferred: MemoryTypeId, found: MemoryTypeId) {
        self.pools.note_spill((self.class)(preferred), found);
    }
}

impl<'a, T, D, C, E, N, A> Steps<'a, D, C, E, N, A>
where
    Self: Fallback<Found = T, Error = DeviceError>,
    D: Device,
    C: Fn(MemoryTypeId) -> Class + Copy,
{
    /// Tries each memory type that the resource (`needed`) and the request allow, for `requested` bytes.
    fn run(
        mut self,
        rules: ShortageRules,
        order: &[MemoryTypeId],
        (memory_types, needed): (u32, u32),
        requested: u64,
    ) -> Result<T, AllocationFailure> {
        let class = self.class;
        if !rules.may_exceed_budget {
            // The current budgets may be lower than those of some frames ago.
            self.pools.objects.limits.expire_budgets();
        }
        if let (None, Some(memory)) = (first_allowed(order, memory_types), first_allowed(order, needed)) {
            let refusal = no_memory_type(order, needed, requested);
            let answers = vec![Answer { memory, step: Step::WithinBudget, refusal }];
            return Err(AllocationFailure::Short { class: class(memory), answers });
        }
        try_memory_types(&mut self, rules, order, memory_types, class)
    }
}

/// Tries the steps of a request in each memory type that the resource allows, in the given order.
pub(crate) fn try_memory_types<F: Fallback<Error = DeviceError>>(
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

impl<D: Device> Pools<D> {
    /// Logs that memory of a class was short, and that a resource went to other memory.
    #[cold]
    pub(crate) fn note_spill(&self, class: Class, found: MemoryTypeId) {
        if let Some(times) = self.notices.spill(class) {
            let memory_type = found.0;
            event!(warn, %class, memory_type, times, "memory was short: a resource was placed in a slower memory type");
        }
    }

    /// Finds a range of a shared buffer. In steady state [`take_range`](Self::take_range) finds the same range
    /// with fewer instructions.
    pub(crate) fn place_range(
        &self,
        device: &D,
        config: &Config,
        request: RangeRequest<'_>,
        room: &dyn MakeRoom,
    ) -> Result<Backing<D>, AllocationFailure> {
        let needs = self.range_needs(device, request.kind).map_err(AllocationFailure::Refused)?;
        let class = |memory| Class::new(memory, needs.category, request.kind, request.traits);
        let order = self.order_for_range(&request);
        let maker = Maker { pools: self, device, config };
        let RangeRequest { size, align, flags, .. } = request;
        let memory_types = flags.memory_types(device.properties(), needs.memory_types);
        let steps = Steps {
            pools: self,
            class,
            existing_block: |memory| {
                let shards = maker.pool(class(memory))?;
                maker.existing(shards, size, align).map(|found| maker.range(shards, found)).transpose()
            },
            new_block: |memory, round| {
                let shards = maker.pool(class(memory))?;
                maker.range(shards, maker.grow(shards, size, align, (round, flags))?)
            },
            dedicated: |memory, round, _| maker.dedicated_buffer(request, memory, round),
            flags,
            wanted: Wanted::new(order, memory_types, size),
            room,
            has_prepared: false,
        };
        let rules = rules(flags, spill(request.memory_use, request.traits.is_evictable));
        let found = steps.run(rules, order, (memory_types, needs.memory_types), size);
        if let Some(first) = first_allowed(order, needs.memory_types).filter(|_| request.traits.is_usual()) {
            self.note_usual(&request, class(first));
        }
        found
    }

    /// Finds a run of tiles in a heap. There is no fallback to dedicated memory for tiles.
    pub(crate) fn place_tiles(
        &self,
        device: &D,
        config: &Config,
        needs: &Requirements,
        size: u64,
        tile: u64,
        room: &dyn MakeRoom,
    ) -> Result<(Suballocation, Store<D>), AllocationFailure> {
        let class = |memory| Class::new(memory, needs.category, PoolKind::Tiles, BlockTraits::default());
        let flags = AllocationFlags::empty();
        let maker = Maker { pools: self, device, config };
        let steps = Steps {
            pools: self,
            class,
            existing_block: |memory| {
                let found = maker.existing(maker.pool(class(memory))?, size, tile);
                Ok(found.map(|found| (found.suballocation, found.store)))
            },
            new_block: |memory, round| {
                let found = maker.grow(maker.pool(class(memory))?, size, tile, (round, flags))?;
                Ok((found.suballocation, found.store))
            },
            dedicated: |_, _, refusal| Err(refusal),
            flags,
            wanted: Wanted::new(self.order(MemoryUse::GpuOnly), needs.memory_types, size),
            room,
            has_prepared: false,
        };
        let allowed = (needs.memory_types, needs.memory_types);
        steps.run(ShortageRules::default(), self.order(MemoryUse::GpuOnly), allowed, size)
    }

    /// Finds memory for an API resource and creates it there.
    pub(crate) fn place_resource(
        &self,
        device: &D,
        config: &Config,
        request: ResourceRequest<'_>,
        room: &dyn MakeRoom,
    ) -> Result<Backing<D>, AllocationFailure> {
        // The steady-state result of the first step, with fewer instructions.
        match self.place_in_preferred(device, config, request) {
            Ok(Some(backing)) => Ok(backing),
            Ok(None) => self.place_in_steps(device, config, request, None, room),
            Err(refusal) => self.place_in_steps(device, config, request, Some(refusal), room),
        }
    }

    /// Places a resource in the existing blocks of the preferred memory. `None` when they have no room, or no
    /// pool serves the resource.
    ///
    /// # Errors
    /// The device refuses the resource.
    #[inline]
    fn place_in_preferred(
        &self,
        device: &D,
        config: &Config,
        request: ResourceRequest<'_>,
    ) -> Result<Option<Backing<D>>, DeviceError> {
        let (Placement::Placed(kind), needs) = (request.placement, request.needs) else { return Ok(None) };
        let maker = Maker { pools: self, device, config };
        let memory_types = request.flags.memory_types(device.properties(), needs.memory_types);
        let preferred = first_allowed(self.order_for(&request), memory_types);
        let Some(memory) = preferred.filter(|memory| !maker.is_lazy(*memory)) else { return Ok(None) };
        match self.find(Class::new(memory, needs.category, kind, request.traits)) {
            Some(shards) => maker.placed_in_existing(shards, request),
            None => Ok(None),
        }
    }

    /// Goes through all steps. `refusal`: the device's answer if placing the resource in an existing block was
    /// already refused.
    #[cold]
    fn place_in_steps(
        &self,
        device: &D,
        config: &Config,
        request: ResourceRequest<'_>,
        refusal: Option<DeviceError>,
        room: &dyn MakeRoom,
    ) -> Result<Backing<D>, AllocationFailure> {
        let needs = request.needs;
        // The first step begins with the block of the preferred memory that was already tried.
        let refusal = Cell::new(refusal);
        // The pool of committed resources that share memory because the device allows few more allocations.
        let shared = shared_kind(&request, config);
        let kind = match request.placement {
            Placement::Placed(kind) | Placement::Range(kind) => Some(kind),
            Placement::Committed => shared.filter(|_| self.objects.limits.is_near_max_allocations()),
        };
        let class =
            |memory| Class::new(memory, needs.category, kind.unwrap_or(PoolKind::Committed), request.traits);
        let maker = Maker { pools: self, device, config };
        let order = self.order_for(&request);
        let memory_types = request.flags.memory_types(device.properties(), needs.memory_types);
        // Lazily allocated memory costs nothing until used; a block would cost its size.
        let pool_of = |memory| kind.filter(|_| !maker.is_lazy(memory)).map(|_| maker.pool(class(memory)));
        let steps = Steps {
            pools: self,
            class,
            existing_block: |memory| match (refusal.take(), pool_of(memory)) {
                (Some(refusal), _) => Err(refusal),
                (None, Some(shards)) => maker.placed_in_existing(shards?, request),
                (None, None) => Ok(None),
            },
            new_block: |memory, round| match pool_of(memory) {
                Some(shards) => {
                    let shards = shards?;
                    let found = maker.grow(shards, needs.size, needs.alignment, (round, request.flags))?;
                    maker.placed(shards, found, request)
                }
                None => maker.committed(request, memory, round),
            },
            dedicated: |memory, round, refusal: DeviceError| match (pool_of(memory), shared) {
                (Some(_), _) => maker.committed(request, memory, round),
                // A free range is better than a failure.
                (None, Some(kind)) if refusal.is_shortage() && !maker.is_lazy(memory) => {
                    match self.find(Class::new(memory, needs.category, kind, request.traits)) {
                        Some(shards) => maker.placed_in_existing(shards, request)?.ok_or(refusal),
                        None => Err(refusal),
                    }
                }
                _ => Err(refusal),
            },
            flags: request.flags,
            wanted: Wanted::new(order, memory_types, needs.size),
            room,
            has_prepared: false,
        };
        let spill = spill(request.memory_use, stays(&request));
        steps.run(rules(request.flags, spill), order, (memory_types, needs.memory_types), needs.size)
    }
}

const fn rules(flags: AllocationFlags, spill: Spill) -> ShortageRules {
    ShortageRules {
        spill,
        may_exceed_budget: !flags.contains(AllocationFlags::WITHIN_BUDGET),
        may_wait: !flags.intersects(AllocationFlags::NEVER_WAIT.union(AllocationFlags::NEVER_ALLOCATE)),
    }
}

/// The reason why no memory type is allowed: the resource could be in some types (`needed`), but the flags of
/// the request exclude them.
pub(crate) fn no_memory_type(order: &[MemoryTypeId], needed: u32, requested: u64) -> DeviceError {
    match first_allowed(order, needed) {
        Some(memory) => DeviceError::DeviceLocalOnly { requested, memory },
        None => DeviceError::Unsupported { feature: "a memory type for this resource and use" },
    }
}

/// Whether a resource is a target or a storage texture, or can be evicted instead.
fn stays(request: &ResourceRequest<'_>) -> bool {
    let is_target = |desc: &ResourceDesc| matches!(desc, ResourceDesc::Texture(info) if info.usage.priority() == Priority::High);
    request.traits.is_evictable || is_target(request.desc)
}

/// Whether a request goes to memory unlike the preferred before the budget of the preferred is exceeded.
/// `request`: `None` for ranges of shared buffers.
pub(super) fn spills_before_budget(memory_use: MemoryUse, request: Option<&ResourceRequest<'_>>) -> bool {
    spill(memory_use, request.is_some_and(stays)) == Spill::BeforeBudget
}

/// When a request goes to memory unlike the preferred. Targets and storage textures, which `stay`, are too slow
/// in system memory: the operating system pages other resources out for them. Evictable resources are evicted
/// while unused, and fast while used.
const fn spill(memory_use: MemoryUse, stays: bool) -> Spill {
    match memory_use {
        MemoryUse::GpuOnly if stays => Spill::AfterRefusal,
        MemoryUse::GpuOnly | MemoryUse::GpuUpload => Spill::BeforeBudget,
        MemoryUse::Upload | MemoryUse::Readback => Spill::AfterRefusal,
    }
}

/// The pool for a resource with dedicated memory by policy, if it may share a block instead.
pub(super) fn shared_kind(request: &ResourceRequest<'_>, config: &Config) -> Option<PoolKind> {
    let may_share = request.placement == Placement::Committed
        && request.owner == MemoryOwner::Resource
        && !request.needs.requires_dedicated
        && config.pools.strategy != Strategy::Committed;
    may_share.then(|| shared_pool(request.desc, request.needs))
}
