//! The table of live allocations.

use egui::{Align, Layout, ScrollArea, Ui, vec2};

use super::memory::{LiveView, Memory};
use crate::report::Bytes;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Serial,
    Name,
    Size,
}

const COLUMNS: [(Column, &str, f32); 3] =
    [(Column::Serial, "Idx", 60.0), (Column::Name, "Name", 300.0), (Column::Size, "Size", 90.0)];

/// The state of the table between frames.
#[derive(Default)]
pub(crate) struct Breakdown {
    filter: String,
    /// The column of the last clicked heading; `None` for the order of blocks.
    sorted_by: Option<Column>,
    is_ascending: bool,
}

impl Breakdown {
    pub(crate) fn show(&mut self, ui: &mut Ui, memory: &Memory) {
        ui.horizontal(|ui| {
            let label = ui.label("Filter");
            ui.text_edit_singleline(&mut self.filter).labelled_by(label.id);
        });
        let shown = self.rows(memory);
        let total = shown.iter().map(|found| found.size).sum();
        ui.label(format!("Total: {}", Bytes(total)));
        ui.horizontal(|ui| {
            for (column, name, width) in COLUMNS {
                if ui.add_sized([width, ui.spacing().interact_size.y], egui::Button::new(name)).clicked() {
                    self.is_ascending = self.sorted_by == Some(column) && !self.is_ascending;
                    self.sorted_by = Some(column);
                }
            }
        });
        let height = ui.text_style_height(&egui::TextStyle::Body);
        ScrollArea::vertical().id_source("breakdown").show_rows(ui, height, shown.len(), |ui, range| {
            // Rows have the height that the scroll area expects.
            ui.spacing_mut().interact_size.y = height;
            shown.get(range).into_iter().flatten().for_each(|found| row(ui, found, height));
        });
    }

    /// The allocations that pass the filter, in order.
    fn rows<'a>(&self, memory: &'a Memory) -> Vec<&'a LiveView> {
        let filter = self.filter.to_lowercase();
        let all = memory.types.iter().flat_map(|found| &found.blocks).flat_map(|block| &block.allocations);
        let mut shown: Vec<_> = all.filter(|found| found.name.to_lowercase().contains(&filter)).collect();
        match self.sorted_by {
            None => {}
            Some(Column::Serial) => shown.sort_by_key(|found| found.serial),
            Some(Column::Name) => shown.sort_by(|a, b| a.name.cmp(&b.name)),
            Some(Column::Size) => shown.sort_by_key(|found| found.size),
        }
        if self.sorted_by.is_some() && !self.is_ascending {
            shown.reverse();
        }
        shown
    }
}

fn row(ui: &mut Ui, found: &LiveView, height: f32) {
    ui.horizontal(|ui| {
        let texts = [found.serial.to_string(), found.name.clone(), Bytes(found.size).to_string()];
        for ((column, _, width), text) in COLUMNS.into_iter().zip(texts) {
            let left = Layout::left_to_right(Align::Center);
            let cell = ui.allocate_ui_with_layout(vec2(width, height), left, |ui| {
                ui.set_min_size(vec2(width, height));
                ui.add(egui::Label::new(text).truncate(true))
            });
            if let (Column::Name, Some(trace)) = (column, &found.trace) {
                cell.inner.on_hover_ui(|ui| _ = ui.label(trace.to_string()));
            }
        }
    });
}
