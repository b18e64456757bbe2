//! What came out of a replay.

use serde::Serialize;
use tenure::Strategy;
use tenure_trace::Summary;

use super::session::Measured;

/// Findings shown of each kind.
const SHOWN: usize = 5;

/// What came out of one replay. Sizes are bytes; serialised it is one JSON object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The recording's name.
    pub trace: String,
    /// The kind of device.
    pub device: &'static str,
    /// The hardware profile of the device.
    pub profile: &'static str,
    /// Where resources went: `committed`, `placed` or `tenure`.
    pub strategy: &'static str,
    /// Allocations and frees in the recording.
    pub ops: u64,
    /// Frames in the recording.
    pub frames: u64,
    /// Creations that failed.
    pub failed: u64,
    /// The most bytes that the recorded program held at once.
    pub peak_live_bytes: u64,
    /// The most allocations that the recorded program held at once.
    pub peak_live_allocations: u64,
    /// The most bytes taken from the driver at once, by the device's count.
    pub peak_reserved_bytes: u64,
    /// Bytes still taken from the driver when the recording was over and the GPU idle.
    pub reserved_at_end_bytes: u64,
    /// Memory allocations that the driver ever made.
    pub driver_allocations: u64,
    /// Those of them made in the second half of the frames.
    pub steady_state_driver_allocations: u64,
    /// Heaps and resources that the driver ever created.
    pub driver_creates: u64,
    /// Heaps and resources that the driver ever destroyed.
    pub driver_destroys: u64,
    /// Nanoseconds of all driver calls, by the device's model.
    pub driver_cost_ns: u64,
    /// Objects left over after shutting down.
    pub leaks: u64,
    /// Hazards that the device found.
    pub hazards: u64,
    /// Nanoseconds from the first step to the last, the device's checks included.
    pub wall_ns: u64,
    /// Nanoseconds of a creation, median.
    pub alloc_ns_p50: u64,
    /// Nanoseconds of a creation, 99th percentile.
    pub alloc_ns_p99: u64,
    /// The manager's own count of `peak_reserved_bytes`.
    #[serde(skip)]
    pub stats_peak_reserved: u64,
    /// The first findings, in words.
    #[serde(skip)]
    pub findings: Vec<String>,
}

/// What an outcome is made of beside the measurements.
pub(super) struct Source<'a> {
    pub(super) trace: &'a str,
    pub(super) summary: &'a Summary,
    pub(super) device: &'static str,
    pub(super) profile: &'static str,
    pub(super) strategy: Strategy,
    pub(super) leaks: Vec<String>,
    pub(super) hazards: Vec<String>,
    pub(super) hazards_found: u64,
}

impl Outcome {
    pub(super) fn new(source: Source<'_>, measured: Measured) -> Self {
        let Source { trace, summary, device, profile, strategy, leaks, hazards, hazards_found } = source;
        let mut findings: Vec<String> =
            measured.reasons.iter().map(|reason| format!("failed: {reason}")).collect();
        let leaked = measured.left_over.iter().chain(&leaks);
        findings.extend(leaked.take(SHOWN).map(|leak| format!("leak: {leak}")));
        findings.extend(hazards.iter().take(SHOWN).map(|hazard| format!("hazard: {hazard}")));
        let driver_allocations = measured.at_end.allocations;
        Self {
            trace: trace.to_owned(),
            device,
            profile,
            strategy: strategy_name(strategy),
            ops: summary.allocs.saturating_add(summary.frees),
            frames: summary.frames,
            failed: measured.failed,
            peak_live_bytes: summary.peak_live_bytes,
            peak_live_allocations: summary.peak_live_allocations,
            peak_reserved_bytes: measured.at_end.peak_reserved_bytes,
            reserved_at_end_bytes: measured.at_end.reserved_bytes,
            driver_allocations,
            steady_state_driver_allocations: driver_allocations
                .saturating_sub(measured.allocations_in_first_half),
            driver_creates: measured.after_shutdown.creates,
            driver_destroys: measured.after_shutdown.destroys,
            driver_cost_ns: measured.after_shutdown.cost_ns,
            leaks: (measured.left_over.len() + leaks.len()) as u64,
            hazards: hazards_found,
            wall_ns: u64::try_from(measured.wall.as_nanos()).unwrap_or(u64::MAX),
            alloc_ns_p50: percentile(&measured.create_ns, 50),
            alloc_ns_p99: percentile(&measured.create_ns, 99),
            stats_peak_reserved: measured.stats_peak_reserved,
            findings,
        }
    }

    /// The share of what was taken from the driver that the program asked for, both at their peak.
    #[must_use]
    pub fn live_share(&self) -> f64 {
        if self.peak_reserved_bytes == 0 {
            return 1.0;
        }
        self.peak_live_bytes as f64 / self.peak_reserved_bytes as f64
    }

    /// Whether it went as it should.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        if self.failed == 0 && self.leaks == 0 && self.hazards == 0 {
            Verdict::Clean
        } else {
            Verdict::Faulty
        }
    }
}

/// Whether a replay went as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing failed, leaked or was hazardous.
    Clean,
    /// Something did.
    Faulty,
}

/// The name of a strategy on the command line and in JSON.
pub(crate) const fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Committed => "committed",
        Strategy::Placed => "placed",
        Strategy::Tenure => "tenure",
    }
}

/// The nearest-rank percentile of sorted values; 0 of none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&hundred, percent)), [50, 99, 100]);
        assert_eq!([50, 99].map(|percent| percentile(&[7], percent)), [7, 7]);
        assert_eq!(percentile(&[1, 2, 3], 50), 2);
        assert_eq!(percentile(&[], 99), 0);
    }
}
