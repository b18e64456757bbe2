//! Markers, read on the CPU.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::device::{Device as _, MarkerLimits};
use tenure_core::{Config, Error, Gpu, Queue, RecordingProgress};
use tenure_vulkan::ash::{self, vk};
use tenure_vulkan::{ApiVersion, OptionalFeatures};

use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

const SECONDS: Duration = Duration::from_secs(10);

/// The words of the first recording after a recording with two scopes.
fn words(vulkan: &Vulkan) -> [u32; 3] {
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "main").unwrap();
    recording.gpu_time("shadows", |commands| commands.gpu_time("cascade", |_| Ok::<_, Error>(()))).unwrap();
    let done = recording.submit().unwrap();
    assert!(gpu.wait(&done, SECONDS).unwrap());
    let words = [0, 1, u32::MAX].map(|word| gpu.device().marker(word));
    assert!(gpu.shutdown().is_clean());
    words
}

#[test]
fn recordings_have_markers_on_any_device() {
    let vulkan13 = validated().markers(true);
    let vulkan11 = validated().api_version(ApiVersion::V1_1).markers(true);
    for options in [vulkan13, vulkan11] {
        let vulkan = Vulkan::new(options.without(OptionalFeatures::BUFFER_MARKERS));
        assert!(!vulkan.device().properties().markers.in_passes);
        // A begin and an end.
        assert_eq!(words(&vulkan), [1, 2, 0]);
        vulkan.end();
    }
}

#[test]
fn scopes_have_markers_with_the_extension() {
    let vulkan = Vulkan::wearing(Costume::plain(), validated().markers(true), |raw| {
        raw.extensions.push(ash::amd::buffer_marker::NAME.to_owned());
        raw.enabled |= OptionalFeatures::BUFFER_MARKERS;
    });
    assert!(vulkan.device().properties().markers.in_passes);
    assert_eq!(words(&vulkan), [3, 6, 0]);
    let (begun, completed) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
    let expected = [
        (begun, 0, 1),
        (begun, 0, 2),
        (begun, 0, 3),
        (completed, 4, 4),
        (completed, 4, 5),
        (completed, 4, 6),
    ];
    assert_eq!(vulkan.disguise().markers(), expected);
    vulkan.end();
}

/// Queues of all families write to the words.
#[test]
fn queues_of_a_discrete_card_share_the_words() {
    use vk::MemoryPropertyFlags as Flags;
    let types = vec![
        (Flags::DEVICE_LOCAL, 0),
        (Flags::HOST_VISIBLE | Flags::HOST_COHERENT, 1),
        (Flags::HOST_VISIBLE | Flags::HOST_COHERENT | Flags::HOST_CACHED, 1),
    ];
    let costume = Costume { types, ..Costume::discrete() };
    let vulkan = Vulkan::disguised(costume, &validated().markers(true));
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    for (pair, queue) in (0_u32..).zip([Queue::Graphics, Queue::Compute, Queue::Copy]) {
        let done = gpu.record(queue, "pass").unwrap().submit().unwrap();
        assert!(gpu.wait(&done, SECONDS).unwrap());
        assert_eq!([pair * 2, pair * 2 + 1].map(|word| gpu.device().marker(word)), [1, 2], "{queue:?}");
    }
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// Without the option no memory is taken for markers.
#[test]
fn markers_are_an_option() {
    let vulkan = Vulkan::new(validated());
    assert_eq!(vulkan.device().properties().markers, MarkerLimits::default());
    assert_eq!(words(&vulkan), [0; 3]);
    assert!(!vulkan.device().optional_features().contains(OptionalFeatures::BUFFER_MARKERS));
    vulkan.end();
}

/// Scopes have checkpoints, which are read after the loss; recordings have words as well.
#[test]
fn checkpoints_tell_the_scopes_that_were_running() {
    let vulkan = Vulkan::wearing(Costume::plain(), validated().markers(true), |raw| {
        raw.extensions.push(ash::nv::device_diagnostic_checkpoints::NAME.to_owned());
        raw.enabled |= OptionalFeatures::CHECKPOINTS;
    });
    assert!(vulkan.device().properties().markers.in_passes);
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let record = |name: &'static str| {
        let mut recording = gpu.record(Queue::Graphics, name).unwrap();
        recording
            .gpu_time("shadows", |commands| commands.gpu_time("cascade", |_| Ok::<_, Error>(())))
            .unwrap();
        recording.gpu_time("lights", |_| Ok::<_, Error>(())).unwrap();
        recording.submit()
    };
    let done = record("first").unwrap();
    assert!(gpu.wait(&done, SECONDS).unwrap());
    // The last word of the recording, by a fill; the checkpoints count only after the loss.
    assert_eq!(vulkan.disguise().checkpoints(), 8);
    vulkan.disguise().reach(&[(vk::PipelineStageFlags::TOP_OF_PIPE, 2)]);
    assert_eq!([0, 1].map(|word| gpu.device().marker(word)), [1, 8]);

    // Of the second: the begin of the cascade has passed the top, the begin of the recording the bottom.
    vulkan.disguise().reach(&[
        (vk::PipelineStageFlags::TOP_OF_PIPE, 8 + 2),
        (vk::PipelineStageFlags::VERTEX_SHADER, 8 + 6),
        (vk::PipelineStageFlags::BOTTOM_OF_PIPE, 8),
    ]);
    assert!(vulkan.hold());
    record("second").unwrap();
    vulkan.disguise().fail("vkQueueSubmit2", vk::Result::ERROR_DEVICE_LOST);
    record("third").unwrap_err();
    let loss = gpu.loss().unwrap();
    let [recording] = loss.unfinished[0].recordings.as_slice() else { panic!("{loss}") };
    let scopes = ["shadows", "cascade"].map(str::to_owned).into();
    assert_eq!(recording.progress, Some(RecordingProgress::Running { scopes }), "{loss}");
    vulkan.settle();
    drop(gpu);
    vulkan.close();
}

/// The end of a scope that has passed the top began it as well.
#[test]
fn a_checkpoint_at_the_end_of_a_scope_counts_for_its_begin() {
    let vulkan = Vulkan::wearing(Costume::plain(), validated().markers(true), |raw| {
        raw.extensions.push(ash::nv::device_diagnostic_checkpoints::NAME.to_owned());
        raw.enabled |= OptionalFeatures::CHECKPOINTS;
    });
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "main").unwrap();
    recording.gpu_time("shadows", |_| Ok::<_, Error>(())).unwrap();
    recording.gpu_time("lights", |_| Ok::<_, Error>(())).unwrap();
    let (top, bottom) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
    // The end of the lights, and the end of the shadows.
    vulkan.disguise().reach(&[(top, 4), (bottom, 2)]);
    assert!(vulkan.hold());
    recording.submit().unwrap();
    vulkan.disguise().fail("vkQueueSubmit2", vk::Result::ERROR_DEVICE_LOST);
    gpu.record(Queue::Graphics, "later").unwrap().submit().unwrap_err();
    let loss = gpu.loss().unwrap();
    let scopes = vec!["lights".to_owned()];
    let progress = loss.unfinished[0].recordings[0].progress.clone();
    assert_eq!(progress, Some(RecordingProgress::Running { scopes }), "{loss}");
    vulkan.settle();
    drop(gpu);
    vulkan.close();
}

/// The begin of a recording means that the GPU has begun all scopes of the one before, whose checkpoints the queue has forgotten.
#[test]
fn a_recording_that_was_followed_has_begun_all_of_its_scopes() {
    let vulkan = Vulkan::wearing(Costume::plain(), validated().markers(true), |raw| {
        raw.extensions.push(ash::nv::device_diagnostic_checkpoints::NAME.to_owned());
        raw.enabled |= OptionalFeatures::CHECKPOINTS;
    });
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    assert!(vulkan.hold());
    for name in ["first", "second"] {
        let mut recording = gpu.record(Queue::Graphics, name).unwrap();
        recording.gpu_time(name, |_| Ok::<_, Error>(())).unwrap();
        recording.submit().unwrap();
    }
    // The top has begun the second, the bottom has begun the scope of the first.
    let (top, bottom) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
    vulkan.disguise().reach(&[(top, 4), (bottom, 1)]);
    vulkan.disguise().fail("vkQueueSubmit2", vk::Result::ERROR_DEVICE_LOST);
    gpu.record(Queue::Graphics, "later").unwrap().submit().unwrap_err();
    let loss = gpu.loss().unwrap();
    let of = |index: usize| loss.unfinished[0].recordings[index].progress.clone();
    assert_eq!(of(0), Some(RecordingProgress::Running { scopes: vec!["first".to_owned()] }), "{loss}");
    assert_eq!(of(1), Some(RecordingProgress::Running { scopes: Vec::new() }), "{loss}");
    vulkan.settle();
    drop(gpu);
    vulkan.close();
}
