//! The frame of a deferred renderer: culling on the GPU, depth in two phases, shadow cascades, a
//! G-buffer, clustered lights, ambient occlusion and indirect light, fog and clouds, reflections,
//! transparency, and the whole of post-processing.
//!
//! A [`DeferredFrame`] is a [`Graph`](tenure::transient::graph::Graph) of 85 passes on three
//! queues and 85 resources, with the formats, sizes and dependencies of real frames: 395 MiB of texels
//! and bytes at 1080p and 1.5 GiB at 4K without shared memory.
//!
//! A [`Renderer`] runs it on any [`Device`](tenure::device::Device). Copies replace
//! shaders: the bytes that a pass writes depend on the frame, the pass and the resource; the bytes that it
//! reads are read back and compared with the bytes written last. Bytes that are wrong because another
//! resource shares the memory or a barrier is missing are reported with the pass and the resource.
//!
//! ```
//! use deferred_frame::{Renderer, Sharing};
//! use tenure::{Config, Gpu};
//! use tenure::sim;
//!
//! let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
//! let mut renderers = [Sharing::Planned, Sharing::Apart]
//!     .map(|sharing| Renderer::new(&gpu, [160, 90], sharing));
//! for renderer in &mut renderers {
//!     let renderer = renderer.as_mut().map_err(|error| error.clone())?;
//!     renderer.render()?;
//!     renderer.settle()?;
//! }
//! let [planned, apart] = renderers;
//! assert_eq!(planned?.digests(), apart?.digests());
//! # Ok::<(), deferred_frame::FrameError>(())
//! ```

mod accessed_parts;
mod error;
mod frame;
mod memory;
mod passes;
mod pattern;
mod perform;
mod renderer;
mod resources;
mod script;
mod slot;

pub use error::FrameError;
pub use frame::{DeferredFrame, Pass};
pub use memory::Sharing;
pub use renderer::{Renderer, Times};
