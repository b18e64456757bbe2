//! Command lists: recycling and submission.

mod open;
mod pool;
mod submit;

pub(crate) use open::Open;
pub(crate) use pool::ListPool;
pub(crate) use submit::ExternalPoints;
