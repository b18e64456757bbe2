//! Suballocators: nanoseconds per operation, and the memory that a trace needs.

pub mod measure;
pub mod peers;
pub mod rng;
pub mod trace;
pub mod workloads;

mod report;

use crate::suballoc::report::Report;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What the workloads are drawn from; packing is the mean of this seed and the three after it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Rounds of timing; peers take turns within a round, and the median of the rounds counts.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Only measure time.
    #[arg(long)]
    pub skip_packing: bool,
    /// Only peers whose names contain this; may be given more than once.
    #[arg(long)]
    pub peer: Vec<String>,
    /// Only workloads whose names contain this; may be given more than once.
    #[arg(long)]
    pub workload: Vec<String>,
}

/// Measures everything and prints it.
pub fn run(args: &Args) {
    let report = Report::measure(args);
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
}
