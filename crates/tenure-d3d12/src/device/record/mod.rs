//! Recording: lists, barriers, copies.

pub(crate) mod barriers;
pub(crate) mod copies;
pub(crate) mod list;
pub(crate) mod state;
