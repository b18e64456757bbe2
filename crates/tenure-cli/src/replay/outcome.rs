//! The outcome of a replay.

use serde::Serialize;
use tenure_trace::Summary;

use super::Job;
use super::meter::DriverTime;
use super::session::Measured;

/// The number of shown findings of each kind.
const SHOWN: usize = 5;

/// The outcome of one replay. Sizes are in bytes; it is serialised as one JSON object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The recording's name.
    pub trace: String,
    /// The kind of device: `sim`, `vulkan` or `d3d12`.
    pub device: &'static str,
    /// The hardware profile of the simulated device; the name of a real one.
    pub profile: String,
    /// The source of the hazard reports.
    pub watch: Watch,
    /// The placement strategy: `committed`, `placed` or `pooled`.
    pub strategy: &'static str,
    /// Allocations and frees in the recording.
    pub ops: u64,
    /// Frames in the recording.
    pub frames: u64,
    /// Creations that failed.
    pub failed: u64,
    /// Peak of the bytes that the recorded program held.
    pub peak_live_bytes: u64,
    /// Peak number of allocations that the recorded program held.
    pub peak_live_allocations: u64,
    /// Peak of the bytes taken from the driver, by the device's count.
    pub peak_reserved_bytes: u64,
    /// Mean of the bytes taken from the driver at the ends of frames.
    pub mean_reserved_bytes: u64,
    /// Bytes still taken from the driver at the end of the recording, with the GPU idle.
    pub reserved_at_end_bytes: u64,
    /// The total number of driver memory allocations.
    pub driver_allocations: u64,
    /// The driver memory allocations in the second half of the frames.
    pub steady_state_driver_allocations: u64,
    /// The total number of heaps and resources that the driver created.
    pub driver_creates: u64,
    /// The total number of heaps and resources that the driver destroyed.
    pub driver_destroys: u64,
    /// The source of `driver_cost_ns`.
    pub driver_time: DriverTime,
    /// Nanoseconds of the driver's time.
    pub driver_cost_ns: u64,
    /// Reads by the GPU whose bytes were checked.
    pub reads_checked: u64,
    /// Objects left after the shutdown.
    pub leaks: u64,
    /// Hazards found, including wrong bytes.
    pub hazards: u64,
    /// Nanoseconds from the first step to the last, including the device's checks.
    pub wall_ns: u64,
    /// Median time of a creation in nanoseconds.
    pub alloc_ns_p50: u64,
    /// 99th percentile of the time of a creation in nanoseconds.
    pub alloc_ns_p99: u64,
    /// The manager's own value of `peak_reserved_bytes`.
    pub stats_peak_reserved_bytes: u64,
    /// Figures of the recording that a replay does not repeat.
    pub recorded: Recorded,
    /// Texts of the first findings.
    #[serde(skip)]
    pub findings: Vec<String>,
}

/// Figures of a recording about memory that tenure does not place. All are 0 if the recording has no such events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Peak of the bytes that the program itself reserved in blocks.
    pub own_peak_reserved_bytes: u64,
    /// The total number of the program's blocks, its own driver memory allocations.
    pub own_driver_allocations: u64,
    /// Peak number of blocks.
    pub own_peak_driver_allocations: u64,
    /// Aliases, which are left out.
    pub aliases: u64,
    /// Resources in imported memory, which are left out.
    pub imports: u64,
}

impl From<&Summary> for Recorded {
    fn from(summary: &Summary) -> Self {
        Self {
            own_peak_reserved_bytes: summary.peak_block_bytes,
            own_driver_allocations: summary.blocks,
            own_peak_driver_allocations: summary.peak_blocks,
            aliases: summary.aliases,
            imports: summary.imports,
        }
    }
}

/// The source of the hazard reports of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// The simulated device.
    Device,
    /// The API's validation layer, and the replay for wrong bytes.
    Validation,
    /// Only the replay, for wrong bytes.
    Replay,
}

/// The device's properties, and the leaks and hazards found on it.
pub(super) struct Found {
    pub(super) device: &'static str,
    pub(super) profile: String,
    pub(super) driver_time: DriverTime,
    pub(super) watch: Watch,
    pub(super) leaks: Vec<String>,
    pub(super) leaks_found: u64,
    pub(super) hazards: Vec<String>,
    pub(super) hazards_found: u64,
}

impl Outcome {
    pub(super) fn new(job: &Job<'_>, found: Found, measured: Measured) -> Self {
        let Found { device, profile, driver_time, watch, leaks, leaks_found, hazards, hazards_found } = found;
        let Job { name, summary, program, strategy, .. } = *job;
        let mut findings: Vec<String> =
            measured.reasons.iter().map(|reason| format!("failed: {reason}")).collect();
        let leaked = measured.left_over.iter().chain(&leaks);
        findings.extend(leaked.take(SHOWN).map(|leak| format!("leak: {leak}")));
        findings.extend(hazards.iter().take(SHOWN).map(|hazard| format!("hazard: {hazard}")));
        let driver_allocations = measured.at_end.allocations;
        Self {
            trace: name.to_owned(),
            device,
            profile,
            watch,
            strategy: strategy.name(),
            ops: summary.allocs.saturating_add(summary.frees),
            frames: summary.frames,
            failed: measured.failed,
            peak_live_bytes: program.peak_live_bytes,
            peak_live_allocations: summary.peak_live_allocations,
            peak_reserved_bytes: measured.at_end.peak_reserved_bytes,
            mean_reserved_bytes: measured.mean_reserved(),
            reserved_at_end_bytes: measured.at_end.reserved_bytes,
            driver_allocations,
            steady_state_driver_allocations: driver_allocations
                .saturating_sub(measured.allocations_in_first_half),
            driver_creates: measured.after_shutdown.creates,
            driver_destroys: measured.after_shutdown.destroys,
            driver_time,
            driver_cost_ns: measured.after_shutdown.cost_ns,
            reads_checked: measured.reads_checked,
            leaks: leaks_found.saturating_add(measured.left_over.len() as u64),
            hazards: hazards_found,
            wall_ns: u64::try_from(measured.wall.as_nanos()).unwrap_or(u64::MAX),
            alloc_ns_p50: percentile(&measured.create_ns, 50),
            alloc_ns_p99: percentile(&measured.create_ns, 99),
            stats_peak_reserved_bytes: measured.stats_peak_reserved,
            recorded: Recorded::from(summary),
            findings,
        }
    }

    /// Peak of the program's live bytes divided by the peak of the bytes taken from the driver.
    #[must_use]
    pub fn live_share(&self) -> f64 {
        if self.peak_reserved_bytes == 0 {
            return 1.0;
        }
        self.peak_live_bytes as f64 / self.peak_reserved_bytes as f64
    }

    /// Clean if nothing failed, leaked or was hazardous.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        if self.failed == 0 && self.leaks == 0 && self.hazards == 0 {
            Verdict::Clean
        } else {
            Verdict::Faulty
        }
    }
}

/// The verdict on a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing failed, leaked or was hazardous.
    Clean,
    /// Something failed, leaked or was hazardous.
    Faulty,
}

/// The nearest-rank percentile of sorted values; 0 for an empty list.
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
