//! The project's own commands: `cargo xtask --help`.

mod architecture;
mod command;
mod compile_time;
mod compiled;
mod cpu;
mod debian;
mod devices;
mod docs;
mod egui;
mod failures;
mod figures;
mod instances;
mod lab;
mod lab_packages;
mod main_job;
mod outcome;
mod package;
mod perfetto;
mod record;
mod records;
mod runtime;
mod schedule;
mod size;
mod soak;
mod step;
mod steps;
mod summary;
mod supply;
mod surface;
mod test;
mod times;
mod toolchain;
mod triangles;
mod unsafe_code;
mod verify;
mod weight;
mod wgpu;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The project's own commands")]
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
        /// Lists the steps instead of running them.
        #[arg(long)]
        list: bool,
        /// A device that cannot be had here fails its step. Also with the environment variable `CI`.
        #[arg(long)]
        strict: bool,
        /// Steps use this machine's own Vulkan driver instead of the device lab. They leave Direct3D 12 out, but for the
        /// step `d3d12`.
        #[arg(long)]
        native: bool,
        /// Removes after each step what only that step builds, for a disk with little room; the next run builds it
        /// anew.
        #[arg(long)]
        lean: bool,
        /// Only what a contributor runs before each commit: format, lints, rules of the repository, tests of the manager.
        #[arg(long, conflicts_with = "steps")]
        quick: bool,
    },
    /// Runs one step for `test`, and writes its report into a file.
    #[command(hide = true)]
    Step {
        name: String,
        #[arg(long)]
        report: PathBuf,
        #[arg(long)]
        native: bool,
        #[arg(long)]
        lean: bool,
        #[arg(long)]
        quick: bool,
    },
    /// Writes down the public surface of the crate that the drop-in `gpu-allocator` stands for.
    Surface,
    /// Runs real programs on wgpu with the original gpu-allocator and with tenure's, and prints both side by
    /// side. A picture that differs is a failure.
    Wgpu {
        /// Only these programs (all: shadows, sprites, particles, egui, vello, bevy). Can be repeated.
        #[arg(long = "program", value_name = "NAME")]
        programs: Vec<String>,
        /// How often each program runs with each allocator; what is printed are medians.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// On this machine's own Vulkan driver instead of the device lab.
        #[arg(long)]
        native: bool,
    },
    /// Runs random programs over the whole interface on the simulated device, a process on each processor. A program
    /// that fails is shown with its seed and as few steps as are enough.
    Soak {
        /// The first seed; by default one of the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// Minutes.
        #[arg(long, default_value_t = 10.0, value_parser = minutes)]
        minutes: f64,
        /// Breaks rules of the code on purpose instead, one after the other in a copy of the repository, and says which
        /// random programs find within a minute: those of `crates/soak/rules.json` whose words contain this.
        #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["seed", "minutes"])]
        rules: Option<String>,
    },
    /// Runs all that uses devices on those of this machine, Windows or Linux with a card, and writes down what they are,
    /// which steps pass, and their figures: `docs/devices/NAME.md`.
    Record {
        /// Of the file: such as the card and the system.
        name: String,
    },
    /// Prints the lines of code of each crate, of documents and in all, and fails where there are more than
    /// `crates/xtask/size.toml` allows.
    Size,
    /// Compiles examples on Vulkan after their dependencies, and prints the processor time: the cost for a program each
    /// time that it is changed.
    CompileTime {
        /// Compiles them at this revision as well, and prints both side by side.
        #[arg(long, value_name = "REVISION")]
        against: Option<String>,
        /// The number of times that each is compiled; medians are printed.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
    },
    /// Runs each fuzz target for a while. Needs `cargo-fuzz` and a nightly toolchain.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
}

/// A number of minutes that a `Duration` can hold.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|error| error.to_string())?;
    Ok(minutes)
}

fn main() -> ExitCode {
    if let Some(code) = compiled::as_wrapper() {
        return code;
    }
    let done = match Arguments::parse().command {
        Command::Test { list: true, steps, quick, .. } => steps::list(&steps, quick),
        Command::Test { steps, strict, native, lean, quick, .. } => {
            let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
            let is_strict = strict || is_ci;
            let settings = step::Settings { is_strict, is_native: native, is_lean: lean, is_quick: quick };
            test::run(&steps, settings).and_then(|(_, outcome)| outcome)
        }
        Command::Step { name, report, native, lean, quick } => {
            let settings =
                step::Settings { is_strict: false, is_native: native, is_lean: lean, is_quick: quick };
            test::run_as_process(&name, settings, &report)
        }
        Command::Surface => surface::write().map_err(|trouble| trouble.to_string()),
        Command::Wgpu { programs, rounds, native } => {
            wgpu::programs(&programs, rounds, native).map_err(|trouble| trouble.to_string())
        }
        Command::Soak { rules: Some(wanted), .. } => {
            soak::rules::run(&wanted).map_err(|trouble| trouble.to_string())
        }
        Command::Soak { seed, minutes, .. } => soak::run(seed.unwrap_or_else(soak::seed_of_clock), minutes)
            .map_err(|trouble| trouble.to_string()),
        Command::Record { name } => record::run(&name),
        Command::Size => size::check().map_err(|trouble| trouble.to_string()),
        Command::CompileTime { against, rounds } => {
            compile_time::run_and_print(against.as_deref(), rounds).map_err(|trouble| trouble.to_string())
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
