//! A whole recording in memory, and what it adds up to.

use std::io::Read;

use crate::{Event, Kind, Reason, TraceError, TraceReader, Validator};

/// The most events of a recording that is kept in memory as a whole: 2^24, in 640 MiB.
pub const MAX_EVENTS: usize = 1 << 24;

/// A whole, checked recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// Every event, in the order of the file (40 bytes each).
    pub events: Vec<Event>,
    /// What the events add up to.
    pub summary: Summary,
}

/// What a recording adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of allocations.
    pub allocs: u64,
    /// Number of frees.
    pub frees: u64,
    /// Number of frame marks.
    pub frames: u64,
    /// The most bytes that were live at once.
    pub peak_live_bytes: u64,
    /// The most allocations that were live at once.
    pub peak_live_allocations: u64,
    /// What is not freed, in the order of the ids: leaks, or a recording that was cut short.
    pub live_at_end: Vec<LiveAllocation>,
}

/// An allocation that is not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAllocation {
    /// Its id.
    pub id: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its alignment, bytes.
    pub align: u64,
    /// Which memory, and what lies in it.
    pub kind: Kind,
}

impl Trace {
    /// Checks events that come from elsewhere, [`generate`](crate::generate) say, and collects them.
    ///
    /// ```
    /// use tenure_trace::{Trace, Workload, generate};
    ///
    /// let trace = Trace::from_events(generate(Workload::Frames, 1, 1000))?;
    /// assert_eq!(trace.summary.allocs, 500);
    /// # Ok::<(), tenure_trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TraceError::Refused`] with the first event that does not fit those before it, or that is one
    /// more than [`MAX_EVENTS`].
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Result<Self, TraceError> {
        let mut validator = Validator::new();
        let mut checked = Vec::new();
        for (line, event) in (2..).zip(events) {
            let refused = |reason| TraceError::Refused { line, reason };
            validator.check(&event).map_err(refused)?;
            keep(&mut checked, event, MAX_EVENTS).map_err(refused)?;
        }
        Ok(Self { events: checked, summary: validator.summary() })
    }
}

/// Reads a whole recording and returns it only if every line of it is sound.
///
/// `name` is what errors call the source, usually the file's name. Plain text, gzip and zstd are
/// told apart by their first bytes.
///
/// ```
/// let csv = "op,id,size,align,kind,frame\n\
///            alloc,1,2304,64,cpu_to_gpu+linear,0\n\
///            frame,,,,,1\n\
///            free,1,2304,,cpu_to_gpu+linear,1\n";
/// let trace = tenure_trace::read_all(csv.as_bytes(), "example.csv")?;
/// assert_eq!(trace.events.len(), 3);
/// assert_eq!(trace.summary.peak_live_bytes, 2304);
///
/// let damaged = csv.replace("free,1", "free,2");
/// let error = tenure_trace::read_all(damaged.as_bytes(), "example.csv").unwrap_err();
/// assert_eq!(error.to_string(), "example.csv:4: free of id 2, which was never allocated");
/// # Ok::<(), tenure_trace::TraceError>(())
/// ```
///
/// # Errors
///
/// The first thing wrong with the source, see [`TraceError`]; [`Reason::TooManyEvents`] for the first
/// line beyond [`MAX_EVENTS`].
pub fn read_all<R: Read>(source: R, name: impl Into<String>) -> Result<Trace, TraceError> {
    let mut reader = TraceReader::new(source, name)?;
    let mut events = Vec::new();
    while let Some(event) = reader.next() {
        keep(&mut events, event?, MAX_EVENTS).map_err(|reason| reader.damaged(reason))?;
    }
    let summary = reader.summary();
    Ok(Trace { events, summary })
}

/// Adds an event if there are fewer than `most`, and there is memory for it.
fn keep(events: &mut Vec<Event>, event: Event, most: usize) -> Result<(), Reason> {
    if events.len() >= most || events.try_reserve(1).is_err() {
        return Err(Reason::TooManyEvents { kept: events.len() });
    }
    events.push(event);
    Ok(())
}

/// Checks a whole recording without keeping its events.
///
/// For recordings that do not fit into memory: check in a first pass, then stream the same file
/// through a [`TraceReader`].
///
/// # Errors
///
/// The first thing wrong with the source, see [`TraceError`].
pub fn check<R: Read>(source: R, name: impl Into<String>) -> Result<Summary, TraceError> {
    TraceReader::new(source, name)?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_events_are_kept_as_are_allowed() {
        let mut events = Vec::new();
        for number in 0..3 {
            assert_eq!(keep(&mut events, Event::Frame { number }, 3), Ok(()));
        }
        let refused = keep(&mut events, Event::Frame { number: 3 }, 3);
        assert_eq!((refused, events.len()), (Err(Reason::TooManyEvents { kept: 3 }), 3));
    }
}
