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

use std::borrow::Borrow;
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

/// The strategies to compare the program with: tenure's, and one committed resource each.
const STRATEGIES: [Strategy; 2] = [Strategy::Pooled, Strategy::Committed];

/// The program's own memory beside that of replays.
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
        // Before the program runs, which may take long. The old content stays until a recording is written.
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file);
        opened.map_err(|error| CliError::File { file: file.clone(), error })?;
    }
    let ended = program::run(args);
    let logs = ended.as_ref().map_or(&[][..], |run| &run.logs);
    let recordings: Vec<_> = logs.iter().filter_map(|text| convert::recording(text)).collect();
    if recordings.is_empty() {
        args.out.iter().chain(&args.html).for_each(|file| remove_empty(file));
    }
    let Run { name, status, .. } = ended?;
    let recordings = match read(recordings, |recording| trace_of(recording, &name)) {
        Ok(recordings) => recordings,
        Err((unread, error)) => {
            // A recording that is too long to be replayed is written anyway.
            let (_, unwritten) = write_all(args, encoding, &name, &unread);
            return Err(unwritten.unwrap_or(error));
        }
    };
    let Some((first, trace)) = recordings.first() else {
        let error = CaptureError::NoDevice { program: name };
        if status == 0 {
            return Err(error.into());
        }
        output::complain(&error);
        return Ok(ExitCode::from(status));
    };
    // The table is shown even if a file cannot be written: the program may have run for long.
    let all: Vec<_> = recordings.iter().map(|(recording, _)| recording).collect();
    let (files, unwritten) = write_all(args, encoding, &name, &all);
    let comparison = compared(&name, first, trace)?;
    output::tell(Verdict::Clean, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &comparison)?;
            return writeln!(out);
        }
        write!(out, "{}", table::text(&comparison, recordings.len()))?;
        for (file, (_, trace)) in files.iter().zip(&recordings) {
            let (file, events) = (output::printable(&file.display().to_string()), trace.events.len());
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

fn of_file(file: PathBuf, error: TraceError) -> CliError {
    match error {
        TraceError::Write { error } => CliError::File { file, error },
        other => other.into(),
    }
}

/// Writes one file per recording, and returns their names. Stops at the first error.
fn write_all(
    args: &CaptureArgs,
    encoding: Encoding,
    program: &str,
    recordings: &[impl Borrow<Recording>],
) -> (Vec<PathBuf>, Option<CliError>) {
    let mut files = Vec::new();
    for (index, recording) in recordings.iter().enumerate() {
        let Some(file) = args.out.as_deref().map(|file| numbered(file, index)) else { break };
        match write::to_file(recording.borrow(), program, &file, encoding) {
            Ok(()) => files.push(file),
            Err(error) => return (files, Some(of_file(file, error))),
        }
    }
    (files, None)
}

/// A recording, and its events.
type Traced = (Recording, Trace);

fn trace_of(recording: &Recording, program: &str) -> Result<Trace, CliError> {
    Ok(read_all(write::to_bytes(recording, program)?.as_slice(), program)?)
}

/// Reads the recordings of all devices with memory, largest first; if none has any, that of one device. On
/// failure returns all recordings with the first error.
fn read(
    recordings: Vec<Recording>,
    trace: impl Fn(&Recording) -> Result<Trace, CliError>,
) -> Result<Vec<Traced>, (Vec<Recording>, CliError)> {
    let traces = match recordings.iter().map(trace).collect::<Result<Vec<_>, _>>() {
        Ok(traces) => traces,
        Err(error) => return Err((recordings, error)),
    };
    let mut recordings: Vec<_> = recordings.into_iter().zip(traces).collect();
    recordings.sort_by_key(|(_, trace)| std::cmp::Reverse(trace.summary.peak_block_bytes));
    let with_memory = recordings.iter().filter(|(_, trace)| trace.summary.blocks > 0).count();
    recordings.truncate(with_memory.max(1));
    Ok(recordings)
}

/// Removes the file that was created for a recording that never came. If that fails, an empty file stays.
fn remove_empty(file: &Path) {
    if fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() == 0) {
        let _stays = fs::remove_file(file);
    }
}

/// Replays a recording with each of [`STRATEGIES`].
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

/// The file for a further device of the program: `game-2.csv.gz` after `game.csv.gz`.
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

#[cfg(test)]
mod tests {
    use tenure_trace::Encoding;

    use super::{convert, numbered, read, trace_of, write_all};
    use crate::args::CaptureArgs;
    use crate::error::{CaptureError, CliError};

    /// Recordings that are too long to be read back are written anyway, one file per device.
    #[test]
    fn recordings_that_cannot_be_read_are_kept() {
        let log = "5 0 capture 1\n5 0 process 7\n5 0 application game\n5 0 api 1.3\n5 0 device A card\n5 0 type 0 1 0\n";
        let recordings = || [log, log].map(|log| convert::recording(log).unwrap()).into();
        assert_eq!(read(recordings(), |recording| trace_of(recording, "game")).unwrap().len(), 1);

        let refused = |_: &_| Err(CliError::from(CaptureError::NoDevice { program: "game".to_owned() }));
        let (unread, _) = read(recordings(), refused).unwrap_err();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("game.csv");
        let args = CaptureArgs {
            program: Vec::new(),
            out: Some(out.clone()),
            html: None,
            card: None,
            names: false,
            json: false,
            layer: None,
        };
        let (files, unwritten) = write_all(&args, Encoding::Plain, "game", &unread);
        assert!(unwritten.is_none());
        assert_eq!(files, [numbered(&out, 0), numbered(&out, 1)]);
        assert!(files.iter().all(|file| std::fs::read_to_string(file).unwrap().contains("#program=game")));
    }
}
