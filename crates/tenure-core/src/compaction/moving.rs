//! Resources during their move, and the views and descriptors that follow them.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::api_resource::ApiResource;
use crate::context::{Context, Retired};
use crate::descriptor::{DescriptorService, Follower};
use crate::device::{CommandList, Device, QueueSerial, ResourceDesc, State, StateModel, Subresource};
use crate::list::Open;
use crate::memory::{ApiPlace, Backing, Current, Exchange, Location, MakeRoom, MovableBacking, PlannedMove};
use crate::registry::RegistryKey;
use crate::resource::Tracked;
use crate::state::StateError;
use crate::time::{Stamp, SyncPoint};

/// A resource during its move. Its lock is held, so that queries for its place wait.
pub(super) struct Moving<'a, D: Device> {
    pub(super) movable: &'a Arc<MovableBacking<D>>,
    /// `None`: it comes back from slower memory.
    pub(super) planned: Option<PlannedMove<D>>,
    pub(super) exchange: Exchange<'a, Current<D>>,
    pub(super) to: ApiPlace<D>,
    pub(super) location: Location<D>,
}

/// Result of the attempt to begin a planned move.
pub(super) enum Outcome<'a, D: Device> {
    Moves(Box<Moving<'a, D>>),
    /// In use.
    Waits,
    /// Cannot move; its target has been freed.
    Stays,
    /// As `Stays`, until the next attempt.
    Refused,
    /// Dropped; its target has been freed.
    Gone,
}

/// Creates the API objects of a resource in its new place, and locks the resource.
pub(super) fn begin<'a, D: Device>(
    context: &Context<D>,
    movable: &'a Arc<MovableBacking<D>>,
    planned: &PlannedMove<D>,
) -> Outcome<'a, D> {
    let check = |exchange: &Exchange<'_, Current<D>>| {
        let current = exchange.value();
        let is_there = current.is_at(planned.from);
        // A move within one block has no benefit.
        let is_same = planned.is_within_pool() && current.is_in(planned.to.block);
        let is_fixed = exchange.is_pinned() || is_same;
        // This state ends once one queue uses all of it.
        let is_divided = !is_fixed && current.is_divided();
        let stays = is_there && (is_fixed || is_divided);
        (is_there && !stays, stays, is_divided)
    };
    let exchange = movable.current.lock();
    let ((may_move, stays, is_divided), is_held) = (check(&exchange), exchange.is_held());
    debug_assert!(may_move || stays || exchange.value().location.is_none(), "it moves only as planned");
    drop(exchange);
    if !may_move {
        context.pools.cancel_move(planned);
        if is_divided {
            context.pools.keep_in_place(planned);
        }
        return if stays { Outcome::Stays } else { Outcome::Gone };
    }
    if is_held {
        return Outcome::Waits;
    }
    // Without the lock: other threads may be waiting for it.
    let Ok((api_resource, location)) = context.pools.make_at(context.device(), planned, movable) else {
        // Out of memory, or the device is lost, which the next call reports.
        context.pools.cancel_move(planned);
        context.pools.keep_in_place(planned);
        return Outcome::Refused;
    };
    let mut exchange = movable.current.lock();
    if check(&exchange).0 && !exchange.is_held() {
        let made = (api_resource, location);
        return Outcome::Moves(Box::new(Moving::new(movable, Some(planned.clone()), exchange, made)));
    }
    exchange.value_mut().is_planned = false;
    drop(exchange);
    Left::made(api_resource, location).release_unused(context);
    context.pools.keep_in_place(planned);
    Outcome::Stays
}

/// The submissions not known to be complete that have used the moving resources: they may have written a resource without
/// declaring a state.
pub(super) fn used<'m, 'a: 'm, D: Device>(
    context: &Context<D>,
    copied: impl Iterator<Item = &'m Moving<'a, D>>,
) -> SyncPoint {
    let (mut used, mut waits) = (SyncPoint::NONE, SyncPoint::NONE);
    copied.for_each(|moved| used.merge(&moved.exchange.value().used));
    let completed = context.clock.completed();
    let open = used.iter().filter(|at| at.serial > completed.serial(at.queue));
    open.for_each(|at| waits.require(at.queue, at.serial));
    waits
}

/// Records the copies, with all barriers in front of them and behind them.
pub(super) fn record<'m, 'a: 'm, D: Device, I: Iterator<Item = &'m Moving<'a, D>>>(
    context: &Context<D>,
    open: &mut Open<D>,
    copied: impl Fn() -> I,
) -> Result<(), StateError> {
    let model = context.device().properties().state_model;
    let at_rest: Vec<_> = copied().flat_map(|moved| moved.at_rest(model)).collect();
    copied().try_for_each(|moved| moved.require(open))?;
    open.record_pending();
    // A buffer is copied whole, including bytes that no command has written.
    open.list().keep_unwritten();
    copied().for_each(|moved| moved.record(open.list()));
    let can_reach = State::allowed_on(open.tracker.queue_kind());
    // A copy queue leaves the remaining transitions to the next user.
    let reached = at_rest.into_iter().filter(|(.., state)| can_reach.contains(*state));
    for (resource, part, state) in reached {
        open.require(&resource, part, state)?;
    }
    open.record_pending();
    Ok(())
}

/// The API resources that the moves of one submission use as sources and destinations.
pub(super) struct Ends<D: Device> {
    from: FxHashSet<*const ApiResource<D>>,
    to: FxHashSet<*const ApiResource<D>>,
}

impl<D: Device> Ends<D> {
    pub(super) fn new() -> Self {
        Self { from: FxHashSet::default(), to: FxHashSet::default() }
    }

    /// Adds a move to the set; false if its source is the destination of another move of the set, or vice versa: each API
    /// resource has one state while the copies run. O(1).
    pub(super) fn add(&mut self, next: &Moving<'_, D>) -> bool {
        let (from, to) =
            (Arc::as_ptr(&next.exchange.value().place.api_resource), Arc::as_ptr(&next.to.api_resource));
        let is_separate = !self.to.contains(&from) && !self.from.contains(&to);
        if is_separate {
            self.from.insert(from);
            self.to.insert(to);
        }
        is_separate
    }
}

impl<'a, D: Device> Moving<'a, D> {
    /// A move to the API resource made in its new place.
    pub(super) fn new(
        movable: &'a Arc<MovableBacking<D>>,
        planned: Option<PlannedMove<D>>,
        exchange: Exchange<'a, Current<D>>,
        (api_resource, location): (Arc<ApiResource<D>>, Location<D>),
    ) -> Self {
        if let Some(declared) = exchange.value().place.api_resource.states.read_only() {
            api_resource.states.set_read_only(declared);
        }
        let to = ApiPlace { api_resource, offset: movable.needs.offset(location.offset()) };
        Self { movable, planned, exchange, to, location }
    }
}

impl<D: Device> Moving<'_, D> {
    /// Declares the uses of the copy.
    fn require(&self, open: &mut Open<D>) -> Result<(), StateError> {
        let from = Tracked(self.exchange.value().place.api_resource.clone());
        let to = Tracked(self.to.api_resource.clone());
        for part in self.parts() {
            open.require(&from, part, State::COPY_SRC)?;
            open.require(&to, part, State::COPY_DST)?;
        }
        Ok(())
    }

    /// The state of each part of the old API resource, to be restored after the copy; for a buffer combined with the state of
    /// the shared buffer that it moves to. Parts without contents have no state.
    fn at_rest(&self, model: StateModel) -> Vec<(Tracked<D>, Subresource, State)> {
        let (from, to) = (&self.exchange.value().place.api_resource, &self.to.api_resource);
        if let ResourceDesc::Buffer(_) = self.movable.needs.desc {
            let before = |shared: &ApiResource<D>| shared.states.at_rest(0, model).unwrap_or_default();
            let (source, target) = (state_after_move(from, before(from)), state_after_move(to, before(to)));
            // The other allocations of either buffer are in use, too. Of two incompatible states, a declared one wins.
            let both = source | target;
            let is_named = source.contains(before(from)) && source != State::COMMON;
            let target = match both.is_write() {
                true if is_named => source,
                true => target,
                false => both,
            };
            let all = [(from, source), (to, target)].into_iter().filter(|(_, state)| *state != State::COMMON);
            return all.map(|(shared, state)| (Tracked(shared.clone()), Subresource::All, state)).collect();
        }
        // Including parts without contents: a view of the whole resource needs one state.
        let (parts, is_whole) = match from.states.is_uniform() {
            true => (0..1, true),
            false => (0..from.states.subresources(), false),
        };
        let mut all = Vec::new();
        for index in parts {
            let state = from.states.at_rest(index, model).unwrap_or_default();
            // Undefined contents have no state.
            if model == StateModel::Promotion || state != State::COMMON {
                let part = if is_whole { Subresource::All } else { Subresource::One(index) };
                all.push((Tracked(to.clone()), part, state));
                // Recordings may use the old location without declaring it.
                if from.states.read_only().is_some() && state != State::COMMON {
                    all.push((Tracked(from.clone()), part, state));
                }
            }
        }
        all
    }

    /// The subresources that have contents.
    fn parts(&self) -> impl Iterator<Item = Subresource> + '_ {
        self.exchange.value().used_parts.of(self.movable.needs.desc.subresources())
    }

    fn record(&self, list: &mut D::List) {
        let (from, to) = (&self.exchange.value().place, &self.to);
        let (source, target) = (&from.api_resource.object, &to.api_resource.object);
        match &self.movable.needs.desc {
            ResourceDesc::Buffer(info) => {
                list.copy_buffer(source, from.offset, target, to.offset, info.size);
            }
            ResourceDesc::Texture(_) => {
                self.parts().for_each(|part| list.copy_texture(source, target, part));
            }
        }
    }

    /// Completes the move: the resource is in its new place, which commands may have used since `born`. Returns the old place.
    pub(super) fn finish(self, context: &Context<D>, copied: Option<QueueSerial>, born: Stamp) -> Left<D> {
        let Self { movable, planned, mut exchange, to, location } = self;
        let place = location.place();
        let current = exchange.value_mut();
        record_move(context, current, &to, &location);
        let api_resource = std::mem::replace(&mut current.place, to).api_resource;
        let location = current.location.replace(location);
        let born = std::mem::replace(&mut current.born, born);
        current.is_planned = false;
        current.moves += 1;
        current.copied = copied;
        if planned.is_none() {
            // The resource now belongs to the pool of its new place.
            context.pools.note_movable(movable, current.location.as_ref());
        }
        if let ResourceDesc::Buffer(info) = &movable.needs.desc {
            let ApiPlace { api_resource, offset } = &current.place;
            context.device().name_range(&api_resource.object, *offset, info.size, movable.name.as_str());
        }
        if let Some(registry_key) = movable.registry_key() {
            let ApiPlace { api_resource, offset } = &current.place;
            let address = api_resource.address.map_or(0, |address| address.saturating_add(*offset));
            context.note_move(RegistryKey::from_bits(registry_key), (place, address));
        }
        Left { api_resource, location, born }
    }

    /// Cancels the move: the resource stays. Returns the API objects made in the new place.
    pub(super) fn undo(mut self) -> (Option<PlannedMove<D>>, Left<D>) {
        self.exchange.value_mut().is_planned = false;
        (self.planned, Left::made(self.to.api_resource, self.location))
    }
}

/// The state of an API buffer after the copies of a move, from its state `before`. Waiting for another queue's semaphore makes
/// bytes visible to every read, so the tracker keeps `COPY_DST` after an upload on the copy queue, and `COPY_SRC` after a copy
/// there, while shaders have read without a barrier. The copy of the move needs that barrier, to every read state that the
/// buffer allows.
fn state_after_move<D: Device>(buffer: &ApiResource<D>, before: State) -> State {
    if before == State::COMMON || before.intersects(State::UNORDERED) {
        return before;
    }
    let reads = State::VERTEX_OR_CONSTANT
        | State::INDEX
        | State::PIXEL_SHADER
        | State::NON_PIXEL_SHADER
        | State::INDIRECT;
    let read = if before.is_write() { State::COMMON } else { before };
    read | buffer.states.allowed() & buffer.possible & reads
}

/// Reports a move to the recorder, if there is one.
fn record_move<D: Device>(context: &Context<D>, from: &Current<D>, to: &ApiPlace<D>, location: &Location<D>) {
    if let Some(left) = &from.location {
        context.recorder.tell_with(|recorder| {
            let place = context.recorded_place(location.key(&to.api_resource), location);
            recorder.moved(left.key(&from.place.api_resource), &place);
        });
    }
}

/// An abandoned place, with its API objects.
pub(super) struct Left<D: Device> {
    api_resource: Arc<ApiResource<D>>,
    location: Option<Location<D>>,
    born: Stamp,
}

impl<D: Device> Left<D> {
    /// The API objects made in a place, for a move that is not made.
    pub(super) fn made(api_resource: Arc<ApiResource<D>>, location: Location<D>) -> Self {
        Self { api_resource, location: Some(location), born: Stamp::default() }
    }

    /// Releases it after the GPU work that uses it and the open recordings that may use it.
    pub(super) fn release(self, context: &Context<D>) {
        let Self { api_resource, location, born } = self;
        if let Some(location) = location {
            let bytes = location.reserved();
            context.release(Retired::from(Backing { api_resource, location }), born, bytes);
        }
    }

    /// Releases it after the submissions made for it before a later one was refused; nothing else uses it.
    pub(super) fn release_unused(self, context: &Context<D>) {
        let Self { api_resource, location, .. } = self;
        if let Some(location) = location {
            let bytes = location.reserved();
            let retired = Retired::from(Backing { api_resource, location });
            context.release_after(retired, context.clock.submitted(), bytes);
        }
    }
}

/// The views and descriptors that follow the moving resources, by resource.
pub(super) struct Followers<D: Device>(Vec<Vec<Follower<D>>>);

impl<D: Device> Followers<D> {
    /// The followers of each moving resource.
    pub(super) fn of(descriptors: &DescriptorService<D>, moving: &[Moving<'_, D>]) -> Self {
        Self(moving.iter().map(|moved| descriptors.followers_of(moved.movable)).collect())
    }

    fn all(&self) -> impl Iterator<Item = &Follower<D>> {
        self.0.iter().flatten()
    }

    /// Recreates all followers for the new places: first the views, then the descriptors and sets made of them. False on
    /// failure.
    pub(super) fn follow(&self, room: &dyn MakeRoom, moving: &[Moving<'_, D>]) -> bool {
        let views = self.0.iter().zip(moving);
        let mut views = views.flat_map(|(followers, moved)| followers.iter().map(move |view| (view, moved)));
        views.all(|(view, moved)| view.follow(room, &moved.to))
            && self.all().all(|follower| follower.follow_views(room))
    }

    pub(super) fn finish(&self) {
        self.all().for_each(Follower::finish);
    }

    pub(super) fn cancel(&self) {
        self.all().for_each(Follower::cancel);
    }

    pub(super) fn settle(&self) {
        self.all().for_each(Follower::settle);
    }
}
