//! The progress of a simulated GPU while a thread of the CPU waits for it.

use std::thread;
use std::time::{Duration, Instant};

use tenure_sim::{CallKind, Device};

/// The minimum age of a wait that [`until_one_more`] reports.
pub(crate) const LEAST: Duration = Duration::from_millis(20);

/// The number of waits for the GPU begun so far.
pub(crate) fn begun(device: &Device) -> u64 {
    device.calls().made(CallKind::Wait)
}

/// Returns when another thread has begun one more wait than `before`, at least [`LEAST`] ago. However late the
/// threads run, later events happen during that wait.
///
/// # Panics
/// When no thread waits for half a minute.
pub(crate) fn until_one_more(device: &Device, before: u64) {
    let start = Instant::now();
    while begun(device) <= before {
        assert!(start.elapsed() < Duration::from_secs(30), "nobody waits for the GPU");
        thread::yield_now();
    }
    thread::sleep(LEAST);
}
