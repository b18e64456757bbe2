//! Resources that live for some passes of a frame and share memory (spec X1 to X7).
//!
//! Most of what a renderer writes in a frame is read some passes later and never again. Here such
//! resources take turns in the same bytes: a frame takes a half to a fourth of the memory.
//!
//! # Two ways
//!
//! * **Declared ahead**: a [`Graph`](graph::Graph) says which passes there are, on which queues, and what
//!   they use. [`Frame::execute`](crate::Frame::execute) plans it ([`tenure_plan`]), records its passes
//!   with all barriers, and submits them, queue beside queue. The plan is kept: equal graphs run without
//!   planning, a changed one keeps its resources where they were as far as that costs next to nothing.
//! * **Pass by pass**: [`Recording::transient_texture`](crate::Recording::transient_texture) and
//!   [`transient_buffer`](crate::Recording::transient_buffer) acquire, dropping the handle discards.
//!   Places are found by first fit, and from the second frame on by a plan of the frame before
//!   ([`Config::transient_heap`](crate::Config::transient_heap) bytes a heap).
//!
//! ```
//! use tenure::device::{Format, State, Subresource, Usage};
//! use tenure::{Config, Gpu, Queue, TextureDesc};
//! # let gpu = Gpu::new(tenure::sim::Device::new(tenure::sim::Profile::DISCRETE), Config::default())?;
//! let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
//! let half = TextureDesc::d2(960, 540, Format::Rgba16Float, usage);
//!
//! let frame = gpu.begin_frame()?;
//! let mut list = frame.record(Queue::Graphics, "bloom")?;
//! let bright = list.transient_texture(&half.clone().name("bright"))?;
//! list.use_resource(&bright, Subresource::All, State::RENDER_TARGET)?;
//! list.barriers();
//! // … clear it and draw to it …
//! let blurred = list.transient_texture(&half.name("blurred"))?;
//! list.use_resource(&bright, Subresource::All, State::PIXEL_SHADER)?;
//! list.use_resource(&blurred, Subresource::All, State::RENDER_TARGET)?;
//! list.barriers();
//! // … read the one, write the other …
//! drop(bright); // whatever comes now may have its bytes
//! frame.submit(list)?;
//! frame.end()?;
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! # Contents
//!
//! They are undefined when a resource is acquired: the first use must clear, discard
//! ([`Commands::discard`](crate::Commands::discard)) or fully write it. A graph in which a pass reads
//! first is refused; the simulated device finds every byte that is read before it is written.
//!
//! # Barriers (X6)
//!
//! Each heap remembers who had which of its bytes last. If others had any since a resource was last used,
//! its first use comes after one aliasing barrier, which says how they were used on this queue and how
//! they will be; what they did on other queues is waited for. If nobody had, there is none: the resource
//! is in a state that is known, and the same frame again takes ordinary transitions. On Vulkan the
//! barrier is the image's transition from `UNDEFINED`, with the stages of both sides, or a memory
//! barrier for buffers; on Direct3D 12 an aliasing barrier, or with enhanced barriers a discarding one.
//!
//! # What is kept (X4, X5)
//!
//! A heap keeps the API resources that were made in it, by description and offset, and their views, so
//! that a steady frame creates nothing. At the end of a frame those that nobody wanted for
//! [`Config::transient_latency`](crate::Config::transient_latency) frames go, as far as there are more than
//! [`Config::transient_cache`](crate::Config::transient_cache), oldest first; and heaps that nobody used
//! for so long, with all that is in them. [`Gpu::trim`](crate::Gpu::trim) does not wait.
//!
//! Heaps for graphs are as large as the plan, to about a sixteenth. Where memory is short, graphs are
//! planned for several heaps of a half, a quarter and an eighth of that, until a larger one is had: it is tried again after
//! 64 frames, then ever more rarely, and after [`Gpu::trim`](crate::Gpu::trim).
//!
//! # Order (X7)
//!
//! On one queue, bytes go from pass to pass and from frame to frame in the order of submission, however
//! many frames are in flight: no frame has memory of its own. What was dropped while recordings were open
//! is had by none but the last of those until they are submitted. Passes that different queues may run at
//! the same time share no bytes. What is destroyed goes through the release queue like everything else.
//!
//! # Where it comes from
//!
//! The division into heaps with caches of resources, first fit, and acquiring by pass is that of the
//! transient allocators of large engines; planning by lifetimes that of render graphs (O'Donnell, Frame
//! Graph, GDC 2017) with a planner of our own.

mod acquire;
mod execute;
pub mod graph;
mod heap;
mod hints;
mod kind;
mod lease;
mod lone;
mod object;
mod owners;
mod pool;
mod prepare;
mod resources;
mod shortage;
mod stats;
mod taken;

pub use lease::{Transient, TransientBuffer, TransientTexture};
pub use object::TransientResource;
pub(crate) use pool::Inner as Transients;
pub use resources::Resources;
pub use stats::TransientStats;
