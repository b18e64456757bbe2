//! The counters of a device, which are independent of the manager's statistics.

use serde::Serialize;
use tenure::sim;
use tenure::sim::CallKind;

/// A device's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes currently taken from the driver: heaps and committed resources.
    pub reserved_bytes: u64,
    /// The peak of these bytes.
    pub peak_reserved_bytes: u64,
    /// The total number of memory allocations: heaps and committed resources.
    pub allocations: u64,
    /// The total number of heaps and resources created.
    pub creates: u64,
    /// The total number of heaps and resources destroyed.
    pub destroys: u64,
    /// The driver's time so far in nanoseconds: see [`DriverTime`].
    pub cost_ns: u64,
}

/// The source of a device's driver time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverTime {
    /// All calls, by the simulated device's model of a driver.
    Modelled,
    /// The calls about memory, by the clock.
    Measured,
}

impl Meter {
    /// The counters of a simulated device.
    pub fn of(device: &sim::Device) -> Self {
        let calls = device.calls();
        let succeeded = |kind| calls.made(kind).saturating_sub(calls.failed(kind));
        let sum = |kinds: &[CallKind]| kinds.iter().map(|&kind| succeeded(kind)).sum();
        Self {
            reserved_bytes: calls.reserved_bytes,
            peak_reserved_bytes: calls.peak_reserved_bytes,
            allocations: sum(&[CallKind::CreateHeap, CallKind::CreateCommitted]),
            creates: sum(&[
                CallKind::CreateHeap,
                CallKind::CreateCommitted,
                CallKind::CreatePlaced,
                CallKind::CreateReserved,
            ]),
            destroys: sum(&[CallKind::DestroyHeap, CallKind::DestroyResource]),
            cost_ns: calls.cost_ns,
        }
    }
}
