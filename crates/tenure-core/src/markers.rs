//! Markers: the GPU's progress in recordings, for the report of a lost device.
//!
//! A recording has two words of the device's marker memory. The GPU writes a number to the first one when it begins a scope,
//! and to the second one when it has completed all commands up to the end of a scope. The numbers rise from one recording to
//! the next one with the same words, so that the words are never reset.

use std::collections::VecDeque;
use std::fmt;

use parking_lot::Mutex;

use crate::Name;
use crate::device::{
    CommandList, DescriptorDevice, Device, MAX_QUEUES, Marker, MarkerLimits, MarkerPoint, QueryDevice,
    QueueId, QueueSerial,
};
use crate::time::Clock;

/// Maximum number of marked scopes of a recording, including the recording itself.
const MOST_SCOPES: usize = 256;

/// The progress of the GPU in a recording, by the markers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RecordingProgress {
    /// The GPU had not begun it.
    NotBegun,
    /// The GPU had begun but not completed it.
    Running {
        /// The names of the scopes that it had begun but not completed, in the order of their begins. The GPU may begin a scope
        /// before it has completed the previous one. Only the first 255 scopes of a recording are marked.
        scopes: Vec<String>,
    },
    /// The GPU had completed it, but not its submission.
    Completed,
}

impl fmt::Display for RecordingProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBegun => f.write_str("not begun"),
            Self::Running { scopes } if scopes.is_empty() => f.write_str("running"),
            Self::Running { scopes } => write!(f, "running, in '{}'", scopes.join("', '")),
            Self::Completed => f.write_str("completed"),
        }
    }
}

/// The pairs of marker words.
pub(crate) struct Markers {
    limits: MarkerLimits,
    free: Mutex<FreePairs>,
}

/// The pairs without a recording.
struct FreePairs {
    /// Pairs that no submission writes.
    unused: VecDeque<Pair>,
    /// For each queue, the pairs that its submissions write, with their serials, oldest first.
    used: [VecDeque<(u64, Pair)>; MAX_QUEUES],
}

struct Pair {
    index: u32,
    /// The next number.
    next: u32,
}

impl Pair {
    /// A pair that no GPU work writes. Its words may contain numbers of an earlier manager of the device.
    fn new<D: Device>(device: &D, index: u32) -> Self {
        let [begun, completed] = words(device, index);
        let newest = if has_reached(begun, completed) { begun } else { completed };
        Self { index, next: newest.wrapping_add(1) }
    }
}

/// The words of a pair: the last begin and the last end.
fn words<D: Device>(device: &D, index: u32) -> [u32; 2] {
    [0, 1].map(|word| device.marker(index * 2 + word))
}

impl Markers {
    pub(crate) fn new<D: Device>(device: &D) -> Self {
        let limits = device.properties().markers;
        let unused = (0..limits.words / 2).map(|index| Pair::new(device, index)).collect();
        Self { limits, free: Mutex::new(FreePairs { unused, used: Default::default() }) }
    }

    /// Whether scopes may begin and end in render passes.
    pub(crate) const fn are_in_passes(&self) -> bool {
        self.limits.in_passes
    }

    /// Whether the device has words for markers.
    pub(crate) const fn exist(&self) -> bool {
        self.limits.words > 0
    }

    /// The marks of a new recording; `None` without markers, and while other recordings use all words. O(queues).
    #[inline]
    pub(crate) fn take(&self, clock: &Clock) -> Option<Box<Marks>> {
        if self.limits.words == 0 { None } else { self.take_pair(clock) }
    }

    #[cold]
    fn take_pair(&self, clock: &Clock) -> Option<Box<Marks>> {
        let completed = clock.completed();
        let FreePairs { unused, used } = &mut *self.free.lock();
        let pair = unused.pop_front().or_else(|| {
            let mut queues = (0_u8..).map(QueueId).zip(used);
            queues.find_map(|(queue, pairs)| {
                let is_complete = pairs.front()?.0 <= completed.serial(queue);
                if is_complete { pairs.pop_front().map(|(_, pair)| pair) } else { None }
            })
        })?;
        Some(Box::new(Marks { pair, scopes: Vec::new() }))
    }

    /// Takes back the marks of a recording, submitted as `used_by` or discarded.
    pub(crate) fn give_back(&self, marks: Marks, used_by: Option<QueueSerial>) {
        let FreePairs { unused, used } = &mut *self.free.lock();
        match used_by.and_then(|at| Some((used.get_mut(at.queue.index())?, at.serial))) {
            Some((pairs, serial)) => pairs.push_back((serial, marks.pair)),
            None => unused.push_back(marks.pair),
        }
    }
}

/// The marks of a recording.
pub(crate) struct Marks {
    pair: Pair,
    /// The recording, and its scopes.
    scopes: Vec<MarkedScope>,
}

struct MarkedScope {
    name: Name,
    /// The scope's index; `None` for the recording itself.
    scope: Option<u32>,
    begin: u32,
    end: Option<u32>,
}

impl Marks {
    /// Marks the begin of a scope, or of the recording.
    pub(crate) fn begin<D: DescriptorDevice + QueryDevice>(
        &mut self,
        list: &mut impl CommandList<D>,
        name: Name,
        scope: Option<u32>,
    ) {
        if self.scopes.len() < MOST_SCOPES {
            let begin = self.number();
            list.write_marker(Marker {
                word: self.pair.index * 2,
                value: begin,
                point: MarkerPoint::Begun,
                is_of_scope: scope.is_some(),
            });
            self.scopes.push(MarkedScope { name, scope, begin, end: None });
        }
    }

    /// Marks the end of a scope that has begun, or of the recording.
    pub(crate) fn end<D: DescriptorDevice + QueryDevice>(
        &mut self,
        list: &mut impl CommandList<D>,
        scope: Option<u32>,
    ) {
        let number = self.pair.next;
        if let Some(marked) = self.scopes.iter_mut().rev().find(|marked| marked.scope == scope) {
            marked.end = Some(number);
            self.number();
            list.write_marker(Marker {
                word: self.pair.index * 2 + 1,
                value: number,
                point: MarkerPoint::Completed,
                is_of_scope: scope.is_some(),
            });
        }
    }

    const fn number(&mut self) -> u32 {
        let number = self.pair.next;
        self.pair.next = number.wrapping_add(1);
        number
    }

    /// The progress of the GPU; `is_followed`: it has begun a later recording, and therefore all of this one.
    pub(crate) fn progress<D: Device>(&self, device: &D, is_followed: bool) -> RecordingProgress {
        let [begun, completed] = words(device, self.pair.index);
        let has_begun = |scope: &MarkedScope| is_followed || has_reached(begun, scope.begin);
        let is_complete = |scope: &MarkedScope| scope.end.is_some_and(|end| has_reached(completed, end));
        match self.scopes.split_first() {
            Some((recording, _)) if !has_begun(recording) => RecordingProgress::NotBegun,
            Some((recording, scopes)) if !is_complete(recording) => {
                let running = scopes.iter().filter(|scope| has_begun(scope) && !is_complete(scope));
                RecordingProgress::Running {
                    scopes: running.map(|scope| scope.name.as_str().to_owned()).collect(),
                }
            }
            _ => RecordingProgress::Completed,
        }
    }
}

/// Whether the value of a word is `number` or a later one. Numbers wrap around.
const fn has_reached(value: u32, number: u32) -> bool {
    value.wrapping_sub(number) <= u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::has_reached;

    #[test]
    fn later_numbers_cover_earlier_ones_also_where_they_wrap_around() {
        for number in [0, 1, u32::MAX / 2, u32::MAX - 1, u32::MAX] {
            let next = number.wrapping_add(1);
            assert!(has_reached(number, number) && has_reached(next, number), "{number}");
            assert!(!has_reached(number, next), "{number}");
        }
    }
}
