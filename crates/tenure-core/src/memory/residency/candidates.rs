//! Which blocks leave first.

/// A pause between two uses of more frames than this is a long one.
const LONG: u32 = 8;

/// Frames until the next use of a block of which nothing is known, at least.
const UNKNOWN: u64 = 2;

/// How long a block was not used between its uses, in frames. The frame of its last use is in its
/// [`State`](super::State).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// Frames between its last two uses, if they were few; 0: not known.
    interval: u32,
    /// Frames of its last two long pauses, the last one first; 0: not known.
    pauses: [u32; 2],
    /// It was only created: how long it waits for its first use says nothing about later uses.
    is_new: bool,
    /// The last time between two uses was a long pause.
    is_back: bool,
}

impl Uses {
    pub(super) const fn new() -> Self {
        Self { interval: 0, pauses: [0; 2], is_new: true, is_back: false }
    }

    /// It is used again after so many frames, which are not 0.
    pub(super) fn note(&mut self, frames: u64, typical: &mut TypicalPause) {
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        if frames > LONG {
            typical.note(frames);
            if !self.is_new {
                self.pauses = [frames, self.pauses[0]];
            }
            if self.is_back {
                // It was used in one frame and not soon after it.
                self.interval = 0;
            }
        } else if !self.is_new {
            self.interval = frames;
        }
        self.is_back = frames > LONG;
        self.is_new = false;
    }

    /// Frames until it is used again, as far as one can tell; `age`: frames since its last use. By its last interval,
    /// or, when it is overdue, by its long pause before the last one, which is right for what comes back in turn and for
    /// what a camera sees on its way to and fro, or by the last one. What has no pauses yet is expected after those of
    /// others. What is overdue for that, too, is expected after as long as it has not been used now, and not in the next
    /// frame.
    pub(super) fn expected(&self, age: u64, typical: TypicalPause) -> u64 {
        let by = |frames: u32| {
            let frames = u64::from(frames);
            (frames > 0 && age <= frames + frames / 4).then(|| frames.saturating_sub(age))
        };
        let [last, before] = self.pauses;
        let others = if last == 0 { typical.0 } else { 0 };
        let expected = by(self.interval).or_else(|| by(before)).or_else(|| by(last)).or_else(|| by(others));
        expected.unwrap_or(age.max(UNKNOWN))
    }
}

/// Frames of the long pauses of all blocks, the last ones above all; 0: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypicalPause(u32);

impl TypicalPause {
    fn note(&mut self, frames: u32) {
        let mean = (u64::from(self.0) * 7 + u64::from(frames)).div_ceil(8);
        self.0 = if self.0 == 0 { frames } else { u32::try_from(mean).unwrap_or(u32::MAX) };
    }
}

#[cfg(test)]
mod tests {
    use super::{TypicalPause, Uses};

    /// A block, with the frame of its last use.
    struct Used(u64, Uses);

    impl Used {
        fn new(frame: u64) -> Self {
            Self(frame, Uses::new())
        }

        fn note(&mut self, frame: u64, typical: &mut TypicalPause) {
            if frame > self.0 {
                self.1.note(frame - self.0, typical);
                self.0 = frame;
            }
        }

        fn expected(&self, frame: u64, typical: TypicalPause) -> u64 {
            self.1.expected(frame - self.0, typical)
        }
    }

    fn used(frames: &[u64]) -> Used {
        let mut used = Used(frames[0], Uses { is_new: false, ..Uses::new() });
        frames.iter().for_each(|frame| used.note(*frame, &mut TypicalPause::default()));
        used
    }

    #[test]
    fn a_block_of_every_frame_is_expected_in_the_next() {
        assert_eq!(used(&[0, 1, 2, 3]).expected(3, TypicalPause::default()), 1);
        assert_eq!(used(&[0, 1, 2, 3]).expected(4, TypicalPause::default()), 0);
    }

    /// Of a working set that comes back in turn the newest leaves first: it is needed last.
    #[test]
    fn of_a_cycle_the_newest_is_needed_last() {
        let (old, new) = (used(&[0, 20, 40]), used(&[15, 35, 55]));
        assert_eq!(
            (old.expected(56, TypicalPause::default()), new.expected(56, TypicalPause::default())),
            (4, 19)
        );
    }

    /// What was seen in some frames in a row, and again after a long pause, comes back after such a pause.
    #[test]
    fn after_a_visit_the_long_pause_counts() {
        let uses = used(&[0, 1, 2, 100, 101, 102]);
        assert_eq!(uses.expected(103, TypicalPause::default()), 0, "it is still expected to be in view");
        assert_eq!(uses.expected(110, TypicalPause::default()), 90);
        assert_eq!(uses.expected(300, TypicalPause::default()), 198, "overdue: as long again");
    }

    #[test]
    fn what_was_used_once_is_expected_the_later_the_older_it_is() {
        assert!(
            used(&[10]).expected(500, TypicalPause::default())
                > used(&[400]).expected(500, TypicalPause::default())
        );
    }

    /// A camera that goes to and fro sees a place after a short and a long pause by turns.
    #[test]
    fn to_and_fro_the_pause_before_the_last_comes_next() {
        let uses = used(&[0, 20, 100, 120, 200]);
        assert_eq!(uses.expected(205, TypicalPause::default()), 15);
        assert_eq!(
            uses.expected(230, TypicalPause::default()),
            50,
            "not after the short one, so after the long one"
        );
    }

    /// What is used in single frames is not expected right after them.
    #[test]
    fn after_single_uses_only_pauses_count() {
        let mut created_and_used = Used::new(0);
        [1, 20, 40].iter().for_each(|frame| created_and_used.note(*frame, &mut TypicalPause::default()));
        assert_eq!(
            created_and_used.expected(41, TypicalPause::default()),
            18,
            "as long as before the last one"
        );
        let once_in_view = used(&[0, 5, 6, 7, 30, 60]);
        assert_eq!(once_in_view.expected(61, TypicalPause::default()), 22);
    }

    /// How long a block waits for its first use is no pause of it, but shows how long others wait.
    #[test]
    fn what_was_used_once_is_expected_as_others_were() {
        let (mut typical, mut first) = (TypicalPause::default(), Used::new(0));
        first.note(50, &mut typical);
        let second = Used::new(0);
        assert!(first.expected(52, typical) > second.expected(52, typical), "it has just been there");
        assert_eq!(second.expected(100, typical), 100, "overdue");
    }
}
