//! The order of GPU work: queues, serials, sync points, recordings, frames, and the release of objects that are no longer in
//! use.
//!
//! Usable by itself: an engine with its own memory management can use [`Clock`], [`Recordings`]
//! and [`ReleaseQueue`] without the rest of tenure. The release queue takes items of any type.
//!
//! ```
//! use tenure::time::{Clock, Recordings, ReleaseQueue};
//! use tenure::device::QueueId;
//!
//! let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
//! let born = clock.stamp();
//!
//! let recording = recordings.open("shadows", 1);                 // it may use the texture …
//! releases.push(&recordings, "texture", born, 4096);             // … that is dropped meanwhile
//! let submitted = clock.submit(QueueId(0), |_serial| Ok(()))?;   // the driver's submit goes here
//! recordings.close(recording);
//!
//! let mut ready = Vec::new();
//! releases.reclaim(&recordings, &clock, &mut ready);
//! assert!(ready.is_empty());                                     // the GPU still reads it
//! clock.note_completed(submitted.queue, submitted.serial);
//! releases.reclaim(&recordings, &clock, &mut ready);
//! assert_eq!(ready, ["texture"]);
//! # Ok::<(), tenure::error::DeviceError>(())
//! ```

mod clock;
mod frames;
mod recordings;
mod release;
mod sync_point;

pub use clock::{Clock, Stamp, Submissions};
pub use frames::{BackPressure, FramePacer};
pub use recordings::{OpenRecording, RecordingId, Recordings};
pub use release::{Batch, Batches, HeldItems, Holder, NotIdle, ReleaseQueue, ReleaseStats};
pub use sync_point::SyncPoint;
