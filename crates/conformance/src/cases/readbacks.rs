//! Readbacks.

use std::time::Duration;

use tenure_core::{
    BufferDesc, Config, Error, Format, Plane, Queue, StagingConfig, TexelData, TextureDesc, TextureRegion,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG, assert_bytes};
use crate::texels::{compressed, random, whole};
use test_random::Rng;

const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC);

/// Parts of buffers are read back, in the recording that writes them and in one of their own.
pub fn readbacks_bring_bytes<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, Config::from(StagingConfig::default().readback_page(64 << 10)));
    let mut rng = Rng::new(140);
    for (size, usage) in [(1000, Usage::VERTEX), (100_001, Usage::UNORDERED_ACCESS), (3, Usage::INDEX)] {
        let model = rng.bytes(size);
        let desc = BufferDesc::new(size, usage | Usage::COPY_SRC).name("read");
        let buffer = bench.gpu.create_buffer_with(&desc, &model).unwrap();
        for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            let frame = bench.gpu.begin_frame().unwrap();
            let mut recording = frame.record(queue, "readback").unwrap();
            let offset = rng.below(size);
            let count = 1 + rng.below(size - offset);
            let part = recording.read_back(&buffer, offset, count).unwrap();
            let all = recording.read_back(&buffer, 0, size).unwrap();
            assert_eq!(part.poll(), Ok(None), "not submitted");
            frame.submit(recording).unwrap();
            frame.end().unwrap();
            assert_bytes(&all.wait(LONG).unwrap(), &model, "the whole buffer");
            let start = usize::try_from(offset).unwrap();
            let expected = &model[start..start + usize::try_from(count).unwrap()];
            assert_bytes(
                &part.poll().unwrap().expect("both readbacks are in one submission"),
                expected,
                "a part of the buffer",
            );
        }
        let alone = bench.gpu.read_back(&buffer, 0, size).unwrap();
        drop(buffer);
        assert_bytes(&alone.wait(LONG).unwrap(), &model, "by itself");
    }
    bench.end();
}

/// Texels are read back without padding, whatever row pitch the device needs.
pub fn readbacks_bring_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(141);
    let [blocks, _] = compressed(bench.gpu.device());
    for desc in [
        TextureDesc::d2(61, 33, Format::Rgba8Unorm, SAMPLED).mips(3).layers(2),
        TextureDesc::d2(64, 32, blocks, SAMPLED).mips(4),
        TextureDesc::d3(20, 12, 7, Format::Rg8Unorm, SAMPLED).mips(2),
    ] {
        let texels = random(&desc.info, &mut rng);
        let data: Vec<_> = texels.iter().map(|texels| TexelData::new(texels)).collect();
        let texture = bench.gpu.create_texture_with(&desc, &data).unwrap();
        let mut recording = bench.gpu.record(Queue::Graphics, "readback").unwrap();
        let mut readbacks = Vec::new();
        for subresource in 0..desc.info.subresources() {
            let (mip, layer) = (subresource % desc.info.mips, subresource / desc.info.mips);
            let region = whole(&desc.info, mip, layer);
            readbacks.push(recording.read_back_texture(&texture, region).unwrap());
        }
        recording.submit().unwrap();
        for (readback, expected) in readbacks.iter().zip(&texels) {
            assert_bytes(&readback.wait(LONG).unwrap(), expected, &format!("{:?}", desc.info));
        }
    }
    let desc = TextureDesc::d2(40, 30, Format::R32Uint, SAMPLED);
    let picture = rng.bytes(40 * 30 * 4);
    let texture = bench.gpu.create_texture_with(&desc, &[TexelData::new(&picture)]).unwrap();
    let region =
        TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [7, 5, 0], extent: [11, 9, 1] };
    let part = bench.gpu.read_back_texture(&texture, region).unwrap();
    let rows = (5..14).flat_map(|y| &picture[(y * 40 + 7) * 4..(y * 40 + 18) * 4]);
    assert_bytes(&part.wait(LONG).unwrap(), &rows.copied().collect::<Vec<_>>(), "a region");
    drop((texture, part));
    bench.end();
}

/// A readback is not complete before the GPU has finished, and is an error if its recording was discarded.
pub fn readbacks_are_waited_for<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let desc = BufferDesc::new(64, Usage::VERTEX | Usage::COPY_SRC).name("read");
    let buffer = bench.gpu.create_buffer_with(&desc, &[9; 64]).unwrap();
    // The upload is complete before the harness holds back any submission.
    bench.gpu.flush_uploads().unwrap();
    bench.finish();
    if harness.hold() {
        let readback = bench.gpu.read_back(&buffer, 0, 64).unwrap();
        assert_eq!(readback.poll(), Ok(None));
        let late = readback.wait(Duration::from_millis(20));
        assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
        // Dropped before the GPU has written it.
        drop(bench.gpu.read_back(&buffer, 0, 64).unwrap());
        harness.settle();
        assert_eq!(readback.wait(LONG), Ok(vec![9; 64]));
    }
    let mut recording = bench.gpu.record(Queue::Graphics, "discarded").unwrap();
    let readback = recording.read_back(&buffer, 0, 64).unwrap();
    drop(recording);
    let expected = Error::Discarded { name: "read".into(), recording: "discarded".into() };
    assert_eq!(readback.wait(LONG), Err(expected));
    drop((readback, buffer));
    bench.end();
}
