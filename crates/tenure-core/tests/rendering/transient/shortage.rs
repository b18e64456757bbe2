//! Memory shortages, temporary and permanent.

use tenure_core::transient::graph::Graph;
use tenure_core::{
    AllocationFlags, Buffer, BufferDesc, Config, Error, Gpu, Queue, State, TransientConfig, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::{MIB, PROFILES, finish, gpu_with, storage};

fn with_memory(profile: Profile, bytes: u64) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::None).heap_sizes(vec![bytes; 4]))
}

fn gpu(device: &Device) -> Gpu<Device> {
    gpu_with(device, Config::from(TransientConfig::default().latency(0)))
}

/// A graph with one pass that uses buffers of those sizes.
fn graph_of(sizes: &[u64]) -> Graph {
    let mut graph = Graph::new();
    let ids: Vec<_> = sizes.iter().map(|size| graph.buffer(storage(*size, "buffer"))).collect();
    let pass = graph.pass(Queue::Graphics, "pass");
    let _ = ids.into_iter().fold(pass, |pass, id| pass.uses(id, State::COPY_DST)).id();
    graph
}

/// Runs such a graph for a frame.
fn run(gpu: &Gpu<Device>, sizes: &[u64]) -> Result<(), Error> {
    let graph = graph_of(sizes);
    let frame = gpu.begin_frame().unwrap();
    let run = frame.execute(&graph, |_, list, resources| {
        let ids = graph.resource_ids();
        ids.into_iter().try_for_each(|id| {
            resources.buffer(id).map(|buffer| list.raw().fill_buffer(buffer.raw(), 0, 16, 1))
        })
    });
    frame.end().unwrap();
    run.map(drop)
}

fn heaps_of(gpu: &Gpu<Device>, sizes: &[u64]) -> usize {
    gpu.plan_graph(&graph_of(sizes)).unwrap().heaps().len()
}

fn idle(gpu: &Gpu<Device>, frames: u32) {
    (0..frames).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
}

/// Buffers that use all memory.
fn fill_memory(gpu: &Gpu<Device>) -> Vec<Buffer<Device>> {
    let desc = BufferDesc::new(MIB, Usage::VERTEX).own_resource().name("hog");
    std::iter::from_fn(|| gpu.create_buffer(&desc).ok()).collect()
}

const SMALL: [u64; 8] = [MIB; 8];

/// A graph that failed for lack of memory runs as soon as there is memory again, in the same frame.
#[test]
fn a_shortage_ends_as_soon_as_memory_is_free() {
    for &profile in PROFILES {
        let device = with_memory(profile, 64 * MIB);
        let gpu = gpu(&device);
        run(&gpu, &[16 * MIB]).unwrap();
        idle(&gpu, 40);
        gpu.trim();
        let hogs = fill_memory(&gpu);
        for sizes in [&SMALL[..], &[16 * MIB], &[4 * MIB, MIB]] {
            let refused = run(&gpu, sizes).unwrap_err();
            assert!(matches!(refused, Error::OutOfMemory(_)), "{profile:?}: {refused}");
        }
        drop(hogs);
        gpu.reclaim().unwrap();
        for sizes in [&[16 * MIB][..], &SMALL, &[24 * MIB, MIB]] {
            run(&gpu, sizes).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        }
        finish(&device, gpu);
    }
}

/// While only small heaps can be created, graphs run in those, and larger ones are tried now and then; once there is
/// memory again, graphs return to one heap.
#[test]
fn graphs_in_small_heaps_run_on_and_return_to_one() {
    for &profile in PROFILES {
        let device = with_memory(profile, 64 * MIB);
        let gpu = gpu(&device);
        let shortage = Fault::nth(1, FaultKind::OutOfMemory).larger_than(3 * MIB).onwards();
        device.faults().inject(shortage.of(CallKind::CreateHeap));
        run(&gpu, &SMALL).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        let heaps = heaps_of(&gpu, &SMALL);
        assert!(heaps > 1, "{profile:?}");
        let refused = |device: &Device| device.calls().failed(CallKind::CreateHeap);
        let (before, created) = (refused(&device), gpu.stats().transient.heaps_created);
        for _ in 0..3000 {
            run(&gpu, &SMALL).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        }
        let trials = refused(&device) - before;
        assert!((1..100).contains(&trials), "{profile:?}: larger heaps are tried, and rarely: {trials}");
        assert_eq!(gpu.stats().transient.heaps_created, created, "{profile:?}: what is there stays");
        device.faults().clear();
        for _ in 0..1500 {
            run(&gpu, &SMALL).unwrap();
        }
        assert_eq!((heaps_of(&gpu, &SMALL), gpu.stats().transient.heaps), (1, 1), "{profile:?}");
        finish(&device, gpu);
    }
}

/// After `Gpu::trim` a larger heap is tried at once.
#[test]
fn a_trim_has_larger_heaps_tried_at_once() {
    let device = with_memory(Profile::DISCRETE, 64 * MIB);
    let gpu = gpu(&device);
    let shortage = Fault::nth(1, FaultKind::OutOfMemory).larger_than(3 * MIB).onwards();
    device.faults().inject(shortage.of(CallKind::CreateHeap));
    run(&gpu, &SMALL).unwrap();
    device.faults().clear();
    run(&gpu, &SMALL).unwrap();
    assert!(heaps_of(&gpu, &SMALL) > 1);
    gpu.trim();
    run(&gpu, &SMALL).unwrap();
    assert_eq!(heaps_of(&gpu, &SMALL), 1);
    finish(&device, gpu);
}

/// If the driver requires dedicated memory for each resource: unused ones make room for others, and a trim destroys them.
#[test]
fn unused_dedicated_resources_are_freed() {
    for &profile in PROFILES {
        let options = DeviceConfig::new(profile).lag(Lag::None).heap_sizes(vec![64 * MIB; 4]);
        let device = Device::with_config(options.requires_dedicated());
        let gpu = gpu_with(&device, Config::default());
        let large = BufferDesc::new(40 * MIB, Usage::VERTEX).allocation(AllocationFlags::DEVICE_LOCAL_ONLY);
        run(&gpu, &[40 * MIB]).unwrap();
        let made = gpu.create_buffer(&large.name("large"));
        drop(made.unwrap_or_else(|error| panic!("{profile:?}: {error}")));
        run(&gpu, &[40 * MIB]).unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        gpu.trim();
        assert_eq!(gpu.stats().reserved_by.transient, 0, "{profile:?}");
        finish(&device, gpu);
    }
}
