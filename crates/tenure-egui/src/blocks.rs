//! The blocks of a pool, byte by byte.

use egui::{
    Color32, ComboBox, Label, Rect, Response, ScrollArea, Sense, Slider, Stroke, StrokeKind, Ui, pos2, vec2,
};
use tenure_core::LiveObject;

use crate::block_rows::{BlockRows, Row};
use crate::colours::{self, MARK, free, of_age};
use crate::heaps::swatch;
use crate::snapshot::{BlockView, PoolView, Snapshot};
use crate::text::{bytes, counted, describe_picture, location, names, or_else, shortened};

/// The property that colours distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Colouring {
    #[default]
    Tag,
    Kind,
    Age,
}

/// The object that is outlined.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    id: u64,
    name: String,
    /// Its index in the snapshot that is shown; `None` if it is gone.
    index: Option<usize>,
}

impl Selected {
    /// One of the report's objects.
    pub(crate) fn new(snapshot: &Snapshot, index: usize) -> Option<Self> {
        let object = snapshot.object(index)?;
        Some(Self { id: object.id, name: object.name.clone(), index: Some(index) })
    }

    /// Finds it in another snapshot. O(objects).
    pub(crate) fn find_in(&mut self, snapshot: &Snapshot) {
        self.index = snapshot.report.objects.iter().position(|object| object.id == self.id);
    }

    pub(crate) const fn is(&self, object: &LiveObject) -> bool {
        self.id == object.id
    }

    /// The same, if it is in that pool.
    fn object_in<'a>(&self, pool: Option<usize>, snapshot: &'a Snapshot) -> Option<&'a LiveObject> {
        self.object(snapshot).filter(|object| object.pool_index == pool)
    }

    /// As it is now.
    fn object<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a LiveObject> {
        snapshot.object(self.index?)
    }
}

/// The map of blocks.
#[derive(Debug)]
pub(crate) struct BlockMap {
    /// The index of the pool that is shown; `None` until one is chosen: the one that gives out most.
    pool: Option<usize>,
    colouring: Colouring,
    /// The rows of the largest block.
    rows: u64,
    /// The map scrolls to the selected object.
    scrolls: bool,
}

impl Default for BlockMap {
    fn default() -> Self {
        Self { pool: None, colouring: Colouring::default(), rows: 4, scrolls: false }
    }
}

impl BlockMap {
    /// Shows the pool of an object, and its bytes.
    pub(crate) fn reveal(&mut self, object: &LiveObject) {
        if let Some(pool) = object.pool_index {
            (self.pool, self.scrolls) = (Some(pool), true);
        }
    }

    pub(crate) fn show(&mut self, ui: &mut Ui, snapshot: &Snapshot, selected: &mut Option<Selected>) {
        let number = self.pool.or_else(|| snapshot.fullest_pool());
        self.choices(ui, snapshot, number);
        details(ui, snapshot, selected.as_ref());
        let number = self.pool.or(number);
        let shown = number.and_then(|number| snapshot.pools.get(number));
        let Some(pool) = shown.filter(|pool| !pool.blocks.is_empty()) else {
            ui.label(if shown.is_some() { "The pool has no block." } else { "No pool has a block." });
            return;
        };
        self.legend(ui, snapshot, pool);
        ui.separator();
        let rows = BlockRows::new(&pool.blocks, self.rows);
        let height = ui.text_style_height(&egui::TextStyle::Body).max(12.0);
        let mut area = ScrollArea::vertical().id_salt(("map", number)).auto_shrink([false, false]);
        if std::mem::take(&mut self.scrolls)
            && let Some(object) = selected.as_ref().and_then(|selected| selected.object_in(number, snapshot))
            && let Some(row) = row_of(object, pool, &rows)
        {
            let step = height + ui.spacing().item_spacing.y;
            area = area.vertical_scroll_offset((row as f32 * step - 3.0 * step).max(0.0));
        }
        area.show_rows(ui, height, rows.len(), |ui, range| {
            for row in range {
                match rows.row(row, &pool.blocks) {
                    Some(Row::Heading { block }) => heading(ui, pool, block),
                    Some(Row::Bytes { block, from, to }) => {
                        let Some(block) = pool.blocks.get(block) else { continue };
                        let part = Part { pool: number, block, from, to, row_bytes: rows.bytes };
                        if let Some(object) = self.bytes_row(ui, snapshot, &part, height, selected.as_ref()) {
                            *selected = Selected::new(snapshot, object);
                        }
                    }
                    None => {}
                }
            }
        });
    }

    /// Pool, colours and scale.
    fn choices(&mut self, ui: &mut Ui, snapshot: &Snapshot, shown: Option<usize>) {
        ui.horizontal_wrapped(|ui| {
            let title = |pool: usize| snapshot.pools.get(pool).map_or("", |pool| pool.title.as_str());
            let chosen = shown.map_or("", title);
            ComboBox::from_id_salt("pool").width(320.0).selected_text(chosen).show_ui(ui, |ui| {
                for pool in 0..snapshot.pools.len() {
                    if ui.selectable_label(shown == Some(pool), title(pool)).clicked() {
                        self.pool = Some(pool);
                    }
                }
            });
            ui.label("Colours:");
            ui.selectable_value(&mut self.colouring, Colouring::Tag, "tag");
            ui.selectable_value(&mut self.colouring, Colouring::Kind, "kind");
            ui.selectable_value(&mut self.colouring, Colouring::Age, "age");
            ui.add(Slider::new(&mut self.rows, 1..=256).logarithmic(true).text("rows of the largest block"));
        });
    }

    fn legend(&self, ui: &mut Ui, snapshot: &Snapshot, pool: &PoolView) {
        if pool.holds_blocks {
            ui.weak("Its allocations are blocks of the pool of small buffers, which has the objects.");
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let groups = match self.colouring {
                Colouring::Tag => &snapshot.tags.all[..],
                Colouring::Kind => &snapshot.kinds.all[..],
                Colouring::Age => {
                    for (frames, text) in
                        [(0, "new"), (256, "256 frames"), (65_536, "65,536 frames and more")]
                    {
                        swatch(ui, of_age(frames));
                        ui.label(text);
                    }
                    &[]
                }
            };
            for (group, (text, ..)) in groups.iter().enumerate() {
                swatch(ui, colours::of_group(group));
                ui.label(shortened(text));
            }
            swatch(ui, free(ui.visuals())[1]);
            ui.label("free, waiting for release, or the manager's own");
        });
    }

    /// Draws some bytes of a block. The object that was clicked, by its index.
    fn bytes_row(
        &self,
        ui: &mut Ui,
        snapshot: &Snapshot,
        part: &Part<'_>,
        height: f32,
        selected: Option<&Selected>,
    ) -> Option<usize> {
        let size = vec2(ui.available_width() * part.share(part.to), height);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        describe_picture(&response, || part.text());
        if !ui.is_rect_visible(rect) {
            return None;
        }
        let painter = ui.painter().with_clip_rect(rect);
        painter.rect_filled(rect, 0.0, free(ui.visuals())[1]);
        for (index, shown) in part.visible(snapshot, rect) {
            painter.rect_filled(shown, 0.0, self.colour(snapshot, index));
            // A gap between neighbours of one colour, where there is room for it.
            if shown.width() >= 3.0 {
                painter.vline(
                    shown.right() - 0.5,
                    shown.y_range(),
                    Stroke::new(1.0, ui.visuals().panel_fill),
                );
            }
        }
        // By itself: where objects share a pixel, one of them is drawn.
        let marked = selected.and_then(|selected| selected.object_in(part.pool, snapshot));
        if let Some(marked) = marked.and_then(|marked| part.place_of(marked, rect)) {
            painter.rect_stroke(marked, 0.0, Stroke::new(2.0, MARK), StrokeKind::Inside);
        }
        let found = part.object_at(&response, snapshot);
        if let Some(object) = found.and_then(|index| snapshot.object(index)) {
            response.clone().on_hover_ui_at_pointer(|ui| describe(ui, snapshot, object));
        }
        found.filter(|_| response.clicked())
    }

    fn colour(&self, snapshot: &Snapshot, index: usize) -> Color32 {
        match self.colouring {
            Colouring::Tag => snapshot.tags.colour(index),
            Colouring::Kind => snapshot.kinds.colour(index),
            Colouring::Age => snapshot.object(index).map_or(colours::REST, |it| of_age(snapshot.age(it))),
        }
    }
}

/// Objects beside the pointer that are looked at: those that share a pixel with it need not all be.
const MOST_NEAR: usize = 64;

/// Some bytes of a block, which a row shows.
struct Part<'a> {
    /// The index of the pool that is shown.
    pool: Option<usize>,
    block: &'a BlockView,
    from: u64,
    to: u64,
    /// Bytes of a full row.
    row_bytes: u64,
}

impl Part<'_> {
    /// How far along a full row a byte is.
    fn share(&self, byte: u64) -> f32 {
        (byte.saturating_sub(self.from) as f64 / self.row_bytes as f64) as f32
    }

    fn text(&self) -> String {
        format!("block {}, bytes {} to {}", self.block.number, self.from, self.to)
    }

    /// The first of the block's objects that ends after a byte, by its place among them.
    fn first_after(&self, byte: u64, snapshot: &Snapshot) -> usize {
        self.block
            .objects
            .partition_point(|&index| snapshot.object(index).is_some_and(|object| end(object) <= byte))
    }

    /// The horizontal position of a byte in the row.
    fn x(&self, byte: u64, rect: Rect) -> f32 {
        let width = rect.width() / self.share(self.to).max(f32::MIN_POSITIVE);
        rect.left() + width * self.share(byte.min(self.to))
    }

    /// The part of the row that shows an object of the pool, if this row does.
    fn place_of(&self, object: &LiveObject, rect: Rect) -> Option<Rect> {
        let offset = object.offset.filter(|_| object.block == Some(self.block.number))?;
        let (from, to) = (offset.max(self.from), end(object).min(self.to));
        let (left, right) = (self.x(from, rect), self.x(to, rect));
        let place = Rect::from_min_max(pos2(left, rect.top()), pos2(right.max(left + 1.0), rect.bottom()));
        (from < to).then_some(place)
    }

    /// The objects of the row with their places in it; one of the objects that share a pixel. O(log objects)
    /// plus the drawn objects, at most one for each pixel.
    fn visible(&self, snapshot: &Snapshot, rect: Rect) -> Vec<(usize, Rect)> {
        let width = rect.width() / self.share(self.to).max(f32::MIN_POSITIVE);
        let x = |byte: u64| self.x(byte, rect);
        // In pixels, because a narrower object covers a whole pixel.
        let bytes_of_pixel = (self.row_bytes as f64 / f64::from(width.max(1.0))) as u64;
        let mut shown = Vec::new();
        let mut at = self.first_after(self.from, snapshot);
        while let Some(&index) = self.block.objects.get(at) {
            let Some(object) = snapshot.object(index) else { break };
            let from = object.offset.unwrap_or(0).max(self.from);
            if from >= self.to {
                break;
            }
            let (left, right) = (x(from), x(end(object)));
            let rect = Rect::from_min_max(pos2(left, rect.top()), pos2(right.max(left + 1.0), rect.bottom()));
            shown.push((index, rect));
            let next = self.first_after(from.saturating_add(bytes_of_pixel), snapshot);
            at = next.max(at + 1);
        }
        shown
    }

    /// The object under the pointer.
    fn object_at(&self, response: &Response, snapshot: &Snapshot) -> Option<usize> {
        let at = response.hover_pos()?;
        let share = f64::from((at.x - response.rect.left()) / response.rect.width().max(1.0)).clamp(0.0, 1.0);
        let byte = self.from + (share * (self.to - self.from) as f64) as u64;
        // An object narrower than a pixel covers the bytes of a pixel.
        let pixel = ((self.to - self.from) as f64 / f64::from(response.rect.width().max(1.0))) as u64;
        let first = self.first_after(byte.saturating_sub(pixel), snapshot);
        let near = self.block.objects.get(first..)?.iter().copied().take(MOST_NEAR);
        let offset = |index: usize| snapshot.object(index).and_then(|object| object.offset);
        let near = near.filter(|&index| offset(index).is_some_and(|from| from <= byte.saturating_add(pixel)));
        // Under the pointer itself, or else the one that comes last before it.
        let is_under = |index: usize| {
            let object = snapshot.object(index);
            object.is_some_and(|object| object.offset.unwrap_or(0) <= byte && byte < end(object))
        };
        let mut near: Vec<usize> = near.collect();
        near.sort_by_key(|&index| (!is_under(index), std::cmp::Reverse(offset(index))));
        near.first().copied()
    }
}

/// The byte of its block after an object's last.
fn end(object: &LiveObject) -> u64 {
    object.offset.unwrap_or(0).saturating_add(object.bytes)
}

/// The row at which an object begins, if it is in the pool.
fn row_of(object: &LiveObject, pool: &PoolView, rows: &BlockRows) -> Option<usize> {
    let block = pool.blocks.iter().position(|block| Some(block.number) == object.block)?;
    Some(rows.row_of(block, object.offset?))
}

fn heading(ui: &mut Ui, pool: &PoolView, block: usize) {
    let Some(block) = pool.blocks.get(block) else { return };
    let share = block.used as f64 / block.size.max(1) as f64 * 100.0;
    let what = if pool.holds_blocks {
        "blocks of small buffers".to_owned()
    } else {
        let rest = if block.rest > 0 {
            format!(", {} waiting for release, rounding or the manager's own", bytes(block.rest))
        } else {
            String::new()
        };
        counted(block.objects.len() as u64, "object") + &rest
    };
    let text = format!("Block {}: {}, {share:.1} % given out, {what}", block.number, bytes(block.size));
    // In one line, as the rows of the map are.
    ui.add(Label::new(text).truncate());
}

/// Points of height that the description of an object takes at most.
const MOST_DETAILS: f32 = 90.0;

/// The selected object, or a hint how to select one.
fn details(ui: &mut Ui, snapshot: &Snapshot, selected: Option<&Selected>) {
    let Some(selected) = selected else {
        ui.weak("Point at an object for its description; click it to keep it marked.");
        return;
    };
    match selected.object(snapshot) {
        Some(object) => {
            // The map below stays in view, however much there is to say.
            let area = ScrollArea::vertical().id_salt("details").max_height(MOST_DETAILS);
            area.show(ui, |ui| ui.horizontal_wrapped(|ui| describe(ui, snapshot, object)));
        }
        None => {
            let name = shortened(or_else(&selected.name, "The unnamed object"));
            ui.label(format!("{name} is gone."));
        }
    }
}

/// An object in words.
pub(crate) fn describe(ui: &mut Ui, snapshot: &Snapshot, object: &LiveObject) {
    ui.strong(shortened(or_else(&object.name, "(no name)")));
    ui.label(format!("{}, {}", object.kind, bytes(object.bytes)));
    if !object.tag.is_empty() {
        ui.label(format!("tag {}", shortened(&object.tag)));
    }
    if let Some(kind) = object.location {
        let place = object.block.zip(object.offset);
        let place = place.map_or_else(String::new, |(block, at)| format!(", block {block} at byte {at}"));
        ui.label(format!("{}{place}", location(kind)));
    }
    ui.label(format!("created in frame {}, {} ago", object.frame, counted(snapshot.age(object), "frame")));
    if let Some(frame) = object.dropped {
        ui.label(format!("dropped in frame {frame}, kept by views: {}", names(&object.kept_by)));
    }
    if let Some(movable) = object.movable {
        let text = if movable.is_pinned { "pinned, moved" } else { "movable, moved" };
        ui.label(format!("{text} {}", counted(movable.moves, "time")));
    }
    if let Some(backtrace) = &object.backtrace {
        ui.monospace(backtrace);
    }
}
