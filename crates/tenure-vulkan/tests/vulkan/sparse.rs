//! Sparse memory: tiles mapped, remapped, unmapped and shared, in the order of a queue.

use crate::harness::PERMIT;
use std::cell::Cell;

use conformance::Harness as _;
use tenure_core::device::{Features, HeapCategory, QueueSerial, TileSource, TileUpdate, prelude::*};
use tenure_core::{DeviceError, QueueId, State, TileRegion, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig, Heap, OptionalFeatures, Resource};

use crate::basics::{
    COPIES, GRAPHICS, LONG, at, buffer, bytes, heap_of, mapped, read, run, tile_heap, write,
};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

const USAGE: Usage = COPIES.union(Usage::SHADER_READ);
const TILES: u32 = 8;

/// Two reserved buffers, a heap for their tiles, and staging for one tile.
struct Bench {
    device: Device,
    one: Resource,
    two: Resource,
    tile: u64,
    heap: Heap,
    staging: Resource,
    submitted: Cell<u64>,
}

impl Bench {
    /// `None` where there is no sparse memory, and the refusal says so.
    fn new(vulkan: &Vulkan) -> Option<Self> {
        let device = vulkan.device();
        let desc = buffer(u64::from(TILES) * device.properties().tile_size, USAGE);
        if !device.properties().features.contains(Features::RESERVED_BUFFERS) {
            let refused = device.create_reserved(&desc);
            let says_so =
                matches!(&refused, Err(DeviceError::Unsupported { feature }) if feature.contains("sparse"));
            assert!(says_so, "{refused:?}");
            return None;
        }
        let one = device.create_reserved(&desc).unwrap();
        let two = device.create_reserved(&desc).unwrap();
        let tile = device.tile_layout(&one).unwrap().tile_size;
        let heap = tile_heap(&device, &one, &desc, u64::from(TILES) * tile);
        let staging = mapped(&device, tile);
        Some(Self { device, one, two, tile, heap, staging, submitted: Cell::new(0) })
    }

    fn serial(&self) -> u64 {
        self.submitted.set(self.submitted.get() + 1);
        self.submitted.get()
    }

    fn update(&self, updates: &[TileUpdate<'_, Device>]) {
        self.device.update_tiles(PERMIT, GRAPHICS, updates, &[], self.serial()).unwrap();
    }

    /// Tiles of `resource` from `first` on are mapped to those of the heap from `heap_tile` on.
    fn to_heap<'a>(
        &'a self,
        resource: &'a Resource,
        (first, count): (u32, u32),
        heap_tile: u64,
    ) -> TileUpdate<'a, Device> {
        let source = TileSource::Heap { heap: &self.heap, offset: heap_tile * self.tile };
        TileUpdate { resource, region: TileRegion::buffer(first, count), source }
    }

    fn unmapped<'a>(&'a self, resource: &'a Resource, first: u32, count: u32) -> TileUpdate<'a, Device> {
        TileUpdate { resource, region: TileRegion::buffer(first, count), source: TileSource::Unmapped }
    }

    fn copied<'a>(
        &'a self,
        (to, first): (&'a Resource, u32),
        (from, other): (&'a Resource, u32),
        count: u32,
    ) -> TileUpdate<'a, Device> {
        let source = TileSource::CopyOf { resource: from, region: TileRegion::buffer(other, count) };
        TileUpdate { resource: to, region: TileRegion::buffer(first, count), source }
    }

    /// The bytes that a tile is filled with.
    fn pattern(&self, seed: u8) -> Vec<u8> {
        bytes(usize::try_from(self.tile).unwrap(), seed)
    }

    fn fill(&self, resource: &Resource, tile: u32, seed: u8) {
        write(&self.device, &self.staging, &self.pattern(seed));
        run(&self.device, self.serial(), |list| {
            list.copy_buffer(&self.staging, 0, resource, u64::from(tile) * self.tile, self.tile);
        });
    }

    #[track_caller]
    fn expect(&self, resource: &Resource, tile: u32, seed: u8) {
        run(&self.device, self.serial(), |list| {
            list.copy_buffer(resource, u64::from(tile) * self.tile, &self.staging, 0, self.tile);
        });
        let found = read(&self.device, &self.staging, usize::try_from(self.tile).unwrap());
        assert!(found == self.pattern(seed), "tile {tile} does not hold pattern {seed}");
    }

    fn end(self, vulkan: Vulkan) {
        let Self { device, one, two, heap, staging, .. } = self;
        [one, two, staging].into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
        device.destroy_heap(PERMIT, heap);
        drop(device);
        vulkan.end();
    }
}

/// On the device as it is, with fences, and on one where another queue binds sparse memory, if it can look like that.
fn each(test: impl Fn(&Bench)) {
    let without = OptionalFeatures::TIMELINE_SEMAPHORES;
    let discrete = |options| Vulkan::disguised(Costume::discrete(), &options);
    let devices: [&dyn Fn() -> Vulkan; 4] = [
        &|| Vulkan::new(validated()),
        &|| Vulkan::new(validated().without(without)),
        &|| discrete(DeviceConfig::default()),
        &|| discrete(DeviceConfig::default().without(without)),
    ];
    let fits = Costume::discrete().fits(crate::harness::memory_types());
    for make in devices.into_iter().take(if fits { 4 } else { 2 }) {
        let vulkan = make();
        match Bench::new(&vulkan) {
            Some(bench) => {
                test(&bench);
                bench.end(vulkan);
            }
            None => vulkan.end(),
        }
    }
}

/// Two tiles of one resource, and tiles of two, in the same memory.
#[test]
fn tiles_share_memory() {
    each(|bench| {
        bench.update(&[bench.to_heap(&bench.one, (0, 1), 3), bench.to_heap(&bench.one, (5, 1), 3)]);
        bench.fill(&bench.one, 0, 7);
        bench.expect(&bench.one, 5, 7);
        bench.update(&[bench.copied((&bench.two, 2), (&bench.one, 4), 2)]);
        bench.expect(&bench.two, 3, 7);
        bench.fill(&bench.two, 3, 8);
        bench.expect(&bench.one, 0, 8);
        // A copied mapping stays when the original changes.
        bench.update(&[bench.to_heap(&bench.one, (0, 6), 0)]);
        bench.expect(&bench.two, 3, 8);
    });
}

/// Within one call later changes count, and copies see the earlier ones.
#[test]
fn changes_of_one_call_follow_each_other() {
    each(|bench| {
        bench.update(&[bench.to_heap(&bench.one, (0, 2), 0)]);
        bench.fill(&bench.one, 0, 10);
        bench.fill(&bench.one, 1, 11);
        bench.update(&[
            bench.to_heap(&bench.one, (4, 1), 6),
            bench.to_heap(&bench.one, (4, 1), 1),
            bench.copied((&bench.two, 7), (&bench.one, 4), 1),
            bench.copied((&bench.one, 4), (&bench.one, 0), 1),
            bench.unmapped(&bench.one, 0, 1),
        ]);
        bench.expect(&bench.two, 7, 11);
        bench.expect(&bench.one, 4, 10);
    });
}

/// No wait on the CPU: uses before a change see the old mapping, uses after it the new one.
#[test]
fn changes_are_ordered_with_submissions() {
    each(|bench| {
        let Bench { device, one, tile, .. } = bench;
        bench.update(&[bench.to_heap(one, (0, 1), 0)]);
        bench.fill(one, 0, 1);
        bench.update(&[bench.to_heap(one, (0, 1), 1)]);
        bench.fill(one, 0, 2);
        let outs: Vec<_> = (0..12).map(|_| mapped(device, *tile)).collect();
        let mut lists = Vec::new();
        for (index, out) in (0_u64..).zip(&outs) {
            let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
            list.begin().unwrap();
            list.copy_buffer(one, 0, out, 0, *tile);
            list.make_visible_to_cpu(State::COPY_DST);
            list.close().unwrap();
            bench.update(&[bench.to_heap(one, (0, 1), index % 2)]);
            device.submit(PERMIT, GRAPHICS, &[&list], &[], bench.serial()).unwrap();
            lists.push(list);
        }
        assert!(device.wait(at(bench.submitted.get()), LONG).unwrap());
        for (index, out) in (0_u8..).zip(&outs) {
            let found = read(device, out, usize::try_from(*tile).unwrap());
            assert!(found == bench.pattern(1 + index % 2), "copy {index}");
        }
        lists.into_iter().for_each(|list| device.destroy_list(PERMIT, list));
        outs.into_iter().for_each(|out| device.destroy_resource(PERMIT, out));
    });
}

#[test]
fn bad_changes_change_nothing() {
    each(|bench| {
        let Bench { device, one, two, tile, .. } = bench;
        bench.update(&[bench.to_heap(one, (0, 2), 0)]);
        bench.fill(one, 0, 5);
        let next = bench.submitted.get() + 1;
        let at_offset = |offset| TileUpdate {
            resource: one,
            region: TileRegion::buffer(0, 1),
            source: TileSource::Heap { heap: &bench.heap, offset },
        };
        let wrong = [
            at_offset(1),
            at_offset(u64::from(TILES) * tile),
            at_offset(u64::MAX - tile + 1),
            bench.to_heap(one, (TILES, 1), 0),
            bench.to_heap(one, (TILES - 1, 2), 0),
            bench.unmapped(one, 0, 0),
            bench.copied((one, 0), (two, TILES), 1),
            TileUpdate {
                source: TileSource::CopyOf { resource: two, region: TileRegion::buffer(0, 2) },
                ..bench.unmapped(one, 0, 1)
            },
            TileUpdate { resource: &bench.staging, ..bench.unmapped(one, 0, 1) },
        ];
        for wrong in wrong {
            // A good change before it is not made either.
            let refused =
                device.update_tiles(PERMIT, GRAPHICS, &[bench.unmapped(one, 0, 1), wrong], &[], next);
            assert!(matches!(refused, Err(DeviceError::InvalidCall { .. })), "{refused:?}");
        }
        let category = device.requirements(&buffer(64, USAGE)).unwrap().category;
        let other =
            if category == HeapCategory::Any { HeapCategory::Targets } else { HeapCategory::Textures };
        let other = heap_of(device, other, 1 << 20);
        let source = TileSource::Heap { heap: &other, offset: 0 };
        let update = TileUpdate { source, ..bench.unmapped(one, 0, 1) };
        assert!(
            device.update_tiles(PERMIT, GRAPHICS, &[update], &[], next).is_err(),
            "a heap for something else"
        );
        device.destroy_heap(PERMIT, other);
        let serials = device.update_tiles(PERMIT, GRAPHICS, &[bench.unmapped(one, 0, 1)], &[], next + 1);
        assert!(serials.is_err(), "serials rise by one");
        bench.expect(one, 0, 5);
        // And an unchanged mapping can be copied.
        bench.update(&[bench.copied((two, 0), (one, 0), 1)]);
        bench.expect(two, 0, 5);
        bench.update(&[]);
        bench.expect(two, 0, 5);
    });
}

/// On a queue whose family does not bind sparse memory, in order with it and with others.
#[test]
fn any_queue_can_change_mappings() {
    each(|bench| {
        let Bench { device, one, .. } = bench;
        let queues = u8::try_from(device.properties().queues.len()).unwrap();
        let mut serials = vec![0; usize::from(queues)];
        let mut before = QueueSerial { queue: GRAPHICS, serial: 0 };
        for round in 0..12_u8 {
            let queue = QueueId(round % queues);
            let slot = &mut serials[queue.index()];
            *slot += 1;
            if queue == GRAPHICS {
                *slot = bench.serial();
            }
            let update = bench.to_heap(one, (0, 1), u64::from(round % 3));
            device.update_tiles(PERMIT, queue, &[update], &[before], *slot).unwrap();
            let mapped_at = QueueSerial { queue, serial: *slot };
            assert!(device.wait(mapped_at, LONG).unwrap());
            bench.fill(one, 0, round);
            before = at(bench.submitted.get());
            bench.expect(one, 0, round);
        }
    });
}

/// The API orders changes and submissions by semaphores alone: each waits for the one before it.
#[test]
fn changes_and_submissions_of_a_discrete_card_are_ordered() {
    let without = OptionalFeatures::TIMELINE_SEMAPHORES;
    for options in [DeviceConfig::default(), DeviceConfig::default().without(without)] {
        let vulkan = Vulkan::disguised(Costume::discrete(), &options);
        let Some(bench) = Bench::new(&vulkan) else {
            vulkan.end();
            continue;
        };
        crate::waiting::stand_still(&vulkan);
        vulkan.disguise().take_trace();
        for round in 0..5 {
            bench.device.submit(PERMIT, GRAPHICS, &[], &[], bench.serial()).unwrap();
            bench.update(&[bench.to_heap(&bench.one, (0, 1), round)]);
            bench.update(&[bench.to_heap(&bench.one, (1, 1), round)]);
            bench.device.submit(PERMIT, GRAPHICS, &[], &[], bench.serial()).unwrap();
            bench.device.submit(PERMIT, GRAPHICS, &[], &[], bench.serial()).unwrap();
        }
        let trace = vulkan.disguise().take_trace();
        crate::disguise::trace::check(&trace);
        assert_eq!(trace.iter().filter(|batch| batch.binds).count(), 10);
        for pair in trace.windows(2) {
            // Two submissions need nothing: the API orders them.
            let is_ordered = !(pair[0].binds || pair[1].binds) || pair[1].follows(&pair[0]);
            assert!(is_ordered, "{pair:?}");
        }
        crate::waiting::go_on(&vulkan);
        assert!(bench.device.wait(at(bench.submitted.get()), LONG).unwrap());
        bench.end(vulkan);
    }
}

/// Without waiting on the CPU: round trips between the queue that changes and the one that uses.
#[test]
fn changes_on_another_queue_of_a_discrete_card_are_waited_for() {
    let no_timeline = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    for options in [DeviceConfig::default(), no_timeline] {
        let vulkan = Vulkan::disguised(Costume::discrete(), &options);
        let Some(bench) = Bench::new(&vulkan) else {
            vulkan.end();
            continue;
        };
        let Bench { device, one, .. } = &bench;
        let compute = QueueId(2);
        let mut last = QueueSerial { queue: GRAPHICS, serial: 0 };
        for round in 1..=10 {
            let update = bench.to_heap(one, (0, 2), round % 4);
            device.update_tiles(PERMIT, compute, &[update], &[last], round).unwrap();
            let changed = QueueSerial { queue: compute, serial: round };
            device.submit(PERMIT, GRAPHICS, &[], &[changed], bench.serial()).unwrap();
            last = at(bench.submitted.get());
        }
        assert!(device.wait(last, LONG).unwrap());
        assert_eq!(device.completed(compute), Ok(10));
        bench.end(vulkan);
    }
}

/// All sparse resources together have the address space that the device names, and it is used again.
#[test]
fn sparse_resources_share_an_address_space() {
    let costume = Costume { sparse_space: 4 << 20, ..Costume::plain() };
    let vulkan = Vulkan::disguised(costume, &DeviceConfig::default());
    let device = vulkan.device();
    if device.properties().features.contains(Features::RESERVED_BUFFERS) {
        let create = |mebibytes: u64| device.create_reserved(&buffer(mebibytes << 20, USAGE));
        let first = create(3).unwrap();
        assert!(create(2).unwrap_err().is_shortage());
        vulkan.disguise().fail("vkCreateBuffer", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        assert!(create(1).unwrap_err().is_shortage());
        let second = create(1).unwrap();
        device.destroy_resource(PERMIT, first);
        let third = create(3).unwrap();
        [second, third].into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
    }
    drop(device);
    vulkan.end();
}
