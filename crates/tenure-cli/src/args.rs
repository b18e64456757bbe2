//! The command line.

mod capture;
mod compare;
mod doctor;
#[cfg(feature = "report")]
mod report;
mod tune;

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use tenure::{
    Config,
    config::{FrameConfig, Strategy, UploadConfig, UploadSuballocator},
    sim,
};
use tenure_plan::PlanConfig;
use tenure_trace::{Header, Workload};

use crate::replay::{Settings, recorded_profile};
pub(crate) use capture::CaptureArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use doctor::{DoctorArgs, ProfileArgs};
#[cfg(feature = "report")]
pub(crate) use report::ReportArgs;
pub(crate) use tune::TuneArgs;

/// GPU memory and lifetime manager: replay recordings of real programs, with or without a GPU, and
/// plan the memory of frames.
///
/// Without a command: replays a recording of a small Bevy scene with three strategies and compares the results.
/// Exit status: 0 for success; 1 after a failure, a leak or a hazard; 2 for bad usage or input, or if the
/// requested device does not exist.
#[derive(Debug, Parser)]
#[command(name = "tenure", version)]
pub struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program on Vulkan, and compare its memory with that of tenure
    ///
    /// A layer between the program and its driver records the program's memory, resources, submissions and
    /// frames; the program needs no change. The recording is then replayed on a simulated device similar to the real
    /// one. Exit status: that of the program; 2 for bad usage, a missing layer, or if the layer saw no device.
    Capture(CaptureArgs),
    /// Replay a recording and measure
    Replay(ReplayArgs),
    /// Replay a recording on the simulated device, and show its memory over time
    #[cfg_attr(not(feature = "report"), doc = "(not in this program: the feature `report` adds it)")]
    Report(ReportArgs),
    /// Show two runs side by side: replays of two recordings, or results of `tenure replay --json`
    ///
    /// Exit status: 0 if the comparison was made, whatever its result; 2 for bad usage or input.
    Compare(CompareArgs),
    /// Try configurations on a recording and recommend one
    ///
    /// Each configuration differs from the best one so far in one setting, and is replayed on the simulated
    /// device with every seed.
    Tune(TuneArgs),
    /// Generate a recording
    Gen(GenArgs),
    /// List the available devices, with their properties
    ///
    /// An API without a device is listed with the reason. Exit status: 0 if there is a device, otherwise 1; with
    /// --sim the simulated devices count.
    Devices(DevicesArgs),
    /// Compare the statements of a device with its behaviour, in two minutes and without a window
    ///
    /// Measures requirements, budgets, allocations, mapped memory, uploads, sparse tiles and timestamps. The
    /// result does not contain the machine's name or serial number. Exit status: 0 if everything that the device
    /// supports was measured; 1 if a step failed; 2 for bad usage, without a device, or if the file cannot be
    /// written.
    Doctor(DoctorArgs),
    /// Print the table of a simulated device similar to an examined one
    Profile(ProfileArgs),
    /// Place resources with known lifetimes in as little memory as possible
    ///
    /// Exit status: 0 for a plan, within the capacity if one is given; 1 if the best plan found exceeds it; 2
    /// for bad usage or input.
    Plan(PlanArgs),
}

/// Any arguments, also `--help`, for the error of a program without this command.
#[cfg(not(feature = "report"))]
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ReportArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _any: Vec<std::ffi::OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The recording (plain, gzip or zstd); - for standard input
    pub(crate) file: PathBuf,
    /// The kind of device
    #[arg(long, value_enum, default_value_t = DeviceKind::Sim)]
    pub(crate) device: DeviceKind,
    /// The hardware profile of the simulated device [default: the recording's, or d3d12-tier2]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<sim::Profile>,
    /// The device of a real API: its number in `tenure devices`, or a part of its name [default: the first]
    #[arg(long, value_name = "N|NAME")]
    pub(crate) adapter: Option<Pick>,
    /// Use of the validation layer of a real API [default: auto]
    #[arg(long, value_enum)]
    pub(crate) validation: Option<Validation>,
    /// The placement of resources [default: each in turn]
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<StrategyName>,
    /// Print a JSON object for each strategy, one per line, instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// The maximum number of frames in flight; 0: freed memory is reusable at once, as after a wait for the GPU
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(crate) frames_in_flight: u32,
    /// The seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The division of upload memory
    #[arg(long, value_enum, default_value_t = UploadsName::General)]
    pub(crate) uploads: UploadsName,
}

impl ReplayArgs {
    pub(crate) fn settings(&self) -> Settings {
        let Self { frames_in_flight, seed, uploads, .. } = *self;
        let config = Config::default()
            .frames(frames(frames_in_flight))
            .uploads(UploadConfig::default().suballocator(uploads.into()));
        Settings { config, seed, movable: false, final_frees: frames_in_flight == 0 }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct GenArgs {
    /// The kind of program to imitate: voxel, streaming, frames or fragment
    pub(crate) workload: Workload,
    /// The seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The total number of allocations and frees
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) ops: u64,
    /// The file to write, compressed if its name ends in .gz or .zst [default: standard output, plain]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DevicesArgs {
    /// Print a JSON object for each device, one per line, instead of tables; missing APIs go to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// List the simulated devices, too
    #[arg(long)]
    pub(crate) sim: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The resources (plain, gzip or zstd), as id,lower,upper,size and optionally
    /// alignment,class,pinned,previous,kind; - for standard input
    pub(crate) file: PathBuf,
    /// The capacity in bytes [default: as small as possible]
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<u64>,
    /// The time limit in microseconds
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    pub(crate) budget_us: Option<u64>,
    /// The maximum number of placements to try; the plan is then the same on every machine [default: 500000]
    #[arg(long, value_name = "N")]
    pub(crate) nodes: Option<u64>,
    /// The number of search threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,
    /// Print a JSON object instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the resources with their offsets, as plain text
    #[arg(long, value_name = "PLACED.csv")]
    pub(crate) out: Option<PathBuf>,
    /// Draw the plan: passes from left to right, addresses upwards
    #[arg(long, value_name = "PICTURE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// The names of the passes for the picture, as pass,name and optionally queue
    #[arg(long, value_name = "PASSES.csv", requires = "svg")]
    pub(crate) passes: Option<PathBuf>,
}

impl PlanArgs {
    pub(crate) fn options(&self) -> PlanConfig {
        let mut options = PlanConfig::new().threads(usize::from(self.threads));
        options.capacity = self.capacity;
        match (self.budget_us, self.nodes) {
            (Some(micros), _) => options.time(Duration::from_micros(micros)),
            (None, Some(nodes)) => options.nodes(nodes),
            (None, None) => options,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceKind {
    /// The simulated device
    Sim,
    /// Vulkan 1.1 or newer
    Vulkan,
    /// Direct3D 12, on Windows and Wine
    #[value(name = "d3d12")]
    D3d12,
}

/// The choice of an adapter: by its number within its API, or by a part of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Number(usize),
    Name(String),
}

impl FromStr for Pick {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Number))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Validation {
    /// On if the layer is installed
    #[default]
    Auto,
    /// On; an error if the layer is not installed
    On,
    /// Off: faster, but only wrong bytes count as hazards
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StrategyName {
    /// Every resource committed
    Committed,
    /// Every resource placed, in pooled heaps
    Placed,
    /// tenure's placement policy
    Pooled,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UploadsName {
    /// The general suballocator, one pool for all sizes
    General,
    /// A buddy allocator for small requests, the general one for the rest
    Buddy,
}

impl From<UploadsName> for UploadSuballocator {
    fn from(name: UploadsName) -> Self {
        match name {
            UploadsName::General => Self::General,
            UploadsName::Buddy => Self::Buddy,
        }
    }
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Committed => Self::Committed,
            StrategyName::Placed => Self::Placed,
            StrategyName::Pooled => Self::Pooled,
        }
    }
}

/// The configuration for a number of frames in flight. For 0 the manager still needs the frame being recorded.
fn frames(in_flight: u32) -> FrameConfig {
    FrameConfig::default().in_flight(in_flight.max(1))
}

/// The profile for replays of a recording.
pub(crate) fn chosen_profile(given: Option<sim::Profile>, recorded: &Header) -> sim::Profile {
    given.or_else(|| recorded_profile(recorded)).unwrap_or_default()
}

fn profile(name: &str) -> Result<sim::Profile, String> {
    sim::Profile::by_name(name).ok_or_else(|| {
        let names: Vec<_> = sim::Profile::ALL.iter().map(sim::Profile::name).collect();
        format!("the profiles are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::{CommandFactory, Parser};

    use super::{Args, Command};
    use crate::replay::Settings;
    use tenure_plan::PlanConfig;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let args = Args::try_parse_from(["tenure", "replay", "a.csv"]).unwrap();
        let Some(Command::Replay(replay)) = args.command else { panic!("that is a replay") };
        assert_eq!(replay.settings(), Settings::default());
        let args = Args::try_parse_from(["tenure", "plan", "a.csv"]).unwrap();
        let Some(Command::Plan(plan)) = args.command else { panic!("that is a plan") };
        assert_eq!(plan.options(), PlanConfig::default());
        assert!(
            Args::command().render_long_help().to_string().contains("plan")
                && plan_help().contains(&PlanConfig::default().nodes.to_string())
        );
    }

    /// Rows of the table of defaults in docs/program.md: option, default, commands.
    type Defaults = BTreeMap<(String, String), BTreeSet<String>>;

    /// Each option's default by command: its value, or the text of its help.
    fn defaults() -> Defaults {
        let mut found = Defaults::new();
        for command in Args::command().get_subcommands() {
            for option in command.get_arguments() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let said = help.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
                let values: Vec<_> =
                    option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
                let default = said.map_or_else(|| values.join(" "), str::to_owned);
                if let Some(name) = option.get_long().filter(|_| !default.is_empty() && default != "false") {
                    let commands = found.entry((format!("--{name}"), default)).or_default();
                    commands.insert(command.get_name().to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn docs_list_the_defaults() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/program.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut documented = Defaults::new();
        for row in text.lines().filter(|row| row.starts_with("| `--")) {
            let cells: Vec<_> = row.trim_matches('|').split('|').map(|cell| cell.replace('`', "")).collect();
            let [option, commands, default] = [0, 1, 2].map(|column| cells[column].trim().to_owned());
            let is_built = |command: &str| cfg!(feature = "report") || command != "report";
            let commands: BTreeSet<_> =
                commands.split(", ").filter(|command| is_built(command)).map(str::to_owned).collect();
            if !commands.is_empty() {
                documented.insert((option, default), commands);
            }
        }
        assert_eq!(documented, defaults());
    }

    fn plan_help() -> String {
        let mut command = Args::command();
        command.find_subcommand_mut("plan").unwrap().render_long_help().to_string()
    }
}
