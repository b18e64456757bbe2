//! Usage states: which barriers to record so that every use finds its resource in the right state.
//!
//! Recordings are made on many threads and submitted later, in another order. What a resource
//! will have been before a recording is not known while it is made. So there are two levels:
//!
//! * A [`Tracker`] follows one recording. The first use of each subresource is only noted;
//!   between later uses it finds the barriers, batched and folded, as they are recorded.
//! * [`resolve`] joins a closed recording to what was submitted before, which a [`StateCell`] in
//!   each API resource remembers. It finds the barriers in front of the recording, those which
//!   only another queue may execute, and what has to be waited for.
//!
//! # Rules
//!
//! Between two uses on one queue ([`StateModel`] is the API's part in it):
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
//! | unordered → unordered | unordered barrier | unordered barrier |
//! | other write → same write | nothing | transition into the same state |
//!
//! The last two lines hold for uses that depend on each other; uses declared as overlapping need
//! nothing. The wider read needs a barrier on Vulkan because the write before it was made visible
//! to the narrower reads only.
//!
//! Between submissions and queues:
//!
//! * **D3D12.** States are the device's, whatever the queue. When a submission ends, memory is in
//!   order without any barrier, and `COMMON` again are: buffers, what a copy queue used, and
//!   textures that were only read after a promotion. Copy queues share `COMMON` and nothing else
//!   with other queues; a compute queue leaves a state that it may not name to a queue that may, even
//!   one that contains what it wants: to it there are no pixel shaders.
//! * **Vulkan.** Waiting for another queue makes everything visible, so between queues of one
//!   family only layouts are changed. A texture's contents belong to a family: another one takes
//!   them over with a release and an acquire. Buffers have no layout to hand over, and devices
//!   create them for all families at once: one buffer is often shared by many ranges. Hazards within a queue are closed by barriers on that queue,
//!   even where a detour over another queue would order them.
//! * **D3D12 with enhanced barriers.** As Vulkan, with [its own layouts](D3d12Layout) and one family for
//!   all queues: what shaders read and copies use is in one layout that all queues share, so reads on
//!   alternating queues need nothing. A queue that does not know the state has another one change the layout. Reads
//!   asked for by one command are taken together whatever their layouts, for one serves all reads.
//! * **Both.** A recording that leaves the state it begins with finds exactly that state; one that
//!   only reads is content with more. `COMMON` on Vulkan is only ever the state of what was never
//!   used: as `before` it means `UNDEFINED`, and asking for it is an error.
//!
//! # Targets without contents
//!
//! Direct3D 12 keeps compression data beside render targets and depth buffers. Enhanced barriers set it up as they leave
//! `COMMON`; with `Promotion` no barrier does, and drawing over all of the target does not either. So the first use of
//! each subresource of a [target](StateCell::with_initialization), and the first after it has taken over memory, comes
//! after an [`Initialize`](StateBarrier::Initialize) in place of a transition. Copy queues, and compute queues without
//! unordered access to it, cannot discard; the first write there is taken to be a copy to the whole subresource.
//!
//! # Bytes that change hands
//!
//! Resources that share memory use it one after the other. A resource that gets bytes of previous owners
//! is [activated](Tracker::activate): one aliasing barrier, then the first use.
//!
//! | | `Promotion` (D3D12) | `Explicit` (Vulkan) |
//! | --- | --- | --- |
//! | the resource is in | the state it was left in | `COMMON`, owned by no queue family |
//! | its first transition | in the recording, after the aliasing barrier | the same; none for buffers |
//! | the barrier comes after | what the previous owners did in the recording | that, and what they did before on this queue |
//! | and before | what is requested with it | the same, or all that may be, unless that is for every subresource |
//! | previous owners on other queues | are waited for | are waited for |
//!
//! Nothing goes in front of the recording: there the bytes are still another's.
//!
//! All of this is for resources whose uses the tracker is told of; a request is a promise that
//! the next command makes the use.
//!
//! # Example
//!
//! A shadow map is rendered, then sampled:
//!
//! ```
//! use std::sync::Arc;
//! use tenure::device::{QueueProperties, QueueSerial, StateModel};
//! use tenure::state::{Fixups, ResourceKind, StateBarrier, StateCell, Tracker, resolve};
//! use tenure::{QueueId, QueueKind, State, Subresource, Usage};
//!
//! // Any handle that is `Clone` and leads to the cell will do.
//! let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
//! let shadow = Arc::new(StateCell::new(ResourceKind::Texture, 1, usage, State::COMMON));
//!
//! let mut tracker = Tracker::new(StateModel::Promotion, QueueKind::Graphics);
//! tracker.require(&shadow, Subresource::All, State::DEPTH_WRITE)?;
//! assert_eq!(tracker.flush().len(), 0); // not known yet what it was
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
mod batch;
mod cell;
mod error;
mod fixups;
mod layout;
mod part_use;
mod plan;
mod recorded;
mod resolve;
mod rules;
mod tracker;

pub use barrier::{StateBarrier, record};
pub use batch::Flush;
pub use cell::{MAX_SUBRESOURCES, StateCell};
pub use error::StateError;
pub use fixups::{Elsewhere, Fixups, Waits};
pub use layout::{D3d12Layout, Layout};
pub use recorded::{Recorded, RecordedUse};
pub use resolve::{resolve, unfinished};
pub use rules::ResourceKind;
pub use tracker::Tracker;
