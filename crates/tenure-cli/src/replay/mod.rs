//! Replaying a recording: the same creations, drops and frames, on any device and by any strategy.
//!
//! - A linear allocation becomes a buffer of the recorded size and alignment: `gpu_only` one for
//!   vertices and indices, `cpu_to_gpu` a dynamic one, `gpu_to_cpu` one for reading back.
//! - An optimal allocation becomes a texture of as many bytes.
//! - Each frame ends with one submission of a few draws and copies between what lives, chosen from
//!   the seed, so that what is dropped next is still in use. The draws check what was copied.
//! - What the recording never frees is dropped after its last line.
//!
//! Whatever is measured about the driver's memory comes from the device's own counters.

mod meter;
mod objects;
mod outcome;
mod program;
mod rng;
mod session;
mod shape;
mod simulated;
mod traffic;

pub use meter::{Meter, Metered};
pub(crate) use outcome::strategy_name;
pub use outcome::{Outcome, Verdict};
pub use program::{Program, Step, What};
pub use shape::Shape;
pub use simulated::{Settings, prepare, replay};
