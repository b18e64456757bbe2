//! Unexpected names, sizes and windows.

use egui::Theme;
use tenure_core::device::Usage;
use tenure_core::{BufferDesc, Queue};

use crate::program::{click, look, manager, program, says};

const TABS: [&str; 4] = ["Blocks", "Objects", "Waiting for release", "Memory heaps"];

#[test]
fn windows_of_any_size_are_drawn() {
    let gpu = manager();
    let stone = gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX).name("stone")).unwrap();
    for size in [[1.0, 1.0], [40.0, 900.0], [900.0, 30.0], [4000.0, 3000.0]] {
        let mut program = program(&gpu, [900.0, 600.0], Theme::Light);
        for tab in TABS {
            program.set_size([900.0, 600.0].into());
            program.run_steps(2);
            click(&mut program, tab);
            program.set_size(size.into());
            program.run_steps(3);
        }
    }
    drop(stone);
}

#[test]
fn names_are_shown_as_they_are() {
    let gpu = manager();
    let names = [String::new(), "a\nb\0c".to_owned(), "🦀{}%s\u{202e}".to_owned(), "long ".repeat(20_000)];
    let live: Vec<_> = names
        .iter()
        .map(|name| {
            gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX).name(name.clone()).tag("t")).unwrap()
        })
        .collect();
    let open = gpu.record(Queue::Graphics, "💥\n").unwrap();
    let mut program = program(&gpu, [900.0, 600.0], Theme::Dark);
    for tab in TABS {
        click(&mut program, tab);
    }
    click(&mut program, "Objects");
    assert!(says(&program, "(no name)") && says(&program, "{}%s"));
    drop((live, open));
}

/// The objects of a large game, in a few frames; and threads that work at the same time.
#[test]
fn many_objects_are_drawn_while_others_allocate() {
    let gpu = manager();
    let make = |size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).name("mesh")).unwrap();
    let live: Vec<_> = (0..20_000_u64).map(|index| make(256 + index % 5000)).collect();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let some: Vec<_> = (0..50).map(|index| make(300 + 70_000 * index)).collect();
                    drop(some);
                }
            });
        }
        let mut program = program(&gpu, [900.0, 600.0], Theme::Dark);
        for tab in TABS {
            click(&mut program, tab);
            look(&mut program);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    drop(live);
}
