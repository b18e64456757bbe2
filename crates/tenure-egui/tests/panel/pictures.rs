//! Pixels.

use egui::{Color32, Theme};
use tenure_core::device::{Format, Usage};
use tenure_core::{Buffer, BufferDesc, Queue, TextureDesc};
use tenure_sim::Device;

use crate::program::{Picture, click, look, manager, picture, program};

/// The first two colours of groups, as the panel documents them.
const FIRST: Color32 = Color32::from_rgb(0x00, 0x72, 0xb2);
const SECOND: Color32 = Color32::from_rgb(0xe6, 0x9f, 0x00);

/// The pixels of a colour below a line.
fn count(picture: &Picture, colour: Color32, below: usize) -> f64 {
    picture.pixels.iter().skip(below * picture.width).filter(|pixel| **pixel == colour.to_array()).count()
        as f64
}

/// Two tags, the first with three times the bytes: the pixels of their colours have the same ratio.
#[test]
fn pixels_of_a_map_are_proportional_to_bytes() {
    let gpu = manager();
    let make =
        |size, tag: &'static str| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).tag(tag)).unwrap();
    let live =
        [make(3 << 20, "terrain"), make(1 << 20, "props"), make(3 << 20, "terrain"), make(1 << 20, "props")];
    for theme in [Theme::Dark, Theme::Light] {
        let mut program = program(&gpu, [900.0, 500.0], theme);
        click(&mut program, "Blocks");
        let picture = picture(&program, &format!("blocks-{theme:?}.png"));
        // Below the legend.
        let [first, second] = [FIRST, SECOND].map(|colour| count(&picture, colour, 120));
        assert!(second > 1000.0, "the map is drawn: {first} and {second} pixels");
        assert!((2.8..3.2).contains(&(first / second)), "{first} and {second} pixels");
    }
    drop(live);
}

/// While nothing changes the chart is a rectangle: the pixels of each layer are proportional to its bytes.
#[test]
fn pixels_of_a_chart_are_proportional_to_bytes() {
    let gpu = manager();
    let stones = [(); 64].map(|()| gpu.create_buffer(&BufferDesc::new(4 << 20, Usage::VERTEX)).unwrap());
    let alone = gpu.create_buffer(&BufferDesc::new(1 << 30, Usage::VERTEX)).unwrap();
    let heap = &gpu.memory().heaps[0];
    assert!(heap.used > 0 && heap.ours.committed > 0, "{heap:?}");
    let expected = heap.ours.committed as f64 / heap.used as f64;
    let mut program = program(&gpu, [900.0, 500.0], Theme::Dark);
    look(&mut program);
    let picture = picture(&program, "chart.png");
    let [used, committed] =
        [FIRST, Color32::from_rgb(0x56, 0xb4, 0xe9)].map(|colour| count(&picture, colour, 60));
    let found = committed / used;
    assert!(used > 1000.0 && (found / expected - 1.0).abs() < 0.3, "{found} for {expected}");
    drop((stones, alone));
}

/// A scene for the picture in the documentation.
#[test]
fn a_scene_is_drawn() {
    let gpu = manager();
    let mut panel = tenure_egui::MemoryPanel::new();
    let mut live: Vec<Buffer<Device>> = Vec::new();
    let mut random = 7_u64;
    let mut next = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let targets: Vec<_> = ["colour", "normals", "depth"]
        .into_iter()
        .map(|name| {
            let desc = TextureDesc::d2(1920, 1080, Format::Rgba8Unorm, Usage::RENDER_TARGET)
                .name(name)
                .tag("targets");
            gpu.create_texture(&desc).unwrap()
        })
        .collect();
    for frame in 0_u64..400 {
        for _ in 0..3 {
            let (tag, size) = match next(10) {
                0 => ("textures", 4 << 20),
                1..4 => ("terrain", 200_000 + next(800_000)),
                4..7 => ("props", 20_000 + next(300_000)),
                _ => ("particles", 2_000 + next(30_000)),
            };
            live.push(
                gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name("mesh").tag(tag)).unwrap(),
            );
        }
        while live.len() as u64 > 80 + frame % 200 {
            live.swap_remove(next(live.len() as u64) as usize);
        }
        let begun = gpu.begin_frame().unwrap();
        let recording = begun.record(Queue::Graphics, "opaque").unwrap();
        live.iter().for_each(|mesh| _ = mesh.offset());
        begun.submit(recording).unwrap();
        begun.end().unwrap();
        panel.end_frame(&gpu);
    }
    let mut program = program(&gpu, [960.0, 620.0], Theme::Dark);
    program.state_mut().panel = panel;
    program.run_steps(3);
    for (tab, name) in [
        ("Blocks", "scene-blocks.png"),
        ("Objects", "scene-objects.png"),
        ("Waiting for release", "scene-waiting.png"),
        ("Memory heaps", "scene-heaps.png"),
    ] {
        click(&mut program, tab);
        let drawn = picture(&program, name);
        let different = drawn.pixels.iter().filter(|pixel| **pixel != drawn.pixels[0]).count();
        assert!(different > 5000, "{tab}: {different} pixels differ from the background");
    }
    drop((live, targets));
}
