//! Planners: peaks over the lower bound, and the time a plan takes.

mod frames;
mod instances;
mod measure;
mod models;
pub mod peers;
#[path = "../../../tenure-plan/tests/common/planted.rs"]
mod planted;
mod random;
#[path = "../../../tenure-plan/tests/common/sources.rs"]
mod sources;

use std::path::Path;

use crate::Result;

/// Rounds of timing; the result is their median.
const ROUNDS: usize = 5;

/// Runs the measurements and prints them.
///
/// # Errors
/// The folder of instances that `TENURE_PLAN_INSTANCES` names cannot be read.
pub fn run() -> Result {
    frames::print();
    instances::print_planted();
    // A variable that is set to nothing names no folder.
    match std::env::var_os("TENURE_PLAN_INSTANCES").filter(|folder| !folder.is_empty()) {
        Some(folder) => instances::print_published(Path::new(&folder))?,
        None => println!("Published instances: not run; TENURE_PLAN_INSTANCES may name their folder.\n"),
    }
    models::print();
    random::print();
    random::print_memory();
    frames::print_aligned();
    Ok(())
}
