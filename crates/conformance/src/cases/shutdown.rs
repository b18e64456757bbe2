//! Shutdown.

use tenure_core::{BufferDesc, Format, ObjectKind, Queue, TextureDesc, Usage};

use crate::Harness;
use crate::bench::{Bench, no_problems};

/// The shutdown waits for work in flight, and frees objects whose handles were just dropped.
pub fn shutdown_is_clean<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for size in [100, 100_000, 20 << 20] {
        let buffer = bench.gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX)).unwrap();
        bench.upload(&buffer, 0, &[7; 50]);
    }
    bench.end();
}

/// Handles that are still alive are reported by name, stay usable, and free their memory when dropped.
pub fn leaks_are_named_and_still_released<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let desc = BufferDesc::new(100, Usage::VERTEX | Usage::COPY_SRC).name("forgotten rock");
    let rock = bench.gpu.create_buffer(&desc).unwrap();
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ).name("forgotten grass");
    let grass = bench.gpu.create_texture(&desc).unwrap();
    let staging = bench.staging(&[5; 100]);
    let recording = bench.gpu.record(Queue::Graphics, "forgotten recording").unwrap();
    let Bench { harness, gpu } = bench;
    let report = gpu.shutdown();
    drop(gpu);
    assert!(!report.is_clean());
    let leaks: Vec<_> = report.leaks.iter().map(|leak| (leak.name.as_str(), leak.kind)).collect();
    let expected = [
        ("forgotten grass", ObjectKind::Texture),
        ("forgotten rock", ObjectKind::Buffer),
        ("staging", ObjectKind::Buffer),
    ];
    assert_eq!(leaks, expected);
    assert_eq!(report.open_recordings, ["forgotten recording"]);
    staging.write(0, &[6; 100]).unwrap();
    drop(recording);
    drop((rock, grass, staging));
    no_problems(harness);
}
