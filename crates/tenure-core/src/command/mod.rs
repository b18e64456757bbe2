//! Command lists that are recycled, and recordings made with them.

mod commands;
mod contexts;
mod open;
mod recording;
mod submission;
mod texels;

pub use commands::Commands;
pub(crate) use contexts::Contexts;
pub(crate) use open::Open;
pub use recording::Recording;
pub(crate) use texels::check_region;
