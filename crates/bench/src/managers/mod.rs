//! Whole managers beside tenure: the same programs with each, on devices whose calls do next to nothing and on Vulkan.
//!
//! wgpu and vulkano, which take longer to build than everything else here, are in a program of their own, `managers`.
//! [`start`] builds that program and lets it play everything; it calls [`run`] with what it has.

mod measure;
mod peers;
mod programs;
mod report;
mod tenure;

pub use peers::start;
pub use programs::{CONSTANTS, COPIED_BUFFERS, COPIED_BYTES, Call, Program, UPLOAD_BYTES, UPLOADS, copies};
pub use tenure_trace::MemoryKind;

use report::Report;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; managers take turns within a round, and the median counts.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
}

/// A device to play on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceName {
    /// One whose calls do next to nothing: each manager has its own.
    Null,
    /// The first one of Vulkan.
    Vulkan,
}

impl DeviceName {
    const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Vulkan => "Vulkan",
        }
    }
}

/// A manager of GPU memory with a device, ready to play one program.
///
/// Each function but [`prepare`](Self::prepare) is a frame, in which is submitted once if nothing else is said. It waits
/// while three earlier frames are not complete.
pub trait Manager {
    /// Makes what the frames of a program use.
    ///
    /// # Errors
    /// Those of the manager, in words, as of all functions.
    fn prepare(&mut self, program: Program) -> Result<(), String>;

    /// Creates and drops. Nothing is submitted.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn create(&mut self, calls: &[Call]) -> Result<(), String>;

    /// Uploads these [`UPLOAD_BYTES`] to each of [`UPLOADS`] buffers.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn upload(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Records so many passes in one list of commands, each with its [`copies`] and the barriers that they need.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn record(&mut self, passes: usize) -> Result<(), String>;

    /// The same with a list of commands for each pass. They are submitted together, if the manager can.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn record_lists(&mut self, passes: usize) -> Result<(), String>;

    /// Writes each of [`CONSTANTS`] values to memory that the GPU can read until the frame is complete, each where it
    /// can be bound by itself. The submission's list of commands has no other commands.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn write_constants(&mut self, values: &[[u32; 16]]) -> Result<(), String>;

    /// Bytes of memory that the driver has given now, if the manager says so.
    fn reserved(&self) -> Option<u64>;

    /// Objects and memory that the driver has made so far, if the manager says so.
    fn driver_creations(&self) -> Option<u64>;
}

/// A manager that may take part.
pub struct Contender {
    /// Name and version.
    pub manager: &'static str,
    /// What it runs on.
    pub device: DeviceName,
    /// Whether it can play a program.
    pub plays: fn(Program) -> bool,
    /// The largest part of its time that tenure is to take in a program, if there is a target.
    pub target: fn(Program) -> Option<f64>,
    /// Opens a device and a manager on it.
    pub open: fn() -> Result<Box<dyn Manager>, String>,
}

/// Plays the programs with tenure and with others, and prints the figures. What cannot be opened is left out.
///
/// # Errors
/// Those of the managers, in words; tenure reserves more memory than another.
pub fn run(args: &Args, others: Vec<Contender>) -> Result<(), String> {
    let all = tenure::contenders().into_iter().chain(others);
    let mut contenders: Vec<_> = all.collect();
    contenders.sort_by_key(|contender| contender.device);
    let contenders = measure::available(contenders);
    let mut lines = Vec::new();
    for program in Program::ALL {
        lines.extend(measure::measure(program, &contenders, args.rounds)?);
    }
    let report = Report(lines);
    println!("{report}");
    match report.missed() {
        0 => Ok(()),
        missed => Err(format!("tenure reserves more than another manager in {missed} cases")),
    }
}
