//! The program `tenure`: see `tenure --help`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    tenure_cli::run(&tenure_cli::Args::parse())
}
