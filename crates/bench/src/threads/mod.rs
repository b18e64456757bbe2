//! The throughput of several threads compared with one, on a [null device](crate::null).
//!
//! Each round runs each kind of work with one thread, then with two at once, and so on, so that other
//! load on the machine affects all measurements alike. The throughput of a round is the number of
//! operations of all threads divided by the time from the first begin to the last end. For comparison, the
//! same work is measured with a separate manager for each thread: this is the throughput that the machine
//! allows. The memory cost of dividing pools into shards is measured, too.

mod packing;
mod report;
mod work;
mod workers;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use tenure_core::{Config, Error, Gpu, PoolConfig};
use tenure_sim::Profile;

use crate::null;
use crate::timing::{median_ns, time};
use report::{Line, Report};
use work::{EACH, KINDS, Kind, Site};
use workers::Workers;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The most threads at once; the processor's cores when not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Only work whose name has this in it; with "", all.
    #[arg(long, default_value = "")]
    pub only: String,
    /// `PoolConfig::shards`.
    #[arg(long, default_value_t = Config::default().pools.shards)]
    pub shards: u32,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run(args: &Args) -> Result<(), Error> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let most = args.threads.map_or(cores, usize::from);
    let counts: Vec<usize> = (1..=most).filter(|count| count.is_power_of_two() || *count == most).collect();
    let mut lines = Vec::new();
    for kind in KINDS.into_iter().filter(|kind| kind.name().contains(&args.only)) {
        let of_all = measure(kind, &counts, args, 1)?;
        let of_each = measure(kind, &counts, args, most)?;
        lines.extend(counts.iter().zip(of_all.into_iter().zip(of_each)).map(
            |(&threads, (of_all, of_each))| {
                let ns = |times| median_ns(times, EACH * threads);
                Line { what: kind.name(), threads, ns: ns(of_all), ns_apart: ns(of_each) }
            },
        ));
    }
    let report = Report { lines, packing: packing::measure(most.max(2))? };
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
    Ok(())
}

/// Runs one kind of work with each number of threads, which share `managers` managers. Returns the times of
/// the rounds for each number of threads.
fn measure(kind: Kind, counts: &[usize], args: &Args, managers: usize) -> Result<Vec<Vec<Duration>>, Error> {
    /// Rounds before the measurement, in which pools and vectors grow to their final size.
    const WARM_UP: u32 = 10;
    let config = Config::from(PoolConfig { shards: args.shards, ..PoolConfig::default() });
    let manager = |_| Gpu::new(null::Device::new(Profile::D3D12_TIER2), config.clone());
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
                            let whole = if kind.counts_the_end() { together + ending } else { together };
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
