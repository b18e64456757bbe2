//! Shared resources on a single device.

use tenure_core::device::{
    DeviceError, Features, MemoryDevice as _, Plane, ResourceDesc, TextureRegion, TileDevice as _,
};
use tenure_core::{
    BufferDesc, BufferInfo, Error, Format, LocationKind, Queue, State, Subresource, TexelData, TextureDesc,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG};

const SIZE: u64 = 3000;
const SIDE: u32 = 20;
const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

const fn region() -> TextureRegion {
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] }
}

/// Resources are released to a peer and acquired again, on two queues in turn, without an actual peer: no bytes
/// are lost, and in between they are used like any other. Each has its own memory. The peer has the same
/// driver, or another.
pub fn shared_resources_come_back<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let buffer = BufferDesc::new(SIZE, COPIES).name("shared buffer");
    let texture = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ);
    let texture = texture.name("shared texture");
    let features = bench.properties().features;
    let is_offered = features.contains(Features::SHARED_MEMORY);
    come_back(&bench, &buffer.clone().shared(), &texture.clone().shared(), is_offered);
    let is_offered = features.contains(Features::SHARED_ACROSS_DRIVERS);
    come_back(&bench, &buffer.shared_across_drivers(), &texture.shared_across_drivers(), is_offered);
    bench.end();
}

fn come_back<H: Harness>(bench: &Bench<H>, desc: &BufferDesc, texture_desc: &TextureDesc, is_offered: bool) {
    let gpu = &bench.gpu;
    if !is_offered {
        for refused in [gpu.create_buffer(desc).unwrap_err(), gpu.create_texture(texture_desc).unwrap_err()] {
            let is_unsupported =
                matches!(refused, Error::Device { source: DeviceError::Unsupported { .. }, .. });
            assert!(is_unsupported, "{refused}");
        }
        return;
    }
    let bytes: Vec<u8> = (0..SIZE).map(|index| index as u8).collect();
    let texels: Vec<u8> = (0..SIDE * SIDE * 4).map(|index| (index / 3) as u8).collect();
    let buffer = gpu.create_buffer_with(desc, &bytes).unwrap();
    let texture = gpu.create_texture_with(texture_desc, &[TexelData::new(&texels)]).unwrap();
    assert_eq!([buffer.location(), texture.location()], [LocationKind::Committed; 2]);
    for queue in [Queue::Graphics, Queue::Compute, Queue::Graphics] {
        bench.submit(queue, |recording| {
            recording.release_to_peer(&buffer, State::COPY_SRC).unwrap();
            recording.release_to_peer(&texture, State::COPY_SRC).unwrap();
        });
        bench.finish();
        let mut recording = gpu.record(Queue::Graphics, "take back").unwrap();
        recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap();
        recording.acquire_from_peer(&texture, State::COPY_SRC).unwrap();
        let found = recording.read_back(&buffer, 0, SIZE).unwrap();
        let seen = recording.read_back_texture(&texture, region()).unwrap();
        recording.use_resource(&texture, Subresource::All, State::PIXEL_SHADER).unwrap();
        recording.submit().unwrap();
        assert_eq!(found.wait(LONG).unwrap(), bytes);
        assert_eq!(seen.wait(LONG).unwrap(), texels);
    }
}

/// Resources that no device can share are refused before the driver call.
pub fn unshared_resources_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let (gpu, device) = (&bench.gpu, bench.gpu.device());
    let plain = gpu.create_buffer(&BufferDesc::new(SIZE, COPIES).own_resource()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "hand over").unwrap();
    assert!(matches!(recording.release_to_peer(&plain, State::COPY_SRC), Err(Error::State { .. })));
    assert!(matches!(recording.acquire_from_peer(&plain, State::COPY_SRC), Err(Error::State { .. })));
    let shared = BufferDesc::new(SIZE, COPIES).shared();
    assert!(matches!(recording.transient_buffer(&shared), Err(Error::Transient { .. })));
    recording.submit().unwrap();
    for usage in [Usage::SHARED, Usage::SHARING, COPIES | Usage::SHARED_ACROSS_DRIVERS] {
        let bare = ResourceDesc::Buffer(BufferInfo::new(SIZE, usage));
        let refused = device.requirements(&bare);
        assert!(matches!(refused, Err(DeviceError::InvalidDesc { .. })), "{usage}: {refused:?}");
    }
    let reserved = ResourceDesc::Buffer(BufferInfo::new(1 << 20, shared.usage));
    assert!(matches!(
        device.create_reserved(&reserved),
        Err(DeviceError::InvalidDesc { .. } | DeviceError::Unsupported { .. })
    ));
    drop(plain);
    bench.end();
}
