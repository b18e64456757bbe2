//! A table of the memory.

use comfy_table::{CellAlignment, Table, presets};

/// Bytes of the frame's resources, with each way to share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// None shares memory.
    pub(crate) apart: u64,
    /// Equal descriptions share.
    pub(crate) pool: u64,
    /// Acquired pass by pass: used bytes of the heaps, and the heaps.
    pub(crate) online: [u64; 2],
    /// As planned: used bytes of the heaps, and the heaps.
    pub(crate) planned: [u64; 2],
    /// Lower bound of all plans.
    pub(crate) lower_bound: u64,
}

impl Sizes {
    /// A row each.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["memory", "used", "of no aliasing", "reserved"]);
        let mut row = |what: &str, used: u64, reserved: Option<u64>| {
            let share = 100.0 * used as f64 / self.apart.max(1) as f64;
            let reserved = reserved.map(mib).unwrap_or_default();
            table.add_row([what.to_owned(), mib(used), format!("{share:.1} %"), reserved]);
        };
        row("no aliasing", self.apart, None);
        row("pool of equal descriptions", self.pool, None);
        row("pass by pass", self.online[0], Some(self.online[1]));
        row("planned", self.planned[0], Some(self.planned[1]));
        row("lower bound", self.lower_bound, None);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
