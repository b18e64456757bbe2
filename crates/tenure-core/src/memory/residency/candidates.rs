//! Which blocks leave first.

/// A pause between two uses of more frames than this is a long one.
const LONG: u32 = 8;

/// Frames until the next use of a block of which nothing is known, at least.
const UNKNOWN: u64 = 2;

/// When a block was used, in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    last: u64,
    /// Frames between its last two uses, if they were few; 0: not known.
    interval: u32,
    /// Frames of its last long pause; 0: not known.
    pause: u32,
}

impl Uses {
    pub(super) const fn new(frame: u64) -> Self {
        Self { last: frame, interval: 0, pause: 0 }
    }

    /// The frame of the last use.
    pub(super) const fn last(self) -> u64 {
        self.last
    }

    /// It is used in this frame.
    #[inline]
    pub(super) fn note(&mut self, frame: u64) {
        if frame == self.last {
            return;
        }
        let frames = u32::try_from(frame.saturating_sub(self.last)).unwrap_or(u32::MAX);
        *if frames > LONG { &mut self.pause } else { &mut self.interval } = frames;
        self.last = frame;
    }

    /// Frames until it is used again, as far as one can tell: by its last interval, or, when it is overdue, by its
    /// last long pause. What is overdue for that, too, or was never used twice, is expected after as long as it has
    /// not been used now, and not in the next frame.
    pub(super) fn expected(&self, frame: u64) -> u64 {
        let age = frame.saturating_sub(self.last);
        let by = |frames: u32| {
            let frames = u64::from(frames);
            (frames > 0 && age <= frames + frames / 4).then(|| frames.saturating_sub(age))
        };
        by(self.interval).or_else(|| by(self.pause)).unwrap_or(age.max(UNKNOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::Uses;

    fn used(frames: &[u64]) -> Uses {
        let mut uses = Uses::new(frames[0]);
        frames.iter().for_each(|frame| uses.note(*frame));
        uses
    }

    #[test]
    fn a_block_of_every_frame_is_expected_in_the_next() {
        assert_eq!(used(&[0, 1, 2, 3]).expected(3), 1);
        assert_eq!(used(&[0, 1, 2, 3]).expected(4), 0);
    }

    /// Of a working set that comes back in turn the newest leaves first: it is needed last.
    #[test]
    fn of_a_cycle_the_newest_is_needed_last() {
        let (old, new) = (used(&[0, 20, 40]), used(&[15, 35, 55]));
        assert_eq!((old.expected(56), new.expected(56)), (4, 19));
    }

    /// What was seen in some frames in a row, and again after a long pause, comes back after such a pause.
    #[test]
    fn after_a_visit_the_long_pause_counts() {
        let uses = used(&[0, 1, 2, 100, 101, 102]);
        assert_eq!(uses.expected(103), 0, "it is still expected to be in view");
        assert_eq!(uses.expected(110), 90);
        assert_eq!(uses.expected(300), 198, "overdue: as long again");
    }

    #[test]
    fn what_was_used_once_is_expected_the_later_the_older_it_is() {
        assert!(used(&[10]).expected(500) > used(&[400]).expected(500));
    }
}
