//! Tables that compare devices.

use std::collections::BTreeMap;

use comfy_table::{Table, presets};

use super::device_properties::{Found, Heap, Queue, Type};

/// The maximum number of devices in one table.
const COLUMNS: usize = 3;

const YES: &str = "✓";
const NO: &str = "–";

/// Limits of at least this value are shown as unlimited.
const UNLIMITED: u64 = u32::MAX as u64;

/// Key and title.
const ALIGNMENTS: [(&str, &str); 9] = [
    ("constant", "constant views at"),
    ("storage", "storage views at"),
    ("acceleration_structure", "acceleration structures at"),
    ("copy_offset", "texels in buffers at"),
    ("copy_pitch", "rows of texels at"),
    ("heap", "heaps aligned to"),
    ("msaa_heap", "multisampled heaps to"),
    ("non_coherent_atom", "flushes rounded to"),
    ("tile", "tiles of"),
];

/// Key, title and formatting function.
type Limit = (&'static str, &'static str, fn(u64) -> String);

const LIMITS: [Limit; 6] = [
    ("allocations", "memory allocations", number),
    ("heap_bytes", "largest heap", bytes),
    ("buffer_bytes", "largest buffer", bytes),
    ("texture_2d", "2D texture side", number),
    ("texture_3d", "3D texture side", number),
    ("texture_layers", "texture layers", number),
];

/// A column for each device.
pub(crate) fn tables(found: &[Found]) -> String {
    found.chunks(COLUMNS).map(|devices| format!("{}\n", table(devices))).collect()
}

fn table(devices: &[Found]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let titles = devices.iter().map(|found| format!("{} {}", found.device, found.id));
    table.set_header(std::iter::once(String::new()).chain(titles));
    let columns: Vec<_> = devices.iter().map(rows).collect();
    let titles = columns.first().into_iter().flatten().map(|(title, _)| title.clone());
    for (row, title) in titles.enumerate() {
        let cells = columns.iter().map(|column| column.get(row).map_or("", |(_, cell)| cell).to_owned());
        table.add_row(std::iter::once(title).chain(cells));
    }
    table
}

/// The same titles for each device.
fn rows(found: &Found) -> Vec<(String, String)> {
    let Found { vendor_id, device_id, .. } = found;
    let mut rows = vec![
        row("name", found.name.clone()),
        row("type", found.kind),
        row("API", found.version.clone()),
        row("driver", found.driver.clone()),
        row("vendor:device", format!("{vendor_id:04x}:{device_id:04x}")),
        row("memory heaps", lines(&found.heaps, heap)),
        row("memory types", lines(&found.memory_types, memory_type)),
        row("unified memory", tick(found.uma)),
        row("queues", lines(&found.queues, queue)),
        row("states", states(found.state_model)),
        row("heaps hold", found.heap_categories.join(" | ")),
    ];
    let features = found.features.iter().map(|(name, offered)| row(&spaced(name), tick(*offered)));
    rows.extend(features);
    let value = |of: &BTreeMap<&str, u64>, key: &str| of.get(key).copied().unwrap_or(0);
    let alignments = ALIGNMENTS.iter();
    rows.extend(alignments.map(|(key, title)| row(title, bytes(value(&found.alignments, key)))));
    let limits = LIMITS.iter();
    rows.extend(limits.map(|(key, title, show)| row(title, show(value(&found.limits, key)))));
    rows.push(row("uses", found.uses.join("\n")));
    rows
}

fn row(title: &str, cell: impl Into<String>) -> (String, String) {
    (title.to_owned(), cell.into())
}

fn lines<T>(items: &[T], line: fn(&T) -> String) -> String {
    let numbered = items.iter().enumerate().map(|(number, item)| format!("{number}: {}", line(item)));
    numbered.collect::<Vec<_>>().join("\n")
}

fn heap(heap: &Heap) -> String {
    let place = if heap.device_local { "device" } else { "system" };
    let [size, budget, usage] = [heap.size, heap.budget, heap.usage].map(bytes);
    format!("{size} {place}, budget {budget}, used {usage}")
}

fn memory_type(memory_type: &Type) -> String {
    let flags: Vec<_> = memory_type.flags.iter().map(|flag| flag.replace('_', "-")).collect();
    format!("heap {} {}", memory_type.heap, flags.join(" "))
}

fn queue(queue: &Queue) -> String {
    format!("{}, family {}", queue.kind, queue.family)
}

fn states(model: &str) -> &str {
    if model == "promotion" { "promoted and decayed" } else { "explicit" }
}

fn tick(is_so: bool) -> &'static str {
    if is_so { YES } else { NO }
}

fn number(limit: u64) -> String {
    if limit < UNLIMITED { limit.to_string() } else { "any number".to_owned() }
}

fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// A size in the largest unit with a value of at least 1.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.into_iter().find(|(bits, _)| size >> bits > 0);
    unit.map_or_else(
        || format!("{size} B"),
        |(bits, name)| {
            let whole = size.is_multiple_of(1 << bits);
            let precision = usize::from(!whole);
            format!("{:.precision$} {name}", size as f64 / (1_u64 << bits) as f64)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1, 1023, 1024, 1536, 65_536, 10 << 30, (10 << 30) + (1 << 28), 1 << 40].map(bytes);
        let short = ["0 B", "1 B", "1023 B", "1 KiB", "1.5 KiB", "64 KiB", "10 GiB", "10.2 GiB", "1 TiB"];
        assert_eq!(shown, short);
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
    }
}
