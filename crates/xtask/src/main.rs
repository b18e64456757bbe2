//! The project's own commands: `cargo xtask --help`.

mod step;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs what is missing and checks everything: format, lints, documentation, tests, model
    /// checking, examples, the main job.
    Test {
        /// Only these steps, in their usual order; see `--list`.
        steps: Vec<String>,
        /// Lists the steps.
        #[arg(long)]
        list: bool,
    },
    /// Runs each fuzz target for a while. Needs `cargo-fuzz` and a nightly toolchain.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Test { list: true, .. } => {
            step::list();
            Ok(())
        }
        Command::Test { steps, .. } => step::run(&steps),
        Command::Fuzz { seconds } => tools::fuzz(seconds),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
