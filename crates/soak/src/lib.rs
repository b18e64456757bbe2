//! Random programs over the whole interface of tenure, on the simulated device.
//!
//! A [`Program`] is a list of steps determined by a seed: creation and drop of resources, uploads, several open
//! recordings, frames, render graphs, descriptors, queries, swap chains, compaction, limits on memory, failing
//! calls, device loss, and callbacks that panic or call the manager. A model (`world`) has the expected value
//! of every byte. A run ends with everything read back and compared, no hazard, nothing leaked, and the
//! manager's statistics equal to the model's.
//!
//! A failing program is run again with fewer steps, until all remaining ones are necessary ([`shrink`]).
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
