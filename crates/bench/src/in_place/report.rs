//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::TARGET;

/// Frames of buffers or textures of one size: staged, and in place.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) is_of_textures: bool,
    /// Bytes of a buffer or texture.
    pub(super) size: u64,
    /// Milliseconds a frame.
    pub(super) times: [f64; 2],
    /// Bytes of staging memory at most.
    pub(super) staging: [u64; 2],
    /// The part of the bytes that was written in place.
    pub(super) share: f64,
    pub(super) has_target: bool,
}

impl Line {
    pub(super) fn ratio(&self) -> f64 {
        self.times[1] / self.times[0]
    }

    pub(super) fn misses_target(&self) -> bool {
        self.has_target && (self.ratio() > TARGET || self.staging[1] > 0)
    }
}

pub(super) struct Report {
    pub(super) device: String,
    pub(super) lines: Vec<Line>,
}

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "what": line.what,
                "bytes": line.size,
                "staged_ms": line.times[0],
                "in_place_ms": line.times[1],
                "staging_bytes": line.staging[0],
                "staging_bytes_in_place": line.staging[1],
                "written_in_place": line.share,
            })
        };
        json!({ "device": self.device, "lines": self.lines.iter().map(line).collect::<Vec<_>>() })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "20 MB a frame",
            "each of (KiB)",
            "staged (ms)",
            "in place (ms)",
            "of staged",
            "staging memory (MiB)",
            "in place (MiB)",
            "written in place",
        ]);
        let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        for line in &self.lines {
            table.add_row([
                line.what.to_owned(),
                (line.size >> 10).to_string(),
                format!("{:.2}", line.times[0]),
                format!("{:.2}", line.times[1]),
                format!("{:.2}", line.ratio()),
                mib(line.staging[0]),
                mib(line.staging[1]),
                format!("{:.0} %", line.share * 100.0),
            ]);
        }
        write!(f, "{}\n{table}", self.device)
    }
}
