//! Barriers that identify resources by the caller's handle.

use smallvec::SmallVec;

use crate::device::{Barrier, CommandList, Device, DeviceError, QueueTransfer, State, Subresource};

/// The number of barriers that are recorded together without an allocation.
const INLINE: usize = 256;

/// A [`Barrier`] with the caller's handle in place of the device's resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBarrier<H> {
    /// A change of state. `before` equals `after` where Vulkan needs an order between two writes of one kind.
    Transition {
        /// The resource.
        resource: H,
        /// The part of it.
        subresource: Subresource,
        /// State before.
        before: State,
        /// State after.
        after: State,
        /// The ownership transfer, if any.
        transfer: Option<QueueTransfer>,
    },
    /// A change of state of a render target or depth buffer that is new, or has new memory: a transition from `before` to
    /// `discarded_in`, unless they are equal, a [`discard`](CommandList::discard), and a transition to `after`, likewise. See
    /// [`StateCell::with_initialization`](super::StateCell::with_initialization).
    Initialize {
        /// The resource.
        resource: H,
        /// The part of it.
        subresource: Subresource,
        /// State before.
        before: State,
        /// The state in which the queue discards it.
        discarded_in: State,
        /// State after.
        after: State,
    },
    /// Orders unordered accesses before it and after it.
    Unordered {
        /// The resource.
        resource: H,
    },
    /// Makes the resource the owner of bytes of other resources, with undefined contents; see
    /// [`Tracker::activate`](super::Tracker::activate).
    Aliasing {
        /// The previous owner, if there is exactly one.
        before: Option<H>,
        /// The new owner.
        resource: H,
        /// The uses of the bytes on this queue since the last barrier that orders them. Empty: no use.
        from: State,
        /// The next use of the resource.
        to: State,
    },
}

impl<H> StateBarrier<H> {
    /// The resource.
    pub const fn resource(&self) -> &H {
        match self {
            Self::Transition { resource, .. }
            | Self::Initialize { resource, .. }
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
            Self::Initialize { resource, subresource, before, discarded_in, after } => {
                StateBarrier::Initialize {
                    resource,
                    subresource: *subresource,
                    before: *before,
                    discarded_in: *discarded_in,
                    after: *after,
                }
            }
            Self::Unordered { resource } => StateBarrier::Unordered { resource },
            Self::Aliasing { before, resource, from, to } => {
                StateBarrier::Aliasing { before: before.as_ref(), resource, from: *from, to: *to }
            }
        }
    }
}

/// Records barriers in front of a closed list, if its device can and none of them is an initialization: see
/// [`CommandList::put_in_front`]. Returns whether it did; `barriers` and `object` are not called where the device cannot.
/// Allocates only for more than 256 barriers.
///
/// # Errors
/// As [`CommandList::put_in_front`].
pub fn record_in_front<'a, D: Device, H>(
    list: &mut D::List,
    mut barriers: impl Iterator<Item = StateBarrier<H>>,
    object: impl Fn(H) -> &'a D::Resource,
) -> Result<bool, DeviceError> {
    if !list.takes_barriers_in_front() {
        return Ok(false);
    }
    let mut in_api: SmallVec<[Barrier<'a, D>; INLINE]> = SmallVec::new();
    let is_all = barriers.by_ref().all(|barrier| match barrier {
        StateBarrier::Initialize { .. } => false,
        StateBarrier::Transition { resource, subresource, before, after, transfer } => {
            let resource = object(resource);
            in_api.push(Barrier::Transition { resource, subresource, before, after, transfer });
            true
        }
        StateBarrier::Unordered { resource } => {
            in_api.push(Barrier::Unordered { resource: object(resource) });
            true
        }
        StateBarrier::Aliasing { before, resource, from, to } => {
            in_api.push(Barrier::Aliasing { before: before.map(&object), after: object(resource), from, to });
            true
        }
    });
    if is_all {
        list.put_in_front(&in_api)?;
    }
    Ok(is_all)
}

/// A discard, and the state after it.
struct Discard<'a, D: Device> {
    resource: &'a D::Resource,
    subresource: Subresource,
    discarded_in: State,
    after: State,
}

/// Records barriers in a command list, with the discards of initializations; `object` returns the device's resource of a
/// handle. Allocates only for more than 256 barriers.
pub fn record<'a, D: Device, H>(
    list: &mut D::List,
    barriers: impl Iterator<Item = StateBarrier<H>>,
    object: impl Fn(H) -> &'a D::Resource,
) {
    // Constructed in place: it is large.
    let mut in_api: SmallVec<[Barrier<'a, D>; INLINE]> = SmallVec::new();
    let mut discards: SmallVec<[Discard<'a, D>; 2]> = SmallVec::new();
    let transition = |resource, subresource, before, after| Barrier::Transition {
        resource,
        subresource,
        before,
        after,
        transfer: None,
    };
    in_api.extend(barriers.filter_map(|barrier| match barrier {
        StateBarrier::Transition { resource, subresource, before, after, transfer } => {
            Some(Barrier::Transition { resource: object(resource), subresource, before, after, transfer })
        }
        StateBarrier::Initialize { resource, subresource, before, discarded_in, after } => {
            let resource = object(resource);
            discards.push(Discard { resource, subresource, discarded_in, after });
            (before != discarded_in).then(|| transition(resource, subresource, before, discarded_in))
        }
        StateBarrier::Unordered { resource } => Some(Barrier::Unordered { resource: object(resource) }),
        StateBarrier::Aliasing { before, resource, from, to } => {
            Some(Barrier::Aliasing { before: before.map(&object), after: object(resource), from, to })
        }
    }));
    if !in_api.is_empty() {
        list.barriers(&in_api);
    }
    if discards.is_empty() {
        return;
    }
    in_api.clear();
    for Discard { resource, subresource, discarded_in, after } in discards {
        list.discard(resource, subresource);
        if discarded_in != after {
            in_api.push(transition(resource, subresource, discarded_in, after));
        }
    }
    if !in_api.is_empty() {
        list.barriers(&in_api);
    }
}
