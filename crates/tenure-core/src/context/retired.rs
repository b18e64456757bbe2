//! The objects in the release queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::api_resource::ApiResource;
use crate::device::Device;
use crate::memory::{Backing, FreeToken, Location};

/// A dropped object, to be released when the GPU has finished with it.
pub(crate) enum Retired<D: Device> {
    /// A range of a pool's block.
    Range(FreeToken),
    /// An API resource in a range of a pool's block, the usual one.
    Placed(Arc<ApiResource<D>>, FreeToken),
    /// An API resource and its memory.
    Backing(Backing<D>),
    /// An object of the program.
    User(UserObject),
}

impl<D: Device> Retired<D> {
    /// The range, if it is one.
    #[inline]
    pub(super) const fn as_range(&self) -> Option<&FreeToken> {
        match self {
            Self::Range(range) => Some(range),
            Self::Placed(..) | Self::Backing(_) | Self::User(_) => None,
        }
    }
}

/// An object of the program, whose destructor is the program's code.
pub(crate) type UserObject = Box<dyn Send>;

/// Objects of the program that nothing uses any more, kept until a call that may run the program's code.
#[derive(Default)]
pub(super) struct UserObjects {
    /// Set and cleared under the lock: there are hardly ever any, and each reclaim asks.
    has_some: AtomicBool,
    objects: Mutex<Vec<UserObject>>,
}

impl UserObjects {
    pub(super) fn push(&self, object: UserObject) {
        let mut objects = self.objects.lock();
        objects.push(object);
        self.has_some.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn has_some(&self) -> bool {
        self.has_some.load(Ordering::Acquire)
    }

    pub(super) fn take(&self) -> Vec<UserObject> {
        let mut objects = self.objects.lock();
        self.has_some.store(false, Ordering::Release);
        std::mem::take(&mut *objects)
    }
}

impl<D: Device> From<Backing<D>> for Retired<D> {
    #[inline]
    fn from(Backing { api_resource, location }: Backing<D>) -> Self {
        match location {
            // The buffer belongs to its pool; only the range is freed.
            Location::Range(suballocation) => Self::Range(suballocation.free_token()),
            Location::Placed(suballocation) => Self::Placed(api_resource, suballocation.free_token()),
            location => Self::Backing(Backing { api_resource, location }),
        }
    }
}
