//! Descriptions and configurations of any content: they are served or refused, and nothing is left.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use tenure_core::{
    AllocationFlags, BufferDesc, Config, DescriptorConfig, Format, FrameConfig, Gpu, MemoryUse, PoolConfig,
    StagingConfig, TextureDesc, TransientConfig, UploadConfig, Usage,
};
use tenure_sim::{Device, Profile};

/// A memory larger than any input should fill: bytes of one request that is carried out.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Arbitrary, Debug)]
struct RawBuffer {
    size: u64,
    usage: u32,
    memory: u8,
    stride: u32,
    alignment: u64,
    flags: u8,
    is_movable: bool,
    is_evictable: bool,
    has_own_resource: bool,
    name: String,
}

#[derive(Arbitrary, Debug)]
struct RawTexture {
    is_volume: bool,
    extent: [u32; 3],
    mips: u32,
    samples: u32,
    format: u8,
    usage: u32,
    flags: u8,
    is_movable: bool,
    is_evictable: bool,
}

impl RawBuffer {
    fn desc(&self) -> BufferDesc {
        let memory = MemoryUse::ALL[usize::from(self.memory) % MemoryUse::ALL.len()];
        let mut desc = BufferDesc::new(self.size, Usage::from_bits_truncate(self.usage as _))
            .memory(memory)
            .stride(self.stride)
            .alignment(self.alignment)
            .allocation(AllocationFlags::from_bits_truncate(self.flags))
            .name(self.name.clone());
        desc.is_movable = self.is_movable;
        desc.is_evictable = self.is_evictable;
        desc.own_resource = self.has_own_resource;
        desc
    }
}

impl RawTexture {
    fn desc(&self) -> TextureDesc {
        let [width, height, depth] = self.extent;
        let format = Format::ALL[usize::from(self.format) % Format::ALL.len()];
        let usage = Usage::from_bits_truncate(self.usage as _);
        let desc = match self.is_volume {
            true => TextureDesc::d3(width, height, depth, format, usage),
            false => TextureDesc::d2(width, height, format, usage).layers(depth),
        };
        let desc = desc
            .mips(self.mips)
            .samples(self.samples)
            .allocation(AllocationFlags::from_bits_truncate(self.flags));
        let desc = if self.is_movable { desc.movable() } else { desc };
        if self.is_evictable { desc.evictable() } else { desc }
    }
}

#[derive(Arbitrary, Debug)]
struct Descriptions {
    profile: u8,
    buffers: Vec<RawBuffer>,
    textures: Vec<RawTexture>,
}

/// Buffers and textures of any description.
pub(crate) fn descriptions(data: &[u8]) {
    let Ok(input) = Descriptions::arbitrary_take_rest(Unstructured::new(data)) else { return };
    let device = Device::new(Profile::ALL[usize::from(input.profile) % Profile::ALL.len()]);
    let gpu = Gpu::new(device, Config::default()).expect("the default configuration is valid");
    for raw in input.buffers.iter().take(16) {
        let desc = raw.desc();
        let cost = gpu.buffer_cost(&desc);
        if desc.size <= MOST_BYTES
            && let Ok(buffer) = gpu.create_buffer(&desc)
        {
            assert_eq!(buffer.size(), desc.size);
            assert!(cost.is_ok(), "{desc:?} was created, and its cost is {cost:?}");
        }
    }
    for raw in input.textures.iter().take(16) {
        let desc = raw.desc();
        let cost = gpu.texture_cost(&desc);
        if cost.as_ref().is_ok_and(|cost| cost.size <= MOST_BYTES)
            && let Ok(texture) = gpu.create_texture(&desc)
        {
            assert_eq!(texture.info().mips, desc.info.mips);
        }
    }
    end(gpu);
}

fn end(gpu: Gpu<Device>) {
    let device = gpu.device().clone();
    let report = gpu.shutdown();
    assert!(report.is_clean(), "{report:?}");
    drop(gpu);
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
}

#[derive(Arbitrary, Debug)]
struct RawConfig {
    profile: u8,
    in_flight: u32,
    idle: u32,
    pools: [u64; 5],
    shards: u32,
    uploads: [u64; 3],
    staging: [u64; 5],
    descriptors: [Option<u32>; 4],
    chunks: [u32; 3],
    transient: [u64; 2],
    latency: u32,
}

impl RawConfig {
    fn config(&self) -> Config {
        let [small_buffer_slot, min_block, max_buffer_block, max_texture_block, max_pooled_buffer] =
            self.pools;
        let [max_small, max_pooled, max_block] = self.uploads;
        let [constant_page, upload_page, readback_page, build_scratch_page, max_pending] = self.staging;
        let [static_resources, dynamic_resources, static_samplers, dynamic_samplers] = self.descriptors;
        let [chunk, block, set_pool] = self.chunks;
        let [heap, improvement] = self.transient;
        Config::default()
            .frames(
                FrameConfig::default()
                    .in_flight(self.in_flight)
                    .idle(self.idle)
                    .timeout(Duration::from_secs(1)),
            )
            .pools(
                PoolConfig::default()
                    .small_buffer_slot(small_buffer_slot)
                    .min_block(min_block)
                    .max_buffer_block(max_buffer_block)
                    .max_texture_block(max_texture_block)
                    .max_pooled_buffer(max_pooled_buffer)
                    .shards(self.shards),
            )
            .uploads(UploadConfig::default().max_small(max_small).max_pooled(max_pooled).max_block(max_block))
            .staging(
                StagingConfig::default()
                    .constant_page(constant_page)
                    .upload_page(upload_page)
                    .readback_page(readback_page)
                    .build_scratch_page(build_scratch_page)
                    .max_pending(max_pending),
            )
            .descriptors(
                DescriptorConfig::default()
                    .static_resources(static_resources)
                    .dynamic_resources(dynamic_resources)
                    .static_samplers(static_samplers)
                    .dynamic_samplers(dynamic_samplers)
                    .chunk(chunk)
                    .block(block)
                    .set_pool(set_pool),
            )
            .transient(TransientConfig::default().heap(heap).improvement(improvement).latency(self.latency))
    }
}

/// A configuration of any numbers: it is refused, or a manager works with it.
pub(crate) fn config(data: &[u8]) {
    let Ok(raw) = RawConfig::arbitrary_take_rest(Unstructured::new(data)) else { return };
    let device = Device::new(Profile::ALL[usize::from(raw.profile) % Profile::ALL.len()]);
    let config = raw.config();
    let is_valid = config.validate().is_ok();
    match Gpu::new(device, config) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(gpu) => {
            assert!(is_valid, "a configuration that is not valid makes a manager: {raw:?}");
            let desc = BufferDesc::new(1000, Usage::SHADER_READ | Usage::COPY_SRC);
            let buffer = gpu.create_buffer_with(&desc, &[7; 1000]).expect("memory is there");
            let read = gpu.read_back(&buffer, 0, 1000).expect("memory is there");
            assert_eq!(read.wait(Duration::from_secs(5)).expect("the GPU finishes"), [7; 1000]);
            drop((buffer, read));
            end(gpu);
        }
    }
}
