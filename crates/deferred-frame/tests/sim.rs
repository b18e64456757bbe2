//! Frames on the simulated device, which checks everything.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use deferred_frame::{Renderer, Sharing};
use tenure::sim::{Device, DeviceConfig, Lag, Profile};
use tenure::{Config, Gpu};

#[test]
fn frames_are_the_same_however_their_memory_is_shared() {
    for profile in [Profile::D3D12_TIER2, Profile::VULKAN_NVIDIA] {
        let mut seen = Vec::new();
        for sharing in [Sharing::Apart, Sharing::Online, Sharing::Planned] {
            let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Random { max: 6 }).seed(3));
            let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
            let mut renderer = Renderer::new(&gpu, [320, 180], sharing).unwrap();
            for _ in 0..5 {
                renderer.render().unwrap_or_else(|error| panic!("{sharing:?}: {error}"));
            }
            renderer.settle().unwrap_or_else(|error| panic!("{sharing:?}: {error}"));
            seen.push(renderer.digests().to_vec());
            drop(renderer);
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap_or_else(|hazards| panic!("{sharing:?}: {hazards}"));
        }
        assert_eq!(seen[0].len(), 5);
        assert!(seen.iter().all(|digests| *digests == seen[0]), "{seen:?}");
    }
}
