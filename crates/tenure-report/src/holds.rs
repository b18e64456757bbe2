//! Dropped objects that may still be in use, and their holders.

use std::collections::BTreeMap;

use crate::history::Hold;

/// The newest submission so far: objects dropped so far wait for it at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// The index of the queue's name.
    pub(crate) queue: u32,
    /// Its serial on the queue; `None` if several queues have work.
    pub(crate) serial: Option<u64>,
}

#[derive(Debug, Default)]
struct Dropped {
    bytes: u64,
    count: u64,
    /// Known once the frame has ended.
    newest: Option<Newest>,
}

/// The waiting objects, by the index of the frame in which they were dropped.
#[derive(Debug, Default)]
pub(crate) struct Waiting(BTreeMap<usize, Dropped>);

impl Waiting {
    /// Counts an object of `bytes` bytes that was dropped in `frame`.
    pub(crate) fn add(&mut self, frame: usize, bytes: u64) {
        let dropped = self.0.entry(frame).or_default();
        dropped.bytes = dropped.bytes.saturating_add(bytes);
        dropped.count += 1;
    }

    /// Notes that an object dropped in that frame was released.
    pub(crate) fn remove(&mut self, frame: usize, bytes: u64) {
        let Some(dropped) = self.0.get_mut(&frame) else { return };
        dropped.bytes = dropped.bytes.saturating_sub(bytes);
        dropped.count = dropped.count.saturating_sub(1);
        if dropped.count == 0 {
            self.0.remove(&frame);
        }
    }

    /// The holders and held objects at the end of a frame: the oldest first. `holder` is the index of the name
    /// for queues.
    pub(crate) fn at_end(&mut self, frame: usize, newest: Newest, holder: u32) -> Vec<Hold> {
        let hold = |(dropped_in, dropped): (&usize, &mut Dropped)| {
            let Newest { queue: name, serial } = *dropped.newest.get_or_insert(newest);
            let Dropped { bytes, count, .. } = *dropped;
            Hold { holder, name, serial, bytes, count, age: frame.saturating_sub(*dropped_in) as u64 }
        };
        self.0.iter_mut().map(hold).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Newest, Waiting};

    #[test]
    fn drops_of_a_frame_wait_for_its_newest_submission() {
        let mut waiting = Waiting::default();
        let newest = |serial| Newest { queue: 9, serial: Some(serial) };
        waiting.add(0, 100);
        waiting.add(0, 50);
        assert_eq!(waiting.at_end(0, newest(1), 8).len(), 1);
        waiting.add(1, 7);
        let holds = waiting.at_end(1, newest(2), 8);
        let told: Vec<_> = holds.iter().map(|hold| (hold.serial, hold.bytes, hold.count, hold.age)).collect();
        assert_eq!(told, [(Some(1), 150, 2, 1), (Some(2), 7, 1, 0)]);
        waiting.remove(0, 100);
        waiting.remove(0, 50);
        waiting.remove(0, 1);
        assert_eq!(waiting.at_end(2, newest(3), 8).len(), 1);
    }
}
