//! Frames: the number in flight, and the memory that is freed at the end of a frame.

use std::time::Duration;

use tenure_core::{BufferDesc, Config, Error, Format, FrameConfig, MemoryUse, Queue, TextureDesc, Usage};

use crate::Harness;
use crate::bench::Bench;

fn frame<H: Harness>(bench: &Bench<'_, H>) -> Result<u64, Error> {
    let frame = bench.gpu.begin_frame()?;
    let number = frame.number();
    frame.submit(frame.record(Queue::Graphics, "frame")?)?;
    frame.end()?;
    Ok(number)
}

/// At most the configured number of frames are in flight. The begin of one more frame waits for the GPU, and is an
/// error after the timeout.
pub fn the_cpu_waits_when_it_is_too_far_ahead<H: Harness>(harness: &H) {
    let in_flight = 3;
    // Longer than a frame takes on a device in software while the machine is busy.
    let timeout = Duration::from_secs(1);
    let bench =
        Bench::with(harness, Config::from(FrameConfig::default().in_flight(in_flight).timeout(timeout)));
    if harness.hold() {
        for number in 1..=u64::from(in_flight) {
            assert_eq!(frame(&bench), Ok(number));
        }
        let refused = frame(&bench);
        assert!(matches!(refused, Err(Error::Timeout { waited_ms: 1000.., .. })), "{refused:?}");
        let begun = bench.gpu.stats().frames;
        assert_eq!(begun, u64::from(in_flight), "a frame has begun although the wait timed out");
    }
    bench.finish();
    let before = bench.gpu.stats().frames;
    for number in 1..=50 {
        assert_eq!(frame(&bench), Ok(before + number));
    }
    assert_eq!(bench.gpu.stats().frames, before + 50);
    bench.end();
}

/// Memory that was unused for the configured number of frames goes back to the driver.
pub fn idle_memory_is_returned<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, Config::from(FrameConfig::default().idle(2)));
    let mut buffers = Vec::new();
    for memory in [MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::Readback] {
        for size in [100, 5000, 100_000, 1 << 20] {
            let usage = if memory == MemoryUse::Readback { Usage::COPY_DST } else { Usage::VERTEX };
            let desc = BufferDesc::new(size, usage).memory(memory);
            buffers.push(bench.gpu.create_buffer(&desc).unwrap());
        }
    }
    let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    assert!(bench.gpu.stats().reserved > 3 << 20, "less is reserved than was requested");
    drop((buffers, texture));
    // Empty slots are removed after the configured number of frames; then their heaps are empty, and are removed
    // after the same number of frames.
    for _ in 0..12 {
        frame(&bench).unwrap();
        bench.finish();
    }
    let stats = bench.gpu.stats();
    assert_eq!((stats.reserved, stats.heaps, stats.committed_resources), (0, 0, 0), "{stats:?}");
    assert_eq!(stats.resources_created, stats.resources_destroyed);
    bench.end();
}
