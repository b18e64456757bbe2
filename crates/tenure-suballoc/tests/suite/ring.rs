//! The ring suballocator.

use proptest::prelude::*;
use tenure_suballoc::Ring;

use crate::model::ring::{Op, play};
use crate::strategy::{align, config, many, size};

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        300 => (size(), align()).prop_map(|(size, align)| Op::Allocate { size, align }),
        25 => (any::<i8>(), align()).prop_map(|(more, align)| Op::AllocateLargest { more, align }),
        75 => Just(Op::Close),
        60 => (0..4u8).prop_map(|frames| Op::Release { frames }),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn keeps_its_promises(
        capacity in prop_oneof![0..1_000u64, 1_000..50_000u64, Just(u64::MAX)],
        ops in many(op()),
    ) {
        play(capacity, &ops);
    }
}

#[test]
fn full_and_empty_rings_are_distinguished() {
    let mut ring = Ring::new(512);
    assert_eq!(ring.allocate(256, 256), Some(0));
    ring.close(1);
    assert_eq!(ring.allocate(256, 256), Some(256));
    ring.close(2);
    assert_eq!((ring.used(), ring.largest_free()), (512, 0));
    assert_eq!(ring.allocate(1, 1), None);
    ring.release_while(|&mark| mark <= 2);
    assert_eq!((ring.used(), ring.largest_free()), (0, 512));
}

#[test]
fn the_skipped_end_belongs_to_the_frame_that_skipped_it() {
    let mut ring = Ring::new(1_000);
    ring.allocate(600, 1);
    ring.close(1);
    ring.allocate(100, 1);
    ring.close(2);
    assert_eq!(ring.release_while(|&mark| mark == 1), 600);
    assert_eq!(ring.allocate(400, 1), Some(0));
    assert_eq!(ring.close(3), 300 + 400);
    assert_eq!(ring.release_while(|&mark| mark == 2), 100);
    assert_eq!(ring.free_bytes(), 300);
    assert_eq!(ring.release_while(|_| true), 700);
}

#[test]
fn a_frame_without_allocations_is_none() {
    let mut ring = Ring::new(100);
    assert_eq!(ring.close(1), 0);
    assert_eq!(ring.oldest(), None);
    ring.allocate(1, 1);
    assert_eq!(ring.close(2), 1);
    assert_eq!(ring.oldest(), Some(&2));
    assert_eq!(ring.release_while(|&mark| mark == 1), 0);
}
