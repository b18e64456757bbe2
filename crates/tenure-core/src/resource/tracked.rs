//! Resources whose states a recording tracks.

use std::sync::Arc;

use super::{AccelerationStructure, Buffer, HandleInner, PlaceRef, Texture};
use crate::api_resource::ApiResource;
use crate::context::Context;
use crate::device::{Api, Device, State, Subresource, TextureInfo, Usage};
use crate::memory::policy::PlacementKind;
use crate::memory::{AliasedRange, Location, LocationKind, MemoryUse, PlaceHolds};
use crate::state::{StateCell, StateError};
use crate::{Error, Name};

/// A reference to an API object, by which a recording keeps it alive and finds its states.
pub(crate) struct Tracked<D: Device>(pub(crate) Arc<ApiResource<D>>);

impl<D: Device> Clone for Tracked<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Device> AsRef<StateCell> for Tracked<D> {
    fn as_ref(&self) -> &StateCell {
        &self.0.states
    }
}

/// A resource in a [`Recording`](crate::Recording): made from a reference to a [`Buffer`], a [`Texture`], a
/// [`Reserved`](crate::Reserved) or an [`AccelerationStructure`].
pub struct Used<'a, D: Device> {
    inner: &'a HandleInner<D>,
    /// The states that the handle's own usage allows; the API buffer of a range may allow more.
    allowed: State,
    /// The byte of the API resource at which it begins, if it does not move.
    offset: u64,
    is_shared_with_peers: bool,
    memory: MemoryUse,
    /// The description of a texture; `None` for a buffer.
    pub(crate) info: Option<&'a TextureInfo>,
}

debug_fields!([D: Device] Used<'_, D>, "Used", this, name: this.name(), allowed: this.allowed, memory: this.memory);

impl<'a, D: Device> From<&'a Buffer<D>> for Used<'a, D> {
    fn from(buffer: &'a Buffer<D>) -> Self {
        Self {
            inner: &buffer.inner,
            allowed: State::allowed_for(buffer.usage()),
            offset: buffer.offset,
            is_shared_with_peers: buffer.usage().contains(Usage::SHARED),
            memory: buffer.memory(),
            info: None,
        }
    }
}

impl<'a, D: Device> From<&'a AccelerationStructure<D>> for Used<'a, D> {
    fn from(structure: &'a AccelerationStructure<D>) -> Self {
        let (allowed, memory) = (State::ACCELERATION_STRUCTURE, MemoryUse::GpuOnly);
        Self { inner: &structure.inner, allowed, offset: 0, is_shared_with_peers: false, memory, info: None }
    }
}

impl<'a, D: Device> From<&'a Texture<D>> for Used<'a, D> {
    fn from(texture: &'a Texture<D>) -> Self {
        let allowed = texture.inner.place(0).api_resource().states.allowed();
        let info = texture.info();
        let is_shared_with_peers = info.usage.contains(Usage::SHARED);
        let (inner, info) = (&texture.inner, Some(info));
        Self { inner, allowed, offset: 0, is_shared_with_peers, memory: MemoryUse::GpuOnly, info }
    }
}

impl<'a, D: Device> Used<'a, D> {
    /// A resource that begins at the start of its API object and never moves, in the states that the object
    /// allows.
    pub(crate) fn of_object(inner: &'a HandleInner<D>) -> Self {
        let allowed = inner.api_resource().states.allowed();
        Self {
            inner,
            allowed,
            offset: 0,
            is_shared_with_peers: false,
            memory: MemoryUse::GpuOnly,
            info: None,
        }
    }

    /// The API object, if commands of `context` may use it in `state`, and the offset of the resource in it;
    /// neither changes while the holds exist.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::State`], [`Error::FixedState`].
    #[inline(always)]
    pub(crate) fn check_place(
        &self,
        context: &Arc<Context<D>>,
        part: Subresource,
        state: State,
        holds: &mut PlaceHolds<D>,
    ) -> Result<PlaceRef<'a, D>, Error> {
        self.check_handle(context, state)?;
        let written = state.intersects(State::WRITES).then_some(part);
        let place = self.inner.hold(self.offset, written, holds);
        check_states(context, self.name(), self.memory, place.api_resource(), state)?;
        Ok(place)
    }

    /// A reference to the API object of [`check_place`](Self::check_place).
    ///
    /// # Errors
    /// As for [`check_place`](Self::check_place).
    pub(crate) fn check(
        &self,
        context: &Arc<Context<D>>,
        part: Subresource,
        state: State,
        holds: &mut PlaceHolds<D>,
    ) -> Result<Tracked<D>, Error> {
        let place = self.check_place(context, part, state, holds)?;
        Ok(Tracked(place.api_resource().clone()))
    }
}

impl<D: Device> Used<'_, D> {
    /// The error of a refused use.
    #[cold]
    pub(crate) fn refuse(&self, source: StateError) -> Error {
        Error::State { name: self.inner.name.clone(), source }
    }

    /// Fails for a resource of another manager.
    #[inline]
    pub(crate) fn check_manager(&self, context: &Arc<Context<D>>) -> Result<(), Error> {
        let is_own = Arc::ptr_eq(self.inner.context(), context);
        if is_own { Ok(()) } else { Err(Error::Foreign { name: self.inner.name.clone() }) }
    }

    #[inline]
    fn check_handle(&self, context: &Arc<Context<D>>, state: State) -> Result<(), Error> {
        let name = || self.inner.name.clone();
        self.check_manager(context)?;
        if !self.allowed.contains(state) {
            let source = StateError::NotAllowedForUsage { state, allowed: self.allowed };
            return Err(Error::State { name: name(), source });
        }
        Ok(())
    }

    /// Whether [`check`](Self::check) allows a state of an immovable resource in memory of the manager. Unlike
    /// `check`, it does not count as a use by commands.
    pub(crate) fn allows(&self, context: &Arc<Context<D>>, state: State) -> bool {
        self.inner.placed_resource().is_some_and(|api_resource| {
            self.check_handle(context, state).is_ok()
                && check_states(context, self.name(), self.memory, api_resource, state).is_ok()
        })
    }

    pub(super) fn location_kind(&self) -> LocationKind {
        self.inner.location_kind()
    }

    pub(super) const fn is_mapped(&self) -> bool {
        self.memory.is_mapped()
    }

    /// True if other buffers share the API buffer, or may do so after a move.
    pub(super) fn may_share_its_buffer(&self) -> bool {
        let is_range = |placement| matches!(placement, PlacementKind::Range(_));
        self.is_shared() || self.inner.as_movable().is_some_and(|movable| is_range(movable.needs.placement))
    }

    /// True if other buffers share the API buffer.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.location_kind() == LocationKind::Range
    }

    /// True if other devices or processes use its memory.
    pub(crate) const fn is_shared_with_peers(&self) -> bool {
        self.is_shared_with_peers
    }

    /// Its share in a heap, if it is transient.
    pub(crate) fn aliased_range(&self) -> Option<&Arc<AliasedRange<D>>> {
        match self.inner.fixed_location() {
            Some(Location::Transient(aliased_range)) => Some(aliased_range),
            _ => None,
        }
    }

    /// Pins the resource, because the program uses it directly.
    pub(crate) fn pin(&self) {
        self.inner.api_resource();
    }

    pub(crate) fn name(&self) -> &Name {
        &self.inner.name
    }
}

/// Checks that the memory of a resource allows a state.
#[inline]
pub(super) fn check_states<D: Device>(
    context: &Context<D>,
    name: &Name,
    memory: MemoryUse,
    api_resource: &ApiResource<D>,
    state: State,
) -> Result<(), Error> {
    let api = context.device().properties().api;
    if api == Api::Vulkan {
        // On Vulkan neither memory nor usage fixes a state.
        return Ok(());
    }
    let fixed = State::ACCELERATION_STRUCTURE;
    if api_resource.possible == fixed && state != fixed {
        let source = StateError::Fixed { state, initial: fixed };
        return Err(Error::State { name: name.clone(), source });
    }
    // Both the requested memory, so that programs work on every device, and the actual memory.
    if !(fixed_states(api, memory) & api_resource.possible).contains(state) {
        return Err(Error::FixedState { name: name.clone(), memory, state });
    }
    Ok(())
}

/// The states that the memory allows: on D3D12 upload heaps stay readable, and readback heaps stay copy
/// destinations, for life.
fn fixed_states(api: Api, memory: MemoryUse) -> State {
    match (api, memory) {
        (Api::Direct3D12, MemoryUse::Upload) => State::all().difference(State::WRITES),
        (Api::Direct3D12, MemoryUse::Readback) => State::COPY_DST,
        _ => State::all(),
    }
}
