//! Replaying a recording: the same creations, drops and frames, on any device and with any strategy.
//!
//! - A linear allocation becomes a buffer of the recorded size and alignment: `gpu_only` a vertex and index
//!   buffer, `cpu_to_gpu` an upload buffer (in the card's memory if recorded so), `gpu_to_cpu` a readback buffer.
//!   Recorded names are kept.
//! - An optimal allocation becomes a texture of the recorded size; on another device than the recorded one it becomes
//!   the recorded image, if described.
//! - Aliases and imports are left out: they take none of the program's memory.
//! - Each frame ends with one submission of a few draws and copies between live buffers, chosen with the seed, so
//!   that the GPU still uses resources that are dropped next. The copied bytes are checked when they are drawn: the
//!   simulated device compares them; on a real device they are read back and compared.
//! - Before a final free the replay waits for the GPU, as the program did, and the bytes are free at once.
//! - Allocations that the recording never frees are dropped at its end.
//!
//! All measurements of driver memory come from the counters of the simulated device, or from [`Counted`], a
//! wrapper around a real device.

mod checker;
mod counted;
mod hazards;
mod image;
mod live_objects;
mod meter;
mod observer;
mod outcome;
mod program;
mod readbacks;
mod real;
mod session;
mod shape;
mod simulated;
mod target;
mod traffic;

pub use counted::{Counted, DriverMemory, Gauge, Heap, List, Live, MemoryCall, Resource};
pub use hazards::Hazards;
pub use image::Image;
pub use meter::{DriverTime, Meter};
pub use observer::{Moment, Observer};
pub use outcome::{Outcome, Recorded, Verdict, Watch};
pub use program::{Program, Step, What};
pub use real::{Open, Opened, Real};
pub use shape::{Shape, Wanted};
pub use simulated::{Simulated, TICKS_A_FRAME, recorded_profile};
pub use target::{Job, NoDevice, ReplayError, Settings, Target};
