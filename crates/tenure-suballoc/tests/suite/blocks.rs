//! The general allocator and the buddy over many blocks.

use proptest::prelude::*;
use tenure_suballoc::{
    AllocError, BlockError, BlockSuballocator, Buddy, DEFAULT_IDLE_FRAMES, FreeError, GeneralBlocks, Growing,
};
use test_random::Rng;

use crate::model::blocks::{Op, play};
use crate::model::sets::{Buddies, Generals, OneSetOfLists};
use crate::strategy::{align, config, many, size};

fn op() -> impl Strategy<Value = Op> {
    let capacity = prop_oneof![
        10 => 1_000..100_000u64,
        5 => (10..17u32).prop_map(|log2| 1 << log2),
        1 => prop_oneof![Just(0), Just(u64::MAX)],
    ];
    prop_oneof![
        40 => capacity.prop_map(|capacity| Op::AddBlock { capacity }),
        20 => any::<u8>().prop_map(|id| Op::RemoveBlock { id: id % 50 }),
        500 => (size(), align()).prop_map(|(size, align)| Op::Allocate { size, align }),
        10 => (any::<i8>(), align()).prop_map(|(more, align)| Op::AllocateLargest { more, align }),
        60 => (any::<u32>(), size(), align()).prop_map(|(nth, size, align)| Op::AllocateIn { nth, size, align }),
        375 => any::<u32>().prop_map(|nth| Op::Free { nth }),
        20 => any::<u32>().prop_map(|nth| Op::FreeBlock { nth }),
        15 => any::<u32>().prop_map(|nth| Op::FreeAgain { nth }),
        5 => Just(Op::FreeForeign),
        20 => (0..20u8).prop_map(|idle_frames| Op::EndFrame { idle_frames }),
        10 => (0..20u8, 0..200_000u64).prop_map(|(idle_frames, bytes)| Op::RetireIdle { idle_frames, bytes }),
        5 => Just(Op::Trim),
        10 => any::<u32>().prop_map(|nth| Op::Fill { nth }),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_set_of_lists(granule in prop_oneof![Just(1u64), Just(16)], ops in many(op())) {
        play(&OneSetOfLists(granule), &ops);
    }
}

// The table of blocks is the same for all: what differs has tests of its own.
proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..config() })]

    #[test]
    fn buddies(min_block in prop_oneof![Just(16u64), Just(256)], ops in many(op())) {
        play(&Buddies(min_block), &ops);
    }

    #[test]
    fn generals(ops in many(op())) {
        play(&Generals(16), &ops);
    }
}

fn both() -> [Box<dyn BlockSuballocator>; 2] {
    [Box::new(GeneralBlocks::new(256).unwrap()), Box::new(Growing::new(Buddy::new))]
}

#[test]
fn a_new_block_serves_refused_requests() {
    for mut set in both() {
        set.add_block(1 << 20).unwrap();
        while set.allocate(4096, 256).is_ok() {}
        let refused = set.allocate(1 << 20, 1 << 20).unwrap_err();
        assert!(matches!(refused, AllocError::Full { free_bytes: 0, largest_free: 0, .. }));
        let id = set.add_block(1 << 20).unwrap();
        let allocation = set.allocate(1 << 20, 1 << 20).unwrap();
        assert_eq!((allocation.block, allocation.offset), (id, 0));
    }
}

#[test]
fn an_idle_block_goes_after_its_frames() {
    for mut set in both() {
        let id = set.add_block(1 << 20).unwrap();
        let allocation = set.allocate(1, 1).unwrap();
        let mut retired = Vec::new();
        for _ in 0..100 {
            set.end_frame(DEFAULT_IDLE_FRAMES, &mut retired);
        }
        set.free(allocation.handle).unwrap();
        for _ in 0..DEFAULT_IDLE_FRAMES {
            set.end_frame(DEFAULT_IDLE_FRAMES, &mut retired);
            set.trim(&mut retired);
            assert_eq!(retired, [], "the last one is kept for some frames");
        }
        set.end_frame(DEFAULT_IDLE_FRAMES, &mut retired);
        assert_eq!(retired, [id]);
        assert_eq!(set.remove_block(id), Err(BlockError::Unknown { block: id }));
    }
}

fn end_frames(set: &mut dyn BlockSuballocator, count: u32) {
    (0..count).for_each(|_| set.end_frame(u32::MAX, &mut Vec::new()));
}

/// Uses the only block for some frames.
fn use_for(set: &mut dyn BlockSuballocator, count: u32) {
    let range = set.allocate(64, 1).unwrap();
    end_frames(set, count);
    set.free(range.handle).unwrap();
}

/// A block that each frame fills and empties is protected by the idle frames. One that was used once, or for long, is not.
#[test]
fn idle_frames_protect_blocks_that_are_used_in_turns() {
    let goes = |set: &mut dyn BlockSuballocator| {
        let bytes = set.trim_oldest(3, DEFAULT_IDLE_FRAMES, u64::MAX, &mut Vec::new());
        assert!(bytes == 0 || bytes == 1 << 20);
        bytes > 0
    };
    for (first, between, second, is_protected) in [
        (0, 0, 0, true),
        (0, 1, 2, true),
        (200, DEFAULT_IDLE_FRAMES - 1, DEFAULT_IDLE_FRAMES - 1, true),
        (0, DEFAULT_IDLE_FRAMES, 0, false),
        (0, 1, DEFAULT_IDLE_FRAMES, false),
    ] {
        for mut set in both() {
            set.add_block(1 << 20).unwrap();
            assert!(!goes(&mut *set), "a new block is about to be used");
            use_for(&mut *set, first);
            end_frames(&mut *set, between);
            use_for(&mut *set, second);
            assert_eq!(!goes(&mut *set), is_protected, "{first} {between} {second}");
            end_frames(&mut *set, 3);
            assert_eq!(goes(&mut *set), is_protected, "only for these frames");
        }
    }
    for mut set in both() {
        set.add_block(1 << 20).unwrap();
        use_for(&mut *set, 0);
        assert_eq!(set.trim_oldest(3, u32::MAX, u64::MAX, &mut Vec::new()), 0, "all are protected");
        assert!(goes(&mut *set), "one use is no sign of another");
        set.add_block(1 << 20).unwrap();
        use_for(&mut *set, 0);
        assert!(!goes(&mut *set), "the next turn of the block that made way");
        end_frames(&mut *set, 100);
        assert!(goes(&mut *set));
        set.add_block(1 << 20).unwrap();
        use_for(&mut *set, 0);
        assert!(goes(&mut *set), "too long ago");
    }
}

/// An allocation that is taken back leaves no trace in the age of its block.
#[test]
fn what_is_taken_back_was_never_there() {
    for mut set in both() {
        let id = set.add_block(1 << 20).unwrap();
        use_for(&mut *set, 200);
        end_frames(&mut *set, 2);
        for _ in 0..3 {
            let range = set.allocate(64, 1).unwrap();
            assert!(set.take_back(range.handle).unwrap().block_is_empty);
            assert!(set.take_back(range.handle).is_err());
        }
        let kept = set.allocate(64, 1).unwrap();
        let range = set.allocate(64, 1).unwrap();
        assert!(!set.take_back(range.handle).unwrap().block_is_empty);
        set.take_back(kept.handle).unwrap();
        set.validate().unwrap();
        let mut retired = Vec::new();
        set.end_frame(3, &mut retired);
        assert_eq!(retired, [], "empty for two whole frames");
        set.end_frame(3, &mut retired);
        assert_eq!(retired, [id], "as if nothing had been placed in it");
    }
}

#[test]
fn fuller_blocks_are_preferred_so_that_others_run_empty() {
    for mut set in both() {
        for _ in 0..3 {
            set.add_block(1 << 20).unwrap();
        }
        let halves: Vec<_> = (0..6).map(|_| set.allocate(1 << 19, 256).unwrap()).collect();
        for half in &halves[1..] {
            set.free(half.handle).unwrap();
        }
        let next = set.allocate(1 << 19, 256).unwrap();
        assert_eq!(next.block, halves[0].block);
    }
}

#[test]
fn block_ids_cannot_be_freed_with_old_handles() {
    let mut set = GeneralBlocks::new(256).unwrap();
    set.add_block(1 << 20).unwrap();
    let live = set.allocate(256, 256).unwrap();
    for _ in 0..3 {
        // The slots of these pieces are reused by new blocks next.
        let old: Vec<_> = (0..40).map(|_| set.allocate(256, 256).unwrap().handle).collect();
        for handle in &old {
            set.free(*handle).unwrap();
        }
        let blocks: Vec<_> = (0..20).map(|_| set.add_block(1 << 20).unwrap()).collect();
        for handle in &old {
            assert_eq!(set.free(*handle), Err(FreeError::DoubleFree));
        }
        set.validate().unwrap();
        blocks.into_iter().for_each(|block| set.remove_block(block).unwrap());
        set.validate().unwrap();
    }
    assert_eq!(set.free(live.handle).unwrap().offset, live.offset);
}

#[test]
fn expect_frees_changes_nothing() {
    let mut set = GeneralBlocks::new(256).unwrap();
    set.add_block(1 << 20).unwrap();
    let live: Vec<_> = (0..40).map(|_| set.allocate(256, 256).unwrap()).collect();
    let other = GeneralBlocks::new(256).unwrap();
    other.expect_frees(live.iter().map(|one| one.handle));
    let (odd, even): (Vec<_>, Vec<_>) = live.into_iter().partition(|one| one.offset % 512 > 0);
    for one in &odd {
        set.free(one.handle).unwrap();
    }
    let before = format!("{set:?}");
    // Freed ones, live ones, and those of a set that has none.
    set.expect_frees(odd.iter().chain(&even).map(|one| one.handle));
    assert_eq!(format!("{set:?}"), before);
    set.validate().unwrap();
    for one in &even {
        assert_eq!(set.free(one.handle).unwrap().offset, one.offset);
    }
    // The metadata is freed, too.
    set.trim(&mut Vec::new());
    set.expect_frees(odd.iter().chain(&even).map(|one| one.handle));
    set.validate().unwrap();
}

#[test]
fn looking_at_old_handles_after_a_trim_is_harmless() {
    let mut set = GeneralBlocks::new(256).unwrap();
    set.add_block(1 << 20).unwrap();
    let mut rng = Rng::new(1);
    let mut next = |below: u64| rng.below(below) as usize;
    let (mut live, mut all) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        for _ in 0..next(60) {
            if let Ok(one) = set.allocate(256 * (1 + next(40) as u64), 256) {
                live.push(one.handle);
                all.push(one.handle);
            }
        }
        for _ in 0..next(60).min(live.len()) {
            let handle = live.swap_remove(next(live.len() as u64));
            set.free(handle).unwrap();
        }
        set.trim(&mut Vec::new());
        set.expect_frees(all.iter().copied());
        set.validate().unwrap();
    }
}

#[test]
fn sets_can_be_sent_to_another_thread() {
    fn assert_send_sync<T: Send + Sync>(_: &T) {}
    assert_send_sync(&GeneralBlocks::new(1).unwrap());
    assert_send_sync(&Growing::new(Buddy::new));
}
