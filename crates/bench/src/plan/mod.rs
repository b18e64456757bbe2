//! Planners: peaks over the lower bound, and the time a plan takes.

mod frames;
mod instances;
mod large;
mod limits;
mod measure;
mod memory;
mod mixes;
pub mod peers;
#[path = "../../../tenure-plan/tests/common/planted.rs"]
mod planted;
mod random;
#[path = "../../../tenure-plan/tests/common/sources.rs"]
mod sources;

use std::path::PathBuf;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A folder of instances (id,lower,upper,size) with their capacity before the ending, such as the
    /// challenging ones published with MiniMalloc
    #[arg(long, value_name = "DIR", env = "TENURE_PLAN_INSTANCES")]
    pub instances: Option<PathBuf>,
    /// Rounds of timing; the result is their median.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Leave out a million items.
    #[arg(long)]
    pub skip_million: bool,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// A folder of instances that was named cannot be read.
pub fn run(args: &Args) -> Result<(), String> {
    let rounds = args.rounds as usize;
    println!("{}", frames::report(rounds));
    println!("{}", instances::planted());
    // A variable that is set to nothing names no folder.
    match args.instances.as_deref().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => println!("{}", instances::published(folder, rounds)?),
        None => println!("Published instances: not run; TENURE_PLAN_INSTANCES may name their folder.\n"),
    }
    println!("{}", large::report(rounds, !args.skip_million));
    println!("{}", limits::report(!args.skip_million));
    println!("{}", memory::report(!args.skip_million));
    println!("{}", mixes::report(rounds));
    Ok(())
}
