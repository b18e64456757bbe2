//! The criteria for configurations.

use serde::Serialize;

use crate::replay::{Outcome, Verdict};

/// The figures of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Figures {
    /// The most bytes taken from the driver at once.
    pub(super) peak_reserved_bytes: u64,
    /// Mean of the bytes taken from the driver at the ends of frames: it shows unused memory that is kept, unlike
    /// the peak.
    pub(super) mean_reserved_bytes: u64,
    /// Memory allocations of the driver.
    pub(super) driver_allocations: u64,
    /// The driver's time in nanoseconds, by the simulated device's model.
    pub(super) driver_cost_ns: u64,
    /// Creations that failed, leaks and hazards.
    pub(super) faults: u64,
}

impl Figures {
    pub(super) fn of(outcome: &Outcome) -> Self {
        Self {
            peak_reserved_bytes: outcome.peak_reserved_bytes,
            mean_reserved_bytes: outcome.mean_reserved_bytes,
            driver_allocations: outcome.driver_allocations,
            driver_cost_ns: outcome.driver_cost_ns,
            faults: outcome.failed.saturating_add(outcome.leaks).saturating_add(outcome.hazards),
        }
    }

    /// The figures that enter the score.
    const fn judged(&self) -> [u64; 4] {
        [self.peak_reserved_bytes, self.mean_reserved_bytes, self.driver_allocations, self.driver_cost_ns]
    }

    pub(super) const fn verdict(&self) -> Verdict {
        if self.faults == 0 { Verdict::Clean } else { Verdict::Faulty }
    }
}

/// The score of replays relative to the default's with the same seeds: the weighted geometric mean of the ratios
/// of their figures. 1 for the default; less is better. `None` for replays with more faults.
pub(super) fn score(replays: &[Figures], default: &[Figures], weights: [f64; 4]) -> Option<f64> {
    let mut sum = 0.0;
    for (replay, default) in replays.iter().zip(default) {
        if replay.faults > default.faults {
            return None;
        }
        for ((figure, default), weight) in replay.judged().into_iter().zip(default.judged()).zip(weights) {
            // So that 0 has a ratio, too.
            sum += weight * ((figure as f64 + 1.0) / (default as f64 + 1.0)).ln();
        }
    }
    let weight = weights.iter().sum::<f64>() * replays.len().max(1) as f64;
    Some((sum / weight).exp())
}

#[cfg(test)]
mod tests {
    use super::{Figures, score};

    const WEIGHTS: [f64; 4] = [2.0, 0.0, 1.0, 1.0];

    fn figures(peak_reserved_bytes: u64, faults: u64) -> Figures {
        Figures {
            peak_reserved_bytes,
            mean_reserved_bytes: 5,
            driver_allocations: 9,
            driver_cost_ns: 99,
            faults,
        }
    }

    #[test]
    fn scores_are_weighted_geometric_means() {
        let default = [figures(999, 0)];
        assert_eq!(score(&default, &default, WEIGHTS), Some(1.0));
        let half = score(&[figures(499, 0)], &default, WEIGHTS).unwrap();
        assert!((half - 0.5_f64.sqrt()).abs() < 1e-12, "{half}");
        let both = score(&[figures(499, 0), figures(999, 0)], &[default[0]; 2], WEIGHTS).unwrap();
        assert!((both - 0.5_f64.powf(0.25)).abs() < 1e-12, "{both}");
    }

    #[test]
    fn more_faults_have_no_score() {
        assert_eq!(score(&[figures(1, 1)], &[figures(999, 0)], WEIGHTS), None);
        assert!(score(&[figures(1, 1)], &[figures(999, 1)], WEIGHTS).is_some());
    }

    #[test]
    fn empty_figures_score_1() {
        let nothing = [Figures::default()];
        assert_eq!(score(&nothing, &nothing, WEIGHTS), Some(1.0));
        assert_eq!(score(&[], &[], WEIGHTS), Some(1.0));
    }
}
