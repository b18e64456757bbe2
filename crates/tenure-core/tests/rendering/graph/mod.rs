//! Declared graphs: their errors, recordings, lifetimes and plans.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod batches;
mod cache;
mod declaration;
mod errors;
mod frames;
mod lists;
mod model;
mod random;
