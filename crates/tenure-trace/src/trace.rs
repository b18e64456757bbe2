//! A whole recording in memory, with its summary.

use std::io::Read;

use crate::{Event, MAX_EVENTS, Reason, Summary, TraceError, TraceReader, Validator};

/// A whole, checked recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// Every event, in the order of the file (40 bytes each).
    pub events: Vec<Event>,
    /// The summary of the events.
    pub summary: Summary,
}

impl Trace {
    /// Checks and collects events, for example those of [`generate`](crate::generate).
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
    /// [`TraceError::Refused`] for the first event that is inconsistent with those before it, or that exceeds
    /// [`MAX_EVENTS`].
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

/// Reads a whole recording, and returns it only if all lines are valid.
///
/// `name` is the name of the source in errors, usually the file name. The encoding (plain text, gzip or
/// zstd) is detected from the first bytes.
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
/// The first error in the source, see [`TraceError`]; [`Reason::TooManyEvents`] for the first
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
/// The first error in the source, see [`TraceError`].
pub fn check<R: Read>(source: R, name: impl Into<String>) -> Result<Summary, TraceError> {
    TraceReader::new(source, name)?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_kept_events_is_limited() {
        let mut events = Vec::new();
        for number in 0..3 {
            assert_eq!(keep(&mut events, Event::Frame { number }, 3), Ok(()));
        }
        let refused = keep(&mut events, Event::Frame { number: 3 }, 3);
        assert_eq!((refused, events.len()), (Err(Reason::TooManyEvents { kept: 3 }), 3));
    }
}
