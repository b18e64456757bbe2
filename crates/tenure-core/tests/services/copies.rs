//! Copies of recordings, which wait for later copies to share barriers with, and uploads of whole textures.

use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, MemoryUse, Queue, State, Subresource, TexelData, TextureDesc,
    Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Step};
use test_random::Rng;

use super::{SECOND, device, end, finish, gpu};

const PROFILES: [Profile; 3] = [Profile::VULKAN_NVIDIA, Profile::DISCRETE, Profile::D3D12_ENHANCED];
const SIZE: u64 = 256;

/// Buffers of all kinds: ranges of shared API buffers, and API buffers of their own.
fn buffers(gpu: &Gpu<Device>) -> Vec<Buffer<Device>> {
    let copied = Usage::COPY_SRC | Usage::COPY_DST;
    let descs = [
        BufferDesc::new(SIZE, copied | Usage::VERTEX),
        BufferDesc::new(SIZE, copied | Usage::UNORDERED_ACCESS),
        BufferDesc::new(SIZE, copied | Usage::VERTEX).own_resource(),
    ];
    let all = descs.iter().flat_map(|desc| std::iter::repeat_n(desc, 3));
    let fill = |(number, desc)| gpu.create_buffer_with(desc, &[number; SIZE as usize]).unwrap();
    (1..).zip(all).map(fill).collect()
}

/// Random copies, many of them overlapping or reading bytes of an earlier one, give the bytes of copies one after the other.
#[test]
fn copies_that_wait_are_in_order() {
    for (profile, seed) in PROFILES.into_iter().zip(1..) {
        let device = device(profile, Lag::Random { max: 4 });
        let gpu = gpu(&device, Config::default());
        let buffers = buffers(&gpu);
        let mut model: Vec<_> = (1..).take(buffers.len()).map(|number| vec![number; SIZE as usize]).collect();
        let mut rng = Rng::new(seed);
        for _ in 0..60 {
            let queue = if rng.below(4) == 0 { Queue::Copy } else { Queue::Graphics };
            let mut recording = gpu.record(queue, "copies").unwrap();
            let mut results = Vec::new();
            for _ in 0..rng.below(20) {
                let [from, to] = [(); 2].map(|()| rng.below(buffers.len() as u64) as usize);
                let size = 1 + rng.below(64);
                let [start, end] = [(); 2].map(|()| rng.below(SIZE - size));
                let copied = recording.copy_buffer(&buffers[from], start, &buffers[to], end, size);
                if copied.is_ok() {
                    let bytes = model[from][start as usize..(start + size) as usize].to_vec();
                    model[to][end as usize..(end + size) as usize].copy_from_slice(&bytes);
                }
                if rng.below(8) == 0 {
                    let read = rng.below(buffers.len() as u64) as usize;
                    let readback = recording.read_back(&buffers[read], 0, SIZE).unwrap();
                    results.push((readback, model[read].clone()));
                }
                if queue == Queue::Graphics && rng.below(8) == 0 {
                    let used = &buffers[rng.below(3) as usize];
                    recording.use_resource(used, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
                    let list = recording.raw();
                    list.use_buffer(used.raw(), used.offset(), SIZE, State::VERTEX_OR_CONSTANT);
                }
            }
            recording.submit().unwrap();
            for (readback, expected) in results {
                assert_eq!(readback.wait(SECOND).unwrap(), expected, "{profile:?}");
            }
        }
        drop(buffers);
        end(gpu, &device);
    }
}

/// Copies that do not depend on each other share one group of barriers.
#[test]
fn copies_share_barriers() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None).journal(true));
    let gpu = gpu(&device, Config::default());
    let upload = BufferDesc::new(SIZE, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let source = gpu.create_buffer(&upload).unwrap();
    source.write(0, &[7; SIZE as usize]).unwrap();
    let storage = BufferDesc::new(SIZE, Usage::UNORDERED_ACCESS | Usage::COPY_DST | Usage::COPY_SRC);
    let [one, two] = [(); 2].map(|()| gpu.create_buffer(&storage).unwrap());
    let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
    for part in 0..4 {
        recording.copy_buffer(&source, 64 * part, &one, 64 * part, 64).unwrap();
        recording.copy_buffer(&source, 64 * part, &two, 64 * part, 64).unwrap();
    }
    recording.submit().unwrap();
    finish(&gpu);
    let transitions =
        |steps: &[Step]| steps.iter().filter(|step| matches!(step, Step::Transition { .. })).count();
    assert_eq!(transitions(&device.take_journal()), 0);
    let mut recording = gpu.record(Queue::Graphics, "overlapping").unwrap();
    recording.copy_buffer(&source, 0, &one, 0, 64).unwrap();
    recording.copy_buffer(&source, 0, &one, 63, 64).unwrap();
    recording.submit().unwrap();
    finish(&gpu);
    // After the recording before, and between the two.
    assert_eq!(transitions(&device.take_journal()), 2);
    drop((source, one, two));
    end(gpu, &device);
}

/// An upload of a whole texture of another queue family discards the old contents, and needs no transfer.
#[test]
fn whole_uploads_need_no_transfer() {
    let config = DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::None).journal(true);
    let device = Device::with_config(config);
    let gpu = gpu(&device, Config::default());
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET | Usage::COPY_SRC | Usage::COPY_DST;
    let texture = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
    for round in 1..5_u8 {
        let texels = [round; 16 * 16 * 4];
        gpu.upload_texture(&texture, texture.info().region(0, 0), TexelData::new(&texels)).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "reader").unwrap();
        let found = recording.read_back_texture(&texture, texture.info().region(0, 0)).unwrap();
        recording.use_resource(&texture, Subresource::All, State::PIXEL_SHADER).unwrap();
        recording.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
        recording.submit().unwrap();
        assert_eq!(found.wait(SECOND).unwrap(), texels);
        finish(&gpu);
        // The upload, its release to the graphics queue, the recording.
        let steps = device.take_journal();
        let submissions = steps.iter().filter(|step| matches!(step, Step::Submission { .. })).count();
        assert_eq!(submissions, 3, "{steps:?}");
    }
    drop(texture);
    end(gpu, &device);
}
