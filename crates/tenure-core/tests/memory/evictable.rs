//! Shared code of the tests of evictable resources.

use std::time::Duration;

use tenure_core::{BufferDesc, Config, Gpu, PoolConfig, Usage};
use tenure_sim::{Device, DeviceConfig, Paging};

/// A manager with a short timeout, on a device that pages.
pub(crate) fn with(options: DeviceConfig) -> Gpu<Device> {
    let max_wait = Duration::from_millis(20);
    let config = Config::default().pools(PoolConfig::default().max_wait(max_wait));
    Gpu::new(Device::with_config(options.paging(Paging::PCIE4_X16)), config).unwrap()
}

pub(crate) fn evictable(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ | Usage::COPY_SRC).name("evictable").evictable()
}

pub(crate) fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

/// Ends frames until all idle blocks are evicted.
pub(crate) fn evict_all(gpu: &Gpu<Device>) {
    gpu.device().set_budget(0, 1).unwrap();
    (0..8).for_each(|_| end_frame(gpu));
}
