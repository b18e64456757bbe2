//! The common part of all resource handles: dropping the handle and its views releases the backing.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use super::view_guard::{KeptBacking, ViewGuard};
use crate::Name;
use crate::api_resource::ApiResource;
use crate::context::{Context, RefShard, Retired};
use crate::device::{Device, State, Subresource};
use crate::memory::{
    AliasedRange, ApiPlace, Backing, FreeToken, Location, LocationKind, MemoryUse, MovableBacking, MovableId,
    PlaceHolds, PlaceNeeds,
};
use crate::record::TraceId;
use crate::registry::{ObjectKind, RegistryKey};
use crate::time::Stamp;

/// Name and tag of a resource.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    name: &'a Name,
    tag: Option<&'a Name>,
}

impl<'a> Labels<'a> {
    pub(crate) const fn of(name: &'a Name, tag: &'a Name) -> Self {
        Self { name, tag: Some(tag) }
    }

    /// Without a tag.
    pub(crate) const fn named(name: &'a Name) -> Self {
        Self { name, tag: None }
    }
}

/// The place of a resource.
pub(super) enum HandleBacking<D: Device> {
    /// Fixed for life.
    Fixed(Backing<D>),
    /// May change by a move.
    Movable(Arc<MovableBacking<D>>),
}

/// The current place of a resource, for holders and for mere queries.
pub(crate) enum PlaceRef<'a, D: Device> {
    Fixed(FixedPlace<'a, D>, u64),
    Movable(ApiPlace<D>),
}

/// The API object of an immovable resource, and its share in a heap, if it is transient.
pub(crate) struct FixedPlace<'a, D: Device> {
    pub(super) api_resource: &'a Arc<ApiResource<D>>,
    pub(super) aliased_range: Option<&'a Arc<AliasedRange<D>>>,
}

impl<'a, D: Device> FixedPlace<'a, D> {
    #[inline]
    pub(super) const fn of(backing: &'a Backing<D>) -> Self {
        let aliased_range = match &backing.location {
            Location::Transient(aliased_range) => Some(aliased_range),
            _ => None,
        };
        Self { api_resource: &backing.api_resource, aliased_range }
    }
}

impl<'a, D: Device> PlaceRef<'a, D> {
    /// Its share in a heap, if it is transient.
    #[inline]
    pub(crate) const fn aliased_range(&self) -> Option<&'a Arc<AliasedRange<D>>> {
        match self {
            Self::Fixed(fixed, _) => fixed.aliased_range,
            Self::Movable(_) => None,
        }
    }

    #[inline]
    pub(crate) const fn api_resource(&self) -> &Arc<ApiResource<D>> {
        match self {
            Self::Fixed(fixed, _) => fixed.api_resource,
            Self::Movable(place) => &place.api_resource,
        }
    }

    #[inline]
    pub(crate) fn object(&self) -> &D::Resource {
        &self.api_resource().object
    }

    /// The byte of the API resource at which it begins.
    #[inline]
    pub(crate) const fn offset(&self) -> u64 {
        match self {
            Self::Fixed(_, offset) => *offset,
            Self::Movable(place) => place.offset,
        }
    }
}

/// Whether commands may name a resource.
#[derive(Default)]
struct Named(AtomicU8);

impl Named {
    const NO: u8 = 0;
    /// Commands cannot name it yet, and the CPU is writing it.
    const BEING_WRITTEN: u8 = 1;
    const YES: u8 = 2;

    #[inline]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::YES
    }

    /// Notes that commands may name it from now on.
    #[inline]
    fn note(&self) {
        if !self.is_set() {
            self.note_first();
        }
    }

    /// Waits for a write in progress on another thread: later submissions see all of it, as with staged
    /// uploads.
    #[cold]
    fn note_first(&self) {
        let (from, to) = (Self::NO, Self::YES);
        while let Err(Self::BEING_WRITTEN) =
            self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
        {
            std::thread::yield_now();
        }
    }

    /// `None` if commands may name it, or another thread is writing it.
    fn begin_write(&self) -> Option<Writing<'_>> {
        let (from, to) = (Self::NO, Self::BEING_WRITTEN);
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        Some(Writing(self))
    }
}

/// A CPU write, in progress until this is dropped, to a resource that no command can name meanwhile.
struct Writing<'a>(&'a Named);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.0.store(Named::NO, Ordering::Release);
    }
}

/// A backing, with everything that its release needs.
pub(crate) struct HandleInner<D: Device> {
    pub(crate) name: Name,
    /// `None` only inside `drop`.
    held: Option<HandleBacking<D>>,
    registry_key: RegistryKey,
    born: Stamp,
    trace: TraceId,
    /// Bytes requested.
    size: u64,
    /// Whether commands may name the resource, because its API object, or its offset in one, was handed out:
    /// see [`Named`]. That borrows the handle, so the drop sees it.
    named: Named,
    /// Set once there are views.
    view_guard: OnceLock<Arc<ViewGuard<D>>>,
    /// Declared last: the last handle drops the manager, which can destroy only objects without references.
    ref_shard: Arc<RefShard<D>>,
}

impl<D: Device> HandleInner<D> {
    /// Inlined, so that it is constructed in place: it is large.
    #[inline(always)]
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        labels: Labels<'_>,
        kind: ObjectKind,
        backing: Backing<D>,
        size: u64,
        trace: TraceId,
    ) -> Self {
        let Labels { name, tag } = labels;
        let tag = tag.cloned().unwrap_or_default();
        context.record_placement(trace, (name, &tag), kind, &backing);
        let place = (backing.location.place(), backing.address());
        let registry_key = context.register_resource(name, tag, kind, size, place);
        let born = context.clock.stamp();
        let (name, ref_shard) = (name.clone(), context.ref_shard(registry_key.generation()));
        let (named, view_guard) = (Named::default(), OnceLock::new());
        let held = Some(HandleBacking::Fixed(backing));
        Self { name, held, registry_key, born, trace, size, named, view_guard, ref_shard }
    }

    /// Makes the resource movable, if it is in a pool, or in slow memory and may move back. A resource with
    /// dedicated memory of its best type stays fixed.
    pub(super) fn make_movable(&mut self, memory_types: u32, needs: impl FnOnce(u64) -> PlaceNeeds) {
        let pools = &self.context().pools;
        let size = match &self.held {
            Some(HandleBacking::Fixed(Backing { location, .. })) => match location {
                Location::Range(found) | Location::Placed(found) => found.size,
                Location::Committed { own, .. } if pools.is_slow(Some(location), memory_types) => own.size,
                _ => return,
            },
            _ => return,
        };
        if let Some(HandleBacking::Fixed(backing)) = self.held.take() {
            let pools = &self.context().pools;
            let id = pools.next_movable_id();
            let movable = Arc::new(MovableBacking::new(backing, needs(size), self.born, &self.name, id));
            movable.set_registry_key(self.registry_key.to_bits());
            movable.current.read(|current| pools.note_movable(&movable, current.location.as_ref()));
            pools.note_spilled(&movable);
            self.held = Some(HandleBacking::Movable(movable));
        }
    }

    /// Its tag.
    pub(crate) fn tag(&self) -> Name {
        self.context().registry.tag(self.registry_key)
    }

    #[inline]
    const fn held(&self) -> &HandleBacking<D> {
        match &self.held {
            Some(held) => held,
            None => unreachable!(),
        }
    }

    /// Its backing, if it can move.
    #[inline]
    pub(crate) const fn as_movable(&self) -> Option<&Arc<MovableBacking<D>>> {
        match self.held() {
            HandleBacking::Movable(movable) => Some(movable),
            HandleBacking::Fixed(_) => None,
        }
    }

    /// The API object, and the byte at which the resource begins: `offset` if it is fixed. For commands
    /// recorded immediately; the caller must [hold](Self::hold) the place.
    #[inline]
    pub(crate) fn place(&self, offset: u64) -> PlaceRef<'_, D> {
        match self.held() {
            HandleBacking::Fixed(backing) => {
                self.note_named();
                PlaceRef::Fixed(FixedPlace::of(backing), offset)
            }
            HandleBacking::Movable(movable) => PlaceRef::Movable(movable.place()),
        }
    }

    /// Like [`place`](Self::place), but the place does not change while the holds exist. `written`: the part
    /// that commands write.
    #[inline(always)]
    pub(crate) fn hold(
        &self,
        offset: u64,
        written: Option<Subresource>,
        holds: &mut PlaceHolds<D>,
    ) -> PlaceRef<'_, D> {
        match self.held() {
            HandleBacking::Fixed(backing) => {
                self.note_named();
                PlaceRef::Fixed(FixedPlace::of(backing), offset)
            }
            HandleBacking::Movable(movable) => hold_movable(movable, written, holds),
        }
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.ref_shard.context
    }

    /// Pins the resource, and returns its API object, which commands may use from now on.
    #[inline]
    pub(crate) fn api_resource(&self) -> &Arc<ApiResource<D>> {
        match self.held() {
            HandleBacking::Fixed(backing) => {
                self.note_named();
                &backing.api_resource
            }
            HandleBacking::Movable(movable) => &movable.pin().api_resource,
        }
    }

    /// Whether the resource is movable and pinned.
    pub(crate) fn is_pinned(&self) -> bool {
        self.as_movable().is_some_and(|movable| movable.current.lock().is_pinned())
    }

    /// Its id in the list of moved resources.
    pub(crate) fn movable_id(&self) -> Option<MovableId> {
        self.as_movable().map(|movable| movable.id)
    }

    /// The number of its moves.
    pub(crate) fn moves(&self) -> u64 {
        self.as_movable().map_or(0, |movable| movable.current.read(|current| current.moves))
    }

    /// The API object of an immovable resource in memory of the manager. Commands must not use the resource
    /// through this.
    pub(crate) fn placed_resource(&self) -> Option<&Arc<ApiResource<D>>> {
        let HandleBacking::Fixed(Backing { api_resource, location }) = self.held() else { return None };
        let is_placed =
            matches!(location, Location::Range(_) | Location::Placed(_) | Location::Committed { .. });
        is_placed.then_some(api_resource)
    }

    /// The CPU mapping of the API object. Commands must not use the resource through this.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&D::Mapping> {
        match self.held() {
            HandleBacking::Fixed(backing) => backing.api_resource.mapping.as_ref(),
            // Mapped memory does not move.
            HandleBacking::Movable(_) => None,
        }
    }

    /// Notes that commands may use it from now on.
    #[inline]
    pub(crate) fn note_named(&self) {
        self.named.note();
    }

    /// Whether commands may name it.
    pub(crate) fn is_named(&self) -> bool {
        self.named.is_set()
    }

    /// Runs `write`, a CPU write to its bytes, if no command can name it yet; prevents that until the write is
    /// done.
    pub(crate) fn while_unnamed<T>(&self, write: impl FnOnce() -> T) -> Option<T> {
        self.named.begin_write().map(|_writing| write())
    }

    /// Its location, if it does not move.
    #[inline]
    pub(crate) const fn fixed_location(&self) -> Option<&Location<D>> {
        match self.held() {
            HandleBacking::Fixed(backing) => Some(&backing.location),
            HandleBacking::Movable(_) => None,
        }
    }

    /// The kind of its location.
    #[inline(never)]
    pub(crate) fn location_kind(&self) -> LocationKind {
        match self.held() {
            HandleBacking::Fixed(backing) => backing.location.kind(),
            HandleBacking::Movable(movable) => {
                // A location exists while there is a handle.
                let kind = |location: &Location<D>| location.kind();
                movable.current.read(|current| current.location.as_ref().map_or(LocationKind::Range, kind))
            }
        }
    }

    /// The key of its registry entry, as a number.
    pub(crate) fn registry_key_bits(&self) -> u64 {
        self.registry_key.to_bits()
    }

    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// A reference by which a view keeps the backing after the handle is dropped. `memory`: the requested memory.
    pub(crate) fn keep(&self, memory: MemoryUse) -> Arc<ViewGuard<D>> {
        let make = || {
            let place = match self.held() {
                HandleBacking::Fixed(backing) => {
                    let FixedPlace { api_resource, aliased_range } = FixedPlace::of(backing);
                    KeptBacking::Fixed(api_resource.clone(), aliased_range.cloned())
                }
                HandleBacking::Movable(movable) => KeptBacking::Movable(movable.clone()),
            };
            Arc::new(ViewGuard::new(self.context(), &self.name, memory, place))
        };
        self.view_guard.get_or_init(make).clone()
    }
}

/// A separate function, so that the path for immovable resources stays short.
#[inline(never)]
fn hold_movable<'a, D: Device>(
    movable: &Arc<MovableBacking<D>>,
    written: Option<Subresource>,
    holds: &mut PlaceHolds<D>,
) -> PlaceRef<'a, D> {
    PlaceRef::Movable(holds.hold(movable, written))
}

impl<D: Device> Drop for HandleInner<D> {
    #[inline(never)]
    fn drop(&mut self) {
        // Checked here: most handles are ranges or placed resources without views.
        if let (Some(HandleBacking::Fixed(backing)), None) = (&self.held, self.view_guard.get()) {
            match &backing.location {
                Location::Range(suballocation) => {
                    let context = self.context();
                    context.unregister(self.registry_key);
                    context.recorder.free(self.trace, self.size);
                    let (retired, bytes) =
                        (Retired::Range(suballocation.free_token()), suballocation.reserved);
                    if self.named.is_set() {
                        context.release(retired, self.born, bytes);
                    } else {
                        context.release_unused(retired, bytes);
                    }
                    return;
                }
                Location::Placed(suballocation) => {
                    return self.drop_placed(suballocation.free_token(), suballocation.reserved);
                }
                _ => {}
            }
        }
        self.drop_whole();
    }
}

impl<D: Device> HandleInner<D> {
    /// As [`drop_whole`](Self::drop_whole), for a placed resource without views, with fewer copies of its backing.
    #[inline(never)]
    fn drop_placed(&mut self, range: FreeToken, bytes: u64) {
        let Some(HandleBacking::Fixed(Backing { api_resource, .. })) = self.held.take() else { return };
        let context = self.context();
        context.unregister(self.registry_key);
        context.recorder.free(self.trace, self.size);
        api_resource.note_dropped();
        let is_unrecorded = is_unrecorded_image(&api_resource);
        let retired = Retired::Placed(api_resource, range);
        release_retired(context, (retired, bytes), self.born, (self.named.is_set(), is_unrecorded));
    }

    #[inline(never)]
    fn drop_whole(&mut self) {
        let Some(held) = self.held.take() else { return };
        let (registry_key, born, trace, size) = (self.registry_key, self.born, self.trace, self.size);
        let is_named = self.named.is_set();
        let retired = RetiredResource { held, registry_key, born, trace, size, is_named };
        match self.view_guard.take() {
            Some(view_guard) => view_guard.retire(retired),
            None => retired.release(self.context()),
        }
    }
}

/// The remains of a dropped handle.
pub(super) struct RetiredResource<D: Device> {
    pub(super) held: HandleBacking<D>,
    pub(super) registry_key: RegistryKey,
    pub(super) born: Stamp,
    pub(super) trace: TraceId,
    /// Bytes requested.
    pub(super) size: u64,
    /// Whether commands may use it.
    pub(super) is_named: bool,
}

impl<D: Device> RetiredResource<D> {
    /// Releases the backing once no recording and no GPU work can use it any more.
    ///
    /// Inlined, so that the backing is copied less often.
    #[inline(always)]
    pub(super) fn release(self, context: &Context<D>) {
        let Self { held, registry_key, born, trace, size, is_named } = self;
        let forget = || {
            context.unregister(registry_key);
            context.recorder.free(trace, size);
        };
        match held {
            HandleBacking::Fixed(backing) => {
                forget();
                Self::release_backing(context, backing, born, is_named);
            }
            HandleBacking::Movable(movable) => {
                let found = movable.take();
                // Not before: until the backing was taken out, another thread may have moved it, and updated its
                // entry.
                forget();
                if let Some((backing, born)) = found {
                    Self::release_backing(context, backing, born, true);
                }
            }
        }
    }

    #[inline(always)]
    fn release_backing(context: &Context<D>, backing: Backing<D>, born: Stamp, is_named: bool) {
        if matches!(backing.location, Location::Placed(_) | Location::Committed { .. }) {
            backing.api_resource.note_dropped();
        }
        let bytes = backing.location.reserved();
        let is_unrecorded = is_unrecorded_image(&backing.api_resource);
        release_retired(context, (Retired::from(backing), bytes), born, (is_named, is_unrecorded));
    }
}

/// Queues a dropped backing of `bytes` for release. `is_named`: commands may use it.
#[inline(always)]
fn release_retired<D: Device>(
    context: &Context<D>,
    (retired, bytes): (Retired<D>, u64),
    born: Stamp,
    (is_named, is_unrecorded): (bool, bool),
) {
    if !is_named {
        context.release_unused(retired, bytes);
    } else if is_unrecorded {
        context.release_after(retired, context.clock.submitted(), bytes);
    } else {
        context.release(retired, born, bytes);
    }
}

/// True for an image of a swap chain without a recorded use in any open recording. To change a window's images,
/// APIs require the release of all of them, whatever else is being recorded. Every use of an image is recorded,
/// because each frame transitions its state.
fn is_unrecorded_image<D: Device>(api_resource: &Arc<ApiResource<D>>) -> bool {
    api_resource.states.allowed().contains(State::PRESENT) && Arc::strong_count(api_resource) == 1
}
