//! The table that compares outcomes.

use comfy_table::{CellAlignment, Table, presets};
use tenure::config::Strategy;

use crate::replay::{DriverTime, Outcome, Recorded, Verdict, Watch};

const MIB: f64 = 1024.0 * 1024.0;

const CLEAN: &str =
    "Every dropped resource was kept until the GPU had finished using it, and nothing leaked.";
const FAULTY: &str = "Something failed, leaked or was misused: see the last three rows.";

type Row = (&'static str, fn(&Outcome) -> String);

/// The rows of a table of outcomes like this one.
fn rows(outcome: &Outcome) -> Vec<Row> {
    let driver_time = match outcome.driver_time {
        DriverTime::Modelled => "driver time, modelled (ms)",
        DriverTime::Measured => "driver time, measured (ms)",
    };
    let mut rows: Vec<Row> = vec![
        ("peak live (MiB)", |outcome| mib(outcome.peak_live_bytes)),
        ("peak reserved (MiB)", |outcome| mib(outcome.peak_reserved_bytes)),
        ("mean reserved (MiB)", |outcome| mib(outcome.mean_reserved_bytes)),
        ("live/reserved", |outcome| format!("{:.3}", outcome.live_share())),
        ("reserved at the end (MiB)", |outcome| mib(outcome.reserved_at_end_bytes)),
        ("driver memory allocations", |outcome| count(outcome.driver_allocations)),
        ("of these in the second half", |outcome| count(outcome.steady_state_driver_allocations)),
        ("driver creates", |outcome| count(outcome.driver_creates)),
        ("driver destroys", |outcome| count(outcome.driver_destroys)),
        (driver_time, |outcome| milliseconds(outcome.driver_cost_ns)),
        ("wall time, with checks (ms)", |outcome| milliseconds(outcome.wall_ns)),
        ("creation p50/p99 (ns)", |outcome| {
            format!("{}/{}", count(outcome.alloc_ns_p50), count(outcome.alloc_ns_p99))
        }),
        ("reads by the GPU, checked", |outcome| count(outcome.reads_checked)),
        ("failed", |outcome| count(outcome.failed)),
        ("leaks", |outcome| count(outcome.leaks)),
        ("hazards", |outcome| count(outcome.hazards)),
    ];
    if outcome.recorded.own_driver_allocations > 0 {
        rows.insert(
            2,
            ("peak reserved by the program itself (MiB)", |outcome| {
                mib(outcome.recorded.own_peak_reserved_bytes)
            }),
        );
    }
    rows
}

/// The memory that the recorded program reserved itself, and the resources that are left out; empty if the
/// recording has no such events.
fn by_itself(outcome: &Outcome) -> String {
    let Recorded { own_driver_allocations, own_peak_driver_allocations, aliases, imports, .. } =
        outcome.recorded;
    let mut text = String::new();
    if own_driver_allocations > 0 {
        text += &format!(
            "By itself the program reserved {} MiB at its peak (driver allocations: {}, at once {}).",
            mib(outcome.recorded.own_peak_reserved_bytes),
            count(own_driver_allocations),
            count(own_peak_driver_allocations),
        );
    }
    if aliases > 0 || imports > 0 {
        let gap = if text.is_empty() { "" } else { " " };
        text += &format!(
            "{gap}Resources without memory of their own are left out (aliases: {}, imports: {}).",
            count(aliases),
            count(imports),
        );
    }
    text
}

/// A table with a column for each outcome and, for several strategies, a summary in words.
pub(crate) fn comparison(outcomes: &[Outcome]) -> String {
    let Some(first) = outcomes.first() else { return String::new() };
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let titles = outcomes.iter().map(|outcome| outcome.strategy.to_owned());
    table.set_header(std::iter::once(String::new()).chain(titles));
    for (name, cell) in rows(first) {
        table.add_row(std::iter::once(name.to_owned()).chain(outcomes.iter().map(cell)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut by_itself = by_itself(first);
    if !by_itself.is_empty() {
        by_itself.push('\n');
    }
    format!("{table}\n{}{by_itself}{}", watched(first), in_words(outcomes))
}

fn watched(outcome: &Outcome) -> String {
    let name = &outcome.profile;
    match outcome.watch {
        Watch::Device => String::new(),
        Watch::Validation => format!("On {name}, with the validation layer.\n"),
        Watch::Replay => {
            format!("On {name}, without a validation layer: only wrong bytes count as hazards.\n")
        }
    }
}

fn in_words(outcomes: &[Outcome]) -> String {
    let of = |name: Strategy| outcomes.iter().find(|outcome| outcome.strategy == name.name());
    let (Some(committed), Some(pooled)) = (of(Strategy::Committed), of(Strategy::Pooled)) else {
        return String::new();
    };
    let taken = |outcome: &Outcome| {
        format!(
            "{} MiB from the driver in {} allocations and {} ms of its time",
            mib(outcome.peak_reserved_bytes),
            count(outcome.driver_allocations),
            milliseconds(outcome.driver_cost_ns),
        )
    };
    let is_clean = outcomes.iter().all(|outcome| outcome.verdict() == Verdict::Clean);
    format!(
        "At its peak the program used {} MiB. Committed resources took {}; tenure took {}.\n{}\n",
        mib(pooled.peak_live_bytes),
        taken(committed),
        taken(pooled),
        if is_clean { CLEAN } else { FAULTY },
    )
}

pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / MIB)
}

pub(crate) fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.1}", nanoseconds as f64 / 1e6)
}

/// A number with thousands separators.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
