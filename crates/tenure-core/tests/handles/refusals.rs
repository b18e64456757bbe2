//! Waits for impossible sync points, and uses that the memory does not allow.

use std::time::Duration;

use tenure_core::device::{Api, Features, StateModel, prelude::*};
use tenure_core::state::StateError;
use tenure_core::time::SyncPoint;
use tenure_core::{
    BufferDesc, Config, Error, Format, Gpu, MemoryUse, Queue, QueueId, ReservedDesc, State, Subresource,
    TextureDesc, TileRegion, Usage,
};
use tenure_sim::{Lag, Profile};

use super::tiles::tiles_used;
use super::{Counted, SECOND, bytes, count, device, gpu, mesh, upload};

const TILE: TileRegion = TileRegion::buffer(0, 1);

fn never<T: std::fmt::Debug>(answer: Result<T, Error>) -> (u8, u64, u64) {
    match answer {
        Err(Error::NeverSubmitted { queue, serial, newest }) => (queue.0, serial, newest),
        other => panic!("{other:?}"),
    }
}

/// The queue would wait forever, with all later submissions.
#[test]
fn waits_for_unsubmitted_work_are_refused() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let desc = ReservedDesc::buffer(1 << 20, Usage::COPY_SRC);
    let (sparse, other) = (gpu.create_reserved(&desc).unwrap(), gpu.create_reserved(&desc).unwrap());
    sparse.map(Queue::Graphics, TILE).unwrap();
    let used = tiles_used(&gpu);
    let graphics = gpu.submitted().serial(QueueId(0));
    for (queue, serial, newest) in [(7, 1, 0), (1, u64::MAX, 0), (1, 1, 0), (0, graphics + 1, graphics)] {
        let point = SyncPoint::at(QueueId(queue), serial);
        let expected = (queue, serial, newest);
        let mut recording = gpu.record(Queue::Graphics, "work").unwrap();
        assert_eq!(never(recording.wait_for(&point)), expected);
        drop(recording);
        // Without a timeout it would never return.
        assert_eq!(never(gpu.wait(&point, Duration::MAX)), expected);
        assert_eq!(never(sparse.map((Queue::Graphics, point), TILE)), expected);
        assert_eq!(never(sparse.unmap((Queue::Copy, point), TILE)), expected);
        assert_eq!(never(other.copy_mappings((Queue::Compute, point), TILE, &sparse, TILE)), expected);
        let (counted, dropped) = Counted::new();
        let refused = gpu.release_after(counted, point).unwrap_err();
        assert_eq!(never(Err::<(), _>(refused.error)), expected);
        assert_eq!(count(&dropped), 0, "the program has it again");
        drop(refused.value);
        assert_eq!(count(&dropped), 1);
    }
    gpu.reclaim().unwrap();
    assert_eq!(tiles_used(&gpu), used, "what was refused has given its tiles back");
    assert_eq!(gpu.submitted().serial(QueueId(0)), graphics, "nothing was submitted");
    assert_eq!((sparse.mapped_tiles(), other.mapped_tiles()), (1, 0));
    // All kinds of waits accept submitted sync points.
    let newest = gpu.submitted();
    let mut recording = gpu.record(Queue::Compute, "work").unwrap();
    recording.wait_for(&newest).unwrap();
    recording.submit().unwrap();
    other.copy_mappings((Queue::Copy, newest), TILE, &sparse, TILE).unwrap();
    gpu.release_after((), newest).unwrap();
    assert!(gpu.wait(&gpu.submitted(), SECOND).unwrap());
    drop((sparse, other));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// The actual memory decides, not the requested one: Direct3D 12 forbids copies to a `GpuUpload` buffer in an
/// upload heap, and, with either kind of barriers, any other use of an acceleration structure's buffer.
#[test]
fn states_forbidden_by_the_actual_memory_are_refused() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let properties = device.properties();
        let (is_d3d12, has_bar) =
            (properties.api == Api::Direct3D12, properties.features.contains(Features::GPU_UPLOAD));
        for own in [false, true] {
            let make = |desc: BufferDesc| gpu.create_buffer(&if own { desc.own_resource() } else { desc });
            let copies = Usage::VERTEX | Usage::COPY_DST;
            let fast = make(BufferDesc::new(4096, copies).memory(MemoryUse::GpuUpload).name("fast")).unwrap();
            let sent = gpu.upload(&fast, 0, &[1; 4096]);
            assert_eq!(sent.is_err(), is_d3d12 && !has_bar, "{}: {sent:?}", profile.name());
            assert!(!matches!(&sent, Err(error) if !matches!(error, Error::FixedState { .. })), "{sent:?}");
            if properties.features.contains(Features::ACCELERATION_STRUCTURES) {
                let usage = Usage::ACCELERATION_STRUCTURE | Usage::COPY_DST;
                let rays = make(BufferDesc::new(4096, usage).name("rays")).unwrap();
                let sent = gpu.upload(&rays, 0, &[1; 4096]);
                let fixed =
                    StateError::Fixed { state: State::COPY_DST, initial: State::ACCELERATION_STRUCTURE };
                match sent {
                    Ok(_) => assert!(!is_d3d12, "{}", profile.name()),
                    Err(Error::State { source, .. }) if is_d3d12 => assert_eq!(source, fixed),
                    Err(error) => panic!("{}: {error}", profile.name()),
                }
            }
            gpu.flush_uploads().unwrap();
        }
        assert!(gpu.shutdown().is_clean(), "{}", profile.name());
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{}: {findings}", profile.name()));
    }
}

/// With explicit states, no resource is brought to `COMMON`: the request is an error.
#[test]
fn common_is_refused_where_it_would_do_nothing() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
        let image = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
        let mesh = mesh(&gpu, "mesh", 1024);
        let mut recording = gpu.record(Queue::Graphics, "present").unwrap();
        let of_image = recording.use_resource(&image, Subresource::All, State::COMMON);
        let of_mesh = recording.use_resource(&mesh, Subresource::All, State::COMMON);
        for answer in [of_image, of_mesh] {
            match device.properties().state_model {
                StateModel::Promotion => answer.unwrap(),
                StateModel::Explicit => {
                    let refused = answer.unwrap_err();
                    assert!(
                        matches!(refused, Error::State { source: StateError::NotToCommon, .. }),
                        "{refused}"
                    );
                }
            }
        }
        recording.submit().unwrap();
    }
}

/// D3D12 fixes the states of upload and readback heaps; Vulkan has no such rule.
#[test]
fn states_that_memory_fixes_are_refused() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let is_fixed = device.properties().api == Api::Direct3D12;
        let dynamic = upload(&gpu, 1024, 1);
        let desc = BufferDesc::new(1024, Usage::COPY_SRC).memory(MemoryUse::Readback).name("readback");
        let readback = gpu.create_buffer(&desc).unwrap();
        let desc = BufferDesc::new(1024, Usage::COPY_SRC | Usage::SHADER_READ).name("local");
        let local = gpu.create_buffer(&desc).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
        recording.copy_buffer(&dynamic, 0, &local, 0, 1024).unwrap();
        recording.copy_buffer(&local, 0, &readback, 0, 1024).unwrap();
        let into_dynamic = recording.copy_buffer(&local, 0, &dynamic, 0, 1024);
        let from_readback = recording.copy_buffer(&readback, 0, &local, 0, 1024);
        if is_fixed {
            for (answer, expected) in [
                (into_dynamic, ("upload", MemoryUse::Upload, State::COPY_DST)),
                (from_readback, ("readback", MemoryUse::Readback, State::COPY_SRC)),
            ] {
                let Err(Error::FixedState { name, memory, state }) = answer else { panic!("{answer:?}") };
                assert_eq!((name.as_str(), memory, state), expected);
            }
        } else {
            into_dynamic.unwrap();
            from_readback.unwrap();
        }
        assert!(gpu.wait(&recording.submit().unwrap(), SECOND).unwrap());
        assert_eq!(bytes(&readback), [1; 1024]);
        drop((dynamic, readback, local));
        assert!(gpu.shutdown().is_clean(), "{}", profile.name());
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{}: {findings}", profile.name()));
    }
}

/// Vulkan's descriptors are written for one layout: reads of two layouts are refused, before a driver
/// sees them. Those that share a layout are not.
#[test]
fn reads_without_a_layout_in_common_are_refused() {
    for profile in Profile::ALL.iter().copied() {
        let device = device(profile, Lag::None);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let is_vulkan = device.properties().api == Api::Vulkan;
        let usage = Usage::COPY_SRC | Usage::SHADER_READ;
        let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage | Usage::COPY_DST).name("rock");
        let rock = gpu.create_texture(&desc).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "reads").unwrap();
        let reads = [State::COPY_SRC, State::RESOLVE_SRC, State::PIXEL_SHADER, State::NON_PIXEL_SHADER];
        for bits in 1..1_u32 << reads.len() {
            let chosen = (0..reads.len()).filter(|index| bits >> index & 1 == 1);
            let state = chosen.fold(State::COMMON, |all, index| all | reads[index]);
            let is_copied = state.intersects(State::COPY_SRC | State::RESOLVE_SRC);
            let is_mixed = is_copied && state.intersects(State::SHADER_READ);
            match recording.use_resource(&rock, Subresource::All, state) {
                Ok(()) => assert!(!is_vulkan || !is_mixed, "{state:?}"),
                Err(error) => {
                    assert!(is_vulkan && is_mixed, "{state:?}: {error}");
                    assert!(error.to_string().contains("use it in one of the states"), "{error}");
                }
            }
        }
        recording.barriers();
        drop(recording);
        drop(rock);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
    }
}

/// Nor is one handed over in it: the recording could not be submitted.
#[test]
fn common_is_no_state_of_a_hand_over_on_vulkan() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_ENHANCED] {
        let device = device(profile, Lag::None);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let is_vulkan = device.properties().api == Api::Vulkan;
        let copies = Usage::COPY_SRC | Usage::COPY_DST;
        let buffer = gpu.create_buffer(&BufferDesc::new(1024, copies).shared().name("shared")).unwrap();
        let image = TextureDesc::d2(16, 16, Format::Rgba8Unorm, copies | Usage::SHADER_READ).shared();
        let image = gpu.create_texture(&image).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "hand over").unwrap();
        let answers = [
            recording.release_to_peer(&buffer, State::COMMON),
            recording.release_to_peer(&image, State::COMMON),
            recording.acquire_from_peer(&buffer, State::COMMON),
            recording.acquire_from_peer(&image, State::COMMON),
        ];
        for answer in answers.into_iter().take(if is_vulkan { 4 } else { 2 }) {
            let is_refused = matches!(answer, Err(Error::State { source: StateError::NotToCommon, .. }));
            assert_eq!(is_refused, is_vulkan, "{answer:?}");
        }
        recording.submit().unwrap();
        drop((buffer, image));
        assert!(gpu.shutdown().is_clean());
    }
}
