//! Effects of options, and errors.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use std::time::{Duration, Instant};

use common::sources::frames;
use common::{Rng, planned};
use tenure_plan::{Item, MAX_BYTES, PlanConfig, PlanError, Stability, plan};

fn refused(items: &[Item]) -> PlanError {
    plan(items, &PlanConfig::new()).unwrap_err()
}

#[test]
fn empty_items_need_no_memory() {
    let plan = planned(&[], &PlanConfig::new());
    assert_eq!((plan.peak, plan.lower_bound, plan.proven, plan.classes.len()), (0, 0, true, 0));
    let items = [Item::new(0..1, 0).aligned(8), Item::new(0..9, 0).pinned_at(77)];
    let plan = planned(&items, &PlanConfig::new());
    assert_eq!((plan.peak, plan.offsets), (0, vec![0, 77]));
}

#[test]
fn bad_items_are_refused_with_their_error() {
    let good = Item::new(0..2, 8);
    let item = 1;
    assert_eq!(refused(&[good, Item::new(3..3, 8)]), PlanError::EmptyLifetime { item, first: 3, last: 3 });
    assert_eq!(refused(&[good, good.aligned(0)]), PlanError::BadAlignment { item, alignment: 0 });
    assert_eq!(refused(&[good, good.aligned(12)]), PlanError::BadAlignment { item, alignment: 12 });
    assert_eq!(
        refused(&[good, good.aligned(8).pinned_at(4)]),
        PlanError::PinnedUnaligned { item, offset: 4, alignment: 8 }
    );
    assert_eq!(
        refused(&[good, good.pinned_at(4), good, good.pinned_at(11)]),
        PlanError::PinnedConflict { item: 1, other: 3 }
    );
    assert_eq!(refused(&[good, Item::new(0..1, MAX_BYTES)]), PlanError::TooLarge { item });
    assert_eq!(refused(&[good, Item::new(0..1, u64::MAX)]), PlanError::TooLarge { item });
    assert_eq!(refused(&[good, good.pinned_at(u64::MAX - 7)]), PlanError::TooLarge { item });
    assert_eq!(refused(&[good, good.aligned(1 << 63)]), PlanError::TooLarge { item });
}

#[test]
fn extremes_do_not_overflow() {
    let huge = MAX_BYTES / 4;
    let items = [
        Item::new(0..u64::MAX, huge),
        Item::new(u64::MAX - 1..u64::MAX, huge - 1),
        Item::new(0..1, 1).aligned(huge),
    ];
    let plan = planned(&items, &PlanConfig::new().time(Duration::MAX));
    assert!(plan.proven);
}

#[test]
fn the_same_call_gives_the_same_plan() {
    for (_, items) in frames().into_iter().take(8) {
        let options = PlanConfig::new().nodes(3_000).seed(9);
        assert_eq!(planned(&items, &options), planned(&items, &options));
    }
}

#[test]
fn a_capacity_ends_the_search_where_a_plan_fits() {
    let (_, items) = frames().swap_remove(3);
    let tight = planned(&items, &PlanConfig::new());
    let roomy = planned(&items, &PlanConfig::new().capacity(u64::MAX));
    assert!(roomy.nodes <= tight.nodes);
    let hopeless = planned(&items, &PlanConfig::new().capacity(tight.lower_bound / 2));
    assert_eq!(hopeless.peak, tight.peak, "the best plan, if none fits");
}

#[test]
fn time_is_kept() {
    // A random stack, which is hard.
    let mut rng = Rng::new(1);
    let item = |_| {
        let first = rng.scaled(400);
        Item::new(first..first + 1 + rng.scaled(100), 1 + rng.scaled(1000))
    };
    let items: Vec<Item> = (0..1500).map(item).collect();
    for threads in [1, 2] {
        let begin = Instant::now();
        planned(&items, &PlanConfig::new().time(Duration::from_millis(30)).threads(threads));
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }
}

#[test]
fn unchanged_items_keep_their_offsets() {
    for (name, items) in frames() {
        // Flipped in address, to get a different plan.
        let before = planned(&items, &PlanConfig::new());
        let flipped = |(item, offset): (&Item, &u64)| item.previously_at(before.peak - offset - item.size);
        let again: Vec<Item> = items.iter().zip(&before.offsets).map(flipped).collect();
        let plan = planned(&again, &PlanConfig::new().stability(Stability::Within(0)));
        assert_eq!((plan.moved, plan.peak), (0, before.peak), "{name}");
        assert!(planned(&again, &PlanConfig::new()).moved > 0, "{name}: kept without the option");
    }
}

#[test]
fn few_items_move_when_one_grows() {
    let (mut moved, mut count) = (0, 0);
    for (_, items) in frames() {
        let before = planned(&items, &PlanConfig::new());
        let mut again: Vec<Item> =
            items.iter().zip(&before.offsets).map(|(item, offset)| item.previously_at(*offset)).collect();
        let at = again.len() / 2;
        again[at].size *= 2;
        let free = planned(&again, &PlanConfig::new());
        let plan = planned(&again, &PlanConfig::new().stability(Stability::Within(20)));
        assert!(plan.peak <= free.peak + free.peak / 50);
        assert!(plan.moved <= free.moved);
        moved += plan.moved;
        count += again.len();
    }
    assert!(moved * 4 < count, "{moved} of {count} moved");
}

/// Random items; one in fifty has grown since the previous plan.
fn grown(count: u64) -> Vec<Item> {
    let mut rng = Rng::new(7);
    let item = |_| {
        let first = rng.scaled(count);
        Item::new(first..first + 1 + rng.scaled(50), 1 + rng.scaled(5000))
    };
    let items: Vec<Item> = (0..count).map(item).collect();
    let placed = planned(&items, &PlanConfig::new().nodes(0));
    let later = |(at, (item, offset)): (usize, (&Item, &u64))| {
        let size = if at % 50 == 0 { 2 * item.size } else { item.size };
        Item { size, ..*item }.previously_at(*offset)
    };
    items.iter().zip(&placed.offsets).enumerate().map(later).collect()
}

fn time_of(items: &[Item], options: &PlanConfig) -> Duration {
    let begin = Instant::now();
    planned(items, options);
    begin.elapsed()
}

#[test]
fn a_plan_takes_about_one_pass_after_its_time_limit() {
    let items = grown(20_000);
    let classes = |count: usize| -> Vec<Item> {
        items.iter().enumerate().map(|(at, item)| item.in_class((at % count) as u32)).collect()
    };
    let (mut pinned, mut aligned) = (items.clone(), items.clone());
    for (at, item) in pinned.iter_mut().enumerate().filter(|(at, _)| at % 3 == 1) {
        item.pinned = if at % 50 == 0 { None } else { item.previous };
    }
    for (at, item) in aligned.iter_mut().enumerate() {
        item.alignment = 1 << (at % 9);
    }
    let far = PlanConfig::new().time(Duration::from_micros(1)).threads(8).capacity(1 << 20);
    for (name, items) in [
        ("one class", items.clone()),
        ("a hundred classes", classes(100)),
        ("ten thousand classes", classes(10_000)),
        ("pinned", pinned),
        ("aligned", aligned),
    ] {
        for stability in [Stability::Ignored, Stability::Within(0), Stability::Within(20)] {
            let first = time_of(&items, &PlanConfig::new().nodes(0));
            let limited = time_of(&items, &far.stability(stability));
            assert!(limited < 4 * first + Duration::from_millis(500), "{name}: {limited:?}, {first:?}");
        }
    }
}

#[test]
fn time_grows_with_items_not_with_pairs_of_classes_or_pins() {
    let item = |at: u64| Item::new(at..at + 2, 1 + at * 7919 % 4096);
    let classes: Vec<Item> = (0..50_000).map(|at| item(at).in_class(at as u32)).collect();
    // Two of three are pinned, next to each other.
    let fixed = |at: u64| if at.is_multiple_of(3) { item(at) } else { item(at).pinned_at(at % 3 * 4096) };
    let pinned: Vec<Item> = (0..50_000).map(fixed).collect();
    for items in [classes, pinned] {
        let time = time_of(&items, &PlanConfig::new().nodes(0));
        assert!(time < Duration::from_secs(8), "{time:?}");
    }
}

#[test]
fn any_number_of_threads_is_accepted() {
    let items = grown(100);
    planned(&items, &PlanConfig::new().nodes(100_000).threads(usize::MAX).capacity(1));
}
