//! The measurements of this process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fs};

use serde_json::{Value, json};

/// The variable that names the file.
const FILE: &str = "TENURE_FIGURES";

static FIGURES: Mutex<Figures> = Mutex::new(Figures::new());

fn figures() -> MutexGuard<'static, Figures> {
    FIGURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The figures of all allocators of the process together.
struct Figures {
    /// Nanoseconds of each call.
    allocates: Vec<u64>,
    frees: Vec<u64>,
    /// Bytes that live.
    live: Peak,
    /// Bytes of all blocks.
    reserved: Peak,
    blocks: Peak,
}

impl Figures {
    const fn new() -> Self {
        Self {
            allocates: Vec::new(),
            frees: Vec::new(),
            live: Peak::ZERO,
            reserved: Peak::ZERO,
            blocks: Peak::ZERO,
        }
    }
}

/// A number that rises and falls.
struct Peak {
    now: u64,
    most: u64,
}

impl Peak {
    const ZERO: Self = Self { now: 0, most: 0 };

    fn change(&mut self, from: u64, to: u64) {
        self.now = self.now.saturating_sub(from).saturating_add(to);
        self.most = self.most.max(self.now);
    }
}

/// The contents of one allocator.
#[derive(Debug, Default)]
pub(crate) struct Share {
    live: u64,
    reserved: u64,
    blocks: u64,
}

impl Share {
    /// Notes a call; 0 bytes when it failed.
    pub(crate) fn allocated(&mut self, took: Duration, bytes: u64) {
        self.live = self.live.saturating_add(bytes);
        let mut figures = figures();
        figures.allocates.push(nanoseconds(took));
        figures.live.change(0, bytes);
    }

    pub(crate) fn freed(&mut self, took: Duration, bytes: u64) {
        self.live = self.live.saturating_sub(bytes);
        let mut figures = figures();
        figures.frees.push(nanoseconds(took));
        figures.live.change(bytes, 0);
    }

    /// Bytes of its blocks.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(crate) fn reserves(&mut self, bytes: u64, blocks: usize) {
        let blocks = blocks as u64;
        let mut figures = figures();
        figures.reserved.change(self.reserved, bytes);
        figures.blocks.change(self.blocks, blocks);
        (self.reserved, self.blocks) = (bytes, blocks);
    }

    /// It is empty now.
    pub(crate) fn end(&mut self) {
        self.reserves(0, 0);
        figures().live.change(self.live, 0);
        self.live = 0;
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes the measurements so far to the file, if one is named.
pub(crate) fn write() {
    let Some(file) = env::var_os(FILE) else { return };
    let text = format!("{}\n", summary(&figures()));
    if let Err(error) = fs::write(&file, text) {
        log::error!("{}: {error}", file.display());
    }
}

/// Calls with the median, the 99th percentile and the sum of their times in nanoseconds; the peaks of live and
/// reserved bytes; the peak number of blocks.
fn summary(figures: &Figures) -> Value {
    let Figures { allocates, frees, live, reserved, blocks } = figures;
    json!({
        "allocate": calls(allocates),
        "free": calls(frees),
        "peak_live": live.most,
        "peak_reserved": reserved.most,
        "peak_blocks": blocks.most,
    })
}

fn calls(times: &[u64]) -> Value {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0);
    json!({ "count": sorted.len(), "p50": at(50), "p99": at(99), "total": sorted.iter().sum::<u64>() })
}

#[cfg(test)]
mod tests {
    use super::{Peak, calls};

    #[test]
    fn peaks_outlast_later_decreases() {
        let mut bytes = Peak::ZERO;
        bytes.change(0, 5);
        bytes.change(5, 3);
        bytes.change(0, 1);
        assert_eq!((bytes.now, bytes.most), (4, 5));
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times: Vec<u64> = (1..=200).rev().collect();
        let said = calls(&times);
        assert_eq!((said["p50"].as_u64(), said["p99"].as_u64()), (Some(101), Some(199)));
        assert_eq!(said["total"].as_u64(), Some(20_100));
        assert_eq!(calls(&[])["p99"].as_u64(), Some(0));
    }
}
