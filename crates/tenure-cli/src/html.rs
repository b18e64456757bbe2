//! `tenure report --html FILE`: replays a recording, or reads snapshots, and writes the page.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::Path;

use tenure::config::Strategy;
use tenure::{Gpu, MemoryUse, record::RecordedAllocation, sim};
use tenure_plan::plan;
use tenure_report::{History, HistoryRecorder, PlannedResource, TransientPlan, read_snapshots};
use tenure_trace::{OwnMemory, Trace};

use crate::args::{ReportArgs, chosen_profile};
use crate::error::{CliError, PlanFileError};
use crate::input::{Input, PageSource};
use crate::replay::{Job, Moment, Observer, Settings, Simulated, Target as _, Verdict};
use crate::{compare, output};

pub(crate) fn run(args: &ReportArgs, page: &Path) -> Result<Verdict, CliError> {
    let plan = args.plan.as_deref().map(planned).transpose()?;
    let source = Input::open(&args.file)?.recording_or_snapshots()?;
    let failed = |error| CliError::File { file: page.to_path_buf(), error };
    let (file, (mut history, verdict)) = match source {
        // The file is opened before the replay, which may take long.
        PageSource::Recording(name, trace) => {
            let file = open(page).map_err(failed)?;
            let profile = chosen_profile(args.profile, &trace.header);
            (file, of_recording(profile, (args.strategy.into(), &args.settings()), &name, &trace)?)
        }
        PageSource::Snapshots(name, text) => {
            let reading = output::working("reading");
            let read = read_snapshots(BufReader::new(text), &name);
            drop(reading);
            let history = read.map_err(|error| CliError::Snapshots { name, error })?;
            (open(page).map_err(failed)?, (history, Verdict::Clean))
        }
    };
    history.plan = plan;
    let told = write(file, page, &history).map_err(failed)?;
    Ok(output::tell(verdict, |out| writeln!(out, "{told}"))?)
}

/// Writes the page of a captured program.
pub(crate) fn write_captured(
    page: &Path,
    (name, trace): (&str, &Trace),
    profile: sim::Profile,
    is_told: bool,
) -> Result<(), CliError> {
    let failed = |error| CliError::File { file: page.to_path_buf(), error };
    let (history, verdict) = of_recording(profile, (Strategy::Pooled, &Settings::default()), name, trace)?;
    let told = write(open(page).map_err(failed)?, page, &history).map_err(failed)?;
    if is_told {
        output::tell(verdict, |out| writeln!(out, "{told}"))?;
    }
    Ok(())
}

/// Replays a recording on the simulated device and records the history; also returns the verdict.
fn of_recording(
    profile: sim::Profile,
    (strategy, settings): (Strategy, &Settings),
    name: &str,
    trace: &Trace,
) -> Result<(History, Verdict), CliError> {
    let target = Simulated { profile };
    let program = target.prepare(trace)?;
    let bar = output::progress(program.steps.len() as u64, "replaying");
    let progress = |steps: u64| bar.set_position(steps);
    let (summary, program) = (&trace.summary, &program);
    let job = Job { name, summary, program, strategy, settings, progress: &progress };
    let mut watch = Watch { recorder: None, of_slot: vec![usize::MAX; program.slots] };
    let replayed = target.replay_watched(&mut watch, &job);
    drop(bar);
    let outcome = replayed.map_err(|error| CliError::of_replay(name, strategy.name(), error))?;
    let outcomes = [outcome];
    compare::complain_of_findings(&outcomes);
    let title = Path::new(name).file_name().map_or_else(|| name.into(), |file| file.to_string_lossy());
    let history = watch.recorder.map_or_else(History::default, |recorder| recorder.finish(&title));
    let has_own = summary.blocks > 0 || summary.aliases > 0 || summary.imports > 0;
    let history = History { own: has_own.then(|| OwnMemory::of(trace)), ..history };
    Ok((history, compare::verdict(&outcomes)))
}

/// Observes a replay and records its history.
struct Watch {
    recorder: Option<HistoryRecorder>,
    /// Number of the object in each slot.
    of_slot: Vec<usize>,
}

impl Watch {
    fn begin(&mut self, gpu: &Gpu<sim::Device>) {
        let recorder = HistoryRecorder::new(gpu);
        recorder.tag_with(kind_of_recording);
        // The manager is new, and has no other recorder.
        let _is_first = gpu.set_recorder(recorder.hook());
        self.recorder = Some(recorder);
    }
}

impl Observer<sim::Device> for Watch {
    fn observe(&mut self, gpu: &Gpu<sim::Device>, moment: Moment<'_, sim::Device>) {
        let Some(recorder) = &self.recorder else { return self.begin(gpu) };
        match moment {
            Moment::Created { slot, .. } => {
                if let Some(of_slot) = self.of_slot.get_mut(slot) {
                    *of_slot = recorder.objects().saturating_sub(1);
                }
            }
            Moment::Used { slot } => {
                if let Some(object) = self.of_slot.get(slot) {
                    recorder.note_use(*object);
                }
            }
            Moment::FrameEnded => recorder.end_frame(gpu),
            _ => {}
        }
    }
}

/// The kind of an allocation, in place of a tag, which recordings lack.
fn kind_of_recording(allocation: &RecordedAllocation) -> &'static str {
    match (allocation.is_texture, allocation.memory_use) {
        (true, _) => "gpu_only+optimal",
        (false, MemoryUse::Upload | MemoryUse::GpuUpload) => "cpu_to_gpu+linear",
        (false, MemoryUse::Readback) => "gpu_to_cpu+linear",
        (false, _) => "gpu_only+linear",
    }
}

/// Reads and plans the resources of a frame.
fn planned(file: &Path) -> Result<TransientPlan, CliError> {
    let (name, table) = Input::open(file)?.table()?;
    let planning = output::working("planning");
    let plan = match plan(&table.items, &tenure_plan::PlanConfig::default()) {
        Ok(plan) => plan,
        Err(error) => return Err(PlanFileError::Items { name, error, table: Box::new(table) }.into()),
    };
    drop(planning);
    // Each class is a separate address space.
    let mut classes: Vec<u32> = table.items.iter().map(|item| item.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut heaps = vec![0; classes.len()];
    let mut resources = Vec::with_capacity(table.items.len());
    for ((item, name), &offset) in table.items.iter().zip(table.ids).zip(&plan.offsets) {
        let heap = classes.binary_search(&item.class).unwrap_or(0);
        if let Some(end) = heaps.get_mut(heap) {
            *end = offset.saturating_add(item.size).max(*end);
        }
        let (first, end, size) = (item.first, item.last, item.size);
        resources.push(PlannedResource { name, heap, first, end, offset, size });
    }
    Ok(TransientPlan { passes: Vec::new(), heaps, bound: plan.lower_bound, resources })
}

/// Opens the file for the page without truncating it: the old content is kept until a page is written.
fn open(page: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(page)
}

/// Writes the page, and returns a line about it.
fn write(file: File, page: &Path, history: &History) -> io::Result<String> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let mut sink = Counting { sink: BufWriter::new(file), bytes: 0 };
    history.write_html(&mut sink)?;
    sink.flush()?;
    let (frames, objects) = (history.frames.len(), history.objects.len());
    let (page, size) = (output::printable(&page.display().to_string()), sink.bytes as f64 / 1e6);
    Ok(format!("{page}: {frames} frames with {objects} allocations, {size:.1} MB"))
}

/// Counts the written bytes, because a pipe has no length.
struct Counting<W> {
    sink: W,
    bytes: u64,
}

impl<W: io::Write> io::Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use tenure_trace::read_all;

    use super::*;

    #[test]
    fn own_memory_of_the_program_is_shown_at_the_frames_of_the_replay() {
        let own = "block,1,4096,,,0,type=0\nframe,,,,,3,\n";
        let rest = "alloc,1,64,4,gpu_only+linear,3,\nframe,,,,,7,\nfree,1,64,,,7,final\n";
        let page = |lines: String| {
            let text = format!("#tenure-recording=2\nop,id,size,align,kind,frame,more\n{lines}");
            let trace = read_all(text.as_bytes(), "game").unwrap();
            let settings = (Strategy::Pooled, &Settings::default());
            let (history, _) = of_recording(sim::Profile::default(), settings, "game", &trace).unwrap();
            let numbers = history.frames.len() as u64;
            assert_eq!(
                numbers,
                trace.summary.frames + 1,
                "a frame for each mark, and what comes after the last"
            );
            history.own
        };
        let found = page(format!("{own}{rest}")).unwrap();
        assert_eq!(
            (found.peak_bytes, found.rows[1].changes[0].frame, found.alive_blocks.count),
            (4096, 0, 1)
        );
        assert_eq!(page(rest.to_owned()), None, "no block, no part of the page");
    }
}
