//! The program `tenure`: replays recordings of allocations on simulated and real devices, generates
//! recordings, lists the available devices, and plans the memory of frames.
//!
//! Exit status: 0 if nothing failed, leaked or was hazardous, otherwise 1; 2 for bad usage or input, or if a
//! device is missing.

mod adapter_properties;
#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
mod api;
mod args;
mod capture;
mod compare;
mod demo;
mod devices;
mod difference;
pub mod doctor;
mod error;
mod examined;
pub mod feature;
mod files;
mod generate;
#[cfg(feature = "report")]
mod html;
mod input;
mod output;
#[cfg(feature = "report")]
pub mod perfetto;
mod plan;
pub mod replay;
#[cfg(feature = "report")]
mod report;
mod table;
mod tune;

use std::io::{self, Write as _};
use std::process::ExitCode;

pub use args::Args;
use args::Command;
use clap::Parser as _;
use error::{CliError, FAULTY};
use replay::Verdict;

/// Parses the arguments of the process and executes their command.
#[must_use]
pub fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => run(&args),
        // Help and version: a failure to print is an error, as for every other output.
        Err(text) if !text.use_stderr() => match text.print().and_then(|()| io::stdout().flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => failed(&error.into()),
            _ => ExitCode::SUCCESS,
        },
        Err(error) => error.exit(),
    }
}

/// Executes the command in the arguments, with the standard streams of the process. Never panics, for any
/// arguments and files, even if a pipe is closed.
#[must_use]
pub fn run(args: &Args) -> ExitCode {
    let done = files::check(args).and_then(|()| execute(args));
    match done {
        Ok(code) => code,
        // The reader of the generated recording closed the pipe.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn execute(args: &Args) -> Result<ExitCode, CliError> {
    let verdict = match &args.command {
        Some(Command::Capture(args)) => return capture::run(args),
        None => demo::run(),
        Some(Command::Replay(args)) => compare::run(args),
        #[cfg(feature = "report")]
        Some(Command::Report(args)) => report::run(args),
        #[cfg(not(feature = "report"))]
        Some(Command::Report(_)) => Err(feature::Feature::Report.into()),
        Some(Command::Compare(args)) => difference::run(args),
        Some(Command::Tune(args)) => tune::run(args),
        Some(Command::Gen(args)) => generate::run(args).map(|()| Verdict::Clean),
        Some(Command::Devices(args)) => devices::run(args),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::Profile(args)) => doctor::print_profile(args),
        Some(Command::Plan(args)) => plan::run(args),
    };
    verdict.map(|verdict| match verdict {
        Verdict::Clean => ExitCode::SUCCESS,
        Verdict::Faulty => ExitCode::from(FAULTY),
    })
}

fn failed(error: &CliError) -> ExitCode {
    output::complain(error);
    ExitCode::from(error.status())
}
