//! Priorities of memory: the initial ones, and those that the manager sets when memory is short.

use std::collections::HashMap;

use conformance::Harness as _;
use tenure_core::device::{MemoryBlock, MemoryTypeId, Priority, Residency, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, PoolConfig, Queue, Strategy, SyncPoint, TextureDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{CreateError, Device, DeviceConfig, OptionalFeatures};

use crate::basics::{COPIES, LONG, buffer, heap, is_invalid};
use crate::disguise::Costume;
use crate::disguise::paging::Event;
use crate::harness::{PERMIT, Vulkan, validated};

const MIB: u64 = 1 << 20;
const PAGEABLE: OptionalFeatures = OptionalFeatures::PAGEABLE_MEMORY;

/// The budget of the other heap: enough.
const AMPLE: u64 = 8 << 30;

fn card(options: &DeviceConfig) -> Vulkan {
    Vulkan::disguised(Costume::discrete(), options)
}

/// The memory of a heap or of a committed resource.
fn memory_of(resource: &tenure_vulkan::Resource) -> vk::DeviceMemory {
    resource.memory().unwrap().0
}

/// Whether the device has the extension is not ours to say: on older drivers there is nothing to test.
fn is_pageable(vulkan: &Vulkan) -> bool {
    vulkan.device().properties().residency == Residency::Priorities
}

/// Residency is on if the driver supports it, and off without the extension or its requirements.
#[test]
fn the_feature_is_a_switch() {
    let all = Vulkan::new(validated());
    let (device, optional) = (all.device(), all.device().optional_features());
    let name = c"VK_EXT_pageable_device_local_memory";
    let is_on = optional.contains(PAGEABLE);
    let residency = if is_on { Residency::Priorities } else { Residency::None };
    assert_eq!(device.properties().residency, residency);
    assert_eq!(device.enabled_extensions().iter().any(|each| each.as_c_str() == name), is_on);
    drop(device);
    all.end();
    for without in [PAGEABLE, OptionalFeatures::MEMORY_PRIORITY] {
        let vulkan = Vulkan::new(validated().without(without));
        let device = vulkan.device();
        assert_eq!(device.optional_features(), optional.difference(without | PAGEABLE));
        assert_eq!(device.properties().residency, Residency::None);
        let heap = heap(&device, &buffer(64, COPIES), 64 << 10);
        device.set_priority(PERMIT, MemoryBlock::Heap(&heap), Priority::Low).unwrap();
        device.destroy_heap(PERMIT, heap);
        drop(device);
        vulkan.end();
    }
}

/// A function that a wrapped device lacks is named, and called where it is there.
#[test]
fn the_function_is_found_or_refused_on_a_discrete_card() {
    let vulkan = card(&DeviceConfig::default());
    if is_pageable(&vulkan) {
        let function = "vkSetDeviceMemoryPriorityEXT";
        vulkan.disguise().lacks(Some(function));
        let refused = vulkan.disguise().wrap_again(&vulkan.host(), &DeviceConfig::default()).map(drop);
        assert_eq!(refused, Err(CreateError::NoFunction { function }));
        let without =
            vulkan.disguise().wrap_again(&vulkan.host(), &DeviceConfig::default().without(PAGEABLE));
        assert_eq!(without.unwrap().properties().residency, Residency::None);
        vulkan.disguise().lacks(None);
    }
    vulkan.end();
}

/// Each allocation has the default priority of its use, or the requested one; none on drivers without
/// priorities.
#[test]
fn allocations_of_a_discrete_card_have_their_priority() {
    for options in [DeviceConfig::default(), DeviceConfig::default().without(PAGEABLE)] {
        let vulkan = card(&options);
        let device = vulkan.device();
        let has_priorities = device.optional_features().contains(OptionalFeatures::MEMORY_PRIORITY);
        let target = TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::RENDER_TARGET);
        let plain = BufferDesc::new(2 * MIB, Usage::VERTEX);
        for strategy in [Strategy::Pooled, Strategy::Committed] {
            let config = PoolConfig::default().strategy(strategy);
            let gpu = Gpu::new(device.clone(), Config::from(config)).unwrap();
            for (asked, expected) in [
                (None, [0.5, 1.0]),
                (Some(Priority::Low), [0.25; 2]),
                (Some(Priority::Normal), [0.5; 2]),
                (Some(Priority::High), [1.0; 2]),
            ] {
                let (mut plain, mut target) = (plain.clone(), target.clone());
                (plain.priority, target.priority) = (asked, asked);
                vulkan.disguise().take_paged();
                let kept = (gpu.create_buffer(&plain).unwrap(), gpu.create_texture(&target).unwrap());
                let events = vulkan.disguise().take_paged();
                let memory = [memory_of(kept.0.raw()), memory_of(kept.1.raw())];
                for (memory, expected) in memory.into_iter().zip(expected) {
                    let of = |event: &&Event| matches!(event, Event::Allocated(of, _) if *of == memory);
                    // Else it lies in a heap of the same class.
                    match events.iter().find(of) {
                        Some(made) => {
                            let expected = has_priorities.then_some(expected);
                            assert_eq!(*made, Event::Allocated(memory, expected), "{asked:?}");
                        }
                        None => assert_eq!(strategy, Strategy::Pooled),
                    }
                }
                let later = |event: &&Event| matches!(event, Event::Priority(..));
                assert_eq!(events.iter().find(later), None, "it has it from the start");
            }
            assert!(gpu.shutdown().is_clean());
        }
        drop(device);
        vulkan.end();
    }
}

/// Only blocks of the device have a priority of their own.
#[test]
fn only_blocks_of_a_discrete_card_have_priorities() {
    for options in [DeviceConfig::default(), DeviceConfig::default().without(PAGEABLE)] {
        let vulkan = card(&options);
        let device = vulkan.device();
        let other = vulkan.disguise().wrap_again(&vulkan.host(), &options).unwrap();
        let desc = buffer(64, COPIES);
        let (own, foreign) = (heap(&device, &desc, 64 << 10), heap(&other, &desc, 64 << 10));
        let placed = device.create_placed(PERMIT, &desc, &own, 0).unwrap();
        let committed = device.create_committed(&desc, MemoryTypeId(0)).unwrap();
        vulkan.disguise().take_paged();
        let set = |block| device.set_priority(PERMIT, block, Priority::High);
        is_invalid(set(MemoryBlock::Heap(&foreign)), "used with the device that made it");
        is_invalid(set(MemoryBlock::Resource(&placed)), "heaps and committed resources");
        assert_eq!(vulkan.disguise().take_paged(), []);
        set(MemoryBlock::Heap(&own)).unwrap();
        set(MemoryBlock::Resource(&committed)).unwrap();
        let blocks = [own.memory(), memory_of(&committed)];
        let expected = blocks.map(|memory| Event::Priority(memory, 1.0));
        let expected = if is_pageable(&vulkan) { &expected[..] } else { &[] };
        assert_eq!(vulkan.disguise().take_paged(), expected);
        device.destroy_resource(PERMIT, placed);
        device.destroy_resource(PERMIT, committed);
        device.destroy_heap(PERMIT, own);
        other.destroy_heap(PERMIT, foreign);
        drop((device, other));
        vulkan.end();
    }
}

/// A world of blocks of 2 MiB, each with memory of its own.
struct World {
    gpu: Gpu<Device>,
    target: Buffer<Device>,
    blocks: Vec<Buffer<Device>>,
    /// The priority of each without a shortage.
    own: HashMap<vk::DeviceMemory, f32>,
    /// The current priority of each.
    now: HashMap<vk::DeviceMemory, f32>,
}

impl World {
    fn new(vulkan: &Vulkan) -> Self {
        let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let target = BufferDesc::new(64, Usage::COPY_DST).name("target");
        let target = gpu.create_buffer(&target).unwrap();
        let block = |index: usize| {
            let usage = [Usage::SHADER_READ, Usage::SHADER_READ, Usage::UNORDERED_ACCESS][index % 3];
            let mut desc = BufferDesc::new(2 * MIB, usage | Usage::COPY_SRC).evictable();
            // The others have the default priority of their use.
            desc.priority = (index % 3 == 1).then_some(Priority::High);
            gpu.create_buffer_with(&desc, &vec![index as u8; 2 << 20]).unwrap()
        };
        let blocks: Vec<_> = (0..16).map(block).collect();
        let own =
            |(index, block): (usize, &Buffer<Device>)| (memory_of(block.raw()), [0.5, 1.0, 1.0][index % 3]);
        let own: HashMap<_, _> = blocks.iter().enumerate().map(own).collect();
        let done = gpu.flush_uploads().unwrap();
        assert!(gpu.wait(&done, LONG).unwrap());
        vulkan.disguise().take_paged();
        Self { gpu, target, blocks, now: own.clone(), own }
    }

    fn use_blocks(&self, used: &[usize]) -> SyncPoint {
        let mut recording = self.gpu.record(Queue::Graphics, "use").unwrap();
        for index in used {
            recording.copy_buffer(&self.blocks[*index], 0, &self.target, 0, 64).unwrap();
        }
        recording.submit().unwrap()
    }

    fn memory(&self, used: &[usize]) -> Vec<vk::DeviceMemory> {
        used.iter().map(|index| memory_of(self.blocks[*index].raw())).collect()
    }

    /// Follows the events; at each submission its resources have their own priority.
    fn follow(&mut self, events: &[Event], used: &[vk::DeviceMemory]) -> usize {
        let mut changes = 0;
        for event in events {
            match *event {
                Event::Priority(memory, priority) => {
                    let before =
                        self.now.insert(memory, priority).expect("only what may leave has another one");
                    assert_ne!(before, priority, "a call that changes nothing");
                    changes += 1;
                }
                Event::Submitted => {
                    used.iter().for_each(|memory| assert_eq!(self.now[memory], self.own[memory]));
                }
                Event::Allocated(..) => {}
            }
        }
        changes
    }

    fn low(&self) -> usize {
        self.now.values().filter(|priority| **priority == 0.25).count()
    }

    fn end_frame(&self) {
        self.gpu.begin_frame().unwrap().end().unwrap();
    }

    fn end(self, vulkan: Vulkan) {
        let Self { gpu, target, blocks, .. } = self;
        drop((target, blocks));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        vulkan.end();
    }
}

/// The budget shrinks, and grows again. Idle resources get a low priority, as many as the shortage requires,
/// and their own again before the submission that uses them.
#[test]
fn scripted_budgets_change_priorities_on_a_discrete_card() {
    let vulkan = card(&DeviceConfig::default());
    vulkan.disguise().grant(&[AMPLE, AMPLE]);
    if !is_pageable(&vulkan) {
        return vulkan.end();
    }
    let mut world = World::new(&vulkan);
    let all: u64 = 16 * 2 * MIB;
    let script = [(0, AMPLE), (20, all / 2), (60, all / 4), (100, AMPLE)];
    let mut changes = 0;
    for frame in 0..140 {
        if let Some((_, granted)) = script.iter().find(|(at, _)| *at == frame) {
            vulkan.disguise().grant(&[*granted, AMPLE]);
        }
        // Two are hot, one of the others is looked at.
        let used = [0, 1, 2 + frame % 14];
        let done = world.use_blocks(&used);
        let memory = world.memory(&used);
        changes += world.follow(&vulkan.disguise().take_paged(), &memory);
        assert!(world.gpu.wait(&done, LONG).unwrap());
        world.end_frame();
        changes += world.follow(&vulkan.disguise().take_paged(), &[]);
        let evicted = world.gpu.memory().heaps[0].evicted;
        assert_eq!(evicted, world.low() as u64 * 2 * MIB, "in frame {frame}");
        match frame {
            0..20 => assert_eq!(changes, 0, "there is room"),
            30..60 => assert!((8..=12).contains(&world.low()), "{} in frame {frame}", world.low()),
            70..100 => assert!((12..=14).contains(&world.low()), "{} in frame {frame}", world.low()),
            120.. => assert_eq!(world.low(), 0, "all were used since there was room again"),
            _ => {}
        }
        let hot = world.memory(&[0, 1]);
        assert!(hot.iter().all(|memory| world.now[memory] == world.own[memory]), "in frame {frame}");
    }
    world.end(vulkan);
}

/// Memory in use by the GPU keeps its priority, however short memory is.
#[test]
fn memory_in_flight_on_a_discrete_card_keeps_its_priority() {
    let vulkan = card(&DeviceConfig::default());
    vulkan.disguise().grant(&[AMPLE, AMPLE]);
    if !is_pageable(&vulkan) {
        return vulkan.end();
    }
    let mut world = World::new(&vulkan);
    assert!(vulkan.hold());
    let done = world.use_blocks(&[3, 4, 5]);
    vulkan.disguise().grant(&[MIB, AMPLE]);
    vulkan.disguise().take_paged();
    // As long as the GPU is held, frames would wait for it.
    (0..2).for_each(|_| world.end_frame());
    world.follow(&vulkan.disguise().take_paged(), &[]);
    let busy = world.memory(&[3, 4, 5]);
    assert!(busy.iter().all(|memory| world.now[memory] == world.own[memory]));
    vulkan.settle();
    assert!(world.gpu.wait(&done, LONG).unwrap());
    (0..8).for_each(|_| world.end_frame());
    world.follow(&vulkan.disguise().take_paged(), &[]);
    assert_eq!(world.low(), 16, "all of it is idle now");
    world.end(vulkan);
}

/// Of two heaps each has its own budget: where there is room, nothing changes.
#[test]
fn heaps_of_a_discrete_card_are_counted_apart() {
    let vulkan = card(&DeviceConfig::default());
    vulkan.disguise().grant(&[AMPLE, AMPLE]);
    if !is_pageable(&vulkan) {
        return vulkan.end();
    }
    let mut world = World::new(&vulkan);
    vulkan.disguise().grant(&[AMPLE, 1]);
    (0..8).for_each(|_| world.end_frame());
    assert_eq!(world.follow(&vulkan.disguise().take_paged(), &[]), 0);
    world.end(vulkan);
}
