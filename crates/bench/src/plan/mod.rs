//! Planners: peaks over the lower bound, and the time a plan takes.

mod frames;
mod instances;
mod large;
mod measure;
mod memory;
mod mixes;
pub mod peers;
#[path = "../../../tenure-plan/tests/common/planted.rs"]
mod planted;
mod random;
#[path = "../../../tenure-plan/tests/common/sources.rs"]
mod sources;

use std::path::Path;

/// Rounds of timing; the result is their median.
const ROUNDS: usize = 5;

/// Runs the measurements and prints them.
///
/// # Errors
/// The folder of instances that `TENURE_PLAN_INSTANCES` names cannot be read.
pub fn run() -> Result<(), String> {
    println!("{}", frames::report());
    println!("{}", instances::planted());
    // A variable that is set to nothing names no folder.
    match std::env::var_os("TENURE_PLAN_INSTANCES").filter(|folder| !folder.is_empty()) {
        Some(folder) => println!("{}", instances::published(Path::new(&folder))?),
        None => println!("Published instances: not run; TENURE_PLAN_INSTANCES may name their folder.\n"),
    }
    println!("{}", large::report());
    println!("{}", memory::report());
    println!("{}", mixes::report());
    Ok(())
}
