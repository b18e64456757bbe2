//! State tracking: examples that can be read, and a property test against a simulation of the
//! APIs' rules.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "state/activation.rs"]
mod activation;
#[path = "state/aliasing.rs"]
mod aliasing;
#[path = "state/examples.rs"]
mod examples;
#[path = "state/explicit.rs"]
mod explicit;
#[path = "state/frames.rs"]
mod frames;
#[path = "state/program.rs"]
mod program;
#[path = "state/promotion.rs"]
mod promotion;
#[path = "state/property.rs"]
mod property;
#[path = "support/random.rs"]
mod random;
#[path = "state/refused.rs"]
mod refused;
