//! Everything that goes through the release queue.

use std::any::Any;

use crate::device::Device;
use crate::memory::{Home, Spot};

/// Something dropped, to be given back when the GPU is done with it.
pub(crate) enum Garbage<D: Device> {
    /// A range of a pool's block.
    Range(Spot),
    /// An API resource and its place.
    Home(Home<D>),
    /// Anything of the program's own.
    User(UserObject),
}

/// An object of the program's own, whose destructor is the program's code.
pub(crate) type UserObject = Box<dyn Any + Send>;
