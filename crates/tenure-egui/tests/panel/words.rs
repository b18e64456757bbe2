//! Texts of the panel, and effects of clicks.

use egui_kittest::kittest::Queryable;
use tenure_core::device::{Format, Usage};
use tenure_core::{BufferDesc, CompactionBudget, Queue, TextureDesc, TextureViewDesc};
use tenure_egui::MemoryPanel;

use crate::program::{Program, click, look, manager, program, says};

const BUDGET: CompactionBudget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };

fn shown(gpu: &crate::program::Manager) -> Program {
    program(gpu, [900.0, 600.0], egui::Theme::Dark)
}

fn bytes(count: u64) -> String {
    humansize::format_size(count, humansize::BINARY)
}

#[test]
fn the_heading_equals_the_counts_of_the_manager() {
    let gpu = manager();
    let mut program = shown(&gpu);
    let mut live = Vec::new();
    for round in 0_u64..6 {
        live.push(gpu.create_buffer(&BufferDesc::new(300_000 * (round + 1), Usage::VERTEX)).unwrap());
        let recording = gpu.record(Queue::Graphics, "frame").unwrap();
        let _commands_name_it = live[0].offset();
        if round % 2 == 1 {
            live.remove(0);
        }
        recording.submit().unwrap();
        look(&mut program);
        let stats = gpu.stats();
        assert!(says(&program, &format!("{} reserved", bytes(stats.reserved))), "round {round}");
        assert!(says(&program, &format!("{} waiting for release", bytes(stats.pending_bytes))));
        let noun = if stats.live_objects == 1 { "object" } else { "objects" };
        assert!(says(&program, &format!("{} {noun} live", stats.live_objects)));
    }
}

#[test]
fn heaps_show_their_budget_and_their_parts() {
    let gpu = manager();
    let stones = [1, 2].map(|mib| {
        let desc = BufferDesc::new(mib << 20, Usage::VERTEX).tag("terrain");
        gpu.create_buffer(&desc).unwrap()
    });
    let mut program = shown(&gpu);
    look(&mut program);
    let heap = &gpu.memory().heaps[0];
    let budget = heap.budget.unwrap();
    let text = format!("the process uses {} of a budget of {}", bytes(heap.usage), bytes(budget));
    assert!(says(&program, &text), "{text}");
    assert!(says(&program, &format!("allocated from blocks {}", bytes(heap.used))));
    assert!(says(&program, "terrain: 3 MiB in 2 objects"));
    drop(stones);
}

#[test]
fn a_click_on_an_object_marks_it_in_its_block() {
    let gpu = manager();
    let make = |name: &'static str, size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name(name));
    let rocks = [make("granite", 70_000).unwrap(), make("basalt", 90_000).unwrap()];
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    assert!(says(&program, "2 objects with 156.25 KiB"));
    // The largest comes first.
    let top = |program: &Program, name: &str| program.get_by_label(name).rect().top();
    assert!(top(&program, "basalt") < top(&program, "granite"));
    click(&mut program, "Name");
    assert!(top(&program, "basalt") < top(&program, "granite"), "in alphabetical order");
    click(&mut program, "Name ⏶");
    assert!(top(&program, "granite") < top(&program, "basalt"));
    click(&mut program, "granite");
    click(&mut program, "Blocks");
    let place = rocks[0].offset();
    assert!(says(&program, &format!("at byte {place}")) && says(&program, "granite"));
    assert!(says(&program, "Block 0: 128 KiB, 53.4 % given out, 1 object"));
    let [granite, basalt] = rocks;
    drop(granite);
    look(&mut program);
    assert!(says(&program, "granite is gone."));
    drop(basalt);
}

#[test]
fn objects_are_found_by_typed_words() {
    let gpu = manager();
    let make = |name: &'static str, tag: &'static str| {
        gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX).name(name).tag(tag)).unwrap()
    };
    let all = [make("Granite", "terrain"), make("sword", "props"), make("shield", "props")];
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    let mut typed = |text: &str| {
        let field = program.get_by_label("Filter:");
        field.focus();
        program.run_steps(2);
        program.get_by_label("Filter:").type_text(text);
        program.run_steps(3);
        ["Granite", "sword", "shield"].map(|name| says(&program, name))
    };
    assert_eq!(typed("gran"), [true, false, false]);
    assert_eq!(typed("ate"), [false; 3], "granate");
    drop(all);
}

#[test]
fn objects_newer_than_the_mark_are_shown_alone() {
    let gpu = manager();
    let make =
        |name: &'static str| gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX).name(name)).unwrap();
    let old = make("granite");
    let gone = make("basalt");
    gpu.begin_frame().unwrap().end().unwrap();
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    click(&mut program, "Mark now");
    assert!(says(&program, "0 new, 0 gone since") && !says(&program, "granite"));
    gpu.begin_frame().unwrap().end().unwrap();
    gpu.begin_frame().unwrap().end().unwrap();
    let new = make("slate");
    drop(gone);
    look(&mut program);
    assert!(says(&program, "1 new, 1 gone since"));
    assert!(says(&program, "slate") && !says(&program, "granite"));
    drop((old, new));
}

/// Objects are distinguished by identity: within a frame, in programs without frames, and if the panel shows
/// the same of them.
#[test]
fn objects_since_the_mark_are_new_without_frames() {
    let gpu = manager();
    let make = || gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX).name("twin")).unwrap();
    let old = make();
    let gone = make();
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    click(&mut program, "Mark now");
    drop(gone);
    gpu.reclaim().unwrap();
    // It takes the place of the released object.
    let new = [make(), make()];
    look(&mut program);
    assert!(says(&program, "2 new, 1 gone since") && says(&program, "2 objects with 9.77 KiB"));
    drop((old, new));
}

/// A selected object stays selected after a move, and similar objects are not selected.
#[test]
fn a_selected_object_is_found_again_where_it_has_moved() {
    let gpu = manager();
    let desc = BufferDesc::new(40_000, Usage::VERTEX).movable();
    let make = |index: u64| {
        let name = if index.is_multiple_of(20) { format!("kept {index}") } else { "twin".to_owned() };
        gpu.create_buffer(&desc.clone().name(name)).unwrap()
    };
    let mut all: Vec<_> = (0..200).map(make).collect();
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    click(&mut program, "Name");
    click(&mut program, "kept 180");
    click(&mut program, "Blocks");
    let place = || {
        let report = gpu.report();
        let found = report.objects.iter().find(|object| object.name == "kept 180").unwrap();
        (found.block.unwrap(), found.offset.unwrap())
    };
    let text = |(block, offset)| format!("block {block} at byte {offset}");
    let before = place();
    assert!(says(&program, &text(before)));
    let mut index = 0;
    all.retain(|_| (index % 20 == 0, index += 1).0);
    for _ in 0..50 {
        gpu.begin_frame().unwrap().end().unwrap();
        gpu.compact(BUDGET).unwrap();
    }
    assert_ne!(place(), before, "it has moved");
    look(&mut program);
    assert!(says(&program, &text(place())) && says(&program, "kept 180"));
    drop(all);
    look(&mut program);
    assert!(says(&program, "kept 180 is gone."));
}

#[test]
fn holders_of_dropped_objects_are_named() {
    let gpu = manager();
    let mut program = shown(&gpu);
    click(&mut program, "Waiting for release");
    assert!(says(&program, "Nothing waits."));
    let mesh = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX)).unwrap();
    let forgotten = gpu.record(Queue::Graphics, "minimap").unwrap();
    let _commands_name_it = mesh.offset();
    drop(mesh);
    look(&mut program);
    assert!(says(&program, "minimap") && says(&program, "the open recordings"));
    assert!(!says(&program, "⚠"));
    (0..4).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    look(&mut program);
    assert!(says(&program, "⚠ 4 frames"));
    forgotten.submit().unwrap();
    gpu.begin_frame().unwrap().end().unwrap();
    look(&mut program);
    assert!(says(&program, "of queue 0, which has completed"));
}

#[test]
fn resources_kept_by_views_are_listed() {
    let gpu = manager();
    let mut program = shown(&gpu);
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = gpu.create_texture(&desc).unwrap();
    let view = gpu.create_texture_view(&grass, &TextureViewDesc::sampled().name("meadow")).unwrap();
    click(&mut program, "Waiting for release");
    assert!(!says(&program, "grass"));
    drop(grass);
    (0..2).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    look(&mut program);
    assert!(says(&program, "grass") && says(&program, "2 frames ago") && says(&program, "meadow"));
    drop(view);
    look(&mut program);
    assert!(!says(&program, "grass"));
}

#[test]
fn a_paused_panel_shows_earlier_counts() {
    let gpu = manager();
    let mut program = shown(&gpu);
    click(&mut program, "Pause");
    let stone = gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX)).unwrap();
    look(&mut program);
    assert!(says(&program, "0 objects live"));
    click(&mut program, "Pause");
    look(&mut program);
    assert!(says(&program, "1 object live"));
    drop(stone);
}

#[test]
fn a_panel_of_another_manager_is_reset() {
    let gpu = manager();
    let stone = gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX).name("stone")).unwrap();
    let mut program = shown(&gpu);
    click(&mut program, "Objects");
    click(&mut program, "stone");
    program.state_mut().gpu = manager();
    program.run_steps(1);
    assert!(says(&program, "0 objects live") && !says(&program, "stone"));
    click(&mut program, "Blocks");
    assert!(says(&program, "No pool has a block."));
    drop(stone);
}

/// In a window that can be closed; frames are recorded in the meantime.
#[test]
fn a_window_is_closed_by_its_user() {
    let gpu = manager();
    let mut panel = MemoryPanel::new();
    let mut is_open = true;
    let context = egui::Context::default();
    let draw = |is_open: &mut bool, panel: &mut MemoryPanel| {
        gpu.begin_frame().unwrap().end().unwrap();
        panel.end_frame(&gpu);
        let output = context.run(egui::RawInput::default(), |context| panel.window(context, &gpu, is_open));
        output.shapes.len()
    };
    let shapes = draw(&mut is_open, &mut panel);
    let shapes = shapes.max(draw(&mut is_open, &mut panel));
    assert!(is_open && shapes > 5, "{shapes} shapes");
    is_open = false;
    for _ in 0..700 {
        draw(&mut is_open, &mut panel);
    }
    assert!(!is_open && draw(&mut is_open, &mut panel) < shapes);
}
