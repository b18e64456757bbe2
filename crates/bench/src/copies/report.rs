//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// Copies of one size. Nanoseconds a copy.
pub(super) struct Line {
    pub(super) size: usize,
    pub(super) write_ns: f64,
    pub(super) read_ns: f64,
    pub(super) memcpy_ns: f64,
}

pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "bytes": line.size,
                "write_ns": line.write_ns,
                "read_ns": line.read_ns,
                "memcpy_ns": line.memcpy_ns,
            })
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["bytes", "write (ns)", "of memcpy", "read (ns)", "of memcpy", "memcpy (ns)"]);
        for line in &self.0 {
            let ratio = |ns: f64| format!("{:.2}", ns / line.memcpy_ns);
            let ns = |ns: f64| format!("{ns:.1}");
            table.add_row([
                line.size.to_string(),
                ns(line.write_ns),
                ratio(line.write_ns),
                ns(line.read_ns),
                ratio(line.read_ns),
                ns(line.memcpy_ns),
            ]);
        }
        write!(f, "{table}")
    }
}
