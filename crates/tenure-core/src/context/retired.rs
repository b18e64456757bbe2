//! Everything that goes through the release queue.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use tenure_suballoc::Handle;

use crate::device::{DescriptorKind, Device};
use crate::memory::{Backing, FreeToken, Location};
use crate::slot_blocks::Slot;

/// Something dropped, to be given back when the GPU is done with it.
pub(crate) enum Retired<D: Device> {
    /// A range of a pool's block.
    Range(FreeToken),
    /// An API resource and its memory.
    Backing(Backing<D>),
    /// Descriptors, of whatever kind.
    Descriptors(RetiredDescriptor<D>),
    /// Anything of the program's own.
    User(UserObject),
}

impl<D: Device> Retired<D> {
    /// The range that it is, if it is one.
    #[inline]
    pub(super) const fn as_range(&self) -> Option<&FreeToken> {
        match self {
            Self::Range(range) => Some(range),
            Self::Backing(_) | Self::Descriptors(_) | Self::User(_) => None,
        }
    }

    /// Whether it refers to something else that was dropped, which must go after it.
    pub(super) const fn goes_first(&self) -> bool {
        match self {
            Self::Descriptors(retired) => !matches!(retired, RetiredDescriptor::SetLayout(_)),
            Self::Range(_) | Self::Backing(_) | Self::User(_) => false,
        }
    }
}

/// A descriptor in a heap that shaders do not see.
pub(crate) struct CpuSlot<D: Device> {
    pub(crate) kind: DescriptorKind,
    pub(crate) slot: Slot<D::DescriptorHeap>,
}

impl<D: Device> CpuSlot<D> {
    pub(crate) fn heap(&self) -> &D::DescriptorHeap {
        &self.slot.object
    }

    pub(crate) const fn index(&self) -> u32 {
        self.slot.index
    }
}

/// Descriptors of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaticRange {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) handle: Handle,
}

/// The number of a piece of the dynamic part of a heap.
pub(crate) type PieceId = u32;

/// Something that only the module of descriptors knows.
pub(crate) type Opaque = Box<dyn Any + Send>;

/// Descriptors that were dropped.
pub(crate) enum RetiredDescriptor<D: Device> {
    /// Of a view or a sampler.
    Cpu(CpuSlot<D>),
    /// Of a table.
    Table(DescriptorKind, StaticRange),
    /// Of a recording; the piece that it took last.
    Pieces(DescriptorKind, PieceId),
    /// A set that lasted.
    Set(Opaque),
    /// Sets of a recording.
    Sets(Opaque),
    /// A layout, with its blocks.
    SetLayout(Opaque),
}

/// An object of the program's own, whose destructor is the program's code.
pub(crate) type UserObject = Box<dyn Any + Send>;

/// Objects of the program's own that nothing uses any more, until a call that may run the program's code.
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

impl<D: Device> From<Backing<D>> for Retired<D> {
    fn from(Backing { api_resource, location }: Backing<D>) -> Self {
        match location {
            // The buffer belongs to its pool; only the range is given back.
            Location::Range(suballocation) => Self::Range(suballocation.free_token()),
            location => Self::Backing(Backing { api_resource, location }),
        }
    }
}
