//! Everything that goes through the release queue.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::descriptor::DescriptorGarbage;
use crate::device::Device;
use crate::memory::{Home, Place, Receipt};

/// Something dropped, to be given back when the GPU is done with it.
pub(crate) enum Garbage<D: Device> {
    /// A range of a pool's block.
    Range(Receipt),
    /// An API resource and its place.
    Home(Home<D>),
    /// Descriptors, of whatever kind.
    Descriptors(DescriptorGarbage<D>),
    /// Anything of the program's own.
    User(UserObject),
}

impl<D: Device> Garbage<D> {
    /// The range that it is, if it is one.
    #[inline]
    pub(super) const fn as_range(&self) -> Option<&Receipt> {
        match self {
            Self::Range(range) => Some(range),
            Self::Home(_) | Self::Descriptors(_) | Self::User(_) => None,
        }
    }

    /// Whether other garbage is what it refers to.
    pub(super) const fn goes_first(&self) -> bool {
        match self {
            Self::Descriptors(garbage) => !matches!(garbage, DescriptorGarbage::Form(_)),
            Self::Range(_) | Self::Home(_) | Self::User(_) => false,
        }
    }
}

/// An object of the program's own, whose destructor is the program's code.
pub(crate) type UserObject = Box<dyn Any + Send>;

/// Those that are to go, until a call that may run the program's code.
#[derive(Default)]
pub(super) struct UserObjects {
    /// Set and cleared under the lock: hardly ever are there any, and each purge asks.
    has_some: AtomicBool,
    objects: Mutex<Vec<UserObject>>,
}

impl UserObjects {
    pub(super) fn push(&self, object: UserObject) {
        let mut objects = self.objects.lock();
        objects.push(object);
        self.has_some.store(true, Ordering::Release);
    }

    pub(super) fn take(&self) -> Vec<UserObject> {
        if !self.has_some.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut objects = self.objects.lock();
        self.has_some.store(false, Ordering::Release);
        std::mem::take(&mut *objects)
    }
}

impl<D: Device> From<Home<D>> for Garbage<D> {
    fn from(Home { native, place }: Home<D>) -> Self {
        match place {
            // The buffer belongs to its pool; only the range is given back.
            Place::Range(spot) => Self::Range(spot.receipt()),
            place => Self::Home(Home { native, place }),
        }
    }
}
