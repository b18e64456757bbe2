//! Native objects: wrapping the program's, and access to tenure's.

mod adopt;
mod handles;
mod owned;

pub use adopt::{Ownership, RawBuffer, RawImage, RawMemory};
pub use handles::{RawHandle, RawView};
pub use owned::{Destroy, Owned};
