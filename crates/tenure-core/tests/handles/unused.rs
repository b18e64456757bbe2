//! Objects dropped before any command could use them are released at once, whatever is open or in flight; and
//! pending uploads delay a release at most until the next reclaim.

use tenure_core::device::prelude::*;
use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, Error, Format, Gpu, MemoryUse, Queue, State, Subresource, TexelData,
    Texture, TextureDesc, TextureViewDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{device, gpu, submit};

const MIB: u64 = 1 << 20;

fn big(gpu: &Gpu<Device>, own: bool) -> Buffer<Device> {
    let desc = BufferDesc::new(32 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).name("big");
    let desc = if own { desc.own_resource() } else { desc };
    gpu.create_buffer(&desc).unwrap()
}

/// A loader has uploaded something tiny, and no frame has ended since.
#[test]
fn a_pending_upload_holds_back_nothing_beyond_a_reclaim() {
    for profile in Profile::ALL {
        for is_used in [false, true] {
            let device = device(*profile, Lag::None);
            let gpu = gpu(&device);
            let all: Vec<_> = (0..3).map(|_| big(&gpu, false)).collect();
            if is_used {
                let mut recording = gpu.record(Queue::Graphics, "reads").unwrap();
                for it in &all {
                    recording.use_resource(it, Subresource::All, State::COPY_SRC).unwrap();
                }
                recording.submit().unwrap();
            }
            let small = gpu.create_buffer_with(&BufferDesc::new(64, Usage::VERTEX), &[1; 64]).unwrap();
            drop(all);
            gpu.reclaim().unwrap();
            assert_eq!(gpu.upload_stats().pending_bytes, 0, "a reclaim submits what is pending");
            gpu.reclaim().unwrap();
            assert_eq!(gpu.stats().pending_releases, 0, "{}", profile.name());
            for _ in 0..2 {
                gpu.trim();
            }
            assert!(gpu.stats().reserved < 64 * MIB, "{}: {:?}", profile.name(), gpu.stats().pools);
            drop(small);
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}

#[test]
fn a_trim_submits_pending_uploads_and_frees_their_memory() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let used = big(&gpu, true);
    let _named = used.raw();
    let small = gpu.create_buffer_with(&BufferDesc::new(64, Usage::VERTEX), &[1; 64]).unwrap();
    drop(used);
    gpu.trim();
    assert_eq!((gpu.upload_stats().pending_bytes, gpu.stats().open_recordings), (0, 0));
    gpu.trim();
    assert_eq!(gpu.stats().pending_releases, 0);
    drop(small);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// The uploads stay pending, and the caller gets the error; other objects are released nevertheless.
#[test]
fn a_reclaim_that_cannot_submit_still_releases_and_returns_the_error() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let unused = big(&gpu, true);
    let small = gpu.create_buffer_with(&BufferDesc::new(64, Usage::VERTEX), &[1; 64]).unwrap();
    device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit));
    drop(unused);
    assert!(matches!(gpu.reclaim(), Err(Error::Device { .. })));
    assert_eq!((gpu.stats().pending_releases, gpu.upload_stats().pending_bytes), (0, 64));
    gpu.reclaim().unwrap();
    assert_eq!(gpu.upload_stats().pending_bytes, 0);
    drop(small);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// With a recording open and a submission in flight, the objects kept after `touch`: is it held back?
fn is_held_back<T>(
    profile: Profile,
    create: impl Fn(&Gpu<Device>) -> T,
    touch: impl Fn(&Gpu<Device>, &T),
) -> bool {
    let device = device(profile, Lag::Manual);
    let gpu = gpu(&device);
    let recording = gpu.record(Queue::Graphics, "open").unwrap();
    let object = create(&gpu);
    submit(&gpu);
    touch(&gpu, &object);
    drop(object);
    gpu.reclaim().unwrap();
    let is_held_back = gpu.stats().pending_releases > 0;
    drop(recording);
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().pending_releases, 0);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
    is_held_back
}

type Touch<T> = (&'static str, fn(&Gpu<Device>, &T));

/// Each call that returns the place of a buffer for commands keeps the buffer; other calls do not.
#[test]
fn a_buffer_is_kept_once_commands_can_name_it() {
    let naming: [Touch<Buffer<Device>>; 7] = [
        ("raw", |_, it| {
            let _for_commands = it.raw();
        }),
        ("offset", |_, it| assert!(it.offset() < u64::MAX)),
        ("first_element", |_, it| assert!(it.first_element(4).is_some())),
        ("gpu_address", |_, it| assert!(it.gpu_address() != Some(1))),
        ("view", |gpu, it| drop(gpu.create_buffer_view(it, &BufferViewDesc::raw()).unwrap())),
        ("upload", |gpu, it| drop(gpu.upload(it, 0, &[1; 4]).unwrap())),
        ("use_resource", |gpu, it| {
            let mut recording = gpu.record(Queue::Graphics, "uses").unwrap();
            recording.use_resource(it, Subresource::All, State::COPY_SRC).unwrap();
            recording.submit().unwrap();
        }),
    ];
    let others: [Touch<Buffer<Device>>; 3] = [
        ("nothing", |_, _| ()),
        ("numbers", |_, it| drop((it.size(), it.usage(), it.memory(), it.name().clone(), it.location()))),
        ("report", |gpu, _| drop(gpu.report())),
    ];
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for own in [false, true] {
            for (what, touch) in naming {
                assert!(is_held_back(profile, |gpu| big(gpu, own), touch), "{what} of {}", profile.name());
            }
            for (what, touch) in others {
                assert!(!is_held_back(profile, |gpu| big(gpu, own), touch), "{what} of {}", profile.name());
            }
        }
        let dynamic = |gpu: &Gpu<Device>| {
            let desc = BufferDesc::new(4096, Usage::CONSTANT).memory(MemoryUse::Upload);
            gpu.create_buffer(&desc).unwrap()
        };
        let write = |_: &Gpu<Device>, it: &Buffer<Device>| it.write(0, &[1; 64]).unwrap();
        assert!(!is_held_back(profile, dynamic, write), "the CPU alone has written it");
    }
}

#[test]
fn a_texture_is_kept_once_commands_can_name_it() {
    let desc = || TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST);
    let create = |gpu: &Gpu<Device>| gpu.create_texture(&desc()).unwrap();
    let with_texels =
        |gpu: &Gpu<Device>| gpu.create_texture_with(&desc(), &[TexelData::new(&[1; 64 * 64 * 4])]).unwrap();
    let naming: [Touch<Texture<Device>>; 2] = [
        ("raw", |_, it| {
            let _for_commands = it.raw();
        }),
        ("view", |gpu, it| drop(gpu.create_texture_view(it, &TextureViewDesc::sampled()).unwrap())),
    ];
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for (what, touch) in naming {
            assert!(is_held_back(profile, create, touch), "{what} of {}", profile.name());
        }
        assert!(!is_held_back(profile, create, |_, it| drop(it.info().clone())));
        assert!(is_held_back(profile, with_texels, |_, _| ()), "its upload is in flight");
    }
}

/// The program still has the adopted object, and may use it in any way.
#[test]
fn adopted_buffers_are_kept() {
    use tenure_core::BufferInfo;
    use tenure_core::device::{MemoryTypeId, ResourceDesc};
    let adopt = |gpu: &Gpu<Device>| {
        let info = BufferInfo::new(4096, Usage::VERTEX);
        let own = gpu.device().create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0)).unwrap();
        let desc = BufferDesc::new(4096, Usage::VERTEX).usage(Usage::VERTEX);
        gpu.adopt_buffer(own, &desc, State::COMMON).unwrap()
    };
    assert!(is_held_back(Profile::DISCRETE, adopt, |_, _| ()));
}

/// Query heaps are freed when neither the GPU nor a ticket uses any of their queries; others stay whole.
#[test]
fn a_trim_destroys_unused_query_heaps() {
    const SECOND: std::time::Duration = std::time::Duration::from_secs(1);
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device);
        let live = || device.calls().live_query_heaps;
        // The first submission of a heap resets its queries, and this recording is not even submitted.
        let mut discarded = gpu.record(Queue::Graphics, "discarded").unwrap();
        drop(discarded.write_timestamp().unwrap());
        drop(discarded);
        gpu.trim();
        let is_reset = gpu.device().properties().queries.must_reset;
        assert_eq!(live(), u64::from(is_reset), "{}", profile.name());

        // Two heaps; a ticket keeps the second.
        let mut recording = gpu.record(Queue::Graphics, "many").unwrap();
        let mut tickets: Vec<_> = (0..1100).map(|_| recording.write_timestamp().unwrap()).collect();
        let submitted = recording.submit().unwrap();
        let kept = tickets.pop().unwrap();
        drop(tickets);
        assert_eq!(live(), 2);
        gpu.trim();
        assert_eq!(live(), 2, "{}: the GPU uses them", profile.name());
        assert!(gpu.wait(&submitted, SECOND).unwrap());
        gpu.trim();
        assert_eq!(live(), 1, "{}: a ticket keeps one", profile.name());
        let time = kept.wait(SECOND).unwrap();
        drop(kept);
        gpu.trim();
        assert_eq!(live(), 0, "{}", profile.name());

        let mut recording = gpu.record(Queue::Graphics, "after").unwrap();
        let after = recording.write_timestamp().unwrap();
        recording.submit().unwrap();
        assert!(after.wait(SECOND).unwrap().since(&time) > std::time::Duration::ZERO);
        drop(after);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}
