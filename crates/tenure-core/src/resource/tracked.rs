//! What a recording follows the states of.

use std::sync::Arc;

use super::native::Native;
use super::{Buffer, Held, Reserved, Texture};
use crate::device::{Api, Device, State};
use crate::gpu::Shared;
use crate::memory::{MemoryUse, Place, Seat};
use crate::state::{StateCell, StateError};
use crate::{Error, Name};

/// A share in an API object, by which a recording keeps it and finds its states.
pub(crate) struct Tracked<D: Device>(pub(crate) Arc<Native<D>>);

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

/// A resource as a [`Recording`](crate::Recording) uses it: made from a reference to a [`Buffer`],
/// a [`Texture`] or a [`Reserved`].
pub struct Used<'a, D: Device> {
    held: &'a Held<D>,
    /// What the handle's own usage allows; the API buffer of a range may be more.
    allowed: State,
    memory: MemoryUse,
}

impl<'a, D: Device> From<&'a Buffer<D>> for Used<'a, D> {
    fn from(buffer: &'a Buffer<D>) -> Self {
        Self { held: &buffer.held, allowed: State::allowed_for(buffer.usage()), memory: buffer.memory() }
    }
}

macro_rules! used {
    ($($handle:ident),*) => {$(
        impl<'a, D: Device> From<&'a $handle<D>> for Used<'a, D> {
            fn from(handle: &'a $handle<D>) -> Self {
                let allowed = handle.held.native().states.allowed();
                Self { held: &handle.held, allowed, memory: MemoryUse::GpuOnly }
            }
        }
    )*};
}

used!(Texture, Reserved);

impl<D: Device> Used<'_, D> {
    /// The API object, if it may be used in `state` by a recording of `shared`.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::State`], [`Error::FixedState`].
    pub(crate) fn check(&self, shared: &Arc<Shared<D>>, state: State) -> Result<Tracked<D>, Error> {
        let name = || self.held.name.clone();
        if !Arc::ptr_eq(self.held.shared(), shared) {
            return Err(Error::Foreign { name: name() });
        }
        if !self.allowed.contains(state) {
            let source = StateError::NotAllowedForUsage { state, allowed: self.allowed };
            return Err(Error::State { name: name(), source });
        }
        let (native, api) = (self.held.native(), shared.device().properties().api);
        let fixed = State::ACCELERATION_STRUCTURE;
        if native.possible == fixed && state != fixed {
            return Err(Error::State { name: name(), source: StateError::Fixed { state, initial: fixed } });
        }
        // Both what was asked for, so that programs work on every device, and what was had.
        if !(fixed_states(api, self.memory) & native.possible).contains(state) {
            return Err(Error::FixedState { name: name(), memory: self.memory, state });
        }
        Ok(Tracked(native.clone()))
    }

    /// Its share in a heap, if it is transient.
    pub(crate) fn seat(&self) -> Option<&Arc<Seat<D>>> {
        match self.held.place() {
            Place::Transient(seat) => Some(seat),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &Name {
        &self.held.name
    }
}

/// The states that the memory leaves: D3D12 keeps upload heaps readable and readback heaps a
/// destination of copies, for life.
fn fixed_states(api: Api, memory: MemoryUse) -> State {
    match (api, memory) {
        (Api::Direct3D12, MemoryUse::Dynamic) => State::all().difference(State::WRITES),
        (Api::Direct3D12, MemoryUse::Readback) => State::COPY_DST,
        _ => State::all(),
    }
}
