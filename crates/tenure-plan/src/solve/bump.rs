//! The order of the pass before, with what was in the way moved to its front.
//!
//! This is squeaky wheel optimisation (Joslin and Clements, 1999): what was hard to place comes first
//! the next time. Most passes end early, where an item passes the best peak there is.

use crate::skyline::{Pass, Skyline};

/// An order, and the first item by which its last pass missed the goal.
pub(super) struct Bumps {
    order: Vec<u32>,
    above: Option<u32>,
}

impl Bumps {
    /// Makes the first pass.
    pub(super) fn new(
        order: Vec<u32>,
        skyline: &mut Skyline<'_>,
        goal: u64,
        stop: impl FnMut() -> bool,
    ) -> (Self, Pass) {
        let pass = skyline.pass_towards(goal, &order, u64::MAX, stop);
        (Self { order, above: pass.above }, pass)
    }

    /// Makes the next pass, for a plan below `peak`. There is none after one that reached the goal.
    pub(super) fn pass(
        &mut self,
        skyline: &mut Skyline<'_>,
        goal: u64,
        peak: u64,
        stop: impl FnMut() -> bool,
    ) -> Option<Pass> {
        let item = self.above?;
        let at = self.order.iter().position(|other| *other == item)?;
        self.order[..=at].rotate_right(1);
        let pass = skyline.pass_towards(goal, &self.order, peak, stop);
        self.above = pass.above;
        Some(pass)
    }
}
