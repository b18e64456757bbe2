//! Everything that goes through the release queue.

use std::any::Any;
use std::sync::Arc;

use crate::device::Device;
use crate::memory::{Home, Page, Spot};

/// Something dropped, to be given back when the GPU is done with it.
pub(crate) enum Garbage<D: Device> {
    /// A range of a pool's block.
    Range(Spot),
    /// An API resource and its place.
    Home(Home<D>),
    /// A page of an allocator that is gone.
    Page(Arc<Page<D>>),
    /// Anything of the program's own.
    User(Arc<dyn Any + Send + Sync>),
}
