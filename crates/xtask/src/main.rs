//! The project's own commands: `cargo xtask --help`.

mod architecture;
mod archive;
mod c;
mod c_instructions;
mod c_managers;
mod c_random;
mod c_table;
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
mod header;
mod instances;
mod interface;
mod lab;
mod lab_packages;
mod licenses;
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
    /// Installs missing tools and runs all checks: format, lints, documentation, tests, model checking, real
    /// devices, examples, the main job.
    Test {
        /// Only these steps, in their usual order; see `--list`.
        steps: Vec<String>,
        /// Lists the steps instead of running them.
        #[arg(long)]
        list: bool,
        /// A missing device fails its step. Also enabled by the environment variable `CI`.
        #[arg(long)]
        strict: bool,
        /// Steps use this machine's Vulkan driver instead of the device lab. Direct3D 12 is left out, except in
        /// the step `d3d12`.
        #[arg(long)]
        native: bool,
        /// Saves disk space: removes the outputs that only one step uses after that step; the next run builds
        /// them again.
        #[arg(long)]
        lean: bool,
        /// Only the checks before each commit: format, lints, rules of the repository, tests of the manager.
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
    /// Records the public items of tenure's crates in `docs/interface`.
    Interface,
    /// Writes the headers of `tenure-c` from its code.
    Header,
    /// Packs headers and libraries of `tenure-c` for programs in C and C++, if the test programs pass: `target/archive`.
    Archive,
    /// Counts the instructions of a buffer that is created and released through C, and in Rust. Needs valgrind.
    CInstructions,
    /// Measures buffers and textures that are created and released in C++, by tenure and by VMA, on the first Vulkan device. Needs
    /// valgrind.
    CManagers {
        /// Measures beside D3D12MA instead, on Direct3D 12 in the device lab. The folder has its `include` and `src`.
        #[arg(long, value_name = "FOLDER")]
        d3d12ma: Option<PathBuf>,
    },
    /// Runs real programs on wgpu with the original gpu-allocator and with tenure's, and prints both side by
    /// side. A picture that differs is a failure.
    Wgpu {
        /// Only these programs (all: shadows, sprites, particles, egui, vello, bevy). Can be repeated.
        #[arg(long = "program", value_name = "NAME")]
        programs: Vec<String>,
        /// The number of runs of each program with each allocator; medians are printed.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// Uses this machine's Vulkan driver instead of the device lab.
        #[arg(long)]
        native: bool,
    },
    /// Runs random programs over the whole interface on the simulated device, a process on each processor. A
    /// failing program is shown with its seed and reduced to few steps.
    Soak {
        /// The first seed; by default taken from the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// The duration in minutes.
        #[arg(long, default_value_t = 10.0, value_parser = minutes)]
        minutes: f64,
        /// Breaks rules of the code on purpose instead, one after the other in a copy of the repository, and
        /// lists the rules whose violation random programs find: the rules of `crates/soak/rules.json` that
        /// contain this text.
        #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["seed", "minutes"])]
        rules: Option<String>,
    },
    /// Runs all steps with devices on this machine's devices (Windows, or Linux with a GPU), and writes the
    /// devices, the results of the steps and figures to `docs/devices/NAME.md`.
    Record {
        /// The name of the file, such as the card and the system.
        name: String,
    },
    /// Prints the lines of code of each crate, of documents and in total, and fails if they exceed the budgets
    /// in `crates/xtask/size.toml`.
    Size,
    /// Compiles examples on Vulkan without their dependencies, and prints the processor time: the cost of each
    /// change of a program.
    CompileTime {
        /// Also compiles them at this revision, and prints both times side by side.
        #[arg(long, value_name = "REVISION")]
        against: Option<String>,
        /// The number of compilations of each; medians are printed.
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
        Command::Interface => interface::write().map_err(|trouble| trouble.to_string()),
        Command::Header => header::write().map_err(|trouble| trouble.to_string()),
        Command::Archive => archive::write(c::check_archive).map_err(|trouble| trouble.to_string()),
        Command::CInstructions => c_instructions::check().map_err(|trouble| trouble.to_string()),
        Command::CManagers { d3d12ma: Some(sources) } => {
            c_managers::run_and_print_d3d12(&sources).map_err(|trouble| trouble.to_string())
        }
        Command::CManagers { d3d12ma: None } => {
            c_managers::run_and_print().map_err(|trouble| trouble.to_string())
        }
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
