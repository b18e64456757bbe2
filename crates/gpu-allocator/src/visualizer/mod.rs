//! Draws the content of an allocator with `egui` 0.24 to 0.27. Each API has an `AllocatorVisualizer`.

mod block;
mod breakdown;
mod memory;
mod windows;

use egui::Color32;

pub(crate) use self::memory::{BlockView, LiveView, Memory, MemoryTypeView};
pub(crate) use self::windows::Windows;

/// Free bytes: gray.
pub const DEFAULT_COLOR_ALLOCATION_TYPE_FREE: Color32 = Color32::from_rgb(159, 159, 159);
/// Allocations for buffers and linear images: blue.
pub const DEFAULT_COLOR_ALLOCATION_TYPE_LINEAR: Color32 = Color32::from_rgb(91, 206, 250);
/// Allocations for other images: pink.
pub const DEFAULT_COLOR_ALLOCATION_TYPE_NON_LINEAR: Color32 = Color32::from_rgb(250, 169, 184);

/// The colours of a block's map.
#[derive(Clone)]
pub struct ColorScheme {
    /// Free bytes.
    pub free_color: Color32,
    /// Allocations for buffers and linear images.
    pub linear_color: Color32,
    /// Allocations for other images.
    pub non_linear_color: Color32,
}

impl Default for ColorScheme {
    fn default() -> Self {
        Self {
            free_color: DEFAULT_COLOR_ALLOCATION_TYPE_FREE,
            linear_color: DEFAULT_COLOR_ALLOCATION_TYPE_LINEAR,
            non_linear_color: DEFAULT_COLOR_ALLOCATION_TYPE_NON_LINEAR,
        }
    }
}

/// Defines the visualizer of an API. Its `Allocator` must have the method `visualized`.
macro_rules! allocator_visualizer {
    () => {
        /// Draws an allocator's content with `egui`.
        ///
        /// Each call collects all live allocations, in O(n log n): some milliseconds for 10,000 allocations.
        pub struct AllocatorVisualizer {
            windows: $crate::visualizer::Windows,
        }

        #[allow(clippy::new_without_default, reason = "the original has no default")]
        impl AllocatorVisualizer {
            /// A visualizer without open windows.
            pub fn new() -> Self {
                Self { windows: $crate::visualizer::Windows::default() }
            }

            /// Sets the colours of block windows.
            pub fn set_color_scheme(&mut self, color_scheme: $crate::visualizer::ColorScheme) {
                self.windows.set_colors(color_scheme);
            }

            /// Draws the memory heaps, and the blocks of each memory type. A block's button *visualize* opens a
            /// window for
            /// [`render_memory_block_visualization_windows`](Self::render_memory_block_visualization_windows).
            pub fn render_memory_block_ui(&mut self, ui: &mut egui::Ui, alloc: &Allocator) {
                self.windows.blocks(ui, &alloc.visualized());
            }

            /// Draws [`render_memory_block_ui`](Self::render_memory_block_ui) in a window.
            pub fn render_memory_block_window(
                &mut self,
                ctx: &egui::Context,
                allocator: &Allocator,
                open: &mut bool,
            ) {
                egui::Window::new("Allocator Memory Blocks")
                    .open(open)
                    .show(ctx, |ui| self.render_memory_block_ui(ui, allocator));
            }

            /// Draws a window with the map of each selected block.
            pub fn render_memory_block_visualization_windows(
                &mut self,
                ctx: &egui::Context,
                allocator: &Allocator,
            ) {
                if self.windows.is_any_open() {
                    self.windows.maps(ctx, &allocator.visualized());
                }
            }

            /// Draws a table of live allocations that can be sorted and searched.
            pub fn render_breakdown_ui(&mut self, ui: &mut egui::Ui, allocator: &Allocator) {
                self.windows.breakdown(ui, &allocator.visualized());
            }

            /// Draws [`render_breakdown_ui`](Self::render_breakdown_ui) in a window.
            pub fn render_breakdown_window(
                &mut self,
                ctx: &egui::Context,
                allocator: &Allocator,
                open: &mut bool,
            ) {
                egui::Window::new("Allocator Breakdown")
                    .open(open)
                    .show(ctx, |ui| self.render_breakdown_ui(ui, allocator));
            }
        }
    };
}
pub(crate) use allocator_visualizer;
