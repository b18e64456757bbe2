//! `tenure capture`: runs a program with the layer of `tenure-capture`, turns its logs into recordings, and compares the
//! program's own memory with that of replays.

mod card;
mod convert;
mod folder;
mod log;
mod program;
mod signals;
mod table;
mod write;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use tenure::config::Strategy;
use tenure_trace::{Encoding, OwnMemory, Trace, TraceError, read_all};

use crate::args::CaptureArgs;
use crate::error::{CaptureError, CliError};
use crate::feature::Feature;
use crate::replay::{Outcome, Settings, Simulated, Verdict};
use crate::{compare, output};
use convert::Recording;
use program::Run;

/// The strategies that the program is compared with: tenure's, and one committed resource each.
const STRATEGIES: [Strategy; 2] = [Strategy::Pooled, Strategy::Committed];

/// The memory of a program beside that of replays.
#[derive(Debug, Serialize)]
struct Comparison {
    program: String,
    device: String,
    /// The simulated device of the replays.
    profile: &'static str,
    /// Frames, or submissions of a program that presents nothing.
    frames: u64,
    own: OwnMemory,
    pooled: Outcome,
    committed: Outcome,
}

/// Runs the program, and returns its exit status.
pub(crate) fn run(args: &CaptureArgs) -> Result<ExitCode, CliError> {
    let encoding = args.out.as_deref().map_or(Encoding::Plain, Encoding::of_name);
    if let (Some(file), false) = (&args.out, encoding.is_supported()) {
        return Err(CliError::File { file: file.clone(), error: Feature::Zstd.into() });
    }
    if args.html.is_some() && !Feature::Report.is_built() {
        return Err(Feature::Report.into());
    }
    for file in args.out.iter().chain(&args.html) {
        // Before the program runs, which may take long. The old content stays until there is a recording.
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file);
        opened.map_err(|error| CliError::File { file: file.clone(), error })?;
    }
    let ended = program::run(args);
    let found = ended.as_ref().map_or_else(|_| Ok(Vec::new()), |run| recordings(&run.logs, &run.name));
    if found.as_ref().map_or(true, Vec::is_empty) {
        args.out.iter().chain(&args.html).for_each(|file| remove_empty(file));
    }
    let (Run { name, status, .. }, recordings) = (ended?, found?);
    let Some((first, trace)) = recordings.first() else {
        let error = CaptureError::NoDevice { program: name };
        if status == 0 {
            return Err(error.into());
        }
        output::complain(&error);
        return Ok(ExitCode::from(status));
    };
    let (mut files, mut unwritten) = (Vec::new(), None);
    for (index, (recording, trace)) in recordings.iter().enumerate() {
        let Some(file) = args.out.as_deref().map(|file| numbered(file, index)) else { break };
        match write::to_file(recording, &name, &file, encoding) {
            Ok(()) => files.push((file, trace.events.len())),
            Err(error) => {
                // The table is still to be shown: the program may have run for long.
                unwritten = Some(of_file(file, error));
                break;
            }
        }
    }
    let comparison = compared(&name, first, trace)?;
    output::tell(Verdict::Clean, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &comparison)?;
            return writeln!(out);
        }
        write!(out, "{}", table::text(&comparison, recordings.len()))?;
        for (file, events) in &files {
            let file = output::printable(&file.display().to_string());
            writeln!(out, "{file}: {events} events")?;
        }
        Ok(())
    })?;
    #[cfg(feature = "report")]
    if let Some(page) = &args.html {
        crate::html::write_captured(page, (&name, trace), first.profile(), !args.json)?;
    }
    unwritten.map_or(Ok(ExitCode::from(status)), Err)
}

/// The error with the name of the file.
fn of_file(file: PathBuf, error: TraceError) -> CliError {
    match error {
        TraceError::Write { error } => CliError::File { file, error },
        other => other.into(),
    }
}

/// The recordings of all devices with memory, the one with the most first. If none has any, of one device.
fn recordings(logs: &[String], program: &str) -> Result<Vec<(Recording, Trace)>, CliError> {
    let recordings = logs.iter().filter_map(|text| convert::recording(text));
    let read = recordings.map(|recording| {
        let trace = read_all(write::to_bytes(&recording, program)?.as_slice(), program)?;
        Ok::<_, CliError>((recording, trace))
    });
    let mut recordings = read.collect::<Result<Vec<_>, _>>()?;
    recordings.sort_by_key(|(_, trace)| std::cmp::Reverse(trace.summary.peak_block_bytes));
    let with_memory = recordings.iter().filter(|(_, trace)| trace.summary.blocks > 0).count();
    recordings.truncate(with_memory.max(1));
    Ok(recordings)
}

/// Removes a file that was created in vain. If that fails, it stays, empty.
fn remove_empty(file: &Path) {
    if fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() == 0) {
        let _stays = fs::remove_file(file);
    }
}

/// Replays a recording in both ways.
fn compared(program: &str, recording: &Recording, trace: &Trace) -> Result<Comparison, CliError> {
    let profile = recording.profile();
    let outcomes =
        compare::replay_all(&Simulated { profile }, (program, trace), &STRATEGIES, &Settings::default())?;
    let [pooled, committed] =
        <[Outcome; 2]>::try_from(outcomes).unwrap_or_else(|_| unreachable!("one for each strategy"));
    Ok(Comparison {
        program: recording.program(program).to_owned(),
        device: recording.device.clone(),
        profile: profile.name(),
        frames: recording.frames,
        own: OwnMemory::of(trace),
        pooled,
        committed,
    })
}

/// The file of another device of the program: `game-2.csv.gz` after `game.csv.gz`.
fn numbered(file: &Path, index: usize) -> PathBuf {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match (index, name.split_once('.')) {
        (0, _) => file.to_path_buf(),
        (_, Some((stem, ends))) if !stem.is_empty() => {
            file.with_file_name(format!("{stem}-{}.{ends}", index + 1))
        }
        _ => file.with_file_name(format!("{name}-{}", index + 1)),
    }
}
