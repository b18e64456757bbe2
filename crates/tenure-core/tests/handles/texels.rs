//! Copies of texels: checked to their last byte when they are recorded, because on a real device the bytes
//! behind a buffer's range belong to other resources.

use tenure_core::device::{FieldValue, prelude::*};
use tenure_core::{
    Buffer, BufferLayout, DeviceError, Error, Format, Gpu, Plane, Queue, State, Subresource, Texture,
    TextureDesc, TextureRegion, Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, bytes, device, gpu, readback, upload};

const SIDE: u32 = 64;
/// Bytes; right on every device.
const PITCH: u64 = 256;
const TEXELS: u64 = PITCH * SIDE as u64;
const LAYOUT: BufferLayout = BufferLayout { offset: 0, row_pitch: PITCH, rows: SIDE };

fn texture(gpu: &Gpu<Device>) -> Texture<Device> {
    let usage = Usage::COPY_SRC | Usage::SHADER_READ;
    gpu.create_texture(&TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage).name("texture")).unwrap()
}

const fn region(extent: [u32; 3]) -> TextureRegion {
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent }
}

const WHOLE: TextureRegion = region([SIDE, SIDE, 1]);

fn fill(gpu: &Gpu<Device>, texture: &Texture<Device>, byte: u8) {
    let source = upload(gpu, TEXELS as usize, byte);
    let mut recording = gpu.record(Queue::Graphics, "fill").unwrap();
    recording.copy_buffer_to_texture(&source, LAYOUT, texture, WHOLE).unwrap();
    assert!(gpu.wait(&recording.submit().unwrap(), SECOND).unwrap());
}

fn out_of_range(answer: Result<(), Error>) -> (u64, u64, u64) {
    match answer {
        Err(Error::OutOfRange { offset, size, capacity, .. }) => (offset, size, capacity),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texels_never_leave_the_buffer_they_are_copied_to() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device);
        let texture = texture(&gpu);
        fill(&gpu, &texture, 0xaa);
        let exact = readback(&gpu, "exact", TEXELS);
        let neighbours: Vec<_> = (0..4).map(|_| readback(&gpu, "neighbour", 1024)).collect();
        let zeros = upload(&gpu, 1024, 0x11);
        let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
        for neighbour in &neighbours {
            recording.copy_buffer(&zeros, 0, neighbour, 0, 1024).unwrap();
        }
        let mut copy = |buffer: &Buffer<Device>, region, layout| {
            recording.copy_texture_to_buffer(&texture, region, buffer, layout)
        };
        let small = &neighbours[1];
        assert_eq!(out_of_range(copy(small, WHOLE, LAYOUT)), (0, TEXELS, 1024), "{}", profile.name());
        let shifted = BufferLayout { offset: 512, ..LAYOUT };
        assert_eq!(out_of_range(copy(&exact, WHOLE, shifted)), (512, TEXELS, TEXELS));
        // Five rows, the last with a single texel, end right behind the fourth.
        assert_eq!(out_of_range(copy(small, region([1, 5, 1]), LAYOUT)), (0, 4 * PITCH + 4, 1024));
        let far = BufferLayout { offset: u64::MAX - 511, ..LAYOUT };
        assert!(copy(small, region([1, 1, 1]), far).is_err(), "wherever the buffer's range begins");
        // A refusal does no harm: the recording continues, with regions that just fit.
        copy(&exact, WHOLE, LAYOUT).unwrap();
        copy(small, region([SIDE, 4, 1]), LAYOUT).unwrap();
        assert!(gpu.wait(&recording.submit().unwrap(), SECOND).unwrap());
        assert_eq!(bytes(&exact), vec![0xaa; TEXELS as usize]);
        for (index, neighbour) in neighbours.iter().enumerate() {
            let expected = if index == 1 { 0xaa } else { 0x11 };
            assert_eq!(bytes(neighbour), [expected; 1024], "{}: {index}", profile.name());
        }
        drop((texture, exact, zeros, neighbours));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

#[test]
fn texels_are_never_read_from_behind_the_buffer() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device);
        let texture = texture(&gpu);
        fill(&gpu, &texture, 0xaa);
        let (small, behind) = (upload(&gpu, 1020, 1), upload(&gpu, TEXELS as usize, 2));
        let mut recording = gpu.record(Queue::Graphics, "uploads").unwrap();
        let mut copy =
            |extent, layout| recording.copy_buffer_to_texture(&small, layout, &texture, region(extent));
        assert_eq!(out_of_range(copy([SIDE, SIDE, 1], LAYOUT)), (0, TEXELS, 1020));
        assert_eq!(out_of_range(copy([SIDE, 4, 1], LAYOUT)), (0, 1024, 1020), "one texel too many");
        copy([SIDE - 1, 4, 1], LAYOUT).unwrap();
        // No pitch and no number of rows makes it smaller than it is, or overflow.
        assert_eq!(out_of_range(copy([SIDE, 2, 1], BufferLayout { row_pitch: 0, ..LAYOUT })).1, u64::MAX);
        let high = 1 << 63;
        assert_eq!(out_of_range(copy([1, 3, 1], BufferLayout { row_pitch: high, ..LAYOUT })).1, u64::MAX);
        assert_eq!(out_of_range(copy([1, 2, 1], BufferLayout { row_pitch: high, ..LAYOUT })).1, high + 4);
        recording.submit().unwrap();
        drop((texture, small, behind));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

#[test]
fn a_misaligned_copy_of_texels_is_refused_where_it_is_recorded() {
    let device = device(Profile::DISCRETE, Lag::None);
    let limits = device.properties().clone();
    let gpu = gpu(&device);
    let texture = texture(&gpu);
    let uploads: Vec<_> = (0..3).map(|_| upload(&gpu, TEXELS as usize, 3)).collect();
    let (at, pitch) = (limits.copy_offset_alignment, limits.copy_pitch_alignment);
    assert!(at >= 4 && pitch >= 4, "the test needs a device that asks for something");
    let mut recording = gpu.record(Queue::Graphics, "uploads").unwrap();
    for upload in &uploads {
        assert!(upload.offset().is_multiple_of(at), "the alignment asked for is honoured");
        let mut refused =
            |layout| match recording.copy_buffer_to_texture(upload, layout, &texture, region([1, 1, 1])) {
                Err(Error::Device { name, source: DeviceError::InvalidCall { value, limit, .. } }) => {
                    assert_eq!(name.as_str(), "upload");
                    let number = |value: Option<FieldValue>| value.and_then(FieldValue::number).unwrap();
                    (number(value), number(limit))
                }
                other => panic!("{other:?}"),
            };
        let offset = BufferLayout { offset: 4, ..LAYOUT };
        assert_eq!(refused(offset), (upload.offset() + 4, at));
        let skewed = BufferLayout { row_pitch: PITCH + 4, ..LAYOUT };
        assert_eq!(refused(skewed), (PITCH + 4, pitch));
        recording.copy_buffer_to_texture(upload, LAYOUT, &texture, WHOLE).unwrap();
        // Between two copies to the same texels the state changes, so that they keep their order.
        recording.use_resource(&texture, Subresource::All, State::COPY_SRC).unwrap();
    }
    recording.submit().expect("what was refused is not in it");
    drop((texture, uploads));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// Devices refuse these only when the list is closed, which loses the whole recording.
#[test]
fn one_wrong_copy_does_not_spoil_a_recording() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&device);
    let texture = texture(&gpu);
    let usage = Usage::RENDER_TARGET | Usage::COPY_SRC;
    let smooth = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage).samples(4).name("smooth");
    let smooth = gpu.create_texture(&smooth).unwrap();
    let (source, target) = (upload(&gpu, TEXELS as usize, 3), readback(&gpu, "target", 4 * TEXELS));
    let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
    let four_samples = recording.copy_texture_to_buffer(&smooth, WHOLE, &target, LAYOUT);
    let Err(Error::Device { name, source: DeviceError::InvalidCall { value, limit, .. } }) = four_samples
    else {
        panic!("{four_samples:?}")
    };
    assert_eq!((name.as_str(), value, limit), ("smooth", Some(4_u64.into()), Some(1_u64.into())));
    let none = BufferLayout { row_pitch: 0, ..LAYOUT };
    let a_row = recording.copy_buffer_to_texture(&source, none, &texture, region([SIDE, 1, 1]));
    assert_eq!(out_of_range(a_row).1, u64::MAX, "one row, too, needs a pitch that holds it");
    for wrong in [
        TextureRegion { mip: 1, ..WHOLE },
        TextureRegion { layer: 1, ..WHOLE },
        TextureRegion { origin: [1, 0, 0], ..WHOLE },
        TextureRegion { origin: [0, 0, 1], ..WHOLE },
        TextureRegion {
            mip: u32::MAX,
            layer: u32::MAX,
            plane: Plane::First,
            origin: [u32::MAX; 3],
            extent: [u32::MAX; 3],
        },
        region([SIDE, 0, 1]),
        region([SIDE, SIDE, 2]),
    ] {
        let answer = recording.copy_buffer_to_texture(&source, LAYOUT, &texture, wrong);
        assert!(
            matches!(&answer, Err(Error::Device { name, .. }) if name.as_str() == "texture"),
            "{answer:?}"
        );
    }
    recording.copy_buffer_to_texture(&source, LAYOUT, &texture, WHOLE).unwrap();
    recording.copy_texture_to_buffer(&texture, WHOLE, &target, LAYOUT).unwrap();
    assert!(gpu.wait(&recording.submit().unwrap(), SECOND).unwrap());
    let mut copied = vec![0; TEXELS as usize];
    target.read(0, &mut copied).unwrap();
    assert_eq!(copied, vec![3; TEXELS as usize]);
    drop((texture, smooth, source, target));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// On every device copies accept the layouts of readback textures, for all formats: whole blocks, even if the
/// device itself requires less.
#[test]
fn readback_layouts_suit_copies() {
    for profile in Profile::ALL {
        let gpu = gpu(&device(*profile, Lag::None));
        let usage = Usage::SHADER_READ | Usage::COPY_SRC;
        let held = |format: &Format| !format.is_depth() && gpu.supports_format(*format, usage);
        for format in Format::ALL.iter().copied().filter(held) {
            let desc = TextureDesc::d2(20, 12, format, usage).mips(3);
            let texture = gpu.create_texture(&desc).unwrap();
            let read = gpu.create_readback_texture(&desc).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "read back").unwrap();
            for mip in 0..3 {
                let layout = read.layout(mip).unwrap();
                let layout =
                    BufferLayout { offset: layout.offset, row_pitch: layout.row_pitch, rows: layout.rows };
                let extent = texture.info().mip_extent(mip);
                let region = TextureRegion { mip, layer: 0, plane: Plane::First, origin: [0; 3], extent };
                let copied = recording.copy_texture_to_buffer(&texture, region, read.buffer(), layout);
                assert_eq!(copied, Ok(()), "{format:?} mip {mip} on {}", profile.name());
            }
        }
    }
}

/// Both textures are used on another queue before and after, and the source is dropped while the copy is recorded.
#[test]
fn a_texture_is_copied_on_every_queue_and_may_be_dropped() {
    for profile in Profile::ALL {
        for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
            let device = device(*profile, Lag::Random { max: 3 });
            let gpu = gpu(&device);
            let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::SHADER_READ;
            let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage);
            let make = |name: &'static str| gpu.create_texture(&desc.clone().name(name)).unwrap();
            let (from, to) = (make("from"), make("to"));
            fill(&gpu, &from, 0xaa);
            fill(&gpu, &to, 0xbb);
            let mut recording = gpu.record(queue, "copy").unwrap();
            let itself = recording.copy_texture(&to, &to, Subresource::All);
            assert!(matches!(itself, Err(Error::Device { .. })), "{itself:?}");
            recording.copy_texture(&from, &to, Subresource::All).unwrap();
            drop(from);
            recording.submit().unwrap();
            let read = gpu.read_back_texture(&to, WHOLE).unwrap();
            let found = read.wait(SECOND).unwrap();
            assert_eq!(found, vec![0xaa; TEXELS as usize], "{} {queue:?}", profile.name());
            drop((to, read));
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}
