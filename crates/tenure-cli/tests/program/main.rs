//! The program, from outside and by its library.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod cli;
mod counted;
mod inputs;
mod plan;
mod real;
mod replay;
