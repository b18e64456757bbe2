//! One of the two runs that are compared.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::replay::Outcome;

/// A run, and its file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) file: String,
    pub(super) strategy: String,
    pub(super) trace: String,
    pub(super) device: String,
    pub(super) profile: String,
    driver_time: String,
    pub(super) figures: Fields,
}

/// A line of `tenure replay --json`. Unknown fields, which later versions may add, are ignored.
#[derive(Deserialize)]
struct Line {
    strategy: String,
    trace: String,
    device: String,
    profile: String,
    driver_time: String,
    #[serde(flatten)]
    figures: Fields,
}

/// The figures of a run, as in [`Outcome`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Fields {
    pub(super) ops: u64,
    pub(super) frames: u64,
    pub(super) failed: u64,
    pub(super) peak_live_bytes: u64,
    pub(super) peak_live_allocations: u64,
    pub(super) peak_reserved_bytes: u64,
    pub(super) mean_reserved_bytes: u64,
    pub(super) reserved_at_end_bytes: u64,
    pub(super) driver_allocations: u64,
    pub(super) steady_state_driver_allocations: u64,
    pub(super) driver_creates: u64,
    pub(super) driver_destroys: u64,
    pub(super) driver_cost_ns: u64,
    pub(super) reads_checked: u64,
    pub(super) leaks: u64,
    pub(super) hazards: u64,
    pub(super) wall_ns: u64,
    pub(super) alloc_ns_p50: u64,
    pub(super) alloc_ns_p99: u64,
}

impl Run {
    pub(super) fn of_outcome(file: &str, outcome: &Outcome) -> Result<Self, CliError> {
        let line = serde_json::to_value(outcome).and_then(serde_json::from_value);
        line.map(|line| Self::new(file, line)).map_err(|error| CliError::Output(error.into()))
    }

    fn new(file: &str, line: Line) -> Self {
        let Line { strategy, trace, device, profile, driver_time, figures } = line;
        Self { file: file.to_owned(), strategy, trace, device, profile, driver_time, figures }
    }

    /// Whether its driver time was measured rather than modelled.
    pub(super) fn has_measured_driver_time(&self) -> bool {
        self.driver_time != "modelled"
    }

    /// Peak of live bytes divided by the peak of reserved bytes.
    pub(super) fn live_share(&self) -> f64 {
        let Fields { peak_live_bytes, peak_reserved_bytes, .. } = self.figures;
        if peak_reserved_bytes == 0 { 1.0 } else { peak_live_bytes as f64 / peak_reserved_bytes as f64 }
    }

    /// The file, recording, device, profile and strategy.
    pub(super) fn identity(&self) -> Value {
        let Self { file, strategy, trace, device, profile, .. } = self;
        json!({ "file": file, "trace": trace, "device": device, "profile": profile, "strategy": strategy })
    }

    /// Whether both runs used the same kind of device.
    pub(super) fn has_device_of(&self, other: &Self) -> bool {
        self.device == other.device && self.profile == other.profile
    }

    /// Whether both runs have the same totals of allocations, frees and frames.
    pub(super) const fn has_work_of(&self, other: &Self) -> bool {
        let (a, b) = (&self.figures, &other.figures);
        a.ops == b.ops && a.frames == b.frames && a.peak_live_bytes == b.peak_live_bytes
    }
}

/// Reads the lines of `tenure replay --json`. Skips empty lines and a byte order mark.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Run>, CliError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| match serde_json::from_str(line) {
            Ok(line) => Ok(Run::new(file, line)),
            Err(error) => Err(CliError::Result { name: file.to_owned(), line: number as u64 + 1, error }),
        })
        .collect()
}
