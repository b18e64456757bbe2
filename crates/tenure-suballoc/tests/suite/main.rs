//! Every allocator compared with a plain list of live ranges.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod blocks;
mod buddy;
mod determinism;
mod general;
mod linear;
mod model;
mod raw;
mod ring;
mod slots;
mod strategy;
