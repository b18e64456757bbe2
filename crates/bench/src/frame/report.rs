//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// One measurement and its lower bound.
pub(super) struct Line {
    pub(super) what: &'static str,
    /// Nanoseconds.
    pub(super) ns: f64,
    /// The work that the lower bound measures.
    pub(super) bound: &'static str,
    /// Nanoseconds.
    pub(super) bound_ns: f64,
}

pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |Line { what, ns, bound, bound_ns }: &Line| json!({ "what": what, "ns": ns, "floor": bound, "floor_ns": bound_ns });
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["what", "ns (median)", "beside it", "ns (median)", "above it"]);
        for Line { what, ns, bound, bound_ns } in &self.0 {
            let figure = |value: f64| format!("{value:.1}");
            table.add_row([
                (*what).to_owned(),
                figure(*ns),
                (*bound).to_owned(),
                figure(*bound_ns),
                figure(ns - bound_ns),
            ]);
        }
        write!(f, "{table}")
    }
}
