//! The current and former objects at a GPU address; the report of a lost device.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::Name;
use crate::device::{Device, DeviceFault, MAX_QUEUES, QueueId, QueueSerial};
use crate::markers::{Markers, Marks, RecordingProgress};
use crate::memory::RecordedLocation;
use crate::registry::{ObjectKind, Registry, RegistryEntry, RegistryKey, RegistrySlot, Released};
use crate::time::{Clock, SyncPoint};

/// The state of an object at its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AddressUse {
    /// The program has a handle of the object, or the manager caches the transient resource for later frames: several cached
    /// resources have the same addresses.
    Live,
    /// The handle was dropped in this frame; views keep the object alive.
    Kept {
        /// The frame of the drop.
        dropped: u64,
    },
    /// The object was released. Earlier submissions, and recordings that were open then, may use it.
    Released {
        /// The frame of the release.
        frame: u64,
        /// The submissions to all queues before it.
        submissions: u64,
    },
    /// The object has moved. Submissions before its move, and recordings that were open then, may use it here.
    Moved {
        /// The frame of the move.
        frame: u64,
        /// The submissions to all queues before it.
        submissions: u64,
    },
}

/// An object with a GPU address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AddressOwner {
    /// The name; empty when it has none.
    pub name: String,
    /// The tag; empty when it has none.
    pub tag: String,
    /// The kind.
    pub kind: ObjectKind,
    /// The first byte and the one after its last, as GPU addresses.
    pub addresses: Range<u64>,
    /// The frame in which it was created.
    pub frame: u64,
    /// The state.
    pub state: AddressUse,
    /// The names of its views, in alphabetical order. Empty for objects that are no longer there.
    pub views: Vec<String>,
}

impl AddressOwner {
    fn of_live(entry: &RegistryEntry) -> Self {
        Self {
            name: entry.name.as_str().to_owned(),
            tag: entry.tag.as_str().to_owned(),
            kind: entry.kind,
            addresses: range(entry.address, entry.bytes),
            frame: entry.frame,
            state: entry.dropped_in().map_or(AddressUse::Live, |dropped| AddressUse::Kept { dropped }),
            views: Vec::new(),
        }
    }

    fn of_released(released: &Released) -> Self {
        let (frame, submissions) = (released.left.frame, released.left.submissions.count());
        Self {
            name: released.name.as_str().to_owned(),
            tag: released.tag.as_str().to_owned(),
            kind: released.kind,
            addresses: range(released.address, released.bytes),
            frame: released.frame,
            state: if released.has_moved {
                AddressUse::Moved { frame, submissions }
            } else {
                AddressUse::Released { frame, submissions }
            },
            views: Vec::new(),
        }
    }
}

impl fmt::Display for AddressOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, addresses: Range { start, end }, frame, state, views, .. } = self;
        write!(
            f,
            "{kind} '{name}' ({} B at {start:#x}, created in frame {frame}",
            end.saturating_sub(*start)
        )?;
        match state {
            AddressUse::Live => {}
            AddressUse::Kept { dropped } => write!(f, ", dropped in frame {dropped}")?,
            AddressUse::Released { frame, submissions } => {
                write!(f, ", released in frame {frame} after {}", Submissions(*submissions))?;
            }
            AddressUse::Moved { frame, submissions } => {
                write!(f, ", moved elsewhere in frame {frame} after {}", Submissions(*submissions))?;
            }
        }
        if !views.is_empty() {
            write!(f, ", viewed by '{}'", views.join("', '"))?;
        }
        f.write_str(")")
    }
}

/// The objects at GPU addresses: from [`Gpu::whose`](crate::Gpu::whose).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AddressReport {
    /// The queried addresses.
    pub addresses: Range<u64>,
    /// The objects at these addresses: live ones first, then former ones, the newest first.
    pub owners: Vec<AddressOwner>,
    /// If no live object is there: the nearest live object below, whose end the access may have exceeded.
    pub below: Option<AddressOwner>,
}

impl AddressReport {
    pub(crate) fn collect(registry: &Registry, addresses: Range<u64>) -> Self {
        let is_hit = |address: u64, bytes: u64| {
            let Range { start, end } = range(address, bytes);
            address > 0 && start < addresses.end && addresses.start < end
        };
        let mut live: Vec<(RegistrySlot, AddressOwner)> = Vec::new();
        let mut below: Option<AddressOwner> = None;
        let mut views: FxHashMap<RegistrySlot, Vec<String>> = FxHashMap::default();
        registry.for_each(|slot, entry| {
            if let RecordedLocation::ViewOf(resource) = entry.place {
                let names = views.entry(RegistryKey::from_bits(resource).slot()).or_default();
                names.push(entry.name.as_str().to_owned());
            } else if is_hit(entry.address, entry.bytes) {
                live.push((slot, AddressOwner::of_live(entry)));
            } else if entry.address > 0
                && range(entry.address, entry.bytes).end <= addresses.start
                && below.as_ref().is_none_or(|found| found.addresses.start < entry.address)
            {
                below = Some(AddressOwner::of_live(entry));
            }
        });
        let mut released = Vec::new();
        registry.for_each_released(|object| {
            if is_hit(object.address, object.bytes) {
                released.push((
                    object.left.submissions,
                    object.left.frame,
                    AddressOwner::of_released(object),
                ));
            }
        });
        // The sort is stable: of two drops between the same submissions, the later one of a thread comes first.
        released.reverse();
        released.sort_by_key(|(submissions, frame, _)| std::cmp::Reverse((*submissions, *frame)));
        if !live.is_empty() {
            below = None;
        }
        live.sort_by_key(|(_, owner)| owner.addresses.start);
        let with_views = live.into_iter().map(|(slot, owner)| {
            let mut views = views.remove(&slot).unwrap_or_default();
            views.sort_unstable();
            AddressOwner { views, ..owner }
        });
        let owners = with_views.chain(released.into_iter().map(|(.., owner)| owner)).collect();
        Self { addresses, owners, below }
    }
}

impl fmt::Display for AddressReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses: Range { start, end }, owners, below } = self;
        write!(f, "{start:#x}")?;
        if end.saturating_sub(*start) > 1 {
            write!(f, " to {end:#x}")?;
        }
        let is_there =
            |owner: &AddressOwner| matches!(owner.state, AddressUse::Live | AddressUse::Kept { .. });
        let (live, former) = owners.split_at(owners.partition_point(is_there));
        let shown = live.iter().take(MAX_SHOWN).chain(former.iter().take(MAX_SHOWN));
        for (index, owner) in shown.enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            match start.checked_sub(owner.addresses.start) {
                Some(offset) => write!(f, "byte {offset} of {owner}")?,
                None => write!(f, "{owner}")?,
            }
        }
        write_left(f, live.len(), "live objects")?;
        write_left(f, former.len(), "former objects")?;
        if let Some(below) = below {
            let beyond = start.saturating_sub(below.addresses.end);
            f.write_str(if owners.is_empty() { ": " } else { "; " })?;
            write!(f, "{beyond} B after the end of {below}")?;
        } else if owners.is_empty() {
            f.write_str(": no object of the manager is or was there")?;
        }
        Ok(())
    }
}

/// A number of submissions, as text.
struct Submissions(u64);

impl fmt::Display for Submissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} submission{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// Maximum number of entries of a list in a text: later errors repeat the text of a loss.
const MAX_SHOWN: usize = 8;

/// Writes the number of entries beyond [`MAX_SHOWN`], if there are any.
fn write_left(f: &mut fmt::Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    match count.saturating_sub(MAX_SHOWN) {
        0 => Ok(()),
        left => write!(f, "; and {left} more {what}"),
    }
}

/// The addresses of an object.
fn range(address: u64, bytes: u64) -> Range<u64> {
    address..address.saturating_add(bytes)
}

/// A fault of the GPU, with the objects at its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FaultReport {
    /// The fault, as the driver reports it.
    pub fault: DeviceFault,
    /// The objects at its addresses; `None` for a fault without addresses.
    pub whose: Option<AddressReport>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)?;
        self.whose.as_ref().map_or(Ok(()), |whose| write!(f, " at {whose}"))
    }
}

/// The submissions of a queue that the GPU had not finished when the device was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnfinishedWork {
    /// The [number](crate::QueueId) of the queue.
    pub queue: u8,
    /// The serials of the submissions. The first of them was probably running.
    pub serials: Range<u64>,
    /// The newest recordings among them, at most 1,024, by serial. Other submissions are external work and copies of the manager.
    pub recordings: Vec<UnfinishedRecording>,
}

/// A recording that the GPU had not finished when the device was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnfinishedRecording {
    /// The serial of its submission.
    pub serial: u64,
    /// The name.
    pub name: String,
    /// The progress of the GPU in it, on a device with markers (`DeviceConfig::markers` of each backend).
    pub progress: Option<RecordingProgress>,
}

/// A recording that was submitted: its serial, its name and its markers.
type Submitted = (u64, Name, Option<Box<Marks>>);

/// Number of complete recordings that are kept for each queue.
const REMEMBERED: usize = 64;

/// Maximum number of recordings that are kept for each queue.
const MOST_REMEMBERED: usize = 1024;

/// The newest submitted recordings of each queue.
#[derive(Default)]
pub(crate) struct SubmittedRecordings([Mutex<VecDeque<Submitted>>; MAX_QUEUES]);

impl SubmittedRecordings {
    /// Adds a submission, and removes the oldest ones, if they are complete.
    pub(crate) fn note(
        &self,
        at: QueueSerial,
        (name, marks): (&Name, Option<Box<Marks>>),
        (clock, markers): (&Clock, &Markers),
    ) {
        let completed = clock.completed();
        self.forget(at.queue, &completed, markers);
        // A recording without marks: queues that are idle now may hold all of them.
        if marks.is_none() && markers.exist() {
            (0..MAX_QUEUES as u8).for_each(|queue| self.forget(QueueId(queue), &completed, markers));
        }
        if let Some(newest) = self.0.get(at.queue.index()) {
            newest.lock().push_back((at.serial, name.clone(), marks));
        }
    }

    /// Makes room for one more recording of a queue.
    fn forget(&self, queue: QueueId, completed: &SyncPoint, markers: &Markers) {
        let Some(newest) = self.0.get(queue.index()) else { return };
        let mut newest = newest.lock();
        let completed = completed.serial(queue);
        while newest.len() >= REMEMBERED
            && let Some((serial, ..)) = newest.front()
            && (newest.len() >= MOST_REMEMBERED || *serial <= completed)
            && let Some((serial, _, marks)) = newest.pop_front()
        {
            if let Some(marks) = marks {
                markers.give_back(*marks, Some(QueueSerial { queue, serial }));
            }
        }
    }

    fn unfinished<D: Device>(&self, queue: u8, serials: &Range<u64>, device: &D) -> Vec<UnfinishedRecording> {
        let Some(newest) = self.0.get(usize::from(queue)) else { return Vec::new() };
        let newest = newest.lock();
        let unfinished = newest.iter().filter(|(serial, ..)| serials.contains(serial));
        // The newest first; several may have one serial, in the order of their submission.
        let mut unfinished: Vec<&Submitted> = unfinished.rev().collect();
        unfinished.sort_by_key(|(serial, ..)| std::cmp::Reverse(*serial));
        // The GPU begins the recordings of a queue in order.
        let mut has_begun = false;
        let named = |(serial, name, marks): &Submitted| {
            let progress = marks.as_ref().map(|marks| marks.progress(device, has_begun));
            has_begun |= progress.as_ref().is_some_and(|progress| *progress != RecordingProgress::NotBegun);
            UnfinishedRecording { serial: *serial, name: name.as_str().to_owned(), progress }
        };
        let mut found: Vec<_> = unfinished.into_iter().map(named).collect();
        found.reverse();
        found
    }
}

/// The loss of the device, with the known facts about its cause: from [`Gpu::loss`](crate::Gpu::loss).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LossReport {
    /// The driver's reason.
    pub reason: String,
    /// The faults that the driver reports.
    pub faults: Vec<FaultReport>,
    /// Submissions that were not finished, by queue.
    pub unfinished: Vec<UnfinishedWork>,
}

impl LossReport {
    pub(crate) fn collect<D: Device>(
        reason: String,
        device: &D,
        clock: &Clock,
        (registry, recordings): (&Registry, &SubmittedRecordings),
    ) -> Self {
        let report = |fault: DeviceFault| {
            let whose =
                fault.has_address().then(|| AddressReport::collect(registry, fault.addresses.clone()));
            FaultReport { fault, whose }
        };
        let (completed, submitted) = (clock.completed(), clock.submitted());
        let queues = (0..device.properties().queues.len()).filter_map(|queue| u8::try_from(queue).ok());
        let unfinished = queues.map(|queue| {
            let [completed, submitted] = [&completed, &submitted].map(|point| point.serial(QueueId(queue)));
            let serials = completed.saturating_add(1)..submitted.saturating_add(1);
            UnfinishedWork { queue, recordings: recordings.unfinished(queue, &serials, device), serials }
        });
        Self {
            reason,
            faults: device.device_faults().into_iter().map(report).collect(),
            unfinished: unfinished.filter(|work| !work.serials.is_empty()).collect(),
        }
    }

    /// The recordings that the GPU had begun and not completed, by their markers, each with its queue.
    pub(crate) fn running(&self) -> impl Iterator<Item = (u8, &UnfinishedRecording, &RecordingProgress)> {
        self.unfinished.iter().flat_map(|work| {
            let all = work.recordings.iter();
            all.filter_map(|recording| {
                let running = |progress: &&_| matches!(progress, RecordingProgress::Running { .. });
                recording.progress.as_ref().filter(running).map(|progress| (work.queue, recording, progress))
            })
        })
    }
}

impl fmt::Display for LossReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.faults.iter().take(MAX_SHOWN).try_for_each(|fault| write!(f, "; {fault}"))?;
        write_left(f, self.faults.len(), "faults")?;
        self.running().take(MAX_SHOWN).try_for_each(|(queue, recording, progress)| {
            write!(f, "; recording '{}' on queue {queue}: {progress}", recording.name)
        })?;
        write_left(f, self.running().count(), "recordings")
    }
}
