//! Tables of results.

use comfy_table::{Table, presets};

/// A table as Markdown shows it. In the header and in each row ` | ` divides the cells.
pub(crate) fn table(header: &str, rows: impl IntoIterator<Item = String>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header.split(" | "));
    rows.into_iter().for_each(|row| _ = table.add_row(row.split(" | ")));
    table
}

/// The figure with `decimals` decimals; a dash for `None`.
pub(crate) fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Bytes in MiB, with one decimal.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Whether a target is met, in words.
pub(crate) fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// An error if targets are missed.
pub(crate) fn all_met(missed: usize) -> crate::Result {
    if missed == 0 { Ok(()) } else { Err(format!("{missed} targets are missed").into()) }
}
