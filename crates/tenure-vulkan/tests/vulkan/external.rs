//! Semaphores of the program's own, and its own submissions.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::{BufferDesc, Config, Error, Gpu, MemoryUse, Queue, SyncPoint, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, ExternalSemaphore, OptionalFeatures};

use crate::basics::LONG;
use crate::harness::{Vulkan, validated};

fn semaphore(device: &Device, kind: vk::SemaphoreType) -> vk::Semaphore {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(kind);
    let mut info = vk::SemaphoreCreateInfo::default();
    if device.optional_features().contains(OptionalFeatures::TIMELINE_SEMAPHORES) {
        info = info.push_next(&mut kind);
    }
    // SAFETY: the device is alive and the description valid.
    unsafe { device.raw().create_semaphore(&info, None) }.unwrap()
}

fn destroy(device: &Device, semaphore: vk::Semaphore) {
    // SAFETY: the GPU is done with it.
    unsafe { device.raw().destroy_semaphore(semaphore, None) };
}

/// With and without synchronization2 and timeline semaphores: a recording signals a binary semaphore, an
/// external submission passes it on, another recording waits for it.
#[test]
fn binary_semaphores_go_from_recordings_to_the_program_and_back() {
    let without = [
        OptionalFeatures::empty(),
        OptionalFeatures::SYNCHRONIZATION2,
        OptionalFeatures::SYNCHRONIZATION2 | OptionalFeatures::TIMELINE_SEMAPHORES,
    ];
    for without in without {
        let harness = Vulkan::new(validated().without(without));
        let device = harness.device();
        let [first, second] = [vk::SemaphoreType::BINARY; 2].map(|kind| semaphore(&device, kind));
        // SAFETY: each signal has one wait, in this order, and they live until the GPU is done.
        let [to_program, back] =
            [first, second].map(|semaphore| unsafe { ExternalSemaphore::binary(semaphore) });
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let (up, down) = (
            BufferDesc::new(64, Usage::COPY_SRC).memory(MemoryUse::Upload),
            BufferDesc::new(64, Usage::COPY_DST).memory(MemoryUse::Readback),
        );
        let (staging, readback) = (gpu.create_buffer(&up).unwrap(), gpu.create_buffer(&down).unwrap());
        staging.write(0, &[7; 64]).unwrap();
        for _ in 0..3 {
            let mut recording = gpu.record(Queue::Graphics, "first").unwrap();
            recording.copy_buffer(&staging, 0, &readback, 0, 64).unwrap();
            recording.signal_external(to_program.at_stages(vk::PipelineStageFlags2::ALL_TRANSFER));
            recording.submit().unwrap();
            let (waits, signals) = ([first], [second]);
            let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
            let info = vk::SubmitInfo::default()
                .wait_semaphores(&waits)
                .wait_dst_stage_mask(&stages)
                .signal_semaphores(&signals);
            gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |queue| {
                // The same thread can lock the queue again.
                assert_eq!(device.queue(tenure_core::QueueId(0)), Some(queue));
                // SAFETY: the handles are of this device, and nothing else uses the queue.
                unsafe { device.raw().queue_submit(queue, &[info], vk::Fence::null()) }.unwrap();
                Ok::<(), Error>(())
            })
            .unwrap();
            let mut recording = gpu.record(Queue::Graphics, "last").unwrap();
            recording.wait_for_external(back.at_stages(vk::PipelineStageFlags2::ALL_TRANSFER));
            recording.copy_buffer(&staging, 0, &readback, 0, 64).unwrap();
            let point = recording.submit().unwrap();
            assert!(gpu.wait(&point, LONG).unwrap());
        }
        drop((staging, readback));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        destroy(&device, first);
        destroy(&device, second);
        drop(device);
        harness.end();
    }
}

/// A recording waits for a timeline value before it is signalled, and another signals it; without timelines,
/// values are refused before anything is submitted.
#[test]
fn recordings_wait_for_values_of_timelines() {
    let harness = Vulkan::new(validated());
    let device = harness.device();
    let own = semaphore(&device, vk::SemaphoreType::TIMELINE);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "waits").unwrap();
    // SAFETY: values rise, and the semaphore lives until the GPU is done.
    let at = |value| unsafe { ExternalSemaphore::timeline(own, value) };
    recording.wait_for_external(at(3));
    recording.signal_external(at(4));
    let point = recording.submit().unwrap();
    assert!(!gpu.wait(&point, Duration::from_millis(20)).unwrap());
    let info = vk::SemaphoreSignalInfo::default().semaphore(own).value(3);
    // SAFETY: the semaphore is a timeline of this device, below 3.
    unsafe { device.raw().signal_semaphore(&info) }.unwrap();
    assert!(gpu.wait(&point, LONG).unwrap());
    // The API does not say in which order a submission signals its semaphores.
    let (semaphores, values) = ([own], [4]);
    let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
    // SAFETY: as above.
    unsafe { device.raw().wait_semaphores(&wait, LONG.as_nanos().try_into().unwrap()) }.unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { device.raw().get_semaphore_counter_value(own) }, Ok(4));
    drop(gpu);
    destroy(&device, own);
    drop(device);
    harness.end();
}

#[test]
fn values_need_timelines() {
    let harness = Vulkan::new(validated().without(OptionalFeatures::TIMELINE_SEMAPHORES));
    let device = harness.device();
    let own = semaphore(&device, vk::SemaphoreType::BINARY);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "waits").unwrap();
    // SAFETY: it is refused before the semaphore is used.
    recording.wait_for_external(unsafe { ExternalSemaphore::timeline(own, 3) });
    let refused = recording.submit().unwrap_err().to_string();
    assert!(refused.contains("timeline semaphores"), "{refused}");
    assert_eq!(gpu.submitted(), SyncPoint::NONE);
    drop(gpu);
    destroy(&device, own);
    drop(device);
    harness.end();
}
