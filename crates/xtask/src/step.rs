//! Steps of the test command, and their results.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Trouble};
use crate::times::TestTime;

/// The settings for running the steps.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// A device that cannot be had is a failure.
    pub(crate) is_strict: bool,
    /// Vulkan on this machine's own driver.
    pub(crate) is_native: bool,
    /// Outputs that only one step uses are removed after it.
    pub(crate) is_lean: bool,
    /// Only the checks before each commit.
    pub(crate) is_quick: bool,
}

/// Which steps do not run beside each other: see `schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Builds in the target folder of the workspace, with the profile `dev`.
    Workspace,
    /// Builds elsewhere.
    Apart,
}

/// One thing that must hold.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) lane: Lane,
    pub(crate) run: fn(Settings) -> Outcome,
}

/// The report of a step; a step in its own process writes it to a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    /// Seconds of CPU time, where the system says.
    pub(crate) cpu: Option<f64>,
    pub(crate) tests: Vec<TestTime>,
}

impl Default for Report {
    fn default() -> Self {
        Self { outcome: Ok(()), cpu: None, tests: Vec::new() }
    }
}

/// The result of a step.
pub(crate) struct StepResult {
    pub(crate) name: &'static str,
    pub(crate) time: Duration,
    pub(crate) report: Report,
}

impl StepResult {
    pub(crate) fn new(name: &'static str, report: Report, time: Duration, is_strict: bool) -> Self {
        let outcome = report.outcome.map_err(|trouble| trouble.judged(is_strict));
        Self { name, time, report: Report { outcome, ..report } }
    }

    /// The outcome: `passed`, or the text of the failure.
    pub(crate) fn said(&self) -> String {
        self.report.outcome.as_ref().err().map_or_else(|| "passed".to_owned(), Trouble::to_string)
    }
}
