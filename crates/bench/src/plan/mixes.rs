//! Frames with several alignments, several classes, pinned resources, and a plan before.

use tenure_plan::{Item, Options, Stability};

use super::measure::{TALLY_HEADER, Tally, table, tenure};
use super::sources;

const KIB: u64 = 1024;

/// Makes other items of a frame's.
type Change = fn(&[Item]) -> Vec<Item>;

pub(super) fn report(rounds: usize) -> String {
    let frames = sources::frames();
    let kinds: [(&str, Change); 4] = [
        ("4 KiB, 64 KiB and 4 MiB", aligned),
        ("4 KiB, 64 KiB and 4 MiB, rounded up", rounded),
        ("three classes", classed),
        ("a third pinned", pinned),
    ];
    let mut rows = Vec::new();
    for (name, make) in kinds {
        for (effort, nodes) in [("one pass", 0), ("20,000 placements", 20_000)] {
            let mut tally = Tally::default();
            for (_, items) in &frames {
                let (micros, plan) = tenure(&make(items), &Options::new().nodes(nodes), rounds);
                tally.add(plan.peak, plan.lower_bound, micros);
            }
            let name = format!("{name}, {effort}");
            rows.push([name].into_iter().chain(tally.cells()).collect());
        }
    }
    let (mut moved, mut moved_free, mut count) = (0, 0, 0);
    for (_, items) in &frames {
        let changed = one_grown(items);
        moved += tenure(&changed, &Options::new().stability(Stability::Within(10)), 1).1.moved;
        moved_free += tenure(&changed, &Options::new(), 1).1.moved;
        count += items.len();
    }
    format!(
        "Frames with more to them. Peak over lower bound, which may be less than what can be had.\n\n{}\n\n\
         When one resource of a frame doubles, {moved} of {count} resources move where 1 % more memory is \
         allowed for it, and {moved_free} where it is not asked for.\n",
        table(&TALLY_HEADER, rows)
    )
}

fn each(items: &[Item], change: impl Fn(usize, &Item) -> Item) -> Vec<Item> {
    items.iter().enumerate().map(|(at, item)| change(at, item)).collect()
}

fn alignment(at: usize) -> u64 {
    match at % 7 {
        0 => 4 * KIB,
        1 => 4096 * KIB,
        _ => 64 * KIB,
    }
}

/// Sizes that are no multiples of the coarsest alignment.
fn aligned(items: &[Item]) -> Vec<Item> {
    each(items, |at, item| {
        let unit = if at % 7 == 0 { 4 * KIB } else { 64 * KIB };
        Item { size: item.size * unit, alignment: alignment(at), ..*item }
    })
}

/// Sizes as drivers report them.
fn rounded(items: &[Item]) -> Vec<Item> {
    each(&aligned(items), |_, item| Item { size: item.size.next_multiple_of(item.alignment), ..*item })
}

fn classed(items: &[Item]) -> Vec<Item> {
    each(items, |at, item| item.in_class(at as u32 % 3))
}

/// Every third where a plan has it.
fn pinned(items: &[Item]) -> Vec<Item> {
    let plan = tenure(items, &Options::new(), 1).1;
    each(items, |at, item| if at % 3 == 0 { item.pinned_at(plan.offsets[at]) } else { *item })
}

fn one_grown(items: &[Item]) -> Vec<Item> {
    let plan = tenure(items, &Options::new(), 1).1;
    let grown = items.len() / 2;
    each(items, |at, item| {
        let size = if at == grown { 2 * item.size } else { item.size };
        Item { size, ..*item }.previously_at(plan.offsets[at])
    })
}
