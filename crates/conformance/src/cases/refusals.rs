//! Invalid calls are errors that change nothing.

use tenure_core::device::Allowed;
use tenure_core::{
    BufferDesc, ClearValue, DeviceError, Dimension, Error, Format, MemoryUse, PageAllocatorDesc, Queue,
    ReservedDesc, Stats, TextureDesc, TextureInfo, Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use crate::texels::whole;

/// The statistics that a refused call must not change.
fn footprint(stats: &Stats) -> [u64; 4] {
    let destroyed = stats.resources_created - stats.resources_destroyed;
    [stats.reserved, stats.live_objects, destroyed, stats.pending_releases]
}

fn refused<H: Harness, T>(
    bench: &Bench<'_, H>,
    what: &str,
    call: impl FnOnce() -> Result<T, Error>,
) -> Error {
    let before = footprint(&bench.gpu.stats());
    let Err(error) = call() else { panic!("{what} was accepted") };
    assert_eq!(footprint(&bench.gpu.stats()), before, "{what} changed something: {error}");
    assert!(!error.to_string().is_empty());
    error
}

/// Buffers with sizes of 0 or too large, invalid alignments, or usages of textures.
pub fn bad_buffers_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let too_large = bench.properties().max_buffer_size.saturating_add(1);
    for memory in MemoryUse::ALL {
        for usage in [Usage::VERTEX, Usage::COPY_SRC, Usage::UNORDERED_ACCESS] {
            let desc = BufferDesc::new(64, usage).memory(memory).name("bad");
            for (field, value, desc) in [
                ("size", 0, desc.clone().size(0)),
                ("size", too_large, desc.clone().size(too_large)),
                ("size", u64::MAX, desc.clone().size(u64::MAX)),
                ("alignment", 0, desc.clone().alignment(0)),
                ("alignment", 3, desc.clone().alignment(3)),
                ("alignment", u64::MAX, desc.clone().alignment(u64::MAX)),
            ] {
                let what = format!("{field} = {value} for {usage:?}, {memory:?}");
                let error = refused(&bench, &what, || bench.gpu.create_buffer(&desc));
                let Error::Device { name, source } = &error else { panic!("{what}: {error}") };
                assert_eq!(name.as_str(), "bad");
                let allowed = match (field, value) {
                    ("alignment", _) => Allowed::POWER_OF_TWO,
                    (_, 0) => Allowed::AtLeast(1),
                    _ => Allowed::AtMost(too_large - 1),
                };
                assert_eq!(source, &DeviceError::invalid_desc(field, value, allowed), "{what}");
            }
        }
    }
    for usage in [Usage::RENDER_TARGET, Usage::DEPTH_STENCIL, Usage::VERTEX | Usage::RENDER_TARGET] {
        let desc = BufferDesc::new(64, usage);
        refused(&bench, &format!("{usage:?}"), || bench.gpu.create_buffer(&desc));
    }
    // Huge but valid values: the call may succeed or fail, but must neither panic nor leak.
    for desc in [
        BufferDesc::new(64, Usage::VERTEX).stride(u32::MAX),
        BufferDesc::new(64, Usage::VERTEX).alignment(1 << 63),
        BufferDesc::new(64, Usage::VERTEX).alignment(1 << 40),
        BufferDesc::new(64, Usage::VERTEX).alignment(1 << 63).stride(u32::MAX),
    ] {
        let before = footprint(&bench.gpu.stats());
        if let Ok(buffer) = bench.gpu.create_buffer(&desc) {
            assert!(buffer.offset().is_multiple_of(desc.alignment));
        } else {
            assert_eq!(footprint(&bench.gpu.stats()), before, "{desc:?}");
        }
    }
    bench.end();
}

/// Textures with invalid extents, mips, layers, samples, usages or clear values.
pub fn bad_textures_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let good = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).info;
    let limits = bench.properties();
    let wide = limits.max_texture_2d.saturating_add(1);
    let deep = limits.max_texture_3d.saturating_add(1);
    let layered = limits.max_layers.saturating_add(1);
    let transient = Usage::TRANSIENT_ATTACHMENT;
    let bad = [
        ("no width", good.clone().width(0)),
        ("no height", good.clone().height(0)),
        ("no layers", good.clone().depth_or_layers(0)),
        ("no mips", good.clone().mips(0)),
        ("no samples", good.clone().samples(0)),
        ("too many mips", good.clone().mips(8)),
        ("endless mips", good.clone().mips(u32::MAX)),
        ("3 samples", good.clone().samples(3)),
        ("32 samples", good.clone().samples(32)),
        ("samples and mips", good.clone().samples(4).mips(2)),
        ("samples in 3D", good.clone().samples(4).dimension(Dimension::D3)),
        ("too wide", good.clone().width(wide)),
        ("too high", good.clone().height(wide)),
        ("too deep", good.clone().depth_or_layers(deep).dimension(Dimension::D3)),
        ("too many layers", good.clone().depth_or_layers(layered)),
        ("everything", good.clone().width(u32::MAX).height(u32::MAX).depth_or_layers(u32::MAX)),
        ("a buffer's use", good.clone().usage(Usage::VERTEX)),
        ("depth usage of a colour format", good.clone().usage(Usage::DEPTH_STENCIL)),
        ("a transient attachment that is no target", good.clone().usage(transient)),
        (
            "a transient attachment that shaders read",
            good.clone().usage(transient | Usage::RENDER_TARGET | Usage::SHADER_READ),
        ),
        ("a clear value without a target usage", good.clone().clear(Some(ClearValue::Color([0.0; 4])))),
    ];
    for (what, info) in bad {
        let desc = TextureDesc::from(info).name("bad");
        let error = refused(&bench, what, || bench.gpu.create_texture(&desc));
        let is_named = matches!(&error, Error::Device { name, source: DeviceError::InvalidDesc { .. } } if name.as_str() == "bad");
        assert!(is_named, "{what}: {error:?}");
        let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("pages"));
        refused(&bench, what, || pages.create_texture(&desc));
    }
    let usage = transient | Usage::RENDER_TARGET;
    let desc = ReservedDesc::texture(good.usage(usage)).name("bad");
    let error = refused(&bench, "a reserved transient attachment", || bench.gpu.create_reserved(&desc));
    assert!(matches!(&error, Error::Device { source: DeviceError::InvalidDesc { .. }, .. }), "{error:?}");
    bench.finish();
    bench.end();
}

/// The CPU cannot write or read outside a buffer.
pub fn accesses_out_of_range_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let buffer = bench.staging(&[9; 100]);
    let neighbour = bench.staging(&[8; 100]);
    for (offset, size) in [(100, 1), (0, 101), (99, 2), (u64::MAX, 1), (u64::MAX - 3, 8), (1 << 40, 4)] {
        let bytes = vec![1; usize::try_from(size).unwrap()];
        for result in [buffer.write(offset, &bytes), buffer.read(offset, &mut bytes.clone())] {
            let Err(Error::OutOfRange { name, offset: at, size: of, capacity }) = result else {
                panic!("{offset} + {size}: {result:?}");
            };
            assert_eq!((name.as_str(), at, of, capacity), ("staging", offset, size, 100));
        }
    }
    buffer.write(100, &[]).unwrap();
    assert_bytes(&contents(&buffer), &[9; 100], "untouched");
    assert_bytes(&contents(&neighbour), &[8; 100], "the neighbour");
    drop((buffer, neighbour));
    bench.end();
}

/// A refused copy leaves the recording as it was: later copies in it are executed.
pub fn bad_copies_leave_the_recording_usable<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let (staging, readback) = (bench.staging(&[3; 100]), bench.readback(100));
    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_SRC);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    let second_staging = bench.staging(&[4; 100]);
    let mut recording = bench.gpu.record(Queue::Graphics, "bad copies").unwrap();
    for (from, to, size) in [(0, 0, 101), (1, 0, 100), (0, 1, 100), (u64::MAX, 0, 1), (0, u64::MAX, 2)] {
        let result = recording.copy_buffer(&staging, from, &readback, to, size);
        assert!(matches!(result, Err(Error::OutOfRange { .. })), "{from} {to} {size}: {result:?}");
    }
    let result = recording.copy_buffer(&readback, 0, &staging, 0, 10);
    assert!(
        matches!(result, Err(Error::State { .. })),
        "a copy from readback memory was not refused: {result:?}"
    );
    if std::ptr::eq(staging.raw(), second_staging.raw()) {
        let result = recording.copy_buffer(&staging, 0, &second_staging, 0, 10);
        assert!(matches!(result, Err(Error::Device { .. } | Error::State { .. })), "{result:?}");
    }
    let region = whole(texture.info(), 0, 0);
    let layout = tenure_core::BufferLayout { offset: 512, row_pitch: 256, rows: 8 };
    let result = recording.copy_buffer_to_texture(&staging, layout, &texture, region);
    assert!(matches!(result, Err(Error::OutOfRange { .. })), "{result:?}");
    recording.copy_buffer(&staging, 0, &readback, 0, 100).unwrap();
    let done = recording.submit().unwrap();
    bench.wait(&done);
    assert_bytes(&contents(&readback), &[3; 100], "the bytes of the valid copy");
    drop((staging, second_staging, readback, texture));
    bench.end();
}
