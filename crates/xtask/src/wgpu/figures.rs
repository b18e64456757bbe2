//! The measurements of `programs/timed`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::outcome::Trouble;

/// The figures of one run of a program.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
pub(super) struct Figures {
    pub(super) allocate: Calls,
    pub(super) free: Calls,
    /// Bytes.
    pub(super) peak_live: u64,
    /// Bytes.
    pub(super) peak_reserved: u64,
    pub(super) peak_blocks: u64,
}

/// The counts and times of calls, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
pub(super) struct Calls {
    pub(super) count: u64,
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) total: u64,
}

impl Figures {
    pub(super) fn read(file: &Path) -> Result<Self, Trouble> {
        let failed = |error: &dyn std::fmt::Display| {
            Trouble::Failed(format!("no figures in {}: {error}", file.display()))
        };
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    /// Nanoseconds in the allocator.
    pub(super) fn total(&self) -> u64 {
        self.allocate.total + self.free.total
    }
}

/// One number of some runs of the same program.
pub(super) fn median(runs: &[Figures], number: impl Fn(&Figures) -> u64) -> u64 {
    let mut numbers: Vec<_> = runs.iter().map(number).collect();
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Figures, median};

    #[test]
    fn a_median_is_of_one_number_alone() {
        let run = |peak_live, peak_blocks| Figures { peak_live, peak_blocks, ..Figures::default() };
        let runs = [run(5, 1), run(1, 2), run(3, 9)];
        assert_eq!(median(&runs, |run| run.peak_live), 3);
        assert_eq!(median(&runs, |run| run.peak_blocks), 2);
        assert_eq!(median(&[], |run| run.peak_live), 0);
    }
}
