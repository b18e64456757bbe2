//! Acceleration structures and the scratch memory of their builds, where the device has them.

use tenure_core::device::Features;
use tenure_core::{
    AccelerationStructureDesc, AccelerationStructureKind, BuildScratch, DeviceError, Error, Queue,
    StructureRule,
};

use crate::Harness;
use crate::bench::Bench;

/// Structures have aligned ranges and unique addresses, whatever their contents; without support the error
/// names the missing feature.
pub fn structures_have_ranges_of_their_own<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let has_structures = bench.properties().features.contains(Features::ACCELERATION_STRUCTURES);
    let kinds = [
        AccelerationStructureKind::Top,
        AccelerationStructureKind::Bottom,
        AccelerationStructureKind::Generic,
    ];
    let mut made = Vec::new();
    for (kind, size) in kinds.into_iter().cycle().zip((0..40).map(|index| 256 + 100 * index)) {
        let desc = AccelerationStructureDesc::new(kind, size).name("structure");
        match bench.gpu.create_acceleration_structure(&desc) {
            Ok(structure) => made.push(structure),
            Err(Error::Device { source: DeviceError::Unsupported { feature }, .. }) => {
                assert!(!has_structures && feature.starts_with("acceleration structures"), "{feature}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(made.is_empty(), !has_structures);
    let mut ranges: Vec<_> = made.iter().map(|made| (made.gpu_address(), made.size())).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{ranges:?}");
    assert!(made.iter().all(|made| made.offset().is_multiple_of(256) && made.gpu_address() > 0));
    drop(made);
    bench.end();
}

/// Wrong copies are refused, and the recording goes on.
pub fn bad_copies_of_structures_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    if bench.properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        let create = |desc| bench.gpu.create_acceleration_structure(&desc).unwrap();
        let (large, small) =
            (create(AccelerationStructureDesc::bottom(4096)), create(AccelerationStructureDesc::bottom(512)));
        let top = create(AccelerationStructureDesc::top(4096));
        let mut recording = bench.gpu.record(Queue::Graphics, "copies").unwrap();
        for (dst, expected) in [
            (&small, StructureRule::TooSmall { needed: 4096, size: 512 }),
            (&large, StructureRule::Itself),
            (
                &top,
                StructureRule::Kinds {
                    src: AccelerationStructureKind::Bottom,
                    dst: AccelerationStructureKind::Top,
                },
            ),
        ] {
            let refused = recording.copy_acceleration_structure(&large, dst);
            assert!(
                matches!(refused, Err(Error::AccelerationStructure { rule, .. }) if rule == expected),
                "{refused:?}"
            );
        }
        recording.submit().unwrap();
    }
    bench.end();
}

/// Scratch memory is aligned and disjoint, is reused when asked for, and frames create no more of it once there is
/// enough.
pub fn build_scratch_is_recycled<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let alignment = bench.properties().rays.scratch_alignment;
    let frame = || {
        let frame = bench.gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "builds").unwrap();
        for _ in 0..3 {
            let (_, scratch) = recording.split();
            let rooms: Vec<_> = (1..20).map(|size| scratch.build_scratch(size * 1000).unwrap()).collect();
            // Offsets are in an API buffer, and there is more than one until pages are as large as is needed.
            let is_one = |pair: &&[_]| std::ptr::eq(BuildScratch::raw(&pair[0]), BuildScratch::raw(&pair[1]));
            for pair in rooms.windows(2).filter(is_one) {
                assert!(pair[0].offset() + pair[0].size() <= pair[1].offset(), "{pair:?}");
            }
            let mut addresses = rooms.iter().filter_map(|room| room.gpu_address());
            assert!(addresses.all(|address| address.is_multiple_of(alignment)));
            recording.reuse_build_scratch();
        }
        let submitted = frame.submit(recording).unwrap();
        frame.end().unwrap();
        assert!(bench.gpu.wait(&submitted, crate::bench::LONG).unwrap());
    };
    (0..4).for_each(|_| frame());
    let before = harness.driver_objects();
    (0..20).for_each(|_| frame());
    assert_eq!(harness.driver_objects(), before, "frames create nothing");
    bench.end();
}
