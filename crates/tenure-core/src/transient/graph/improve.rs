//! A little more search each time a plan is used, until it is as good as it gets.

use tenure_plan::PlanError;

use super::compiled::options;
use super::layout::{Best, Bounded, Problem, Way};
use super::pack::Spot;
use super::similar;

/// What must be gained for resources to be moved: this part of the peak, and so many bytes.
const WORTH: (u64, u64) = (64, 64 << 10);

/// How many searches in a row may gain nothing before there are no more.
const PATIENCE: u32 = 16;

/// After how many searches without gain one may use all of the budget, half as much before each.
const WARM_UP: u32 = 3;

/// What has been tried to improve a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Efforts {
    /// Each search begins elsewhere.
    searches: u64,
    /// How many of the last ones gained nothing.
    in_vain: u32,
}

/// A plan that is better, and what it costs.
#[derive(Debug)]
pub(super) struct Better {
    pub(super) plan: Best,
    /// How many resources must be made again.
    pub(super) moved: usize,
}

impl Efforts {
    /// Searches for a plan that is better by so much that it is worth moving resources, trying `nodes`
    /// placements at most.
    pub(super) fn search(
        &mut self,
        problem: &Problem,
        plan: &Best,
        nodes: u64,
    ) -> Result<Option<Better>, PlanError> {
        if nodes == 0 || self.in_vain >= PATIENCE {
            return Ok(None);
        }
        let peak = plan.layout.peak;
        let Some(most) = peak.checked_sub(WORTH.1.max(peak / WORTH.0)) else { return Ok(None) };
        let Some(way) = self.next_way(plan, most) else { return Ok(None) };
        self.searches = self.searches.saturating_add(1);
        let nodes = nodes >> WARM_UP.saturating_sub(self.in_vain);
        let resources = 0..problem.needs.len();
        let previous: Vec<Option<Spot>> =
            resources.map(|index| plan.layout.spot(index).map(|(_, spot)| spot)).collect();
        let found = problem.layout(way, &previous, &options(nodes, self.searches))?;
        let Some(Bounded { layout, .. }) = found.filter(|found| found.layout.peak <= most) else {
            self.in_vain += 1;
            return Ok(None);
        };
        self.in_vain = 0;
        let moved = similar::moved(&previous, &layout);
        Ok(Some(Better { plan: Best { layout, ..plan.clone() }, moved }))
    }

    /// The ways that may come to so few bytes take turns.
    fn next_way(&self, plan: &Best, most: u64) -> Option<Way> {
        let promising = || plan.ways.iter().filter(|(_, bound)| *bound <= most);
        let turn = self.searches.checked_rem(promising().count() as u64)?;
        promising().nth(usize::try_from(turn).ok()?).map(|(way, _)| *way)
    }

    /// How many searches there were.
    #[cfg(test)]
    pub(super) const fn searches(&self) -> u64 {
        self.searches
    }
}
