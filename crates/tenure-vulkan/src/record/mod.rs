//! Recording: lists, barriers, copies, queries.

mod barrier;
mod copies;
mod list;
mod queries;
mod transition;

pub use list::List;
