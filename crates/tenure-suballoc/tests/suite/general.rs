//! The general suballocator over one range.

use proptest::prelude::*;
use tenure_suballoc::{BlockError, FreeError, General, Suballocator};

use crate::model::general::GeneralRules;
use crate::model::one_range::{Op, play};
use crate::strategy::{config, many, op};

pub(crate) fn rules() -> impl Strategy<Value = GeneralRules> {
    let capacity = prop_oneof![
        1 => 1_024..3_000u64,
        6 => 10_000..1_000_000u64,
        1 => (20..31u32).prop_map(|log2| 1 << log2),
    ];
    let granule = prop_oneof![3 => Just(1u64), 2 => Just(4u64), 1 => Just(256u64)];
    (capacity, granule).prop_map(|(capacity, granule)| GeneralRules { capacity, granule })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn keeps_its_promises(rules in rules(), ops in many(op())) {
        play(&rules, &ops);
    }
}

#[test]
fn refuses_ranges_that_it_cannot_number() {
    let error = |capacity, granule| General::new(capacity, granule).unwrap_err();
    assert_eq!(error(255, 256), BlockError::TooSmall { capacity: 255, min: 256 });
    assert_eq!(error(0, 1), BlockError::TooSmall { capacity: 0, min: 1 });
    assert_eq!(error(1024, 0), BlockError::BadGranule { granule: 0 });
    assert_eq!(error(1024, 48), BlockError::BadGranule { granule: 48 });
    let max = 256 << 31;
    assert_eq!(error(u64::MAX, 256), BlockError::TooLarge { capacity: u64::MAX, max });
    assert_eq!(General::new(max, 256).unwrap().largest_free(), max);
}

#[test]
fn serves_the_largest_granule() {
    let rules = GeneralRules { capacity: u64::MAX, granule: 1 << 63 };
    let whole = Op::Allocate { size: 1 << 63, align: 1 << 63 };
    assert_eq!(play(&rules, &[whole, whole]), [Some((0, 1 << 63)), None]);
}

#[test]
fn a_freed_neighbour_merges_on_either_side() {
    let mut heap = General::new(3 * 256, 256).unwrap();
    let [left, middle, right] = [0; 3].map(|_| heap.allocate(256, 256).unwrap());
    heap.free(left.handle).unwrap();
    heap.free(right.handle).unwrap();
    assert_eq!(heap.largest_free(), 256);
    heap.free(middle.handle).unwrap();
    assert_eq!(heap.largest_free(), 3 * 256);
    heap.validate().unwrap();
}

#[test]
fn handles_from_before_a_trim_stay_invalid() {
    let mut heap = General::new(1 << 20, 256).unwrap();
    let mut old = Vec::new();
    for round in 0..4 {
        let live: Vec<_> = (0..50 * (round + 1)).map(|_| heap.allocate(300, 256).unwrap().handle).collect();
        for &handle in &old {
            assert_eq!(heap.free(handle), Err(FreeError::DoubleFree));
        }
        heap.trim();
        heap.validate().unwrap();
        // From the first on, then those left in the middle, with a trim after each.
        for part in live.chunks(live.len() / 2).rev() {
            for &handle in part {
                heap.free(handle).unwrap();
            }
            heap.trim();
            heap.validate().unwrap();
        }
        heap.trim();
        heap.validate().unwrap();
        assert_eq!(heap.largest_free(), 1 << 20);
        old.extend(live);
    }
}

#[test]
fn takes_the_hole_that_fits_best() {
    let mut heap = General::new(1 << 20, 1).unwrap();
    let mut hole = |size| {
        let hole = heap.allocate(size, 1).unwrap();
        heap.allocate(1, 1).unwrap();
        hole
    };
    let holes = [300, 200, 100, 400].map(&mut hole);
    for hole in holes {
        heap.free(hole.handle).unwrap();
    }
    assert_eq!(heap.allocate(200, 1).unwrap().offset, holes[1].offset);
    assert_eq!(heap.allocate(150, 1).unwrap().offset, holes[0].offset);
}
