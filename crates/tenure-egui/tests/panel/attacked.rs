//! Errors found by a reviewer who tried to break the panel.

use egui::{CentralPanel, Context, RawInput, Rect, ScrollArea};
use tenure_core::device::{Format, Usage};
use tenure_core::{BufferDesc, Config, Gpu, Queue, ReservedDesc, TextureDesc, TextureViewDesc};
use tenure_egui::MemoryPanel;
use tenure_sim::{Device, Profile};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::program::{Manager, Program, click, look, manager, picture, program, says};

/// `egui` paints its warning about two widgets with the same id.
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

/// Reserved address space is not memory, and shared memory of transient resources is not counted for each.
#[test]
fn objects_without_their_own_memory_count_as_empty() {
    let gpu = manager();
    let _sparse =
        gpu.create_reserved(&ReservedDesc::buffer(3 << 30, Usage::SHADER_READ).tag("sparse")).unwrap();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    look(&mut program);
    assert!(says(&program, "sparse: 0 B in 1 object") && !says(&program, "3 GiB"));
}

/// Blocks that only contain other blocks are not shown first.
#[test]
fn the_map_begins_with_a_pool_of_objects() {
    let gpu = manager();
    let make = |size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name("small")).unwrap();
    let _live: Vec<_> = (0..3000).map(|_| make(300)).collect();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    click(&mut program, "Blocks");
    assert!(!says(&program, "blocks of small buffers"));
}

/// An object without a block is still described, and a long description leaves the map in the window.
#[test]
fn descriptions_leave_room_for_the_map() {
    let config = Config::default().leak_backtraces(true);
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

/// Programs without frames have a history, too.
#[test]
fn submissions_without_frames_are_in_the_chart() {
    let gpu = manager();
    let mut panel = MemoryPanel::new();
    for _ in 0..20 {
        gpu.record(Queue::Graphics, "work").unwrap().submit().unwrap();
        gpu.reclaim().unwrap();
        panel.end_frame(&gpu);
    }
    let text = format!("{panel:?}");
    assert!(text.matches("Sample {").count() >= 20);
}

/// Of thousands of resources that views keep, only the first are named.
#[test]
fn resources_kept_by_views_are_listed_in_part() {
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

/// Successive managers at one address, as after a lost device, are distinguished: the ids of each begin anew.
#[test]
fn a_new_manager_at_the_same_address_is_another_one() {
    type Shown = Harness<'static, (MemoryPanel, Option<Manager>)>;
    let draw = |ui: &mut egui::Ui, (panel, gpu): &mut (MemoryPanel, Option<Manager>)| {
        gpu.iter().for_each(|gpu| panel.ui(ui, gpu));
    };
    let mut program: Shown =
        Harness::builder().with_size([900.0, 600.0]).build_ui_state(draw, (MemoryPanel::new(), None));
    let click = |program: &mut Shown, text: &str| {
        program.get_by_label(text).click();
        program.run_steps(4);
    };
    let says = |program: &Shown, text: &str| program.query_all_by_label_contains(text).next().is_some();
    let make = |gpu: &Manager, name: &'static str| {
        gpu.create_buffer(&BufferDesc::new(70_000, Usage::VERTEX).name(name)).unwrap()
    };
    for round in 0..20 {
        let gpu = manager();
        let granite = make(&gpu, "granite");
        program.state_mut().1 = Some(gpu);
        program.run_steps(4);
        if round == 0 {
            click(&mut program, "Objects");
        }
        click(&mut program, "granite");
        click(&mut program, "Mark now");
        assert!(says(&program, "0 new, 0 gone since"), "round {round}");
        drop(granite);
        program.state_mut().1 = None;
        let gpu = manager();
        let basalt = make(&gpu, "basalt");
        program.state_mut().1 = Some(gpu);
        program.run_steps(4);
        assert!(!says(&program, "gone since"), "round {round}: the mark is of another manager");
        click(&mut program, "Blocks");
        assert!(says(&program, "Point at an object"), "round {round}: nothing is selected");
        click(&mut program, "Objects");
        drop(basalt);
        program.state_mut().1 = None;
    }
}

/// An object is outlined in the pool that it is in.
#[test]
fn selected_objects_are_outlined_in_their_own_pool() {
    let gpu = manager();
    let granite = gpu.create_buffer(&BufferDesc::new(70_000, Usage::VERTEX).name("granite")).unwrap();
    let mut program = program(&gpu, [900.0, 600.0], egui::Theme::Dark);
    click(&mut program, "Blocks");
    let row = program.query_all_by_label_contains("block 0, bytes 0 to").next().unwrap();
    row.click();
    program.run_steps(4);
    let outlined = |program: &Program| {
        let drawn = picture(program, "outline.png").pixels;
        drawn.iter().filter(|pixel| pixel[..3] == [0xd5, 0x5e, 0x00]).count()
    };
    let own = outlined(&program);
    let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let textures: Vec<_> = (0..6).map(|_| gpu.create_texture(&desc).unwrap()).collect();
    look(&mut program);
    assert!(says(&program, "Block 5: 256 KiB"), "their pool is the fullest");
    let other = outlined(&program);
    assert!(own > other + 100, "{own} pixels where it is, {other} where it is not");
    drop((granite, textures));
}
