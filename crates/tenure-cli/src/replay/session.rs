//! Running a program of steps on a device, and measuring.

use std::time::{Duration, Instant};

use tenure::{Config, Error, Frame, Gpu};

use super::meter::{Meter, Metered};
use super::objects::Objects;
use super::program::{Program, Step};
use super::rng::Rng;
use super::traffic;

/// Failed creations of which the reason is kept.
const REASONS: usize = 5;
/// Steps between two reports of progress, which may cost a system call.
const STEPS_A_REPORT: usize = 1024;

/// What a replay did.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Creations that failed.
    pub(super) failed: u64,
    /// Why the first of them did.
    pub(super) reasons: Vec<Error>,
    /// Nanoseconds of each creation, in order of length.
    pub(super) create_ns: Vec<u64>,
    /// Memory allocations of the driver before the second half.
    pub(super) allocations_in_first_half: u64,
    /// When all steps were done and the GPU idle, with the manager still there.
    pub(super) at_end: Meter,
    /// When the manager was gone.
    pub(super) after_shutdown: Meter,
    /// Handles, recordings and submissions that the manager missed when it was shut down.
    pub(super) left_over: Vec<String>,
    /// The manager's own count of the most bytes it took from the driver.
    pub(super) stats_peak_reserved: u64,
    /// From the first step to the last.
    pub(super) wall: Duration,
}

/// Runs `program` on `device`; tells `progress` how many steps are done, now and then.
pub(super) fn run<D: Metered + Clone>(
    device: D,
    config: Config,
    seed: u64,
    program: &Program,
    progress: &dyn Fn(u64),
) -> Result<Measured, Error> {
    let meter = device.clone();
    let patience = config.shutdown_timeout;
    let gpu = Gpu::new(device, config)?;
    let mut session = Session::new(&gpu, seed, program);
    let start = Instant::now();
    session.steps(program, progress)?;
    let wall = start.elapsed();
    let Session { objects, measured, .. } = session;

    gpu.wait(&gpu.submitted(), patience)?;
    gpu.purge()?;
    let at_end = meter.meter();
    let stats_peak_reserved = gpu.stats().peak_reserved;
    drop(objects);
    let report = gpu.shutdown();
    let mut left_over: Vec<String> =
        report.leaks.iter().map(|leak| format!("{:?} '{}'", leak.kind, leak.name)).collect();
    left_over.extend(report.open_recordings.iter().map(|name| format!("open recording '{name}'")));
    if report.timed_out {
        left_over.push("work that the GPU did not finish".to_owned());
    }
    let mut measured =
        Measured { at_end, after_shutdown: meter.meter(), left_over, stats_peak_reserved, wall, ..measured };
    measured.create_ns.sort_unstable();
    Ok(measured)
}

/// A replay under way.
struct Session<'a, D: Metered> {
    gpu: &'a Gpu<D>,
    objects: Objects<D>,
    rng: Rng,
    measured: Measured,
}

impl<'a, D: Metered> Session<'a, D> {
    fn new(gpu: &'a Gpu<D>, seed: u64, program: &Program) -> Self {
        let creates = program.steps.iter().filter(|step| matches!(step, Step::Create { .. })).count();
        let measured = Measured { create_ns: Vec::with_capacity(creates), ..Measured::default() };
        Self { gpu, objects: Objects::new(program.slots, seed), rng: Rng::new(!seed), measured }
    }

    fn steps(&mut self, program: &Program, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let mut frame = self.gpu.begin_frame()?;
        for (index, step) in program.steps.iter().enumerate() {
            if index.is_multiple_of(STEPS_A_REPORT) {
                progress(index as u64);
            }
            if index == program.second_half {
                self.measured.allocations_in_first_half = self.gpu.device().meter().allocations;
            }
            match *step {
                Step::Create { slot, what } => {
                    let start = Instant::now();
                    let created = self.objects.create(self.gpu, slot, what, &program.shapes);
                    self.measured.create_ns.push(nanoseconds(start.elapsed()));
                    self.note(created)?;
                }
                Step::Drop { slot } => self.objects.drop_slot(slot),
                Step::EndFrame => {
                    self.end(frame)?;
                    frame = self.gpu.begin_frame()?;
                }
            }
        }
        progress(program.steps.len() as u64);
        self.end(frame)
    }

    /// Counts a failed creation; a lost device is the end.
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

    fn end(&mut self, frame: Frame<'_, D>) -> Result<(), Error> {
        traffic::submit(self.gpu, &mut self.objects, &mut self.rng)?;
        frame.end()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
