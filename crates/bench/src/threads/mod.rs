//! The throughput of several threads compared with one, on a [null device](crate::null).
//!
//! Each round runs each kind of work with one thread, then with two at once, and so on, so that other
//! load on the machine affects all measurements alike. The throughput of a round is the number of
//! operations of all threads divided by the time from the first begin to the last end. For comparison, the
//! same work is measured with a separate manager for each thread: this is the throughput that the machine
//! allows. The memory cost of dividing pools into shards is measured, too.

mod packing;
mod work;
mod workers;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use tenure_core::{Config, Error, Gpu};
use tenure_sim::Profile;

use crate::table::table;
use crate::timing::{median_ns, time};
use crate::{Result, null};
use work::{EACH, KINDS, Kind, Site};
use workers::Workers;

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The most threads at once; the processor's cores when not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run(args: &Args) -> Result {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let most = args.threads.map_or(cores, usize::from);
    let counts: Vec<usize> = (1..=most).filter(|count| count.is_power_of_two() || *count == most).collect();
    let mut rows = Vec::new();
    for (kind, name) in KINDS {
        let ns = |times: Vec<Vec<Duration>>| -> Vec<f64> {
            times.into_iter().zip(&counts).map(|(times, threads)| median_ns(times, EACH * threads)).collect()
        };
        let (shared, apart) = (ns(measure(kind, &counts, args, 1)?), ns(measure(kind, &counts, args, most)?));
        rows.extend(counts.iter().zip(shared.iter().zip(&apart)).map(|(threads, (ns, ns_apart))| {
            // Throughput over that of one thread.
            let (over_one, apart) = (shared[0] / ns, apart[0] / ns_apart);
            format!("{name} | {threads} | {ns:.1} | {over_one:.2} | {apart:.2}")
        }));
    }
    let header = "what | threads | ns per object (median) | throughput / one thread's | with a manager each";
    println!("{}\n", table(header, rows));
    let header = "what | threads | shards | reserved, MiB | with one shard | ratio";
    println!("{}", table(header, packing::rows(most.max(2))?));
    Ok(())
}

/// Runs one kind of work with each number of threads, which share `managers` managers. Returns the times of
/// the rounds for each number of threads.
fn measure(kind: Kind, counts: &[usize], args: &Args, managers: usize) -> Result<Vec<Vec<Duration>>, Error> {
    /// Rounds before the measurement, in which pools and vectors grow to their final size.
    const WARM_UP: u32 = 10;
    let manager = |_| Gpu::new(null::Device::new(Profile::D3D12_TIER2), Config::default());
    let gpus = (0..managers).map(manager).collect::<Result<Vec<_>, _>>()?;
    let most = counts.iter().copied().max().unwrap_or(1);
    let sites = gpus.iter().map(|gpu| Site::new(gpu, most)).collect::<Result<Vec<_>, _>>()?;
    let workers = Workers::new(most);
    let times = Mutex::new(vec![Vec::new(); counts.len()]);
    let failed = Mutex::new(Ok(()));
    thread::scope(|scope| {
        for worker in 0..most {
            let (sites, workers, times, failed) = (&sites, &workers, &times, &failed);
            let site = &sites[worker % managers];
            scope.spawn(move || {
                for round in 0..WARM_UP + args.rounds {
                    for (place, &threads) in counts.iter().enumerate() {
                        let note = |result: Result<(), Error>| {
                            if let (Err(error), Ok(mut failed)) = (result, failed.lock()) {
                                *failed = Err(error);
                            }
                        };
                        workers.alone(worker, || note(sites.iter().try_for_each(Site::begin)));
                        workers.together(worker, threads, || note(site.prepare(kind, worker)));
                        workers.alone(worker, || {
                            if managers == 1 {
                                site.exchange(kind, threads);
                            }
                        });
                        let together = workers.together(worker, threads, || note(site.run(kind, worker)));
                        workers.alone(worker, || {
                            let ending = time(|| note(sites.iter().try_for_each(Site::end)));
                            let whole = if kind == Kind::Frames { together + ending } else { together };
                            if let (true, Ok(mut times)) = (round >= WARM_UP, times.lock()) {
                                times[place].push(whole);
                            }
                        });
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or(Ok(()))?;
    Ok(times.into_inner().unwrap_or_default())
}
