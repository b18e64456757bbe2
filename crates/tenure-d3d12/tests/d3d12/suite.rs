//! The common suite of all devices, with heap tier 2 and as on tier 1.

/// One kind of heap holds everything.
mod tier2 {
    use std::time::Duration;

    use tenure_d3d12::DeviceConfig;

    use crate::harness::D3d12;

    fn harness() -> D3d12 {
        let sizes = &[[1920, 1080], [3840, 2160]];
        D3d12::new(DeviceConfig::default()).threads(Duration::from_secs(1)).rendering(12, sizes)
    }

    conformance::suite!(harness());
}

/// Buffers, targets and other textures have separate heaps.
mod tier1 {
    use tenure_d3d12::DeviceConfig;

    use crate::harness::D3d12;

    /// A thousand steady frames are enough on the other tier.
    const STEADY: u64 = 200;

    fn harness() -> D3d12 {
        D3d12::new(DeviceConfig::default().heap_tier_2(false)).frames(STEADY)
    }

    conformance::suite!(harness());
}
