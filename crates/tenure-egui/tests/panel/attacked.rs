//! What somebody else found who was told only to break it.

use egui::{CentralPanel, Context, RawInput, Rect, ScrollArea};
use tenure_core::device::{Format, Usage};
use tenure_core::{BufferDesc, Config, Gpu, Queue, ReservedDesc, TextureDesc, TextureViewDesc};
use tenure_egui::MemoryPanel;
use tenure_sim::{Device, Profile};

use crate::program::{Manager, click, look, manager, program, says};

/// What `egui` complains of when two widgets have one id, it paints.
fn complaints(mut draw: impl FnMut(&Context)) -> Vec<String> {
    let context = Context::default();
    let mut found = Vec::new();
    for frame in 0..4 {
        let screen_rect = Some(Rect::from_min_size(egui::Pos2::ZERO, [1000.0, 700.0].into()));
        let input = RawInput { screen_rect, time: Some(f64::from(frame)), ..RawInput::default() };
        let output = context.run(input, |context| draw(context));
        for shape in output.shapes {
            if let egui::Shape::Text(text) = &shape.shape {
                found.extend(Some(text.galley.text().to_owned()).filter(|text| text.contains("use of")));
            }
        }
    }
    found
}

fn filled(gpu: &Manager) -> Vec<tenure_core::Buffer<Device>> {
    let make = |size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX)).unwrap();
    (1..50).map(|size| make(size * 1000)).collect()
}

#[test]
fn panels_have_widgets_of_their_own() {
    let gpus = [manager(), manager()];
    let _live = gpus.each_ref().map(filled);
    let mut panels = [MemoryPanel::new(), MemoryPanel::new()];
    let beside = complaints(|context| {
        CentralPanel::default().show(context, |ui| {
            ScrollArea::vertical().max_height(50.0).show(ui, |ui| ui.label("the program's own"));
            ui.columns(2, |columns| {
                for ((ui, panel), gpu) in columns.iter_mut().zip(&mut panels).zip(&gpus) {
                    panel.ui(ui, gpu);
                }
            });
        });
    });
    assert_eq!(beside, [""; 0]);
    let windows = complaints(|context| {
        for (panel, gpu) in panels.iter_mut().zip(&gpus) {
            panel.window(context, gpu, &mut true);
        }
    });
    assert_eq!(windows, [""; 0]);
}

/// Reserved address space is no memory, and neither is what transient resources share counted for each.
#[test]
fn what_has_no_memory_of_its_own_counts_as_none() {
    let gpu = manager();
    let _sparse =
        gpu.create_reserved(&ReservedDesc::buffer(3 << 30, Usage::SHADER_READ).tag("sparse")).unwrap();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    look(&mut program);
    assert!(says(&program, "sparse: 0 B in 1 object") && !says(&program, "3 GiB"));
}

/// Blocks that only hold other blocks are not what one wants to see first.
#[test]
fn the_map_begins_with_a_pool_of_objects() {
    let gpu = manager();
    let make = |size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name("small")).unwrap();
    let _live: Vec<_> = (0..3000).map(|_| make(300)).collect();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    click(&mut program, "Blocks");
    assert!(!says(&program, "blocks of small buffers"));
}

/// Where there is no block there is still an object to describe, and what is long leaves the map in the window.
#[test]
fn descriptions_leave_room_for_the_map() {
    let config = Config { leak_backtraces: true, ..Config::default() };
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), config).unwrap();
    let long = "x".repeat(20_000);
    let desc = BufferDesc::new(70_000, Usage::VERTEX).name("granite").tag(long);
    let granite = gpu.create_buffer(&desc).unwrap();
    let mut program = program(&gpu, [720.0, 520.0], egui::Theme::Dark);
    click(&mut program, "Objects");
    click(&mut program, "granite");
    click(&mut program, "Blocks");
    use egui_kittest::kittest::Queryable;
    let heading = program.query_all_by_label_contains("Block 0").next().map(|found| found.rect().top());
    assert!(heading.is_some_and(|top| top < 400.0), "{heading:?}");
    drop(granite);
}

/// Programs without frames have a past, too.
#[test]
fn submissions_without_frames_are_in_the_chart() {
    let gpu = manager();
    let mut panel = MemoryPanel::new();
    for _ in 0..20 {
        gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        gpu.purge().unwrap();
        panel.end_frame(&gpu);
    }
    let text = format!("{panel:?}");
    assert!(text.matches("Sample {").count() >= 20);
}

/// Thousands of things that views keep are named by the first ones.
#[test]
fn what_views_keep_is_listed_in_part() {
    let gpu = manager();
    let desc = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ).name("kept");
    let views: Vec<_> = (0..1000)
        .map(|_| {
            let texture = gpu.create_texture(&desc).unwrap();
            gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap()
        })
        .collect();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    click(&mut program, "Waiting for release");
    look(&mut program);
    assert!(says(&program, "and 800 objects more"));
    drop(views);
}
