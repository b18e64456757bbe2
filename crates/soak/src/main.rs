//! `soak`: runs random programs, and reports the seed of a failing one.

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use soak::{Program, Refusals, Watchdog, run, run_steady, run_threads, run_traced, shrink};

/// Runs random programs over the whole interface of tenure on the simulated device.
#[derive(Parser)]
struct Arguments {
    /// The first seed; the programs have consecutive seeds.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Minutes after which no more programs are started.
    #[arg(long, value_parser = minutes)]
    minutes: Option<Duration>,
    /// The number of programs; without any limit, 1000.
    #[arg(long)]
    programs: Option<u64>,
    /// Runs only the program of the seed, and prints its steps.
    #[arg(long)]
    replay: bool,
    /// Prints a failure in one line, and does not search for a shorter program.
    #[arg(long)]
    brief: bool,
    /// Seeds per run with several threads on one manager. 0: no such runs.
    #[arg(long, default_value_t = 20)]
    threads_each: u64,
    /// Seeds per run of a steady program, which repeats one round. 0: no such runs.
    #[arg(long, default_value_t = 50)]
    steady_each: u64,
    /// Rounds in each half of a steady program. The second half must not create or hold more than the first.
    #[arg(long, default_value_t = 60)]
    rounds: u64,
    /// Shows the number of refusals of each call, by kind.
    #[arg(long)]
    refusals: bool,
    /// Seconds after which a program hangs.
    #[arg(long, default_value_t = 120)]
    hang: u64,
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // A panic is part of the result, with its place.
    std::panic::set_hook(Box::new(|panic| *place() = Some(panic.to_string())));
    if arguments.replay {
        return replay(arguments.seed);
    }
    match soak(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(()) => ExitCode::FAILURE,
    }
}

/// The message and the place of the last panic: programs have several threads.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

fn place() -> MutexGuard<'static, Option<String>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the place of the last panic, if there was one.
fn print_place() {
    let said = place().take();
    said.into_iter().for_each(|said| println!("{said}"));
}

/// Prints a program and its result.
fn replay(seed: u64) -> ExitCode {
    let program = Program::new(seed);
    println!("seed {seed}: {}, {} steps", program.setup, program.steps.len());
    let outcome = run_traced(&program);
    outcome.trace.iter().for_each(|line| println!("  {line}"));
    match outcome.wrong {
        None => {
            println!("passed; {} calls were refused", outcome.refused.values().sum::<u64>());
            ExitCode::SUCCESS
        }
        Some(wrong) => {
            println!("{wrong}");
            print_place();
            ExitCode::FAILURE
        }
    }
}

fn soak(arguments: &Arguments) -> Result<(), ()> {
    let watchdog = Watchdog::new(Duration::from_secs(arguments.hang));
    let begun = Instant::now();
    let minutes = arguments.minutes;
    let most = arguments.programs.unwrap_or(if minutes.is_some() { u64::MAX } else { 1000 });
    let (mut programs, mut steps, mut threads) = (0_u64, 0_u64, 0_u64);
    let mut refused = Refusals::new();
    while programs < most && minutes.is_none_or(|minutes| begun.elapsed() < minutes) {
        let seed = arguments.seed.wrapping_add(programs);
        watchdog.note(seed);
        if arguments.threads_each > 0 && seed.is_multiple_of(arguments.threads_each) {
            run_threads(seed).map_err(|wrong| println!("seed {seed}, with threads: {wrong}"))?;
            threads += 1;
        }
        if arguments.steady_each > 0 && seed % arguments.steady_each == 1 % arguments.steady_each {
            run_steady(seed, arguments.rounds).map_err(|wrong| {
                println!("seed {seed}, equal rounds: {wrong}");
                print_place();
            })?;
        }
        let program = Program::new(seed);
        let outcome = run(&program);
        if let Some(wrong) = outcome.wrong {
            // A search for a shorter program takes many runs.
            drop(watchdog);
            match arguments.brief {
                true => println!("{wrong} (program {programs})"),
                false => explain(&program, &wrong),
            }
            return Err(());
        }
        programs += 1;
        steps += program.steps.len() as u64;
        for (call, times) in outcome.refused {
            *refused.entry(call).or_default() += times;
        }
    }
    println!(
        "{programs} programs of {steps} steps passed, {threads} of them with threads beside, from seed {}, in {:.0} s; \
         {} calls were refused, as they may be",
        arguments.seed,
        begun.elapsed().as_secs_f64(),
        refused.values().sum::<u64>(),
    );
    if arguments.refusals {
        refused.iter().for_each(|((call, error), times)| println!("  {call}: {error}: {times}"));
    }
    Ok(())
}

/// Shows the shortest program that fails in the same way.
fn explain(program: &Program, wrong: &str) {
    println!("seed {} fails: {}", program.seed, program.setup);
    println!("{wrong}");
    print_place();
    let shrunk = shrink(program, wrong);
    let outcome = run_traced(&shrunk.program);
    let (left, all) = (shrunk.program.steps.len(), program.steps.len());
    println!("{left} of its {all} steps are enough, found with {} runs:", shrunk.tried);
    outcome.trace.iter().for_each(|line| println!("  {line}"));
    println!("{}", outcome.wrong.unwrap_or_default());
    println!("again: cargo run --release -p soak -- --replay --seed {}", program.seed);
}
