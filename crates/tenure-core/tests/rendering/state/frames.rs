//! Ordinary programs, frame after frame, on every profile of the simulated device: not one hazard.

use tenure_core::{
    BufferDesc, Config, Format, Gpu, MemoryUse, Queue, Recording, State, Subresource, TextureDesc, Usage,
};
use tenure_sim::{Checks, Device, DeviceConfig, Lag, Profile};

const COLOUR: Usage = Usage::RENDER_TARGET
    .union(Usage::SHADER_READ)
    .union(Usage::UNORDERED_ACCESS)
    .union(Usage::COPY_SRC)
    .union(Usage::COPY_DST);
const DEPTH: Usage =
    Usage::DEPTH_STENCIL.union(Usage::SHADER_READ).union(Usage::COPY_SRC).union(Usage::COPY_DST);
const BUFFER: Usage =
    Usage::READ_ONLY.union(Usage::UNORDERED_ACCESS).union(Usage::COPY_DST).union(Usage::INDEX);

const TARGET: State = State::RENDER_TARGET;
const PIXEL: State = State::PIXEL_SHADER;
const OTHERS: State = State::NON_PIXEL_SHADER;
const ANY_SHADER: State = State::SHADER_READ;
const UNORDERED: State = State::UNORDERED_ACCESS;
const FROM: State = State::COPY_SRC;
const TO: State = State::COPY_DST;
const DEPTH_WRITE: State = State::DEPTH_WRITE;
const DEPTH_READ: State = State::DEPTH_READ;
const TESTED_AND_SAMPLED: State = State::DEPTH_READ.union(State::PIXEL_SHADER);

/// A recording: its queue and the uses, one command each.
type Pass = (Queue, &'static [State]);

const GRAPHICS: Queue = Queue::Graphics;
const COMPUTE: Queue = Queue::Compute;
const COPY: Queue = Queue::Copy;

/// The uses of one resource, submission after submission, repeated.
const OF_COLOURS: &[&[Pass]] = &[
    &[(GRAPHICS, &[TARGET, PIXEL, OTHERS]), (GRAPHICS, &[OTHERS, TARGET])],
    &[(GRAPHICS, &[TARGET, PIXEL]), (GRAPHICS, &[OTHERS]), (GRAPHICS, &[PIXEL])],
    &[(GRAPHICS, &[TARGET]), (GRAPHICS, &[PIXEL]), (GRAPHICS, &[OTHERS, PIXEL, TARGET, ANY_SHADER])],
    &[(GRAPHICS, &[TARGET, ANY_SHADER]), (COMPUTE, &[OTHERS]), (GRAPHICS, &[PIXEL])],
    &[(GRAPHICS, &[TARGET, PIXEL]), (COMPUTE, &[OTHERS, UNORDERED, OTHERS]), (GRAPHICS, &[ANY_SHADER])],
    &[(COMPUTE, &[UNORDERED, UNORDERED]), (GRAPHICS, &[PIXEL, FROM]), (COPY, &[FROM])],
    &[(COPY, &[TO]), (GRAPHICS, &[PIXEL, OTHERS]), (COMPUTE, &[OTHERS, FROM])],
    &[(COPY, &[TO, FROM]), (COMPUTE, &[OTHERS]), (COPY, &[FROM, TO]), (GRAPHICS, &[ANY_SHADER])],
    &[(GRAPHICS, &[UNORDERED, FROM, PIXEL]), (GRAPHICS, &[UNORDERED, UNORDERED, ANY_SHADER])],
    &[(GRAPHICS, &[TO, PIXEL]), (GRAPHICS, &[OTHERS, TO]), (GRAPHICS, &[FROM, PIXEL, TARGET])],
    &[(GRAPHICS, &[TARGET, FROM]), (COPY, &[FROM]), (GRAPHICS, &[FROM, TARGET])],
    &[(GRAPHICS, &[TARGET, TARGET]), (GRAPHICS, &[TARGET, PIXEL]), (GRAPHICS, &[PIXEL])],
];

const OF_DEPTHS: &[&[Pass]] = &[
    &[(GRAPHICS, &[DEPTH_WRITE, DEPTH_READ, PIXEL]), (GRAPHICS, &[PIXEL, DEPTH_WRITE])],
    &[(GRAPHICS, &[DEPTH_WRITE, TESTED_AND_SAMPLED, OTHERS]), (GRAPHICS, &[OTHERS, DEPTH_WRITE])],
    &[(GRAPHICS, &[DEPTH_WRITE, ANY_SHADER]), (COMPUTE, &[OTHERS]), (GRAPHICS, &[DEPTH_READ, PIXEL])],
    &[(GRAPHICS, &[DEPTH_WRITE]), (GRAPHICS, &[DEPTH_READ]), (GRAPHICS, &[TESTED_AND_SAMPLED, PIXEL])],
    &[(GRAPHICS, &[DEPTH_WRITE, PIXEL, FROM]), (COMPUTE, &[OTHERS, FROM]), (GRAPHICS, &[DEPTH_WRITE])],
];

const OF_BUFFERS: &[&[Pass]] = &[
    &[(COMPUTE, &[UNORDERED, UNORDERED, OTHERS]), (GRAPHICS, &[State::INDIRECT, PIXEL, OTHERS])],
    &[(COPY, &[TO]), (GRAPHICS, &[State::VERTEX_OR_CONSTANT, State::INDEX, PIXEL]), (COMPUTE, &[OTHERS])],
    &[(GRAPHICS, &[UNORDERED, FROM, PIXEL]), (GRAPHICS, &[State::INDEX]), (COMPUTE, &[UNORDERED])],
    &[(GRAPHICS, &[TO, OTHERS]), (COPY, &[FROM, TO]), (COMPUTE, &[FROM, UNORDERED]), (GRAPHICS, &[TO, TO])],
];

fn gpu(profile: Profile) -> (Device, Gpu<Device>) {
    let options = DeviceConfig::new(profile).lag(Lag::None).checks(Checks::all() - Checks::INITIALIZED);
    let device = Device::with_config(options);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    (device, gpu)
}

/// Runs a program three times, and returns the device's hazards.
fn run(
    profile: Profile,
    passes: &[Pass],
    make: impl FnOnce(&Gpu<Device>) -> Box<dyn Fn(&mut Recording<Device>, State)>,
) {
    let (device, gpu) = gpu(profile);
    let used = make(&gpu);
    for (queue, states) in passes.iter().cycle().take(3 * passes.len()) {
        let mut recording = gpu.record(*queue, "pass").unwrap();
        states.iter().for_each(|state| used(&mut recording, *state));
        recording.submit().unwrap();
    }
    drop(used);
    gpu.shutdown();
    drop(gpu);
    let found = device.take_hazards();
    assert!(found.is_empty(), "{}: {passes:?}: {}", profile.name(), found[0]);
}

#[test]
fn textures_of_ordinary_frames() {
    let colours = OF_COLOURS.iter().map(|passes| (*passes, Format::Rgba8Unorm, COLOUR));
    let depths = OF_DEPTHS.iter().map(|passes| (*passes, Format::D32Float, DEPTH));
    for (passes, format, usage) in colours.chain(depths) {
        for profile in Profile::ALL {
            // All mips at once, and mip by mip.
            for parts in [&[Subresource::All][..], &[Subresource::One(1), Subresource::One(0)]] {
                run(*profile, passes, |gpu| {
                    let desc = TextureDesc::d2(16, 16, format, usage).mips(2).name("target");
                    let texture = gpu.create_texture(&desc).unwrap();
                    Box::new(move |recording, state| {
                        for part in parts {
                            recording.use_resource(&texture, *part, state).unwrap();
                        }
                        recording.barriers();
                        for part in parts {
                            recording.raw().use_texture(texture.raw(), *part, state);
                        }
                    })
                });
            }
        }
    }
}

#[test]
fn buffers_of_ordinary_frames() {
    for (passes, profile) in
        OF_BUFFERS.iter().flat_map(|passes| Profile::ALL.iter().map(move |profile| (*passes, *profile)))
    {
        run(profile, passes, |gpu| {
            let desc = BufferDesc::new(4096, BUFFER).memory(MemoryUse::GpuOnly).name("buffer");
            let buffer = gpu.create_buffer(&desc).unwrap();
            Box::new(move |recording, state| {
                recording.use_resource(&buffer, Subresource::All, state).unwrap();
                recording.barriers();
                recording.raw().use_buffer(buffer.raw(), buffer.offset(), buffer.size(), state);
            })
        });
    }
}
