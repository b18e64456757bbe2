//! What all handles to resources have in common: a drop gives the backing back, once the last view is dropped, too.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Name;
use crate::api_resource::ApiResource;
use crate::context::{Context, RefShard, Retired};
use crate::device::{Device, State, Subresource};
use crate::memory::{
    AliasedRange, ApiPlace, Backing, Location, LocationKind, MovableBacking, MovableId, PlaceHolds,
    PlaceNeeds,
};
use crate::record::TraceId;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;

/// What a program calls a resource.
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

/// Where a resource is.
pub(super) enum HandleBacking<D: Device> {
    /// There, as long as it lives.
    Fixed(Backing<D>),
    /// Somewhere, until it moves.
    Movable(Arc<MovableBacking<D>>),
}

/// Where a resource is at this moment: for whoever holds it, or only asks.
pub(crate) enum PlaceRef<'a, D: Device> {
    Fixed(&'a Backing<D>, u64),
    Movable(ApiPlace<D>),
}

impl<'a, D: Device> PlaceRef<'a, D> {
    /// Its share in a heap, if it is transient.
    #[inline]
    pub(crate) const fn aliased_range(&self) -> Option<&'a Arc<AliasedRange<D>>> {
        match self {
            Self::Fixed(Backing { location: Location::Transient(aliased_range), .. }, _) => {
                Some(aliased_range)
            }
            Self::Fixed(..) | Self::Movable(_) => None,
        }
    }

    #[inline]
    pub(crate) const fn api_resource(&self) -> &Arc<ApiResource<D>> {
        match self {
            Self::Fixed(backing, _) => &backing.api_resource,
            Self::Movable(place) => &place.api_resource,
        }
    }

    #[inline]
    pub(crate) fn object(&self) -> &D::Resource {
        &self.api_resource().object
    }

    /// Byte of the API resource at which it begins.
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
    /// They cannot, and the CPU is writing it.
    const BEING_WRITTEN: u8 = 1;
    const YES: u8 = 2;

    #[inline]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::YES
    }

    /// From now on they may.
    #[inline]
    fn note(&self) {
        if !self.is_set() {
            self.note_first();
        }
    }

    /// Waits for a write that is under way on another thread: what is submitted afterwards sees all of it, as it does
    /// where uploads are copied.
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

/// The CPU is writing a resource that no command can name until this is dropped.
struct Writing<'a>(&'a Named);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.0.store(Named::NO, Ordering::Release);
    }
}

/// A backing, with all that its release needs.
pub(crate) struct HandleInner<D: Device> {
    pub(crate) name: Name,
    /// `None` only inside `drop`.
    held: Option<HandleBacking<D>>,
    record: RecordKey,
    born: Stamp,
    trace: TraceId,
    /// Bytes asked for.
    size: u64,
    /// Once its API object, or its offset in one, was handed out, commands may name it: see [`Named`]. The caller had
    /// borrowed the handle for that, so that the drop sees it.
    named: Named,
    /// Once it has views.
    view_guard: OnceLock<Arc<ViewGuard<D>>>,
    /// Declared last: the last handle to go takes the manager with it, which can unmake only what
    /// nobody holds any more.
    ref_shard: Arc<RefShard<D>>,
}

impl<D: Device> HandleInner<D> {
    #[inline]
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
        let record = context.register_resource(name, tag, kind, size, backing.location.place());
        let born = context.clock.stamp();
        let (name, ref_shard) = (name.clone(), context.ref_shard(record.generation()));
        let (named, view_guard) = (Named::default(), OnceLock::new());
        let held = Some(HandleBacking::Fixed(backing));
        Self { name, held, record, born, trace, size, named, view_guard, ref_shard }
    }

    /// The same, of a resource that can move: in a pool, or back from slower memory. What has memory of its own that suits
    /// it stays there.
    pub(super) fn movable(mut self, memory_types: u32, needs: impl FnOnce(u64) -> PlaceNeeds) -> Self {
        let pools = &self.context().pools;
        let size = match &self.held {
            Some(HandleBacking::Fixed(Backing { location, .. })) => match location {
                Location::Range(found) | Location::Placed(found) => found.size,
                Location::Committed { own, .. } if pools.is_slow(Some(location), memory_types) => own.size,
                _ => return self,
            },
            _ => return self,
        };
        if let Some(HandleBacking::Fixed(backing)) = self.held.take() {
            let pools = &self.context().pools;
            let id = pools.next_movable_id();
            let movable = Arc::new(MovableBacking::new(backing, needs(size), self.born, &self.name, id));
            movable.set_record(self.record.to_bits());
            movable.current.read(|current| pools.note_movable(&movable, current.location.as_ref()));
            pools.note_spilled(&movable);
            self.held = Some(HandleBacking::Movable(movable));
        }
        self
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

    /// The API object, and where the resource begins in it if it is not fixed at `offset`. For commands that are recorded
    /// at once, by who [holds](Self::hold) it.
    #[inline]
    pub(crate) fn place(&self, offset: u64) -> PlaceRef<'_, D> {
        match self.held() {
            HandleBacking::Fixed(backing) => {
                self.note_named();
                PlaceRef::Fixed(backing, offset)
            }
            HandleBacking::Movable(movable) => PlaceRef::Movable(movable.place()),
        }
    }

    /// As [`place`](Self::place), which stays the same as long as the holds live; commands write that part of it.
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
                PlaceRef::Fixed(backing, offset)
            }
            HandleBacking::Movable(movable) => hold_movable(movable, written, holds),
        }
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.ref_shard.context
    }

    /// The API object, for whoever may have commands use it, from now on: it does not move any more.
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

    /// Whether it could move and does not any more.
    pub(crate) fn is_pinned(&self) -> bool {
        self.as_movable().is_some_and(|movable| movable.current.lock().is_pinned())
    }

    /// What it is known by in the list of what has moved.
    pub(crate) fn movable_id(&self) -> Option<MovableId> {
        self.as_movable().map(|movable| movable.id)
    }

    /// How often it has moved.
    pub(crate) fn moves(&self) -> u64 {
        self.as_movable().map_or(0, |movable| movable.current.read(|current| current.moves))
    }

    /// The API object of what has its place for good, in memory that the manager took for it; no command uses it by this.
    pub(crate) fn placed_resource(&self) -> Option<&Arc<ApiResource<D>>> {
        let HandleBacking::Fixed(Backing { api_resource, location }) = self.held() else { return None };
        let is_placed =
            matches!(location, Location::Range(_) | Location::Placed(_) | Location::Committed { .. });
        is_placed.then_some(api_resource)
    }

    /// The CPU's window into the API object, by which no command uses it.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&D::Mapping> {
        match self.held() {
            HandleBacking::Fixed(backing) => backing.api_resource.mapping.as_ref(),
            // Memory that the CPU maps does not move.
            HandleBacking::Movable(_) => None,
        }
    }

    /// From now on commands may use it.
    #[inline]
    pub(crate) fn note_named(&self) {
        self.named.note();
    }

    /// Whether commands may name it.
    pub(crate) fn is_named(&self) -> bool {
        self.named.is_set()
    }

    /// Runs `write`, which writes its bytes by the CPU, if no command can name it yet, nor will before that is done.
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

    /// What its location is.
    #[inline(never)]
    pub(crate) fn location_kind(&self) -> LocationKind {
        match self.held() {
            HandleBacking::Fixed(backing) => backing.location.kind(),
            HandleBacking::Movable(movable) => {
                // It has a location as long as there is a handle.
                let kind = |location: &Location<D>| location.kind();
                movable.current.read(|current| current.location.as_ref().map_or(LocationKind::Range, kind))
            }
        }
    }

    /// Its record, as a number.
    pub(crate) fn record_bits(&self) -> u64 {
        self.record.to_bits()
    }

    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// A share by which a view keeps the backing longer than the handle lives.
    pub(crate) fn keep(&self) -> Arc<ViewGuard<D>> {
        self.view_guard.get_or_init(|| Arc::new(ViewGuard::new(self.context()))).clone()
    }
}

/// Apart, so that the use of what does not move stays short.
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
        // In place: most handles are ranges that nobody has a view of.
        if let (Some(HandleBacking::Fixed(Backing { location: Location::Range(suballocation), .. })), None) =
            (&self.held, self.view_guard.get())
        {
            let context = self.context();
            context.registry.remove(self.record);
            context.recorder.free(self.trace, self.size);
            let (retired, bytes) = (Retired::Range(suballocation.free_token()), suballocation.reserved);
            if self.named.is_set() {
                context.release(retired, self.born, bytes);
            } else {
                context.release_unused(retired, bytes);
            }
            return;
        }
        self.drop_whole();
    }
}

impl<D: Device> HandleInner<D> {
    #[inline(never)]
    fn drop_whole(&mut self) {
        let Some(held) = self.held.take() else { return };
        let (record, born, trace, size) = (self.record, self.born, self.trace, self.size);
        let is_named = self.named.is_set();
        let retired = RetiredResource { held, record, born, trace, size, is_named };
        match self.view_guard.take() {
            Some(view_guard) => view_guard.retire(retired),
            None => retired.release(self.context()),
        }
    }
}

/// What a handle leaves behind.
pub(super) struct RetiredResource<D: Device> {
    pub(super) held: HandleBacking<D>,
    pub(super) record: RecordKey,
    pub(super) born: Stamp,
    pub(super) trace: TraceId,
    /// Bytes asked for.
    pub(super) size: u64,
    /// Commands may use it.
    pub(super) is_named: bool,
}

impl<D: Device> RetiredResource<D> {
    /// Gives the backing back once no recording and no GPU work can use it any more.
    pub(super) fn release(self, context: &Context<D>) {
        let found = match self.held {
            HandleBacking::Fixed(backing) => Some((backing, self.born, self.is_named)),
            HandleBacking::Movable(movable) => movable.take().map(|(backing, born)| (backing, born, true)),
        };
        // Only now: until it was taken another thread may have moved it, and have told where to.
        context.registry.remove(self.record);
        context.recorder.free(self.trace, self.size);
        let Some((backing, born, is_named)) = found else { return };
        if matches!(backing.location, Location::Placed(_) | Location::Committed { .. }) {
            backing.api_resource.note_dropped();
        }
        let bytes = backing.location.reserved();
        let is_unrecorded = is_unrecorded_image(&backing);
        let retired = Retired::from(backing);
        if !is_named {
            context.release_unused(retired, bytes);
        } else if is_unrecorded {
            context.release_after(retired, context.clock.submitted(), bytes);
        } else {
            context.release(retired, born, bytes);
        }
    }
}

/// True for an image of a swap chain that no open recording has noted a use of. To change a window's images,
/// APIs want all of them gone, whatever else is being recorded; and no use of one goes unnoted, because each
/// frame brings it into its states.
fn is_unrecorded_image<D: Device>(backing: &Backing<D>) -> bool {
    let api_resource = &backing.api_resource;
    api_resource.states.allowed().contains(State::PRESENT) && Arc::strong_count(api_resource) == 1
}

/// Shared by a resource's handle and its views: what the handle leaves behind stays until the last
/// view is gone, so that no view ever shows what is not there.
pub(crate) struct ViewGuard<D: Device> {
    retired: OnceLock<RetiredResource<D>>,
    /// Declared last, as in every handle.
    context: Arc<Context<D>>,
}

impl<D: Device> ViewGuard<D> {
    pub(super) fn new(context: &Arc<Context<D>>) -> Self {
        Self { retired: OnceLock::new(), context: context.clone() }
    }

    /// The handle is gone.
    pub(super) fn retire(&self, retired: RetiredResource<D>) {
        self.context.registry.note_dropped(retired.record, self.context.current_frame());
        // There is one handle, and it is dropped once.
        let _was_empty = self.retired.set(retired);
    }
}

impl<D: Device> Drop for ViewGuard<D> {
    fn drop(&mut self) {
        if let Some(retired) = self.retired.take() {
            retired.release(&self.context);
        }
    }
}
