//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// One subject, created in one way on one device. Nanoseconds each.
pub(super) struct Line {
    pub(super) device: &'static str,
    pub(super) what: String,
    pub(super) way: &'static str,
    pub(super) create_ns: f64,
    pub(super) drop_ns: f64,
    /// At the end of the frame.
    pub(super) give_back_ns: f64,
    /// The median of the sums.
    pub(super) total_ns: f64,
}

#[derive(Default)]
pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "device": line.device, "what": line.what, "way": line.way, "create_ns": line.create_ns,
                "drop_ns": line.drop_ns, "give_back_ns": line.give_back_ns, "total_ns": line.total_ns,
                "over_tenure": self.over_tenure(line),
            })
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }

    /// Total time over tenure's for the same subject on the same device.
    fn over_tenure(&self, line: &Line) -> f64 {
        let is_same =
            |other: &&Line| other.way == "tenure" && other.device == line.device && other.what == line.what;
        self.0.iter().find(is_same).map_or(f64::NAN, |tenure| line.total_ns / tenure.total_ns)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "device",
            "what",
            "way",
            "create, ns",
            "drop",
            "give back",
            "together",
            "/ tenure",
        ]);
        for line in &self.0 {
            let figure = |value: f64| format!("{value:.1}");
            table.add_row([
                line.device.to_owned(),
                line.what.clone(),
                line.way.to_owned(),
                figure(line.create_ns),
                figure(line.drop_ns),
                figure(line.give_back_ns),
                figure(line.total_ns),
                figure(self.over_tenure(line)),
            ]);
        }
        write!(f, "{table}")
    }
}
