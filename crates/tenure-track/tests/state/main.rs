//! State tracking: examples that can be read, and a property test against a simulation of the
//! APIs' rules.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod activation;
mod aliasing;
mod examples;
mod explicit;
mod overwrites;
mod program;
mod promotion;
mod property;
#[path = "../../../tenure-core/tests/support/random.rs"]
mod random;
