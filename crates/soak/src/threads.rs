//! Programs that share a manager, each on its own thread. Their interleaving depends on the scheduler, so a
//! seed does not determine a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenure_core::Gpu;
use test_random::Rng;

use crate::callbacks::{Callbacks, with_subscriber};
use crate::program::Program;
use crate::setup::{Setup, Trouble};
use crate::verbs;
use crate::world::{Checked, World, Wrong, end_after_loss, end_clean, words_of, wrong};

/// Threads of a run.
const THREADS: u64 = 4;
/// Steps of each thread.
const STEPS: u64 = 150;

/// Runs programs at the same time.
///
/// # Errors
/// The fault, in words.
pub fn run_threads(seed: u64) -> Result<(), String> {
    let setup = Program::new(seed).setup.of_threads();
    catch_unwind(AssertUnwindSafe(|| play(seed, &setup)))
        .map_err(|panic| format!("panic: {}", words_of(&*panic)))?
        .map_err(|Wrong(words)| format!("{setup}: {words}"))
}

fn play(seed: u64, setup: &Setup) -> Checked {
    let gpu = Gpu::new(setup.device(), setup.config());
    let gpu = gpu.or_else(|error| wrong(format!("no manager: {error}")))?;
    let callbacks = Callbacks::new(&gpu, setup);
    let done: Vec<Checked> = std::thread::scope(|scope| {
        let one = |thread| {
            let (gpu, callbacks) = (gpu.clone(), callbacks.clone());
            scope.spawn(move || {
                let run = || one_of_many(gpu, callbacks.clone(), setup, seed, thread);
                with_subscriber(&callbacks, setup, run)
            })
        };
        let running: Vec<_> = (0..THREADS).map(one).collect();
        let end = |thread: std::thread::ScopedJoinHandle<'_, Checked>| {
            thread.join().unwrap_or_else(|panic| wrong(format!("panic: {}", words_of(&*panic))))
        };
        running.into_iter().map(end).collect()
    });
    done.into_iter().collect::<Checked>()?;
    if setup.trouble == Trouble::Loss {
        return end_after_loss(gpu, &callbacks);
    }
    gpu.shutdown();
    callbacks.let_go();
    end_clean(gpu)?;
    callbacks.check()
}

fn one_of_many(
    gpu: Gpu<tenure_sim::Device>,
    callbacks: Arc<Callbacks>,
    setup: &Setup,
    seed: u64,
    thread: u64,
) -> Checked {
    let mut rng = Rng::new(seed.wrapping_mul(THREADS).wrapping_add(thread));
    let mut world = World::among_others(gpu, callbacks, setup, thread);
    let weights = verbs::weights(Trouble::None);
    let sum = weights.iter().sum();
    // One thread loses the device, amid the calls of the others.
    let loss = (setup.trouble == Trouble::Loss && thread == 0).then(|| rng.below(STEPS));
    for step in 0..STEPS {
        if loss == Some(step) {
            world.lose(1 + rng.below(20));
        }
        if world.is_lost {
            break;
        }
        let verb = verbs::pick(&weights, rng.below(sum));
        verbs::make(&mut world, verb, &mut Rng::new(rng.next()))?;
    }
    if setup.trouble == Trouble::Loss {
        return world.leave_lost();
    }
    world.settle()?;
    world.check_all()?;
    world.drop_all();
    Ok(())
}
