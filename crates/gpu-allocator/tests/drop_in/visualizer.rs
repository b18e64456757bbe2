//! The visualizer without a screen shows the live allocations. The same program compiles with the original.

use egui::epaint::Shape;
use egui::{Color32, Context, Event, PointerButton, Pos2, RawInput, Rect};
use gpu_allocator::visualizer::{
    ColorScheme, DEFAULT_COLOR_ALLOCATION_TYPE_FREE, DEFAULT_COLOR_ALLOCATION_TYPE_LINEAR,
    DEFAULT_COLOR_ALLOCATION_TYPE_NON_LINEAR,
};
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, Allocator, AllocatorVisualizer};
use gpu_allocator::{AllocationSizes, MemoryLocation};

use crate::fake::Driver;
use crate::{MIB, ours};

/// The output of a frame.
struct Frame {
    /// Texts and their positions.
    texts: Vec<(String, Pos2)>,
    /// Filled rectangles.
    rects: Vec<(Rect, Color32)>,
}

impl Frame {
    fn says(&self, text: &str) -> bool {
        self.texts.iter().any(|(found, _)| found.contains(text))
    }

    fn position(&self, text: &str) -> Pos2 {
        let found = self.texts.iter().find(|(found, _)| found.contains(text));
        found.unwrap_or_else(|| panic!("{text:?} is not among {:?}", self.texts)).1
    }

    /// The total area of a colour.
    fn area(&self, color: Color32) -> f32 {
        let shown = self.rects.iter().filter(|(rect, found)| *found == color && rect.is_positive());
        shown.map(|(rect, _)| rect.area()).sum()
    }

    fn add(&mut self, shape: Shape, clip: Rect) {
        match shape {
            Shape::Vec(all) => all.into_iter().for_each(|shape| self.add(shape, clip)),
            Shape::Text(text) => {
                let at = text.pos + text.galley.rect.size() / 2.0;
                self.texts.push((text.galley.text().to_owned(), at));
            }
            Shape::Rect(rect) => self.rects.push((rect.rect.intersect(clip), rect.fill)),
            _ => {}
        }
    }
}

/// A program's window with the visualizer.
struct Screen {
    context: Context,
    time: f64,
}

impl Screen {
    fn new() -> Self {
        Self { context: Context::default(), time: 0.0 }
    }

    fn frame(&mut self, events: Vec<Event>, draw: impl FnMut(&Context)) -> Frame {
        self.time += 0.5;
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, [1200.0, 900.0].into()));
        let input = RawInput { screen_rect, events, time: Some(self.time), ..RawInput::default() };
        let output = self.context.run(input, draw);
        let mut frame = Frame { texts: Vec::new(), rects: Vec::new() };
        output.shapes.into_iter().for_each(|clipped| frame.add(clipped.shape, clipped.clip_rect));
        frame
    }

    /// Clicks the element with this text, and draws until the effect is visible.
    fn click(&mut self, text: &str, mut draw: impl FnMut(&Context)) -> Frame {
        let pos = self.frame(Vec::new(), &mut draw).position(text);
        let button = |pressed| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(pos)], &mut draw);
        self.frame(vec![button(true)], &mut draw);
        self.frame(vec![button(false)], &mut draw);
        (0..3).for_each(|_| _ = self.frame(Vec::new(), &mut draw));
        self.frame(Vec::new(), draw)
    }
}

fn allocator() -> Allocator {
    ours::allocator(Driver::discrete(1024 * MIB, 1024 * MIB), AllocationSizes::default())
}

fn named(allocator: &mut Allocator, name: &str, size: u64, linear: bool) -> Allocation {
    let desc = ours::desc(size, 256, MemoryLocation::GpuOnly, linear);
    allocator.allocate(&AllocationCreateDesc { name, ..desc }).unwrap()
}

#[test]
fn the_breakdown_lists_live_allocations() {
    let mut allocator = allocator();
    let live = [
        named(&mut allocator, "rock", 3 * MIB, true),
        named(&mut allocator, "a tree", 5 * MIB, true),
        named(&mut allocator, "rock texture", MIB, false),
    ];
    let mut visualizer = AllocatorVisualizer::new();
    let mut screen = Screen::new();
    let mut draw = |context: &Context| {
        visualizer.render_breakdown_window(context, &allocator, &mut true);
    };
    screen.frame(Vec::new(), &mut draw);
    let frame = screen.frame(Vec::new(), &mut draw);
    assert!(frame.says("Total: 9.00 MB") && frame.says("rock") && frame.says("5.00 MB"));
    let is_above = |frame: &Frame, a: &str, b: &str| frame.position(a).y < frame.position(b).y;
    let frame = screen.click("Size", &mut draw);
    assert!(is_above(&frame, "5.00 MB", "3.00 MB") && is_above(&frame, "3.00 MB", "1.00 MB"));
    let frame = screen.click("Size", &mut draw);
    assert!(is_above(&frame, "1.00 MB", "3.00 MB"));
    screen.click("Name", &mut draw);
    let frame = screen.click("Name", &mut draw);
    assert!(is_above(&frame, "a tree", "rock"));
    for allocation in live {
        allocator.free(allocation).unwrap();
    }
    let mut draw = |context: &Context| visualizer.render_breakdown_window(context, &allocator, &mut true);
    let frame = screen.frame(Vec::new(), &mut draw);
    assert!(frame.says("Total: 0.00 B") && !frame.says("rock"));
}

/// Opens all lists down to the map of a block, then frees everything, and the block is released.
#[test]
fn the_map_of_a_block_shows_live_allocations() {
    let colors = ColorScheme {
        free_color: Color32::from_rgb(1, 2, 3),
        linear_color: Color32::from_rgb(4, 5, 6),
        non_linear_color: Color32::from_rgb(7, 8, 9),
    };
    let mut allocator = allocator();
    let sizes = [(8192, true), (4096, false), (4096, true)];
    let live = sizes.map(|(size, linear)| named(&mut allocator, "thing", size, linear));
    let block = allocator.generate_report().blocks[0].size;
    let mut visualizer = AllocatorVisualizer::new();
    visualizer.set_color_scheme(colors.clone());
    let mut screen = Screen::new();
    let mut draw = |context: &Context, allocator: &Allocator| {
        egui::CentralPanel::default().show(context, |ui| visualizer.render_memory_block_ui(ui, allocator));
        visualizer.render_memory_block_visualization_windows(context, allocator);
    };
    screen.click("Memory Heaps (", |context| draw(context, &allocator));
    screen.click("Memory Types: (", |context| draw(context, &allocator));
    screen.click("(1 blocks)", |context| draw(context, &allocator));
    let frame = screen.click("Block 0 of pool", |context| draw(context, &allocator));
    assert!(frame.says("buffer image granularity") && frame.says("allocations: 3"));
    assert!(frame.says(&format!("total block size: {} KiB", block / 1024)));
    let frame = screen.click("visualize", |context| draw(context, &allocator));
    assert!(frame.says("Bytes per line"));
    let [linear, other] = [colors.linear_color, colors.non_linear_color].map(|color| frame.area(color));
    assert!((2.8..3.2).contains(&(linear / other)), "{linear} and {other}");
    assert!(
        frame.area(colors.free_color) > linear + other,
        "each row is free where nothing is drawn over it"
    );
    for allocation in live {
        allocator.free(allocation).unwrap();
    }
    // An empty block that is kept.
    let frame = screen.frame(Vec::new(), |context| draw(context, &allocator));
    assert!(frame.area(colors.linear_color) == 0.0);
}

#[test]
fn colors_are_those_of_the_original() {
    let theirs = original::visualizer::ColorScheme::default();
    let ours = ColorScheme::default();
    assert_eq!(
        [ours.free_color, ours.linear_color, ours.non_linear_color],
        [theirs.free_color, theirs.linear_color, theirs.non_linear_color]
    );
    assert_eq!(
        [
            DEFAULT_COLOR_ALLOCATION_TYPE_FREE,
            DEFAULT_COLOR_ALLOCATION_TYPE_LINEAR,
            DEFAULT_COLOR_ALLOCATION_TYPE_NON_LINEAR
        ],
        [
            original::visualizer::DEFAULT_COLOR_ALLOCATION_TYPE_FREE,
            original::visualizer::DEFAULT_COLOR_ALLOCATION_TYPE_LINEAR,
            original::visualizer::DEFAULT_COLOR_ALLOCATION_TYPE_NON_LINEAR
        ]
    );
}

/// The same program with each crate.
macro_rules! all_windows {
    ($name:ident, $krate:ident) => {
        #[test]
        fn $name() {
            let mut allocator =
                crate::$name::allocator(Driver::discrete(1024 * MIB, 1024 * MIB), Default::default());
            let desc = crate::$name::desc(MIB, 256, $krate::MemoryLocation::GpuOnly, true);
            let allocation = allocator.allocate(&desc).unwrap();
            let mut visualizer = $krate::vulkan::AllocatorVisualizer::new();
            visualizer.set_color_scheme($krate::visualizer::ColorScheme::default());
            let mut screen = Screen::new();
            for _ in 0..3 {
                let frame = screen.frame(Vec::new(), |context| {
                    egui::CentralPanel::default().show(context, |ui| {
                        visualizer.render_memory_block_ui(ui, &allocator);
                        visualizer.render_breakdown_ui(ui, &allocator);
                    });
                    visualizer.render_memory_block_window(context, &allocator, &mut true);
                    visualizer.render_memory_block_visualization_windows(context, &allocator);
                    visualizer.render_breakdown_window(context, &allocator, &mut true);
                });
                // The first frame only measures.
                let is_drawn = frame.says("Allocator Breakdown") && frame.says("Allocator Memory Blocks");
                assert!(is_drawn || screen.time < 1.0);
            }
            allocator.free(allocation).unwrap();
        }
    };
}

all_windows!(ours, gpu_allocator);
all_windows!(theirs, original);

/// An open list stays open when blocks are added or removed; its title counts them.
#[test]
fn open_lists_stay_open() {
    let mut allocator = allocator();
    let many: Vec<_> = (0..40).map(|_| named(&mut allocator, "rock", 8 * MIB, true)).collect();
    let (mut visualizer, mut screen) = (AllocatorVisualizer::new(), Screen::new());
    let mut draw = |context: &Context| visualizer.render_memory_block_window(context, &allocator, &mut true);
    screen.frame(Vec::new(), &mut draw);
    screen.click("Memory Types", &mut draw);
    let frame = screen.click("Type: 0", &mut draw);
    assert!(frame.says("block count"));
    many.into_iter().skip(1).for_each(|allocation| allocator.free(allocation).unwrap());
    let mut draw = |context: &Context| visualizer.render_memory_block_window(context, &allocator, &mut true);
    let frame = screen.frame(Vec::new(), &mut draw);
    assert!(frame.says("block count"), "{:?}", frame.texts);
}
