//! The time of the operations of a frame: constants, descriptor tables, recording contexts, releases, and
//! observing that nobody looks at.
//!
//! Measured on a [null device](crate::null), alternating with a lower bound: the least work that
//! any implementation must do.

mod constants;
mod contexts;
mod events;
mod graphs;
mod moving;
mod queries;
mod releases;
mod tables;
mod transients;

use std::time::Duration;

use tenure_core::{Config, Error, Gpu};
use tenure_sim::Profile;

use crate::null;
use crate::table::{row, table};
use crate::timing::{median_ns, time, try_time};

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run(args: &Args) -> Result<(), Error> {
    let mut lines = Vec::new();
    for measure in [
        constants::measure,
        tables::measure,
        contexts::measure,
        moving::measure,
        queries::measure,
        releases::measure,
        transients::measure,
        graphs::measure,
        events::measure,
    ] {
        lines.extend(measure(args.rounds)?);
    }
    let rows = lines.into_iter().map(|Line { what, ns, bound, bound_ns }| {
        let [ns, bound_ns, above] = [ns, bound_ns, ns - bound_ns].map(|value| format!("{value:.1}"));
        row![what, ns, bound, bound_ns, above]
    });
    println!("{}", table(&["what", "ns (median)", "beside it", "ns (median)", "above it"], rows));
    Ok(())
}

/// One measurement and its lower bound. Nanoseconds.
struct Line {
    what: &'static str,
    ns: f64,
    /// The work that the lower bound measures.
    bound: &'static str,
    bound_ns: f64,
}

fn gpu(profile: Profile) -> Result<Gpu<null::Device>, Error> {
    Gpu::new(null::Device::new(profile), Config::default())
}

/// A line of two measurements of `count` operations each, from one pair of times per round.
fn line(what: &'static str, bound: &'static str, count: usize, times: Vec<(Duration, Duration)>) -> Line {
    let (ours, least): (Vec<_>, Vec<_>) = times.into_iter().unzip();
    Line { what, ns: median_ns(ours, count), bound, bound_ns: median_ns(least, count) }
}
