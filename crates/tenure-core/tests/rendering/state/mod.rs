//! Barriers of whole programs on the simulated device; the rules alone are tested in `tenure-track`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod frames;
mod mips;
mod refused;
mod subresource_ranges;
