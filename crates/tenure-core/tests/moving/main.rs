//! Movable resources: their content goes with them, whoever uses them finds it, and memory of which little is used is
//! given back.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod automatic;
mod buffers;
mod careless;
mod hostile;
mod lifetimes;
mod order;
mod pipelined;
mod report;
mod returning;
mod returning_hard;
mod returning_random;
mod textures;
mod threads;
mod two_queues;
mod views;
mod world;
