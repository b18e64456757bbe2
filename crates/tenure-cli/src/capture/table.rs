//! The tables of a capture.

use comfy_table::{CellAlignment, Table, presets};
use tenure_trace::{OwnMemory, OwnType};

use super::Comparison;
use crate::output;
use crate::table::{count, mib};

/// The tables, followed by sentences about other findings.
pub(super) fn text(comparison: &Comparison, devices: usize) -> String {
    let Comparison { program, device, profile, frames, own, pooled, committed } = comparison;
    let rows = [
        (
            "memory at the peak (MiB)",
            [own.peak_bytes, pooled.peak_reserved_bytes, committed.peak_reserved_bytes].map(mib),
        ),
        (
            "driver memory allocations",
            [own.allocations, pooled.driver_allocations, committed.driver_allocations].map(count),
        ),
    ];
    let rows = rows.map(|(name, cells)| [&[name.to_owned()][..], &cells].concat());
    let heads = ["", "the program's own blocks", "tenure, pooled", "one committed resource each"];
    let table = table(&heads, rows);
    let (program, device) = (output::printable(program), output::printable(device));
    let mut text = format!(
        "{program} on {device}, replayed as {profile}.\nFrames: {}; resources: {}, of at most {} MiB at once.\n{table}\n",
        count(*frames),
        count(own.resources),
        mib(pooled.peak_live_bytes),
    );
    if !own.types.is_empty() {
        text.push_str(&format!("The program's own blocks at their peak, in MiB:\n{}\n", types(own)));
    }
    for (number, what) in [
        (own.aliases, "Resources on bytes of others, counted once"),
        (own.phases.iter().map(|phase| phase.imports).sum(), "Imports of memory, not counted"),
        (own.refused, "Allocations that the driver refused"),
        (own.never_bound.count, "Allocations that never held a resource"),
        (own.sparse, "Reserved (sparse) resources, not replayed"),
        (own.phases[1].allocations, "Allocations of the program in the second half of its frames"),
        (own.ignored_wishes.count, "Resources in shared blocks that the driver prefers alone"),
        (own.needless_dedicated.count, "Resources alone in their memory that the driver would share"),
        (devices as u64 - 1, "Other devices of the program, with less memory"),
    ] {
        if number > 0 {
            text.push_str(&format!("{what}: {}.\n", count(number)));
        }
    }
    if !own.is_complete {
        text.push_str("The program ended without destroying its device.\n");
    }
    text
}

fn types(own: &OwnMemory) -> Table {
    let rows = own.types.iter().map(|found| {
        let OwnType { memory_type, blocks, reserved_bytes, bound_bytes, largest_hole_bytes, .. } = *found;
        let empty = reserved_bytes.saturating_sub(bound_bytes);
        let bytes = [reserved_bytes, bound_bytes, empty, largest_hole_bytes].map(mib);
        let number = memory_type.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
        [&[number, count(blocks)][..], &bytes].concat()
    });
    table(&["memory type", "blocks", "MiB", "with resources", "empty", "largest hole"], rows)
}

fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(heads);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
