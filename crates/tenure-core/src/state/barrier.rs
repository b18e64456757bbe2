//! Barriers that name resources by the caller's handle.

use crate::device::{Barrier, Device, QueueTransfer, State, Subresource};

/// A [`Barrier`] before the handle of its resource is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBarrier<H> {
    /// A change of state. `before` equals `after` where Vulkan orders two writes of one kind.
    Transition {
        /// The resource.
        resource: H,
        /// Which part of it.
        subresource: Subresource,
        /// How it was used.
        before: State,
        /// How it will be used.
        after: State,
        /// The change of owner, if any.
        transfer: Option<QueueTransfer>,
    },
    /// Unordered accesses before it are done before those after it.
    Unordered {
        /// The resource.
        resource: H,
    },
    /// From here on the resource has bytes that others had, with undefined contents; see
    /// [`Tracker::activate`](super::Tracker::activate).
    Aliasing {
        /// The resource that had them, if it was one alone.
        before: Option<H>,
        /// The resource that has them now.
        resource: H,
        /// How they were used on this queue since they were last put in order. Empty: not at all.
        from: State,
        /// How the resource is used next.
        to: State,
    },
}

impl<H> StateBarrier<H> {
    /// The resource.
    pub const fn resource(&self) -> &H {
        match self {
            Self::Transition { resource, .. }
            | Self::Unordered { resource }
            | Self::Aliasing { resource, .. } => resource,
        }
    }

    /// The same barrier with references to the handles.
    pub const fn by_ref(&self) -> StateBarrier<&H> {
        match self {
            Self::Transition { resource, subresource, before, after, transfer } => StateBarrier::Transition {
                resource,
                subresource: *subresource,
                before: *before,
                after: *after,
                transfer: *transfer,
            },
            Self::Unordered { resource } => StateBarrier::Unordered { resource },
            Self::Aliasing { before, resource, from, to } => {
                StateBarrier::Aliasing { before: before.as_ref(), resource, from: *from, to: *to }
            }
        }
    }

    /// The barrier as a command list takes it; `object` finds the device's resource in the handle.
    pub fn into_device<'a, D: Device>(self, object: impl Fn(H) -> &'a D::Resource) -> Barrier<'a, D> {
        match self {
            Self::Transition { resource, subresource, before, after, transfer } => {
                Barrier::Transition { resource: object(resource), subresource, before, after, transfer }
            }
            Self::Unordered { resource } => Barrier::Unordered { resource: object(resource) },
            Self::Aliasing { before, resource, from, to } => {
                Barrier::Aliasing { before: before.map(&object), after: object(resource), from, to }
            }
        }
    }
}
