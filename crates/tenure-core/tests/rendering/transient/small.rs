//! Small programs stay small: reserved bytes follow the requests.

use tenure_core::device::{ResourceDesc, prelude::*};
use tenure_core::{BufferDesc, Config, Queue, TextureDesc, TransientConfig, Usage};
use tenure_sim::Device;

use super::{MIB, PROFILES, clear, device, fill, finish, gpu, gpu_with, sample, storage, target};

/// The device's size of a texture, in bytes.
fn needed(device: &Device, desc: &TextureDesc) -> u64 {
    device.requirements(&ResourceDesc::Texture(desc.info.clone())).unwrap().size
}

/// A triangle, a texture, a target that lives for a pass, constants, an upload and a readback.
#[test]
fn a_program_with_one_triangle_reserves_little() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let usage = Usage::VERTEX | Usage::COPY_DST | Usage::COPY_SRC;
        let triangle = gpu.create_buffer(&BufferDesc::new(36, usage).name("triangle")).unwrap();
        let texture = gpu.create_texture(&target(256, "texture")).unwrap();
        let own = 36 + needed(&device, &target(256, "texture")) + needed(&device, &target(512, "scene"));
        for number in 0..40 {
            let frame = gpu.begin_frame().unwrap();
            gpu.upload(&triangle, 0, &[number; 36]).unwrap();
            let mut list = frame.record(Queue::Graphics, "frame").unwrap();
            let scene = list.transient_texture(&target(512, "scene")).unwrap();
            clear(&mut list, &scene, number);
            sample(&mut list, &scene, number);
            list.split().1.constant_bytes(&[number; 64]).unwrap();
            drop(scene);
            frame.submit(list).unwrap();
            drop(gpu.read_back(&triangle, 0, 36));
            frame.end().unwrap();
            let besides = gpu.stats().reserved - own;
            assert!(besides <= 4 * MIB, "{profile:?}, frame {number}: {besides} B");
        }
        drop((triangle, texture));
        finish(&device, gpu);
    }
}

/// Heaps without a graph grow by half of their total, from 1 MiB to the configured maximum.
#[test]
fn heaps_grow_with_acquired_resources() {
    let device = device(tenure_sim::Profile::DISCRETE);
    let config = TransientConfig::default().heap(16 * MIB);
    let gpu = gpu_with(&device, Config::from(config));
    let mut list = gpu.record(Queue::Graphics, "many").unwrap();
    let mut kept = Vec::new();
    for number in 1..=100 {
        let buffer = list.transient_buffer(&storage(MIB, "buffer")).unwrap();
        fill(&mut list, &buffer, number);
        kept.push(buffer);
        let stats = gpu.stats().transient;
        let live = u64::from(number) * MIB;
        assert!(stats.reserved <= live + live / 2 && stats.reserved <= live + 16 * MIB, "{stats:?}");
    }
    let stats = gpu.stats().transient;
    assert!(stats.heaps_created <= 16, "{stats:?}");
    drop((kept, list));
    finish(&device, gpu);
}
