//! The measurements, as a table or JSON.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// One kind of work with so many threads.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) threads: usize,
    /// Nanoseconds of wall-clock time a thing.
    pub(super) ns: f64,
    /// The same with a manager for each thread.
    pub(super) ns_apart: f64,
}

/// A workload replayed by several threads at once. Bytes reserved at the most.
pub(super) struct Packing {
    pub(super) what: String,
    pub(super) threads: usize,
    /// Of the pool that was divided most.
    pub(super) shards: u32,
    pub(super) reserved: u64,
    pub(super) unsharded: u64,
}

impl Packing {
    fn ratio(&self) -> f64 {
        self.reserved as f64 / self.unsharded as f64
    }
}

pub(super) struct Report {
    pub(super) lines: Vec<Line>,
    pub(super) packing: Vec<Packing>,
}

impl Report {
    pub(super) fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "what": line.what, "threads": line.threads, "ns": line.ns,
                "over_one": self.over_one(line, |line| line.ns),
                "over_one_apart": self.over_one(line, |line| line.ns_apart),
            })
        };
        let packing = |packing: &Packing| {
            json!({
                "what": packing.what, "threads": packing.threads, "shards": packing.shards,
                "reserved": packing.reserved, "unsharded": packing.unsharded, "ratio": packing.ratio(),
            })
        };
        json!({
            "times": self.lines.iter().map(line).collect::<Vec<_>>(),
            "packing": self.packing.iter().map(packing).collect::<Vec<_>>(),
        })
    }

    fn packing_table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["what", "threads", "shards", "reserved, MiB", "with one shard", "ratio"]);
        for packing in &self.packing {
            let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
            table.add_row([
                packing.what.clone(),
                packing.threads.to_string(),
                packing.shards.to_string(),
                mib(packing.reserved),
                mib(packing.unsharded),
                format!("{:.3}", packing.ratio()),
            ]);
        }
        table
    }

    /// Throughput over that of one thread.
    fn over_one(&self, line: &Line, ns: impl Fn(&Line) -> f64) -> f64 {
        let one = self.lines.iter().find(|other| other.what == line.what && other.threads == 1);
        one.map_or(f64::NAN, |one| ns(one) / ns(line))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "what",
            "threads",
            "ns a thing (median)",
            "throughput / one thread's",
            "with a manager each",
        ]);
        for line in &self.lines {
            table.add_row([
                line.what.to_owned(),
                line.threads.to_string(),
                format!("{:.1}", line.ns),
                format!("{:.2}", self.over_one(line, |line| line.ns)),
                format!("{:.2}", self.over_one(line, |line| line.ns_apart)),
            ]);
        }
        write!(f, "{table}\n\n{}", self.packing_table())
    }
}
