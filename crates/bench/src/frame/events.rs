//! What observing costs while nobody looks.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::{Error, Name};
use tenure_sim::Profile;

use super::{Line, gpu, line, time, try_time};

const EVENTS: usize = 10_000;
const FRAMES: usize = 1000;

/// An event without a subscriber, a metric without a recorder, and a frame in which nothing happens. The lower bound of the
/// former is the test of a flag; the frame stands by itself: run with and without the feature `metrics`, it says what the
/// metrics of a frame cost without a recorder.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let (is_on, name) = (AtomicBool::new(false), Name::from("rock"));
    let (mut events, mut metrics, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let flag = time(|| {
            for _ in 0..EVENTS {
                black_box(black_box(&is_on).load(Ordering::Relaxed));
            }
        });
        let event = time(|| {
            for times in 0..EVENTS as u64 {
                let (waited, name) = (Duration::from_nanos(black_box(times)), black_box(&name));
                tracing::debug!(target: "tenure", %name, ?waited, times, "an event of the benchmark");
            }
        });
        let metric = time(|| {
            for value in 0..EVENTS {
                metrics::gauge!("tenure_benchmark", "heap" => "0").set(black_box(value as f64));
            }
        });
        let frame = try_time(|| (0..FRAMES).try_for_each(|_| gpu.begin_frame()?.end()))?;
        events.push((event, flag));
        metrics.push((metric, flag));
        frames.push((frame, Duration::ZERO));
    }
    let what = if cfg!(feature = "metrics") { "frame without work, metrics" } else { "frame without work" };
    Ok(vec![
        line("event that nobody listens to", "the test of a flag", EVENTS, events),
        line("metric that no recorder takes", "the test of a flag", EVENTS, metrics),
        line(what, "nothing", FRAMES, frames),
    ])
}
