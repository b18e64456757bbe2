//! The panel as a whole: its tabs, and the rate of its reports.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use egui::{Context, Id, Ui};
use tenure_core::Gpu;
use tenure_core::device::Device;

use crate::blocks::{BlockMap, Selected};
use crate::object_table::ObjectTable;
use crate::samples::Samples;
use crate::snapshot::Snapshot;
use crate::text::{bytes, counted};
use crate::{heaps, waiting};

/// Seconds between two walks over everything.
const INTERVAL: f64 = 0.5;

/// The shown tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Heaps,
    Blocks,
    Objects,
    Waiting,
}

/// A panel over a running [`Gpu`]: its memory heaps over the last 600 frames, the blocks of each pool byte by byte, all live
/// objects, and what the dropped ones wait for.
///
/// Call [`end_frame`](Self::end_frame) after each frame, and [`window`](Self::window) or [`ui`](Self::ui) where the program
/// draws with `egui`. One panel is for one manager; for another it begins anew.
///
/// # Cost
/// - `end_frame`: that of [`Gpu::stats`] and [`Gpu::memory`], in O(pools), which ask the operating system at most once a
///   frame.
/// - `ui`, while it is drawn: a [`Gpu::report`] twice a second, in O(n log n) for n live objects (some milliseconds for
///   10,000). Between reports it draws the last one. While it is paused, it makes no reports.
///
/// The manager may be used by other threads meanwhile; the panel itself belongs to the thread that draws.
#[derive(Debug)]
pub struct MemoryPanel {
    /// Tells its widgets from those of other panels, and from the program's own.
    id: Id,
    samples: Samples,
    snapshot: Option<Snapshot>,
    /// The time at which the snapshot was taken, by the clock of `egui`.
    taken_at: f64,
    /// The manager, by its id.
    manager: Option<u32>,
    is_paused: bool,
    tab: Tab,
    map: BlockMap,
    table: ObjectTable,
    selected: Option<Selected>,
}

impl Default for MemoryPanel {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: Id::new(("tenure's memory panel", NEXT.fetch_add(1, Ordering::Relaxed))),
            samples: Samples::default(),
            snapshot: None,
            taken_at: 0.0,
            manager: None,
            is_paused: false,
            tab: Tab::default(),
            map: BlockMap::default(),
            table: ObjectTable::default(),
            selected: None,
        }
    }
}

impl MemoryPanel {
    /// A panel that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes down the numbers of a frame, after its end. Without it the charts have the frames in which the panel was drawn.
    pub fn end_frame<D: Device>(&mut self, gpu: &Gpu<D>) {
        self.belong_to(gpu);
        if !self.is_paused {
            self.samples.take(gpu);
        }
    }

    /// Draws the panel in a window of its own, which the user can close: `open` is `false` then.
    pub fn window<D: Device>(&mut self, context: &Context, gpu: &Gpu<D>, open: &mut bool) {
        egui::Window::new("GPU memory")
            .id(self.id)
            .open(open)
            .default_size([720.0, 520.0])
            .min_width(360.0)
            .show(context, |ui| self.ui(ui, gpu));
    }

    /// Draws the panel into the program's own layout.
    pub fn ui<D: Device>(&mut self, ui: &mut Ui, gpu: &Gpu<D>) {
        self.belong_to(gpu);
        if !self.is_paused {
            self.samples.take(gpu);
            let now = ui.input(|input| input.time);
            // An earlier time is that of another context.
            if self.snapshot.is_none() || !(0.0..INTERVAL).contains(&(now - self.taken_at)) {
                self.look_at(gpu);
                self.taken_at = now;
            }
            ui.ctx().request_repaint_after(Duration::from_secs_f64(INTERVAL));
        }
        let Some(snapshot) = self.snapshot.take() else { return };
        ui.push_id(self.id, |ui| self.show(ui, &snapshot));
        // The mark compares with the current objects, also while the panel is paused.
        self.snapshot = Some(snapshot);
        if self.table.wants_mark() {
            self.look_at(gpu);
            self.snapshot.iter().for_each(|snapshot| self.table.take_mark(snapshot));
        }
    }

    /// Takes a snapshot.
    fn look_at<D: Device>(&mut self, gpu: &Gpu<D>) {
        let snapshot = Snapshot::new(gpu.report());
        self.table.refresh(&snapshot);
        self.selected.iter_mut().for_each(|selected| selected.find_in(&snapshot));
        self.snapshot = Some(snapshot);
    }

    fn show(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        self.heading(ui, snapshot);
        ui.separator();
        match self.tab {
            Tab::Heaps => {
                scrolled("heaps").show(ui, |ui| heaps::show(ui, &self.samples, snapshot));
            }
            Tab::Blocks => self.map.show(ui, snapshot, &mut self.selected),
            Tab::Objects => {
                let clicked = self.table.show(ui, snapshot, self.selected.as_ref());
                if let Some(index) = clicked {
                    self.selected = Selected::new(snapshot, index);
                    snapshot.object(index).into_iter().for_each(|object| self.map.reveal(object));
                }
            }
            Tab::Waiting => {
                scrolled("waiting").show(ui, |ui| waiting::show(ui, snapshot));
            }
        }
    }

    fn heading(&mut self, ui: &mut Ui, snapshot: &Snapshot) {
        let report = &snapshot.report;
        ui.horizontal_wrapped(|ui| {
            ui.selectable_value(&mut self.tab, Tab::Heaps, "Memory heaps");
            ui.selectable_value(&mut self.tab, Tab::Blocks, "Blocks");
            ui.selectable_value(&mut self.tab, Tab::Objects, "Objects");
            ui.selectable_value(&mut self.tab, Tab::Waiting, "Waiting for release");
            ui.separator();
            ui.toggle_value(&mut self.is_paused, "Pause");
        });
        ui.horizontal_wrapped(|ui| {
            ui.label(format!("{} ({}), frame {}:", report.device, report.backend, report.stats.frames));
            ui.label(format!("{} reserved,", bytes(report.stats.reserved)));
            ui.label(format!("{} live,", counted(report.stats.live_objects, "object")));
            ui.label(format!("{} waiting for release", bytes(report.stats.pending_bytes)));
        });
    }

    /// Forgets the state of another manager.
    fn belong_to<D: Device>(&mut self, gpu: &Gpu<D>) {
        if self.manager.is_some_and(|before| before != gpu.id()) {
            *self = Self { id: self.id, tab: self.tab, ..Self::default() };
        }
        self.manager = Some(gpu.id());
    }
}

/// As large as there is room, with a position of its own.
fn scrolled(tab: &str) -> egui::ScrollArea {
    egui::ScrollArea::vertical().id_salt(tab).auto_shrink([false, false])
}
