//! The program, run as a user runs it.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(arguments).output().unwrap_or_else(|error| panic!("bench does not run: {error}"))
}

pub(crate) fn succeeded(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert!(!output.status.success(), "{arguments:?} was accepted");
    assert_eq!(output.stdout, b"");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The path of a recording of the repository.
pub(crate) fn recording(name: &str) -> String {
    format!("{}/../../traces/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"))
}

/// The cells of all tables, without their headings.
pub(crate) fn rows(said: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in said.lines().filter(|line| line.starts_with('|')) {
        if line.starts_with("|-") {
            rows.pop();
        } else {
            rows.push(line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect());
        }
    }
    rows
}
