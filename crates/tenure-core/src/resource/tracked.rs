//! What a recording follows the states of.

use std::sync::Arc;

use super::native::Native;
use super::{Buffer, Reserved, Texture};
use crate::Name;
use crate::device::Device;
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
}

macro_rules! used {
    ($($handle:ident),*) => {$(
        impl<'a, D: Device> From<&'a $handle<D>> for Used<'a, D> {
            fn from(handle: &'a $handle<D>) -> Self {
                Self { native: handle.held.native(), name: &handle.held.name }
            }
        }
    )*};
}

used!(Buffer, Texture, Reserved);
