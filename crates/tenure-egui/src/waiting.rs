//! What was dropped, and what keeps it from being given back.

use egui::{Grid, Ui};
use tenure_core::{HeldReport, HolderKind, OpenRecordingReport};

use crate::snapshot::Snapshot;
use crate::text::{bytes, counted, or_else};

/// Frames after which an open recording is more likely forgotten than in use.
const OLD: u64 = 3;

pub(crate) fn show(ui: &mut Ui, snapshot: &Snapshot) {
    let report = &snapshot.report;
    let stats = &report.stats;
    ui.label(format!(
        "{} with {} were dropped, and wait until no recording and no work of the GPU can use them.",
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
            report.open_recordings.iter().for_each(|open| recording(ui, open));
        });
    }
    ui.add_space(6.0);
    kept_by_views(ui, snapshot);
    ui.add_space(6.0);
    ui.strong("What the dropped objects wait for");
    if report.held.is_empty() {
        ui.weak("Nothing waits.");
    } else {
        Grid::new("held").striped(true).num_columns(3).show(ui, |ui| {
            headings(ui, &["Waits for", "Objects", "Bytes"]);
            report.held.iter().for_each(|held| waiting(ui, held));
        });
    }
}

/// What was dropped and does not even wait, because it has views.
fn kept_by_views(ui: &mut Ui, snapshot: &Snapshot) {
    let kept: Vec<_> = snapshot.report.objects.iter().filter(|object| object.dropped.is_some()).collect();
    ui.strong("Kept by views");
    if kept.is_empty() {
        ui.weak("None.");
        return;
    }
    Grid::new("views").striped(true).num_columns(4).show(ui, |ui| {
        headings(ui, &["Name", "Bytes", "Dropped", "Views"]);
        for object in kept {
            let frames = snapshot.report.stats.frames.saturating_sub(object.dropped.unwrap_or(0));
            ui.label(or_else(&object.name, "(no name)"));
            ui.label(bytes(object.bytes));
            ui.label(format!("{} ago", counted(frames, "frame")));
            ui.label(object.kept_by.join(", "));
            ui.end_row();
        }
    });
}

fn headings(ui: &mut Ui, names: &[&str]) {
    for name in names {
        ui.weak(*name);
    }
    ui.end_row();
}

fn recording(ui: &mut Ui, open: &OpenRecordingReport) {
    ui.label(or_else(&open.name, "(no name)"));
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
        HolderKind::NextPurge => "the beginning of the next frame, or Gpu::purge".to_owned(),
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
