//! Resources that commands only read: no recording names them.

use tenure_core::device::Device as _;
use tenure_core::state::StateError;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, MemoryUse, Queue, QueueKind, Recording, State,
    Subresource, TexelData, Texture, TextureDesc, Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{device, end, gpu};

const READS: State = State::SHADER_READ;

fn grass() -> TextureDesc {
    TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::SHADER_READ).mips(2).name("grass").read_only(READS)
}

fn rock() -> BufferDesc {
    let usage = Usage::VERTEX | Usage::INDEX | Usage::SHADER_READ;
    BufferDesc::new(4000, usage).name("rock").read_only(State::VERTEX_OR_CONSTANT | State::INDEX | READS)
}

fn texels(byte: u8, mip: u32) -> Vec<u8> {
    vec![byte; (32 * 32 * 4) >> (2 * mip)]
}

fn filled(gpu: &Gpu<Device>, byte: u8) -> Texture<Device> {
    let (first, second) = (texels(byte, 0), texels(byte, 1));
    gpu.create_texture_with(&grass(), &[TexelData::new(&first), TexelData::new(&second)]).unwrap()
}

/// The shader reads of a kind of queue.
pub(super) fn shader_reads(gpu: &Gpu<Device>, recording: &Recording<Device>) -> State {
    let queues = &gpu.device().properties().queues;
    match queues[recording.queue().index()].kind {
        QueueKind::Graphics => State::SHADER_READ,
        _ => State::NON_PIXEL_SHADER,
    }
}

/// Commands that use the texture and the buffer without naming them.
pub(super) fn read(gpu: &Gpu<Device>, recording: &mut Recording<Device>, textures: &[&Texture<Device>]) {
    let state = shader_reads(gpu, recording);
    for texture in textures {
        let (commands, scratch) = recording.split();
        let object = scratch.texture(texture).unwrap();
        commands.raw().use_texture(object, Subresource::All, state);
    }
}

fn read_bytes(recording: &mut Recording<Device>, buffer: &Buffer<Device>, bytes: &[u8]) {
    let (commands, scratch) = recording.split();
    let place = scratch.buffer(buffer).unwrap();
    let list = commands.raw();
    list.use_buffer(place.raw(), place.offset(), bytes.len() as u64, State::NON_PIXEL_SHADER);
    list.expect_bytes(place.raw(), place.offset(), bytes);
}

pub(super) fn submit_reads(gpu: &Gpu<Device>, queue: Queue, textures: &[&Texture<Device>]) {
    let mut recording = gpu.record(queue, "reads").unwrap();
    read(gpu, &mut recording, textures);
    recording.submit().unwrap();
}

pub(super) const QUEUES: [Queue; 2] = [Queue::Graphics, Queue::Compute];

#[test]
fn no_recording_names_a_texture_or_a_buffer_after_its_upload() {
    for profile in Profile::ALL {
        for order in [[0, 1], [1, 0]] {
            let device = device(*profile, Lag::Submissions(3));
            let gpu = gpu(&device, Config::default());
            let mut open = gpu.record(QUEUES[order[1]], "open before").unwrap();
            let texture = filled(&gpu, 1);
            let buffer = gpu.create_buffer(&rock()).unwrap();
            gpu.upload(&buffer, 0, &[2; 2000]).unwrap();
            gpu.upload(&buffer, 2000, &[3; 2000]).unwrap();
            let bytes = [[2; 2000], [3; 2000]].concat();
            for index in order {
                let mut recording = gpu.record(QUEUES[index], "reads").unwrap();
                read(&gpu, &mut recording, &[&texture]);
                read_bytes(&mut recording, &buffer, &bytes);
                recording.submit().unwrap();
            }
            read(&gpu, &mut open, &[&texture]);
            read_bytes(&mut open, &buffer, &bytes);
            open.submit().unwrap();
            drop((texture, buffer));
            end(gpu, &device);
        }
    }
}

/// Without the declaration, the same commands are a hazard: the checks of the device see these uses.
#[test]
fn a_missing_declaration_is_a_missing_barrier() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::VULKAN_INTEL, Profile::D3D12_ENHANCED] {
        let device = device(profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let desc = grass().read_only(State::empty());
        let texture = gpu.create_texture(&desc).unwrap();
        for mip in 0..2 {
            gpu.upload_texture(&texture, texture.info().region(mip, 0), TexelData::new(&texels(1, mip)))
                .unwrap();
        }
        submit_reads(&gpu, Queue::Graphics, &[&texture]);
        assert!(device.run_until_idle());
        assert!(!device.take_hazards().is_empty(), "{profile:?}");
    }
}

#[test]
fn a_declared_read_costs_no_state_and_other_uses_are_refused() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let (texture, buffer) = (filled(&gpu, 1), gpu.create_buffer_with(&rock(), &[4; 4000]).unwrap());
        gpu.flush_uploads().unwrap();
        let mut recording = gpu.record(Queue::Graphics, "reads").unwrap();
        recording.use_resource(&texture, Subresource::All, State::PIXEL_SHADER).unwrap();
        recording.use_resource(&buffer, Subresource::All, State::INDEX).unwrap();
        read(&gpu, &mut recording, &[&texture]);
        let state = State::COPY_DST;
        let error = recording.use_resource(&texture, Subresource::One(1), state).unwrap_err();
        let Error::State { name, source } = error else { panic!("{error}") };
        assert_eq!(name.as_str(), "grass");
        assert_eq!(source, StateError::ReadOnly { state, allowed: READS });
        let error = recording.use_resource(&texture, Subresource::One(2), State::PIXEL_SHADER).unwrap_err();
        assert!(matches!(error, Error::State { source: StateError::OutOfRange { .. }, .. }), "{error}");
        let error = recording.copy_buffer(&buffer, 0, &buffer, 2000, 8).unwrap_err();
        assert!(matches!(error, Error::State { .. } | Error::Device { .. }), "{error}");
        recording.submit().unwrap();
        drop((texture, buffer));
        end(gpu, &device);
    }
}

#[test]
fn a_texture_that_commands_wrote_becomes_read_only() {
    for profile in Profile::ALL {
        for (usage, state) in
            [(Usage::RENDER_TARGET, State::RENDER_TARGET), (Usage::UNORDERED_ACCESS, State::UNORDERED_ACCESS)]
        {
            let device = device(*profile, Lag::Submissions(3));
            let gpu = gpu(&device, Config::default());
            let usage = usage | Usage::SHADER_READ | Usage::ALL_QUEUES;
            let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(3).name("probe");
            let probe = gpu.create_texture(&desc).unwrap();
            for mip in 0..3 {
                let mut recording = gpu.record(Queue::Graphics, "capture").unwrap();
                recording.use_resource(&probe, Subresource::One(mip), state).unwrap();
                recording.raw().use_texture(probe.raw(), Subresource::One(mip), state);
                recording.submit().unwrap();
            }
            let mut late = gpu.record(Queue::Graphics, "late").unwrap();
            late.use_resource(&probe, Subresource::One(0), state).unwrap();
            let mut early_reads = gpu.record(Queue::Graphics, "early reads").unwrap();
            early_reads.use_resource(&probe, Subresource::All, State::PIXEL_SHADER).unwrap();
            early_reads.raw().use_texture(probe.raw(), Subresource::All, State::PIXEL_SHADER);

            gpu.make_read_only(&probe, READS).unwrap();
            gpu.make_read_only(&probe, READS).unwrap();
            let error = gpu.make_read_only(&probe, State::PIXEL_SHADER).unwrap_err();
            assert!(matches!(error, Error::State { source: StateError::ReadOnly { .. }, .. }), "{error}");
            for queue in QUEUES {
                submit_reads(&gpu, queue, &[&probe]);
            }
            early_reads.submit().unwrap();
            let error = late.submit().unwrap_err();
            assert!(matches!(error, Error::State { source: StateError::ReadOnly { .. }, .. }), "{error}");
            submit_reads(&gpu, Queue::Graphics, &[&probe]);
            drop(probe);
            end(gpu, &device);
        }
    }
}

#[test]
fn a_texture_of_one_queue_family_is_read_there_alone() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::Submissions(3));
    let gpu = gpu(&device, Config::default());
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let probe = gpu.create_texture(&TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "capture").unwrap();
    recording.use_resource(&probe, Subresource::All, State::RENDER_TARGET).unwrap();
    recording.raw().use_texture(probe.raw(), Subresource::All, State::RENDER_TARGET);
    recording.submit().unwrap();
    gpu.make_read_only(&probe, READS).unwrap();
    let mut recording = gpu.record(Queue::Compute, "reads").unwrap();
    let error = recording.use_resource(&probe, Subresource::All, State::NON_PIXEL_SHADER).unwrap_err();
    let source = StateError::NotReadOnQueue { allowed: READS, kind: QueueKind::Compute };
    assert!(matches!(error, Error::State { source: found, .. } if found == source), "{error}");
    recording.submit().unwrap();
    submit_reads(&gpu, Queue::Graphics, &[&probe]);
    drop(probe);
    end(gpu, &device);
}

/// Depth that is tested and sampled has one layout.
#[test]
fn depth_is_read_only_in_both_states() {
    let states = State::DEPTH_READ | State::PIXEL_SHADER;
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
        let desc = TextureDesc::d2(32, 32, Format::D32Float, usage).name("shadow");
        let shadow = gpu.create_texture(&desc).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "casters").unwrap();
        recording.use_resource(&shadow, Subresource::All, State::DEPTH_WRITE).unwrap();
        recording.raw().use_texture(shadow.raw(), Subresource::All, State::DEPTH_WRITE);
        recording.submit().unwrap();
        gpu.make_read_only(&shadow, states).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "scene").unwrap();
        recording.raw().use_texture(shadow.raw(), Subresource::All, states);
        recording.use_resource(&shadow, Subresource::All, State::DEPTH_READ).unwrap();
        recording.submit().unwrap();
        drop(shadow);
        end(gpu, &device);
    }
}

#[test]
fn resources_that_others_write_cannot_be_read_only() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let refused = |error: Error| match error {
            Error::State { source: StateError::CannotBeReadOnly { rule, .. }, .. } => rule,
            error => panic!("{error}"),
        };
        let evictable = refused(gpu.create_texture(&grass().evictable()).unwrap_err());
        assert!(evictable.contains("evictable"), "{evictable}");
        let mapped = refused(gpu.create_buffer(&rock().memory(MemoryUse::Upload)).unwrap_err());
        assert!(mapped.contains("the CPU writes"), "{mapped}");
        let written = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::UNORDERED_ACCESS);
        let error = gpu.create_texture(&written.read_only(State::UNORDERED_ACCESS)).unwrap_err();
        assert!(refused(error).contains("read states"));
        let range = gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX)).unwrap();
        let rule = refused(gpu.make_read_only(&range, State::VERTEX_OR_CONSTANT).unwrap_err());
        assert!(rule.contains("own_resource"), "{rule}");
        let recording = gpu.record(Queue::Graphics, "transient").unwrap();
        assert!(refused(recording.transient_texture(&grass()).unwrap_err()).contains("over time"));
        drop(recording);
        let error = gpu.create_texture(&grass().read_only(State::DEPTH_READ)).unwrap_err();
        assert!(
            matches!(error, Error::State { source: StateError::NotAllowedForUsage { .. }, .. }),
            "{error}"
        );
        let both = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
        let both = gpu.create_texture(&both.read_only(State::COPY_SRC | READS));
        let is_vulkan = gpu.device().properties().api == tenure_core::device::Api::Vulkan;
        assert_eq!(both.is_err(), is_vulkan);
        drop((both, range));
        end(gpu, &device);
    }
}
