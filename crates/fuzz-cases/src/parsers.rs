//! The readers of files: any content is read or refused, and accepted content can be written and read again.

use tenure_plan::{PlanConfig, check, csv, plan as find_plan};
use tenure_report::read_snapshots;
use tenure_trace::{Encoding, OwnMemory, Trace, TraceWriter, read_all};

/// Search nodes of a plan: an input must not cause long work.
const NODES: u64 = 2_000;
/// Items of a list that is planned.
const MOST_ITEMS: usize = 200;

/// A recording, plain or compressed.
pub(crate) fn recording(data: &[u8]) {
    let Ok(trace) = read_all(data, "fuzzed") else { return };
    assert_eq!(OwnMemory::of(&trace).peak_bytes, trace.summary.peak_block_bytes);
    for encoding in Encoding::ALL {
        let written = write(&trace, encoding);
        let again = read_all(written.as_slice(), "written").expect("what was written is read");
        assert_eq!(again, trace, "{encoding}");
    }
}

fn write(trace: &Trace, encoding: Encoding) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), encoding).expect("memory takes everything");
    writer.set_header(trace.header.clone()).expect("a recording that was read is valid");
    for (event, details) in trace.iter() {
        writer.event_with(event, details).expect("a recording that was read is valid");
    }
    writer.finish().expect("memory takes everything")
}

/// A list of items to place: it is planned, and the plan is valid.
pub(crate) fn plan(data: &[u8]) {
    let Ok(table) = csv::read(data) else { return };
    if table.items.len() <= MOST_ITEMS
        && let Ok(found) = find_plan(&table.items, &PlanConfig::new().nodes(NODES).threads(1))
    {
        let peak = check(&table.items, &found.offsets).expect("a plan is valid");
        assert!(peak <= found.peak && found.lower_bound <= found.peak, "{peak}: {found:?}");
        let mut written = Vec::new();
        csv::write(&mut written, &table, &found.offsets).expect("memory takes everything");
        csv::read(written.as_slice()).expect("what was written is read");
    }
}

/// The names of passes.
pub(crate) fn passes(data: &[u8]) {
    let _either = csv::read_passes(data);
}

/// Reports of a running program, a line each.
pub(crate) fn snapshots(data: &[u8]) {
    let _either = read_snapshots(data, "fuzzed");
}
