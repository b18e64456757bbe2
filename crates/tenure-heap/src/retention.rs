//! How long a pool keeps blocks that are empty.

/// The hysteresis of a pool's empty blocks. Blocks that have been empty for the configured frames are freed. A
/// pool that needs a new block soon after it freed one keeps empty blocks twice as long from then on; a pool that
/// needs none for a long time halves the time again.
///
/// Without this, a program whose demand rises and falls with a period slightly above the configured frames makes
/// the driver create and destroy a block in each period (seen in recordings of user interfaces).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRetention {
    /// Frames for which an idle block is kept, before any doubling.
    base: u32,
    doublings: u32,
    frame: u64,
    /// The frame in which a block was freed that the pool has not needed again so far.
    released: Option<u64>,
    /// The same for a block that had just run empty, and made way for a new peak.
    made_way: Option<u64>,
    /// The number of such blocks that were soon needed again.
    regrets: u32,
}

/// The longest time is the configured one times two to this.
const MAX_DOUBLINGS: u32 = 6;
/// A pool that grows within this multiple of the retention frames has freed a block too early.
const TOO_EARLY: u64 = 16;
/// The number of blocks that make way at once and are soon needed again, until the pool keeps them.
const MOST_REGRETS: u32 = 8;
/// A pool that does not grow for this multiple of the retention frames may free blocks earlier again.
const EARLIER: u64 = 16;

impl BlockRetention {
    pub(crate) const fn new(base: u32) -> Self {
        Self { base, doublings: 0, frame: 0, released: None, made_way: None, regrets: 0 }
    }

    /// Frames that a block may be empty now.
    pub(crate) const fn frames(&self) -> u32 {
        self.base.saturating_mul(1 << self.doublings)
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

    /// Notes that blocks were freed because they had been empty for long enough.
    pub(crate) fn note_release(&mut self) {
        self.released = Some(self.frame);
    }

    /// Whether blocks that have just run empty make way for a new peak of the program's memory.
    pub(crate) const fn makes_way_at_once(&self) -> bool {
        self.regrets < MOST_REGRETS
    }

    /// Notes that such blocks made way.
    pub(crate) const fn note_made_way(&mut self) {
        self.made_way = Some(self.frame);
    }

    /// Notes a new block of the pool.
    pub(crate) fn note_growth(&mut self) {
        let (frame, early) = (self.frame, TOO_EARLY * u64::from(self.frames()));
        if self.made_way.take_if(|at| frame - *at <= early).is_some() {
            self.regrets = self.regrets.saturating_add(1);
        }
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
    fn blocks_make_way_at_once_until_that_was_often_wrong() {
        let mut retention = BlockRetention::new(16);
        for _ in 0..20 {
            retention.note_made_way();
            wait(&mut retention, 16 * 16 + 1);
            retention.note_growth();
        }
        assert!(retention.makes_way_at_once(), "needed much later");
        for times in 1..=8 {
            assert!(retention.makes_way_at_once(), "{times}");
            retention.note_made_way();
            wait(&mut retention, 16 * 16);
            retention.note_growth();
            retention.note_growth();
        }
        assert!(!retention.makes_way_at_once());
    }

    #[test]
    fn no_time_stays_no_time() {
        let mut retention = BlockRetention::new(0);
        retention.note_release();
        retention.note_growth();
        assert_eq!(retention.frames(), 0);
    }
}
