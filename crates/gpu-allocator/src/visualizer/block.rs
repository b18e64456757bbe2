//! The map of a block, with a selectable number of bytes per row.

use egui::{Color32, DragValue, Pos2, Rect, Response, ScrollArea, Sense, Stroke, Ui, pos2, vec2};

use super::ColorScheme;
use super::memory::{BlockView, LiveView};

/// The state of a map between frames.
pub(crate) struct BlockMap {
    /// Bytes per row.
    width: u64,
    shows_traces: bool,
}

impl Default for BlockMap {
    fn default() -> Self {
        Self { width: 1024, shows_traces: false }
    }
}

impl BlockMap {
    pub(crate) fn show(&mut self, ui: &mut Ui, block: &BlockView, colors: &ColorScheme, keeps_traces: bool) {
        ui.label(format!("Block size: {} KiB", block.size / 1024));
        if keeps_traces {
            ui.checkbox(&mut self.shows_traces, "Show backtraces");
        }
        ui.horizontal(|ui| {
            ui.add(DragValue::new(&mut self.width).clamp_range(1..=1 << 30).speed(1024.0));
            ui.label("Bytes per line");
        });
        ui.separator();
        let width = self.width.max(1);
        let rows = usize::try_from(block.size.div_ceil(width)).unwrap_or(usize::MAX);
        let height = ui.text_style_height(&egui::TextStyle::Body);
        ScrollArea::vertical().id_source("map").auto_shrink([false, false]).show_rows(
            ui,
            height,
            rows,
            |ui, range| {
                for row in range {
                    let from = (row as u64).saturating_mul(width);
                    let row = Row { block, from, width };
                    let response = row.draw(ui, colors, height);
                    if let Some(found) = row.under_pointer(&response) {
                        response.on_hover_ui_at_pointer(|ui| self.describe(ui, found));
                    }
                }
            },
        );
    }

    fn describe(&self, ui: &mut Ui, found: &LiveView) {
        ui.label(format!("id: {}", found.serial));
        ui.label(format!("offset: 0x{:x}", found.offset));
        ui.label(format!("size: 0x{:x}", found.size));
        ui.label(format!("allocation_type: {}", if found.is_linear { "Linear" } else { "Non-Linear" }));
        if !found.name.is_empty() {
            ui.label(format!("name: {}", found.name));
        }
        if let Some(trace) = found.trace.as_ref().filter(|_| self.shows_traces) {
            ui.label(trace.to_string());
        }
    }
}

/// A row of a map.
struct Row<'a> {
    block: &'a BlockView,
    /// The first byte.
    from: u64,
    /// Bytes of a full row.
    width: u64,
}

impl Row<'_> {
    fn to(&self) -> u64 {
        self.from.saturating_add(self.width).min(self.block.size)
    }

    /// Horizontal position of a byte, as a fraction of a full row.
    fn share(&self, byte: u64) -> f32 {
        (byte.saturating_sub(self.from) as f64 / self.width as f64) as f32
    }

    fn draw(&self, ui: &mut Ui, colors: &ColorScheme, height: f32) -> Response {
        let full = ui.available_width();
        let (rect, response) =
            ui.allocate_exact_size(vec2(full * self.share(self.to()), height), Sense::hover());
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        painter.rect_filled(rect, 0.0, colors.free_color);
        let x = |byte: u64| rect.left() + full * self.share(byte.min(self.to()));
        let mut drawn_to = f32::NEG_INFINITY;
        for found in self.block.allocations.get(self.first_after(self.from)..).unwrap_or_default() {
            if found.offset >= self.to() {
                break;
            }
            let (left, right) = (x(found.offset.max(self.from)), x(end(found)));
            // An allocation within the same pixel as the previous one is invisible.
            if right - drawn_to < 0.5 {
                continue;
            }
            drawn_to = right;
            let shape = Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()));
            let color = if found.is_linear { colors.linear_color } else { colors.non_linear_color };
            painter.rect(shape, 0.0, color, Stroke::new(1.0, Color32::BLACK));
        }
        response
    }

    /// The index in the block of the first allocation that ends after a byte.
    fn first_after(&self, byte: u64) -> usize {
        self.block.allocations.partition_point(|found| end(found) <= byte)
    }

    fn under_pointer(&self, response: &Response) -> Option<&LiveView> {
        let Pos2 { x, .. } = response.hover_pos()?;
        let share = f64::from((x - response.rect.left()) / response.rect.width().max(1.0)).clamp(0.0, 1.0);
        let byte = self.from + (share * (self.to() - self.from) as f64) as u64;
        self.block.allocations.get(self.first_after(byte)).filter(|found| found.offset <= byte)
    }
}

fn end(found: &LiveView) -> u64 {
    found.offset.saturating_add(found.size)
}
