//! Declared graphs: what is wrong with them, their recordings, their lifetimes, their plans.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod batches;
mod cache;
mod declaration;
mod errors;
mod frames;
mod lists;
mod model;
mod random;
