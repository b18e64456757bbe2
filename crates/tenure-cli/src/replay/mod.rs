//! Replaying a recording: the same creations, drops and frames, on any device and by any strategy.
//!
//! - A linear allocation becomes a buffer of the recorded size and alignment: `gpu_only` one for
//!   vertices and indices, `cpu_to_gpu` a dynamic one, `gpu_to_cpu` one for reading back.
//! - An optimal allocation becomes a texture of as many bytes.
//! - Each frame ends with one submission of a few draws and copies between what lives, chosen from
//!   the seed, so that what is dropped next is still in use. What was copied is checked where it is
//!   drawn: by the simulated device itself; of a real one the bytes are read back.
//! - What the recording never frees is dropped after its last line.
//!
//! Whatever is measured about the driver's memory comes from the device's own counters, or from
//! those put in front of a device that has none.

mod counted;
mod hazards;
mod job;
mod meter;
mod objects;
mod outcome;
mod program;
mod readbacks;
mod real;
mod rng;
mod session;
mod shape;
mod simulated;
mod target;
mod traffic;
mod witness;

pub use counted::{Counted, Gauge, Heap, List, Live, Resource};
pub use hazards::Hazards;
pub use job::{Job, Settings};
pub use meter::{DriverTime, Meter};
pub(crate) use outcome::strategy_name;
pub use outcome::{Outcome, Verdict, Watch};
pub use program::{Program, Step, What};
pub use real::{Open, Opened, Real};
pub use shape::Shape;
pub use simulated::Simulated;
pub use target::{NoDevice, ReplayError, Target};
