//! Command lists: recycling and submission.

mod copies;
mod open;
mod pool;
mod submit;
mod together;

pub(crate) use copies::{CopiedParts, record_copies};
pub(crate) use open::Open;
pub(crate) use pool::ListPool;
pub(crate) use submit::ExternalPoints;
