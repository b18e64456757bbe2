//! Barriers to the host: once a submission, and only where mapped memory was written.

use conformance::Harness as _;
use tenure_core::{
    BufferDesc, Config, Format, Gpu, InPlaceConfig, MemoryUse, Queue, State, Subresource, TexelData,
    TextureDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig};

use crate::basics::{COPIES, LONG};
use crate::disguise::Costume;
use crate::disguise::barriers::Scopes;
use crate::harness::Vulkan;

/// The barriers to the host since the last call.
fn to_host(vulkan: &Vulkan) -> Vec<Scopes> {
    let calls = vulkan.disguise().take_barriers();
    let memory = calls.into_iter().flat_map(|call| call.memory);
    memory.filter(|[_, (stages, _)]| stages.contains(vk::PipelineStageFlags2::HOST)).collect()
}

/// Writes of copies, for the host.
fn copied() -> Scopes {
    let from = (vk::PipelineStageFlags2::TRANSFER, vk::AccessFlags2::TRANSFER_WRITE);
    [from, (vk::PipelineStageFlags2::HOST, vk::AccessFlags2::HOST_READ)]
}

/// A configuration in which only memory that the program requested as mapped is mapped.
fn staged() -> Config {
    InPlaceConfig::default().initial_data(false).uploads(false).into()
}

#[test]
fn only_memory_that_the_host_reads_is_made_visible_to_it() {
    let types = crate::harness::memory_types();
    let costumes = [Costume::plain(), Costume::discrete()];
    for costume in costumes.into_iter().filter(|costume| costume.fits(types)) {
        let vulkan = Vulkan::disguised(costume, &DeviceConfig::default());
        let gpu: Gpu<Device> = Gpu::new(vulkan.device(), staged()).unwrap();
        let mesh = |_| {
            gpu.create_buffer_with(&BufferDesc::new(4096, Usage::VERTEX | COPIES).own_resource(), &[5; 4096])
                .unwrap()
        };
        let (meshes, texture) = ([0, 1].map(mesh), TextureDesc::d2(16, 16, Format::Rgba8Unorm, COPIES));
        let texture = gpu.create_texture_with(&texture, &[TexelData::new(&[9; 1024])]).unwrap();
        let results = BufferDesc::new(4096, Usage::COPY_SRC).memory(MemoryUse::Readback);
        let results = gpu.create_buffer(&results).unwrap();
        gpu.flush_uploads().unwrap();
        assert_eq!(to_host(&vulkan), Vec::<Scopes>::new(), "uploads to memory that nobody maps");

        // A list that was lent, with barriers in front of it, for a texture that a copy queue had.
        let mut recording = gpu.record(Queue::Graphics, "draws").unwrap();
        recording.use_resource(&texture, Subresource::All, State::COPY_SRC).unwrap();
        recording.use_resource(&meshes[0], Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
        assert_ne!(recording.raw().command_buffer(), vk::CommandBuffer::null());
        recording.copy_buffer(&meshes[1], 0, &meshes[0], 0, 4096).unwrap();
        recording.submit().unwrap();
        assert_eq!(to_host(&vulkan), Vec::<Scopes>::new(), "nothing that the CPU reads");

        let mut recording = gpu.record(Queue::Graphics, "results").unwrap();
        recording.copy_buffer(&meshes[0], 0, &results, 0, 2048).unwrap();
        let texels = recording.read_back(&meshes[1], 0, 64).unwrap();
        recording.copy_buffer(&meshes[0], 2048, &results, 2048, 2048).unwrap();
        recording.submit().unwrap();
        assert_eq!(to_host(&vulkan), [copied()], "once for all");
        assert_eq!(texels.wait(LONG).unwrap(), [5; 64]);

        // Writes noted in a recording are made visible, whatever code records them.
        let mut recording = gpu.record(Queue::Graphics, "lent").unwrap();
        recording.use_resource(&results, Subresource::All, State::COPY_DST).unwrap();
        assert_ne!(recording.raw().command_buffer(), vk::CommandBuffer::null());
        recording.submit().unwrap();
        assert_eq!(to_host(&vulkan), [copied()]);
        drop((meshes, texture, results, texels));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        vulkan.end();
    }
}

/// The CPU writes a buffer in place after the GPU has: that write has to be there first.
#[test]
fn gpu_writes_are_made_visible_before_writes_in_place() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let desc = BufferDesc::new(4096, Usage::VERTEX | COPIES).own_resource();
    let meshes = [1, 2].map(|value| gpu.create_buffer_with(&desc, &[value; 4096]).unwrap());
    let in_place = gpu.upload_stats().in_place;
    assert!(in_place == 0 || in_place == 2, "{in_place}: both or neither");
    gpu.flush_uploads().unwrap();
    vulkan.disguise().take_barriers();
    let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
    recording.copy_buffer(&meshes[0], 0, &meshes[1], 0, 2048).unwrap();
    let point = recording.submit().unwrap();
    let told = if in_place == 0 { vec![] } else { vec![copied()] };
    assert_eq!(to_host(&vulkan), told);
    assert!(gpu.wait(&point, LONG).unwrap());
    gpu.upload(&meshes[1], 0, &[3; 64]).unwrap();
    let found = gpu.read_back(&meshes[1], 0, 4096).unwrap().wait(LONG).unwrap();
    assert_eq!(
        (&found[..64], &found[64..2048], &found[2048..]),
        (&[3; 64][..], &[1; 1984][..], &[2; 2048][..])
    );
    drop(meshes);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
