//! GPU writes to CPU-readable memory are made visible to the CPU: once a submission, and only then.

use std::collections::BTreeSet;

use tenure_core::device::{Api, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, InPlaceConfig, MemoryUse, Queue, Recording, State,
    Subresource, Texture, TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Step};

use super::in_place::staged;
use super::{SECOND, end, finish};
use test_random::Rng;

const SIZE: u64 = 2048;
const USAGE: Usage = Usage::UNORDERED_ACCESS.union(Usage::SHADER_READ).union(Usage::COPY_SRC);
const WRITES: State = State::WRITES;

struct Scene {
    /// Of all kinds of memory.
    buffers: Vec<Buffer<Device>>,
    texture: Texture<Device>,
    /// API resources that the CPU neither maps nor writes in place.
    unmapped: BTreeSet<u64>,
}

impl Scene {
    fn new(gpu: &Gpu<Device>) -> Self {
        let buffers: Vec<_> = MemoryUse::ALL
            .into_iter()
            .chain([MemoryUse::GpuOnly])
            .map(|memory| {
                // Readback memory, and upload memory on Direct3D 12, takes no shader writes.
                let usage = if memory == MemoryUse::GpuOnly { USAGE } else { Usage::COPY_SRC };
                let desc = BufferDesc::new(SIZE, usage).memory(memory).name("buffer");
                gpu.create_buffer_with(&desc, &[1; SIZE as usize]).unwrap()
            })
            .collect();
        let usage = USAGE | Usage::COPY_DST;
        let texture = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage).name("texture");
        let texture = gpu.create_texture(&texture).unwrap();
        let is_reached = gpu.upload_stats().in_place > 0;
        let only = buffers.iter().filter(|buffer| !is_reached && buffer.memory() == MemoryUse::GpuOnly);
        let unmapped = only.map(|buffer| buffer.raw().number()).chain([texture.raw().number()]).collect();
        Self { buffers, texture, unmapped }
    }

    fn shade(&self, recording: &mut Recording<Device>, buffer: &Buffer<Device>) {
        if buffer.usage().contains(Usage::UNORDERED_ACCESS) {
            recording.use_resource(buffer, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            recording.raw().use_buffer(buffer.raw(), buffer.offset(), SIZE, State::UNORDERED_ACCESS);
        }
        recording.use_resource(&self.texture, Subresource::All, State::UNORDERED_ACCESS).unwrap();
        recording.raw().use_texture(self.texture.raw(), Subresource::All, State::UNORDERED_ACCESS);
    }
}

/// Commands of one recording. Uploads and readbacks are among them.
fn record(gpu: &Gpu<Device>, recording: &mut Recording<Device>, scene: &Scene, rng: &mut Rng) {
    let count = scene.buffers.len() as u64;
    for _ in 0..rng.below(4) {
        let [one, other] =
            [rng.below(count), rng.below(count)].map(|index| &scene.buffers[usize::try_from(index).unwrap()]);
        let copied = match rng.below(5) {
            0 => recording.copy_buffer(one, 0, other, 0, SIZE),
            1 => recording.read_back(one, 0, SIZE).map(drop),
            2 => gpu.upload(one, 0, &[2; SIZE as usize]).map(drop),
            _ => {
                scene.shade(recording, one);
                Ok(())
            }
        };
        // Heaps of Direct3D 12 with fixed states; both in one API buffer.
        let is_refused = matches!(copied, Ok(()) | Err(Error::FixedState { .. } | Error::Device { .. }));
        assert!(is_refused, "{copied:?}");
    }
}

/// Checks each submission against its writes.
fn check(steps: &[Step], unmapped: &BTreeSet<u64>, has_barriers: bool) -> u32 {
    let mut shown = 0;
    for submission in steps.split(|step| matches!(step, Step::Submission { .. })) {
        let written = submission.iter().filter_map(|step| match step {
            Step::Use { resource, state, .. } if !unmapped.contains(resource) => Some(*state & WRITES),
            _ => None,
        });
        let written = written.fold(State::COMMON, State::union);
        let barriers: Vec<_> =
            submission.iter().filter(|step| matches!(step, Step::MakeVisible { .. })).collect();
        if written.is_empty() || !has_barriers {
            assert_eq!(barriers, Vec::<&Step>::new(), "{submission:?}");
        } else {
            assert_eq!(barriers, [&Step::MakeVisible { written }], "{submission:?}");
            assert_eq!(submission.last(), Some(&Step::MakeVisible { written }), "after all that it is for");
            shown += 1;
        }
    }
    shown
}

#[test]
fn only_memory_that_the_cpu_reads_is_made_visible_to_it() {
    let roads = [staged(), InPlaceConfig::default()];
    for (&profile, in_place) in
        Profile::ALL.iter().flat_map(|profile| roads.clone().map(|road| (profile, road)))
    {
        let mut shown = 0;
        for seed in 0..20 {
            let device =
                Device::with_config(DeviceConfig::new(profile).lag(Lag::None).seed(seed).journal(true));
            let gpu = Gpu::new(device.clone(), Config::from(in_place.clone())).unwrap();
            let scene = Scene::new(&gpu);
            let mut rng = Rng::new(seed);
            for _ in 0..12 {
                let queue = if rng.below(2) == 0 { Queue::Graphics } else { Queue::Compute };
                let mut recording = gpu.record(queue, "random").unwrap();
                record(&gpu, &mut recording, &scene, &mut rng);
                recording.submit().unwrap();
            }
            finish(&gpu);
            // The device reports other violations.
            for buffer in scene.buffers.iter().filter(|buffer| buffer.memory().is_mapped()) {
                buffer.read(0, &mut [0; SIZE as usize]).unwrap();
            }
            let readback = gpu.read_back(&scene.buffers[0], 0, SIZE).unwrap();
            readback.wait(SECOND).unwrap();
            let has_barriers = device.properties().api == Api::Vulkan;
            shown += check(&device.take_journal(), &scene.unmapped, has_barriers);
            drop((scene, readback));
            end(gpu, &device);
        }
        assert!(shown > 50 || profile.name().starts_with("d3d12"), "{}: {shown}", profile.name());
    }
}
