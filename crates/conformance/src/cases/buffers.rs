//! The bytes of buffers in every kind of location.

use tenure_core::device::Features;
use tenure_core::{
    Buffer, BufferDesc, Config, DeviceError, Error, LocationKind, PageAllocatorDesc, PoolConfig, Strategy,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes};
use test_random::Rng;

/// A small limit for pooled buffers, so that committed buffers need not be large.
fn config(strategy: Strategy) -> Config {
    Config::from(PoolConfig::default().strategy(strategy).max_pooled_buffer(128 << 10))
}

const SPECIMENS: [(u64, Usage, LocationKind); 9] = [
    (1000, Usage::VERTEX, LocationKind::Range),
    (7, Usage::INDEX, LocationKind::Range),
    (64 << 10, Usage::VERTEX.union(Usage::INDEX), LocationKind::Range),
    (100_001, Usage::VERTEX, LocationKind::Range),
    (5000, Usage::SHADER_READ, LocationKind::Range),
    (700, Usage::CONSTANT, LocationKind::Range),
    (320, Usage::INDIRECT, LocationKind::Range),
    (3000, Usage::UNORDERED_ACCESS, LocationKind::Placed),
    (200_003, Usage::VERTEX, LocationKind::Committed),
];

fn desc(size: u64, usage: Usage) -> BufferDesc {
    BufferDesc::new(size, usage | Usage::COPY_SRC).name("specimen")
}

/// Fills a buffer and reads it; changes the first, the last and some other bytes, and reads it again.
fn check<H: Harness>(bench: &Bench<'_, H>, buffer: &Buffer<H::Device>, rng: &mut Rng) {
    let what = format!("{:?} buffer of {} B", buffer.location(), buffer.size());
    let mut model = rng.bytes(buffer.size());
    bench.upload(buffer, 0, &model);
    assert_bytes(&bench.download(buffer, 0, buffer.size()), &model, &what);
    let last = buffer.size() - 1;
    for offset in [0, last, rng.below(buffer.size()), rng.below(buffer.size())] {
        let size = 1 + rng.below(64).min(last - offset);
        let bytes = rng.bytes(size);
        bench.upload(buffer, offset, &bytes);
        let start = usize::try_from(offset).unwrap();
        model[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    assert_bytes(&bench.download(buffer, 0, buffer.size()), &model, &what);
}

/// Ranges, placed, committed and paged buffers hold exactly the copied bytes.
pub fn every_location_keeps_its_bytes<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, config(Strategy::Pooled));
    let mut rng = Rng::new(1);
    let mut alive = Vec::new();
    for (size, usage, location) in SPECIMENS {
        let buffer = bench.gpu.create_buffer(&desc(size, usage)).unwrap();
        assert_eq!(buffer.location(), location, "{size} B for {usage:?}");
        assert_eq!(buffer.size(), size);
        check(&bench, &buffer, &mut rng);
        alive.push(buffer);
    }
    let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("pages"));
    let paged = pages.create_buffer(&desc(9000, Usage::VERTEX)).unwrap();
    assert_eq!(paged.location(), LocationKind::Page);
    check(&bench, &paged, &mut rng);
    drop((alive, paged, pages));
    bench.end();
}

fn every_buffer_is<H: Harness>(harness: &H, strategy: Strategy, instead: LocationKind) {
    let bench = Bench::with(harness, config(strategy));
    let mut rng = Rng::new(2);
    for (size, usage, location) in SPECIMENS {
        let buffer = bench.gpu.create_buffer(&desc(size, usage)).unwrap();
        let expected = if location == LocationKind::Committed { location } else { instead };
        assert_eq!(buffer.location(), expected, "{size} B for {usage:?} under {strategy:?}");
        check(&bench, &buffer, &mut rng);
    }
    bench.end();
}

/// Buffers that are placed resources in shared heaps hold exactly the copied bytes.
pub fn placed_buffers_keep_their_bytes<H: Harness>(harness: &H) {
    every_buffer_is(harness, Strategy::Placed, LocationKind::Placed);
}

/// Buffers that are committed resources hold exactly the copied bytes.
pub fn committed_buffers_keep_their_bytes<H: Harness>(harness: &H) {
    every_buffer_is(harness, Strategy::Committed, LocationKind::Committed);
}

/// A copy changes the bytes that it names and no others.
pub fn parts_are_copied_exactly<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(3);
    let model = rng.bytes(10_000);
    let buffer = bench.gpu.create_buffer(&desc(10_000, Usage::SHADER_READ)).unwrap();
    bench.upload(&buffer, 0, &model);
    for _ in 0..20 {
        let offset = rng.below(10_000);
        let size = 1 + rng.below(10_000 - offset);
        let range = usize::try_from(offset).unwrap()..usize::try_from(offset + size).unwrap();
        assert_bytes(&bench.download(&buffer, offset, size), &model[range], "part");
    }
    drop(buffer);
    bench.end();
}

/// With any stride, the offset of a buffer in its API buffer is a whole number of elements.
pub fn odd_strides_start_at_whole_elements<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(4);
    let mut alive = Vec::new();
    for stride in [1, 2, 3, 4, 5, 6, 7, 12, 20, 28, 31, 36, 44, 52, 60, 100, 127, 1000, 2047] {
        for usage in [Usage::VERTEX, Usage::SHADER_READ, Usage::CONSTANT | Usage::VERTEX] {
            let count = 1 + rng.below(40);
            let size = count * u64::from(stride);
            let buffer = bench.gpu.create_buffer(&desc(size, usage).stride(stride)).unwrap();
            let first = buffer.first_element(stride).expect("the offset is a whole number of elements");
            assert_eq!(first * u64::from(stride), buffer.offset());
            assert_eq!(buffer.first_element(0), None);
            let model = rng.bytes(size);
            bench.upload(&buffer, 0, &model);
            alive.push((buffer, model));
        }
    }
    for (buffer, model) in &alive {
        assert_bytes(&bench.download(buffer, 0, buffer.size()), model, "strided buffer");
    }
    drop(alive);
    bench.end();
}

/// Offsets are multiples of the requested alignment and of the alignment that the usage needs.
pub fn alignments_are_honoured<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let constant = bench.properties().constant_alignment;
    let storage = bench.properties().storage_alignment;
    let mut rng = Rng::new(5);
    let mut alive = Vec::new();
    for power in [0, 1, 2, 3, 4, 6, 8, 9, 12, 14, 16] {
        for (usage, needed) in
            [(Usage::VERTEX, 1), (Usage::CONSTANT, constant), (Usage::SHADER_READ, storage)]
        {
            let size = 1 + rng.below(500);
            let buffer = bench.gpu.create_buffer(&desc(size, usage).alignment(1 << power)).unwrap();
            assert!(buffer.offset().is_multiple_of(1 << power), "{} for {power}", buffer.offset());
            assert!(buffer.offset().is_multiple_of(needed), "{} for {usage:?}", buffer.offset());
            alive.push(buffer);
        }
    }
    drop(alive);
    bench.end();
}

/// If the device has GPU addresses, the address of a range is the address of its API buffer plus its offset.
pub fn addresses_follow_offsets<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let has_addresses = bench.properties().features.contains(Features::DEVICE_ADDRESS);
    let buffers: Vec<_> =
        (1..40).map(|step| bench.gpu.create_buffer(&desc(step * 100, Usage::VERTEX)).unwrap()).collect();
    let mut ranges = Vec::new();
    for buffer in &buffers {
        assert_eq!(buffer.gpu_address().is_some(), has_addresses);
        ranges.extend(buffer.gpu_address().map(|address| (address, address + buffer.size())));
    }
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two buffers share addresses");
    drop(buffers);
    bench.end();
}

/// Buffers of acceleration structures can be created if the device has that feature; if not, the refusal names
/// the feature.
pub fn acceleration_structures_have_buffers_where_offered<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let is_offered = bench.properties().features.contains(Features::ACCELERATION_STRUCTURES);
    for size in [1000, 200 << 10] {
        let usage = Usage::ACCELERATION_STRUCTURE | Usage::SHADER_READ;
        let desc = BufferDesc::new(size, usage).usage(usage);
        match bench.gpu.create_buffer(&desc) {
            Ok(buffer) => {
                assert!(is_offered, "the buffer was created, but the device lacks the feature");
                let alignment = bench.properties().acceleration_structure_alignment;
                assert!(buffer.offset().is_multiple_of(alignment), "{} at {alignment}", buffer.offset());
            }
            Err(Error::Device { source: DeviceError::Unsupported { .. }, .. }) => assert!(!is_offered),
            Err(error) => panic!("the refusal does not name the feature: {error}"),
        }
    }
    bench.end();
}
