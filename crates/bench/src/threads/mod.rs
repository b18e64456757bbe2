//! What several threads do beside one, on a [device whose calls do next to nothing](crate::null).
//!
//! The same workers run each kind of work alone, then two of them at once, and so on, in turns, so that
//! what else the machine does meets all of them. The throughput of a round is what all did over the time
//! from the first to begin to the last to end. Beside it what the machine allows: the same with a manager for
//! each thread, so that they have nothing in common.
//! Then what the threads' shards of a pool cost in memory.

mod crew;
mod packing;
mod report;
mod work;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use tenure_core::{Config, Error, Gpu};
use tenure_sim::Profile;

use crate::null;
use crate::timing::{median_ns, time};
use crew::Crew;
use report::{Line, Report};
use work::{EACH, KINDS, Kind, Site};

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Rounds of each measurement; the median counts.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The most threads at once; the processor's cores when not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Only work whose name has this in it; with "", all.
    #[arg(long, default_value = "")]
    pub only: String,
    /// `Config::pool_shards`.
    #[arg(long, default_value_t = Config::default().pool_shards)]
    pub shards: u32,
}

/// Measures everything and prints it.
///
/// # Errors
/// As the manager reports.
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

/// Runs one kind of work with each number of threads in turn, which share so many managers; the times of
/// the rounds, for each number.
fn measure(kind: Kind, counts: &[usize], args: &Args, managers: usize) -> Result<Vec<Vec<Duration>>, Error> {
    /// Rounds until pools and vectors have their size, and threads their places.
    const WARM_UP: u32 = 10;
    let config = Config { pool_shards: args.shards, ..Config::default() };
    let manager = |_| Gpu::new(null::Device::new(Profile::D3D12_TIER2), config.clone());
    let gpus = (0..managers).map(manager).collect::<Result<Vec<_>, _>>()?;
    let most = counts.iter().copied().max().unwrap_or(1);
    let sites = gpus.iter().map(|gpu| Site::new(gpu, most)).collect::<Result<Vec<_>, _>>()?;
    let crew = Crew::new(most);
    let times = Mutex::new(vec![Vec::new(); counts.len()]);
    let failed = Mutex::new(Ok(()));
    thread::scope(|scope| {
        for worker in 0..most {
            let (sites, crew, times, failed) = (&sites, &crew, &times, &failed);
            let site = &sites[worker % managers];
            scope.spawn(move || {
                for round in 0..WARM_UP + args.rounds {
                    for (place, &threads) in counts.iter().enumerate() {
                        let note = |result: Result<(), Error>| {
                            if let (Err(error), Ok(mut failed)) = (result, failed.lock()) {
                                *failed = Err(error);
                            }
                        };
                        crew.alone(worker, || note(sites.iter().try_for_each(Site::begin)));
                        crew.together(worker, threads, || note(site.prepare(kind, worker)));
                        crew.alone(worker, || {
                            if managers == 1 {
                                site.exchange(kind, threads);
                            }
                        });
                        let together = crew.together(worker, threads, || note(site.run(kind, worker)));
                        crew.alone(worker, || {
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
