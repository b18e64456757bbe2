//! Small programs reserve little more than they request.

use std::thread;

use tenure_core::device::{Device, Features, QueryKind, ResourceDesc};
use tenure_core::{
    BufferDesc, Config, DescriptorTableDesc, Format, Gpu, Queue, QueueKind, State, Subresource, TexelData,
    TextureDesc, TextureViewDesc, UploadRingDesc, Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG};

const KIB: u64 = 1 << 10;

/// Bytes that a program with a triangle, a depth buffer and a texture reserves beside these, at most.
const BESIDE: u64 = 4 << 20;

/// Bytes that each part of the manager takes at first, at most.
const PART: u64 = 256 * KIB;

/// Bytes of all memory that the manager has taken.
fn reserved<D: Device>(gpu: &Gpu<D>) -> u64 {
    let reserved = gpu.memory().heaps.iter().map(|heap| heap.ours.total()).sum();
    assert_eq!(gpu.stats().reserved, reserved);
    reserved
}

fn texture_bytes<D: Device>(gpu: &Gpu<D>, desc: &TextureDesc) -> u64 {
    gpu.device().requirements(&ResourceDesc::Texture(desc.info.clone())).unwrap().size
}

fn triangle() -> BufferDesc {
    BufferDesc::new(96, Usage::VERTEX | Usage::COPY_SRC | Usage::COPY_DST).name("triangle")
}

fn depth() -> TextureDesc {
    TextureDesc::d2(640, 360, Format::D32Float, Usage::DEPTH_STENCIL).name("depth")
}

fn brick() -> TextureDesc {
    TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST).name("brick")
}

/// Each part of the manager alone reserves little more than its requests.
pub fn each_part_begins_small<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let part = |name: &str, asked: u64, used: &mut dyn FnMut()| {
        let before = reserved(gpu);
        used();
        let taken = reserved(gpu) - before;
        assert!(taken <= asked + PART, "{name}: {taken} for {asked}");
        bench.finish();
        gpu.trim();
    };
    assert_eq!(reserved(gpu), 0, "a new manager");
    let vertices = gpu.create_buffer(&triangle()).unwrap();
    assert!(reserved(gpu) <= PART, "a buffer");

    part("an upload", 0, &mut || drop(gpu.upload(&vertices, 0, &[1; 96]).unwrap()));
    part("many uploads", 200 * KIB, &mut || {
        for _ in 0..200 {
            gpu.upload(&vertices, 0, &[1; 96]).unwrap();
        }
    });
    part("a readback", 0, &mut || drop(gpu.read_back(&vertices, 0, 96).unwrap()));
    part("constants", 0, &mut || {
        bench.submit(Queue::Graphics, |recording| {
            recording.split().1.constants(&[1.0_f32; 16]).unwrap();
        });
    });
    part("a ring", 32 * KIB, &mut || {
        gpu.create_upload_ring(&UploadRingDesc::new(32 * KIB).name("ring")).unwrap();
    });
    let target = depth();
    part("a transient depth buffer", texture_bytes(gpu, &target) + 768 * KIB, &mut || {
        bench.submit(Queue::Graphics, |recording| {
            let depth = recording.transient_texture(&target).unwrap();
            recording.use_resource(&depth, Subresource::All, State::DEPTH_WRITE).unwrap();
        });
    });
    let queue = bench.properties().queue(QueueKind::Graphics);
    if bench.properties().has_queries(QueryKind::Timestamp, queue) {
        part("a timestamp", 0, &mut || {
            bench.submit(Queue::Graphics, |recording| drop(recording.write_timestamp().unwrap()));
        });
    }
    if bench.properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        part("scratch of a build", 0, &mut || {
            bench.submit(Queue::Graphics, |recording| {
                recording.split().1.build_scratch(1000).unwrap();
            });
        });
        part("scratch of many builds", 600 * KIB, &mut || {
            bench.submit(Queue::Graphics, |recording| {
                let (_, scratch) = recording.split();
                (0..100).for_each(|_| {
                    scratch.build_scratch(3000).unwrap();
                });
            });
        });
    }
    drop(vertices);
    bench.end();
}

/// Records a frame of a small program, on a queue.
fn draw<H: Harness>(bench: &Bench<'_, H>, number: u8) {
    let gpu = &bench.gpu;
    let vertices = gpu.create_buffer_with(&triangle(), &[number; 96]).unwrap();
    bench.submit(Queue::Graphics, |recording| {
        recording.use_resource(&vertices, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
        let (_, scratch) = recording.split();
        (0..16).for_each(|_| {
            scratch.constants(&[1.0_f32; 16]).unwrap();
        });
    });
    let readback = gpu.read_back(&vertices, 0, 96).unwrap();
    bench.harness.settle();
    assert_eq!(readback.wait(LONG).unwrap(), [number; 96]);
}

/// A program with one triangle, a depth buffer and a texture, all parts of the manager, and a second thread that
/// does the same reserves little beside these.
pub fn a_small_program_stays_small<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, Config::default());
    let gpu = &bench.gpu;
    let (depth, brick) = (depth(), brick());
    // The depth buffer twice: one that lasts, and a transient one.
    let asked = 2 * texture_bytes(gpu, &depth) + texture_bytes(gpu, &brick);
    let vertices = gpu.create_buffer_with(&triangle(), &[1; 96]).unwrap();
    let lasting = gpu.create_texture(&depth).unwrap();
    let texels = vec![7; 256 * 256 * 4];
    let brick = gpu.create_texture_with(&brick, &[TexelData::new(&texels)]).unwrap();
    let view = gpu.create_texture_view(&brick, &TextureViewDesc::sampled()).unwrap();
    let table = bench.has_heaps().then(|| {
        let views = [(&view).into()];
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&views).name("brick")).unwrap()
    });
    let queue = bench.properties().queue(QueueKind::Graphics);
    let has_times = bench.properties().has_queries(QueryKind::Timestamp, queue);
    let mut peak = 0;
    for number in 0..20 {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        let transient = recording.transient_texture(&depth).unwrap();
        recording.use_resource(&lasting, Subresource::All, State::DEPTH_WRITE).unwrap();
        recording.use_resource(&transient, Subresource::All, State::DEPTH_WRITE).unwrap();
        recording.use_resource(&brick, Subresource::All, State::PIXEL_SHADER).unwrap();
        recording.use_resource(&vertices, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
        let _time = has_times.then(|| recording.write_timestamp().unwrap());
        frame.submit(recording).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| draw(&bench, number));
            draw(&bench, number);
        });
        peak = peak.max(reserved(gpu));
        frame.end().unwrap();
    }
    peak = peak.max(reserved(gpu));
    assert!(peak <= asked + BESIDE, "{} KiB for {} KiB", peak / KIB, asked / KIB);
    drop((vertices, lasting, brick, view, table));
    bench.end();
}
