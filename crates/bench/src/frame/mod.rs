//! The time of the operations of a frame: constants, descriptor tables, recordings, queries, resources, graphs.
//!
//! Measured on a [null device](crate::null), alternating with a lower bound: the least work that
//! any implementation must do.

mod descriptors;
mod graphs;
mod recordings;
mod resources;

use std::time::Duration;

use tenure_core::{Config, Error, Gpu, Queue, Scratch};
use tenure_sim::Profile;

use crate::table::table;
use crate::timing::{median_ns, try_time};
use crate::{Result, null};

/// The arguments.
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
pub fn run(args: &Args) -> Result {
    let mut rows = Rows { rounds: args.rounds, rows: Vec::new() };
    recordings::constants(&mut rows)?;
    resources::copies(&mut rows)?;
    descriptors::tables(&mut rows)?;
    descriptors::sets(&mut rows)?;
    recordings::cycles(&mut rows)?;
    resources::places(&mut rows)?;
    recordings::timestamps(&mut rows)?;
    resources::transients(&mut rows)?;
    graphs::passes(&mut rows)?;
    recordings::idle_frames(&mut rows)?;
    println!("{}", table("what | ns (median) | beside it | ns (median) | above it", rows.rows));
    Ok(())
}

/// Rounds before each measurement, in which pools, vectors and caches grow to their size.
const WARM_UP: u32 = 40;

/// A row: the measured operation, the minimum work for it, and the number of operations.
type Line = (&'static str, &'static str, usize);

/// The rows of the table.
struct Rows {
    rounds: u32,
    rows: Vec<String>,
}

impl Rows {
    /// Adds a row for each line. A round returns the times of the operations and of the lower bound.
    fn add<const N: usize>(
        &mut self,
        lines: [Line; N],
        mut round: impl FnMut() -> Result<[(Duration, Duration); N], Error>,
    ) -> Result {
        let mut times = [const { (Vec::new(), Vec::new()) }; N];
        for number in 0..WARM_UP + self.rounds {
            let taken = round()?;
            for ((ours, least), (all_ours, all_least)) in taken.into_iter().zip(&mut times) {
                if number >= WARM_UP {
                    all_ours.push(ours);
                    all_least.push(least);
                }
            }
        }
        for ((what, bound, count), (ours, least)) in lines.into_iter().zip(times) {
            let (ns, bound_ns) = (median_ns(ours, count), median_ns(least, count));
            let above = ns - bound_ns;
            self.rows.push(format!("{what} | {ns:.1} | {bound} | {bound_ns:.1} | {above:.1}"));
        }
        Ok(())
    }
}

fn gpu(profile: Profile) -> Result<Gpu<null::Device>, Error> {
    Gpu::new(null::Device::new(profile), Config::default())
}

/// The time of work in a recording, without its opening and submission.
fn in_recording(
    gpu: &Gpu<null::Device>,
    work: impl FnOnce(Scratch<'_, null::Device>) -> Result<(), Error>,
) -> Result<Duration, Error> {
    let frame = gpu.begin_frame()?;
    let mut recording = frame.record(Queue::Graphics, "draws")?;
    let (_, scratch) = recording.split();
    let taken = try_time(|| work(scratch))?;
    frame.submit(recording)?;
    frame.end()?;
    Ok(taken)
}
