//! Devices that panic in a call, or take long for one: memory is not lost, and other threads do not fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tenure_core::device::{HeapDesc, MemoryTypeId, Permit, ResourceDesc, forward_device};
use tenure_core::{
    AllocationFlags, BufferDesc, Config, DeviceError, Error, Format, Gpu, PoolConfig, Texture, TextureDesc,
    Usage,
};
use tenure_sim as sim;

type Call = Box<dyn FnMut() + Send>;

/// Calls something before the call of the device.
#[derive(Clone, Default)]
struct Hook(Arc<Mutex<Option<Call>>>);

impl Hook {
    fn set(&self, call: impl FnMut() + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(call));
    }

    /// Panics at this call from now on, and at no other.
    fn panic_at(&self, number: u32) {
        let mut calls = 0;
        self.set(move || {
            calls += 1;
            assert_ne!(calls, number, "the device panics");
        });
    }

    fn run(&self) {
        // Taken out, so that a panic or a wait holds no lock.
        let call = self.0.lock().unwrap().take();
        if let Some(mut call) = call {
            call();
            self.0.lock().unwrap().get_or_insert(call);
        }
    }
}

struct Unruly {
    inner: sim::Device,
    /// Calls that allocate memory.
    heaps: Hook,
    destroyed_heaps: Hook,
    creates: Hook,
    destroys: Hook,
}

forward_device! {
    impl Device for Unruly {
        type Inner = sim::Device;
        fn inner(&self) -> &sim::Device { &self.inner }
        fn permit(_: Permit<Self>) -> Permit<sim::Device> { Permit::checked() }
        fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError> {
            self.heaps.run();
            self.inner.create_heap(desc)
        }
        fn destroy_heap(&self, permit: Permit<Self>, heap: Self::Heap) {
            self.destroyed_heaps.run();
            self.inner.destroy_heap(Self::permit(permit), heap);
        }
        fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Self::Resource, DeviceError> {
            self.heaps.run();
            self.inner.create_committed(desc, memory)
        }
        fn create_placed(
            &self, permit: Permit<Self>, desc: &ResourceDesc, heap: &Self::Heap, offset: u64,
        ) -> Result<Self::Resource, DeviceError> {
            self.creates.run();
            self.inner.create_placed(Self::permit(permit), desc, heap, offset)
        }
        fn destroy_resource(&self, permit: Permit<Self>, resource: Self::Resource) {
            self.destroys.run();
            self.inner.destroy_resource(Self::permit(permit), resource);
        }
    }
}

const TEXTURE: u64 = 64 << 10;

fn texture(gpu: &Gpu<Unruly>) -> Result<Texture<Unruly>, tenure_core::Error> {
    gpu.create_texture(&TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::SHADER_READ))
}

fn textures(gpu: &Gpu<Unruly>, count: usize) -> Vec<Texture<Unruly>> {
    (0..count).map(|_| texture(gpu).unwrap()).collect()
}

fn manager(config: Config) -> (Gpu<Unruly>, Hook, Hook) {
    manager_on(sim::Profile::DISCRETE, config)
}

fn manager_on(profile: sim::Profile, config: Config) -> (Gpu<Unruly>, Hook, Hook) {
    let [creates, destroys, heaps, destroyed_heaps] = [(); 4].map(|()| Hook::default());
    let inner = sim::Device::new(profile);
    let device =
        Unruly { inner, heaps, destroyed_heaps, creates: creates.clone(), destroys: destroys.clone() };
    (Gpu::new(device, config).unwrap(), creates, destroys)
}

fn used(gpu: &Gpu<Unruly>) -> u64 {
    gpu.stats().pools.iter().map(|pool| pool.used).sum()
}

/// Only the range of the object that the device was destroying is lost: it may still be there.
#[test]
fn a_panic_among_destroyed_textures_loses_one_range() {
    for number in [1, 40, 64, 65, 100] {
        let (gpu, _, destroys) = manager(Config::default());
        let kept = texture(&gpu).unwrap();
        drop(textures(&gpu, 100));
        destroys.panic_at(number);
        assert!(catch_unwind(AssertUnwindSafe(|| gpu.reclaim())).is_err());
        gpu.reclaim().unwrap();
        assert_eq!(used(&gpu), 2 * TEXTURE, "{number}");
        drop(kept);
        gpu.reclaim().unwrap();
        assert_eq!(used(&gpu), TEXTURE, "{number}");
    }
}

#[test]
fn a_panic_while_a_texture_is_created_loses_nothing() {
    let (gpu, creates, _) = manager(Config::default());
    // The first is placed in a block that is made for it, the second in one that is there.
    for kept in [0, 1] {
        let _kept = textures(&gpu, kept);
        creates.panic_at(1);
        assert!(catch_unwind(AssertUnwindSafe(|| texture(&gpu))).is_err());
        assert_eq!(used(&gpu), kept as u64 * TEXTURE);
    }
}

/// Memory that another thread has taken out of the release queue, to give it back in a moment, is worth a wait.
#[test]
fn an_allocation_waits_for_another_thread_that_gives_memory_back() {
    let max_wait = Duration::from_secs(60);
    let (gpu, _, destroys) = manager(Config::from(PoolConfig::default().max_wait(max_wait)));
    let mut all = textures(&gpu, 1);
    gpu.set_memory_cap(0, Some(gpu.stats().reserved)).unwrap();
    while let Ok(next) = texture(&gpu) {
        all.push(next);
    }
    let (reached, is_destroying) = channel();
    let (go_on, may_go_on) = channel();
    destroys.set(move || {
        // Later calls, at the end of the test, find nobody who waits for them.
        if reached.send(()).is_ok() {
            let _has_ended = may_go_on.recv();
        }
    });
    all.pop();
    thread::scope(|scope| {
        scope.spawn(|| gpu.reclaim().unwrap());
        is_destroying.recv().unwrap();
        let other = scope.spawn(|| texture(&gpu).map(drop));
        // Enough for the other thread to give up, if it does.
        thread::sleep(Duration::from_millis(100));
        go_on.send(()).unwrap();
        other.join().unwrap().unwrap();
    });
}

/// A block that another thread is returning to the driver is worth a wait.
#[test]
fn an_allocation_waits_for_another_thread_that_trims() {
    let max_wait = Duration::from_secs(60);
    let (gpu, ..) = manager(Config::from(PoolConfig::default().max_wait(max_wait)));
    let mut all = textures(&gpu, 1);
    let block = gpu.stats().reserved;
    while gpu.stats().reserved == block {
        all.push(texture(&gpu).unwrap());
    }
    drop(all);
    gpu.reclaim().unwrap();
    let reserved = gpu.stats().reserved;
    gpu.set_memory_cap(0, Some(reserved)).unwrap();
    let (reached, is_destroying) = channel();
    let (go_on, may_go_on) = channel();
    gpu.device().destroyed_heaps.set(move || {
        if reached.send(()).is_ok() {
            let _has_ended = may_go_on.recv();
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| gpu.trim());
        is_destroying.recv().unwrap();
        // All memory up to the cap, which counts the block of the other thread.
        let all = BufferDesc::new(reserved, Usage::VERTEX).own_resource();
        let gpu = &gpu;
        let other = scope.spawn(move || gpu.create_buffer(&all).map(drop));
        thread::sleep(Duration::from_millis(100));
        go_on.send(()).unwrap();
        drop(go_on);
        other.join().unwrap().unwrap();
    });
}

/// Memory that another thread returns while the driver refuses more is found, whichever call that is: of one type of memory, or
/// of several.
#[test]
fn an_allocation_finds_memory_that_comes_back_while_the_driver_refuses() {
    for profile in [sim::Profile::DISCRETE, sim::Profile::VULKAN_NVIDIA] {
        for is_unwinding in [false, true] {
            let mut number = 1;
            while finds_memory_returned_in_call(profile, number, is_unwinding) {
                number += 1;
            }
            assert!(number > 3, "{profile:?}: {number}");
        }
    }
}

/// Whether there is such a call.
fn finds_memory_returned_in_call(profile: sim::Profile, number: u32, is_unwinding: bool) -> bool {
    let (gpu, ..) = manager_on(profile, Config::default());
    let mut all = textures(&gpu, 1);
    for kind in [sim::CallKind::CreateHeap, sim::CallKind::CreateCommitted] {
        let refusal = sim::Fault::nth(1, sim::FaultKind::OutOfMemory).of(kind).onwards();
        gpu.device().inner.faults().inject(refusal);
    }
    while let Ok(next) = texture(&gpu) {
        all.push(next);
    }
    let (mut calls, mut last, other) = (0, all.pop(), gpu.clone());
    let was_reached = Arc::new(AtomicBool::new(false));
    let reached = was_reached.clone();
    gpu.device().heaps.set(move || {
        calls += 1;
        if calls == number {
            reached.store(true, Ordering::Relaxed);
            let return_it = || {
                let frame = is_unwinding.then(|| other.begin_frame().unwrap());
                drop(last.take());
                assert!(frame.is_none(), "unwinds through the frame, whose end returns the memory");
                other.reclaim().unwrap();
            };
            let ended = thread::scope(|scope| scope.spawn(return_it).join());
            assert_eq!(ended.is_err(), is_unwinding);
        }
    });
    let found = texture(&gpu);
    // The hook has a handle of the manager.
    gpu.device().heaps.set(|| ());
    let was_reached = was_reached.load(Ordering::Relaxed);
    assert!(found.is_ok() || !was_reached, "{profile:?}, call {number}: {:?}", found.err());
    was_reached
}

/// Memory that another thread returns does not let a request within the budget leave the preferred memory.
#[test]
fn a_target_within_the_budget_stays_out_of_slower_memory() {
    let (gpu, ..) = manager_on(sim::Profile::VULKAN_NVIDIA, Config::default());
    let target = TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    gpu.set_memory_cap(0, Some(0)).unwrap();
    // In system memory, where the range of the first is free afterwards.
    let spilled = [(); 2].map(|()| gpu.create_texture(&target).unwrap());
    gpu.set_memory_cap(0, None).unwrap();
    let [first, _kept] = spilled;
    drop(first);
    gpu.reclaim().unwrap();
    for kind in [sim::CallKind::CreateHeap, sim::CallKind::CreateCommitted] {
        let refusal = sim::Fault::nth(1, sim::FaultKind::OutOfMemory).of(kind).onwards();
        gpu.device().inner.faults().inject(refusal);
    }
    let other = gpu.clone();
    gpu.device().heaps.set(move || {
        thread::scope(|scope| scope.spawn(|| other.reclaim().unwrap()).join().unwrap());
    });
    let found = gpu.create_texture(&target.clone().allocation(AllocationFlags::WITHIN_BUDGET));
    gpu.device().heaps.set(|| ());
    assert!(matches!(found, Err(Error::OutOfMemory(_))), "{found:?}");
    gpu.create_texture(&target).unwrap();
}
