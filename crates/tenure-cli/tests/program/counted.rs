//! A counted device behaves like its inner device, and has equal counts.

#[path = "../../../conformance/tests/support/probe.rs"]
mod probe;

use std::thread;

use conformance::{Effort, Harness, Probe};
use tenure::device::{HeapCategory, HeapDesc, MemoryTypeId, Permit, Priority, ResourceDesc, prelude::*};
use tenure::sim::{CallKind, Fault, FaultKind, Profile};
use tenure::{
    BufferDesc, Config, Gpu, Usage, compaction::CompactionBudget, error::DeviceError, resource::BufferInfo,
    sim,
};
use tenure_cli::replay::{Counted, List, Live, Meter};

/// Runs the suite of all devices on a counted device, and compares the counts at the end of each case.
struct Both(Counted<sim::Device>);

impl Both {
    fn new(profile: Profile) -> Self {
        let options = sim::DeviceConfig::new(profile).lag(sim::Lag::Random { max: 6 }).seed(5);
        Self(Counted::new(sim::Device::with_config(options)))
    }
}

impl Harness for Both {
    type Device = Counted<sim::Device>;

    fn device(&self) -> Self::Device {
        self.0.clone()
    }

    fn probe(&self, list: &List<sim::Device>, probe: &Probe<'_, Self::Device>) {
        let Probe { through, look, out, offset } = probe;
        probe::record(list.inner(), through, look, out.inner(), *offset);
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::from_iter(self.0.inner().check_clean().err().iter().map(ToString::to_string));
        let (counted, its_own) = (meter(&self.0), timeless(Meter::of(self.0.inner())));
        // With several threads the counter and the device may see calls in a different order, so their peaks may
        // differ.
        let [counted, its_own] =
            [counted, its_own].map(|it| if has_threads() { without_peak(it) } else { it });
        if counted != its_own {
            problems.push(format!("counted {counted:?}, the device {its_own:?}"));
        }
        let live = self.0.gauge().live();
        if live != Live::default() {
            problems.push(format!("{live:?} at the end"));
        }
        problems
    }

    /// A wrong count shows after a few frames.
    fn effort(&self) -> Effort {
        Effort { operations: 1000, frames: 50, rendered: 3, ..Effort::default() }
    }
}

mod d3d12 {
    conformance::suite!(super::Both::new(tenure::sim::Profile::D3D12_TIER1));
}

mod vulkan {
    conformance::suite!(super::Both::new(tenure::sim::Profile::VULKAN_NVIDIA));
}

/// True in cases with several threads, by the name of the test, which is also the thread's.
fn has_threads() -> bool {
    let cases = ["threads", "queues_work_side_by_side", "recordings_take_effect_in_the_order_of_submission"];
    thread::current().name().is_some_and(|name| cases.iter().any(|case| name.contains(case)))
}

fn without_peak(meter: Meter) -> Meter {
    Meter { peak_reserved_bytes: 0, ..meter }
}

/// The figures, except for those that one side measures and the other models.
fn timeless(meter: Meter) -> Meter {
    Meter { cost_ns: 0, ..meter }
}

fn meter(device: &Counted<sim::Device>) -> Meter {
    timeless(device.gauge().meter())
}

const HEAP: HeapDesc = HeapDesc {
    size: 1 << 20,
    alignment: 1 << 16,
    memory: MemoryTypeId(0),
    category: HeapCategory::Any,
    priority: Priority::Normal,
};

fn buffer(size: u64) -> ResourceDesc {
    ResourceDesc::Buffer(BufferInfo::new(size, Usage::VERTEX))
}

#[test]
fn memory_has_the_required_size_and_its_peak_stays() {
    let device = Counted::new(sim::Device::new(Profile::DISCRETE));
    let heap = device.create_heap(&HEAP).unwrap();
    let placed = device.create_placed(Permit::checked(), &buffer(100), &heap, 0).unwrap();
    let committed = device.create_committed(&buffer(100), MemoryTypeId(0)).unwrap();
    let reserved = device.create_reserved(&buffer(1 << 16)).unwrap();
    let taken = (1 << 20) + (64 << 10);
    let all = Meter {
        reserved_bytes: taken,
        peak_reserved_bytes: taken,
        allocations: 2,
        creates: 4,
        destroys: 0,
        cost_ns: 0,
    };
    assert_eq!(meter(&device), all);
    assert_eq!(device.gauge().live(), Live { heaps: 1, resources: 3, lists: 0 });
    assert!(device.gauge().meter().cost_ns > 0);
    for resource in [placed, committed, reserved] {
        device.destroy_resource(Permit::checked(), resource);
    }
    device.destroy_heap(Permit::checked(), heap);
    assert_eq!(meter(&device), Meter { reserved_bytes: 0, destroys: 4, ..all });
    assert_eq!(device.gauge().live(), Live::default());
}

#[test]
fn failed_creations_are_not_counted() {
    let inner = sim::Device::new(Profile::DISCRETE);
    let device = Counted::new(inner.clone());
    for call in [CallKind::CreateHeap, CallKind::CreateCommitted, CallKind::CreateReserved] {
        inner.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call));
    }
    let is_short = |error: Option<DeviceError>| error.is_some_and(|error| error.is_shortage());
    assert!(is_short(device.create_heap(&HEAP).err()));
    assert!(is_short(device.create_committed(&buffer(100), MemoryTypeId(0)).err()));
    assert!(is_short(device.create_reserved(&buffer(100)).err()));
    assert_eq!((meter(&device), device.gauge().live()), (Meter::default(), Live::default()));
    assert!(device.gauge().meter().cost_ns > 0, "the driver took its time all the same");
}

#[test]
fn adopted_resources_count_only_as_live() {
    let device = Counted::new(sim::Device::new(Profile::DISCRETE));
    let foreign = device.inner().create_committed(&buffer(100), MemoryTypeId(1)).unwrap();
    let adopted = device.adopt(foreign);
    device.map(&adopted).unwrap();
    assert_eq!(device.gauge().meter(), Meter::default());
    assert_eq!(device.gauge().live().resources, 1);
    device.destroy_resource(Permit::checked(), adopted);
    assert_eq!(device.gauge().meter(), Meter::default());
    assert_eq!(device.gauge().live(), Live::default());
    device.inner().check_clean().unwrap();
}

#[test]
fn counts_of_many_threads_add_up() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 500;
    let device = Counted::new(sim::Device::new(Profile::DISCRETE));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let heap = device.create_heap(&HEAP).unwrap();
                    device.destroy_resource(
                        Permit::checked(),
                        device.create_placed(Permit::checked(), &buffer(100), &heap, 0).unwrap(),
                    );
                    device.destroy_heap(Permit::checked(), heap);
                }
            });
        }
    });
    let Meter { reserved_bytes, peak_reserved_bytes, allocations, creates, destroys, .. } = meter(&device);
    let made = THREADS * ROUNDS;
    assert_eq!((reserved_bytes, allocations, creates, destroys), (0, made, 2 * made, 2 * made));
    assert!((HEAP.size..=THREADS * HEAP.size).contains(&peak_reserved_bytes), "{peak_reserved_bytes}");
}

#[test]
fn half_written_buffers_move_without_a_hazard() {
    let device = sim::Device::new(Profile::VULKAN_NVIDIA);
    let gpu = Gpu::new(Counted::new(device.clone()), Config::default()).unwrap();
    let desc = BufferDesc::new(100 << 10, Usage::VERTEX | Usage::COPY_DST).movable().name("rock");
    let rocks: Vec<_> = (0..200).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let rocks: Vec<_> = rocks.into_iter().step_by(10).collect();
    rocks.iter().for_each(|rock| drop(gpu.upload(rock, 0, &[1; 64]).unwrap()));
    gpu.begin_frame().unwrap().end().unwrap();
    let budget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };
    while !gpu.compact(budget).unwrap().is_done {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert!(rocks.iter().any(|rock| rock.moves() > 0), "nothing moved");
    drop(rocks);
    gpu.shutdown();
    assert_eq!(device.hazards(), []);
}
