//! Automatic barriers: uses declared with `use_resource` take effect before the next command.

use tenure_core::{
    Buffer, BufferDesc, BufferLayout, Config, Format, Gpu, Plane, Queue, Recording, State, Subresource,
    Texture, TextureDesc, TextureRegion, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Step};

use super::{SECOND, end};
use test_random::Rng;

const SIZE: u64 = 4096;
const REGION: TextureRegion =
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 16, 1] };
const LAYOUT: BufferLayout = BufferLayout { offset: 0, row_pitch: 256, rows: 16 };

struct Scene {
    buffers: Vec<Buffer<Device>>,
    textures: Vec<Texture<Device>>,
}

impl Scene {
    fn new(gpu: &Gpu<Device>) -> Self {
        let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | Usage::COPY_SRC;
        let buffer = |index| {
            let desc = BufferDesc::new(SIZE, usage).name("buffer");
            gpu.create_buffer_with(&desc, &[index; SIZE as usize]).unwrap()
        };
        let desc =
            TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage | Usage::RENDER_TARGET | Usage::COPY_DST);
        let textures: Vec<_> =
            (0..2).map(|_| gpu.create_texture(&desc.clone().name("texture")).unwrap()).collect();
        let mut recording = gpu.record(Queue::Graphics, "clear").unwrap();
        for texture in &textures {
            recording.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
            recording.raw().clear_texture(texture.raw(), Subresource::All, &[7]);
        }
        recording.submit().unwrap();
        Self { buffers: (0..3).map(buffer).collect(), textures }
    }
}

/// Commands of one recording. With `ask`, `barriers` is called after the declared uses of each command.
fn record(recording: &mut Recording<Device>, queue: Queue, scene: &Scene, rng: &mut Rng, ask: bool) {
    let pick = |rng: &mut Rng, count: usize| usize::try_from(rng.below(count as u64)).unwrap();
    for _ in 0..1 + rng.below(8) {
        let first = pick(rng, scene.buffers.len());
        let (one, other) = (&scene.buffers[first], &scene.buffers[(first + 1) % scene.buffers.len()]);
        let texture = &scene.textures[pick(rng, scene.textures.len())];
        let kinds = if queue == Queue::Graphics { 8 } else { 6 };
        match rng.below(kinds) {
            // A dispatch that reads one and writes the other.
            0 | 1 => {
                recording.use_resource(one, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
                recording.use_resource(other, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                if ask {
                    recording.barriers();
                }
                recording.raw().use_buffer(one.raw(), one.offset(), SIZE, State::NON_PIXEL_SHADER);
                recording.raw().use_buffer(other.raw(), other.offset(), SIZE, State::UNORDERED_ACCESS);
            }
            2 => {
                recording.use_resource(texture, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                if ask {
                    recording.barriers();
                }
                let (commands, _) = recording.split();
                commands.raw().use_texture(texture.raw(), Subresource::All, State::UNORDERED_ACCESS);
            }
            3 => recording.copy_buffer(one, 0, other, 0, SIZE).unwrap(),
            4 => recording.copy_buffer_to_texture(one, LAYOUT, texture, REGION).unwrap(),
            5 => drop(recording.read_back(one, 0, SIZE).unwrap()),
            6 => {
                recording.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
                if ask {
                    recording.barriers();
                }
                recording.raw().clear_texture(texture.raw(), Subresource::All, &[9]);
            }
            _ => {
                let state = State::PIXEL_SHADER | State::NON_PIXEL_SHADER;
                recording.use_resource(texture, Subresource::One(0), state).unwrap();
                recording.use_resource(one, Subresource::All, State::PIXEL_SHADER).unwrap();
                if ask {
                    recording.barriers();
                }
                recording.raw().use_texture(texture.raw(), Subresource::All, state);
                recording.raw().use_buffer(one.raw(), one.offset(), SIZE, State::PIXEL_SHADER);
            }
        }
    }
}

/// All that queues execute for a random program.
fn run(profile: Profile, seed: u64, ask: bool) -> Vec<Step> {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).seed(seed).journal(true));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let scene = Scene::new(&gpu);
    let mut rng = Rng::new(seed);
    for _ in 0..10 {
        let queue = [Queue::Graphics, Queue::Compute][usize::try_from(rng.below(2)).unwrap()];
        let mut recording = gpu.record(queue, "random").unwrap();
        record(&mut recording, queue, &scene, &mut rng, ask);
        recording.submit().unwrap();
    }
    let readback = gpu.read_back(&scene.buffers[0], 0, 4).unwrap();
    assert_eq!(readback.wait(SECOND).unwrap().len(), 4);
    drop((scene, readback));
    let steps = device.take_journal();
    end(gpu, &device);
    steps
}

#[test]
fn automatic_barriers_equal_requested_barriers() {
    for &profile in Profile::ALL {
        for seed in 0..30 {
            assert_eq!(run(profile, seed, false), run(profile, seed, true), "{}, {seed}", profile.name());
        }
    }
}

/// Declared uses are not merged with those of the recording's own next command: the second is ordered after the
/// first.
#[test]
fn uses_declared_before_a_copy_are_not_lost() {
    for &profile in Profile::ALL {
        let device = super::device(profile, Lag::None);
        let gpu = super::gpu(&device, Config::default());
        let scene = Scene::new(&gpu);
        let [one, other, _] = scene.buffers.as_slice() else { unreachable!() };
        let mut recording = gpu.record(Queue::Graphics, "dispatches").unwrap();
        for _ in 0..3 {
            recording.use_resource(one, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            recording.raw().use_buffer(one.raw(), one.offset(), SIZE, State::UNORDERED_ACCESS);
            recording.copy_buffer(one, 0, other, 0, SIZE).unwrap();
            recording.use_resource(other, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
            recording.raw().use_buffer(other.raw(), other.offset(), SIZE, State::NON_PIXEL_SHADER);
        }
        recording.submit().unwrap();
        drop(scene);
        end(gpu, &device);
    }
}
