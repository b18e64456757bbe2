//! Transient resources: they exist for some passes of a frame and share memory.
//!
//! Most data that a renderer writes in a frame is read some passes later and never again. The resources of such data can be
//! placed in the same bytes, one after the other: a frame then takes a half to a fourth of the memory.
//!
//! # Two interfaces
//!
//! * **Declared ahead**: a [`Graph`](graph::Graph) declares passes, their queues, and their uses of resources.
//!   [`Frame::execute`](crate::Frame::execute) plans it ([`tenure_plan`]), records its passes with all barriers, and submits
//!   them, with the queues running in parallel. The plan is cached: equal graphs run without planning, and a changed graph
//!   keeps its resources in their places as far as that costs next to nothing.
//! * **Pass by pass**: [`Recording::transient_texture`](crate::Recording::transient_texture) and
//!   [`transient_buffer`](crate::Recording::transient_buffer) acquire a resource, dropping the handle discards it. Offsets are
//!   found by first fit, and from the second frame on by a plan of the previous frame. Heaps grow with use, up to
//!   [`TransientConfig::heap`](crate::TransientConfig::heap) bytes; after two equal frames, the third replaces them by the
//!   heaps that a graph would have, if those are smaller.
//!
//! ```
//! use tenure::{Config, Format, Gpu, Queue, State, Subresource, TextureDesc, Usage};
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
//! drop(bright); // resources acquired from now on may take its bytes
//! frame.submit(list)?;
//! frame.end()?;
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! # Contents
//!
//! The contents of a resource are undefined when it is acquired: the first use must fully write or clear it. Before that, a
//! barrier or a discard initializes the compression data that Direct3D 12 keeps for render targets. A graph in which a pass
//! reads first is rejected; the simulated device reports every byte that is read before it is written.
//!
//! # Barriers
//!
//! Each heap records the last owner of each of its bytes. If another resource has owned some bytes of a resource since its last
//! use, its first use comes after one aliasing barrier, with the states of the previous owners on this queue and its own next
//! state; the submission waits for previous owners on other queues. If no other resource has owned them, no aliasing barrier is
//! needed: the resource's state is known, and a repeated frame takes ordinary transitions. On Vulkan the barrier is the image's
//! transition from `UNDEFINED`, with the stages of both sides, or a memory barrier for buffers; on Direct3D 12 an aliasing
//! barrier, or with enhanced barriers a discarding one.
//!
//! # Caches
//!
//! A heap keeps its API resources, by description and offset, and their views, so that a steady frame creates nothing. At the
//! end of a frame, resources that have not been acquired for [`TransientConfig::latency`](crate::TransientConfig::latency)
//! frames are evicted, oldest first, as far as there are more than [`TransientConfig::cache`](crate::TransientConfig::cache);
//! heaps that were unused for that many frames are destroyed, with all resources in them. [`Gpu::trim`](crate::Gpu::trim) does
//! not wait.
//!
//! When sizes change, for example while a window is enlarged, heaps replaced by a new one are destroyed as soon as the GPU has
//! finished with them, without that latency. Graphs that run one after the other share the largest heap.
//!
//! Heaps for graphs are as large as the plan, rounded up by about a sixteenth at most; while plans grow from frame to frame, by
//! a quarter. A heap much larger than its graphs have needed for the latency is replaced by a smaller one. In a shortage,
//! graphs are planned for several heaps of a half, a quarter and an eighth of that size. A larger heap is tried again after 64
//! frames, then at growing intervals, and after [`Gpu::trim`](crate::Gpu::trim).
//!
//! # Order
//!
//! On one queue, bytes are passed from pass to pass and from frame to frame in the order of submission, for any number of
//! frames in flight: frames do not have separate memory. Released bytes can be acquired by the recording that had them, and by
//! others once it is submitted. Passes that different queues may run at the same time share no bytes. Destruction goes through
//! the release queue, as for all resources.
//!
//! # Literature
//!
//! The division into heaps with caches of resources, first fit, and acquisition by pass follow the transient allocators of
//! large engines; planning by lifetimes follows render graphs (O'Donnell, Frame Graph, GDC 2017), here with the planner
//! [`tenure_plan`].

#[doc(inline)]
pub use crate::command::{Transient, TransientBuffer, TransientTexture};
#[doc(inline)]
pub use crate::execute::Resources;
#[doc(inline)]
pub use crate::transient_heaps::graph::TransientDesc;
#[doc(inline)]
pub use crate::transient_heaps::{TransientResource, TransientStats, graph};
