//! What a recording follows the states of.

use std::sync::Arc;

use super::native::Native;
use super::{Buffer, Reserved, Texture};
use crate::Name;
use crate::device::{Device, State};
use crate::state::StateCell;

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
    pub(crate) native: &'a Arc<Native<D>>,
    pub(crate) name: &'a Name,
    /// What the handle's own usage allows; the API buffer of a range may be more.
    pub(crate) allowed: State,
}

impl<'a, D: Device> From<&'a Buffer<D>> for Used<'a, D> {
    fn from(buffer: &'a Buffer<D>) -> Self {
        let allowed = State::allowed_for(buffer.usage());
        Self { native: buffer.held.native(), name: &buffer.held.name, allowed }
    }
}

macro_rules! used {
    ($($handle:ident),*) => {$(
        impl<'a, D: Device> From<&'a $handle<D>> for Used<'a, D> {
            fn from(handle: &'a $handle<D>) -> Self {
                let native = handle.held.native();
                Self { native, name: &handle.held.name, allowed: native.states.allowed() }
            }
        }
    )*};
}

used!(Texture, Reserved);
