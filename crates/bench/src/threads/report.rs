//! What was measured, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// One kind of work with so many threads.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) threads: usize,
    /// Nanoseconds of wall-clock time a thing.
    pub(super) ns: f64,
}

pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "what": line.what, "threads": line.threads, "ns": line.ns, "over_one": self.over_one(line),
            })
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }

    /// Throughput over that of one thread.
    fn over_one(&self, line: &Line) -> f64 {
        let one = self.0.iter().find(|other| other.what == line.what && other.threads == 1);
        one.map_or(f64::NAN, |one| one.ns / line.ns)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["what", "threads", "ns a thing (median)", "throughput / one thread's"]);
        for line in &self.0 {
            table.add_row([
                line.what.to_owned(),
                line.threads.to_string(),
                format!("{:.1}", line.ns),
                format!("{:.2}", self.over_one(line)),
            ]);
        }
        write!(f, "{table}")
    }
}
