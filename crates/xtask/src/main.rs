//! The project's own commands: `cargo xtask --help`.

mod command;
mod debian;
mod devices;
mod lab;
mod outcome;
mod step;
mod toolchain;
mod verify;

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
    /// checking, real devices, examples, the main job.
    Test {
        /// Only these steps, in their usual order; see `--list`.
        steps: Vec<String>,
        /// Lists the steps.
        #[arg(long)]
        list: bool,
        /// A device that cannot be had here fails its step. Also with the environment variable `CI`.
        #[arg(long)]
        strict: bool,
        /// The step `vulkan` runs on this machine's own Vulkan driver instead of the device lab.
        #[arg(long)]
        native: bool,
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
        Command::Test { steps, strict, native, .. } => {
            let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
            step::run(&steps, step::Settings { is_strict: strict || is_ci, is_native: native })
        }
        Command::Fuzz { seconds } => verify::fuzz(seconds),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
