//! A whole recording in memory, with its summary.

use std::io::Read;
use std::sync::LazyLock;

use crate::{Details, Event, Header, MAX_EVENTS, Reason, Summary, TraceError, TraceReader, Validator};

/// The maximum number of bytes of details.
const MAX_DETAILS_BYTES: usize = 1 << 30;

/// The details of an event without details.
static NOTHING: LazyLock<Details> = LazyLock::new(Details::default);

/// A whole, checked recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// Descriptions of the device and the program, if recorded.
    pub header: Header,
    /// Every event, in the order of the file (40 bytes each).
    pub events: Vec<Event>,
    details: EventDetails,
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
    /// [`TraceError::Refused`] for the first event that contradicts earlier events or exceeds [`MAX_EVENTS`].
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Result<Self, TraceError> {
        Self::new(Header::default(), events.into_iter().map(|event| (event, Details::default())))
    }

    /// Checks and collects events with their details.
    ///
    /// # Errors
    ///
    /// As [`from_events`](Self::from_events).
    pub fn new(
        header: Header,
        events: impl IntoIterator<Item = (Event, Details)>,
    ) -> Result<Self, TraceError> {
        let mut validator = Validator::new();
        let mut kept = Kept::default();
        for (line, (event, details)) in (header.len() as u64 + 3..).zip(events) {
            let refused = |reason| TraceError::Refused { line, reason };
            validator.check_with(&event, &details).map_err(refused)?;
            kept.keep(event, &details, MAX_EVENTS).map_err(refused)?;
        }
        Ok(kept.into_trace(header, validator.summary()))
    }

    /// The details of the event with this index, empty if it has none.
    #[must_use]
    pub fn details(&self, index: usize) -> &Details {
        self.details.get(index).and_then(Option::as_deref).unwrap_or(&NOTHING)
    }

    /// Every event with its details, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&Event, &Details)> {
        self.events.iter().enumerate().map(|(index, event)| (event, self.details(index)))
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
    let mut kept = Kept::default();
    while let Some(event) = reader.next() {
        kept.keep(event?, reader.details(), MAX_EVENTS).map_err(|reason| reader.damaged(reason))?;
    }
    Ok(kept.into_trace(reader.header().clone(), reader.summary()))
}

/// The details of each event, up to the last one with details.
type EventDetails = Vec<Option<Box<Details>>>;

/// The events and details read so far.
#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    details: EventDetails,
    /// Bytes of the details.
    bytes: usize,
}

impl Kept {
    /// Adds an event if there are fewer than `most` and memory suffices.
    fn keep(&mut self, event: Event, details: &Details, most: usize) -> Result<(), Reason> {
        let (before, has_details) = (self.events.len(), *details != *NOTHING);
        let bytes =
            if has_details { size_of::<Details>() + details.name.as_deref().map_or(0, str::len) } else { 0 };
        // Includes entries for all events before.
        let places = if has_details { before + 1 - self.details.len() } else { 0 };
        let is_kept = before < most
            && self.bytes + bytes <= MAX_DETAILS_BYTES
            && self.events.try_reserve(1).is_ok()
            && self.details.try_reserve(places).is_ok();
        if !is_kept {
            return Err(Reason::TooManyEvents { kept: before });
        }
        self.events.push(event);
        if has_details {
            self.bytes += bytes;
            self.details.resize(before, None);
            self.details.push(Some(Box::new(details.clone())));
        }
        Ok(())
    }

    fn into_trace(self, header: Header, summary: Summary) -> Trace {
        Trace { header, events: self.events, details: self.details, summary }
    }
}

/// Checks a whole recording without keeping its events.
///
/// For recordings that do not fit into memory: check in a first pass, then stream the same file through a
/// [`TraceReader`].
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
        let mut kept = Kept::default();
        for number in 0..3 {
            assert_eq!(kept.keep(Event::Frame { number }, &NOTHING, 3), Ok(()));
        }
        let refused = kept.keep(Event::Frame { number: 3 }, &NOTHING, 3);
        assert_eq!((refused, kept.events.len()), (Err(Reason::TooManyEvents { kept: 3 }), 3));
        assert_eq!(kept.details, [], "events without details take none");
    }

    #[test]
    fn the_bytes_of_kept_details_are_limited() {
        let mut kept = Kept { bytes: MAX_DETAILS_BYTES - size_of::<Details>(), ..Kept::default() };
        assert_eq!(kept.keep(Event::Frame { number: 1 }, &NOTHING, 9), Ok(()));
        let named = Details::default().named("a");
        let timed = Details { time_us: Some(1), ..Details::default() };
        let full = Err(Reason::TooManyEvents { kept: 1 });
        assert_eq!(kept.keep(Event::Frame { number: 2 }, &named, 9), full);
        assert_eq!(kept.keep(Event::Frame { number: 2 }, &timed, 9), Ok(()));
        assert_eq!(kept.details, [None, Some(Box::new(timed))]);
        assert_eq!(kept.keep(Event::Frame { number: 3 }, &NOTHING, 9), Ok(()));
    }
}
