//! The exact texts that a program's author reads: errors and hazards; and the report, as JSON.

mod errors;
mod hazards;
#[cfg(feature = "schema")]
mod report;
