//! Dropped objects, and the reasons why they are not released.

use egui::{Grid, Ui};
use tenure_core::{HeldReport, HolderKind, OpenRecordingReport};

use crate::snapshot::Snapshot;
use crate::text::{bytes, counted, names, or_else, shortened};

/// Frames after which an open recording is more likely forgotten than in use.
const OLD: u64 = 3;
/// The maximum number of rows of a list, because all are laid out in each frame.
const MOST_ROWS: usize = 200;

pub(crate) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    let report = &snapshot.report;
    let stats = &report.stats;
    ui.label(format!(
        "Dropped, and waiting until no recording and no work of the GPU can use them: {} with {}.",
        counted(stats.pending_releases, "object"),
        bytes(stats.pending_bytes),
    ));
    ui.add_space(6.0);
    ui.strong("Open recordings");
    if report.open_recordings.is_empty() {
        ui.weak("None.");
    } else {
        Grid::new("recordings").striped(true).num_columns(3).show(ui, |ui| {
            headings(ui, &["Name", "Open for", "Holds back"]);
            report.open_recordings.iter().take(MOST_ROWS).for_each(|open| recording(ui, open));
        });
        let more = report.open_recordings.len().saturating_sub(MOST_ROWS);
        if more > 0 {
            ui.weak(format!("and {} more", counted(more as u64, "recording")));
        }
    }
    ui.add_space(6.0);
    kept_by_views(ui, snapshot);
    ui.add_space(6.0);
    ui.strong("Holders of dropped objects");
    if report.held.is_empty() {
        ui.weak("Nothing waits.");
    } else {
        Grid::new("held").striped(true).num_columns(3).show(ui, |ui| {
            headings(ui, &["Waits for", "Objects", "Bytes"]);
            report.held.iter().for_each(|held| waiting(ui, held));
        });
    }
}

/// Dropped objects that their views keep alive.
fn kept_by_views(ui: &mut Ui, snapshot: &Snapshot) {
    let kept: Vec<_> = snapshot.report.objects.iter().filter(|object| object.dropped.is_some()).collect();
    ui.strong("Kept by views");
    if kept.is_empty() {
        ui.weak("None.");
        return;
    }
    let more = kept.len().saturating_sub(MOST_ROWS);
    Grid::new("views").striped(true).num_columns(4).show(ui, |ui| {
        headings(ui, &["Name", "Bytes", "Dropped", "Views"]);
        for object in kept.into_iter().take(MOST_ROWS) {
            let frames = snapshot.report.stats.frames.saturating_sub(object.dropped.unwrap_or(0));
            ui.label(shortened(or_else(&object.name, "(no name)")));
            ui.label(bytes(object.bytes));
            ui.label(format!("{} ago", counted(frames, "frame")));
            ui.label(names(&object.kept_by));
            ui.end_row();
        }
    });
    if more > 0 {
        ui.weak(format!("and {} more", counted(more as u64, "object")));
    }
}

fn headings(ui: &mut Ui, names: &[&str]) {
    for name in names {
        ui.weak(*name);
    }
    ui.end_row();
}

fn recording(ui: &mut Ui, open: &OpenRecordingReport) {
    ui.label(shortened(or_else(&open.name, "(no name)")));
    let age = counted(open.age, "frame");
    if open.age >= OLD {
        let text = "While it is open, nothing that was dropped since it was opened is given back. It may have been \
                    forgotten: submit it, or drop it.";
        ui.colored_label(ui.visuals().warn_fg_color, format!("⚠ {age}")).on_hover_text(text);
    } else {
        ui.label(age);
    }
    ui.label(bytes(open.held_back));
    ui.end_row();
}

fn waiting(ui: &mut Ui, held: &HeldReport) {
    ui.label(match held.holder {
        HolderKind::OpenRecordings => "the open recordings".to_owned(),
        HolderKind::Submission => submission(held),
        HolderKind::NextReclaim => "the beginning of the next frame, or Gpu::reclaim".to_owned(),
        _ => "something else".to_owned(),
    });
    ui.label(held.objects.to_string());
    ui.label(bytes(held.bytes));
    ui.end_row();
}

/// A submission, and how far its queue is.
fn submission(held: &HeldReport) -> String {
    let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let queue = number(held.queue.map(u64::from));
    format!(
        "submission {} of queue {queue}, which has completed {}",
        number(held.serial),
        number(held.completed)
    )
}
