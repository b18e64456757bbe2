//! Recordings submitted in one call: as if one after the other, in few submissions of the device.

use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, Queue, Recording, State, SubmitAllError, Subresource,
    SyncPoint, TexelData, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, Lag, Profile};

use super::{SECOND, device, end, gpu};

const ALL: Subresource = Subresource::All;

fn submits(device: &Device) -> u64 {
    device.calls().made(CallKind::Submit)
}

/// Submits all in a frame, and counts the submissions.
fn counted(gpu: &Gpu<Device>, recordings: Vec<Recording<Device>>) -> (Vec<SyncPoint>, u64) {
    let before = submits(gpu.device());
    let frame = gpu.begin_frame().unwrap();
    let points = frame.submit_all(recordings).unwrap();
    frame.end().unwrap();
    (points, submits(gpu.device()) - before)
}

fn target(gpu: &Gpu<Device>, usage: Usage) -> Texture<Device> {
    let usage = usage | Usage::SHADER_READ | Usage::COPY_DST;
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage);
    let texture = gpu.create_texture_with(&desc, &[TexelData::new(&[7; 1024])]).unwrap();
    gpu.flush_uploads().unwrap();
    texture
}

fn own_buffer(gpu: &Gpu<Device>) -> Buffer<Device> {
    let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::UNORDERED_ACCESS;
    gpu.create_buffer_with(&BufferDesc::new(256, usage).own_resource(), &[0; 256]).unwrap()
}

/// A recording that uses textures, with commands of the program that the device checks.
fn using(gpu: &Gpu<Device>, queue: Queue, uses: &[(&Texture<Device>, State)]) -> Recording<Device> {
    let mut recording = gpu.record(queue, "pass").unwrap();
    for (texture, state) in uses {
        recording.use_resource(*texture, ALL, *state).unwrap();
    }
    recording.barriers();
    for (texture, state) in uses {
        recording.raw().use_texture(texture.raw(), ALL, *state);
    }
    recording
}

/// Each recording reads what the one before wrote.
#[test]
fn a_chain_on_one_queue_is_one_submission() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let targets: Vec<_> = (0..5).map(|_| target(&gpu, Usage::RENDER_TARGET)).collect();
        for number in 0..3 {
            let passes = targets.windows(2).map(|pair| {
                let uses = [(&pair[0], State::PIXEL_SHADER), (&pair[1], State::RENDER_TARGET)];
                using(&gpu, Queue::Graphics, &uses)
            });
            let (points, count) = counted(&gpu, passes.collect());
            assert_eq!(points.len(), 4);
            assert!(gpu.wait(&points[3], SECOND).unwrap());
            if number == 0 {
                // The copy queue hands the textures over.
                continue;
            }
            assert_eq!(count, 1, "{}", profile.name());
            assert!(points.iter().all(|point| *point == points[0] && *point != SyncPoint::NONE));
        }
        drop(targets);
        end(gpu, &device);
    }
}

#[test]
fn nothing_is_submitted_for_no_recording() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let (points, count) = counted(&gpu, Vec::new());
    assert_eq!((points, count), (Vec::new(), 0));
    end(gpu, &device);
}

/// Two queues in turn: one submission each, unless one waits for the other.
#[test]
fn queues_in_turn_share_submissions_where_none_waits() {
    for (profile, is_written, expected) in [
        (Profile::VULKAN_NVIDIA, false, 2),
        (Profile::VULKAN_NVIDIA, true, 4),
        (Profile::D3D12_TIER2, false, 2),
        (Profile::D3D12_TIER2, true, 4),
    ] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let (shared, buffer) = (target(&gpu, Usage::SHADER_READ), own_buffer(&gpu));
        let own: Vec<_> = (0..4).map(|_| target(&gpu, Usage::UNORDERED_ACCESS)).collect();
        let queues = [Queue::Graphics, Queue::Compute, Queue::Graphics, Queue::Compute];
        let frame = || {
            let passes = queues.into_iter().zip(&own).map(|(queue, own)| {
                let uses = [(&shared, State::NON_PIXEL_SHADER), (own, State::UNORDERED_ACCESS)];
                let mut pass = using(&gpu, queue, &uses);
                if is_written {
                    pass.use_resource(&buffer, ALL, State::UNORDERED_ACCESS).unwrap();
                }
                pass
            });
            counted(&gpu, passes.collect())
        };
        // The copy queue hands the textures over.
        frame();
        gpu.wait(&gpu.submitted(), SECOND).unwrap();
        let (points, count) = frame();
        assert_eq!(count, expected, "{} {is_written}", profile.name());
        assert_eq!(points[0] == points[2], !is_written);
        assert_ne!(points[0], points[1]);
        drop((shared, own, buffer));
        end(gpu, &device);
    }
}

/// A recording that waits for other work does not delay the ones before it, and external points end a submission.
#[test]
fn waits_and_external_points_begin_submissions() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let (before, after) = (device.create_fence("before"), device.create_fence("after"));
    let open = |queue| gpu.record(queue, "work").unwrap();
    let slow = open(Queue::Copy).submit().unwrap();
    let (mut waiting, mut outside, mut signalling) =
        (open(Queue::Graphics), open(Queue::Graphics), open(Queue::Graphics));
    waiting.wait_for(&slow).unwrap();
    outside.wait_for_external(before.at(1));
    signalling.signal_external(after.at(1));
    let recordings = vec![
        open(Queue::Graphics),
        waiting,
        open(Queue::Graphics),
        outside,
        signalling,
        open(Queue::Graphics),
    ];
    let (points, count) = counted(&gpu, recordings);
    let serials: Vec<_> = points.iter().map(|point| point.iter().next().unwrap().serial).collect();
    assert_eq!((serials, count), (vec![1, 2, 2, 3, 3, 4], 4));
    before.signal(1);
    assert!(device.run_until_idle());
    drop((before, after));
    end(gpu, &device);
}

#[test]
fn the_first_error_ends_the_call_and_later_recordings_are_discarded() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device, Config::default());
    let other = super::gpu(&super::device(Profile::DISCRETE, Lag::None), Config::default());
    let frame = gpu.begin_frame().unwrap();
    let buffer = own_buffer(&gpu);
    let open = |name: &'static str| gpu.record(Queue::Graphics, name).unwrap();
    let mut wrong = open("wrong");
    wrong.use_resource(&buffer, ALL, State::COPY_DST).unwrap();
    wrong.barriers();
    wrong.raw().fill_buffer(buffer.raw(), u64::MAX, 1, 0);
    let refused = frame.submit_all(vec![open("first"), wrong, open("last")]).unwrap_err();
    let submitted = refused.points.iter().map(|point| *point != SyncPoint::NONE).collect::<Vec<_>>();
    assert_eq!(submitted, [true, false, false]);
    assert_eq!(refused.submitted(), 1);
    assert!(refused.to_string().starts_with("wrong: "), "{refused}");

    let foreign = other.record(Queue::Graphics, "foreign").unwrap();
    let SubmitAllError { error, points, .. } = frame.submit_all(vec![open("first"), foreign]).unwrap_err();
    assert!(matches!(error, Error::Foreign { ref name } if name.as_str() == "foreign"), "{error}");
    assert_eq!((points[0] == SyncPoint::NONE, points[1]), (false, SyncPoint::NONE));
    frame.end().unwrap();
    assert_eq!((gpu.stats().open_recordings, other.stats().open_recordings), (0, 0));
    drop(buffer);
    end(gpu, &device);
}

/// Recordings whose memory is not resident together are submitted one after the other.
#[test]
fn recordings_that_fit_one_at_a_time_are_submitted_one_at_a_time() {
    const MIB: u64 = 1 << 20;
    for profile in [Profile::D3D12_TIER2, Profile::VULKAN_NVIDIA] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let desc = BufferDesc::new(64 * MIB, Usage::SHADER_READ | Usage::COPY_SRC).evictable();
        let buffers: Vec<_> = (0..6).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        gpu.wait(&gpu.submitted(), SECOND).unwrap();
        device.set_budget(0, 160 * MIB).unwrap();
        for _ in 0..3 {
            let passes = buffers.iter().map(|buffer| {
                let mut pass = gpu.record(Queue::Graphics, "pass").unwrap();
                pass.use_resource(buffer, ALL, State::NON_PIXEL_SHADER).unwrap();
                pass
            });
            let (points, _) = counted(&gpu, passes.collect());
            assert!(gpu.wait(&points[5], SECOND).unwrap());
        }
        drop(buffers);
        end(gpu, &device);
    }
}
