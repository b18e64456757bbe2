//! Uploads: bytes and texels of the program, copied to buffers and textures.

mod batch;
mod copies;
mod in_flight;
mod in_place;
mod pieces;
mod stage;
mod uploads;

pub use batch::Upload;
pub use uploads::UploadStats;
pub(crate) use uploads::Uploads;
