//! Parts of the counters add up to the total, at every step of a random program: memory from the device, live
//! resources of the program, dropped resources.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use tenure_core::device::{Features, prelude::*};
use tenure_core::memory::{LocationKind, PoolKind};
use tenure_core::{
    Buffer, BufferDesc, Config, Deferred, Error, Format, FrameConfig, FrameStats, Gpu, MemoryParts,
    MemoryReport, MemoryUse, PageAllocator, PageAllocatorDesc, PoolConfig, PoolStats, Queue, Reserved,
    ReservedDesc, State, Stats, Strategy, Subresource, Texture, TextureDesc, TileRegion, TransientConfig,
    UploadConfig, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Lag, Profile};
use test_random::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes: mostly few, seldom up to 512 KiB.
fn random_size(rng: &mut Rng) -> u64 {
    let scale = 6 + rng.below(14);
    1 + rng.below(1 << scale)
}

/// Something that the program holds.
#[expect(dead_code, reason = "some are held for what their drop does")]
enum Thing {
    Buffer(Buffer<Device>),
    Texture(Texture<Device>),
    Tiles(Reserved<Device>),
    Pages(PageAllocator<Device>),
    Value(Deferred<Device, u64>),
}

impl Thing {
    fn location(&self) -> Option<LocationKind> {
        match self {
            Self::Buffer(buffer) => Some(buffer.location()),
            Self::Texture(texture) => Some(texture.location()),
            _ => None,
        }
    }

    /// Bytes asked for.
    fn size(&self) -> u64 {
        match self {
            Self::Buffer(buffer) => buffer.size(),
            _ => 0,
        }
    }
}

/// The cases that occurred in a program: the peak bytes of each part and of borrowed pieces, and refused
/// requests.
#[derive(Default)]
struct Met {
    parts: MemoryParts,
    borrowed: u64,
    refusals: u64,
}

impl Met {
    fn add(&mut self, stats: &Stats) {
        let MemoryParts { pools, committed, pages, transient } = &mut self.parts;
        *pools = stats.reserved_by.pools.max(*pools);
        *committed = stats.reserved_by.committed.max(*committed);
        *pages = stats.reserved_by.pages.max(*pages);
        *transient = stats.reserved_by.transient.max(*transient);
        let borrowed = stats.pools.iter().map(|pool| pool.borrowed).sum();
        self.borrowed = self.borrowed.max(borrowed);
    }
}

/// The program. Field order is drop order: handles before the manager.
struct Program {
    things: Vec<Thing>,
    rng: Rng,
    /// Frames added up.
    frames: FrameStats,
    /// The cases that occurred.
    met: Met,
    gpu: Gpu<Device>,
}

/// Limits low enough for small resources to reach every kind of memory.
fn config(strategy: Strategy) -> Config {
    Config::default()
        .pools(
            PoolConfig::default()
                .strategy(strategy)
                .min_block(128 * KIB)
                .small_buffer_slot(64 * KIB)
                .max_pooled_buffer(160 * KIB)
                .max_texture_block(512 * KIB),
        )
        .uploads(UploadConfig::default().max_pooled(160 * KIB))
        .transient(TransientConfig::default().heap(256 * KIB).latency(3))
        .frames(FrameConfig::default().idle(2))
}

impl Program {
    fn new(options: DeviceConfig, strategy: Strategy, seed: u64) -> Self {
        let device = Device::with_config(options.seed(seed).lag(Lag::Random { max: 6 }));
        let gpu = Gpu::new(device, config(strategy)).unwrap();
        Self {
            things: Vec::new(),
            rng: Rng::new(seed),
            frames: FrameStats::default(),
            met: Met::default(),
            gpu,
        }
    }

    fn step(&mut self) {
        match self.rng.below(32) {
            0..10 => self.buffer(),
            10..14 => self.texture(),
            14..16 => self.tiles(),
            16..18 => self.page(),
            18 => self.things.push(Thing::Value(self.gpu.defer("value", 1))),
            19..27 => self.drop_some(),
            27..30 => self.frame(),
            30 => self.gpu.trim(),
            _ => self.gpu.reclaim().unwrap(),
        }
        self.check();
        self.met.add(&self.gpu.stats());
    }

    fn keep(&mut self, made: Result<Thing, Error>) {
        match made {
            Ok(thing) => self.things.push(thing),
            Err(Error::OutOfMemory(_)) => self.met.refusals += 1,
            Err(error) => panic!("{error}"),
        }
    }

    fn buffer_desc(&mut self) -> BufferDesc {
        let size = random_size(&mut self.rng);
        let (usage, memory) = match self.rng.below(6) {
            0 => (Usage::VERTEX, MemoryUse::GpuOnly),
            1 => (Usage::SHADER_READ, MemoryUse::GpuOnly),
            2 => (Usage::UNORDERED_ACCESS, MemoryUse::GpuOnly),
            3 => (Usage::INDIRECT, MemoryUse::GpuOnly),
            4 => (Usage::CONSTANT, MemoryUse::Upload),
            _ => (Usage::COPY_DST, MemoryUse::Readback),
        };
        BufferDesc::new(size, usage).memory(memory)
    }

    fn buffer(&mut self) {
        let desc = self.buffer_desc();
        self.keep(self.gpu.create_buffer(&desc).map(Thing::Buffer));
    }

    fn texture_desc(&mut self) -> TextureDesc {
        let side = 16 << self.rng.below(5);
        let usage = [Usage::SHADER_READ, Usage::RENDER_TARGET, Usage::UNORDERED_ACCESS];
        TextureDesc::d2(side, side, Format::Rgba8Unorm, usage[self.rng.below(3) as usize])
    }

    fn texture(&mut self) {
        let desc = self.texture_desc();
        self.keep(self.gpu.create_texture(&desc).map(Thing::Texture));
    }

    fn tiles(&mut self) {
        if !self.gpu.device().properties().features.contains(Features::RESERVED_BUFFERS) {
            return;
        }
        let made = self.gpu.create_reserved(&ReservedDesc::buffer(MIB, Usage::VERTEX)).unwrap();
        let mapped = made
            .map(Queue::Graphics, TileRegion::buffer(self.rng.below(8) as u32, 1 + self.rng.below(8) as u32));
        assert!(matches!(mapped, Ok(_) | Err(Error::OutOfMemory(_))), "{mapped:?}");
        self.things.push(Thing::Tiles(made));
    }

    /// A buffer in a page of an existing allocator or of a new one.
    fn page(&mut self) {
        let (buffer, texture) = (self.buffer_desc(), self.texture_desc());
        let living = self.things.iter().position(|thing| matches!(thing, Thing::Pages(_)));
        let at = living.unwrap_or_else(|| {
            self.things
                .push(Thing::Pages(self.gpu.create_pages(&PageAllocatorDesc::new(256 * KIB).name("pages"))));
            self.things.len() - 1
        });
        let Thing::Pages(pages) = &self.things[at] else { return };
        let made = match self.rng.below(2) {
            0 => pages.create_buffer(&buffer).map(Thing::Buffer),
            _ => pages.create_texture(&texture).map(Thing::Texture),
        };
        self.keep(made);
    }

    fn drop_some(&mut self) {
        for _ in 0..self.rng.below(4) {
            let at = self.rng.below(self.things.len() as u64) as usize;
            if at < self.things.len() {
                drop(self.things.swap_remove(at));
            }
        }
    }

    /// A frame with transient resources, in which something that it may use is dropped.
    fn frame(&mut self) {
        let gpu = &self.gpu;
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "frame").unwrap();
        for thing in &self.things {
            if let Thing::Buffer(buffer) = thing {
                // Commands may use it once its place was queried.
                let _place = buffer.offset();
            }
        }
        for _ in 0..self.rng.below(4) {
            let side = 16 << self.rng.below(5);
            let target = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::RENDER_TARGET);
            let texture = match list.transient_texture(&target) {
                Err(Error::OutOfMemory(_)) => continue,
                made => made.unwrap(),
            };
            list.use_resource(&texture, Subresource::All, State::RENDER_TARGET).unwrap();
            list.barriers();
            list.raw().clear_texture(texture.raw(), Subresource::All, &[1; 4]);
        }
        if let Some(last) = self.things.pop() {
            drop(last);
        }
        check_memory(gpu);
        frame.submit(list).unwrap();
        frame.end().unwrap();
        let FrameStats { created, destroyed, driver_allocations, released, .. } = gpu.stats().last_frame;
        self.frames.created += created;
        self.frames.destroyed += destroyed;
        self.frames.driver_allocations += driver_allocations;
        self.frames.released += released;
        let stats = gpu.stats();
        assert_eq!(self.frames.created, stats.resources_created);
        assert_eq!(self.frames.destroyed, stats.resources_destroyed);
        assert_eq!(self.frames.driver_allocations, stats.driver_allocations);
        assert_eq!(self.frames.released, stats.released);
    }

    fn check(&self) {
        let stats = check_memory(&self.gpu);
        assert_eq!(stats.live_objects, self.things.len() as u64, "{stats:?}");
        let pages: u64 = self.things.iter().map(page_bytes).sum();
        assert!(stats.reserved_by.pages >= pages, "pages of allocators that are gone wait for the GPU");
        // Some of the allocated ranges are live; the others wait for their release.
        let live = |kinds: &[LocationKind]| {
            let is_there = |thing: &&Thing| thing.location().is_some_and(|kind| kinds.contains(&kind));
            self.things
                .iter()
                .filter(is_there)
                .map(Thing::size)
                .fold((0, 0), |sum: (u64, u64), size| (sum.0 + 1, sum.1 + size))
        };
        let (count, bytes) = live(&[LocationKind::Range, LocationKind::Placed]);
        assert!(own(&stats, |pool| pool.allocations) >= count, "{stats:?}");
        assert!(own(&stats, |pool| pool.requested) >= bytes, "{stats:?}");
        let (committed, _) = live(&[LocationKind::Committed]);
        assert!(stats.committed_resources >= committed, "{stats:?}");
    }

    /// Waits for the GPU, after which nothing is pending and all numbers are exact.
    fn settle(&self) {
        self.gpu.device().run_until_idle();
        self.gpu.reclaim().unwrap();
        let stats = check_memory(&self.gpu);
        assert_eq!((stats.pending_releases, stats.pending_bytes), (0, 0), "{stats:?}");
        let ranges = self
            .things
            .iter()
            .filter(|thing| matches!(thing.location(), Some(LocationKind::Range | LocationKind::Placed)));
        let tiles = self.things.iter().filter(|thing| matches!(thing, Thing::Tiles(_))).count() as u64;
        let in_pools = own(&stats, |pool| if pool.kind == PoolKind::Tiles { 0 } else { pool.allocations });
        assert_eq!(in_pools, ranges.count() as u64, "{stats:?}");
        assert!(own(&stats, |pool| if pool.kind == PoolKind::Tiles { pool.allocations } else { 0 }) <= tiles);
        let pages: u64 = self.things.iter().map(page_bytes).sum();
        let is_alone = !self.things.iter().any(|thing| thing.location() == Some(LocationKind::Page));
        assert!(stats.reserved_by.pages == pages || !is_alone, "{stats:?}");
    }
}

fn page_bytes(thing: &Thing) -> u64 {
    if let Thing::Pages(pages) = thing { pages.stats().reserved } else { 0 }
}

/// The sum over all pools except the one whose ranges are the blocks of another.
fn own(stats: &Stats, of: fn(&PoolStats) -> u64) -> u64 {
    stats.pools.iter().filter(|pool| pool.kind != PoolKind::SmallBufferSlots).map(of).sum()
}

/// Invariants between any two calls.
fn check_memory(gpu: &Gpu<Device>) -> Stats {
    let stats = check_but_for_the_peak(gpu);
    assert_eq!(stats.peak_reserved, gpu.device().calls().peak_reserved_bytes, "{stats:?}");
    stats
}

/// Invariants between any two calls, also after simultaneous calls of several threads.
fn check_but_for_the_peak(gpu: &Gpu<Device>) -> Stats {
    let (stats, calls) = (gpu.stats(), gpu.device().calls());
    assert_eq!(stats.reserved, calls.reserved_bytes, "{stats:?}");
    assert_eq!(stats.reserved, stats.reserved_by.total(), "{stats:?}");
    assert_eq!(
        stats.reserved_by.pools,
        stats.pools.iter().map(|pool| pool.reserved).sum::<u64>(),
        "{stats:?}"
    );
    assert_eq!(stats.reserved_by.transient, stats.transient.reserved, "{stats:?}");
    assert!(stats.reserved_by.transient <= stats.transient.peak_reserved, "{stats:?}");
    assert_eq!(stats.heaps + stats.committed_resources, calls.allocations, "{stats:?}");
    assert_eq!(stats.heaps, calls.live_heaps);
    let taken = |kind| calls.made(kind) - calls.failed(kind);
    assert_eq!(stats.driver_allocations, taken(CallKind::CreateHeap) + taken(CallKind::CreateCommitted));
    assert_eq!(stats.resources_created - stats.resources_destroyed, calls.live_resources, "{stats:?}");
    for pool in &stats.pools {
        assert_eq!(pool.capacity, pool.reserved + pool.borrowed, "{pool:?}");
        assert!(pool.requested <= pool.used && pool.used <= pool.capacity, "{pool:?}");
        assert!(pool.used <= pool.peak_used && pool.reserved <= pool.peak_reserved, "{pool:?}");
        assert!(pool.used + pool.largest_free + pool.fragmented() == pool.capacity, "{pool:?}");
        assert_eq!(pool.requested + pool.alignment_waste + pool.rounding_waste(), pool.used, "{pool:?}");
    }
    check_heaps(gpu, &stats);
    // Borrowed bytes of one pool are allocated bytes of another.
    let sum = |of: fn(&PoolStats) -> u64| stats.pools.iter().map(of).sum::<u64>();
    let lent = sum(|pool| if pool.kind == PoolKind::SmallBufferSlots { pool.used } else { 0 });
    assert_eq!(sum(|pool| pool.borrowed), lent, "{stats:?}");
    stats
}

/// The sums of all parts: over the heaps, and over the memory types.
fn sums(memory: &MemoryReport) -> (MemoryParts, MemoryParts) {
    let sum = |parts: &mut dyn Iterator<Item = MemoryParts>| {
        parts.fold(MemoryParts::default(), |sum, part| MemoryParts {
            pools: sum.pools + part.pools,
            committed: sum.committed + part.committed,
            pages: sum.pages + part.pages,
            transient: sum.transient + part.transient,
        })
    };
    let of_types = sum(&mut memory.types.iter().map(|found| found.ours));
    (sum(&mut memory.heaps.iter().map(|heap| heap.ours)), of_types)
}

/// The same for each memory heap, between any two calls; its usage is the device's count.
fn check_heaps(gpu: &Gpu<Device>, stats: &Stats) {
    let memory = gpu.memory();
    assert_eq!(sums(&memory), (stats.reserved_by, stats.reserved_by), "{memory:?}");
    assert_eq!(memory.pending_bytes, stats.pending_bytes);
    let granted = gpu.device().budget().unwrap();
    assert_eq!(memory.heaps.len(), granted.len());
    for (index, (heap, granted)) in memory.heaps.iter().zip(granted).enumerate() {
        assert_eq!((heap.usage, heap.budget), (granted.usage, Some(granted.budget)), "{memory:?}");
        assert_eq!(heap.headroom, Some(granted.budget.saturating_sub(granted.usage)), "{memory:?}");
        assert_eq!(heap.ours.total(), granted.usage, "nobody else has memory: {memory:?}");
        assert!(heap.used <= heap.ours.pools && heap.idle <= heap.ours.pools - heap.used, "{memory:?}");
        let of_types = memory.types.iter().filter(|found| found.heap == index);
        assert_eq!(of_types.map(|found| found.ours.total()).sum::<u64>(), heap.ours.total(), "{memory:?}");
    }
    assert_eq!(memory.heaps.iter().map(|heap| heap.used).sum::<u64>(), own(stats, |pool| pool.used));
}

fn run(options: &DeviceConfig, strategy: Strategy, seed: u64) -> Met {
    let mut program = Program::new(options.clone(), strategy, seed);
    for step in 0..600 {
        program.step();
        if step % 50 == 0 {
            program.settle();
        }
    }
    let Program { things, gpu, met, .. } = program;
    drop(things);
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.is_clean(), "{report:?}");
    met
}

#[test]
fn parts_add_up_to_the_memory_of_the_device() {
    for &profile in Profile::ALL {
        let Met { parts, borrowed, .. } = run(&DeviceConfig::new(profile), Strategy::Pooled, 1);
        let MemoryParts { pools, committed, pages, transient } = parts;
        let all_met = [pools, committed, pages, transient, borrowed].iter().all(|bytes| *bytes > 0);
        assert!(all_met, "{}: {parts:?}, {borrowed} B borrowed", profile.name());
        run(&DeviceConfig::new(profile), Strategy::Placed, 2);
        run(&DeviceConfig::new(profile), Strategy::Committed, 3);
    }
}

/// There transient resources and blocks of slots have dedicated memory, too.
#[test]
fn parts_add_up_where_the_driver_insists_on_memory_for_each() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let Met { parts, borrowed, .. } =
            run(&DeviceConfig::new(profile).requires_dedicated(), Strategy::Pooled, 11);
        assert!(parts.transient > 0 && parts.pools > 0 && (borrowed, parts.pages) == (0, 0), "{parts:?}");
        run(&DeviceConfig::new(profile).prefers_dedicated(), Strategy::Pooled, 12);
    }
}

#[test]
fn parts_add_up_when_memory_is_short() {
    for &profile in Profile::ALL {
        let options = DeviceConfig::new(profile).heap_sizes([3 * MIB / 2; 3]);
        let refusals: u64 = (20..23).map(|seed| run(&options, Strategy::Pooled, seed).refusals).sum();
        assert!(refusals > 0, "{}: memory was never short", profile.name());
    }
}

/// A block whose destruction waits for another thread, or for the GPU, is in some part.
#[test]
fn parts_add_up_while_other_threads_create_and_drop() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device, config(Strategy::Pooled)).unwrap();
    let work = |seed: u64| {
        let (mut rng, mut kept) = (Rng::new(seed), Vec::new());
        for _ in 0..2000 {
            let size = random_size(&mut rng);
            let usage = if rng.below(2) == 0 { Usage::VERTEX } else { Usage::UNORDERED_ACCESS };
            kept.push(gpu.create_buffer(&BufferDesc::new(size, usage)).unwrap());
            if kept.len() > 40 {
                kept.drain(..rng.below(40) as usize);
                gpu.trim();
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|seed| scope.spawn(move || work(seed))).collect();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let stats = gpu.stats();
            assert_eq!(stats.reserved, stats.reserved_by.total());
            assert_eq!(stats.reserved_by.pools, stats.pools.iter().map(|pool| pool.reserved).sum::<u64>());
            assert!(stats.reserved <= stats.peak_reserved);
            let (of_heaps, of_types) = sums(&gpu.memory());
            assert_eq!(of_heaps, of_types);
            for pool in &stats.pools {
                assert!(pool.used <= pool.capacity && pool.reserved <= pool.peak_reserved, "{pool:?}");
            }
        }
    });
    gpu.reclaim().unwrap();
    gpu.trim();
    let stats = check_but_for_the_peak(&gpu);
    // Simultaneous driver allocations and frees are counted afterwards, in any order: a block each.
    let (peak, of_device) = (stats.peak_reserved, gpu.device().calls().peak_reserved_bytes);
    let most = stats.pools.iter().map(|pool| pool.peak_reserved).max().unwrap_or_default();
    assert!(peak.abs_diff(of_device) <= most, "{peak}, {of_device} on the device, {stats:?}");
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
}
