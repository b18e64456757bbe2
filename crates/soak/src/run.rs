//! Running a program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, mpsc};

use tenure_core::Gpu;
use test_random::Rng;

use crate::callbacks::{Callbacks, with_subscriber};
use crate::program::{Program, Step};
use crate::verbs;
use crate::world::{Checked, Refusals, Trace, World, Wrong, words_of, wrong};

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The fault; `None` if there was none.
    pub wrong: Option<String>,
    /// Its steps, if a trace was requested.
    pub trace: Vec<String>,
    /// Calls that were refused for an expected reason.
    pub refused: Refusals,
}

/// Runs a program on a device of its own. Takes milliseconds.
#[must_use]
pub fn run(program: &Program) -> Outcome {
    execute(program, false)
}

/// The same with a trace of its steps.
#[must_use]
pub fn run_traced(program: &Program) -> Outcome {
    execute(program, true)
}

fn execute(program: &Program, is_traced: bool) -> Outcome {
    let mut outcome = Outcome { wrong: None, trace: Vec::new(), refused: Refusals::new() };
    let trace = is_traced.then(Trace::default);
    let run = || play(program, trace.clone(), &mut outcome);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => {}
        Ok(Err(Wrong(words))) => outcome.wrong = Some(words),
        Err(panic) => outcome.wrong = Some(format!("panic: {}", words_of(&*panic))),
    }
    if let Some(trace) = trace {
        outcome.trace = std::mem::take(&mut *trace.lock().unwrap_or_else(PoisonError::into_inner));
    }
    outcome
}

fn play(program: &Program, trace: Option<Trace>, outcome: &mut Outcome) -> Checked {
    let setup = &program.setup;
    let gpu = Gpu::new(setup.device(), setup.config());
    let gpu = gpu.or_else(|error| wrong(format!("no manager: {error}")))?;
    let callbacks = Callbacks::new(&gpu, setup);
    let mut world = World::new(gpu, callbacks.clone(), setup);
    if let Some(trace) = trace {
        world.begin_trace(trace);
    }
    with_subscriber(&callbacks, setup, || play_in(world, program, outcome))
}

fn play_in(mut world: World, program: &Program, outcome: &mut Outcome) -> Checked {
    let setup = &program.setup;
    let played = if setup.threads > 1 {
        in_turns(world, setup.threads, &program.steps)
    } else {
        let done = program.steps.iter().try_for_each(|step| make(&mut world, step));
        (world, done)
    };
    let (mut world, done) = played;
    outcome.refused = std::mem::take(&mut world.refused);
    if let Err(Wrong(words)) = done {
        // After a fault the rest may panic: it is leaked.
        std::mem::forget(world);
        return wrong(words);
    }
    world.end()
}

/// One step.
fn make(world: &mut World, step: &Step) -> Checked {
    if world.is_lost {
        return Ok(());
    }
    verbs::make(world, step.verb, &mut Rng::new(step.choice))
}

/// The steps on several threads of the operating system, one after the other: this exercises code that depends
/// on the thread, and a program stays deterministic.
fn in_turns(world: World, threads: u8, steps: &[Step]) -> (World, Checked) {
    type Given = (World, Step);
    std::thread::scope(|scope| {
        let (done, results) = mpsc::channel::<(World, Result<Checked, String>)>();
        let workers: Vec<mpsc::Sender<Given>> = (0..threads)
            .map(|_| {
                let (turns, given) = mpsc::channel::<Given>();
                let done = done.clone();
                scope.spawn(move || {
                    for (mut world, step) in given {
                        let made = catch_unwind(AssertUnwindSafe(|| make(&mut world, &step)));
                        let made = made.map_err(|panic| words_of(&*panic));
                        let _nobody_waits = done.send((world, made));
                    }
                });
                turns
            })
            .collect();
        let mut world = Some(world);
        for step in steps {
            let Some(given) = world.take() else { break };
            let worker = &workers[usize::from(step.thread) % workers.len()];
            if let Err(mpsc::SendError((given, _))) = worker.send((given, *step)) {
                return (given, wrong("a worker is gone"));
            }
            let Ok((given, made)) = results.recv() else { break };
            match made {
                Ok(Ok(())) => world = Some(given),
                Ok(Err(words)) => return (given, Err(words)),
                Err(panic) => return (given, wrong(format!("panic: {panic}"))),
            }
        }
        match world {
            Some(world) => (world, Ok(())),
            None => unreachable!("every worker gives the world back"),
        }
    })
}
