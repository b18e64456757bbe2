//! What was measured, as a table or JSON.

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
    /// The end of a frame, a release: of what the frame created.
    pub(super) end_ns: f64,
    /// The end of a frame, a release: of anything that lived.
    pub(super) end_anywhere_ns: f64,
}

pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "live": line.live, "blocks": line.blocks, "idle_frame_end_ns": line.idle_ns,
                "create_ns": line.create_ns, "drop_ns": line.drop_ns, "release_of_new_ns": line.end_ns,
                "release_of_any_ns": line.end_anywhere_ns,
            })
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "alive",
            "blocks",
            "frame end, idle (ns)",
            "create",
            "drop",
            "frame end, a release of what is new",
            "of what is anywhere",
        ]);
        for line in &self.0 {
            let figure = |value: f64| format!("{value:.1}");
            table.add_row([
                line.live.to_string(),
                line.blocks.to_string(),
                figure(line.idle_ns),
                figure(line.create_ns),
                figure(line.drop_ns),
                figure(line.end_ns),
                figure(line.end_anywhere_ns),
            ]);
        }
        write!(f, "{table}")
    }
}
