//! Render graphs: the passes of a frame with the resources they use, compiled to an order, lifetimes and places in memory.
//!
//! For engines with an allocator of their own; `tenure-core` executes graphs with it. It creates no API objects and records no
//! commands. Passes are declared in an order in which they can run; none of a queue is moved, and none is left out. A [`Graph`] declares passes, their queues, and their uses of resources with states. A [`PlanCache`] compiles it
//! into a [`Compiled`], once for equal graphs, with
//!
//! * the division of passes into recordings, and their waits ([`Batch`]);
//! * the acquires, uses and discards of each pass ([`PassPlan`]), from which a [`Tracker`](tenure_track::state::Tracker) of
//!   `tenure-track` makes barriers;
//! * the place of each resource ([`Placement`]), such that no two share bytes that may be in use at the same time, in as little
//!   memory as possible.
//!
//! Of the engine it needs a description of resources ([`Resource`]) and their memory requirements ([`Memory`]), of the device
//! its queues and its model of states ([`Target`]).
//!
//! # Example
//!
//! Three textures; the last uses the bytes of the first:
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//!
//! use tenure_graph::device::{
//!     Queue, QueueId, QueueKind, QueueProperties, QueueSerial, State, StateModel, Subresource, Usage,
//! };
//! use tenure_graph::{Graph, GraphError, Memory, Name, Need, PlanCache, PlanCacheConfig, Resource, Target};
//! use tenure_track::state::{Fixups, ResourceKind, StateCell, Tracker, resolve};
//!
//! /// A render target of four bytes a texel, as the engine describes it.
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! struct RenderTarget {
//!     name: Name,
//!     width: u64,
//!     height: u64,
//! }
//!
//! impl Resource for RenderTarget {
//!     type Texture = Self;
//!     type Buffer = Self;
//!     type CpuMemory = Infallible;
//!     fn name(&self) -> &Name {
//!         &self.name
//!     }
//!     fn usage(&self) -> Usage {
//!         Usage::RENDER_TARGET | Usage::SHADER_READ
//!     }
//!     fn is_texture(&self) -> bool {
//!         true
//!     }
//! }
//!
//! /// The engine's allocator, with pages of 64 KiB.
//! struct Allocator;
//!
//! impl Memory<RenderTarget> for Allocator {
//!     type Error = GraphError;
//!     fn need(&mut self, resource: &RenderTarget) -> Result<Need, GraphError> {
//!         let size = (resource.width * resource.height * 4).next_multiple_of(64 << 10);
//!         Ok(Need { size, alignment: 64 << 10, heap_alignment: 64 << 10, class: 0 })
//!     }
//!     fn largest_heap(&mut self, _class: u32) -> u64 {
//!         1 << 30
//!     }
//! }
//!
//! let mut graph = Graph::new();
//! let [scene, bloom, lens] = ["scene", "bloom", "lens"]
//!     .map(|name| graph.texture(RenderTarget { name: name.into(), width: 512, height: 512 }));
//! let (write, read) = (State::RENDER_TARGET, State::PIXEL_SHADER);
//! graph.pass(Queue::Graphics, "scene").uses(scene, write);
//! graph.pass(Queue::Graphics, "bloom").uses(scene, read).uses(bloom, write);
//! graph.pass(Queue::Graphics, "lens").uses(bloom, read).uses(lens, write);
//!
//! let queues = [QueueProperties { kind: QueueKind::Graphics, family: 0 }];
//! let target = Target { queues: &queues, state_model: StateModel::Explicit };
//! let mut plans = PlanCache::new(PlanCacheConfig::default());
//! let frame = plans.get_or_plan(&graph, target, &mut Allocator)?.compiled;
//! assert_eq!(frame.peak(), 2 << 20); // instead of 3 MiB
//! assert!(frame.is_proven());
//! assert_eq!(frame.placement(scene), frame.placement(lens));
//!
//! // Once, the engine creates textures at these offsets in its heap, and gives each a state. Direct3D 12's
//! // legacy barriers also need `StateCell::with_initialization`, for targets.
//! let cells: Vec<Arc<StateCell>> = graph
//!     .each_resource()
//!     .map(|(_, desc)| Arc::new(StateCell::new(ResourceKind::Texture, 1, desc.usage(), State::COMMON)))
//!     .collect();
//! let place = |resource| {
//!     let (at, need) = (frame.placement(resource)?, frame.need(resource)?);
//!     Some((at.heap, at.offset..at.offset + need.size))
//! };
//! let share_bytes = |one, other| match (place(one), place(other)) {
//!     (Some((heap, a)), Some((other, b))) => heap == other && a.start < b.end && b.start < a.end,
//!     _ => false,
//! };
//!
//! let mut tracker = Tracker::new(StateModel::Explicit, QueueKind::Graphics).on(QueueId(0));
//! let mut fixups = Fixups::new();
//! for serial in 1..=2 {
//!     let mut barriers = Vec::new();
//!     for batch in frame.batches() {
//!         for pass in batch.passes.iter().filter_map(|pass| frame.pass(*pass)) {
//!             for acquired in pass.acquires {
//!                 let others = graph.resource_ids().filter(|other| other != acquired);
//!                 let others = others.filter(|other| share_bytes(*acquired, *other));
//!                 let previous: Vec<_> = others.map(|other| cells[other.index()].clone()).collect();
//!                 // `bloom` has its bytes alone: its states continue from the previous frame.
//!                 if !previous.is_empty() {
//!                     tracker.activate(&cells[acquired.index()], &previous, State::empty());
//!                 }
//!             }
//!             for used in pass.uses.iter().filter(|used| used.automatic) {
//!                 tracker.require(&cells[used.resource.index()], Subresource::All, used.states)?;
//!             }
//!             barriers.push((pass.name.as_str(), tracker.flush().len()));
//!             // … record them, and the commands of the pass …
//!         }
//!         let recorded = tracker.close()?;
//!         resolve(&recorded, QueueSerial { queue: batch.queue, serial }, &queues, &mut fixups)?;
//!         assert_eq!(fixups.here.len(), 1); // for `bloom`, in front of the recording
//!         // … submit both …
//!         fixups.clear();
//!         tracker.recycle(recorded);
//!     }
//!     // For `scene` and `lens` an aliasing barrier and a transition each, and a transition for the input of a pass.
//!     assert_eq!(barriers, [("scene", 2), ("bloom", 1), ("lens", 3)]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several queues
//!
//! Two resources may share bytes if every use of the one has ended before the first use of the other
//! begins, by the order of the passes on each queue and the waits between queues. The planner
//! ([`tenure_plan`]) works on intervals, so this partial order is turned into intervals by several layout
//! methods. If none of them is proven optimal, a last method searches for offsets without intervals. The plan
//! with the lowest peak is taken.
//!
//! | method | resources on the queue with the most bytes | resources on other queues |
//! | --- | --- | --- |
//! | extended | live from their first to their last pass | live through all passes that may run meanwhile |
//! | extended, another queue kept | live through all passes that may run meanwhile | resources of one queue live from their first to their last pass |
//! | nested | live from their first to their last pass | share among themselves, in a block that lives through all passes that may run meanwhile |
//! | exact | exclude only resources that may be in use at the same time | the same |
//!
//! The [lower bound](Compiled::lower_bound) is derived from two schedules: every pass as early as possible, or as late as
//! possible. Resources that are live at the same time in one of them cannot share bytes in any plan.

#![warn(missing_debug_implementations)]
#![forbid(unsafe_code)]

mod batch;
mod cache;
mod compiled;
mod conflict;
mod declare;
mod error;
mod flow;
mod layout;
mod order;
mod pack;
mod resource;
#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use cache::{Found, Origin, PlanCache, PlanCacheConfig};
pub use compiled::{Compiled, PassPlan};
pub use declare::{Graph, PassBuilder, PassId, ResourceId};
pub use error::GraphError;
pub use flow::{PassUse, Target};
pub use resource::{HeapPlan, Memory, Need, Placement, Resource};
#[doc(no_inline)]
pub use tenure_device as device;
pub use tenure_heap::Name;
