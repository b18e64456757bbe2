//! Random programs over the whole interface of tenure, on the simulated device.
//!
//! A [`Program`] is a list of steps that depends on a seed alone: creating and dropping resources, uploads,
//! recordings that are open side by side, frames, render graphs, descriptors, queries, swap chains, compaction,
//! limits on memory, calls that fail, a device that is lost, code of the program inside calls that panics or
//! calls back. A model (`world`) has the expected value of every byte. A run ends with everything read back and
//! compared, no hazard, nothing leaked, and the manager's statistics equal to the model's.
//!
//! A program that fails is run again with fewer steps, until none can be left out ([`shrink`]).
#![forbid(unsafe_code)]

mod callbacks;
mod contents;
mod program;
mod run;
mod setup;
mod shrink;
mod steady;
mod threads;
mod verbs;
mod watch;
mod world;
mod wrong;

pub use program::{Program, Step};
pub use run::{Outcome, run, run_traced};
pub use setup::{Setup, Trouble};
pub use shrink::{Shrunk, shrink};
pub use steady::run_steady;
pub use threads::run_threads;
pub use watch::Watchdog;
pub use world::Refusals;
