//! The examination as text.

use comfy_table::{Table, presets};

use super::examination::{Examination, Status};
use super::memory::{Allocation, Budget, Capacity, Mapped};
use super::placement::{Placement, Sizes};
use super::uploads::Comparison;
use crate::devices::{bytes, tables as device_tables};
use crate::examined::Presentation;

pub(super) fn tables(examination: &Examination) -> String {
    let device = examination
        .device
        .result
        .as_ref()
        .map_or_else(String::new, |found| device_tables(std::slice::from_ref(found)));
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["step", "", "result"]);
    for (name, status, error) in examination.steps() {
        let mut lines = results(examination, name);
        lines.extend(error.map(crate::output::printable));
        let status = match status {
            Status::Done => "done",
            Status::Failed => "FAILED",
            Status::Skipped => "skipped",
        };
        table.add_row([name.to_owned(), status.to_owned(), lines.join("\n")]);
    }
    format!(
        "{device}{table}\nExamined in {:.1} s, beside the profile {}.\n",
        examination.seconds, examination.profile
    )
}

fn results(examination: &Examination, step: &str) -> Vec<String> {
    let Examination {
        placement,
        sizes,
        budgets,
        allocations,
        capacity,
        mapping,
        uploads,
        tiles,
        timestamps,
        ..
    } = examination;
    match step {
        "placement" => placement.result.as_ref().map_or_else(Vec::new, placed),
        "sizes" if sizes.result.compared > 0 => sizes_in_words(&sizes.result),
        "budgets" => budgets.result.iter().map(budget).collect(),
        "allocations" => allocations.result.iter().map(allocation).collect(),
        "capacity" => capacity.result.iter().map(taken).collect(),
        "mapping" => mapping.result.iter().map(mapped).collect(),
        "uploads" => {
            let kinds = [("buffers", &uploads.result.buffers), ("textures", &uploads.result.textures)];
            let measured = kinds.into_iter().filter(|(_, found)| !found.rows.is_empty());
            measured.map(|(kind, found)| compared(kind, found)).collect()
        }
        "tiles" => {
            let buffers = tiles.result.buffer_tile.map(|tile| format!("buffers: {}", bytes(tile)));
            let textures = tiles.result.textures.iter().map(|tile| {
                let [width, height, depth] = tile.extent;
                format!(
                    "{}: {width}x{height}x{depth} texels, mips from {} on packed",
                    tile.format, tile.first_packed_mip
                )
            });
            buffers.into_iter().chain(textures).collect()
        }
        "timestamps" => {
            let measured = timestamps.result.gpu_nanoseconds.zip(timestamps.result.cpu_nanoseconds);
            let measured = measured
                .map(|(gpu, cpu)| format!("{:.1} ms by the GPU, {:.1} ms by the CPU", ms(gpu), ms(cpu)));
            let clocks = timestamps.result.clocks.iter().map(|clock| {
                format!(
                    "{}: {} bits, {:.3} ns a tick",
                    clock.queue,
                    clock.bits,
                    clock.femtoseconds as f64 / 1e6
                )
            });
            clocks.chain(measured).collect()
        }
        "presentation" if examination.presentation.result.presented > 0 => {
            let Presentation { presented, has_fences, destroyed_nanoseconds } =
                &examination.presentation.result;
            let fences = if *has_fences { "with" } else { "without" };
            vec![format!(
                "{presented} images, {fences} fences; destroyed in {:.1} ms",
                ms(*destroyed_nanoseconds)
            )]
        }
        _ => Vec::new(),
    }
}

fn placed(found: &Placement) -> Vec<String> {
    let Placement { buffer_alignment, image_alignment, large_image_alignment, .. } = found;
    let [small, large] = [image_alignment, large_image_alignment].map(|alignment| bytes(*alignment));
    let dedicated = found.dedicated_targets_from;
    let dedicated = dedicated.map_or_else(|| "none".to_owned(), |size| format!("from {}", bytes(size)));
    vec![
        format!("buffers at {}", bytes(*buffer_alignment)),
        format!("textures at {small}, large ones at {large}"),
        format!("dedicated targets: {dedicated}"),
    ]
}

fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn micros(nanoseconds: u64) -> String {
    format!("{:.1} µs", nanoseconds as f64 / 1e3)
}

/// A row with the error that ended its measurement.
fn with_error(line: String, error: Option<&String>) -> String {
    error.map_or(line.clone(), |error| format!("{line}: {}", crate::output::printable(error)))
}

fn sizes_in_words(sizes: &Sizes) -> Vec<String> {
    let Sizes { compared, equal, larger, smaller, otherwise_different, .. } = sizes;
    let Sizes { largest_ratio, smallest_ratio, refused_by_device, refused_by_profile, .. } = sizes;
    vec![
        format!(
            "{equal} of {compared} are equal, {otherwise_different} differ in alignment or category only"
        ),
        format!(
            "{larger} are larger (up to {largest_ratio:.2} times), {smaller} smaller (down to {smallest_ratio:.2} times)"
        ),
        format!(
            "refused by the device alone: {refused_by_device}, by the profile alone: {refused_by_profile}"
        ),
    ]
}

fn budget(row: &Budget) -> String {
    let place = match (row.window, row.device_local) {
        (true, _) => "window",
        (_, true) => "device",
        (_, false) => "system",
    };
    let line = format!(
        "heap {} ({place}): {}, budget {}, used {}; {} allocated, usage {:+} B",
        row.heap,
        bytes(row.size),
        bytes(row.budget),
        bytes(row.usage),
        bytes(row.allocated),
        row.growth,
    );
    with_error(line, row.error.as_ref())
}

fn allocation(row: &Allocation) -> String {
    let line = format!(
        "type {}, {}: {}, freed in {}",
        row.memory_type,
        bytes(row.size),
        micros(row.allocate_nanoseconds),
        micros(row.free_nanoseconds),
    );
    with_error(line, row.error.as_ref())
}

fn taken(row: &Capacity) -> String {
    let line = format!(
        "heap {}: {} of {} in blocks of {}",
        row.heap,
        bytes(row.taken),
        bytes(row.limit),
        bytes(row.block)
    );
    with_error(line, row.error.as_ref())
}

fn mapped(row: &Mapped) -> String {
    let rate = |bytes: u64| format!("{:.2} GB/s", bytes as f64 / 1e9);
    let (write, read) = (rate(row.write_bytes_per_second), rate(row.read_bytes_per_second));
    with_error(format!("type {}: writes {write}, reads {read}", row.memory_type), row.error.as_ref())
}

fn compared(kind: &str, found: &Comparison) -> String {
    match (found.rows.iter().any(|row| row.is_direct), found.staged_is_faster_from) {
        (false, _) => format!("{kind}: always staged"),
        (true, None) => format!("{kind}: direct writes are at least as fast"),
        (true, Some(size)) => format!("{kind}: staged copies are faster from {}", bytes(size)),
    }
}
