//! The manager's reactions to budget changes and memory requests of Windows, and its reservations.

use tenure_core::device::{Priority, TrimRequest, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, PoolConfig, Queue, Strategy, SyncPoint, TextureDesc, Usage,
};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::IDXGIAdapter3;
use tenure_d3d12::windows::core::Interface;
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{LONG, MIB, device};
use crate::device_thread::on_device_thread;
use crate::interposed::{BUDGET_COOKIE, Call, Spy, TRIM_COOKIE};
use crate::matrix;

const AMPLE: (u64, u64) = (64 << 30, 32 << 30);

/// A device on an adapter that is watched, also during the creation.
fn watched() -> (Spy, Device) {
    on_device_thread(|| {
        let adapter = matrix::adapter();
        let mut spy = Spy::on_adapter(&adapter.raw().cast::<IDXGIAdapter3>().unwrap());
        spy.grant(&[AMPLE, AMPLE]);
        let device = Device::create_on(&adapter, &DeviceConfig::default()).unwrap();
        spy.watch(&device);
        (spy, device)
    })
}

/// The same device in another wrapper, while it reports trims.
fn trimmed() -> (Spy, Device) {
    let first = device();
    let mut spy = Spy::on(&first);
    spy.offer_trims();
    let queues: Vec<_> = (0..3).filter_map(|id| first.queue(tenure_core::QueueId(id)).cloned()).collect();
    let raw = first.raw().clone();
    let second = on_device_thread(move || Device::new(&raw, &queues, &DeviceConfig::default()).unwrap());
    (spy, second)
}

/// Windows reports changes of the budget until the device is destroyed.
#[test]
fn changes_of_the_budget_are_heard() {
    let (spy, device) = watched();
    assert_eq!(spy.take(), [Call::Listens]);
    assert!(!device.budget_changed());
    spy.say_changed();
    assert!(device.budget_changed());
    assert!(!device.budget_changed(), "once");
    drop(device);
    assert_eq!(spy.take(), [Call::Unlistens(BUDGET_COOKIE)]);
}

/// The manager queries the budget in the same frame again.
#[test]
fn a_changed_budget_is_queried_in_the_same_frame() {
    let (spy, device) = watched();
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let end_frame = || gpu.begin_frame().unwrap().end().unwrap();
    (0..2).for_each(|_| end_frame());
    let budget = |gpu: &Gpu<Device>| gpu.memory().heaps[0].budget;
    assert_eq!(budget(&gpu), Some(AMPLE.0));
    spy.questions();
    spy.grant(&[(MIB, MIB), AMPLE]);
    assert_eq!((budget(&gpu), spy.questions()), (Some(AMPLE.0), 0), "once a frame");
    spy.say_changed();
    assert_eq!(budget(&gpu), Some(MIB));
    let segments = gpu.device().properties().memory_heaps.len() as u64;
    assert_eq!(spy.questions(), segments);
    assert_eq!((budget(&gpu), spy.questions()), (Some(MIB), 0));
}

/// Blocks of 2 MiB, each a committed resource that may be evicted.
struct World {
    gpu: Gpu<Device>,
    target: Buffer<Device>,
    blocks: Vec<Buffer<Device>>,
}

impl World {
    fn new(device: Device, spy: &Spy) -> Self {
        let gpu = Gpu::new(device, Config::default()).unwrap();
        let target = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_DST).name("target")).unwrap();
        let desc = BufferDesc::new(2 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).evictable();
        let blocks = (0..8).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        let world = Self { gpu, target, blocks };
        let done = world.read(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(world.gpu.wait(&done, LONG).unwrap());
        (0..12).for_each(|_| world.end_frame());
        spy.take();
        world
    }

    fn read(&self, used: &[usize]) -> SyncPoint {
        let mut recording = self.gpu.record(Queue::Graphics, "read").unwrap();
        for index in used {
            recording.copy_buffer(&self.blocks[*index], 0, &self.target, 0, 64).unwrap();
        }
        recording.submit().unwrap()
    }

    fn end_frame(&self) {
        self.gpu.begin_frame().unwrap().end().unwrap();
    }

    fn addresses(&self, used: &[usize]) -> Vec<usize> {
        used.iter().map(|index| self.blocks[*index].raw().raw().as_raw().addr()).collect()
    }

    /// The total bytes in use on the card.
    fn taken(&self) -> u64 {
        self.gpu.stats().reserved - self.gpu.memory().heaps[0].evicted
    }
}

fn evicted(calls: &[Call]) -> Vec<usize> {
    let blocks =
        calls.iter().filter_map(|call| if let Call::Evict(blocks) = call { Some(blocks) } else { None });
    blocks.flatten().copied().collect()
}

/// If the budget shrinks, blocks are evicted, but none in flight; they are made resident before they are used,
/// and the queue waits for that. If it grows, nothing more is evicted.
#[test]
fn a_scripted_budget_is_respected() {
    let (spy, device) = watched();
    let world = World::new(device, &spy);
    let all = world.taken();
    spy.grant(&[(all - 7 * MIB, MIB), AMPLE]);
    spy.say_changed();
    world.end_frame();
    let gone = evicted(&spy.take());
    assert_eq!(gone.len(), 4, "8 MiB are what is missing in whole blocks");
    assert_eq!(world.gpu.memory().heaps[0].evicted, 8 * MIB);
    world.end_frame();
    assert_eq!(evicted(&spy.take()), [0; 0], "that is enough");

    // Evicted resources are enqueued before the submission, whose queue waits for them.
    spy.hold();
    let missing: Vec<_> = (0..8).filter(|index| gone.contains(&world.addresses(&[*index])[0])).collect();
    let back = world.read(&missing[..2]);
    let calls = spy.take();
    let order = |wanted: &dyn Fn(&Call) -> bool| calls.iter().position(wanted).expect("is called");
    let enqueued = order(
        &|call| matches!(call, Call::Enqueue(0, blocks, 1) if *blocks == world.addresses(&missing[..2])),
    );
    let waited = order(&|call| *call == Call::WaitsForPaging(1));
    let executed = order(&|call| matches!(call, Call::Executes(_)));
    assert!(enqueued < waited && waited < executed, "{calls:?}");
    // Idle blocks were evicted for them, before they became resident.
    let left = evicted(&calls[..enqueued]);
    assert_eq!(left.len(), 2, "{calls:?}");
    assert!(left.iter().all(|block| !gone.contains(block)));

    // Blocks in flight stay, with any budget.
    spy.grant(&[(1, 1), AMPLE]);
    spy.say_changed();
    (0..2).for_each(|_| world.end_frame());
    let now = evicted(&spy.take());
    assert!(world.addresses(&missing[..2]).iter().all(|block| !now.contains(block)), "they are in use");
    assert_eq!(now.len(), 2, "all that was idle");
    spy.reach(1);
    assert!(world.gpu.wait(&back, LONG).unwrap());
    (0..12).for_each(|_| world.end_frame());
    assert_eq!(evicted(&spy.take()).len(), 2, "they are idle now");
    assert_eq!(world.gpu.memory().heaps[0].evicted, 16 * MIB);

    spy.grant(&[AMPLE, AMPLE]);
    spy.say_changed();
    let all: Vec<_> = (0..8).collect();
    let done = world.read(&all);
    spy.reach(2);
    assert!(world.gpu.wait(&done, LONG).unwrap());
    (0..12).for_each(|_| world.end_frame());
    assert_eq!(evicted(&spy.take()), [0; 0]);
    assert_eq!(world.gpu.memory().heaps[0].evicted, 0);
}

fn reserved(calls: &[Call]) -> Vec<(i32, u64)> {
    let found = calls
        .iter()
        .filter_map(|call| if let Call::Reserves(at, bytes) = call { Some((*at, *bytes)) } else { None });
    found.collect()
}

/// Memory that cannot be evicted is reserved, as far as Windows allows, after large changes, and the
/// reservation ends with the device.
#[test]
fn pinned_memory_is_reserved() {
    let (spy, device) = watched();
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let end_frame = || gpu.begin_frame().unwrap().end().unwrap();
    let local = |calls: &[Call]| {
        reserved(calls)
            .into_iter()
            .filter(|(segment, _)| *segment == 0)
            .map(|(_, bytes)| bytes)
            .collect::<Vec<_>>()
    };
    (0..4).for_each(|_| end_frame());
    spy.take();
    let plain = BufferDesc::new(32 * MIB, Usage::SHADER_READ);
    let pinned = gpu.create_buffer(&plain).unwrap();
    let evictable = gpu.create_buffer(&plain.clone().evictable()).unwrap();
    (0..4).for_each(|_| end_frame());
    let told = local(&spy.take());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!((32 * MIB..64 * MIB).contains(&told[0]), "without what may leave: {told:?}");
    let small = gpu.create_buffer(&BufferDesc::new(MIB, Usage::UNORDERED_ACCESS)).unwrap();
    (0..4).for_each(|_| end_frame());
    assert!(local(&spy.take()).len() <= 1, "at most for the first block of its kind");
    (0..100).for_each(|_| end_frame());
    assert_eq!(reserved(&spy.take()), []);
    // Windows offers less; the reservation is repeated when Windows reports a change.
    spy.grant(&[(AMPLE.0, 5 * MIB), (AMPLE.0, 0)]);
    spy.say_changed();
    end_frame();
    let told = reserved(&spy.take());
    assert_eq!(told[0], (0, 5 * MIB));
    assert!(told[1..].iter().all(|told| *told == (1, 0)), "{told:?}");
    drop((pinned, evictable, small));
    assert!(gpu.shutdown().is_clean());
    spy.take();
    drop(gpu);
    assert!(reserved(&spy.take()).contains(&(0, 0)));
}

/// Windows requests memory on a thread of its own: idle blocks are evicted at the end of the frame.
#[test]
fn trim_requests_are_handled_until_the_device_ends() {
    let (spy, device) = trimmed();
    assert_eq!(spy.take(), [Call::ListensForTrims]);
    assert_eq!(device.take_trim_request(), None);
    assert!(spy.trim(4, 3 * MIB) && spy.trim(1, 77) && spy.trim(2, 88));
    let all = TrimRequest { bytes: 3 * MIB, unused: true, restarts: true };
    assert_eq!(device.take_trim_request(), Some(all), "bytes are those above the budget");
    assert_eq!(device.take_trim_request(), None);
    let world = World::new(device, &spy);
    assert!(spy.trim(4, 3 * MIB));
    assert_eq!(evicted(&spy.take()), [0; 0], "not before the end of the frame");
    world.end_frame();
    assert_eq!(evicted(&spy.take()).len(), 2);
    let World { gpu, target, blocks } = world;
    drop((target, blocks));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    assert!(spy.take().contains(&Call::UnlistensForTrims(TRIM_COOKIE)));
    assert!(!spy.trim(4, MIB));
}

/// The runtime registers a function once: all wrappers of a device share it, until the last one is dropped.
#[test]
fn all_wrappers_of_a_device_hear_of_trims() {
    let (spy, second) = trimmed();
    let queues: Vec<_> = (0..3).filter_map(|id| second.queue(tenure_core::QueueId(id)).cloned()).collect();
    let raw = second.raw().clone();
    let third = on_device_thread(move || Device::new(&raw, &queues, &DeviceConfig::default()).unwrap());
    assert_eq!(spy.take(), [Call::ListensForTrims], "once");
    let wanted = Some(TrimRequest { bytes: MIB, unused: false, restarts: false });
    assert!(spy.trim(4, MIB));
    assert_eq!([second.take_trim_request(), third.take_trim_request()], [wanted, wanted]);
    drop(second);
    assert!(spy.trim(4, MIB));
    assert_eq!(third.take_trim_request(), wanted);
    assert_eq!(spy.take(), []);
    drop(third);
    assert_eq!(spy.take(), [Call::UnlistensForTrims(TRIM_COOKIE)]);
    assert!(!spy.trim(4, MIB));
}

/// Requested priorities are set on new heaps and committed resources; the defaults of Windows stay otherwise.
#[test]
fn priorities_are_those_of_the_descriptions() {
    for strategy in [Strategy::Placed, Strategy::Committed] {
        let device = device();
        let spy = Spy::on(&device);
        let config = PoolConfig::default().strategy(strategy);
        let gpu = Gpu::new(device, Config::from(config)).unwrap();
        let plain = BufferDesc::new(2 * MIB, Usage::SHADER_READ);
        let target = TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::RENDER_TARGET);
        let mut kept = Vec::new();
        let mut made = |priority| {
            let (mut plain, mut target) = (plain.clone(), target.clone());
            (plain.priority, target.priority) = (priority, priority);
            kept.push((gpu.create_buffer(&plain).unwrap(), gpu.create_texture(&target).unwrap()));
            let of =
                |call: Call| if let Call::Priority(_, priority) = call { Some(priority >> 16) } else { None };
            spy.take().into_iter().filter_map(of).collect::<Vec<_>>()
        };
        let is_committed = strategy == Strategy::Committed;
        // Committed targets have a high one from Windows, heaps for everything do not.
        let by_use = if is_committed { vec![] } else { vec![0xa001] };
        assert_eq!(made(None), by_use, "{strategy:?}");
        assert_eq!(made(Some(Priority::Low)), [0x5000, 0x5000], "{strategy:?}");
        let again = if is_committed { vec![0x7800] } else { vec![] };
        assert_eq!(made(Some(Priority::Normal)), again, "only what has another one: {strategy:?}");
        let high = made(Some(Priority::High));
        assert!((1..=2).contains(&high.len()) && high.iter().all(|found| *found == 0xa001), "{high:x?}");
        assert!(!is_committed || high.len() == 1, "committed targets have it already");
    }
}
