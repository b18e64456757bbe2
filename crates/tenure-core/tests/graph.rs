//! Declared graphs: what is wrong with them, their recordings, their lifetimes, their plans.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "graph/batches.rs"]
mod batches;
#[path = "graph/cache.rs"]
mod cache;
#[path = "graph/declaration.rs"]
mod declaration;
#[path = "graph/errors.rs"]
mod errors;
#[path = "graph/frames.rs"]
mod frames;
#[path = "graph/lists.rs"]
mod lists;
#[path = "graph/model.rs"]
mod model;
#[path = "graph/random.rs"]
mod random;
