//! The linear suballocator.

use proptest::prelude::*;
use tenure_suballoc::Linear;

use crate::strategy::{align, config, many, size};

#[derive(Clone, Copy, Debug)]
enum Op {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Asks for all that is left, and so many bytes more.
    AllocateRest {
        more: i8,
        align: u64,
    },
    Reset,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        100 => (size(), align()).prop_map(|(size, align)| Op::Allocate { size, align }),
        2 => (any::<i8>(), align()).prop_map(|(more, align)| Op::AllocateRest { more, align }),
        1 => Just(Op::Reset),
    ]
}

/// The same in numbers that cannot overflow.
struct Model {
    start: u128,
    cursor: u128,
    end: u128,
}

impl Model {
    fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        if size == 0 || align.count_ones() != 1 {
            return None;
        }
        let offset = self.cursor.div_ceil(u128::from(align)) * u128::from(align);
        let cursor = offset + u128::from(size);
        if cursor > self.end {
            return None;
        }
        self.cursor = cursor;
        Some(offset as u64)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn counts_like_unbounded_numbers(
        start in prop_oneof![Just(0), 0..1_000_000u64, (0..1_000_000u64).prop_map(|x| u64::MAX - x)],
        capacity in prop_oneof![0..100u64, 0..10_000_000u64, Just(u64::MAX)],
        ops in many(op()),
    ) {
        let mut linear = Linear::with_start(start, capacity);
        let start = u128::from(start);
        let end = (start + u128::from(capacity)).min(u128::from(u64::MAX));
        let mut model = Model { start, cursor: start, end };
        prop_assert_eq!(u128::from(linear.capacity()), end - start);
        for op in ops {
            let before = linear.clone();
            let (size, align) = match op {
                Op::Reset => {
                    linear.reset();
                    model.cursor = model.start;
                    continue;
                }
                Op::Allocate { size, align } => (size, align),
                Op::AllocateRest { more, align } => {
                    (linear.free_bytes().saturating_add_signed(i64::from(more)), align)
                }
            };
            let offset = linear.allocate(size, align);
            prop_assert_eq!(offset, model.allocate(size, align));
            prop_assert_eq!(u128::from(linear.used()), model.cursor - model.start);
            prop_assert_eq!(u128::from(linear.free_bytes()), model.end - model.cursor);
            if offset.is_none() {
                prop_assert_eq!(&linear, &before);
            }
        }
    }
}

#[test]
fn offsets_begin_at_the_start() {
    let mut linear = Linear::with_start(100, 1_000);
    assert_eq!(linear.start(), 100);
    assert_eq!(linear.allocate(10, 1), Some(100));
    assert_eq!(linear.allocate(10, 256), Some(256));
    assert_eq!(linear.allocate(835, 1), None);
    assert_eq!(linear.allocate(834, 1), Some(266));
}
