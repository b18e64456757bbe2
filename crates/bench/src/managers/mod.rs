//! Other managers compared with tenure: the same programs with each, on null devices and on Vulkan.
//!
//! wgpu and vulkano, which take longer to build than everything else here, are in a separate program,
//! `managers`. [`start`] builds and runs that program, which calls [`run`] with its managers.

mod measure;
mod peers;
mod programs;
mod report;
mod tenure;

pub use peers::start;
pub use programs::{COPIED_BYTES, Call, Frame, Program, Slots, UPLOADED, VALUES, copies};
pub use tenure_trace::MemoryKind;

use crate::Result;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; managers take turns within a round, and the median counts.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Counts the instructions on the null device, too, with callgrind: they are the same on a busy machine as on a quiet
    /// one.
    #[arg(long)]
    pub instructions: bool,
    /// Play one program with one manager on the null device, to be watched by callgrind.
    #[arg(long, hide = true, num_args = 2, value_names = ["PROGRAM", "MANAGER"])]
    pub counted: Option<Vec<String>>,
}

/// A device to play on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceName {
    /// A null device; each manager has its own.
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
pub trait Manager {
    /// Makes the buffers that the frames of a program use.
    ///
    /// # Errors
    /// Those of the manager.
    fn prepare(&mut self, program: Program) -> Result;

    /// Plays a frame. It waits while three earlier frames are not complete.
    ///
    /// # Errors
    /// Those of the manager.
    fn play(&mut self, frame: &Frame) -> Result;

    /// Bytes currently allocated from the driver, if the manager reports them.
    fn reserved(&self) -> Option<u64>;

    /// Objects and allocations created by the driver so far, if the manager reports them.
    fn driver_creations(&self) -> Option<u64> {
        None
    }
}

/// A manager of the comparison.
pub struct Contender {
    /// Name and version.
    pub manager: &'static str,
    /// The device.
    pub device: DeviceName,
    /// Whether it can play a program.
    pub plays: fn(Program) -> bool,
    /// The target for tenure's time divided by this manager's in a program, if there is one.
    pub target: fn(Program) -> Option<f64>,
    /// Opens a device and a manager on it.
    pub open: fn() -> Result<Box<dyn Manager>>,
}

/// Plays the programs with tenure and with others, and prints the figures. Devices that cannot be opened are
/// left out.
///
/// # Errors
/// Those of the managers; tenure reserves more memory than another.
pub fn run(args: &Args, others: Vec<Contender>) -> Result {
    let mut contenders = tenure::contenders();
    contenders.extend(others);
    if let Some(counted) = &args.counted {
        return measure::play_counted(counted, &contenders);
    }
    contenders.sort_by_key(|contender| contender.device);
    contenders.retain(|Contender { manager, device, open, .. }| match open() {
        Ok(_) => true,
        Err(error) => {
            eprintln!("left out: {manager}, {}: {error}", device.name());
            false
        }
    });
    let mut lines = Vec::new();
    for (program, _) in Program::ALL {
        lines.extend(measure::measure(program, &contenders, args.rounds)?);
    }
    if args.instructions {
        lines.iter_mut().try_for_each(measure::count_instructions)?;
    }
    report::print(&lines)
}
