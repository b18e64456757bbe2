//! The table of a capture.

use comfy_table::{CellAlignment, Table, presets};

use super::Comparison;
use super::convert::Recording;
use crate::output;
use crate::table::{count, mib};

/// The table, and sentences about everything else.
pub(super) fn text(comparison: &Comparison, recording: &Recording, devices: usize) -> String {
    let Comparison { program, device, profile, frames, own, blocks, pooled, committed } = comparison;
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["", "the program's own blocks", "tenure, pooled", "one committed resource each"]);
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
    for (name, cells) in rows {
        table.add_row(std::iter::once(name.to_owned()).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let (program, device) = (output::printable(program), output::printable(device));
    let mut text = format!(
        "{program} on {device}, replayed as {profile}.\nFrames: {}; resources: {}, of at most {} MiB at once.\n{table}\n",
        count(*frames),
        count(own.resources),
        mib(pooled.peak_live_bytes),
    );
    for (number, what) in [
        (own.aliases, "Resources on bytes of others, counted once"),
        (own.imports, "Imports of memory, not counted"),
        (own.refused, "Allocations that the driver refused"),
        (own.never_bound, "Allocations that never held a resource"),
        (own.sparse, "Reserved (sparse) resources, not replayed"),
        (devices as u64 - 1, "Other devices of the program, with less memory"),
    ] {
        if number > 0 {
            text.push_str(&format!("{what}: {}.\n", count(number)));
        }
    }
    text.push_str(&blocks.text());
    if !recording.is_complete {
        text.push_str("The program ended without destroying its device.\n");
    }
    text
}
