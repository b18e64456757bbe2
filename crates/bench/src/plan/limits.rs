//! Limits of time: what the first plan takes, and what a budget lets it take.

use std::time::{Duration, Instant};

use tenure_plan::{Item, Options, Stability, plan};

use super::measure::{table, tenure};
use super::random::{Lifetimes, random};
use super::sources;
use crate::suballoc::rng::Rng;

/// The budgets that every case is given, in milliseconds.
const BUDGETS: [u64; 3] = [1, 10, 100];

/// What is planned, and with which options besides the limit of time.
struct Case {
    name: &'static str,
    items: Vec<Item>,
    options: Options,
}

impl Case {
    fn new(name: &'static str, items: Vec<Item>) -> Self {
        Self { name, items, options: Options::new() }
    }

    fn with(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}

pub(super) fn report(with_million: bool) -> String {
    let mut rows: Vec<Vec<String>> = small().iter().chain(&many()).map(row).collect();
    if with_million {
        rows.extend(million().iter().map(row));
    }
    let mut header = vec!["items", "count", "one pass, ms"];
    header.extend(["within 1 ms", "within 10 ms", "within 100 ms"]);
    format!(
        "Limits of time: milliseconds that a plan takes in all, the first pass included.\n\n{}\n",
        table(&header, rows)
    )
}

/// As many as the search takes.
fn small() -> Vec<Case> {
    let items = random(Lifetimes::Uniform, 1_000, 1);
    let most = random(Lifetimes::Uniform, 2_048, 1);
    let half = pinned(&most, 2);
    vec![
        Case::new("uniform", most.clone()),
        Case::new("uniform, 8 threads", most.clone()).with(Options::new().threads(8)),
        Case::new("uniform, a capacity", most.clone()).with(Options::new().capacity(1 << 20)),
        Case::new("every alignment to 1 MiB", aligned(most, 20)),
        Case::new("half of them pinned", half),
        Case::new("grown, stable", grown(&items)).with(Options::new().stability(Stability::Within(10))),
    ]
}

fn many() -> Vec<Case> {
    let items = random(Lifetimes::Mixed, 100_000, 1);
    let stable = Options::new().stability(Stability::Within(10));
    let row = |at| Item::new(10 * at..10 * at + 5 + at % 11, 1 + at * 7919 % 4096);
    vec![
        Case::new("a class each", (0..50_000).map(|at| row(u64::from(at)).in_class(at)).collect()),
        Case::new("25,000 classes", classed(&random(Lifetimes::Uniform, 100_000, 1), 25_000)),
        Case::new("25,000 classes, grown, stable", classed(&grown(&items), 25_000)).with(stable),
        Case::new("pairs after one another", (0..100_000).map(row).collect()),
        Case::new("mixed, 8 threads", items.clone()).with(Options::new().threads(8)),
        Case::new("every alignment to 1 MiB", aligned(items.clone(), 20)),
        Case::new("half of them pinned", pinned(&items, 2)),
        Case::new("grown, stable", grown(&items)).with(stable),
        Case::new("elsewhere, stable", sources::shuffled(&grown(&items), 1)).with(stable),
        Case::new("elsewhere, stable, aligned", aligned(grown(&items), 20)).with(stable),
    ]
}

fn million() -> Vec<Case> {
    let items = random(Lifetimes::Mixed, 1_000_000, 1);
    vec![
        Case::new("mixed", items.clone()),
        Case::new("three alignments", aligned(items.clone(), 3)),
        Case::new("every alignment to 1 MiB", aligned(items, 20)),
        Case::new("uniform, every alignment to 1 MiB", aligned(random(Lifetimes::Uniform, 1_000_000, 1), 20)),
    ]
}

/// Alignments at random: `levels` powers of two up to 1 MiB.
fn aligned(mut items: Vec<Item>, levels: u64) -> Vec<Item> {
    let mut rng = Rng::new(2);
    for item in &mut items {
        item.alignment = 1 << (20 / levels * (1 + rng.below(levels)));
    }
    items
}

fn classed(items: &[Item], classes: usize) -> Vec<Item> {
    items.iter().enumerate().map(|(at, item)| item.in_class((at % classes) as u32)).collect()
}

/// One in `share` where a plan has it.
fn pinned(items: &[Item], share: usize) -> Vec<Item> {
    let plan = tenure(items, &Options::new().nodes(0), 1).1;
    let fixed = |(at, (item, offset)): (usize, (&Item, &u64))| {
        if at % share == 0 { item.pinned_at(*offset) } else { *item }
    };
    items.iter().zip(&plan.offsets).enumerate().map(fixed).collect()
}

/// Items that were placed, of which one in fifty has grown since.
fn grown(items: &[Item]) -> Vec<Item> {
    let plan = tenure(items, &Options::new().nodes(0), 1).1;
    let later = |(at, (item, offset)): (usize, (&Item, &u64))| {
        let size = if at % 50 == 0 { item.size * 3 / 2 } else { item.size };
        Item { size, ..*item }.previously_at(*offset)
    };
    items.iter().zip(&plan.offsets).enumerate().map(later).collect()
}

fn row(case: &Case) -> Vec<String> {
    let millis = |options: &Options| {
        let begin = Instant::now();
        let made = plan(&case.items, options);
        let time = begin.elapsed();
        assert!(made.is_ok(), "the items can be planned");
        format!("{:.1}", time.as_secs_f64() * 1e3)
    };
    let first = case.options.stability(Stability::Ignored).nodes(0);
    let mut cells = vec![case.name.to_owned(), case.items.len().to_string(), millis(&first)];
    cells.extend(BUDGETS.map(|budget| millis(&case.options.time(Duration::from_millis(budget)))));
    cells
}
