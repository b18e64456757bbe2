//! The table of every message of tenure: `tests/messages/snapshots/`.
//!
//! A row is a variant of a public error with the exact text that a program's author reads. The tests of this
//! crate provoke the errors, or make them, and compare; they read the sources, and fail where a variant has no
//! row, or where a place that logs is in no table of log lines. After a change of a text `INSTA_UPDATE=always
//! cargo test -p messages` writes the table anew: read the row aloud before it is committed. It names the
//! object, the limit and the remedy; flags by their names; no number of an enum.
//!
//! Elsewhere are the tables of hazards (`crates/tenure-sim/tests/sim/hazards.txt`), of log lines
//! (`tests/log/`), and of the program's errors (`crates/tenure-cli/src/error.rs`).
