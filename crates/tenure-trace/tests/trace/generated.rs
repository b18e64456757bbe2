//! Generated recordings are valid, have the requested length, match their description and never change.

use proptest::prelude::*;
use tenure_trace::{Event, Layout, MemoryKind, Summary, Trace, Workload, generate};

fn summary(workload: Workload, seed: u64, ops: u64) -> Summary {
    Trace::from_events(generate(workload, seed, ops)).unwrap().summary
}

fn seed() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]
}

proptest! {
    #[test]
    fn recordings_are_valid_and_have_the_requested_length(
        seed in seed(),
        ops in prop_oneof![0..20_u64, 0..5_000_u64],
    ) {
        for workload in Workload::ALL {
            let summary = summary(workload, seed, ops);
            prop_assert_eq!(summary.allocs, ops.div_ceil(2));
            prop_assert_eq!(summary.frees, summary.allocs);
            prop_assert!(summary.live_at_end.is_empty());
            prop_assert!(summary.frames <= 4 * ops, "{} frames", summary.frames);
        }
    }

    #[test]
    fn a_seed_gives_the_same_recording_and_another_seed_another(seed in seed()) {
        for workload in Workload::ALL {
            let events = |seed| generate(workload, seed, u64::MAX).take(3000).collect::<Vec<_>>();
            prop_assert!(events(seed) == events(seed));
            prop_assert!(generate(workload, seed, 20_000).ne(generate(workload, seed ^ 1, 20_000)));
        }
    }
}

/// FNV-1a over every number of every event.
fn fingerprint(events: impl Iterator<Item = Event>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for event in events {
        match event {
            Event::Alloc { id, size, align, kind, frame } => {
                let kind = kind.memory as u64 * 2 + kind.layout as u64;
                [1, id, size, align, kind, frame].into_iter().for_each(&mut add);
            }
            Event::Free { id, size, frame } => {
                [2, id, size, frame].into_iter().for_each(&mut add);
            }
            Event::Frame { number } => {
                [3, number].into_iter().for_each(&mut add);
            }
            _ => unreachable!("generated recordings have allocations and frames"),
        }
    }
    hash
}

/// Measurements state a workload, a seed and a length, which must always mean the same events.
#[test]
fn recordings_never_change() {
    let expected = [
        (Workload::Voxel, 0xca85_a355_da48_91dd),
        (Workload::Streaming, 0x044b_15d6_9f90_2280),
        (Workload::Frames, 0x8f62_b391_49ae_9c79),
        (Workload::Fragment, 0x96eb_463c_b4d9_d471),
    ];
    let found = expected.map(|(workload, _)| (workload, fingerprint(generate(workload, 42, 50_000))));
    assert_eq!(found, expected, "{found:#x?}");
}

/// Allocation sizes with their alignments, memory kinds and layouts.
fn allocs(workload: Workload, ops: u64) -> Vec<(u64, u64, MemoryKind, Layout)> {
    generate(workload, 5, ops)
        .filter_map(|event| match event {
            Event::Alloc { size, align, kind, .. } => Some((size, align, kind.memory, kind.layout)),
            _ => None,
        })
        .collect()
}

#[test]
fn the_voxel_workload_has_the_documented_sizes() {
    let all = allocs(Workload::Voxel, 402_000);
    let mut meshes: Vec<_> = all.iter().filter(|a| a.2 == MemoryKind::GpuOnly).map(|a| a.0).collect();
    meshes.sort_unstable();
    assert_eq!(meshes.len() / 2, all.len() - meshes.len(), "a staging buffer a mesh");
    assert!(meshes[0] >= 4 && meshes[meshes.len() - 1] == 40 * 1024);
    assert!((2400..2600).contains(&meshes[meshes.len() / 2]));
    assert!(all.iter().all(|a| a.3 == Layout::Linear && (4..=256).contains(&a.1)));
    let live = summary(Workload::Voxel, 5, 402_000).peak_live_allocations;
    assert!((20_000..20_300).contains(&live), "{live}");
}

#[test]
fn the_streaming_workload_has_the_documented_sizes() {
    let all = allocs(Workload::Streaming, 40_000);
    let (min, max) = (all.iter().map(|a| a.0).min(), all.iter().map(|a| a.0).max());
    assert_eq!(min, Some(64 << 10));
    assert_eq!(max.map(|max| max >> 20), Some(85));
    assert!(all.iter().all(|a| a.0 % 65_536 == 0 && a.3 == Layout::Optimal));
    let multisampled = all.iter().filter(|a| a.1 == 4 << 20).count() * 1000 / all.len();
    assert!((5..50).contains(&multisampled), "{multisampled} in a thousand");
    // The budget is reached, so textures are evicted, and not exceeded.
    for (ops, budget_mib) in [(2_000, 250), (40_000, 4096)] {
        let peak = summary(Workload::Streaming, 5, ops).peak_live_bytes >> 20;
        assert!((budget_mib * 9 / 10..=budget_mib).contains(&peak), "{ops}: {peak} MiB");
    }
}

#[test]
fn frames_are_freed_in_order_about_three_frames_later() {
    let mut allocated_in = std::collections::HashMap::new();
    let mut next = 1;
    let mut ages = [0_u64; 8];
    for event in generate(Workload::Frames, 5, 200_000) {
        match event {
            Event::Alloc { id, size, align, frame, .. } => {
                assert!((256..=4096).contains(&size) && size % 256 == 0 && align == 256);
                allocated_in.insert(id, frame);
            }
            Event::Free { id, frame, .. } => {
                assert_eq!(id, next, "out of order");
                next += 1;
                ages[(frame - allocated_in[&id]) as usize] += 1;
            }
            _ => {}
        }
    }
    let all: u64 = ages.iter().sum();
    assert!(ages[3] * 10 > all * 8, "{ages:?}");
    assert!(ages[4] > 0 && ages[5..].iter().all(|&count| count == 0), "{ages:?}");
}

/// An allocator that cannot move anything must end with unusable free memory.
#[test]
fn fragment_fragments_first_fit() {
    let mut first_fit = FirstFit::default();
    let mut top = 0;
    let mut places = std::collections::HashMap::new();
    for event in generate(Workload::Fragment, 5, 100_000) {
        match event {
            Event::Alloc { id, size, .. } => {
                let offset = first_fit.alloc(size);
                places.insert(id, offset);
                top = top.max(offset + size);
            }
            Event::Free { id, size, .. } => first_fit.free(places[&id], size),
            _ => {}
        }
    }
    let peak = summary(Workload::Fragment, 5, 100_000).peak_live_bytes;
    assert!(top * 10 > peak * 15, "{top} bytes used for {peak}");
}

/// Free ranges of unlimited memory: offset to end.
#[derive(Default)]
struct FirstFit {
    free: std::collections::BTreeMap<u64, u64>,
    top: u64,
}

impl FirstFit {
    fn alloc(&mut self, size: u64) -> u64 {
        let fits = self.free.iter().find(|(begin, end)| *end - *begin >= size);
        let Some((&begin, &end)) = fits else {
            let begin = self.top;
            self.top += size;
            return begin;
        };
        self.free.remove(&begin);
        if begin + size < end {
            self.free.insert(begin + size, end);
        }
        begin
    }

    fn free(&mut self, mut begin: u64, size: u64) {
        let end = self.free.remove(&(begin + size)).unwrap_or(begin + size);
        if let Some((&before, _)) = self.free.range(..begin).next_back().filter(|(_, e)| **e == begin) {
            begin = before;
        }
        self.free.insert(begin, end);
    }
}

#[test]
fn workload_names_can_be_parsed() {
    for workload in Workload::ALL {
        assert_eq!(workload.to_string().parse(), Ok(workload));
    }
    assert!("Voxel".parse::<Workload>().is_err());
}
