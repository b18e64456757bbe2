//! The order in which blocks are evicted.

/// Number of frames above which a pause between two uses is long.
const LONG: u32 = 8;

/// Minimum number of predicted frames until the next use of a block without history.
const UNKNOWN: u64 = 2;

/// Pauses between the uses of a block, in frames. The frame of its last use is in its [`State`](super::State).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// Frames between the last two uses, if the pause was short; 0: unknown.
    interval: u32,
    /// Frames of the last two long pauses, the latest first; 0: unknown.
    pauses: [u32; 2],
    /// The block has not been used since its creation: the time until its first use does not predict later
    /// uses.
    is_new: bool,
    /// The latest pause between two uses was long.
    is_back: bool,
}

impl Uses {
    pub(super) const fn new() -> Self {
        Self { interval: 0, pauses: [0; 2], is_new: true, is_back: false }
    }

    /// Notes a use, `frames` after the previous one; not 0.
    pub(super) fn note(&mut self, frames: u64, typical: &mut TypicalPause) {
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        if frames > LONG {
            typical.note(frames);
            if !self.is_new {
                self.pauses = [frames, self.pauses[0]];
            }
            if self.is_back {
                // A single use, without another one soon after it.
                self.interval = 0;
            }
        } else if !self.is_new {
            self.interval = frames;
        }
        self.is_back = frames > LONG;
        self.is_new = false;
    }

    /// Predicted frames until the next use; `age`: frames since the last use. The prediction is the last
    /// interval between uses. Once that has passed, it is the last long pause but one, which suits cyclic
    /// working sets and a camera that goes back and forth, and then the last long pause. For a block without
    /// long pauses, those of other blocks are used. Once those have passed, too, the prediction is the current
    /// age again, but never the next frame.
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

/// Typical long pause of all blocks, in frames, weighted towards the latest; 0: unknown.
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

    /// In a cyclic working set the newest block is evicted first: its next use is latest.
    #[test]
    fn of_a_cycle_the_newest_is_needed_last() {
        let (old, new) = (used(&[0, 20, 40]), used(&[15, 35, 55]));
        assert_eq!(
            (old.expected(56, TypicalPause::default()), new.expected(56, TypicalPause::default())),
            (4, 19)
        );
    }

    /// A block used in several consecutive frames, and again after a long pause, is expected after such a
    /// pause.
    #[test]
    fn after_a_visit_the_long_pause_counts() {
        let uses = used(&[0, 1, 2, 100, 101, 102]);
        assert_eq!(uses.expected(103, TypicalPause::default()), 0, "it is still expected to be in view");
        assert_eq!(uses.expected(110, TypicalPause::default()), 90);
        assert_eq!(uses.expected(300, TypicalPause::default()), 198, "overdue: as long again");
    }

    #[test]
    fn older_blocks_used_once_are_expected_later() {
        assert!(
            used(&[10]).expected(500, TypicalPause::default())
                > used(&[400]).expected(500, TypicalPause::default())
        );
    }

    /// A camera that goes back and forth sees a place after a short and a long pause alternately.
    #[test]
    fn alternating_pauses_predict_the_one_before_the_last() {
        let uses = used(&[0, 20, 100, 120, 200]);
        assert_eq!(uses.expected(205, TypicalPause::default()), 15);
        assert_eq!(
            uses.expected(230, TypicalPause::default()),
            50,
            "not after the short one, so after the long one"
        );
    }

    /// A block used in single frames is not expected right after them.
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

    /// The wait of a block for its first use is not one of its pauses, but contributes to the typical pause.
    #[test]
    fn blocks_used_once_are_expected_by_the_typical_pause() {
        let (mut typical, mut first) = (TypicalPause::default(), Used::new(0));
        first.note(50, &mut typical);
        let second = Used::new(0);
        assert!(first.expected(52, typical) > second.expected(52, typical), "it has just been there");
        assert_eq!(second.expected(100, typical), 100, "overdue");
    }
}
