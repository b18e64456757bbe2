//! Page allocators whose pages outlive them.

use tenure_core::{BufferDesc, Config, FrameConfig, Gpu, PageAllocatorDesc, Usage};
use tenure_sim::{Lag, Profile};

use super::device;

/// A dropped page allocator leaves no entry in the release queue that is queued again forever.
#[test]
fn pages_of_dropped_allocators_end_with_their_last_resource() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = Gpu::new(device.clone(), Config::from(FrameConfig::default().idle(0))).unwrap();
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    let survivor = pages.create_buffer(&BufferDesc::new(1000, Usage::VERTEX).name("survivor")).unwrap();
    drop(pages.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).unwrap());
    drop(pages);
    gpu.begin_frame().unwrap().end().unwrap();
    let before = gpu.stats();
    assert_eq!((before.pending_releases, before.pending_bytes), (0, 0));
    for _ in 0..100 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    let after = gpu.stats();
    assert_eq!((after.released, after.pending_releases), (before.released, 0), "nothing was dropped");
    assert!(after.reserved >= 1 << 20, "the survivor's page");
    drop(survivor);
    gpu.reclaim().unwrap();
    assert_eq!((gpu.stats().reserved, gpu.stats().pending_releases), (0, 0), "the page went with it");
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
