//! The table of two runs.

use comfy_table::{CellAlignment, Table, presets};

use super::figures::{FIGURES, Judgement};
use super::run::Run;
use crate::output::printable;
use crate::table;

/// A table of all figures below the identities of the two runs, and a summary in words.
pub(super) fn comparison(a: &Run, b: &Run) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["", "A", "B", "B less A", "B/A", "B is"]);
    for figure in &FIGURES {
        let word = figure.judge(a, b).map_or("", Judgement::word);
        let (a, b) = ((figure.of)(a), (figure.of)(b));
        let ratio = a.ratio_to(b).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
        table.add_row([
            figure.title.to_owned(),
            figure.written(a),
            figure.written(b),
            figure.difference(a.difference_to(b)),
            ratio,
            word.to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("A: {}\nB: {}\n{table}\n{}", named(a), named(b), in_words(a, b))
}

fn named(run: &Run) -> String {
    let Run { file, strategy, trace, device, profile, .. } = run;
    let of = if file == trace { String::new() } else { format!(", a replay of {}", printable(trace)) };
    format!("{}{of} ({}, {} {})", printable(file), printable(strategy), printable(device), printable(profile))
}

fn in_words(a: &Run, b: &Run) -> String {
    let judged = FIGURES.iter().filter(|figure| !figure.is_clock(a, b));
    let judgements: Vec<_> = judged.filter_map(|figure| figure.judge(a, b)).collect();
    let count = |wanted| judgements.iter().filter(|judgement| **judgement == wanted).count();
    let better = count(Judgement::Better);
    format!(
        "{}Without times by the clock, B is better in {better} figure{}, worse in {} and the same in {}.\n",
        cautions(a, b),
        if better == 1 { "" } else { "s" },
        count(Judgement::Worse),
        count(Judgement::Same)
    )
}

/// Reasons why figures may differ other than one run being better.
fn cautions(a: &Run, b: &Run) -> String {
    let mut cautions = String::new();
    if !a.has_work_of(b) {
        cautions += "The runs have different work, which may explain differences.\n";
    }
    if !a.has_device_of(b) {
        cautions += "The runs are on different devices, which may explain differences.\n";
    }
    if a.has_measured_driver_time() != b.has_measured_driver_time() {
        cautions += "One driver time is measured, the other is modelled.\n";
    }
    for (letter, run) in [("A", a), ("B", b)].into_iter().filter(|(_, run)| run.figures.failed > 0) {
        let failed = table::count(run.figures.failed);
        cautions += &format!("In {letter} creations failed ({failed}): its figures do not include them.\n");
    }
    cautions
}
