//! `tenure report RECORDING --perfetto FILE`: a replay as a timeline, in Perfetto's trace format.
//!
//! - Memory from the driver is a [`VulkanMemoryEvent`](proto::VulkanMemoryEvent) of [device
//!   memory](proto::MemorySource::DeviceMemory), with its memory type and heap.
//! - A buffer or texture is created, bound and destroyed as if it had its own API object, even if it shares one. So
//!   Perfetto's counters of bound memory show the live bytes, and its counters of allocated memory the bytes reserved
//!   for them.
//! - Frames, waits and moves are slices; heaps and pools have counters.

mod pools;
pub mod proto;
mod recorder;
mod writer;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tenure::device::MemoryDevice as _;
use tenure::{config::Strategy, sim};
use tenure_trace::Trace;

use crate::args::{ReportArgs, chosen_profile};
use crate::compare;
use crate::error::CliError;
use crate::input::Input;
use crate::output;
use crate::replay::{Counted, Job, Outcome, Simulated, Target, Verdict};
use recorder::{Subject, TraceRecorder};

pub(crate) fn run(args: &ReportArgs, file: &Path) -> Result<Verdict, CliError> {
    let (name, trace) = Input::open(&args.file)?.trace()?;
    let (outcome, packets) = write_file(args, file, &name, &trace)?;
    let outcomes = [outcome];
    compare::complain_of_findings(&outcomes);
    Ok(output::tell(compare::verdict(&outcomes), |out| {
        let file = output::printable(&file.display().to_string());
        writeln!(out, "{file}: {packets} packets, to open in https://ui.perfetto.dev")
    })?)
}

/// Replays on the simulated device, and writes the trace.
fn write_file(args: &ReportArgs, file: &Path, name: &str, trace: &Trace) -> Result<(Outcome, u64), CliError> {
    let failed = |error| CliError::File { file: file.to_path_buf(), error };
    let target = Simulated { profile: chosen_profile(args.profile, &trace.header) };
    let program = target.prepare(trace)?;
    let settings = args.settings();
    let strategy: Strategy = args.strategy.into();
    let bar = output::progress(program.steps.len() as u64, "replaying");
    let progress = |steps: u64| bar.set_position(steps);
    let (summary, program) = (&trace.summary, &program);
    let job = Job { name, summary, program, strategy, settings: &settings, progress: &progress };
    let sink = BufWriter::new(File::create(file).map_err(failed)?);
    let subject = Subject {
        name: &format!("tenure: {name} ({}, {})", strategy.name(), target.profile.name()),
        shapes: program.shapes.clone(),
        ids: program.ids.clone(),
        // From another device: a query on the replay's device takes simulated time.
        budgets: sim::Device::new(target.profile).budget().unwrap_or_default(),
    };
    let device = Counted::with_calls(target.device(&job));
    let mut recorder = TraceRecorder::new(sink, &device, subject).map_err(failed)?;
    let outcome = target.replay_observed(device, &mut recorder, &job);
    drop(bar);
    let outcome = outcome.map_err(|error| CliError::of_replay(name, strategy.name(), error))?;
    Ok((outcome, recorder.finish().map_err(failed)?))
}
