//! A program that depends on the crate `tenure` alone, with the features `sim` and `serde`.

use tenure::bytemuck::{Pod, Zeroable};
use tenure::prelude::*;
use tenure::sim;

/// The steps for a draw call, as in a program: the derive macros of the re-exported crate work, too, with
/// `#[bytemuck(crate = "tenure::bytemuck")]`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Camera {
    view: [f32; 16],
}

// SAFETY: an array of floats: no padding, and all bit patterns are values.
unsafe impl Zeroable for Camera {}
// SAFETY: as above.
unsafe impl Pod for Camera {}

#[test]
fn constants_need_no_other_crate() {
    let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let (_, scratch) = recording.split();
    let camera = scratch.constants(&Camera { view: [1.0; 16] }).unwrap();
    assert!(camera.gpu_address().is_some());
    recording.submit().unwrap();
}

#[test]
fn the_planner_needs_no_other_crate() {
    use tenure::plan::{Item, PlanConfig, plan};
    let items = [Item::new(0..4, 256), Item::new(4..8, 256)];
    assert_eq!(plan(&items, &PlanConfig::new()).unwrap().peak, 256);
}

#[cfg(feature = "serde")]
#[test]
fn statistics_are_written_as_json() {
    let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default()).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap();
    let json = serde_json::to_value(gpu.report()).unwrap();
    assert!(json.to_string().contains("rock"), "{json}");
    drop(rock);
}

#[cfg(not(feature = "serde"))]
#[test]
fn without_the_feature_statistics_are_values_and_text() {
    let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default()).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap();
    assert_eq!(gpu.stats().live_objects, 1);
    drop(rock);
}
