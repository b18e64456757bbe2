//! What a replay wants to know of a device beyond the contract.

use tenure::device::{Device, State};
use tenure::sim;
use tenure::sim::CallKind;

/// A device's own counters, which owe nothing to tenure's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Bytes taken from the driver now: heaps and committed resources.
    pub reserved_bytes: u64,
    /// The most bytes ever taken at once.
    pub peak_reserved_bytes: u64,
    /// Memory allocations ever made: heaps and committed resources.
    pub allocations: u64,
    /// Heaps and resources ever created.
    pub creates: u64,
    /// Heaps and resources ever destroyed.
    pub destroys: u64,
    /// Nanoseconds that the calls so far would take, by the device's model of a driver.
    pub cost_ns: u64,
}

/// A device that a recording can be replayed on.
pub trait Metered: Device {
    /// The counters at this moment.
    fn meter(&self) -> Meter;

    /// Records a draw that reads `bytes` at `offset` of a vertex buffer, and checks that they are
    /// what it reads, where the device can.
    fn draw(list: &mut Self::List, buffer: &Self::Resource, offset: u64, bytes: &[u8]);
}

impl Metered for sim::Device {
    fn meter(&self) -> Meter {
        let calls = self.calls();
        let succeeded = |kind| calls.made(kind).saturating_sub(calls.failed(kind));
        let sum = |kinds: &[CallKind]| kinds.iter().map(|&kind| succeeded(kind)).sum();
        Meter {
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

    fn draw(list: &mut sim::List, buffer: &sim::Resource, offset: u64, bytes: &[u8]) {
        list.use_buffer(buffer, offset, bytes.len() as u64, State::VERTEX_OR_CONSTANT);
        list.expect_bytes(buffer, offset, bytes);
    }
}
