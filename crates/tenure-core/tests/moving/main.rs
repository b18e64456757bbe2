//! Movable resources: their contents move with them, all uses find them, and sparse memory is freed.
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
mod textures;
mod two_queues;
mod views;
