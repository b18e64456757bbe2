//! The streamer on a driver with less memory than it reports.

use tenure::Gpu;
use tenure::sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Profile};
use voxel_world::Result;

use crate::BUDGET;
use crate::options::Options;
use crate::streamer::Streamer;

/// A refused load is repeated in a later frame, and is not an error.
#[test]
fn refused_loads_are_repeated_later() -> Result<()> {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).budgets([BUDGET]));
    let mut streamer = Streamer::new(Gpu::new(device.clone(), Options::config())?)?;
    let mut frames = 0..;
    let mut fly = |count| frames.by_ref().take(count).try_for_each(|number| streamer.frame(number));
    fly(6)?;
    for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
        // There is memory for readbacks.
        let refusal = Fault::nth(1, FaultKind::OutOfMemory).of(call).larger_than(256 << 10);
        device.faults().inject(refusal.onwards());
    }
    fly(6)?;
    let calls = device.calls();
    let refused = calls.failed(CallKind::CreateHeap) + calls.failed(CallKind::CreateCommitted);
    assert!(refused > 0, "nothing was refused");
    device.faults().clear();
    let before = device.calls().reserved_bytes;
    fly(6)?;
    assert!(device.calls().reserved_bytes > before, "nothing was loaded after that");
    Ok(())
}
