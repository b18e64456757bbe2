//! Measures tenure and its peers, and prints what came out.

use clap::{Parser, Subcommand};

use bench::suballoc;

/// Measures tenure and its peers.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time and packing of the suballocators on seven workloads.
    Suballoc(suballoc::Args),
}

fn main() {
    match Args::parse().command {
        Command::Suballoc(args) => suballoc::run(&args),
    }
}
