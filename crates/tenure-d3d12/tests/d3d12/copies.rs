//! Copies that break a rule are errors of `close`, and do not reach the GPU.

use crate::harness::PERMIT;
use tenure_core::device::{Barrier, ResourceDesc, prelude::*};
use tenure_core::{
    BufferLayout, DeviceError, Format, Plane, State, Subresource, TextureDesc, TextureRegion, Usage,
};
use tenure_d3d12::{List, Resource};

use crate::bench::{
    Bench, COMPUTE, COPY, GPU_ONLY, GRAPHICS, READBACK, UPLOAD, buffer, device, info, is_legacy,
    missing_usage, pattern, refused, refused_state, texture,
};

struct Scene {
    bench: Bench,
    staging: Resource,
    local: Resource,
    readback: Resource,
    image: Resource,
}

fn scene() -> Scene {
    let bench = Bench::new(device());
    let make = |desc: &ResourceDesc, memory| bench.device.create_committed(desc, memory).unwrap();
    let all = Usage::COPY_SRC | Usage::COPY_DST;
    Scene {
        staging: make(&buffer(100_000, all), UPLOAD),
        local: make(&buffer(100_000, all), GPU_ONLY),
        readback: make(&buffer(100_000, all), READBACK),
        image: make(&texture(64, Format::Rgba8Unorm, Usage::SHADER_READ | all), GPU_ONLY),
        bench,
    }
}

impl Scene {
    fn refused(&self, rule: &str, record: impl FnOnce(&mut List)) -> (u64, u64) {
        refused(self.bench.recorded(GRAPHICS, record), rule)
    }
}

#[test]
fn ranges_stay_inside_their_buffers() {
    let scene = scene();
    let (src, dst) = (&scene.staging, &scene.local);
    let inside = "the range is inside the resource";
    for (from, to, size) in
        [(0, 0, 100_001), (1, 0, 100_000), (0, 99_999, 2), (u64::MAX, 0, 1), (0, 0, u64::MAX)]
    {
        scene.refused(inside, |list| list.copy_buffer(src, from, dst, to, size));
    }
    scene.refused("the resource is a buffer", |list| list.copy_buffer(&scene.image, 0, dst, 0, 4));
    scene.bench.recorded(GRAPHICS, |list| list.copy_buffer(src, 100_000, dst, 100_000, 0)).unwrap();
}

#[test]
fn heap_types_have_one_direction() {
    let scene = scene();
    scene.refused("nothing is copied to an upload heap", |list| {
        list.copy_buffer(&scene.local, 0, &scene.staging, 0, 4);
    });
    scene.refused("nothing is copied from a readback heap", |list| {
        list.copy_buffer(&scene.readback, 0, &scene.local, 0, 4);
    });
    let within = |list: &mut List| list.copy_buffer(&scene.local, 0, &scene.local, 50_000, 4);
    if is_legacy(&scene.bench.device) {
        scene.refused("no buffer is copied to itself (legacy states)", within);
    } else {
        scene.bench.recorded(GRAPHICS, within).unwrap();
    }
}

const WHOLE: TextureRegion =
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
const LAYOUT: BufferLayout = BufferLayout { offset: 0, row_pitch: 256, rows: 64 };

#[test]
fn texels_stay_inside_and_rows_in_their_places() {
    let scene = scene();
    let copy = |rule, layout, region| {
        scene.refused(rule, |list| list.copy_buffer_to_texture(&scene.staging, layout, &scene.image, region));
        scene
            .refused(rule, |list| list.copy_texture_to_buffer(&scene.image, region, &scene.readback, layout));
    };
    copy("the offset of texels in the buffer is aligned", BufferLayout { offset: 256, ..LAYOUT }, WHOLE);
    copy("the row pitch is aligned", BufferLayout { row_pitch: 384, ..LAYOUT }, WHOLE);
    let rows = "the row pitch holds a row, and the rows hold a slice";
    copy(rows, BufferLayout { row_pitch: 0, ..LAYOUT }, WHOLE);
    copy("the range is inside the resource", BufferLayout { offset: 512 * 170, ..LAYOUT }, WHOLE);
    copy("the range is inside the resource", BufferLayout { row_pitch: 1 << 40, ..LAYOUT }, WHOLE);
    copy(rows, BufferLayout { row_pitch: 1 << 60, ..LAYOUT }, WHOLE);
    copy("the mip exists", LAYOUT, TextureRegion { mip: 1, ..WHOLE });
    copy("the layer exists", LAYOUT, TextureRegion { layer: 1, ..WHOLE });
    copy("the texels lie within the mip", LAYOUT, TextureRegion { origin: [1, 0, 0], ..WHOLE });
    copy("the texels lie within the mip", LAYOUT, TextureRegion { extent: [64, 64, 0], ..WHOLE });
    let far = TextureRegion { origin: [u32::MAX; 3], extent: [u32::MAX; 3], ..WHOLE };
    copy("the texels lie within the mip", LAYOUT, far);
    scene
        .bench
        .recorded(GRAPHICS, |list| {
            list.copy_buffer_to_texture(&scene.staging, LAYOUT, &scene.image, WHOLE);
        })
        .unwrap();
}

#[test]
fn textures_that_cannot_be_copied_are_refused() {
    let scene = scene();
    let make = |desc: TextureDesc| {
        scene.bench.device.create_committed(&ResourceDesc::Texture(desc.info), GPU_ONLY).unwrap()
    };
    let samples = make(TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4));
    let depth = make(TextureDesc::d2(64, 64, Format::D32Float, Usage::DEPTH_STENCIL));
    let part = TextureRegion { extent: [32, 64, 1], ..WHOLE };
    for (rule, image, region) in [
        ("a texture copied to or from a buffer has one sample", &samples, WHOLE),
        ("depth is copied a whole subresource at a time", &depth, part),
        ("the format has the plane", &depth, TextureRegion { plane: Plane::Stencil, ..WHOLE }),
    ] {
        scene.refused(rule, |list| list.copy_buffer_to_texture(&scene.staging, LAYOUT, image, region));
    }
}

#[test]
fn textures_are_copied_to_their_like_alone() {
    let scene = scene();
    let make = |desc: TextureDesc| {
        scene.bench.device.create_committed(&ResourceDesc::Texture(desc.info), GPU_ONLY).unwrap()
    };
    let copied = Usage::COPY_SRC | Usage::COPY_DST;
    let d2 = |format, usage| TextureDesc::d2(64, 64, format, usage | copied);
    let (image, all) = (&scene.image, Subresource::All);
    let twin = make(d2(Format::Rgba8Unorm, Usage::SHADER_READ));
    let srgb = make(d2(Format::Rgba8Srgb, Usage::SHADER_READ));
    let mips = make(d2(Format::Rgba8Unorm, Usage::SHADER_READ).mips(2));
    scene.refused("the resource is a texture", |list| list.copy_texture(image, &scene.local, all));
    scene.refused("a texture is copied to another texture", |list| list.copy_texture(image, image, all));
    scene.refused("a texture is copied to one of the same format", |list| {
        list.copy_texture(image, &srgb, all);
    });
    let numbers = scene.refused("a texture is copied to one with as many mips", |list| {
        list.copy_texture(image, &mips, Subresource::One(0));
    });
    assert_eq!(numbers, (2, 1));
    let numbers = scene.refused("the subresource exists", |list| {
        list.copy_texture(image, &twin, Subresource::One(1));
    });
    assert_eq!(numbers, (1, 1));
    let depth = [(); 2].map(|()| make(d2(Format::D32Float, Usage::DEPTH_STENCIL)));
    for queue in [COMPUTE, COPY] {
        let refusal = scene.bench.recorded(queue, |list| list.copy_texture(&depth[0], &depth[1], all));
        refused(refusal, "depth and stencil are copied between textures on a graphics queue");
    }
}

fn transition(resource: &Resource, before: State, after: State) -> Barrier<'_, tenure_d3d12::Device> {
    Barrier::Transition { resource, subresource: Subresource::All, before, after, transfer: None }
}

#[test]
fn barriers_name_states_that_queue_and_memory_know() {
    let scene = scene();
    let record = |queue, barrier| scene.bench.recorded(queue, |list| list.barriers(&[barrier]));
    let known = "the queue knows the state";
    refused_state(record(COPY, transition(&scene.image, State::COMMON, State::PIXEL_SHADER)), known);
    let target = texture(64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let target = scene.bench.device.create_committed(&target, GPU_ONLY).unwrap();
    refused_state(record(COMPUTE, transition(&target, State::RENDER_TARGET, State::COPY_SRC)), known);
    let mixed = transition(&scene.image, State::COMMON, State::COPY_DST | State::PIXEL_SHADER);
    refused_state(record(GRAPHICS, mixed), "a write state stands alone");
    let made = "the usage of the resource allows the state";
    for state in [State::RENDER_TARGET, State::DEPTH_WRITE, State::UNORDERED_ACCESS] {
        refused_state(record(GRAPHICS, transition(&scene.image, State::COMMON, state)), made);
        refused_state(record(GRAPHICS, transition(&scene.image, state, State::COPY_SRC)), made);
    }
    let to_index = record(GRAPHICS, transition(&scene.staging, State::COPY_SRC, State::INDEX));
    let to_resolve = record(GRAPHICS, transition(&scene.readback, State::COPY_DST, State::RESOLVE_DST));
    let to_common = record(GRAPHICS, transition(&scene.image, State::COPY_DST, State::COMMON));
    if is_legacy(&scene.bench.device) {
        let fixed = "upload and readback memory and acceleration structures keep their state";
        refused_state(to_index, fixed);
        refused_state(to_resolve, fixed);
        to_common.unwrap();
    } else {
        // Enhanced barriers name accesses, and such memory allows all of them; COMMON means undefined contents.
        to_index.unwrap();
        to_resolve.unwrap();
        refused(to_common, "no resource is moved to COMMON, whose contents are undefined");
    }
    let read = record(GRAPHICS, transition(&scene.staging, State::COPY_SRC, State::COPY_DST));
    refused_state(read, "the GPU only reads upload heaps");
    let copied = record(GRAPHICS, transition(&scene.readback, State::COPY_DST, State::COPY_SRC));
    refused_state(copied, "the GPU only copies to readback heaps");
    let beyond = Barrier::Transition {
        resource: &scene.image,
        subresource: Subresource::One(1),
        before: State::COMMON,
        after: State::COPY_DST,
        transfer: None,
    };
    refused(record(GRAPHICS, beyond), "the subresource exists");
    let unordered = Barrier::Unordered { resource: &scene.image };
    assert_eq!(missing_usage(record(GRAPHICS, unordered)).0, Usage::UNORDERED_ACCESS);
    let storage =
        scene.bench.device.create_committed(&buffer(64, Usage::UNORDERED_ACCESS), GPU_ONLY).unwrap();
    refused_state(record(COPY, Barrier::Unordered { resource: &storage }), known);
    record(COMPUTE, Barrier::Unordered { resource: &storage }).unwrap();
    let (from, to) = (State::all(), State::COMMON);
    let aliasing = Barrier::Aliasing { before: None, after: &scene.image, from, to };
    refused(record(GRAPHICS, aliasing), "aliasing barriers are for placed and reserved resources");
    record(COPY, transition(&scene.image, State::COMMON, State::COPY_DST)).unwrap();
}

/// The first error is returned, and the list is lost.
#[test]
fn errors_of_recording_are_kept_until_close() {
    let mut scene = scene();
    let mut list = scene.bench.device.create_list(PERMIT, GRAPHICS).unwrap();
    list.begin().unwrap();
    list.copy_buffer(&scene.staging, 0, &scene.local, 0, 1 << 40);
    list.copy_buffer(&scene.local, 0, &scene.staging, 0, 4);
    assert_eq!(refused(list.close(), "the range is inside the resource"), (1 << 40, 100_000));
    let refusal = scene.bench.device.submit(PERMIT, GRAPHICS, &[&list], &[], 1);
    refused(refusal, "a submitted list is closed");
    refused(list.begin(), "a list that could not be closed or begun is not begun again");
    scene.bench.device.destroy_list(PERMIT, list);
    let mut list = scene.bench.device.create_list(PERMIT, GRAPHICS).unwrap();
    list.begin().unwrap();
    list.copy_buffer(&scene.staging, 0, &scene.local, 0, 4);
    list.close().unwrap();
    let done = scene.bench.submit(GRAPHICS, &[&list], &[]);
    assert!(scene.bench.device.wait(done, crate::bench::LONG).unwrap());
}

#[test]
fn resources_of_another_device_are_refused() {
    let (scene, other) = (scene(), device());
    let foreign = other.create_committed(&buffer(100, Usage::COPY_SRC), GPU_ONLY).unwrap();
    scene.refused("an object is used with the device that made it", |list| {
        list.copy_buffer(&foreign, 0, &scene.local, 0, 4);
    });
    scene.refused("an object is used with the device that made it", |list| {
        list.barriers(&[transition(&foreign, State::COMMON, State::COPY_DST)]);
    });
}

/// Both planes of a depth-stencil texture are copied.
#[test]
fn planes_move_together() {
    let mut bench = Bench::new(device());
    let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
    for format in [Format::D24UnormS8Uint, Format::D32FloatS8Uint] {
        let desc = TextureDesc::d2(32, 32, format, usage).mips(2).layers(3).info;
        let depth = bench.device.create_committed(&ResourceDesc::Texture(desc), GPU_ONLY).unwrap();
        bench.run(GRAPHICS, |list| {
            for subresource in (0..6).map(Subresource::One) {
                let (before, after, transfer) = (State::COMMON, State::DEPTH_WRITE, None);
                list.barriers(&[Barrier::Transition {
                    resource: &depth,
                    subresource,
                    before,
                    after,
                    transfer,
                }]);
            }
            let read = State::DEPTH_READ | State::PIXEL_SHADER;
            list.barriers(&[transition(&depth, State::DEPTH_WRITE, read)]);
        });
    }
    assert_eq!(bench.device.status(), Ok(()));
}

/// Slices further apart than their rows require.
#[test]
fn volumes_keep_their_slices_apart() {
    let mut bench = Bench::new(device());
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let desc = TextureDesc::d3(16, 8, 4, Format::Rgba8Unorm, usage);
    let volume = bench.device.create_committed(&ResourceDesc::Texture(desc.info), GPU_ONLY).unwrap();
    // Each buffer ends with the last row of texels, without the rows that pad the last slice.
    let bytes = pattern(256 * (10 * 3 + 7) + 64, 5);
    let size = 256 * (13 * 3 + 7) + 64;
    let (staging, readback) = (bench.staging(&bytes), bench.readback(size));
    let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 8, 4] };
    let (from, to) = (
        BufferLayout { offset: 0, row_pitch: 256, rows: 10 },
        BufferLayout { offset: 0, row_pitch: 256, rows: 13 },
    );
    bench.run(GRAPHICS, |list| {
        list.copy_buffer_to_texture(&staging, from, &volume, region);
        list.barriers(&[transition(&volume, State::COPY_DST, State::COPY_SRC)]);
        list.copy_texture_to_buffer(&volume, region, &readback, to);
    });
    let found = bench.contents(&readback, size as usize);
    for slice in 0..4 {
        for row in 0..8 {
            let (at, from) = ((slice * 13 + row) * 256, (slice * 10 + row) * 256);
            assert_eq!(found[at..at + 64], bytes[from..from + 64], "slice {slice}, row {row}");
        }
    }
    let thin = BufferLayout { rows: 7, ..from };
    let answer =
        bench.recorded(GRAPHICS, |list| list.copy_buffer_to_texture(&staging, thin, &volume, region));
    refused(answer, "the row pitch holds a row, and the rows hold a slice");
    let flat = info(16, Format::Rgba8Unorm, usage);
    assert!(matches!(
        bench.device.create_committed(&ResourceDesc::Texture(flat), UPLOAD),
        Err(DeviceError::InvalidCall { .. })
    ));
}
