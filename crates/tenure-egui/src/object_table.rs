//! Each live object, to sort and to search.

use std::cmp::Ordering;
use std::collections::HashSet;

use egui::{Align, Label, Layout, Sense, TextEdit, Ui};
use egui_extras::{Column, TableBuilder, TableRow};
use tenure_core::LiveObject;

use crate::blocks::{Selected, describe};
use crate::snapshot::{Snapshot, own_bytes};
use crate::text::{bytes, counted, location, or_else};

/// The columns.
const COLUMNS: [(SortKey, &str); 6] = [
    (SortKey::Name, "Name"),
    (SortKey::Kind, "Kind"),
    (SortKey::Tag, "Tag"),
    (SortKey::Size, "Size"),
    (SortKey::Age, "Age"),
    (SortKey::Location, "Memory"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortKey {
    Name,
    Kind,
    Tag,
    Size,
    Age,
    Location,
}

impl SortKey {
    /// Whether a first click sorts in descending order: for numbers, because large ones matter most.
    const fn is_descending_first(self) -> bool {
        matches!(self, Self::Size | Self::Age)
    }

    fn compare(self, a: &LiveObject, b: &LiveObject) -> Ordering {
        match self {
            Self::Name => a.name.cmp(&b.name),
            Self::Kind => a.kind.to_string().cmp(&b.kind.to_string()),
            Self::Tag => a.tag.cmp(&b.tag),
            Self::Size => a.bytes.cmp(&b.bytes),
            Self::Age => b.frame.cmp(&a.frame),
            Self::Location => {
                let place =
                    |object: &LiveObject| (object.heap, object.pool_index, object.block, object.offset);
                place(a).cmp(&place(b))
            }
        }
    }
}

/// A moment to compare with.
#[derive(Debug)]
struct Mark {
    frame: u64,
    /// The ids of the objects at the mark.
    objects: HashSet<u64>,
    /// The number of newer objects.
    new: usize,
    /// The number of objects released since.
    gone: usize,
}

impl Mark {
    fn new(snapshot: &Snapshot) -> Self {
        let objects = snapshot.report.objects.iter().map(|object| object.id).collect();
        Self { frame: snapshot.report.stats.frames, objects, new: 0, gone: 0 }
    }

    fn is_new(&self, object: &LiveObject) -> bool {
        !self.objects.contains(&object.id)
    }

    fn compare_with(&mut self, snapshot: &Snapshot) {
        let objects = &snapshot.report.objects;
        self.new = objects.iter().filter(|object| self.is_new(object)).count();
        self.gone = self.objects.len().saturating_sub(objects.len() - self.new);
    }
}

/// The table of objects.
#[derive(Debug)]
pub(crate) struct ObjectTable {
    filter: String,
    key: SortKey,
    is_descending: bool,
    mark: Option<Mark>,
    /// "Mark now" was clicked.
    wants_mark: bool,
    only_new: bool,
    /// Indices of the report's objects, as they are shown; made anew when it or the choices change.
    order: Option<Vec<usize>>,
}

impl Default for ObjectTable {
    fn default() -> Self {
        Self {
            filter: String::new(),
            key: SortKey::Size,
            is_descending: true,
            mark: None,
            wants_mark: false,
            only_new: false,
            order: None,
        }
    }
}

impl ObjectTable {
    /// Adapts the table to a new report.
    pub(crate) fn refresh(&mut self, snapshot: &Snapshot) {
        self.order = None;
        self.mark.iter_mut().for_each(|mark| mark.compare_with(snapshot));
    }

    /// True if the current objects are to be marked.
    pub(crate) const fn wants_mark(&self) -> bool {
        self.wants_mark
    }

    /// Marks the current objects, if requested.
    pub(crate) fn take_mark(&mut self, snapshot: &Snapshot) {
        if std::mem::take(&mut self.wants_mark) {
            self.mark = Some(Mark::new(snapshot));
            (self.only_new, self.order) = (true, None);
        }
    }

    /// The object that was clicked, by its index.
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        selected: Option<&Selected>,
    ) -> Option<usize> {
        self.choices(ui);
        let order = self.order.take().unwrap_or_else(|| self.ordered(snapshot));
        let objects = order.iter().filter_map(|&index| snapshot.object(index));
        let sum = objects.fold(0_u64, |sum, object| sum.saturating_add(own_bytes(object)));
        ui.label(format!("{} with {}", counted(order.len() as u64, "object"), bytes(sum)));
        let clicked = self.table(ui, snapshot, selected, &order);
        // A click on a heading has asked for another order.
        self.order = clicked.sorts.is_none().then_some(order);
        if let Some(key) = clicked.sorts {
            self.is_descending =
                if key == self.key { !self.is_descending } else { key.is_descending_first() };
            self.key = key;
        }
        clicked.object
    }

    /// The filter, and the mark to compare with.
    fn choices(&mut self, ui: &mut Ui) {
        let mut has_changed = false;
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("Filter:");
            let hint =
                TextEdit::singleline(&mut self.filter).hint_text("name, tag or kind").desired_width(180.0);
            has_changed |= ui.add(hint).labelled_by(label.id).changed();
            let text =
                "Marks the live objects; the check box then lists only newer objects. A leak grows there.";
            self.wants_mark = ui.button("Mark now").on_hover_text(text).clicked();
            let Some(mark) = &self.mark else { return };
            let text = format!("only objects newer than the mark in frame {}", mark.frame);
            has_changed |= ui.checkbox(&mut self.only_new, text).changed();
            ui.label(format!("{} new, {} gone since", mark.new, mark.gone));
        });
        if has_changed {
            self.order = None;
        }
    }

    fn ordered(&self, snapshot: &Snapshot) -> Vec<usize> {
        let filter = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let mark = self.mark.as_ref().filter(|_| self.only_new);
        let is_shown = |object: &LiveObject| {
            mark.is_none_or(|mark| mark.is_new(object))
                && (filter.is_empty()
                    || has(&object.name)
                    || has(&object.tag)
                    || has(&object.kind.to_string()))
        };
        let all = snapshot.report.objects.iter().enumerate();
        let mut shown: Vec<_> = all.filter(|(_, object)| is_shown(object)).collect();
        shown.sort_by(|(_, a), (_, b)| {
            let order = self.key.compare(a, b);
            if self.is_descending { order.reverse() } else { order }
        });
        shown.into_iter().map(|(index, _)| index).collect()
    }

    fn table(
        &self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        selected: Option<&Selected>,
        order: &[usize],
    ) -> Clicked {
        let mut clicked = Clicked::default();
        let height = ui.text_style_height(&egui::TextStyle::Body) + 2.0;
        let text = Column::initial(90.0).at_least(40.0).clip(true).resizable(true);
        TableBuilder::new(ui)
            .striped(true)
            .sense(Sense::click())
            .auto_shrink([false, false])
            .column(Column::initial(170.0).at_least(60.0).clip(true).resizable(true))
            .columns(text, 4)
            .column(Column::remainder().at_least(60.0).clip(true))
            .header(height + 2.0, |mut row| {
                for (key, name) in COLUMNS {
                    row.col(|ui| self.heading(ui, key, name, &mut clicked.sorts));
                }
            })
            .body(|body| {
                body.rows(height, order.len(), |mut row| {
                    let Some(&index) = order.get(row.index()) else { return };
                    let Some(object) = snapshot.object(index) else { return };
                    row.set_selected(selected.is_some_and(|it| it.is(object)));
                    cells(&mut row, snapshot, object);
                    let response = row.response().on_hover_ui_at_pointer(|ui| describe(ui, snapshot, object));
                    if response.clicked() {
                        clicked.object = Some(index);
                    }
                });
            });
        clicked
    }

    fn heading(&self, ui: &mut Ui, key: SortKey, name: &str, sorts: &mut Option<SortKey>) {
        let arrow = match (key == self.key, self.is_descending) {
            (false, _) => "",
            (true, true) => " ⏷",
            (true, false) => " ⏶",
        };
        if ui.button(format!("{name}{arrow}")).clicked() {
            *sorts = Some(key);
        }
    }
}

/// The clicks in the table.
#[derive(Default)]
struct Clicked {
    sorts: Option<SortKey>,
    object: Option<usize>,
}

fn cells(row: &mut TableRow<'_, '_>, snapshot: &Snapshot, object: &LiveObject) {
    // Text that can be selected would take the row's clicks.
    let label = |text: String| Label::new(text).selectable(false);
    let mut text = |text: String| {
        row.col(|ui| _ = ui.add(label(text)));
    };
    text(or_else(&object.name, "(no name)").to_owned());
    text(object.kind.to_string());
    text(object.tag.clone());
    let number = |text: String| {
        move |ui: &mut Ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.add(label(text)));
        }
    };
    row.col(number(bytes(object.bytes)));
    row.col(number(counted(snapshot.age(object), "frame")));
    let heap = object.heap.map_or_else(String::new, |heap| format!(", heap {heap}"));
    let place = object.location.map_or_else(|| "none".to_owned(), |kind| location(kind).to_owned() + &heap);
    row.col(|ui| _ = ui.add(label(place)));
}
