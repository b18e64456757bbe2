//! The API's handles of a manager's objects.

use conformance::Harness as _;
use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorSetDesc, Format, Gpu, Queue, SamplerDesc,
    SetBinding, SetDescriptor, SetLayoutDesc, TextureAccess, TextureDesc, TextureViewDesc, Usage,
};
use tenure_vulkan::ash::vk::{self, Handle as _};
use tenure_vulkan::{Device, DeviceConfig, RawHandle as _, RawView as _};

use crate::disguise::Costume;
use crate::harness::Vulkan;

#[test]
fn handles_of_the_api_are_returned_in_one_call() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET;
    let texture = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
    for access in [TextureAccess::Sampled, TextureAccess::RenderTarget] {
        let view = gpu.create_texture_view(&texture, &TextureViewDesc::new(access)).unwrap();
        assert_eq!(Some(view.image_view()), view.heap().image_view(view.index()));
        assert!(!view.image_view().is_null() && view.buffer_view().is_null());
        assert!(view.buffer_info().buffer.is_null());
    }
    let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::SHADER_READ)).unwrap();
    let typed = gpu.create_buffer_view(&buffer, &BufferViewDesc::typed(Format::Rgba8Unorm)).unwrap();
    assert!(!typed.buffer_view().is_null() && typed.image_view().is_null());
    let raw = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw().range(256, 512)).unwrap();
    let info = raw.buffer_info();
    assert_eq!((info.offset, info.range), (buffer.offset() + 256, 512));
    assert!(!info.buffer.is_null() && raw.buffer_view().is_null());

    let binding = |binding, kind| SetBinding { binding, kind, count: 1 };
    let sampler = gpu.create_sampler(&SamplerDesc::default()).unwrap();
    assert_ne!(sampler.raw(), vk::Sampler::null());
    let bindings = [binding(0, BindingKind::Buffer), binding(1, BindingKind::Sampler)];
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings)).unwrap();
    let binds = [SetDescriptor::new(0, &raw), SetDescriptor::new(1, &sampler)];
    let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
    assert_eq!(Some(set.raw()), set.block().set(set.index()));
    let mut recording = gpu.record(Queue::Graphics, "sets").unwrap();
    let of_recording = recording.split().1.set(&layout, &binds).unwrap().raw();
    assert!(!of_recording.is_null() && of_recording != set.raw());
    drop((recording, set, layout, sampler, raw, typed, buffer, texture));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
