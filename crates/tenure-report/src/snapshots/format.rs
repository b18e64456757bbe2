//! The fields read of a report: see `schemas/report.schema.json`.

use serde::Deserialize;

use crate::history::{HeapSample, Hold, PoolSample, Strings};

#[derive(Deserialize)]
pub(super) struct Report {
    #[serde(default)]
    pub(super) device: String,
    #[serde(default)]
    pub(super) backend: String,
    pub(super) stats: Stats,
    #[serde(default)]
    pub(super) memory: Memory,
    #[serde(default)]
    pub(super) pools: Vec<PoolReport>,
    #[serde(default)]
    pub(super) objects: Vec<LiveObject>,
    #[serde(default)]
    pub(super) open_recordings: Vec<OpenRecording>,
    #[serde(default)]
    pub(super) held: Vec<HeldObjects>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Stats {
    pub(super) frames: u64,
    pub(super) reserved: u64,
    pub(super) peak_reserved: u64,
    pub(super) live_objects: u64,
    pub(super) pending_releases: u64,
    pub(super) pending_bytes: u64,
    pub(super) open_recordings: u64,
    pub(super) driver_allocations: u64,
    pub(super) frame_wait_ns: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    pub(super) heaps: Vec<HeapMemory>,
    pub(super) types: Vec<TypeMemory>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct HeapMemory {
    pub(super) size: u64,
    pub(super) device_local: Option<bool>,
    budget: Option<u64>,
    usage: u64,
    ours: Parts,
    used: u64,
    idle: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    pools: u64,
    committed: u64,
    pages: u64,
    transient: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TypeMemory {
    pub(super) heap: usize,
}

impl HeapMemory {
    pub(super) const fn sample(&self) -> HeapSample {
        let Self { budget, usage, used, idle, .. } = *self;
        let Parts { pools, committed, pages, transient } = self.ours;
        HeapSample { budget, usage, pools, committed, pages, transient, used, idle }
    }
}

#[derive(Deserialize)]
pub(super) struct PoolReport {
    pub(super) stats: PoolStats,
    pub(super) blocks: Vec<BlockReport>,
}

#[derive(Deserialize)]
pub(super) struct PoolStats {
    pub(super) kind: String,
    pub(super) memory_type: u8,
    pub(super) capacity: u64,
    pub(super) reserved: u64,
    pub(super) used: u64,
    pub(super) requested: u64,
    pub(super) alignment_waste: u64,
    pub(super) allocations: u64,
    pub(super) largest_free: u64,
}

#[derive(Deserialize)]
pub(super) struct BlockReport {
    pub(super) number: u32,
    pub(super) size: u64,
    pub(super) used: u64,
}

#[derive(Deserialize)]
pub(super) struct LiveObject {
    /// `None` in reports of older versions.
    pub(super) id: Option<u64>,
    #[serde(default)]
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) bytes: u64,
    pub(super) frame: u64,
    #[serde(default)]
    pub(super) tag: String,
    pub(super) location: Option<String>,
    pub(super) heap: Option<u32>,
    pub(super) pool_index: Option<u32>,
    pub(super) block: Option<u32>,
    pub(super) offset: Option<u64>,
    pub(super) backtrace: Option<String>,
    pub(super) dropped: Option<u64>,
    #[serde(default)]
    pub(super) kept_by: Vec<String>,
}

impl LiveObject {
    /// The hold of its views, if its handle was dropped.
    pub(super) fn hold(&self, frame: u64, strings: &mut Strings) -> Option<Hold> {
        let dropped = self.dropped?;
        let by = format!("{} by {}", self.name, self.kept_by.join(", "));
        Some(Hold {
            holder: strings.number("views"),
            name: strings.number(&by),
            serial: None,
            bytes: self.bytes,
            count: 1,
            age: frame.saturating_sub(dropped),
        })
    }
}

#[derive(Deserialize)]
pub(super) struct OpenRecording {
    pub(super) name: String,
    pub(super) age: u64,
    pub(super) held_back: u64,
}

#[derive(Deserialize)]
pub(super) struct HeldObjects {
    pub(super) holder: String,
    pub(super) queue: Option<u8>,
    pub(super) serial: Option<u64>,
    #[serde(default)]
    pub(super) objects: u64,
    #[serde(default)]
    pub(super) bytes: u64,
}

impl HeldObjects {
    /// Whether open recordings hold these objects. They are listed by recording.
    pub(super) fn is_of_recordings(&self) -> bool {
        self.holder == "open_recordings"
    }

    pub(super) fn hold(&self, strings: &mut Strings) -> Hold {
        let name = self.queue.map_or_else(String::new, |queue| format!("queue {queue}"));
        Hold {
            holder: strings.number(&spaced(&self.holder)),
            name: strings.number(&name),
            serial: self.serial,
            bytes: self.bytes,
            count: self.objects,
            age: 0,
        }
    }
}

impl PoolStats {
    pub(super) const fn sample(&self) -> PoolSample {
        let Self { capacity, reserved, used, requested, alignment_waste, allocations, largest_free, .. } =
            *self;
        PoolSample { capacity, reserved, used, requested, alignment_waste, allocations, largest_free }
    }
}

/// The words of a report's identifier, with spaces.
pub(super) fn spaced(words: &str) -> String {
    words.replace('_', " ")
}
