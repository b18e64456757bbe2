//! The retention of empty blocks.

/// The retention of a pool's empty blocks, with hysteresis. Blocks that have been empty for the configured frames are
/// freed. A pool that soon needs a new block after freeing one keeps empty blocks twice as long from then on; without
/// further need for a long time the retention is halved again.
///
/// Without this, a program whose demand oscillates with a period slightly above the configured frames makes the
/// driver create and destroy a block in each period (seen in recordings of user interfaces).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRetention {
    /// The configured frames for which an empty block is kept, without doublings.
    base: u32,
    doublings: u32,
    frame: u64,
    /// The frame of the last free of a block that was not needed again so far.
    released: Option<u64>,
}

/// The maximum number of doublings of the configured time.
const MAX_DOUBLINGS: u32 = 6;
/// Growth within this multiple of the retention means that a block was freed too early.
const TOO_EARLY: u64 = 16;
/// After this multiple of the retention without growth, blocks are freed earlier again.
const EARLIER: u64 = 16;

impl BlockRetention {
    pub(crate) const fn new(base: u32) -> Self {
        Self { base, doublings: 0, frame: 0, released: None }
    }

    /// The current retention in frames.
    pub(crate) const fn frames(&self) -> u32 {
        self.base.saturating_mul(1 << self.doublings)
    }

    /// Whether the retention is currently doubled, because a block was freed too early.
    pub(crate) const fn is_extended(&self) -> bool {
        self.doublings > 0
    }

    /// Notes the end of a frame.
    pub(crate) fn end_frame(&mut self) {
        self.frame += 1;
        let was_not_needed = |at| self.frame - at > EARLIER * u64::from(self.frames());
        if self.released.is_some_and(was_not_needed) {
            self.released = None;
            self.doublings = self.doublings.saturating_sub(1);
        }
    }

    /// Notes that blocks were freed because they had been empty for long enough, or to make room for others.
    pub(crate) fn note_release(&mut self) {
        self.released = Some(self.frame);
    }

    /// Notes a new block of the pool.
    pub(crate) fn note_growth(&mut self) {
        let (frame, early) = (self.frame, TOO_EARLY * u64::from(self.frames()));
        if self.released.take_if(|at| frame - *at <= early).is_some() {
            self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BlockRetention;

    fn wait(retention: &mut BlockRetention, frames: u32) {
        (0..frames).for_each(|_| retention.end_frame());
    }

    #[test]
    fn a_block_released_too_early_doubles_the_time() {
        let mut retention = BlockRetention::new(16);
        retention.note_growth();
        assert_eq!(retention.frames(), 16, "growing alone changes nothing");
        retention.note_release();
        wait(&mut retention, 64);
        retention.note_growth();
        assert_eq!(retention.frames(), 32);
        for _ in 0..20 {
            retention.note_release();
            retention.note_growth();
        }
        assert_eq!(retention.frames(), 16 << 6, "up to a limit");
    }

    #[test]
    fn an_unneeded_block_halves_the_retention() {
        let mut retention = BlockRetention::new(16);
        retention.note_release();
        retention.note_growth();
        retention.note_release();
        wait(&mut retention, 16 * 32);
        assert_eq!(retention.frames(), 32);
        wait(&mut retention, 1);
        assert_eq!(retention.frames(), 16);
        retention.note_growth();
        assert_eq!(retention.frames(), 16, "needed too late to count");
    }

    #[test]
    fn a_retention_of_zero_stays_zero() {
        let mut retention = BlockRetention::new(0);
        retention.note_release();
        retention.note_growth();
        assert_eq!(retention.frames(), 0);
    }
}
