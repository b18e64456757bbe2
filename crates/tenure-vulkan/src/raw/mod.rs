//! The API's objects: those of programs come in, those of tenure come out.

mod adopt;
mod handles;
mod owned;

pub use adopt::{Ownership, RawBuffer, RawImage, RawMemory};
pub use handles::{RawHandle, RawView};
pub use owned::{Destroy, Owned};
