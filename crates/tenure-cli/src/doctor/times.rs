//! Timestamps: the clocks of the queues, and a comparison of one of them with the CPU's.

use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::device::{Device, QueueKind};
use tenure::query::{QueryTicket, Timestamp};
use tenure::{Config, Gpu, Queue};

use super::examination::{Bounds, Opener};
use super::memory::nanoseconds;
use crate::examined::Failure;

/// The time between two timestamps.
const PAUSE: Duration = Duration::from_millis(50);
/// A driver that takes longer than this for a timestamp has failed.
const LONGEST: Duration = Duration::from_secs(5);

/// The clocks of the queues.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(super) struct Times {
    pub(super) clocks: Vec<Clock>,
    /// Time between two submissions, by the clock of the graphics queue; `null` without timestamps.
    pub(super) gpu_nanoseconds: Option<u64>,
    /// Time between the same submissions, by the clock of the CPU.
    pub(super) cpu_nanoseconds: Option<u64>,
}

/// The clock of a queue.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Clock {
    pub(super) queue: &'static str,
    /// Valid bits; 0 without timestamps.
    pub(super) bits: u32,
    /// Length of a tick.
    pub(super) femtoseconds: u64,
}

fn stamp<D: Device>(gpu: &Gpu<D>) -> Result<(Instant, QueryTicket<D, Timestamp>), Failure> {
    let mut recording = gpu.record(Queue::Graphics, "timestamp")?;
    let ticket = recording.write_timestamp()?;
    let point = recording.submit()?;
    if !gpu.wait(&point, LONGEST)? {
        return Err(Failure::Failed(format!("a timestamp took longer than {} s", LONGEST.as_secs())));
    }
    Ok((Instant::now(), ticket))
}

pub(super) fn examine<P: Opener>(opener: &P, _: &Bounds, found: &mut Times) -> Result<(), Failure> {
    let gpu = Gpu::new(opener.open()?, Config::default())?;
    let properties = gpu.device().properties();
    let clocks = properties.queues.iter().zip(&properties.queries.timestamps).map(|(queue, clock)| Clock {
        queue: match queue.kind {
            QueueKind::Graphics => "graphics",
            QueueKind::Compute => "compute",
            QueueKind::Copy => "copy",
        },
        bits: clock.bits,
        femtoseconds: clock.femtoseconds,
    });
    found.clocks = clocks.collect();
    if found.clocks.first().is_none_or(|clock| clock.bits == 0) {
        return Err(Failure::Unsupported("the graphics queue has no timestamps".to_owned()));
    }
    let (begun, first) = stamp(&gpu)?;
    std::thread::sleep(PAUSE);
    let (ended, second) = stamp(&gpu)?;
    let (first, second) = (first.wait(LONGEST)?, second.wait(LONGEST)?);
    found.gpu_nanoseconds = Some(nanoseconds(second.since(&first)));
    found.cpu_nanoseconds = Some(nanoseconds(ended.saturating_duration_since(begun)));
    Ok(())
}
