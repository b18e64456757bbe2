//! Every message: see the documentation of the crate.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod devices;
mod documents;
mod manager;
mod refusals;
mod sources;
mod standalone_crates;
mod table;

use table::Table;

fn all_errors() -> Table {
    let mut table = Table::default();
    manager::provoke(&mut table);
    manager::make(&mut table);
    devices::make(&mut table);
    standalone_crates::make(&mut table);
    table
}

#[test]
fn every_error_has_its_exact_text() {
    let table = all_errors();
    let missing: Vec<_> = sources::messages().into_iter().filter(|key| !table.has(key)).collect();
    assert_eq!(missing, [] as [String; 0], "these have no row");
    insta::assert_snapshot!("errors", table.to_string());
}

/// Rules of calls and descriptions are texts in the sources: one table of those.
#[test]
fn every_rule_has_its_exact_text() {
    insta::assert_snapshot!("rules", sources::rules().into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_kind_of_hazard_has_its_exact_text() {
    let tables = sources::hazard_tables();
    let has_row = |kind: &String| {
        let row = format!("{kind}: ");
        tables.lines().any(|line| line.starts_with(&row)) || sources::HAZARDS_OF_RAYS.contains(&&**kind)
    };
    let missing: Vec<_> = sources::hazards().into_iter().filter(|kind| !has_row(kind)).collect();
    assert_eq!(missing, [] as [String; 0], "these have no row");
}

#[test]
fn every_place_that_logs_has_a_line_in_a_table() {
    let tables = sources::log_tables();
    let missing: Vec<_> = sources::log_lines()
        .into_iter()
        .filter(|line| !tables.iter().any(|table| table.contains(line)))
        .collect();
    assert_eq!(missing, [] as [String; 0], "these are in no table of log lines");
}

#[test]
fn no_message_prints_flags_or_options_as_code() {
    let table = all_errors();
    for text in table.texts() {
        for code in ["Some(", "None", "State(", "Usage(", "Name(", "{", "0x0"] {
            assert!(!text.contains(code), "{code:?} in {text:?}");
        }
    }
}
