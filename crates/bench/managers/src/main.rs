//! Runs the programs of `bench -- managers` with tenure, wgpu and vulkano, and prints the figures.
//!
//! It is started by that command.

mod vulkano;
mod wgpu;

use std::process::ExitCode;

use bench::managers::{Args, run};
use clap::Parser;

/// The number of frames in flight: tenure's default.
const FRAMES_IN_FLIGHT: usize = 3;

/// Measures tenure beside wgpu and vulkano.
#[derive(Parser)]
#[command(version, about)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    let mut others = wgpu::contenders();
    others.push(vulkano::contender());
    match run(&Program::parse().args, others) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
