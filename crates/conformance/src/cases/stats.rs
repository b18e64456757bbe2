//! Statistics, compared with counts of the test.

use tenure_core::memory::{LocationKind, PoolKind};
use tenure_core::{BufferDesc, Format, MemoryParts, PageAllocatorDesc, Queue, Stats, TextureDesc, Usage};

use crate::Harness;
use crate::bench::Bench;
use test_random::Rng;

/// Live handles, requested bytes, reserved bytes and releases are right at every step.
pub fn counters_agree_with_a_naive_count<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(91);
    let mut meshes = Vec::new();
    let mut dropped = 0;
    for step in 0..200 {
        if rng.below(3) > 0 || meshes.is_empty() {
            let desc = BufferDesc::new(rng.size(13), Usage::VERTEX);
            meshes.push(bench.gpu.create_buffer(&desc).unwrap());
        } else {
            let gone = usize::try_from(rng.below(meshes.len() as u64)).unwrap();
            meshes.swap_remove(gone);
            dropped += 1;
        }
        if step % 20 == 0 {
            bench.finish();
            let asked: u64 = meshes.iter().map(tenure_core::Buffer::size).sum();
            check(&bench, meshes.len() as u64, asked, dropped);
        }
    }
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::SHADER_READ);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    assert_eq!(bench.gpu.stats().live_objects, meshes.len() as u64 + 1);
    drop((meshes, texture));
    bench.finish();
    let stats = bench.gpu.stats();
    assert_eq!((stats.live_objects, stats.pending_releases, stats.pending_bytes), (0, 0, 0));
    bench.end();
}

fn check<H: Harness>(bench: &Bench<'_, H>, live: u64, asked: u64, dropped: u64) {
    let stats = bench.gpu.stats();
    assert_eq!(stats.live_objects, live);
    assert_eq!((stats.pending_releases, stats.released), (0, dropped));
    for pool in &stats.pools {
        assert!(pool.requested <= pool.used && pool.used <= pool.capacity, "{pool:?}");
        assert!(pool.used <= pool.peak_used && pool.reserved <= pool.peak_reserved, "{pool:?}");
        assert!(pool.largest_free <= pool.capacity - pool.used, "{pool:?}");
        assert_eq!(pool.used - pool.requested, pool.rounding_waste());
        if pool.kind == PoolKind::SmallBuffers {
            assert_eq!((pool.allocations, pool.requested), (live, asked));
        }
    }
    let others = MemoryParts { pools: 0, ..stats.reserved_by };
    assert_eq!(
        others,
        MemoryParts::default(),
        "memory outside of pools is reserved for small buffers: {stats:?}"
    );
    check_parts(&stats);
    let report = bench.gpu.report();
    assert_eq!(report.objects.len() as u64, live);
    assert_eq!(report.objects.iter().map(|object| object.bytes).sum::<u64>(), asked);
    for pool in &report.pools {
        let sum = |field: fn(&tenure_core::BlockReport) -> u64| pool.blocks.iter().map(field).sum::<u64>();
        assert_eq!(sum(|block| block.size), pool.stats.capacity);
        assert_eq!(sum(|block| block.used), pool.stats.used);
    }
}

/// The reserved bytes are the sum of their parts, on every device. (The core tests check this for random
/// programs, but on the simulated device alone.)
fn check_parts(stats: &Stats) {
    assert_eq!(stats.reserved, stats.reserved_by.total(), "{stats:?}");
    assert_eq!(
        stats.reserved_by.pools,
        stats.pools.iter().map(|pool| pool.reserved).sum::<u64>(),
        "{stats:?}"
    );
    assert_eq!(stats.reserved_by.transient, stats.transient.reserved, "{stats:?}");
    assert!(stats.reserved <= stats.peak_reserved, "{stats:?}");
    for pool in &stats.pools {
        assert_eq!(pool.capacity, pool.reserved + pool.borrowed, "{pool:?}");
    }
}

/// All reserved memory is counted in exactly one part: pools, committed memory, pages or transient resources.
pub fn memory_is_counted_in_exactly_one_part<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let parts = || {
        let stats = bench.gpu.stats();
        check_parts(&stats);
        stats.reserved_by
    };
    let small = bench.gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).unwrap();
    let pooled = parts();
    assert!(pooled.pools > 0, "{pooled:?}");
    assert_eq!(MemoryParts { pools: 0, ..pooled }, MemoryParts::default());
    let large = bench.gpu.create_buffer(&BufferDesc::new(80 << 20, Usage::VERTEX)).unwrap();
    assert_eq!(large.location(), LocationKind::Committed);
    let committed = parts();
    assert!(committed.committed >= 80 << 20, "{committed:?}");
    assert_eq!(MemoryParts { committed: 0, ..committed }, pooled);
    let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    let paged = pages.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).unwrap();
    let with_pages = parts();
    match paged.location() {
        LocationKind::Page => assert_eq!(with_pages.pages, pages.stats().reserved),
        // The device requires dedicated memory for each resource.
        _ => assert_eq!(with_pages.pages, 0),
    }
    let frame = bench.gpu.begin_frame().unwrap();
    let list = frame.record(Queue::Graphics, "frame").unwrap();
    let scratch = BufferDesc::new(100_000, Usage::UNORDERED_ACCESS);
    let transient = list.transient_buffer(&scratch).unwrap();
    let with_transient = parts();
    assert!(with_transient.transient >= 100_000, "{with_transient:?}");
    assert_eq!(MemoryParts { transient: 0, ..with_transient }, with_pages);
    drop(transient);
    frame.submit(list).unwrap();
    frame.end().unwrap();
    drop((small, large, paged, pages));
    parts();
    bench.finish();
    assert_eq!((parts().committed, parts().pages), (0, 0));
    bench.end();
}

/// Handles keep their names, and the report has them.
pub fn names_are_kept<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let rock = bench.gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX).name("rock")).unwrap();
    let big = BufferDesc::new(40 << 20, Usage::VERTEX).name(String::from("mountain"));
    let mountain = bench.gpu.create_buffer(&big).unwrap();
    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = bench.gpu.create_texture(&desc).unwrap();
    let nameless = bench.gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX)).unwrap();
    assert_eq!(rock.name().as_str(), "rock");
    assert_eq!(mountain.name().as_str(), "mountain");
    assert_eq!(grass.name().as_str(), "grass");
    assert!(nameless.name().is_empty());
    let names: Vec<String> = bench.gpu.report().objects.into_iter().map(|object| object.name).collect();
    assert_eq!(names, ["", "grass", "mountain", "rock"]);
    drop((rock, mountain, grass, nameless));
    bench.end();
}
