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
//! fixups.clear(); // it has handles of the texture
//!
//! let mut ready = Vec::new();
//! releases.reclaim(&recordings, &clock, &mut ready);
//! assert!(ready.is_empty()); // the GPU still uses it
//! clock.note_completed(submitted.queue, submitted.serial); // the fence says so
//! releases.reclaim(&recordings, &clock, &mut ready);
//! assert_eq!(ready[0].image, 7); // destroy it, and free its memory
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several queues
//!
//! A texture goes from a copy queue to a graphics queue of another family. The lock of the [`Fixups`](state::Fixups) is taken before
//! [`Clock::submit`](time::Clock::submit), which takes that of the queue, and is held until the driver has answered: the closure
//! submits to other queues, too. Taken inside the closure, it would let two threads wait for each other.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use tenure_track::device::{
//!     DeviceError, QueueId, QueueKind, QueueProperties, QueueSerial, State, StateModel, Subresource, Usage,
//! };
//! use tenure_track::state::{
//!     Fixups, Recorded, ResourceKind, StateBarrier, StateCell, Tracker, resolve, unfinished,
//! };
//! use tenure_track::time::Clock;
//!
//! type Texture = Arc<StateCell>; // in an engine a handle with the API object
//!
//! struct Engine {
//!     queues: [QueueProperties; 2],
//!     clock: Clock,
//!     fixups: Mutex<Fixups<Texture>>,
//! }
//!
//! /// The driver's call: barriers, then the list, after the waits. Here it is printed.
//! fn drive(
//!     at: QueueSerial,
//!     waits: &[QueueSerial],
//!     barriers: &[StateBarrier<Texture>],
//!     list: &str,
//! ) -> Result<(), DeviceError> {
//!     println!("{at:?} {list}: after {waits:?}, with {} barriers", barriers.len());
//!     Ok(())
//! }
//!
//! impl Engine {
//!     fn submit(
//!         &self,
//!         queue: QueueId,
//!         recorded: &Recorded<Texture>,
//!         list: &str,
//!     ) -> Result<QueueSerial, Box<dyn std::error::Error>> {
//!         let fixups = &mut *self.fixups.lock().unwrap();
//!         let barriers_alone = |queue, waits: &[QueueSerial], barriers: &[StateBarrier<Texture>]| {
//!             self.clock.submit(queue, |serial| drive(QueueSerial { queue, serial }, waits, barriers, "barriers"))
//!         };
//!         // Left over by a submission that the driver has refused.
//!         if fixups.has_released() {
//!             for other in unfinished(recorded) {
//!                 let waits: Vec<_> = other.waits.iter().collect();
//!                 other.acquired(barriers_alone(other.queue, &waits, &other.barriers)?);
//!             }
//!         }
//!         let mut invalid = None;
//!         let submitted = self.clock.submit(queue, |serial| {
//!             let at = QueueSerial { queue, serial };
//!             if let Err(error) = resolve(recorded, at, &self.queues, fixups) {
//!                 invalid = Some(error);
//!                 return Err(DeviceError::broken_rule("states must resolve")); // gives the serial back
//!             }
//!             let mut elsewhere = Vec::new();
//!             let mut submit = || {
//!                 for other in &fixups.elsewhere {
//!                     let waits: Vec<_> = other.waits.iter().collect();
//!                     elsewhere.push(barriers_alone(other.queue, &waits, &other.barriers)?);
//!                 }
//!                 let waits: Vec<_> = fixups.waits.iter().chain(elsewhere.iter().copied()).collect();
//!                 drive(at, &waits, &fixups.here, list)
//!             };
//!             submit().inspect_err(|_| fixups.undo(recorded, &elsewhere))
//!         });
//!         fixups.clear();
//!         match invalid {
//!             Some(error) => Err(error.into()),
//!             None => Ok(submitted?),
//!         }
//!     }
//! }
//!
//! let (graphics, copy) = (QueueId(0), QueueId(1));
//! let engine = Engine {
//!     queues: [
//!         QueueProperties { kind: QueueKind::Graphics, family: 0 },
//!         QueueProperties { kind: QueueKind::Copy, family: 1 },
//!     ],
//!     clock: Clock::new(2),
//!     fixups: Mutex::default(),
//! };
//! let usage = Usage::COPY_DST | Usage::SHADER_READ;
//! let moss = Arc::new(StateCell::new(ResourceKind::Texture, 1, usage, State::COMMON));
//!
//! let mut tracker = Tracker::new(StateModel::Explicit, QueueKind::Copy);
//! tracker.require(&moss, Subresource::All, State::COPY_DST)?;
//! tracker.flush();
//! engine.submit(copy, &tracker.close()?, "upload")?;
//!
//! let mut tracker = Tracker::new(StateModel::Explicit, QueueKind::Graphics);
//! tracker.require(&moss, Subresource::All, State::PIXEL_SHADER)?;
//! tracker.flush();
//! engine.submit(graphics, &tracker.close()?, "draw")?;
//! // The copy queue has had the upload, and the release that `elsewhere` asked for.
//! assert_eq!(engine.clock.submitted().serial(copy), 2);
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
