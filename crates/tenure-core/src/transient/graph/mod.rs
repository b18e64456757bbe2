//! A frame's passes and what they use: declared, analysed and planned (spec X1, X2).
//!
//! A [`Graph`] says which passes there are, on which queues, and what they use in which states.
//! [`PlanCache`] makes a [`Compiled`] of it, once for equal graphs, which says
//!
//! * which passes go into one recording, and what recordings wait for ([`Batch`]);
//! * what each pass acquires, how it uses it, and what it discards ([`PassPlan`]);
//! * where each resource goes ([`Placement`]), such that no two share bytes that may be in use at the same
//!   time, in as little memory as possible.
//!
//! Nothing here knows a device but for its [`Properties`](crate::device::Properties), and what resources
//! need, which a [`Memory`] says. It can be used with other executors than tenure's.
//!
//! ```
//! use tenure::device::{Device as _, Format, State, Usage};
//! use tenure::transient::graph::{
//!     Graph, GraphError, Memory, Need, PlanCache, PlanOptions, TransientDesc,
//! };
//! use tenure::{Queue, TextureDesc};
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
//! begins, by the order of the passes on each queue and what waits for what. The planner knows
//! intervals only, so that order is brought into some, in several ways; and where none of those is known
//! to be the best, the offsets are searched anew without intervals. The lowest plan is taken.
//!
//! | way | what is on the queue with the most bytes | what is on others |
//! | --- | --- | --- |
//! | extended | lives from its first to its last pass | lives through all that may run meanwhile |
//! | the other way round | lives through all that may run meanwhile | one of them from first to last |
//! | nested | lives from its first to its last pass | shares among itself, in a block that lives through all that may run meanwhile |
//! | exact | excludes only what may really be in use at the same time | the same |
//!
//! No plan can be lower than one for the time in which every pass runs as early as it can, or as late:
//! what lives at the same time there must not share bytes in any plan. That gives the
//! [lower bound](Compiled::lower_bound).

mod batch;
mod cache;
mod compiled;
mod conflict;
mod declare;
mod depend;
mod error;
mod flow;
mod grouped;
mod id;
mod improve;
mod layout;
mod lifetime;
mod lists;
mod need;
mod nest;
mod order;
mod pack;
mod resource;
mod similar;
#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use cache::{Found, Origin, PlanCache, PlanOptions};
pub use compiled::{Compiled, PassPlan};
pub use declare::{Graph, PassBuilder};
pub use error::GraphError;
pub use flow::PassUse;
pub use id::{PassId, ResourceId};
pub use need::{HeapPlan, Memory, Need, Placement};
pub use resource::TransientDesc;
