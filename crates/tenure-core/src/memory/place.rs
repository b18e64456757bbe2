//! Where a resource's bytes are.

use std::sync::Arc;

use super::objects::MemoryOwner;
use super::page::PageSeat;
use super::pool::Spot;
use super::seat::Seat;
use crate::device::Device;
use crate::resource::native::Native;

/// The kind of place a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LocationKind {
    /// An API resource with memory of its own.
    Committed,
    /// An API resource in a heap that it shares.
    Placed,
    /// A range of a buffer that it shares.
    Range,
    /// An API resource in a page that is reset as a whole.
    Page,
    /// An API resource in bytes of a heap that it takes turns with others in.
    Transient,
    /// An address range whose tiles are mapped one by one.
    Reserved,
    /// An API resource that the program made, in memory of the program's own.
    Adopted,
}

/// The place itself: what must be given back when the resource goes.
pub(crate) enum Place<D: Device> {
    Range(Spot),
    Placed(Spot),
    Committed { size: u64, owner: MemoryOwner },
    Page(PageSeat<D>),
    Transient(Arc<Seat<D>>),
    Reserved,
    Adopted,
}

impl<D: Device> Place<D> {
    pub(crate) const fn kind(&self) -> LocationKind {
        match self {
            Self::Range(_) => LocationKind::Range,
            Self::Placed(_) => LocationKind::Placed,
            Self::Committed { .. } => LocationKind::Committed,
            Self::Page(_) => LocationKind::Page,
            Self::Transient(_) => LocationKind::Transient,
            Self::Reserved => LocationKind::Reserved,
            Self::Adopted => LocationKind::Adopted,
        }
    }

    /// Byte of the API resource at which the place begins.
    pub(crate) const fn offset(&self) -> u64 {
        match self {
            Self::Range(spot) => spot.offset,
            _ => 0,
        }
    }

    /// Bytes that the place takes from its heap.
    pub(crate) const fn reserved(&self) -> u64 {
        match self {
            Self::Range(spot) | Self::Placed(spot) => spot.reserved,
            Self::Committed { size, .. } => *size,
            Self::Page(seat) => seat.size,
            // Its bytes are the heap's, and others have them as well.
            Self::Transient(_) => 0,
            Self::Reserved | Self::Adopted => 0,
        }
    }
}

/// An API resource and its place: the whole, or for a range the buffer that it is a part of.
pub(crate) struct Home<D: Device> {
    pub(crate) native: Arc<Native<D>>,
    pub(crate) place: Place<D>,
}
