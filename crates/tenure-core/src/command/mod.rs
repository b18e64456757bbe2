//! Command lists that are recycled, and recordings made with them.

mod contexts;
mod recording;
mod submission;

pub(crate) use contexts::Contexts;
pub use recording::Recording;
