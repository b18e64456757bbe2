//! The function pointers that a program commonly loads.

use tenure_core::{BufferDesc, Format, Gpu, MemoryUse, TextureDesc, Usage};
use tenure_vulkan::Device;

/// Thousands of meshes, some textures, targets, upload and readback memory.
pub(crate) fn load(gpu: &Gpu<Device>) {
    let mut kept_buffers = Vec::new();
    let mut kept_textures = Vec::new();
    for index in 0..3000_u64 {
        let mesh = BufferDesc::new(1000 + index * 7 % 9000, Usage::VERTEX | Usage::INDEX);
        kept_buffers.push(gpu.create_buffer(&mesh).unwrap());
    }
    for size in [300, 70_000, 2 << 20] {
        for memory in [MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::Readback] {
            let usage = if memory == MemoryUse::Readback { Usage::COPY_DST } else { Usage::CONSTANT };
            kept_buffers.push(gpu.create_buffer(&BufferDesc::new(size, usage).memory(memory)).unwrap());
        }
        kept_buffers.push(gpu.create_buffer(&BufferDesc::new(size, Usage::UNORDERED_ACCESS)).unwrap());
    }
    for side in [16, 128, 512] {
        for format in [Format::Rgba8Unorm, Format::Bc7Unorm] {
            let desc = TextureDesc::d2(side, side, format, Usage::SHADER_READ).mips(3);
            kept_textures.push(gpu.create_texture(&desc).unwrap());
        }
    }
    for (format, usage) in
        [(Format::Rgba16Float, Usage::RENDER_TARGET), (Format::D32Float, Usage::DEPTH_STENCIL)]
    {
        let desc = TextureDesc::d2(1280, 720, format, usage | Usage::SHADER_READ);
        kept_textures.push(gpu.create_texture(&desc).unwrap());
    }
}
