//! The layer as the loader uses it: the library is loaded, and called through the functions that it hands out, on a driver of
//! the test's own.

#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod cost;
mod disguise;
mod driver;
mod hooks;
mod loader;
mod logs;
mod processes;

/// The driver refuses an allocation of this size.
const REFUSED: u64 = 666;
