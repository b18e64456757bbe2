//! A frame's passes and the resources they use: declared, analysed and planned.
//!
//! A [`Graph`] declares passes, their queues, and their uses of resources with states. [`PlanCache`] compiles it into a
//! [`Compiled`], once for equal graphs, with
//!
//! * the division of passes into recordings, and their waits ([`Batch`]);
//! * the acquires, uses and discards of each pass ([`PassPlan`]);
//! * the place of each resource ([`Placement`]), such that no two share bytes that may be in use at the same time, in as little
//!   memory as possible.
//!
//! This module depends on the device's [`Properties`](crate::device::Properties) and the memory requirements reported by a
//! [`Memory`], and on nothing else of a device. It can be used with other executors than tenure's.
//!
//! ```
//! use tenure::device::prelude::*;
//! use tenure::transient::graph::{Memory, Need, PlanCache, PlanOptions};
//! use tenure::{Format, Graph, GraphError, Queue, State, TextureDesc, TransientDesc, Usage};
//!
//! /// Textures of four bytes a texel, in pages of 64 KiB.
//! struct Pages;
//!
//! impl Memory for Pages {
//!     type Error = GraphError;
//!     fn need(&mut self, resource: &TransientDesc) -> Result<Need, GraphError> {
//!         let TransientDesc::Texture(desc) = resource else { unreachable!("no buffers here") };
//!         let size = u64::from(desc.info.width) * u64::from(desc.info.height) * 4;
//!         Ok(Need { size: size.next_multiple_of(64 << 10), alignment: 64 << 10, heap_alignment: 64 << 10, class: 0 })
//!     }
//!     fn largest_heap(&mut self, _class: u32) -> u64 {
//!         1 << 30
//!     }
//! }
//!
//! let mut graph = Graph::new();
//! let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
//! let target = TextureDesc::d2(512, 512, Format::Rgba8Unorm, usage);
//! let [scene, bloom, lens] = ["scene", "bloom", "lens"].map(|name| graph.texture(target.clone().name(name)));
//! let (write, read) = (State::RENDER_TARGET, State::PIXEL_SHADER);
//! graph.pass(Queue::Graphics, "scene").uses(scene, write);
//! graph.pass(Queue::Graphics, "bloom").uses(scene, read).uses(bloom, write);
//! graph.pass(Queue::Graphics, "lens").uses(bloom, read).uses(lens, write);
//!
//! # let device = tenure::sim::Device::new(tenure::sim::Profile::DISCRETE);
//! let mut plans = PlanCache::new(PlanOptions::default());
//! let found = plans.get_or_plan(&graph, device.properties(), &mut Pages)?;
//! assert_eq!(found.compiled.peak(), 2 << 20); // instead of 3 MiB: the lens takes the scene's bytes
//! assert!(found.compiled.is_proven());
//! assert_eq!(found.compiled.placement(scene), found.compiled.placement(lens));
//! # Ok::<(), GraphError>(())
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

mod batch;
mod cache;
mod compiled;
mod conflict;
mod declare;
mod flow;
mod layout;
mod need;
mod order;
mod pack;
#[cfg(test)]
mod tests;

pub use crate::error::GraphError;
pub use batch::Batch;
pub use cache::{Found, Origin, PlanCache, PlanOptions};
pub use compiled::{Compiled, PassPlan};
#[doc(no_inline)]
pub use declare::{Graph, TransientDesc};
pub use declare::{PassBuilder, PassId, ResourceId};
pub use flow::PassUse;
pub use need::{HeapPlan, Memory, Need, Placement};
