//! Measures tenure and its peers, and prints the results.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use bench::{
    alignment, compact, create, frame, in_place, instructions, managers, plan, pressure, recordings, scale,
    suballoc, threads,
};

/// Measures tenure and its peers.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time, packing and metadata of the suballocators on seven workloads.
    Suballoc(suballoc::Args),
    /// Time of each call, and bytes reserved, of allocators that replay recordings of programs.
    Recordings(recordings::Args),
    /// Instructions that the suballocators take, counted by callgrind.
    Instructions(instructions::Args),
    /// Time of the operations of each frame: constants, descriptor tables, recordings, copies.
    Frame(frame::Args),
    /// Time to create, drop and reclaim buffers and textures, on every device there is.
    Create(create::Args),
    /// Creation, uploads, passes and constants of whole managers: tenure, wgpu, vulkano.
    Managers(managers::Args),
    /// Memory reserved by 20,000 small buffers and textures with and without tight alignment, by Direct3D 12's
    /// rules.
    Alignment,
    /// Moved and freed bytes and time of compaction, compared with AMD's Vulkan Memory Allocator.
    Compact(compact::Args),
    /// Time and staging memory of direct uploads, compared with staged uploads.
    InPlace(in_place::Args),
    /// Throughput of several threads, compared with one: create, drop, reclaim, push constants.
    Threads(threads::Args),
    /// The end of a frame and an allocation, by the number of live objects and blocks.
    Scale,
    /// Peaks and times of planners on frames, hard instances and random items.
    Plan,
    /// Bytes paged in by residency policies when memory is short, compared with Belady's bound.
    Pressure(pressure::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Suballoc(args) => suballoc::run(&args),
        Command::Recordings(args) => recordings::run(&args),
        Command::Instructions(args) => instructions::run(&args),
        Command::Frame(args) => frame::run(&args),
        Command::Create(args) => create::run(&args),
        Command::Managers(args) => managers::start(&args),
        Command::Alignment => alignment::run(),
        Command::Compact(args) => compact::run(&args),
        Command::InPlace(args) => in_place::run(&args),
        Command::Threads(args) => threads::run(&args),
        Command::Scale => scale::run(),
        Command::Plan => plan::run(),
        Command::Pressure(args) => pressure::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
