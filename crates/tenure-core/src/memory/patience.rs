//! How long a pool keeps blocks that are empty.

/// A pool that has to take a block back soon after giving one away was too hasty: from then on it
/// waits twice as long. When it gives one away and does not need it for long, it was not, and
/// waits half as long again.
///
/// Without this, a program whose need comes and goes with a period a little above the grace makes
/// the driver create and destroy a block each time round (seen in recordings of user interfaces).
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Frames of grace when nothing was regretted.
    base: u32,
    doublings: u32,
    frame: u64,
    /// The frame in which a block was given away that was not missed so far.
    gave_away: Option<u64>,
}

/// The longest grace is the configured one times two to this.
const MOST_DOUBLINGS: u32 = 6;
/// Missing a block within so many graces is a regret.
const REGRET: u64 = 16;
/// Not missing it for so many graces is none.
const RELIEF: u64 = 16;

impl Patience {
    pub(super) const fn new(base: u32) -> Self {
        Self { base, doublings: 0, frame: 0, gave_away: None }
    }

    /// Frames that a block may be empty now.
    pub(super) const fn grace(&self) -> u32 {
        self.base.saturating_mul(1 << self.doublings)
    }

    /// A frame has ended.
    pub(super) fn end_frame(&mut self) {
        self.frame += 1;
        let is_unmissed = |at| self.frame - at > RELIEF * u64::from(self.grace());
        if self.gave_away.is_some_and(is_unmissed) {
            self.gave_away = None;
            self.doublings = self.doublings.saturating_sub(1);
        }
    }

    /// Blocks were given away.
    pub(super) fn gave_away(&mut self) {
        self.gave_away = Some(self.frame);
    }

    /// A block had to be taken.
    pub(super) fn took(&mut self) {
        let (frame, regret) = (self.frame, REGRET * u64::from(self.grace()));
        if self.gave_away.take_if(|at| frame - *at <= regret).is_some() {
            self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Patience;

    fn wait(patience: &mut Patience, frames: u32) {
        (0..frames).for_each(|_| patience.end_frame());
    }

    #[test]
    fn a_regretted_gift_doubles_the_grace() {
        let mut patience = Patience::new(16);
        patience.took();
        assert_eq!(patience.grace(), 16, "growing alone is no regret");
        patience.gave_away();
        wait(&mut patience, 64);
        patience.took();
        assert_eq!(patience.grace(), 32);
        for _ in 0..20 {
            patience.gave_away();
            patience.took();
        }
        assert_eq!(patience.grace(), 16 << 6, "but not without end");
    }

    #[test]
    fn a_gift_that_is_not_missed_shortens_it_again() {
        let mut patience = Patience::new(16);
        patience.gave_away();
        patience.took();
        patience.gave_away();
        wait(&mut patience, 16 * 32);
        assert_eq!(patience.grace(), 32);
        wait(&mut patience, 1);
        assert_eq!(patience.grace(), 16);
        patience.took();
        assert_eq!(patience.grace(), 16, "missed too late to be a regret");
    }

    #[test]
    fn no_grace_stays_no_grace() {
        let mut patience = Patience::new(0);
        patience.gave_away();
        patience.took();
        assert_eq!(patience.grace(), 0);
    }
}
