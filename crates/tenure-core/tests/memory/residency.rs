//! Evictable resources: used resources are resident, and idle ones are evicted when memory is short.

use std::time::{Duration, Instant};

use tenure_core::device::{Priority, Residency, TrimRequest, prelude::*};
use tenure_core::{
    AllocationFlags, BindingKind, Buffer, BufferDesc, BufferViewDesc, Config, DescriptorSetDesc,
    DescriptorTableDesc, Error, Format, Gpu, LocationKind, MemoryUse, PoolConfig, Queue, Recording,
    SetBinding, SetDescriptor, SetLayoutDesc, State, SyncPoint, TextureDesc, Usage,
};
use tenure_sim::{
    BudgetChange, CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Paging, Profile, SegmentStats,
};

use super::waits;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SOON: Duration = Duration::from_secs(10);

fn with(options: DeviceConfig) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), Config::default()).unwrap()
}

/// A Direct3D 12 card with a budget of `mib` MiB.
fn granted(mib: u64) -> Gpu<Device> {
    with(DeviceConfig::new(Profile::DISCRETE).budgets([mib * MIB]).paging(Paging::PCIE4_X16))
}

fn evictable(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ | Usage::COPY_SRC).evictable()
}

fn make(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    gpu.create_buffer_with(&evictable(size), &vec![7; size as usize]).unwrap()
}

fn local(gpu: &Gpu<Device>) -> SegmentStats {
    gpu.device().paging_stats().segments[0]
}

/// A submission that reads a buffer, as the simulated device sees it: it copies 64 bytes of it.
fn read(gpu: &Gpu<Device>, target: &Buffer<Device>, buffers: &[&Buffer<Device>]) -> SyncPoint {
    let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
    for buffer in buffers {
        recording.copy_buffer(buffer, 0, target, 0, 64).unwrap();
    }
    recording.submit().unwrap()
}

fn target(gpu: &Gpu<Device>) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST).name("target")).unwrap()
}

fn end_frame(gpu: &Gpu<Device>) {
    gpu.begin_frame().unwrap().end().unwrap();
}

fn assert_clean(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
    assert_eq!(gpu.device().take_hazards(), []);
}

/// A world of twice the budget; each frame uses a part: the budget is never exceeded, and all used resources
/// are resident.
#[test]
fn a_world_larger_than_the_budget_is_paged() {
    let gpu = granted(32);
    let target = target(&gpu);
    let world: Vec<_> = (0..32).map(|_| make(&gpu, 2 * MIB)).collect();
    for first in 0..64 {
        let used: Vec<_> = (first..first + 8).map(|index| &world[index % world.len()]).collect();
        read(&gpu, &target, &used);
        end_frame(&gpu);
        let budget = gpu.device().budget().unwrap()[0];
        assert!(budget.usage <= budget.budget, "{budget:?} in frame {first}");
    }
    let stats = local(&gpu);
    assert!(stats.paged_in > 0 && stats.paged_out > stats.paged_in, "{stats:?}");
    assert!(stats.demoted < MIB, "the operating system has hardly anything to do: {stats:?}");
    assert_clean(&gpu);
}

/// Blocks that fit stay: nothing is evicted, and a submission makes no call for it.
#[test]
fn blocks_that_fit_are_not_evicted() {
    let gpu = granted(256);
    let target = target(&gpu);
    let world: Vec<_> = (0..32).map(|_| make(&gpu, 2 * MIB)).collect();
    for _ in 0..10 {
        read(&gpu, &target, &world.iter().collect::<Vec<_>>());
        end_frame(&gpu);
    }
    let calls = gpu.device().calls();
    assert_eq!((calls.made(CallKind::Evict), calls.made(CallKind::MakeResident)), (0, 0));
    assert_clean(&gpu);
}

/// With a cyclic working set a little larger than the budget, eviction of the least recently used would page
/// everything in each time. Of 40 blocks 36 fit beside the blocks in flight.
#[test]
fn of_a_cyclic_working_set_most_stays() {
    let gpu = granted(80);
    let target = target(&gpu);
    let world: Vec<_> = (0..44).map(|_| make(&gpu, 2 * MIB)).collect();
    let cycle = |gpu: &Gpu<Device>| {
        for buffers in world.chunks(2) {
            read(gpu, &target, &buffers.iter().collect::<Vec<_>>());
            end_frame(gpu);
        }
    };
    (0..4).for_each(|_| cycle(&gpu));
    let before = local(&gpu).paged_in;
    (0..4).for_each(|_| cycle(&gpu));
    let per_cycle = (local(&gpu).paged_in - before) / 4 / MIB;
    assert!(per_cycle <= 24, "{per_cycle} MiB of 88");
    assert_clean(&gpu);
}

/// After a budget has shrunk and grown again, all evicted resources return when they are used.
#[test]
fn a_budget_that_shrinks_is_kept() {
    let script = [
        BudgetChange { after: 40, heap: 0, bytes: 24 * MIB },
        BudgetChange { after: 80, heap: 0, bytes: 96 * MIB },
    ];
    let paging = Paging::PCIE4_X16.script(script);
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([96 * MIB]).paging(paging));
    let target = target(&gpu);
    let world: Vec<_> = (0..32).map(|_| make(&gpu, 2 * MIB)).collect();
    for frame in 0..120_usize {
        // Four are used in each frame, and one of the others.
        let mut used: Vec<_> = world[..4].iter().collect();
        used.push(&world[4 + frame % 28]);
        read(&gpu, &target, &used);
        end_frame(&gpu);
        let budget = gpu.device().budget().unwrap()[0];
        assert!(budget.usage <= budget.budget, "{budget:?} in frame {frame}");
        let evicted = gpu.memory().heaps[0].evicted;
        assert!(frame >= 30 || evicted == 0, "{evicted} in frame {frame}");
    }
    assert_eq!(gpu.memory().heaps[0].evicted, 0, "all 32 were used since there was room again");
    assert_clean(&gpu);
}

/// Blocks of several sizes: only as many are evicted as are needed.
#[test]
fn only_the_missing_bytes_are_evicted() {
    let gpu = granted(64);
    let target = target(&gpu);
    let world: Vec<_> = [1, 1, 1, 1, 8].map(|mib| make(&gpu, mib * MIB)).into();
    for buffer in &world {
        read(&gpu, &target, &[buffer]);
        end_frame(&gpu);
    }
    (0..20).for_each(|_| end_frame(&gpu));
    let usage = gpu.memory().heaps[0].usage;
    gpu.device().set_budget(0, usage - 6 * MIB).unwrap();
    end_frame(&gpu);
    assert_eq!(
        gpu.memory().heaps[0].evicted,
        8 * MIB,
        "the large one is enough, whatever was tried before it"
    );
    assert_clean(&gpu);
}

/// A submission larger than the budget: it runs, and all other blocks are evicted.
#[test]
fn a_submission_larger_than_the_budget_runs() {
    let gpu = granted(16);
    let target = target(&gpu);
    let world: Vec<_> = (0..16).map(|_| make(&gpu, 2 * MIB)).collect();
    for _ in 0..4 {
        let done = read(&gpu, &target, &world[..12].iter().collect::<Vec<_>>());
        assert!(gpu.wait(&done, SOON).unwrap());
        end_frame(&gpu);
    }
    assert_clean(&gpu);
}

/// A lasting table, a view, and descriptors of one recording: their resources are resident.
#[test]
fn resources_of_descriptors_are_resident() {
    let gpu = granted(16);
    let [table, view, dynamic, named] = std::array::from_fn(|_| make(&gpu, MIB));
    let others: Vec<_> = (0..16).map(|_| make(&gpu, MIB)).collect();
    let of = |buffer| gpu.create_buffer_view(buffer, &BufferViewDesc::raw()).unwrap();
    let views = [&table, &view, &dynamic].map(of);
    let shown = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&views[0]).into()])).unwrap();
    let target = target(&gpu);
    let used = [&table, &view, &dynamic, &named];
    for _ in 0..4 {
        // Other resources fill the budget.
        for other in &others {
            read(&gpu, &target, &[other]);
            end_frame(&gpu);
        }
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        let (commands, scratch) = recording.split();
        commands.make_resident(&shown).unwrap();
        commands.make_resident(&views[1]).unwrap();
        scratch.descriptors(&[(&views[2]).into()]).unwrap();
        commands.make_resident(&named).unwrap();
        touch(&mut recording, &used);
        recording.submit().unwrap();
    }
    assert!(local(&gpu).paged_in >= 4 * MIB, "{:?}", local(&gpu));
    assert_clean(&gpu);
}

/// Has a recording use buffers without declaring it.
fn touch(recording: &mut Recording<Device>, buffers: &[&Buffer<Device>]) {
    let list = recording.raw_mut(tenure_core::device::Permit::checked());
    for buffer in buffers {
        list.use_buffer(buffer.raw(), buffer.offset(), 64, State::SHADER_READ);
    }
}

/// The simulated device detects undeclared uses.
#[test]
fn undeclared_uses_are_hazards() {
    let gpu = granted(8);
    let target = target(&gpu);
    let forgotten = make(&gpu, 2 * MIB);
    let others: Vec<_> = (0..8).map(|_| make(&gpu, 2 * MIB)).collect();
    for other in &others {
        read(&gpu, &target, &[other]);
        end_frame(&gpu);
    }
    let mut recording = gpu.record(Queue::Graphics, "bindless").unwrap();
    touch(&mut recording, &[&forgotten]);
    recording.submit().unwrap();
    assert!(gpu.device().run_until_idle());
    let hazards = gpu.device().take_hazards();
    assert!(hazards.iter().any(|hazard| hazard.to_string().contains("evict")), "{hazards:?}");
}

/// An evicted resource can be dropped, and an evicted block is given back: the sums are right after that.
#[test]
fn evicted_memory_is_freed_once() {
    let gpu = granted(16);
    let target = target(&gpu);
    for round in 0..4 {
        let world: Vec<_> = (0..64).map(|index| make(&gpu, [100 * KIB, MIB][index % 2])).collect();
        for buffer in &world {
            read(&gpu, &target, &[buffer]);
            end_frame(&gpu);
        }
        assert!(gpu.memory().heaps[0].evicted > 0, "round {round}");
        drop(world);
        (0..40).for_each(|_| end_frame(&gpu));
        gpu.trim();
        let memory = gpu.memory();
        assert_eq!(memory.heaps[0].evicted, 0, "round {round}");
        assert_eq!(memory.heaps[0].usage, gpu.device().budget().unwrap()[0].usage, "round {round}");
    }
    assert_clean(&gpu);
}

/// A request without room within the budget evicts idle blocks before it goes to slower memory.
#[test]
fn an_allocation_evicts_before_it_spills() {
    let gpu = granted(32);
    let target = target(&gpu);
    let world: Vec<_> = (0..16).map(|_| make(&gpu, 2 * MIB)).collect();
    read(&gpu, &target, &world.iter().take(4).collect::<Vec<_>>());
    (0..20).for_each(|_| end_frame(&gpu));
    let mesh = gpu.create_buffer(&BufferDesc::new(8 * MIB, Usage::VERTEX)).unwrap();
    let report = gpu.report();
    let object = report.objects.iter().find(|object| object.bytes == 8 * MIB);
    assert_eq!(object.and_then(|object| object.memory_type), Some(0), "it is local");
    assert!(gpu.memory().heaps[0].evicted >= 6 * MIB);
    drop(mesh);
    assert_clean(&gpu);
}

/// A submission waits for the GPU until its blocks can be paged in; a request that never waits does not wait for it.
#[test]
fn an_allocation_that_never_waits_does_not_wait_for_paging() {
    let options = DeviceConfig::new(Profile::DISCRETE).budgets([32 * MIB]).paging(Paging::PCIE4_X16);
    let device = Device::with_config(options.lag(Lag::Manual));
    let config = Config::default().pools(PoolConfig::default().max_wait(SOON));
    let gpu = Gpu::new(device.clone(), config).unwrap();
    let target = target(&gpu);
    let world: Vec<_> = (0..16).map(|_| make(&gpu, 2 * MIB)).collect();
    gpu.flush_uploads().unwrap();
    assert!(device.run_until_idle());
    (0..20).for_each(|_| end_frame(&gpu));
    let _mesh = gpu.create_buffer(&BufferDesc::new(8 * MIB, Usage::VERTEX)).unwrap();
    assert!(gpu.memory().heaps[0].evicted > 0);
    let in_flight = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_SRC).own_resource()).unwrap();
    read(&gpu, &target, &[&in_flight]);
    let mut recording = gpu.record(Queue::Graphics, "pages in").unwrap();
    for buffer in &world {
        recording.copy_buffer(buffer, 0, &target, 0, 64).unwrap();
    }
    device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::MakeResident).onwards());
    let waits_before = waits::begun(&device);
    std::thread::scope(|scope| {
        let paging = scope.spawn(|| recording.submit());
        waits::until_one_more(&device, waits_before);
        let desc = BufferDesc::new(8 * MIB, Usage::VERTEX).allocation(AllocationFlags::NEVER_WAIT);
        let (begun, made) = (Instant::now(), gpu.create_buffer(&desc));
        assert!(begun.elapsed() < SOON / 2, "{made:?}");
        assert!(!paging.is_finished());
        device.faults().clear();
        assert!(device.run_until_idle());
        paging.join().unwrap().unwrap();
    });
    assert_clean(&gpu);
}

/// Large ones have blocks of their own; small ones share blocks only with evictable resources.
#[test]
fn evictable_resources_share_no_block_with_others() {
    let gpu = granted(256);
    let large = gpu.create_buffer(&evictable(MIB)).unwrap();
    assert_eq!(large.location(), LocationKind::Committed);
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let (stays, leaves) = (
        gpu.create_texture(&texture.clone()).unwrap(),
        gpu.create_texture(&texture.clone().evictable()).unwrap(),
    );
    let high = gpu.create_texture(&texture.priority(Priority::High)).unwrap();
    assert_eq!(
        gpu.report().pools.len(),
        3,
        "a pool for what stays, for what leaves, and for what matters more"
    );
    drop((stays, leaves, high));
    // Without paging nothing is evicted, so evictable resources share blocks with others.
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    assert_ne!(make(&gpu, MIB).location(), LocationKind::Committed);
    let mapped = gpu.create_buffer(&evictable(64).memory(MemoryUse::Upload)).unwrap();
    assert_eq!(mapped.location(), LocationKind::Range);
}

/// Blocks of shared resources are no larger than the limit for a block of one resource, whatever the total:
/// each small one that is used brings back its whole block.
#[test]
fn small_evictable_resources_share_small_blocks() {
    let gpu = granted(256);
    let blocks = |desc: &BufferDesc| {
        let buffers: Vec<_> = (0..256).map(|_| gpu.create_buffer(desc).unwrap()).collect();
        let reports = gpu.report().pools;
        let sizes: Vec<_> = reports.iter().flat_map(|pool| &pool.blocks).map(|block| block.size).collect();
        drop(buffers);
        gpu.trim();
        sizes
    };
    let size = 200 << 10;
    let leaving = blocks(&evictable(size));
    assert!(leaving.iter().all(|block| (size..=MIB).contains(block)), "{leaving:?}");
    assert!(leaving.len() < 80, "{} blocks, so that they are not shared", leaving.len());
    assert!(blocks(&BufferDesc::new(size, Usage::SHADER_READ)).iter().any(|block| *block > MIB));
}

/// A view or a resource of another manager is refused.
#[test]
fn resources_of_another_manager_are_refused() {
    let (gpu, other) = (granted(64), granted(64));
    let foreign = other.create_buffer(&evictable(MIB)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    assert!(matches!(recording.make_resident(&foreign), Err(Error::Foreign { .. })));
}

/// If the driver decides by priorities, idle resources get a low priority under pressure, and their own before
/// a use, also those in lasting sets and in sets of a recording.
#[test]
fn where_the_driver_decides_priorities_change() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).paging(Paging::PCIE4_X16);
    let gpu = with(options);
    assert_eq!(gpu.device().properties().residency, Residency::Priorities);
    let (set, dynamic) = (make(&gpu, MIB), make(&gpu, MIB));
    let of = |buffer| gpu.create_buffer_view(buffer, &BufferViewDesc::raw()).unwrap();
    let views = [&set, &dynamic].map(of);
    let layout =
        gpu.create_set_layout(&SetLayoutDesc::new(&[SetBinding::new(0, BindingKind::Buffer)])).unwrap();
    let binds = [SetDescriptor::new(0, &views[0])];
    let bound = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
    let calls = || gpu.device().calls().made(CallKind::SetPriority);
    let before = calls();
    let draw = || {
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        let (commands, scratch) = recording.split();
        commands.make_resident(&bound).unwrap();
        scratch.set(&layout, &[SetDescriptor::new(0, &views[1])]).unwrap();
        recording.submit().unwrap();
    };
    draw();
    assert_eq!(calls(), before, "they have their priority");
    gpu.device().set_budget(0, MIB / 2).unwrap();
    (0..8).for_each(|_| end_frame(&gpu));
    assert_eq!(calls() - before, 2, "each is told once that it matters less");
    assert_eq!(gpu.memory().heaps[0].evicted, 2 * MIB);
    draw();
    assert_eq!(calls() - before, 4, "each matters again");
    assert_eq!(gpu.memory().heaps[0].evicted, 0);
    assert_clean(&gpu);
}

/// A notification of the operating system takes effect in the same frame, although the budget was already
/// queried.
#[test]
fn a_change_of_the_budget_is_heard_at_once() {
    for (profile, is_heard) in [(Profile::DISCRETE, true), (Profile::VULKAN_NVIDIA, false)] {
        let gpu = with(DeviceConfig::new(profile).budgets([256 * MIB]).paging(Paging::PCIE4_X16));
        (0..3).for_each(|_| end_frame(&gpu));
        let asked = |gpu: &Gpu<Device>| gpu.device().calls().made(CallKind::Budget);
        assert_eq!(gpu.memory().heaps[0].budget, Some(256 * MIB));
        let before = asked(&gpu);
        assert_eq!(gpu.memory().heaps[0].budget, Some(256 * MIB));
        assert_eq!(asked(&gpu), before, "once a frame is enough");
        gpu.device().set_budget(0, 64 * MIB).unwrap();
        let expected = if is_heard { 64 } else { 256 };
        assert_eq!(gpu.memory().heaps[0].budget, Some(expected * MIB), "{profile:?}");
        assert_eq!(asked(&gpu) - before, u64::from(is_heard));
        assert_eq!(gpu.memory().heaps[0].budget, Some(expected * MIB));
        assert_eq!(asked(&gpu) - before, u64::from(is_heard), "once for each change");
        end_frame(&gpu);
        assert_eq!(gpu.memory().heaps[0].budget, Some(64 * MIB), "{profile:?}");
    }
}

/// Limits granted some frames ago do not outlive a change of the budget.
#[test]
fn limits_granted_before_a_budget_change_expire() {
    let gpu =
        with(DeviceConfig::new(Profile::DISCRETE).budgets([256 * MIB, 4096 * MIB]).paging(Paging::PCIE4_X16));
    let load = || gpu.create_texture(&TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::SHADER_READ));
    let mut kept = vec![load().unwrap()];
    end_frame(&gpu);
    gpu.device().set_budget(0, 16 * MIB).unwrap();
    end_frame(&gpu);
    kept.extend((0..16).map(|_| load().unwrap()));
    let budget = gpu.device().budget().unwrap()[0];
    assert!(budget.usage <= budget.budget, "{budget:?}");
}

fn trim(bytes: u64, unused: bool) -> TrimRequest {
    TrimRequest { bytes, unused, restarts: false }
}

fn evicted(gpu: &Gpu<Device>) -> u64 {
    gpu.memory().heaps[0].evicted / MIB
}

/// As many idle blocks are evicted as if the requested bytes were missing, and none in use.
#[test]
fn requested_bytes_are_evicted_at_the_end_of_the_frame() {
    let gpu = granted(256);
    let target = target(&gpu);
    let world: Vec<_> = (0..8).map(|_| make(&gpu, 2 * MIB)).collect();
    (0..16).for_each(|_| {
        read(&gpu, &target, &[&world[0], &world[1]]);
        end_frame(&gpu);
    });
    let frame = || {
        read(&gpu, &target, &[&world[0], &world[1]]);
        end_frame(&gpu);
    };
    gpu.device().request_trim(trim(3 * MIB, false));
    assert_eq!(evicted(&gpu), 0);
    frame();
    assert_eq!(evicted(&gpu), 4, "whole blocks");
    frame();
    assert_eq!(evicted(&gpu), 4, "it was asked for once");
    gpu.device().request_trim(trim(u64::MAX, false));
    frame();
    assert_eq!(evicted(&gpu), 12, "what is used in each frame stays");
    read(&gpu, &target, &world.iter().collect::<Vec<_>>());
    assert_eq!(evicted(&gpu), 0);
    assert_clean(&gpu);
}

/// Resources unused since the previous request are evicted, however much room there is.
#[test]
fn resources_unused_between_two_requests_are_evicted() {
    let gpu = granted(256);
    let target = target(&gpu);
    let world: Vec<_> = (0..4).map(|_| make(&gpu, 2 * MIB)).collect();
    let frames = |gpu: &Gpu<Device>, used: &[&Buffer<Device>]| {
        (0..12).for_each(|_| {
            read(gpu, &target, used);
            end_frame(gpu);
        });
    };
    frames(&gpu, &[&world[0]]);
    gpu.device().request_trim(trim(0, true));
    end_frame(&gpu);
    assert_eq!(evicted(&gpu), 0, "nothing was asked for before");
    frames(&gpu, &[&world[0], &world[1]]);
    gpu.device().request_trim(TrimRequest { restarts: true, ..TrimRequest::default() });
    end_frame(&gpu);
    assert_eq!(evicted(&gpu), 0, "it begins anew");
    frames(&gpu, &[&world[0]]);
    gpu.device().request_trim(trim(0, true));
    end_frame(&gpu);
    assert_eq!(evicted(&gpu), 6, "all but one");
    assert_clean(&gpu);
}

/// The reservation of memory that cannot be evicted is updated after large changes.
#[test]
fn pinned_memory_is_reserved() {
    let gpu = granted(256);
    end_frame(&gpu);
    let told = || gpu.device().reserved().first().map(|bytes| bytes / MIB);
    assert_eq!(told(), Some(0));
    let pinned: Vec<_> =
        (0..4).map(|_| gpu.create_buffer(&BufferDesc::new(32 * MIB, Usage::SHADER_READ)).unwrap()).collect();
    let world: Vec<_> = (0..4).map(|_| make(&gpu, 2 * MIB)).collect();
    (0..8).for_each(|_| end_frame(&gpu));
    let before = told().unwrap();
    assert!((128..160).contains(&before), "{before}");
    gpu.device().request_trim(trim(u64::MAX, false));
    (0..8).for_each(|_| end_frame(&gpu));
    assert_eq!((evicted(&gpu), told()), (8, Some(before)), "what leaves was not reserved");
    drop(world);
    (0..8).for_each(|_| end_frame(&gpu));
    assert_eq!(told(), Some(before));
    drop(pinned);
    (0..8).for_each(|_| end_frame(&gpu));
    assert!(told().unwrap() < 64, "{:?}", told());
}
