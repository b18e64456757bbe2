//! Services of a frame: constants, upload rings, uploads, readbacks, recording contexts on the simulated device
//! with all of its checks.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::memory::PoolKind;
use tenure_core::{Config, Gpu};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

mod beside_pages;
mod constants;
mod contexts;
mod copies;
mod divided;
mod divided_waits;
mod frames;
mod gathered;
mod growth;
mod in_place;
mod in_place_textures;
mod inside;
mod model;
mod pending;
mod read_only;
mod read_only_races;
mod readbacks;
mod ring;
mod texels;
mod together;
mod uploads;
mod visible;
#[path = "../support/waits.rs"]
mod waits;
mod wakers;
mod without_frames;

const SECOND: Duration = Duration::from_secs(1);

fn device(profile: Profile, lag: Lag) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(lag).seed(11))
}

fn gpu(device: &Device, config: Config) -> Gpu<Device> {
    Gpu::new(device.clone(), config).unwrap()
}

/// Live ranges of the pools of a kind.
fn live(gpu: &Gpu<Device>, kind: PoolKind) -> u64 {
    let pools = gpu.stats().pools;
    pools.iter().filter(|pool| pool.kind == kind).map(|pool| pool.allocations).sum()
}

/// Waits for everything and reclaims dropped objects.
fn finish(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
    gpu.reclaim().unwrap();
}

/// The end of every test: nothing is left and nothing went wrong.
#[track_caller]
fn end(gpu: Gpu<Device>, device: &Device) {
    device.run_until_idle();
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.is_clean(), "{report:?}");
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}
