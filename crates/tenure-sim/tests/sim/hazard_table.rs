//! The exact text of each hazard that a test provokes alone: `hazards.txt`.
//!
//! A row is a kind, and its message. To regenerate the table, delete its rows, run the tests with
//! `TENURE_BLESS=1`, and read each row: it names the object, the violation with its numbers, and the call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use std::sync::Mutex;
use tenure_sim::Hazard;

static TABLE: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/hazards.txt")
}

/// Fails unless the hazard's text is a row.
#[track_caller]
pub(crate) fn assert_listed(hazard: &Hazard) {
    let row = format!("{:?}: {hazard}", hazard.kind);
    let mut table = TABLE.lock().unwrap();
    let rows = table.get_or_insert_with(|| {
        fs::read_to_string(path()).unwrap_or_default().lines().map(str::to_owned).collect()
    });
    if std::env::var_os("TENURE_BLESS").is_some() && rows.insert(row.clone()) {
        let text: Vec<_> = rows.iter().map(String::as_str).collect();
        fs::write(path(), text.join("\n") + "\n").unwrap();
    }
    let is_listed = rows.contains(&row);
    drop(table);
    assert!(is_listed, "this is no row of tests/sim/hazards.txt: {row}");
}
