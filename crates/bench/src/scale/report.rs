//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// A scene. Nanoseconds.
pub(super) struct Line {
    pub(super) live: u64,
    pub(super) blocks: usize,
    /// The end of a frame in which nothing was dropped.
    pub(super) idle_ns: f64,
    pub(super) create_ns: f64,
    pub(super) drop_ns: f64,
    /// The end of a frame, a release: of what the frame created, side by side.
    pub(super) side_by_side_ns: f64,
    /// The same, each between two that live.
    pub(super) in_holes_ns: f64,
    /// The end of a frame, a release: of anything that lived.
    pub(super) anywhere_ns: f64,
}

pub(super) struct Report(pub(super) Vec<Line>);

/// What a column shows of a scene.
type Figure = (&'static str, &'static str, fn(&Line) -> f64);

/// Nanoseconds: the heading, the name in JSON, and the figure.
const FIGURES: [Figure; 6] = [
    ("frame end, idle (ns)", "idle_frame_end_ns", |line| line.idle_ns),
    ("create", "create_ns", |line| line.create_ns),
    ("drop", "drop_ns", |line| line.drop_ns),
    ("frame end, a release of what is new, side by side", "release_side_by_side_ns", |line| {
        line.side_by_side_ns
    }),
    ("each in a hole", "release_in_holes_ns", |line| line.in_holes_ns),
    ("of what is anywhere", "release_of_any_ns", |line| line.anywhere_ns),
];

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            let mut value = json!({ "live": line.live, "blocks": line.blocks });
            for (_, name, figure) in FIGURES {
                value[name] = json!(figure(line));
            }
            value
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }

    /// The median of the scenes, and how far the least and the most are from it.
    fn spread(&self, figure: fn(&Line) -> f64) -> String {
        let mut all: Vec<f64> = self.0.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        match (all.first(), all.get(all.len() / 2), all.last()) {
            (Some(least), Some(median), Some(most)) => {
                let percent = |value: f64| (value / median - 1.0) * 100.0;
                format!("{median:.1} ({:+.0} %, {:+.0} %)", percent(*least), percent(*most))
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["alive", "blocks"].into_iter().chain(FIGURES.map(|(heading, ..)| heading)));
        for line in &self.0 {
            let figures = FIGURES.map(|(.., figure)| format!("{:.1}", figure(line)));
            table.add_row([line.live.to_string(), line.blocks.to_string()].into_iter().chain(figures));
        }
        let spreads = FIGURES.map(|(.., figure)| self.spread(figure));
        table.add_row(["median", ""].map(str::to_owned).into_iter().chain(spreads));
        write!(f, "{table}")
    }
}
