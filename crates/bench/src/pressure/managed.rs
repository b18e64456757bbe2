//! Tenure: the manager itself, on the simulated device.

use tenure_core::device::{State, Subresource};
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, MemoryUse, Recording, Usage};
use tenure_sim::{Checks, Device, DeviceConfig, Lag, Profile};

use super::model::PAGING;
use super::trace::{FRAME_NS, Flight, Frame, LAG, LOCAL, Outcome, Submission, Trace};
use crate::Result;

/// Plays a trace.
///
/// # Errors
/// Those of the manager, and a hazard that the device has found.
pub(super) fn play(trace: &Trace) -> Result<Outcome> {
    let mut player = Player::new(trace)?;
    trace.frames.iter().try_for_each(|frame| player.step(frame))?;
    player.finish()
}

struct Player<'a> {
    trace: &'a Trace,
    gpu: Gpu<Device>,
    budget: u64,
    buffers: Vec<Option<Buffer<Device>>>,
    flight: Flight,
    outcome: Outcome,
}

impl<'a> Player<'a> {
    fn new(trace: &'a Trace) -> Result<Self, Error> {
        // The used objects are never written.
        let checks = Checks::all() - Checks::INITIALIZED;
        let options =
            DeviceConfig::new(Profile::DISCRETE).paging(PAGING.demotion_delay(trace.demotion_delay));
        let options = options.lag(Lag::Submissions(LAG)).checks(checks);
        let gpu = Gpu::new(Device::with_config(options), Config::default())?;
        let mut buffers = Vec::new();
        buffers.resize_with(trace.things.len(), || None);
        let (flight, outcome) = (Flight::new(trace, LAG), Outcome::default());
        let player = Self { trace, gpu, budget: 0, buffers, flight, outcome };
        player.grant(trace.budget)?;
        Ok(Self { budget: trace.budget, ..player })
    }

    /// Sets the budget in bytes; 0: the operating system names none.
    fn grant(&self, bytes: u64) -> Result<(), Error> {
        Ok(self.gpu.device().set_budget(LOCAL, bytes)?)
    }

    fn create(&self, thing: usize) -> Result<Buffer<Device>, Error> {
        let bytes = self.trace.things[thing].bytes;
        let desc = BufferDesc::new(bytes, Usage::SHADER_READ | Usage::COPY_SRC);
        let is_local = self.trace.is_local(thing);
        self.gpu.create_buffer(&if is_local { desc.evictable() } else { desc.memory(MemoryUse::Upload) })
    }

    /// Uses the whole of each object; a command that moves bytes would take longer.
    fn record(&self, recording: &mut Recording<Device>, uses: &[usize], state: State) -> Result<(), Error> {
        let (commands, scratch) = recording.split();
        for buffer in uses.iter().filter_map(|thing| self.buffers[*thing].as_ref()) {
            commands.use_resource(buffer, Subresource::All, state)?;
            let place = scratch.buffer(buffer)?;
            commands.raw().use_buffer(place.raw(), place.offset(), place.size(), state);
        }
        Ok(())
    }

    fn submit(&mut self, submission: &Submission) -> Result<(), Error> {
        let Submission { queue, uses } = submission;
        let mut recording = self.gpu.record(*queue, "submission")?;
        self.record(&mut recording, uses, State::COPY_SRC)?;
        recording.submit()?;
        self.flight.submit(self.trace, uses);
        self.note_over(PAGING.per_submission);
        Ok(())
    }

    fn step(&mut self, frame: &Frame) -> Result<(), Error> {
        let now = self.gpu.begin_frame()?;
        frame.dropped.iter().for_each(|thing| self.buffers[*thing] = None);
        for thing in &frame.created {
            self.buffers[*thing] = Some(self.create(*thing)?);
        }
        frame.submissions.iter().try_for_each(|submission| self.submit(submission))?;
        if let Some(budget) = frame.budget {
            self.budget = budget;
            self.grant(budget)?;
        }
        if frame.trims {
            self.gpu.trim();
        }
        now.end()?;
        self.flight.pass(self.trace);
        let spent = PAGING.per_submission * frame.submissions.len() as u64;
        self.note_over(FRAME_NS.saturating_sub(spent));
        Ok(())
    }

    fn note_over(&mut self, nanoseconds: u64) {
        let memory = &self.gpu.memory().heaps[LOCAL];
        let claimed = memory.ours.total().saturating_sub(memory.evicted);
        self.outcome.note_over(claimed, self.flight.bytes(), self.budget, nanoseconds);
    }

    fn finish(mut self) -> Result<Outcome> {
        // Bytes without a use until the end count as not used.
        self.buffers.clear();
        let left = self.gpu.shutdown();
        debug_assert!(left.is_clean(), "{left:?}");
        self.gpu.device().run_until_idle();
        let stats = self.gpu.device().paging_stats();
        let local = stats.segments[LOCAL];
        self.outcome.bytes_in = stats.bytes_in();
        self.outcome.unused = local.unused;
        self.outcome.stalled = stats.stalled;
        match self.gpu.device().take_hazards().first() {
            Some(hazard) => Err(format!("{}: {hazard}", self.trace.name).into()),
            None => Ok(self.outcome),
        }
    }
}
