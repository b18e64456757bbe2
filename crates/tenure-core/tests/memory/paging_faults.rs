//! Evictable resources when driver calls fail: used blocks are resident, blocks in use are not evicted, and the
//! sums are right again.

use std::time::Duration;

use tenure_core::device::prelude::*;
use tenure_core::{
    Buffer, BufferDesc, Error, Format, Gpu, Queue, Recording, State, Subresource, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, HazardKind, Lag, Profile};
use test_random::Rng;

use crate::evictable::{end_frame, evict_all, evictable, with};

const MIB: u64 = 1 << 20;

fn record(gpu: &Gpu<Device>, queue: Queue, buffer: &Buffer<Device>) -> Recording<Device> {
    let mut recording = gpu.record(queue, "read").unwrap();
    recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    // So that the simulated device sees a use in any case.
    let list = recording.raw_mut(tenure_core::device::Permit::checked());
    list.use_buffer(buffer.raw(), buffer.offset(), 64, State::NON_PIXEL_SHADER);
    recording
}

#[track_caller]
fn assert_clean(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
    assert_eq!(gpu.device().take_hazards(), []);
}

/// A submission is refused after the driver began to make its block resident, and then the driver refuses to evict
/// that: the next submission waits for the block all the same.
#[test]
fn a_block_that_stays_is_still_waited_for() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(2)).budgets([64 * MIB]));
    let buffer = gpu.create_buffer(&evictable(2 * MIB)).unwrap();
    evict_all(&gpu);
    assert_eq!(gpu.memory().heaps[0].evicted, 2 * MIB);
    let refused = record(&gpu, Queue::Graphics, &buffer);
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    refused.submit().unwrap_err();
    assert_eq!(gpu.memory().heaps[0].evicted, 0);
    let next = record(&gpu, Queue::Graphics, &buffer);
    // Another allocation needs the room.
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Evict));
    evict_one(&gpu);
    next.submit().unwrap();
    assert_clean(&gpu);
}

/// Tries to evict all idle blocks, without simulated time.
fn evict_one(gpu: &Gpu<Device>) {
    let before = gpu.device().calls().made(CallKind::Evict);
    for _ in 0..4 {
        end_frame(gpu);
        if gpu.device().calls().made(CallKind::Evict) > before {
            return;
        }
    }
    panic!("nothing was evicted");
}

/// Barriers for another queue are submitted, and then the submission that needs them is refused: resources of
/// the barriers are in use, and not evicted.
#[test]
fn barriers_before_a_refused_submission_are_in_flight() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual).budgets([64 * MIB]));
    let desc = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::RENDER_TARGET);
    let texture = gpu.create_texture(&desc.evictable()).unwrap();
    let using = |queue, state| {
        let mut recording = gpu.record(queue, "use").unwrap();
        recording.use_resource(&texture, Subresource::All, state).unwrap();
        let list = recording.raw_mut(tenure_core::device::Permit::checked());
        list.use_texture(texture.raw(), Subresource::All, state);
        recording
    };
    using(Queue::Graphics, State::RENDER_TARGET).submit().unwrap();
    assert!(gpu.device().run_until_idle());
    gpu.reclaim().unwrap();
    let refused = using(Queue::Compute, State::NON_PIXEL_SHADER);
    // The first is the barrier's, on the graphics queue.
    let submissions = gpu.device().calls().made(CallKind::Submit);
    gpu.device().faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    refused.submit().unwrap_err();
    assert_eq!(gpu.device().calls().made(CallKind::Submit) - submissions, 2);
    // Without a frame that waits for the device: an allocation evicts idle blocks.
    gpu.device().set_budget(0, 1).unwrap();
    let other = gpu.create_buffer(&BufferDesc::new(12 * MIB, Usage::UNORDERED_ACCESS)).unwrap();
    assert_eq!(gpu.device().take_hazards(), []);
    assert_clean(&gpu);
    drop(other);
}

/// If the driver decides, blocks with a low priority count against the cap as before.
#[test]
fn blocks_of_low_priority_count_against_the_cap() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let buffer = gpu.create_buffer(&evictable(4 * MIB)).unwrap();
    evict_all(&gpu);
    let heap = &gpu.memory().heaps[0];
    assert_eq!((heap.evicted, heap.ours.total()), (4 * MIB, 4 * MIB));
    gpu.set_memory_cap(0, Some(6 * MIB)).unwrap();
    gpu.device().set_budget(0, 1 << 30).unwrap();
    end_frame(&gpu);
    assert_eq!(gpu.memory().heaps[0].headroom, Some(2 * MIB), "of the cap");
    drop(buffer);
}

/// With an unknown budget, evicted blocks are not part of the usage.
#[test]
fn evicted_blocks_are_not_usage_without_a_known_budget() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([0]));
    let buffers = [0; 4].map(|_| gpu.create_buffer(&evictable(2 * MIB)).unwrap());
    gpu.set_memory_cap(0, Some(4 * MIB)).unwrap();
    (0..8).for_each(|_| end_frame(&gpu));
    let heap = &gpu.memory().heaps[0];
    assert_eq!((heap.budget, heap.evicted, heap.usage), (None, 4 * MIB, 4 * MIB));
    drop(buffers);
}

/// The driver cannot make a block resident: idle blocks are evicted, then blocks that the GPU was still using,
/// and the submission succeeds.
#[test]
fn residency_is_retried_after_evictions() {
    for refusals in [1, 2] {
        let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(6)).budgets([64 * MIB]));
        let [wanted, idle, busy] = [2, 3, 5].map(|mib| gpu.create_buffer(&evictable(mib * MIB)).unwrap());
        record(&gpu, Queue::Graphics, &idle).submit().unwrap();
        evict_all(&gpu);
        gpu.device().set_budget(0, 64 * MIB).unwrap();
        end_frame(&gpu);
        let done = record(&gpu, Queue::Graphics, &idle).submit().unwrap();
        assert!(gpu.wait(&done, Duration::from_secs(10)).unwrap());
        record(&gpu, Queue::Graphics, &busy).submit().unwrap();
        for n in 1..=refusals {
            let refusal = Fault::nth(n, FaultKind::OutOfMemory).of(CallKind::MakeResident);
            gpu.device().faults().inject(refusal);
        }
        record(&gpu, Queue::Compute, &wanted).submit().unwrap();
        let evicted = gpu.memory().heaps[0].evicted;
        assert_eq!(evicted, if refusals == 1 { 3 * MIB } else { 8 * MIB }, "{refusals} refusals");
        assert_clean(&gpu);
    }
}

/// Blocks that the GPU has finished with may be evicted at once, without a poll since.
#[test]
fn blocks_that_have_just_completed_are_evicted() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual).budgets([8 * MIB]));
    let buffers: Vec<_> = (0..3).map(|_| gpu.create_buffer(&evictable(4 * MIB)).unwrap()).collect();
    evict_all(&gpu);
    gpu.device().set_budget(0, 8 * MIB).unwrap();
    end_frame(&gpu);
    for buffer in &buffers {
        record(&gpu, Queue::Graphics, buffer).submit().unwrap();
        assert!(gpu.device().run_until_idle());
    }
    assert_eq!(gpu.memory().heaps[0].evicted, 4 * MIB);
    assert_clean(&gpu);
}

/// Blocks that every frame uses replace each other if they do not all fit.
#[test]
fn blocks_of_each_frame_leave_for_each_other() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE).budgets([16 * MIB]));
    let buffers: Vec<_> = (0..6).map(|_| gpu.create_buffer(&evictable(4 * MIB)).unwrap()).collect();
    for frame in 0..10 {
        for buffers in buffers.chunks(3) {
            for buffer in buffers {
                record(&gpu, Queue::Graphics, buffer).submit().unwrap();
                let now = gpu.memory().heaps[0].clone();
                let resident = now.ours.total() - now.evicted;
                assert!(frame < 2 || resident <= 16 * MIB, "{resident} B in frame {frame}");
            }
        }
        end_frame(&gpu);
    }
    assert_clean(&gpu);
}

/// If the driver decides, only as many bytes get a low priority as exceed the budget.
#[test]
fn no_more_gets_a_low_priority_than_has_to() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let buffers: Vec<_> = (0..8).map(|_| gpu.create_buffer(&evictable(2 * MIB)).unwrap()).collect();
    gpu.device().set_budget(0, 12 * MIB).unwrap();
    (0..12).for_each(|_| end_frame(&gpu));
    assert_eq!(gpu.memory().heaps[0].evicted, 4 * MIB);
    drop(buffers);
}

/// If the driver decides, and refuses a change of priorities halfway: exactly the changed blocks count as
/// changed.
#[test]
fn priorities_refused_halfway_are_counted_exactly() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let buffers: Vec<_> = (0..4).map(|_| gpu.create_buffer(&evictable(2 * MIB)).unwrap()).collect();
    let evicted = || gpu.memory().heaps[0].evicted / MIB;
    let refuse = || Fault::nth(3, FaultKind::OutOfMemory).of(CallKind::SetPriority).onwards();
    gpu.device().faults().inject(refuse());
    evict_all(&gpu);
    assert_eq!(evicted(), 4, "two calls of four");
    gpu.device().faults().clear();
    (0..8).for_each(|_| end_frame(&gpu));
    assert_eq!(evicted(), 8);
    gpu.device().set_budget(0, 1 << 30).unwrap();
    end_frame(&gpu);
    let use_all = || {
        let mut recording = gpu.record(Queue::Graphics, "all").unwrap();
        buffers.iter().for_each(|buffer| recording.make_resident(buffer).unwrap());
        recording.submit()
    };
    gpu.device().faults().inject(refuse());
    use_all().unwrap_err();
    assert_eq!(evicted(), 4, "two have their priority again");
    gpu.device().faults().clear();
    use_all().unwrap();
    assert_eq!(evicted(), 0);
    assert_clean(&gpu);
}

/// A program that continues after refusals.
struct World {
    rng: Rng,
    buffers: Vec<Buffer<Device>>,
    textures: Vec<Texture<Device>>,
    kept: Vec<Recording<Device>>,
    refused: u64,
    gpu: Gpu<Device>,
}

impl World {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 12 }][rng.below(3) as usize];
        let options = DeviceConfig::new(profile).seed(seed).lag(lag).budgets([12 * MIB]);
        let (buffers, textures, kept) = (Vec::new(), Vec::new(), Vec::new());
        Self { gpu: with(options), rng, buffers, textures, kept, refused: 0 }
    }

    fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        self.refused += u64::from(result.is_err());
        result.ok()
    }

    fn step(&mut self) {
        match self.rng.below(12) {
            0 | 1 => {
                let size = [700, 40 << 10, MIB, 3 * MIB][self.rng.below(4) as usize];
                let data = vec![1; 64];
                let made = self.gpu.create_buffer(&evictable(size));
                if let Some(buffer) = self.note(made) {
                    let written = self.gpu.upload(&buffer, 0, &data).map(drop);
                    self.note(written);
                    self.buffers.push(buffer);
                }
            }
            2 => {
                let usage = Usage::SHADER_READ | Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS;
                let side = 64 << self.rng.below(4);
                let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).evictable();
                let made = self.gpu.create_texture(&desc);
                let made = self.note(made);
                self.textures.extend(made);
            }
            3 if !self.buffers.is_empty() => {
                self.buffers.swap_remove(self.rng.below(self.buffers.len() as u64) as usize);
            }
            4 if !self.textures.is_empty() => {
                self.textures.swap_remove(self.rng.below(self.textures.len() as u64) as usize);
            }
            5 => {
                let ended = self.gpu.begin_frame().and_then(|frame| frame.end());
                self.note(ended);
            }
            6 => {
                let budget = [1, 4 * MIB, 12 * MIB, u64::MAX][self.rng.below(4) as usize];
                self.gpu.device().set_budget(0, budget).unwrap();
            }
            7 => {
                let cap = [Some(0), Some(5 * MIB), None][self.rng.below(3) as usize];
                self.gpu.set_memory_cap(0, cap).unwrap();
            }
            _ => self.record(),
        }
    }

    fn record(&mut self) {
        let queue = [Queue::Graphics, Queue::Compute][self.rng.below(2) as usize];
        let recording = self.gpu.record(queue, "random");
        let Some(mut recording) = self.note(recording) else { return };
        for _ in 0..self.rng.below(5) {
            if let Some(buffer) = self.buffers.get(self.rng.below(self.buffers.len() as u64) as usize) {
                recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
                let list = recording.raw_mut(tenure_core::device::Permit::checked());
                list.use_buffer(buffer.raw(), buffer.offset(), 64, State::NON_PIXEL_SHADER);
            }
            if let Some(texture) = self.textures.get(self.rng.below(self.textures.len() as u64) as usize) {
                let state = match queue {
                    Queue::Graphics => {
                        [State::RENDER_TARGET, State::PIXEL_SHADER][self.rng.below(2) as usize]
                    }
                    _ => [State::UNORDERED_ACCESS, State::NON_PIXEL_SHADER][self.rng.below(2) as usize],
                };
                recording.use_resource(texture, Subresource::All, state).unwrap();
                let list = recording.raw_mut(tenure_core::device::Permit::checked());
                list.use_texture(texture.raw(), Subresource::All, state);
            }
        }
        // Some stay open, some are discarded, and the others are submitted, the oldest first or last.
        match self.rng.below(6) {
            0 => self.kept.push(recording),
            1 => drop(recording),
            2 if !self.kept.is_empty() => {
                let submitted = self.kept.swap_remove(0).submit();
                self.note(submitted);
            }
            _ => {
                let submitted = recording.submit();
                self.note(submitted);
            }
        }
    }

    /// Everything is given back, and nothing was wrong.
    fn end(self, context: &str) -> u64 {
        let Self { buffers, textures, kept, gpu, refused, .. } = self;
        let device = gpu.device().clone();
        let is_lost = device.budget().is_err();
        device.faults().clear();
        drop((buffers, textures, kept));
        if !is_lost {
            device.run_until_idle();
            // Uploads that were refused are submitted now.
            let _flushed = gpu.flush_uploads();
            device.run_until_idle();
            (0..40).for_each(|_| drop(gpu.begin_frame()));
            gpu.trim();
            let memory = gpu.memory();
            let reported = device.budget().unwrap();
            for (heap, reported) in memory.heaps.iter().zip(reported) {
                assert_eq!(heap.evicted, 0, "{context}");
                assert_eq!(heap.usage, reported.usage, "{context}");
                assert!(heap.usage >= heap.ours.total(), "{context}");
            }
        }
        if !is_lost {
            check_cap(&gpu, context);
        }
        let mut hazards = device.take_hazards();
        // The textures are never filled.
        hazards.retain(|hazard| hazard.kind != HazardKind::UninitializedRead);
        assert_eq!(hazards, [], "{context}");
        drop(gpu);
        assert_eq!(device.leaks(), [], "{context}");
        refused
    }
}

/// Checks that caps are compared with the existing memory.
fn check_cap(gpu: &Gpu<Device>, context: &str) {
    gpu.device().set_budget(0, u64::MAX).unwrap();
    let there = gpu.memory().heaps[0].ours.total();
    gpu.set_memory_cap(0, Some(there + 20 * MIB)).unwrap();
    // On devices whose window is device-local, too, nothing goes there.
    (1..gpu.memory().heaps.len()).for_each(|heap| gpu.set_memory_cap(heap, Some(0)).unwrap());
    let rest = BufferDesc::new(20 * MIB, Usage::UNORDERED_ACCESS);
    let rest = gpu.create_buffer(&rest).unwrap_or_else(|error| panic!("{context}: {error}"));
    let more = BufferDesc::new(MIB, Usage::UNORDERED_ACCESS);
    assert!(gpu.create_buffer(&more).is_err(), "{context}");
    drop(rest);
}

fn run(profile: Profile, seed: u64, fault: Option<Fault>, context: &str) -> (u64, u64) {
    let mut world = World::new(profile, seed);
    let device = world.gpu.device().clone();
    device.faults().clear();
    fault.into_iter().for_each(|fault| device.faults().inject(fault));
    (0..120).for_each(|_| world.step());
    let calls = device.calls();
    let calls = CallKind::ALL.iter().filter(|kind| kind.can_fail()).map(|kind| calls.made(*kind)).sum();
    (world.end(context), calls)
}

/// Each driver call fails once, out of memory or with a lost device.
#[test]
fn each_call_may_fail_under_paging() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (_, calls) = run(profile, 0, None, "undisturbed");
        for n in 1..=calls {
            let removed = FaultKind::Removed("pulled out".into());
            for kind in [FaultKind::OutOfMemory, removed] {
                let context = format!("{profile:?}, call {n} of {calls}: {kind:?}");
                run(profile, 0, Some(Fault::nth(n, kind)), &context);
            }
        }
    }
}

/// From the n-th call of a kind on, the driver has no memory.
#[test]
fn calls_may_fail_permanently_under_paging() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for kind in [CallKind::MakeResident, CallKind::Evict, CallKind::Submit, CallKind::SetPriority] {
            for seed in 0..4 {
                for n in [1, 5] {
                    let context = format!("{profile:?}, seed {seed}, {kind:?} from {n} on");
                    let fault = Fault::nth(n, FaultKind::OutOfMemory).of(kind).onwards();
                    run(profile, seed, Some(fault), &context);
                }
            }
        }
    }
}
