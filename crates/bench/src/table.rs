//! Tables of results.

use comfy_table::{Table, presets};

/// A row: each cell as it is displayed.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}
pub(crate) use row;

/// A table as Markdown shows it.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header.iter().copied()).add_rows(rows);
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
