//! The memory that a recorded program took from the driver itself.

use proptest::prelude::*;
use tenure_trace::{
    COLUMNS, Details, Event, FIRST_LINE, Header, Kind, Layout, MAX_SIZE, MemoryKind, OwnAlive, OwnChange,
    OwnMemory, OwnPhase, OwnRow, OwnSum, OwnType, Trace, read_all,
};

use crate::common::valid_lines;

fn of(text: &str) -> OwnMemory {
    let (header, lines) = text.split_at(text.find("\n\n").map_or(0, |end| end + 1));
    let text = format!("{FIRST_LINE}\n{header}{COLUMNS}\n{}", lines.trim_start());
    OwnMemory::of(&read_all(text.as_bytes(), "game.tenure").unwrap())
}

fn sum(count: u64, bytes: u64) -> OwnSum {
    OwnSum { count, bytes }
}

#[test]
fn blocks_are_counted_at_the_peak_with_their_holes() {
    let own = of("\
#type.3=6,1

block,1,1000,,,0,type=3
alloc,1,100,4,gpu_only+linear,0,block=1 offset=200
alloc,2,300,4,gpu_only+linear,0,block=1 offset=500
alias,3,100,4,gpu_only+linear,0,of=2 offset=100
block,2,50,,,0,type=0
block,3,70,,,0,type=0 import
unblock,2,50,,,0,
frame,,,,,1,
free,1,100,,gpu_only+linear,1,
");
    let empty = OwnType { memory_type: Some(0), blocks: 1, reserved_bytes: 50, ..OwnType::default() };
    let full = OwnType {
        memory_type: Some(3),
        flags: Some(6),
        blocks: 1,
        reserved_bytes: 1000,
        bound_bytes: 400,
        largest_hole_bytes: 200,
    };
    assert_eq!(own.types, [OwnType { largest_hole_bytes: 50, ..empty }, full]);
    assert_eq!((own.peak_bytes, own.bound_at_peak_bytes, own.peak_frame, own.peak_blocks), (1050, 400, 0, 2));
    assert_eq!((own.allocations, own.resources, own.aliases, own.imported), (2, 2, 1, 0));
    let none = of("frame,,,,,1,\n");
    assert_eq!((none.peak_bytes, none.types, none.rows), (0, vec![], vec![OwnRow::default()]));
}

#[test]
fn of_equal_peaks_the_one_with_most_bound_bytes_counts() {
    let own = of("\
block,1,100,,,0,
frame,,,,,5,
alloc,1,60,4,gpu_only+linear,5,block=1
frame,,,,,9,
free,1,60,,,9,
alloc,2,50,4,gpu_only+linear,9,block=1
");
    assert_eq!((own.peak_frame, own.bound_at_peak_bytes), (1, 60));
    assert_eq!((own.types[0].bound_bytes, own.types[0].memory_type), (60, None));
}

#[test]
fn bytes_are_bound_until_the_last_alias_is_freed() {
    let own = of("\
block,1,100,,,0,
alloc,1,60,4,gpu_only+linear,0,block=1 offset=20
alias,2,10,4,gpu_only+linear,0,of=1 offset=30
frame,,,,,1,
free,1,60,,,1,
frame,,,,,2,
free,2,10,,,2,
frame,,,,,3,
unblock,1,100,,,3,
");
    let change = |frame, reserved, bound, hole| OwnChange { frame, reserved, bound, hole };
    let expected =
        [change(0, 100, 60, 20), change(1, 100, 10, 50), change(2, 100, 0, 100), change(3, 0, 0, 0)];
    assert_eq!(own.rows[1].changes, expected);
}

#[test]
fn rows_are_the_largest_blocks_and_sums_by_type_of_the_others() {
    // 24 large blocks in the reverse order of their types; 3 small ones; one that is freed within its frame.
    let mut text = String::new();
    for id in 0..24_u64 {
        text += &format!("block,{id},{},,,0,type={}\n", 1000 + id, 9 - id / 6);
    }
    text += "block,90,8,,,0,type=1\nblock,91,9,,,0,type=1\nblock,92,7,,,0,type=4000000000\nblock,93,99999,,,0,\n\
             unblock,93,99999,,,0,\nalloc,1,3,1,gpu_only+linear,0,block=90 offset=1\n\
             alloc,2,5,1,gpu_only+linear,0,block=91\nframe,,,,,7,\nframe,,,,,8,\nunblock,90,8,,,8,\n\
             unblock,5,1005,,,8,\nframe,,,,,10,\n";
    let own = of(&text);
    assert_eq!((own.peak_frame, own.peak_blocks, own.rows.len()), (0, 28, 27));
    let large: Vec<_> = own.rows[1..25].iter().map(|row| (row.memory_type, row.size, row.blocks)).collect();
    let expected = (0..24).map(|k| (Some(6 + k / 6), 1023 - u64::from(k), 1));
    assert_eq!(large, expected.collect::<Vec<_>>());
    let change = |frame, reserved, bound, hole| OwnChange { frame, reserved, bound, hole };
    assert_eq!(own.rows[19].changes, [change(0, 1005, 0, 1005), change(2, 0, 0, 0)]);
    let unknown = OwnRow { blocks: 1, changes: vec![change(0, 7, 0, 0)], ..OwnRow::default() };
    let small = OwnRow {
        memory_type: Some(1),
        blocks: 2,
        changes: vec![change(0, 17, 8, 0), change(2, 9, 5, 0)],
        ..OwnRow::default()
    };
    assert_eq!(own.rows[25..], [unknown, small]);
    let large: u64 = (1000..1024).sum();
    let total = [change(0, large + 24, 8, 0), change(2, large + 24 - 8 - 1005, 5, 0)];
    assert_eq!((own.rows[0].changes.as_slice(), own.rows[0].blocks), (&total[..], 27));
}

#[test]
fn consecutive_blocks_of_one_size_share_a_row() {
    let own = of("\
block,1,100,,,0,type=1
frame,,,,,1,
block,2,100,,,1,type=1
unblock,1,100,,,1,
frame,,,,,2,
block,3,100,,,2,type=1
block,4,100,,,2,type=2
alloc,1,60,4,gpu_only+linear,2,block=3
frame,,,,,3,
");
    let change = |frame, reserved, bound, hole| OwnChange { frame, reserved, bound, hole };
    let row = |memory_type, blocks, changes: &[OwnChange]| OwnRow {
        memory_type: Some(memory_type),
        size: 100,
        blocks,
        changes: changes.to_vec(),
    };
    let expected = [
        // The second begins when the first one ends.
        row(1, 2, &[change(0, 100, 0, 100)]),
        row(1, 1, &[change(2, 100, 60, 40)]),
        row(2, 1, &[change(2, 100, 0, 100)]),
    ];
    assert_eq!(own.rows[1..], expected);
}

#[test]
fn calls_are_counted_in_the_halves_of_the_frames_and_after_them() {
    let own = of("\
block,1,100,,,0,
block,2,64,,,0,import
map,1,,,,0,
alloc,1,10,4,gpu_only+linear,0,block=1
alloc,2,10,4,gpu_only+linear,0,block=1 offset=10
alloc,3,10,4,gpu_only+linear,0,block=1 offset=20
frame,,,,,1,
frame,,,,,2,
free,1,10,,,2,
unmap,1,,,,2,
map,1,,,,2,
frame,,,,,3,
free,2,10,,,3,
block,3,50,,,3,
map,3,,,,3,
alias,4,2,1,gpu_only+linear,3,of=3
frame,,,,,4,
free,4,2,,,4,
free,3,10,,,4,
unblock,2,64,,,4,
unblock,1,100,,,4,
");
    let first =
        OwnPhase { frames: 2, allocations: 1, imports: 1, maps: 1, created: 3, ..OwnPhase::default() };
    let second = OwnPhase {
        frames: 2,
        allocations: 1,
        maps: 2,
        unmaps: 1,
        created: 1,
        destroyed: 2,
        short_lived: 1,
        ..OwnPhase::default()
    };
    let after = OwnPhase { frees: 1, destroyed: 2, ..OwnPhase::default() };
    assert_eq!(own.phases, [first, second, after]);
    assert_eq!((own.mapped_again, own.most_maps), (1, 2));
    assert_eq!((own.never_bound, own.alive_blocks), (sum(1, 50), sum(1, 50)));
    // Without frame marks there is one phase.
    let own = of("block,1,100,,,0,\nalloc,1,9,1,gpu_only+linear,0,\nfree,1,9,,,0,\nunblock,1,100,,,0,\n");
    let all = OwnPhase {
        allocations: 1,
        frees: 1,
        created: 1,
        destroyed: 1,
        short_lived: 1,
        ..OwnPhase::default()
    };
    assert_eq!(own.phases, [all, OwnPhase::default(), OwnPhase::default()]);
}

#[test]
fn preferences_for_dedicated_memory_are_compared_with_the_choice() {
    let own = of("\
block,1,1000,,,0,type=0
block,2,64,,,0,type=0 dedicated
block,9,64,,,0,type=0 import
alloc,1,100,4,gpu_only+optimal,0,block=1 offset=0 wants-dedicated
alloc,2,64,4,gpu_only+optimal,0,block=2 offset=0 dedicated
alloc,9,64,4,gpu_only+optimal,0,block=9 import dedicated
frame,,,,,1,
block,3,32,,,1,type=0 dedicated
alloc,3,32,4,gpu_only+optimal,1,block=3 offset=0 dedicated needs-dedicated
");
    assert_eq!((own.ignored_wishes, own.needless_dedicated, own.imported), (sum(1, 100), sum(1, 64), 1));
}

#[test]
fn leaked_resources_are_listed_by_name_and_shape() {
    let mut text = "\
#complete=no
#allocations.most=4096
#allocations.refused=2
#sparse=3

block,1,9000000,,,0,
block,2,64,,,0,import
alloc,1,1000,4,gpu_only+optimal,0,block=1 extent=8x4x1 format=37 name=rock%20wall
alloc,2,1000,4,gpu_only+optimal,0,block=1 offset=1000 extent=8x4x1 format=37 name=rock%20wall
alloc,3,5000,4,gpu_only+linear,0,block=1 offset=2000 extent=8x4x2 linear-image
alloc,4,64,4,gpu_only+linear,0,block=2 import
alias,5,10,4,gpu_only+linear,0,of=1
alloc,6,1,4,gpu_only+linear,0,
free,6,1,,,0,
"
    .to_owned();
    // 20 more groups than are listed.
    for id in 10..48 {
        text += &format!("alloc,{id},{id},1,gpu_only+linear,0,block=1 name=b{id}\n");
    }
    let own = of(&text);
    assert!(!own.is_complete);
    assert_eq!((own.most_allocations, own.refused, own.sparse), (Some(4096), 2, 3));
    assert_eq!(
        (own.alive_resources, own.alive_blocks),
        (sum(41, 7000 + (10..48).sum::<u64>()), sum(1, 9_000_000))
    );
    let group = |name: Option<&str>, shape: &str, sum| OwnAlive {
        name: name.map(str::to_owned),
        shape: shape.to_owned(),
        sum,
    };
    let expected = [
        group(None, "image in rows, 8x4x2", sum(1, 5000)),
        group(Some("rock wall"), "image, 8x4, format 37", sum(2, 2000)),
        group(Some("b47"), "buffer", sum(1, 47)),
    ];
    assert_eq!((&own.alive[..3], own.alive.len()), (&expected[..], 20));
}

#[test]
fn large_buffers_are_counted_at_the_peak() {
    let own = of("\
block,1,9000000,,,0,
alloc,1,1048576,4,gpu_only+linear,0,block=1
alloc,2,1048575,4,gpu_only+linear,0,block=1 offset=1048576
alloc,3,2000000,4,gpu_only+optimal,0,block=1 offset=3000000
alloc,4,2000000,4,gpu_only+linear,0,block=1 offset=5000000 linear-image
alloc,5,1048577,4,gpu_only+linear,0,
free,5,1048577,,,0,
block,2,10,,,0,
alloc,6,3000000,4,gpu_only+linear,0,
");
    assert_eq!((own.large_buffers, own.peak_bytes), (sum(1, 1 << 20), 9_000_010));
}

#[test]
fn the_largest_sizes_and_many_blocks_overflow_nothing() {
    let kind = Kind::new(MemoryKind::GpuOnly, Layout::Linear);
    let mut events = Vec::new();
    for id in 0..3000 {
        let details = Details { memory_type: Some(u32::MAX - id as u32), ..Details::default() };
        events.push((Event::Block { id, size: MAX_SIZE, frame: 0 }, details));
        let details = Details { block: Some(id), ..Details::default() };
        events.push((Event::Alloc { id, size: MAX_SIZE, align: 1, kind, frame: 0 }, details.clone()));
        let details = Details { of: Some(id), offset: Some(MAX_SIZE - 1), ..Details::default() };
        events.push((Event::Alias { id: 1 << 40 | id, size: 1, align: 1, kind, frame: 0 }, details));
    }
    events.push((Event::Frame { number: u64::MAX }, Details::default()));
    let own = OwnMemory::of(&Trace::new(Header::default(), events).unwrap());
    assert_eq!((own.peak_bytes, own.bound_at_peak_bytes), (3000 * MAX_SIZE, 3000 * MAX_SIZE));
    assert_eq!((own.types.len(), own.rows.len()), (1, 26), "there are at most 33 types");
}

proptest! {
    /// Sums agree with the summary for any valid recording.
    #[test]
    fn all_parts_agree(lines in valid_lines()) {
        let trace = Trace::new(Header::default(), lines).unwrap();
        let own = OwnMemory::of(&trace);
        let reserved: u64 = own.types.iter().map(|found| found.reserved_bytes).sum();
        prop_assert_eq!(reserved, trace.summary.peak_block_bytes);
        let bound: u64 = own.types.iter().map(|found| found.bound_bytes).sum();
        prop_assert_eq!(bound, own.bound_at_peak_bytes);
        prop_assert_eq!(own.phases.iter().map(|phase| phase.allocations).sum::<u64>(), trace.summary.blocks);
        // Rows add up to the sum at the end of each frame.
        let at = |row: &OwnRow, frame| {
            let change = row.changes.iter().rfind(|change| change.frame <= frame).copied().unwrap_or_default();
            (change.reserved, change.bound)
        };
        for OwnChange { frame, reserved, bound, .. } in own.rows[0].changes.iter().copied() {
            let parts = own.rows[1..].iter().map(|row| at(row, frame));
            prop_assert_eq!(parts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1)), (reserved, bound));
            prop_assert!(bound <= reserved && reserved <= own.peak_bytes);
        }
    }
}
