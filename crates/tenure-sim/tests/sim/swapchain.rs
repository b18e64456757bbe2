//! Frames that are presented.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tenure_core::device::{Api, prelude::*};
use tenure_core::{
    Awaited, BufferDesc, Config, Error, FrameConfig, Gpu, Graph, Queue, Recording, State, Subresource,
    SwapchainDesc, SwapchainImage, SwapchainRule, TextureDesc, TextureViewDesc, Usage, View,
};
use tenure_sim::{
    Device, DeviceConfig, Fault, FaultKind, HazardKind, Lag, Profile, Swapchain, SwapchainEvent,
};

use crate::hazard_table::assert_listed;

fn rule(error: Result<impl Sized, Error>) -> Option<SwapchainRule> {
    match error.err() {
        Some(Error::Swapchain { rule, .. }) => Some(rule),
        _ => None,
    }
}

fn kinds(device: &Device) -> Vec<HazardKind> {
    device.take_hazards().iter().inspect(|found| assert_listed(found)).map(|hazard| hazard.kind).collect()
}

fn draw(recording: &mut Recording<Device>, image: &SwapchainImage<Device>) {
    recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET).unwrap();
    recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
}

fn manager(profile: Profile, lag: Lag) -> (Device, Gpu<Device>) {
    let device = Device::with_config(DeviceConfig::new(profile).lag(lag));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    (device, gpu)
}

fn window(profile: Profile, lag: Lag) -> (Device, Gpu<Device>, Swapchain) {
    let (device, gpu) = manager(profile, lag);
    let swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
    (device, gpu, swapchain)
}

fn end(device: &Device, gpu: Gpu<Device>) {
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap();
}

/// A thousand frames, a resize every fifty, minimised for a while, out of date and without images at times: no
/// hazard, and nothing is left.
#[test]
fn frames_are_presented_on_every_profile() {
    for (index, profile) in Profile::ALL.iter().enumerate() {
        let lag = [Lag::None, Lag::Random { max: 9 }, Lag::Submissions(4)][index % 3];
        let (device, gpu, mut swapchain) = window(*profile, lag);
        swapchain.script(120, SwapchainEvent::OutOfDate);
        swapchain.script(333, SwapchainEvent::NotReady);
        let mut drawn = 0;
        for number in 1..=1000_u32 {
            let frame = gpu.begin_frame().unwrap();
            if number % 50 == 0 || swapchain.is_outdated() {
                let width = if number % 200 == 0 { 0 } else { 64 + number % 7 };
                swapchain.resize([width, 48]).unwrap();
            }
            let acquired = match swapchain.acquire() {
                Err(Error::Timeout { what: Awaited::SwapchainImage, .. }) if number == 333 => None,
                acquired => acquired.unwrap(),
            };
            if let Some(image) = acquired {
                let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
                image.begin(&mut recording).unwrap();
                draw(&mut recording, &image);
                image.finish(&mut recording).unwrap();
                frame.submit(recording).unwrap();
                swapchain.present(image).unwrap();
                drawn += 1;
            }
            frame.end().unwrap();
        }
        assert_eq!(swapchain.presented(), drawn);
        assert!((700..1000).contains(&drawn), "{drawn}");
        drop(swapchain);
        end(&device, gpu);
    }
}

/// On Vulkan a recording that does not wait for the image races with its presentation.
#[test]
fn an_image_is_not_used_before_it_may_be() {
    for waits in [true, false] {
        let (device, gpu) = manager(Profile::VULKAN_NVIDIA, Lag::None);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48]).images(2)).unwrap();
        for _ in 0..4 {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut early = gpu.record(Queue::Graphics, "early").unwrap();
            if waits {
                image.begin(&mut early).unwrap();
            }
            draw(&mut early, &image);
            early.submit().unwrap();
            let mut last = gpu.record(Queue::Graphics, "last").unwrap();
            draw(&mut last, &image);
            image.finish(&mut last).unwrap();
            last.submit().unwrap();
            swapchain.present(image).unwrap();
        }
        drop(swapchain);
        let found = kinds(&device);
        assert_eq!(found.contains(&HazardKind::QueueRace), !waits, "{found:?}");
        drop(gpu);
    }
}

#[test]
fn presenting_an_undrawn_image_is_a_hazard() {
    let (device, gpu, mut swapchain) = window(Profile::VULKAN_NVIDIA, Lag::None);
    let image = swapchain.acquire().unwrap().unwrap();
    let mut recording = gpu.record(Queue::Graphics, "nothing").unwrap();
    image.finish(&mut recording).unwrap();
    recording.submit().unwrap();
    swapchain.present(image).unwrap();
    drop(swapchain);
    assert_eq!(kinds(&device), [HazardKind::UninitializedRead]);
}

#[test]
fn wrong_uses_are_errors() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu) = manager(profile, Lag::None);
        let desc = SwapchainDesc::new([64, 48]);
        assert_eq!(Swapchain::new(&gpu, &desc.clone().images(0)).unwrap().images(), 2);
        let many = Swapchain::new(&gpu, &desc.clone().images(17));
        assert!(matches!(rule(many), Some(SwapchainRule::Images { images: 17, .. })));
        let mut swapchain = Swapchain::new(&gpu, &desc).unwrap();
        let mut other = Swapchain::new(&gpu, &desc.clone().name("other")).unwrap();

        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(rule(swapchain.acquire()), Some(SwapchainRule::OneAtATime));
        assert_eq!(rule(swapchain.resize([1, 1])), Some(SwapchainRule::ImageHeld));
        let refused = swapchain.present(image);
        let text = refused.as_ref().unwrap_err().to_string();
        assert!(text.contains("image 0") && text.contains("call finish()"), "{text}");
        assert_eq!(rule(refused), Some(SwapchainRule::NotFinished));

        // It is acquired again, also after a discarded recording.
        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(image.index(), 0);
        let mut discarded = gpu.record(Queue::Graphics, "discarded").unwrap();
        image.begin(&mut discarded).unwrap();
        image.finish(&mut discarded).unwrap();
        drop(discarded);
        assert_eq!(rule(other.present(image)), Some(SwapchainRule::OtherSwapchain));
        let image = swapchain.acquire().unwrap().unwrap();
        assert_eq!(image.index(), 0);
        let mut open = gpu.record(Queue::Graphics, "open").unwrap();
        draw(&mut open, &image);
        image.finish(&mut open).unwrap();
        assert_eq!(rule(swapchain.present(image)), Some(SwapchainRule::NotFinished), "not submitted yet");
        open.submit().unwrap();

        // An image finished, and dropped instead of presented: the next use waits for its signal.
        for _ in 0..3 {
            let image = swapchain.acquire().unwrap().unwrap();
            assert_eq!(image.index(), 0);
            let mut again = gpu.record(Queue::Graphics, "again").unwrap();
            draw(&mut again, &image);
            image.finish(&mut again).unwrap();
            again.submit().unwrap();
        }
        let image = swapchain.acquire().unwrap().unwrap();
        let mut again = gpu.record(Queue::Graphics, "again").unwrap();
        draw(&mut again, &image);
        image.finish(&mut again).unwrap();
        again.submit().unwrap();
        swapchain.present(image).unwrap();
        assert_eq!(swapchain.acquire().unwrap().unwrap().index(), 1);

        swapchain.script(1, SwapchainEvent::WindowLost);
        assert_eq!(rule(swapchain.acquire()), Some(SwapchainRule::WindowLost));
        drop((swapchain, other));
        end(&device, gpu);
    }
}

/// A recording that begins with an image and is submitted late does not count: not when it is open when another has
/// finished the image, nor when it is submitted after that, on the same queue or on another, or discarded.
#[test]
fn an_image_is_begun_before_it_is_finished() {
    for queue in [Queue::Graphics, Queue::Compute] {
        let (device, gpu, mut swapchain) = window(Profile::VULKAN_NVIDIA, Lag::None);
        for (is_submitted, is_before) in [(false, false), (true, false), (true, true)] {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut late = gpu.record(queue, "late").unwrap();
            image.begin(&mut late).unwrap();
            let mut last = gpu.record(Queue::Graphics, "last").unwrap();
            if is_before {
                late.submit().unwrap();
                image.finish(&mut last).unwrap();
                last.submit().unwrap();
            } else {
                let finished = image.finish(&mut last);
                if queue == Queue::Compute {
                    assert_eq!(rule(finished), Some(SwapchainRule::BegunFirst));
                    drop(last);
                } else {
                    finished.unwrap();
                    last.submit().unwrap();
                }
                if is_submitted {
                    late.submit().unwrap();
                } else {
                    drop(late);
                }
                let refused = rule(swapchain.present(image)).unwrap();
                let finished = queue == Queue::Graphics;
                let wanted = if finished { SwapchainRule::BegunFirst } else { SwapchainRule::NotFinished };
                assert_eq!(refused, wanted);
                // It is acquired and drawn again.
                let image = swapchain.acquire().unwrap().unwrap();
                let mut again = gpu.record(Queue::Graphics, "again").unwrap();
                image.begin(&mut again).unwrap();
                draw(&mut again, &image);
                image.finish(&mut again).unwrap();
                again.submit().unwrap();
                swapchain.present(image).unwrap();
                continue;
            }
            swapchain.present(image).unwrap();
        }
        drop(swapchain);
        let hazards = device.take_hazards();
        // Only the read of the undrawn image, and nothing about fences.
        assert!(hazards.iter().all(|hazard| hazard.kind == HazardKind::UninitializedRead), "{hazards:?}");
        assert!(gpu.shutdown().is_clean());
    }
}

/// An image that is drawn to again must be finished again, whatever was submitted before.
#[test]
fn an_image_handed_out_again_is_finished_again() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu, mut swapchain) = window(profile, Lag::None);
        for is_finished in [true, false] {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            image.begin(&mut recording).unwrap();
            draw(&mut recording, &image);
            if is_finished {
                image.finish(&mut recording).unwrap();
            }
            recording.submit().unwrap();
            if !is_finished {
                assert_eq!(rule(swapchain.present(image)), Some(SwapchainRule::NotFinished));
            }
        }
        drop(swapchain);
        end(&device, gpu);
    }
}

/// A resize succeeds with other open recordings, but not while one has an image of the window.
#[test]
fn only_recordings_of_its_images_hold_a_resize_up() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu, mut swapchain) = window(profile, Lag::None);
        let loader = gpu.record(Queue::Graphics, "loader").unwrap();
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        draw(&mut recording, &image);
        image.finish(&mut recording).unwrap();
        drop(image);
        assert_eq!(rule(swapchain.resize([32, 32])), Some(SwapchainRule::ImageHeld));
        recording.submit().unwrap();
        swapchain.resize([32, 32]).unwrap();
        gpu.reclaim().unwrap();
        let leaks = device.leaks();
        let images =
            leaks.iter().filter(|object| object.name.as_deref().is_some_and(|name| name.contains("image")));
        assert_eq!(images.count(), 3, "the loader holds none of the old ones back: {leaks:?}");
        drop(loader);
        drop(swapchain);
        end(&device, gpu);
    }
}

/// Other threads submit while a window is resized, and may be the ones that give its images back. No image is
/// held.
#[test]
fn submissions_of_other_threads_refuse_no_resize() {
    for lag in [Lag::None, Lag::Submissions(7)] {
        let (device, gpu, mut swapchain) = window(Profile::DISCRETE, lag);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        gpu.record(Queue::Graphics, "beside").unwrap().submit().unwrap();
                        gpu.reclaim().unwrap();
                    }
                });
            }
            let resized = (1..=300).try_for_each(|size| {
                let image = swapchain.acquire()?.expect("an image");
                let mut recording = gpu.record(Queue::Graphics, "draw")?;
                draw(&mut recording, &image);
                image.finish(&mut recording)?;
                recording.submit()?;
                swapchain.present(image)?;
                swapchain.resize([size, 8])
            });
            is_over.store(true, Ordering::Relaxed);
            resized.unwrap();
        });
        drop(swapchain);
        end(&device, gpu);
    }
}

/// Also while an image is held.
#[test]
fn resizing_to_the_same_size_is_free() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu, mut swapchain) = window(profile, Lag::None);
        let image = swapchain.acquire().unwrap();
        let calls = device.calls();
        swapchain.resize([64, 48]).unwrap();
        assert_eq!((device.calls(), swapchain.extent()), (calls, [64, 48]));
        drop(image);
        swapchain.resize([0, 48]).unwrap();
        assert_eq!((swapchain.extent(), swapchain.acquire().unwrap().is_none()), ([0; 2], true));
        drop(swapchain);
        end(&device, gpu);
    }
}

/// A view keeps the buffer on Direct3D 12, and the swap chain before on Vulkan.
#[test]
fn kept_views_prevent_a_resize_on_direct3d_12() {
    for profile in Profile::ALL {
        let (device, gpu, mut swapchain) = window(*profile, Lag::Submissions(2));
        let image = swapchain.acquire().unwrap().unwrap();
        let view = gpu.create_texture_view(image.texture(), &TextureViewDesc::render_target()).unwrap();
        drop(image);
        let held = (gpu.device().properties().api == Api::Direct3D12).then_some(SwapchainRule::ImageHeld);
        assert_eq!(rule(swapchain.resize([32, 32])), held, "{}", profile.name());
        if held.is_some() {
            assert_eq!(swapchain.extent(), [64, 48], "nothing has changed");
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            draw(&mut recording, &image);
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            swapchain.present(image).unwrap();
        }
        drop(view);
        swapchain.resize([16, 16]).unwrap();
        assert_eq!(swapchain.extent(), [16, 16]);
        drop(swapchain);
        end(&device, gpu);
    }
}

/// The window changes, or closes, as an image is presented.
#[test]
fn presenting_follows_a_script_too() {
    for profile in Profile::ALL {
        let (device, gpu, mut swapchain) = window(*profile, Lag::Submissions(2));
        swapchain.script_present(2, SwapchainEvent::OutOfDate);
        swapchain.script_present(3, SwapchainEvent::NotReady);
        swapchain.script_present(4, SwapchainEvent::WindowLost);
        for number in 1..=4 {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            image.begin(&mut recording).unwrap();
            draw(&mut recording, &image);
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            let presented = swapchain.present(image);
            assert_eq!(rule(presented), (number == 4).then_some(SwapchainRule::WindowLost));
            assert_eq!((swapchain.presented(), swapchain.is_outdated()), (number, number == 2));
            if number == 2 {
                assert!(swapchain.acquire().unwrap().is_none());
                swapchain.resize([32, 24]).unwrap();
            }
        }
        assert_eq!(rule(swapchain.acquire()), Some(SwapchainRule::WindowLost));
        drop(swapchain);
        end(&device, gpu);
    }
}

/// On Vulkan the signals that a frame waits for are submitted before its image is presented, also those that another queue
/// waits for. Direct3D 12 presents on the queue, which waits for any of them.
#[test]
fn signals_of_a_frame_are_submitted_before_it_is_presented() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::DISCRETE] {
        for (is_elsewhere, is_early) in [(false, true), (false, false), (true, true), (true, false)] {
            let (device, gpu, mut swapchain) = window(profile, Lag::Submissions(2));
            let (fence, relay) = (device.create_fence("decoded"), device.create_fence("relay"));
            // The decoder's submission is last, and the frame waits for it through a copy.
            let mut copy = gpu.record(Queue::Copy, "copy").unwrap();
            copy.wait_for_external(fence.at(3));
            copy.signal_external(relay.at(1));
            copy.submit().unwrap();
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            recording.wait_for_external(if is_elsewhere { relay.at(1) } else { fence.at(3) });
            draw(&mut recording, &image);
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            let decode = || {
                let mut decode = gpu.record(Queue::Compute, "decode").unwrap();
                decode.signal_external(fence.at(3));
                decode.submit().unwrap();
            };
            if is_early {
                decode();
            }
            swapchain.present(image).unwrap();
            if !is_early {
                decode();
            }
            let is_wrong = profile == Profile::VULKAN_NVIDIA && !is_early;
            let expected = if is_wrong { &[HazardKind::PresentedBeforeSignal][..] } else { &[] };
            assert_eq!(kinds(&device), expected);
            assert!(gpu.wait(&gpu.submitted(), Duration::from_secs(1)).unwrap());
            drop((swapchain, fence, relay));
            end(&device, gpu);
        }
    }
}

/// After a device loss the swap chain returns the error, without a hazard.
#[test]
fn a_lost_device_ends_presenting() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu, mut swapchain) = window(profile, Lag::None);
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        draw(&mut recording, &image);
        image.finish(&mut recording).unwrap();
        recording.submit().unwrap();
        device.faults().remove("TDR");
        let is_lost = |error: Option<Error>| error.is_some_and(|error| error.is_device_lost());
        assert!(is_lost(swapchain.present(image).err()));
        assert!(is_lost(swapchain.acquire().err()) && is_lost(swapchain.resize([8, 8]).err()));
        drop((swapchain, gpu));
        device.check_clean().unwrap();
    }
}

/// On Vulkan a window takes images of the queue families that can present to it.
#[test]
fn images_are_presented_by_queues_that_can() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let (device, gpu) = manager(profile, Lag::None);
        let desc = SwapchainDesc::new([64, 48]).format(tenure_core::Format::Bgra8Unorm);
        let mut swapchain = Swapchain::new(&gpu, &desc.usage(Usage::UNORDERED_ACCESS)).unwrap();
        for queue in [Queue::Graphics, Queue::Compute] {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(queue, "compute").unwrap();
            image.begin(&mut recording).unwrap();
            let state = State::UNORDERED_ACCESS;
            recording.use_resource(image.texture(), Subresource::All, state).unwrap();
            recording.raw().use_texture(image.texture().raw(), Subresource::All, state);
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            let refused = rule(swapchain.present(image));
            let can = swapchain.can_present_on(queue);
            assert_eq!(refused, (!can).then_some(SwapchainRule::NoQueue));
            assert!(can || queue == Queue::Compute && profile == Profile::VULKAN_NVIDIA);
        }
        drop(swapchain);
        end(&device, gpu);
    }
}

/// A recording of another manager is refused before it waits for anything; a fence of another device is
/// reported.
#[test]
fn an_image_is_not_used_by_another_manager() {
    let (device, gpu) = manager(Profile::VULKAN_NVIDIA, Lag::None);
    let (elsewhere, other) = manager(Profile::VULKAN_NVIDIA, Lag::None);
    let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
    let image = swapchain.acquire().unwrap().unwrap();
    let mut foreign = other.record(Queue::Graphics, "foreign").unwrap();
    assert!(matches!(image.begin(&mut foreign), Err(Error::Foreign { .. })));
    assert!(matches!(image.finish(&mut foreign), Err(Error::Foreign { .. })));
    foreign.submit().unwrap();
    let mut own = gpu.record(Queue::Graphics, "own").unwrap();
    draw(&mut own, &image);
    image.finish(&mut own).unwrap();
    own.submit().unwrap();
    swapchain.present(image).unwrap();
    drop(swapchain);

    let fence = device.create_fence("mine");
    fence.signal(1);
    let mut foreign = other.record(Queue::Graphics, "foreign").unwrap();
    foreign.wait_for_external(fence.at(1));
    foreign.submit().unwrap();
    assert_eq!(kinds(&elsewhere), [HazardKind::ForeignFence]);
    drop(fence);
    end(&device, gpu);
    end(&elsewhere, other);
}

/// Textures of swap chains are adopted; images of other chains are not presented.
#[test]
fn only_images_of_the_swap_chain_are_presented() {
    let (device, gpu) = manager(Profile::VULKAN_NVIDIA, Lag::None);
    let usage = Usage::RENDER_TARGET | Usage::PRESENT;
    let desc = TextureDesc::d2(8, 8, tenure_core::Format::Bgra8Unorm, usage).name("mine");
    let text = gpu.create_texture(&desc).unwrap_err().to_string();
    assert!(text.contains("mine") && text.contains("a swap chain made"), "{text}");
    let plain = gpu
        .create_texture(&TextureDesc::d2(8, 8, tenure_core::Format::Bgra8Unorm, Usage::RENDER_TARGET))
        .unwrap();
    let mut recording = gpu.record(Queue::Graphics, "present").unwrap();
    let refused = recording.use_resource(&plain, Subresource::All, State::PRESENT);
    assert!(matches!(refused, Err(Error::State { .. })), "{refused:?}");
    drop((recording, plain));
    end(&device, gpu);
}

/// In a graph, the pass that draws to the image begins a recording: earlier work does not wait.
#[test]
fn a_graph_waits_for_the_image_before_the_first_pass_using_it() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None));
    let frames = FrameConfig::default().in_flight(2);
    let gpu = Gpu::new(device.clone(), Config::default().frames(frames)).unwrap();
    let held = device.create_fence("held");
    let mut graph = Graph::new();
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let scene = graph.texture(TextureDesc::d2(64, 48, tenure_core::Format::Rgba8Unorm, usage).name("scene"));
    graph.pass(Queue::Graphics, "scene").uses(scene, State::RENDER_TARGET);
    let post = graph.pass(Queue::Graphics, "post").uses(scene, State::PIXEL_SHADER).begins_recording().id();
    assert_eq!(gpu.plan_graph(&graph).unwrap().batches().len(), 2);

    let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
    let image = swapchain.acquire().unwrap().unwrap();
    let frame = gpu.begin_frame().unwrap();
    let point = frame
        .execute(&graph, |pass, recording, resources| {
            let scene = resources.texture(scene)?;
            if pass == post {
                // Stands for an image that the window keeps.
                recording.wait_for_external(held.at(1));
                recording.raw().use_texture(scene.raw(), Subresource::All, State::PIXEL_SHADER);
                draw(recording, &image);
                image.finish(recording)?;
            } else {
                recording.raw().use_texture(scene.raw(), Subresource::All, State::RENDER_TARGET);
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    let queue = tenure_core::QueueId(0);
    let completed = gpu.completed().unwrap().serial(queue);
    assert_eq!((completed, point.serial(queue)), (1, 2), "the scene is drawn, the image waited for");
    held.signal(1);
    swapchain.present(image).unwrap();
    frame.end().unwrap();
    assert!(gpu.wait(&point, std::time::Duration::from_secs(1)).unwrap());
    drop((swapchain, held));
    end(&device, gpu);
}

/// A lost device ends presentation with an error, and nothing hangs.
#[test]
fn a_lost_device_ends_presentation() {
    let (device, gpu, mut swapchain) = window(Profile::VULKAN_NVIDIA, Lag::Manual);
    let image = swapchain.acquire().unwrap().unwrap();
    let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
    draw(&mut recording, &image);
    image.finish(&mut recording).unwrap();
    recording.submit().unwrap();
    swapchain.present(image).unwrap();
    device.faults().remove("pulled out");
    assert!(swapchain.acquire().is_err());
    assert!(swapchain.resize([8, 8]).is_err());
    assert!(swapchain.acquire().is_err());
    drop(swapchain);
    let report = gpu.shutdown();
    assert!(report.lost.is_some() && report.leaks.is_empty(), "{report:?}");
    drop(gpu);
    assert_eq!(device.leaks(), []);
}

/// A semaphore that presenting waits for is signalled once per acquired image.
#[test]
fn an_image_is_finished_once() {
    let mut refused = 0;
    for profile in Profile::ALL {
        let (device, gpu) = manager(*profile, Lag::None);
        let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([8, 8])).unwrap();
        for _ in 0..2 {
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "picture").unwrap();
            draw(&mut recording, &image);
            image.finish(&mut recording).unwrap();
            refused += u32::from(rule(image.finish(&mut recording)) == Some(SwapchainRule::FinishedOnce));
            recording.submit().unwrap();
        }
        let image = swapchain.acquire().unwrap().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "again").unwrap();
        image.finish(&mut recording).unwrap();
        recording.submit().unwrap();
        swapchain.present(image).unwrap();
        assert_eq!(kinds(&device), []);
        drop(swapchain);
        end(&device, gpu);
    }
    assert!(refused > 0);
}

/// Each call of a resize fails in turn: there are no images then, until it succeeds.
#[test]
fn a_resize_that_fails_leaves_no_images() {
    for profile in Profile::ALL {
        for nth in 1..12 {
            let (device, gpu, mut swapchain) = window(*profile, Lag::Submissions(2));
            let buffer = gpu.create_buffer(&BufferDesc::new(64, Usage::SHADER_READ)).unwrap();
            gpu.upload(&buffer, 0, &[1; 64]).unwrap();
            device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory));
            let resized = swapchain.resize([32, 32]);
            device.faults().clear();
            let has_images = swapchain.acquire().unwrap().is_some();
            assert_eq!(has_images, resized.is_ok(), "{profile:?}, call {nth}: {resized:?}");
            assert_eq!(swapchain.is_outdated(), resized.is_err());
            swapchain.resize([32, 32]).unwrap();
            let image = swapchain.acquire().unwrap().unwrap();
            let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
            draw(&mut recording, &image);
            image.finish(&mut recording).unwrap();
            recording.submit().unwrap();
            swapchain.present(image).unwrap();
            drop((swapchain, buffer));
            end(&device, gpu);
        }
    }
}

/// A swap chain that its owner's destructor resizes, and a view that delays the resize on Direct3D 12.
struct ResizedLast {
    swapchain: Swapchain,
    _view: View<Device>,
    answers: mpsc::Sender<(Result<(), Error>, Duration)>,
}

impl Drop for ResizedLast {
    fn drop(&mut self) {
        let begun = Instant::now();
        let answer = self.swapchain.resize([32, 32]);
        // The receiver may be gone.
        let _ = self.answers.send((answer, begun.elapsed()));
    }
}

/// A destructor of the program that resizes a swap chain gets the error about a held image at once, whatever
/// call runs it: a reclaim, the end of a frame, the shutdown, or the reclaim of a lost device. It does not wait for
/// the thread that runs it.
#[test]
fn a_destructor_that_resizes_waits_for_no_reclaim() {
    let ways: [fn(&Device, &Gpu<Device>); 4] = [
        |_, gpu| gpu.reclaim().unwrap(),
        |_, gpu| gpu.begin_frame().unwrap().end().unwrap(),
        |_, gpu| drop(gpu.shutdown()),
        |device, gpu| {
            device.end_process();
            let _lost = gpu.reclaim();
        },
    ];
    for profile in Profile::ALL {
        for (way, run) in ways.iter().enumerate() {
            let device = Device::with_config(DeviceConfig::new(*profile).lag(Lag::None));
            let timeout = Duration::from_secs(60);
            let frames = FrameConfig::default().timeout(timeout);
            let gpu = Gpu::new(device.clone(), Config::default().frames(frames)).unwrap();
            let mut swapchain = Swapchain::new(&gpu, &SwapchainDesc::new([64, 48])).unwrap();
            let image = swapchain.acquire().unwrap().unwrap();
            let view = gpu.create_texture_view(image.texture(), &TextureViewDesc::render_target()).unwrap();
            drop(image);
            let (answers, answered) = mpsc::channel();
            drop(gpu.defer("window", ResizedLast { swapchain, _view: view, answers }));
            run(&device, &gpu);
            let (answer, took) = answered.try_recv().expect("the destructor has run");
            assert!(took < timeout / 2, "{}, way {way}: {took:?}", profile.name());
            let is_held = gpu.device().properties().api == Api::Direct3D12;
            match (way, is_held) {
                (0 | 1, true) => assert_eq!(rule(answer), Some(SwapchainRule::ImageHeld)),
                (0 | 1, false) => answer.unwrap(),
                _ => assert!(answer.is_err(), "{}, way {way}", profile.name()),
            }
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}
