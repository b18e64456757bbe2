//! Limits on the objects and the memory of steady programs.

use tenure_core::{Gpu, Stats};
use tenure_sim::{CallKind, Calls, Device};

use super::Ending;
use crate::world::{Checked, wrong};

/// Maximum ratio of reserved to live bytes.
const FACTOR: u64 = 2;
/// Bytes allowed in addition for each kind of memory: its first block, and pages in rotation.
const FIRST: u64 = 4 << 20;

/// Measured rounds per object that may still be created while pools and pages settle.
const SLACK: u64 = 12;
/// Upper limit of the objects that [`SLACK`] allows.
const MOST_SLACK: u64 = 16;

/// Objects and bytes that a round's calls request explicitly.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Buffers and textures.
    pub(super) named: u64,
    /// Of these, resources with dedicated memory.
    pub(super) alone: u64,
    /// Bytes of all requests of any kind.
    pub(super) bytes: u64,
    /// Set layouts.
    pub(super) layouts: u64,
    /// Blocks that compaction may empty, and that are made again.
    pub(super) blocks: u64,
}

/// Kinds of objects that rounds must not create: a name, and the calls.
const NEVER: [(&str, &[CallKind]); 5] = [
    ("command lists", &[CallKind::CreateList]),
    ("heaps of queries", &[CallKind::CreateQueryHeap]),
    ("heaps of descriptors", &[CallKind::CreateDescriptorHeap]),
    ("heaps", &[CallKind::CreateHeap]),
    ("pools of sets", &[CallKind::CreateSetPool]),
];

const BYTES: &str = "reserved bytes";
const DESCRIPTORS: &str = "descriptors in use";
/// Chunks of the dynamic part that may be in use beside those of the first window.
const CHUNKS: u64 = 2;

/// Peak counts of live objects at the ends of a window's rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Most {
    lists: u64,
    heaps: u64,
    resources: u64,
    descriptor_heaps: u64,
    set_layouts: u64,
    set_pools: u64,
    query_heaps: u64,
    descriptors: u64,
    bytes: u64,
    pending: u64,
}

impl Most {
    fn of(calls: &Calls, stats: &Stats) -> Self {
        Self {
            lists: calls.live_lists,
            heaps: calls.allocations,
            resources: calls.live_resources,
            descriptor_heaps: calls.live_descriptor_heaps,
            set_layouts: calls.live_set_layouts,
            set_pools: calls.live_set_pools,
            query_heaps: calls.live_query_heaps,
            descriptors: stats.descriptors.heaps.iter().map(|part| part.used).sum(),
            bytes: calls.reserved_bytes,
            pending: stats.pending_releases,
        }
    }

    fn fields(&self) -> [(&'static str, u64); 10] {
        [
            ("command lists", self.lists),
            ("driver allocations", self.heaps),
            ("API resources", self.resources),
            ("heaps of descriptors", self.descriptor_heaps),
            ("set layouts", self.set_layouts),
            ("pools of sets", self.set_pools),
            ("heaps of queries", self.query_heaps),
            (DESCRIPTORS, self.descriptors),
            (BYTES, self.bytes),
            ("objects that wait for the GPU", self.pending),
        ]
    }

    fn merge(&mut self, other: &Self) {
        *self = Self {
            lists: self.lists.max(other.lists),
            heaps: self.heaps.max(other.heaps),
            resources: self.resources.max(other.resources),
            descriptor_heaps: self.descriptor_heaps.max(other.descriptor_heaps),
            set_layouts: self.set_layouts.max(other.set_layouts),
            set_pools: self.set_pools.max(other.set_pools),
            query_heaps: self.query_heaps.max(other.query_heaps),
            descriptors: self.descriptors.max(other.descriptors),
            bytes: self.bytes.max(other.bytes),
            pending: self.pending.max(other.pending),
        };
    }
}

/// Two windows of equal rounds: the second may not exceed the first.
pub(super) struct Growth {
    first: Most,
    second: Most,
    /// At the beginning of the second window.
    before: Option<Calls>,
    /// Requested in the second window.
    asked: Counts,
    /// The peak of a round's requested bytes.
    of_round: u64,
    /// Rounds whose objects are alive or in flight at the same time.
    rounds: u64,
    /// Each round reclaims objects that the GPU has finished with. Otherwise descriptors of dropped tables are
    /// reclaimed only once their heap is full.
    gives_back: bool,
    /// Objects that may be created while pools and pages settle.
    slack: u64,
}

impl Growth {
    pub(super) fn new(rounds: usize, measured: u64, ending: Ending) -> Self {
        Self {
            first: Most::default(),
            second: Most::default(),
            before: None,
            asked: Counts::default(),
            of_round: 0,
            // And one that is recorded, and one that was dropped just now.
            rounds: rounds as u64 + 2,
            gives_back: ending.gives_back(),
            slack: (measured / SLACK).min(MOST_SLACK),
        }
    }

    pub(super) fn warm_up(&mut self, counts: &Counts) {
        self.of_round = self.of_round.max(counts.bytes);
    }

    pub(super) fn note(&mut self, gpu: &Gpu<Device>, is_first: bool, counts: &Counts) {
        self.warm_up(counts);
        let calls = gpu.device().calls();
        let mut now = Most::of(&calls, &gpu.stats());
        if !self.gives_back {
            // Small resources and descriptors are released only once their block or heap is full; bytes are still compared.
            (now.resources, now.descriptors, now.pending) = (0, 0, 0);
        }
        if is_first {
            self.first.merge(&now);
            self.before = Some(calls);
            return;
        }
        self.second.merge(&now);
        self.asked.named += counts.named;
        self.asked.alone += counts.alone;
        self.asked.layouts += counts.layouts;
        self.asked.blocks += counts.blocks;
    }

    pub(super) fn check(&self, gpu: &Gpu<Device>) -> Checked {
        let (Some(before), now) = (&self.before, gpu.device().calls()) else { return Ok(()) };
        let made = |kinds: &[CallKind]| -> u64 {
            kinds.iter().map(|kind| now.made(*kind) - before.made(*kind)).sum()
        };
        for (what, kinds) in NEVER {
            if made(kinds) > self.asked.blocks + self.slack {
                return wrong(format!("equal rounds create {} {what}", made(kinds)));
            }
        }
        let resources = made(&[CallKind::CreatePlaced, CallKind::CreateCommitted, CallKind::CreateReserved]);
        if resources > self.asked.named + self.asked.blocks + self.slack {
            return wrong(format!(
                "{resources} API resources are created by rounds that ask for {}",
                self.asked.named
            ));
        }
        if made(&[CallKind::CreateCommitted]) > self.asked.alone + self.asked.blocks + self.slack {
            let committed = made(&[CallKind::CreateCommitted]);
            return wrong(format!(
                "{committed} API resources get memory of their own, of {} that do",
                self.asked.alone
            ));
        }
        if made(&[CallKind::CreateSetLayout]) > self.asked.layouts {
            return wrong("set layouts are created that nobody asks for");
        }
        for ((what, first), (_, second)) in self.first.fields().into_iter().zip(self.second.fields()) {
            let slack = match what {
                BYTES => FIRST,
                DESCRIPTORS => CHUNKS * u64::from(gpu.config().descriptors.chunk),
                _ => self.slack,
            };
            // Otherwise dropped objects are released only once a block is full.
            let most = if self.gives_back { first } else { first * 3 / 2 };
            if second > most + slack {
                return wrong(format!("{what} grow from {first} to {second} in equal rounds"));
            }
        }
        let kinds = gpu.stats().pools.len() as u64 + 4;
        let most = FACTOR * self.rounds * self.of_round + kinds * FIRST;
        if self.second.bytes > most {
            return wrong(format!(
                "{} B are taken for rounds of {} B, {} of which may live at once",
                self.second.bytes, self.of_round, self.rounds
            ));
        }
        Ok(())
    }
}
