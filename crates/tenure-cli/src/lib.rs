//! The program `tenure`: replay recordings of what programs allocate, on simulated and real devices,
//! generate such, list the devices that there are, and plan the memory of frames.
//!
//! Exit status: 0 when nothing failed, leaked or was hazardous; 1 when something did; 2 for bad
//! usage or input, or when there is no such device.

mod api;
mod args;
mod choose;
mod compare;
mod demo;
mod devices;
mod error;
mod generate;
mod input;
mod output;
mod plan;
pub mod replay;

mod table;

use std::process::ExitCode;

pub use args::Args;
use args::Command;
use replay::Verdict;

const FAULTY: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Does what the arguments ask for, on the process's own streams. Never panics on what they, a
/// file or a closed pipe hold.
#[must_use]
pub fn run(args: &Args) -> ExitCode {
    let done = match &args.command {
        None => demo::run(),
        Some(Command::Replay(args)) => compare::run(args),
        Some(Command::Gen(args)) => generate::run(args).map(|()| Verdict::Clean),
        Some(Command::Devices(args)) => devices::run(args),
        Some(Command::Plan(args)) => plan::run(args),
    };
    match done {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Faulty) => ExitCode::from(FAULTY),
        // Whoever reads the recording that is generated has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.status())
        }
    }
}
