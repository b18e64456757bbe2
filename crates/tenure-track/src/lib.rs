//! Tracking of GPU work: completion of submissions, deferred destruction of objects, and barriers.
//!
//! For engines with their own memory management; `tenure-core` builds `Gpu` on it. It neither creates API objects nor submits
//! work:
//! * [`time`]: a [`Clock`](time::Clock) counts submissions on each queue, [`Recordings`](time::Recordings) registers the open
//!   recordings, and a [`ReleaseQueue`](time::ReleaseQueue) keeps dropped objects, of any type, until no open recording and no
//!   incomplete submission can use them. A [`SyncPoint`](time::SyncPoint) names submissions to wait for.
//! * [`state`]: a [`Tracker`](state::Tracker) finds the barriers within a recording from the states that its commands need;
//!   [`resolve`](state::resolve) finds the barriers between a recording and earlier submissions, on all queues.
//!
//! Queue kinds, states and usages are types of [`device`], the device contract; a device is not needed.
//!
//! # Example
//!
//! A texture is rendered to, sampled, and dropped while the GPU uses it:
//!
//! ```
//! use std::sync::Arc;
//!
//! use tenure_track::device::{
//!     QueueId, QueueKind, QueueProperties, QueueSerial, State, StateModel, Subresource, Usage,
//! };
//! use tenure_track::state::{Fixups, ResourceKind, StateCell, Tracker, resolve};
//! use tenure_track::time::{Clock, Recordings, ReleaseQueue};
//!
//! /// The program's own handle of a texture: its API object, and its states.
//! #[derive(Clone)]
//! struct Texture {
//!     image: u64,
//!     states: Arc<StateCell>,
//! }
//!
//! impl AsRef<StateCell> for Texture {
//!     fn as_ref(&self) -> &StateCell {
//!         &self.states
//!     }
//! }
//!
//! let queues = [QueueProperties { kind: QueueKind::Graphics, family: 0 }];
//! let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
//!
//! let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
//! let states = StateCell::new(ResourceKind::Texture, 1, usage, State::COMMON);
//! let (mirror, born) = (Texture { image: 7, states: Arc::new(states) }, clock.stamp());
//!
//! // A recording: each use names the state that it needs, and `flush` returns the barriers to record first.
//! let recording = recordings.open("mirror", 1);
//! let mut tracker = Tracker::new(StateModel::Explicit, QueueKind::Graphics);
//! tracker.require(&mirror, Subresource::All, State::RENDER_TARGET)?;
//! assert_eq!(tracker.flush().len(), 0); // found at submission
//! tracker.require(&mirror, Subresource::All, State::PIXEL_SHADER)?;
//! assert_eq!(tracker.flush().len(), 1); // from target to texture
//! let recorded = tracker.close()?;
//!
//! // The program drops the texture: the release queue keeps it, as the open recording uses it.
//! releases.push(&recordings, mirror, born, 4 << 20);
//!
//! // The submission: barriers in front of it, then the driver's call with its serial.
//! let mut fixups = Fixups::new();
//! let submitted = clock.submit(QueueId(0), |serial| {
//!     let at = QueueSerial { queue: QueueId(0), serial };
//!     resolve(&recorded, at, &queues, &mut fixups).expect("the states are valid");
//!     assert_eq!(fixups.here.len(), 1); // from undefined contents to target
//!     // … vkQueueSubmit2, which signals `serial` …
//!     Ok(())
//! })?;
//! recordings.close(recording);
//! tracker.recycle(recorded);
//! fixups.here.clear();
//!
//! let mut ready = Vec::new();
//! releases.purge(&recordings, &clock, &mut ready);
//! assert!(ready.is_empty()); // the GPU still uses it
//! clock.note_completed(submitted.queue, submitted.serial); // the fence says so
//! releases.purge(&recordings, &clock, &mut ready);
//! assert_eq!(ready[0].image, 7); // destroy it, and free its memory
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! Recordings may be made and objects dropped on any thread; a `Tracker` belongs to one recording. The release queue is
//! model-checked with loom, interpreted with Miri and compared with a naive implementation of its rule.

#![warn(missing_debug_implementations)]
#![forbid(unsafe_code)]

#[doc(hidden)]
#[macro_use]
pub mod callback;
pub mod state;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod thread_slot;
pub mod time;

#[doc(no_inline)]
pub use tenure_device as device;
pub use tenure_heap::Name;

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
