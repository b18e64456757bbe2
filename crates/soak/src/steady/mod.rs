//! Steady programs: one round, repeated. After some rounds they create only API objects that their own calls
//! request, nothing grows, and the memory is a small multiple of the live bytes.

mod limits;
mod roads;

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_core::{DescriptorConfig, Error, Frame, FrameConfig, Gpu, Queue, Recording, SyncPoint};
use tenure_sim::Device;
use test_random::Rng;

use crate::setup::Setup;
use crate::world::{Checked, LONG, Wrong, check_idle, end_clean, words_of, wrong};
use limits::{Counts, Growth};
use roads::{Lasting, ROADS, Road};

/// Warm-up rounds. More than the frames for which pools, heaps and pages keep idle memory.
const WARM_UP: u64 = 80;
/// The round whose objects are kept, if any.
const KEPT: u64 = 10;
/// The maximum number of roads of one program.
const MOST_ROADS: u64 = 6;
/// The number of objects shown for a failing program.
const SHOWN: usize = 12;

/// The end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It is a frame.
    Frame,
    /// It waits for its submissions.
    Wait,
    /// It polls the GPU.
    Completed,
    /// It reclaims.
    Reclaim,
    /// It does nothing.
    Nothing,
}

impl Ending {
    /// True when the round's end reclaims objects that the GPU has finished with.
    const fn gives_back(self) -> bool {
        matches!(self, Self::Frame | Self::Wait | Self::Reclaim)
    }
}

/// An object held from before the measured rounds until after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptOpen {
    Nothing,
    /// A recording that stays open.
    Recording,
    /// All that one round creates.
    Handles,
}

/// A steady program.
struct Plan {
    setup: Setup,
    roads: Vec<&'static Road>,
    /// The seeds of the choices of each road.
    seeds: Vec<u64>,
    ending: Ending,
    held: KeptOpen,
    /// Every recording is on the graphics queue.
    is_of_one_queue: bool,
    /// The lifetime of objects in rounds.
    lifetime: usize,
    /// Rounds that the GPU is behind.
    behind: usize,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roads: Vec<_> = self.roads.iter().map(|road| road.name).collect();
        write!(
            f,
            "{}; rounds of {roads:?} that end by {:?}, held: {:?}, {}, objects live for {} rounds, the GPU is {} behind",
            self.setup,
            self.ending,
            self.held,
            if self.is_of_one_queue { "one queue" } else { "all queues" },
            self.lifetime,
            self.behind,
        )
    }
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5EAD);
        let setup = Setup::new(seed, &mut rng).steady(rng.below(2) == 0);
        let endings =
            [Ending::Frame, Ending::Frame, Ending::Wait, Ending::Completed, Ending::Reclaim, Ending::Nothing];
        let holds = [KeptOpen::Nothing, KeptOpen::Nothing, KeptOpen::Recording, KeptOpen::Handles];
        let mut roads: Vec<_> = ROADS.iter().collect();
        let count = 1 + rng.below(MOST_ROADS);
        while roads.len() as u64 > count {
            roads.swap_remove(rng.below(roads.len() as u64) as usize);
        }
        let held = holds[rng.below(holds.len() as u64) as usize];
        // Objects dropped by the program, and rings, wait for every open recording.
        roads.retain(|road| held != KeptOpen::Recording || !road.waits_for_recordings);
        let ending = endings[rng.below(endings.len() as u64) as usize];
        // Graphs are executed in frames.
        let ending = if roads.iter().any(|road| road.needs_frame) { Ending::Frame } else { ending };
        let behind = match ending {
            // The GPU advances only here.
            Ending::Wait => 0,
            Ending::Frame => rng.below(setup.in_flight.into()) as usize,
            _ => rng.below(5) as usize,
        };
        Self {
            setup,
            seeds: roads.iter().map(|_| rng.next()).collect(),
            roads,
            ending,
            held,
            is_of_one_queue: rng.below(2) == 0,
            lifetime: rng.below(4) as usize,
            behind,
        }
    }
}

/// Plays the steady program of a seed: warm-up rounds, then `rounds` measured rounds in each half.
///
/// # Errors
/// A description of the first mistake.
pub fn run_steady(seed: u64, rounds: u64) -> Result<(), String> {
    let plan = Plan::new(seed);
    let run = |device: &Device| {
        catch_unwind(AssertUnwindSafe(|| play(&plan, device, rounds)))
            .map_err(|panic| format!("panic: {}", words_of(&*panic)))?
            .map_err(|Wrong(words)| words)
    };
    let Err(words) = run(&plan.setup.device()) else { return Ok(()) };
    // Plays the failed program again with recorded calls, to list the created objects.
    let device = Device::with_config(plan.setup.options().record_calls());
    let _as_before = run(&device);
    Err(format!("{plan}: {words}; the last objects: {:?}", last_created(&device)))
}

/// The last calls by which a device created something.
fn last_created(device: &Device) -> Vec<String> {
    let log = device.call_log();
    let mut created: Vec<_> = log.into_iter().filter(|call| call.starts_with("create_")).collect();
    created.split_off(created.len().saturating_sub(SHOWN))
}

/// An object that is kept only to be dropped later.
trait Kept {}

impl<T> Kept for T {}

/// A round, as its roads see it.
struct Round<'a> {
    gpu: &'a Gpu<Device>,
    lasting: &'a Lasting,
    frame: Option<&'a Frame<Device>>,
    is_of_one_queue: bool,
    rng: Rng,
    /// Objects kept for [`Plan::lifetime`] rounds.
    alive: Vec<Box<dyn Kept>>,
    counts: Counts,
    submitted: SyncPoint,
}

impl Round<'_> {
    /// One of these queues; always the graphics queue in programs of one queue.
    fn queue(&mut self, from: &[Queue]) -> Queue {
        let chosen = from[self.rng.below(from.len() as u64) as usize];
        if self.is_of_one_queue { Queue::Graphics } else { chosen }
    }

    fn record(&self, queue: Queue) -> Result<Recording<Device>, Error> {
        match self.frame {
            Some(frame) => frame.record(queue, "steady"),
            None => self.gpu.record(queue, "steady"),
        }
    }

    fn submit(&mut self, recording: Recording<Device>) -> Result<(), Error> {
        let point = match self.frame {
            Some(frame) => frame.submit(recording)?,
            None => recording.submit()?,
        };
        self.submitted.merge(&point);
        Ok(())
    }

    /// Keeps an object alive for [`Plan::lifetime`] rounds.
    fn keep(&mut self, thing: impl Kept + 'static) {
        self.alive.push(Box::new(thing));
    }
}

fn failed<T>(what: &str, result: Result<T, Error>) -> Checked<T> {
    result.or_else(|error| wrong(format!("{what}: {error}")))
}

fn play(plan: &Plan, device: &Device, rounds: u64) -> Checked {
    // Small descriptor heaps would run out, because objects in flight use them for several rounds; small blocks of descriptors and
    // sets are full in each round. Objects that are cached for fewer frames than the GPU is behind would be created again in each
    // round.
    let mut config = plan.setup.config();
    let DescriptorConfig { block, set_pool, .. } = config.descriptors;
    config.descriptors = DescriptorConfig::default().block(block).set_pool(set_pool);
    config.frames.idle = FrameConfig::default().idle;
    let gpu = failed("no manager", Gpu::new(device.clone(), config))?;
    let lasting = failed("persistent objects", Lasting::new(&gpu))?;
    // Pending uploads would count as an open recording.
    failed("flush", gpu.flush_uploads())?;
    let mut alive = VecDeque::new();
    let (mut kept, mut open) = (Vec::new(), None);
    let mut submitted = VecDeque::new();
    // Growth takes longer to show where releases are late.
    let rounds = if plan.ending.gives_back() { rounds } else { 3 * rounds };
    let mut growth = Growth::new(plan.lifetime + plan.behind, rounds, plan.ending);
    for number in 0..WARM_UP + 2 * rounds {
        if number == KEPT && plan.held == KeptOpen::Recording {
            open = Some(failed("record", gpu.record(Queue::Graphics, "held"))?);
        }
        let (things, counts) = round(plan, &gpu, &lasting, &mut submitted)?;
        if number == KEPT && plan.held == KeptOpen::Handles {
            kept = things;
        } else {
            alive.push_back(things);
        }
        while alive.len() > plan.lifetime {
            alive.pop_front();
        }
        match number.checked_sub(WARM_UP) {
            None => growth.warm_up(&counts),
            Some(number) => growth.note(&gpu, number < rounds, &counts),
        }
    }
    growth.check(&gpu)?;
    drop((alive, kept, open, lasting));
    gpu.device().run_until_idle();
    check_idle(&gpu)?;
    end_clean(gpu)
}

/// Plays one round. Returns the objects to keep alive.
fn round(
    plan: &Plan,
    gpu: &Gpu<Device>,
    lasting: &Lasting,
    in_flight: &mut VecDeque<SyncPoint>,
) -> Checked<(Vec<Box<dyn Kept>>, Counts)> {
    let frame = match plan.ending {
        Ending::Frame => Some(failed("begin a frame", gpu.begin_frame())?),
        _ => None,
    };
    let mut round = Round {
        gpu,
        lasting,
        frame: frame.as_ref(),
        is_of_one_queue: plan.is_of_one_queue,
        rng: Rng::new(0),
        alive: Vec::new(),
        counts: Counts::default(),
        submitted: SyncPoint::NONE,
    };
    for (road, seed) in plan.roads.iter().zip(&plan.seeds) {
        round.rng = Rng::new(*seed);
        failed(road.name, (road.run)(&mut round))?;
    }
    let Round { alive, counts, submitted, .. } = round;
    if plan.behind == 0 {
        gpu.device().run_until_idle();
    }
    match plan.ending {
        Ending::Frame => {}
        Ending::Wait => {
            if !failed("wait", gpu.wait(&submitted, LONG))? {
                return wrong("the GPU does not finish");
            }
        }
        Ending::Completed => drop(failed("completed", gpu.completed())?),
        Ending::Reclaim => failed("reclaim", gpu.reclaim())?,
        Ending::Nothing => {}
    }
    frame.map_or(Ok(()), |frame| failed("end a frame", frame.end()))?;
    in_flight.push_back(gpu.submitted());
    while in_flight.len() > plan.behind
        && let Some(point) = in_flight.pop_front()
    {
        go_on(gpu.device(), &point);
    }
    Ok((alive, counts))
}

/// Advances the GPU up to a sync point. Queues wait for each other, so each is advanced as far as possible, in
/// rounds.
fn go_on(device: &Device, point: &SyncPoint) {
    // Not `all`, which ends at the first queue that waits for another.
    while point.iter().filter(|at| !device.complete(at.queue, at.serial)).count() > 0 {}
}
