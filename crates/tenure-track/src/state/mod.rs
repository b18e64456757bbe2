//! Usage states: barriers that transition every resource to the required state of each use.
//!
//! Recordings are made on many threads and submitted later, in another order. The state of a resource before a recording is not
//! known while the recording is made. So there are two levels:
//!
//! * A [`Tracker`] tracks one recording. The first use of each subresource is only stored; between later uses it finds the
//!   barriers, batched and folded, as they are recorded.
//! * [`resolve`] connects a closed recording to the submissions before it, whose final states are stored in a [`StateCell`] in
//!   each API resource. It finds the barriers in front of the recording, the barriers that only another queue may execute, and
//!   the submissions to wait for.
//!
//! # Rules
//!
//! Between two uses on one queue (a [`StateModel`] represents the API):
//!
//! | is → wanted | `Promotion` (D3D12) | `Explicit` (Vulkan) |
//! | --- | --- | --- |
//! | `COMMON` → any, buffer | nothing (promoted) | nothing (never used) |
//! | `COMMON` → shader read, copy, texture | nothing (promoted) | transition (first layout) |
//! | `COMMON` → other, texture | transition | transition (first layout) |
//! | any → `COMMON` | transition | nothing |
//! | read → read, contained | nothing | nothing if the layout is the same |
//! | read → read, wider | nothing while promoted, else transition to the union | transition to the union if the layout is the same, else to the wanted state |
//! | read → write, write → read, write → other write | transition | transition |
//! | unordered → unordered | unordered barrier | unordered barrier; of one stage alone: transition into the same state |
//! | unordered → unordered of other stages | transition, which is an unordered barrier | transition |
//! | other write → same write | nothing | transition into the same state |
//!
//! The last two lines apply to uses that depend on each other; uses declared as overlapping need no barrier. The wider read
//! needs a barrier on Vulkan because the write before it was made visible to the narrower reads only.
//!
//! Between submissions and queues:
//!
//! * **D3D12.** States belong to the device, not to a queue. The end of a submission orders all memory accesses without a
//!   barrier, and returns to `COMMON`: buffers, resources used on a copy queue, and textures that were only read after a
//!   promotion. Copy queues share only `COMMON` with other queues. A compute queue leaves transitions from a state that it does
//!   not support to a queue that supports it, even if the state contains the wanted one: pixel-shader states do not exist on
//!   compute queues.
//! * **Vulkan.** Waiting for another queue makes all writes visible, so between queues of one family only layouts change. A
//!   texture's contents belong to a family: another one takes them over with a release and an acquire. Buffers have no layout
//!   to transfer, and devices create them for all families at once: one buffer is often shared by many ranges. Hazards within a
//!   queue are resolved by barriers on that queue, even where a wait through another queue would order them.
//! * **D3D12 with enhanced barriers.** As Vulkan, with [its own layouts](D3d12Layout) and one family for all queues: shader
//!   reads and copies have one layout that all queues share, so reads on alternating queues need no barrier. A queue that does
//!   not support the state lets another one change the layout. Reads requested by one command are combined regardless of their
//!   layouts, because one layout serves all reads.
//! * **Both.** A recording that leaves its first state begins in exactly that state; a recording that only reads may begin in a
//!   wider one. `COMMON` on Vulkan is only the state of resources that were never used: as `before` it means `UNDEFINED`, and
//!   requesting it is an error.
//!
//! # Targets without contents
//!
//! Direct3D 12 keeps compression data beside render targets and depth buffers. Enhanced barriers set it up with the transition
//! from `COMMON`; with `Promotion` no barrier does, and drawing over the whole target does not either. So the first use of each
//! subresource of a [target](StateCell::with_initialization), and the first after an activation in new memory, comes after an
//! [`Initialize`](StateBarrier::Initialize) in place of a transition. Copy queues, and compute queues without unordered access
//! to it, cannot discard; there the first write is assumed to be a copy to the whole subresource.
//!
//! # Aliased memory
//!
//! Resources that share memory use it one after the other. A resource that takes over bytes of previous owners is
//! [activated](Tracker::activate): one aliasing barrier, then the first use.
//!
//! | | `Promotion` (D3D12) | `Explicit` (Vulkan) |
//! | --- | --- | --- |
//! | the resource is in | its last state | `COMMON`, owned by no queue family |
//! | its first transition | in the recording, after the aliasing barrier | the same; none for buffers |
//! | the barrier comes after | the uses of the previous owners in the recording | these, and their earlier uses on this queue |
//! | and before | the requested uses | the same, or all possible uses unless every subresource is requested |
//! | previous owners on other queues | are waited for | are waited for |
//!
//! No barrier precedes the recording: the bytes still belong to another resource there.
//!
//! These rules apply to resources whose uses are declared to the tracker; after a request the next command must make the use.
//!
//! # Example
//!
//! A shadow map is rendered, then sampled:
//!
//! ```
//! use std::sync::Arc;
//! use tenure::device::{QueueProperties, QueueSerial, StateModel};
//! use tenure::state::{Fixups, ResourceKind, StateBarrier, StateCell, Tracker, resolve};
//! use tenure::{State, Subresource, Usage, device::{QueueId, QueueKind}};
//!
//! // Any handle that is `Clone` and leads to the cell will do.
//! let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
//! let shadow = Arc::new(StateCell::new(ResourceKind::Texture, 1, usage, State::COMMON));
//!
//! let mut tracker = Tracker::new(StateModel::Promotion, QueueKind::Graphics);
//! tracker.require(&shadow, Subresource::All, State::DEPTH_WRITE)?;
//! assert_eq!(tracker.flush().len(), 0); // its earlier state is not known yet
//! // … draw the casters …
//! tracker.require(&shadow, Subresource::All, State::PIXEL_SHADER)?;
//! for barrier in tracker.flush() {
//!     // … record it …
//!     assert!(matches!(
//!         barrier,
//!         StateBarrier::Transition { before: State::DEPTH_WRITE, after: State::PIXEL_SHADER, .. }
//!     ));
//! }
//! // … draw the scene …
//! let recorded = tracker.close()?;
//!
//! // At submission: it was `COMMON`, so one barrier goes in front.
//! let queues = [QueueProperties { kind: QueueKind::Graphics, family: 0 }];
//! let submission = QueueSerial { queue: QueueId(0), serial: 1 };
//! let mut fixups = Fixups::new();
//! resolve(&recorded, submission, &queues, &mut fixups)?;
//! assert_eq!(fixups.here.len(), 1);
//! assert!(fixups.elsewhere.is_empty() && fixups.waits.is_empty());
//! tracker.recycle(recorded);
//! # Ok::<(), tenure::state::StateError>(())
//! ```
//!
//! [`StateModel`]: crate::device::StateModel

mod activation;
mod barrier;
mod cell;
mod error;
mod fixups;
mod flush;
mod layout;
mod part_use;
mod plan;
mod recorded;
mod resolve;
mod rules;
mod tracker;

pub use barrier::{StateBarrier, record, record_in_front};
pub use cell::{MAX_SUBRESOURCES, StateCell};
pub use error::StateError;
pub use fixups::{Elsewhere, Fixups, Waits};
pub use flush::Flush;
pub use layout::{D3d12Layout, Layout};
pub use recorded::{Recorded, RecordedUse};
pub use resolve::{resolve, unfinished};
pub use rules::ResourceKind;
pub use tracker::Tracker;
