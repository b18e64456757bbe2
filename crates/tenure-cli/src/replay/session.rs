//! Runs the steps of a program on a device, and measures them.

use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{Error, Frame, Gpu, error::Awaited};

use super::Job;
use super::checker::ReadChecker;
use super::live_objects::Objects;
use super::live_objects::Rng;
use super::meter::Meter;
use super::observer::{Moment, Observer};
use super::program::Step;
use super::traffic;

/// The number of failed creations with a kept error.
const REASONS: usize = 5;
/// Steps between two reports of progress, which may cost a system call.
const STEPS_A_REPORT: usize = 1024;

/// The measurements of a replay.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Creations that failed.
    pub(super) failed: u64,
    /// The errors of the first failed creations.
    pub(super) reasons: Vec<Error>,
    /// Nanoseconds of each creation, sorted.
    pub(super) create_ns: Vec<u64>,
    /// Memory allocations of the driver before the second half.
    pub(super) allocations_in_first_half: u64,
    /// Sum of the bytes taken from the driver at the ends of frames, and the number of frames.
    reserved_of_frames: (u128, u64),
    /// The counters after the last step, with the GPU idle, before the manager is shut down.
    pub(super) at_end: Meter,
    /// The counters after the manager was shut down.
    pub(super) after_shutdown: Meter,
    /// Reads by the GPU whose bytes were checked.
    pub(super) reads_checked: u64,
    /// Leftover handles, recordings and submissions from the shutdown report.
    pub(super) left_over: Vec<String>,
    /// Peak of the bytes taken from the driver, by the manager's own count.
    pub(super) stats_peak_reserved: u64,
    /// Time from the first step to the last.
    pub(super) wall: Duration,
}

impl Measured {
    fn note_frame(&mut self, reserved: u64) {
        let (sum, frames) = &mut self.reserved_of_frames;
        *sum += u128::from(reserved);
        *frames += 1;
    }

    /// Mean of the bytes taken from the driver at the ends of frames.
    pub(super) fn mean_reserved(&self) -> u64 {
        let (sum, frames) = self.reserved_of_frames;
        u64::try_from(sum / u128::from(frames.max(1))).unwrap_or(u64::MAX)
    }
}

/// Runs the program of `job` on `device`. `meter` reads the device's counters, also after the device was dropped;
/// `checker` checks the bytes that the GPU reads; `observer` sees each moment.
pub(super) fn run<D: Device>(
    device: D,
    meter: &dyn Fn() -> Meter,
    checker: &mut impl ReadChecker<D>,
    observer: &mut impl Observer<D>,
    job: &Job<'_>,
) -> Result<Measured, Error> {
    let gpu = Gpu::new(device, job.config())?;
    checker.begin(&gpu)?;
    let mut session = Session::new(&gpu, meter, checker, observer, job);
    let start = Instant::now();
    session.steps(job)?;
    let wall = start.elapsed();
    let Session { objects, measured, .. } = session;

    observer.observe(&gpu, Moment::LastWait);
    wait(&gpu)?;
    let reads_checked = checker.finish()?;
    gpu.reclaim()?;
    observer.observe(&gpu, Moment::Idle);
    let at_end = meter();
    let stats_peak_reserved = gpu.stats().peak_reserved;
    drop(objects);
    let report = gpu.shutdown();
    drop(gpu);
    let mut left_over: Vec<String> =
        report.leaks.iter().map(|leak| format!("{:?} '{}'", leak.kind, leak.name)).collect();
    left_over.extend(report.open_recordings.iter().map(|name| format!("open recording '{name}'")));
    if report.timed_out {
        left_over.push("work that the GPU did not finish".to_owned());
    }
    let mut measured = Measured {
        at_end,
        after_shutdown: meter(),
        left_over,
        reads_checked,
        stats_peak_reserved,
        wall,
        ..measured
    };
    measured.create_ns.sort_unstable();
    Ok(measured)
}

/// Waits until the GPU is idle.
fn wait<D: Device>(gpu: &Gpu<D>) -> Result<(), Error> {
    let timeout = gpu.config().frames.shutdown_timeout;
    if gpu.wait(&gpu.submitted(), timeout)? {
        return Ok(());
    }
    let waited_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    Err(Error::Timeout { what: Awaited::LastFrame, waited_ms })
}

struct Session<'a, D: Device, W, O> {
    gpu: &'a Gpu<D>,
    meter: &'a dyn Fn() -> Meter,
    checker: &'a mut W,
    observer: &'a mut O,
    objects: Objects<D>,
    rng: Rng,
    measured: Measured,
    /// Resources moved by compaction until the end of the last frame.
    moves: u64,
}

impl<'a, D: Device, W: ReadChecker<D>, O: Observer<D>> Session<'a, D, W, O> {
    fn new(
        gpu: &'a Gpu<D>,
        meter: &'a dyn Fn() -> Meter,
        checker: &'a mut W,
        observer: &'a mut O,
        job: &Job<'_>,
    ) -> Self {
        let Job { program, settings, .. } = *job;
        let creates = program.steps.iter().filter(|step| matches!(step, Step::Create { .. })).count();
        let measured = Measured { create_ns: Vec::with_capacity(creates), ..Measured::default() };
        let objects = Objects::new(program.slots, settings.seed, settings.movable);
        let rng = Rng::new(!settings.seed);
        Self { gpu, meter, checker, observer, objects, rng, measured, moves: 0 }
    }

    fn steps(&mut self, job: &Job<'_>) -> Result<(), Error> {
        let Job { program, progress, .. } = *job;
        let mut frame = self.begin()?;
        for (index, step) in program.steps.iter().enumerate() {
            if index.is_multiple_of(STEPS_A_REPORT) {
                progress(index as u64);
            }
            if index == program.second_half {
                self.measured.allocations_in_first_half = (self.meter)().allocations;
            }
            match *step {
                Step::Create { slot, what } => {
                    let earlier = self.measured.create_ns.len();
                    let name = program.names.get(&earlier).map(|name| &**name);
                    let start = Instant::now();
                    let created = self.objects.create(self.gpu, slot, what, &program.shapes, name);
                    self.measured.create_ns.push(nanoseconds(start.elapsed()));
                    self.note(created)?;
                    self.objects.show(self.gpu, slot, (earlier, what), self.observer);
                }
                Step::Drop { slot, is_final } => {
                    let is_final = is_final || job.settings.final_frees;
                    if is_final {
                        wait(self.gpu)?;
                    }
                    self.observer.observe(self.gpu, Moment::Dropped { slot });
                    self.objects.drop_slot(slot);
                    if is_final {
                        self.gpu.reclaim()?;
                    }
                }
                Step::EndFrame => {
                    self.end(frame)?;
                    frame = self.begin()?;
                }
            }
        }
        progress(program.steps.len() as u64);
        self.end(frame)
    }

    /// Counts a failed creation, and returns its error if the device is lost.
    fn note(&mut self, created: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = created else { return Ok(()) };
        if error.is_device_lost() {
            return Err(error);
        }
        self.measured.failed += 1;
        if self.measured.reasons.len() < REASONS {
            self.measured.reasons.push(error);
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<Frame<D>, Error> {
        self.observer.observe(self.gpu, Moment::FrameBegins);
        let frame = self.gpu.begin_frame()?;
        self.observer.observe(self.gpu, Moment::FrameBegun);
        Ok(frame)
    }

    fn end(&mut self, frame: Frame<D>) -> Result<(), Error> {
        traffic::submit(self.gpu, &mut self.objects, &mut self.rng, self.checker, self.observer)?;
        self.observer.observe(self.gpu, Moment::FrameEnds);
        frame.end()?;
        self.observer.observe(self.gpu, Moment::FrameEnded);
        self.measured.note_frame((self.meter)().reserved_bytes);
        let moves = self.gpu.compaction_stats().moves;
        if moves != self.moves {
            self.moves = moves;
            self.objects.note_moves();
        }
        Ok(())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
