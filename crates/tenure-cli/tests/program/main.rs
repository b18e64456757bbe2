//! The program, from outside and by its library.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod cli;
mod common;
mod compare;
mod counted;
mod html;
mod inputs;
mod plan;
#[cfg(unix)]
mod progress;
mod real;
mod replay;
mod report;
mod tune;
