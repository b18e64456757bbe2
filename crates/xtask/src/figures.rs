//! Figures of documents that an example prints.

use std::fs;
use std::path::Path;

use crate::command::{printed, root};
use crate::outcome::{Outcome, Trouble};

/// Plays the voxel world, and compares the figures that are the same on every machine with those of docs/benchmarks.md
/// and of the README.
pub(crate) fn voxel(program: &Path) -> Outcome {
    let said = printed(&program.to_string_lossy(), &[])
        .ok_or_else(|| Trouble::Failed(format!("{} failed", program.display())))?;
    println!("{said}");
    let [benchmarks, front_page] = ["docs/benchmarks.md", "README.md"]
        .map(|name| fs::read_to_string(root().join(name)).unwrap_or_default().replace(',', ""));
    // Strategy, bytes, bytes, and then the figures.
    let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let figures = |strategy| match rows.iter().find(|row| row[0] == strategy).map(|row| &row[..]) {
        Some([_, _, _, overhead, calls, time, ..]) => Ok([*overhead, *calls, *time]),
        _ => Err(Trouble::Failed(format!("no figures for {strategy}"))),
    };
    for strategy in ["committed", "placed", "tenure"] {
        wants(&benchmarks, &format!("| {strategy} | {} |", figures(strategy)?.join(" | ")))?;
    }
    let [ours, committed] =
        [figures("tenure")?[0], figures("committed")?[0]].map(|it| it.trim_end_matches('x'));
    wants(
        &front_page,
        &format!("reserve {ours} times the live bytes and {committed} times if each is committed"),
    )
}

fn wants(document: &str, figure: &str) -> Outcome {
    match document.contains(figure) {
        true => Ok(()),
        false => Err(Trouble::Failed(format!("the documents lack the printed figure: {figure}"))),
    }
}
