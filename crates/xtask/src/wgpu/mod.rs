//! Everything on wgpu allocates through the crate `gpu-allocator`: real programs, with the original and with
//! tenure's drop-in for it.

mod build;
mod figures;
mod host;
mod programs;

use comfy_table::{Table, presets};

pub(crate) use programs::{in_brief, run as programs};

/// The version of tenure's drop-in.
const DROP_IN: &str = "0.28.100";

/// The allocator.
#[derive(Clone, Copy)]
enum Allocator {
    Original,
    Tenure,
}

impl Allocator {
    const BOTH: [Self; 2] = [Self::Original, Self::Tenure];

    const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Tenure => "tenure",
        }
    }
}

/// A table that can be pasted into a document.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header.iter().copied());
    table
}
