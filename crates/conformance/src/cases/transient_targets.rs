//! Transient targets with one and with several samples for each texel; and culled passes, which acquire or declare
//! resources and never use them.

use tenure_core::transient::graph::{Graph, ResourceId};
use tenure_core::{
    BufferDesc, Config, Format, Frame, FrameConfig, Queue, Readback, State, Subresource, TextureDesc,
    TransientConfig, Usage,
};

use crate::Harness;
use crate::bench::{Bench, LONG, assert_bytes};
use test_random::Rng;

/// The size in bytes of a check buffer, whose contents would change if its memory were shared at the wrong time.
const CHECK_BYTES: u64 = 4096;

/// Frames after which an unused transient resource is destroyed.
const LATENCY: u32 = 3;

const STEPS: u8 = 8;

fn config() -> Config {
    Config::default()
        .transient(TransientConfig::default().latency(LATENCY).cache(4))
        .frames(FrameConfig::default().timeout(LONG))
}

fn check_buffer() -> BufferDesc {
    BufferDesc::new(CHECK_BYTES, Usage::COPY_DST | Usage::COPY_SRC).name("check")
}

impl<H: Harness> Bench<'_, H> {
    /// The sample counts that the device supports for all of these targets. Every device supports 1 and 4.
    pub(crate) fn sample_counts(&self, targets: &[TextureDesc]) -> Vec<u32> {
        use tenure_core::device::{ResourceDesc, prelude::*};
        let has = |desc: &TextureDesc, samples| {
            let info = desc.clone().samples(samples).info;
            self.gpu.device().requirements(&ResourceDesc::Texture(info)).is_ok()
        };
        let counts = [1, 2, 4, 8, 16].into_iter();
        let counts: Vec<u32> =
            counts.filter(|samples| targets.iter().all(|desc| has(desc, *samples))).collect();
        assert!(counts.contains(&1) && counts.contains(&4), "{counts:?} of {targets:?}");
        counts
    }

    /// Render targets and depth targets that shaders read, with each sample count.
    fn targets(&self) -> Vec<TextureDesc> {
        let target = |side, format, usage, name| {
            TextureDesc::d2(side, side, format, usage | Usage::SHADER_READ).name(name)
        };
        let targets = [
            target(64, Format::Rgba8Unorm, Usage::RENDER_TARGET, "colour"),
            target(128, Format::Rgba16Float, Usage::RENDER_TARGET, "light"),
            target(96, Format::D32Float, Usage::DEPTH_STENCIL, "depth"),
        ];
        let counts = self.sample_counts(&targets);
        let variants = |desc: &TextureDesc| {
            let desc = desc.clone();
            counts.iter().map(move |samples| desc.clone().samples(*samples)).collect::<Vec<_>>()
        };
        targets.iter().flat_map(variants).collect()
    }

    /// Runs empty frames until all transient heaps and cached objects are destroyed.
    fn let_transient_resources_go(&self) {
        self.finish();
        for _ in 0..LATENCY + 2 {
            self.gpu.begin_frame().unwrap().end().unwrap();
        }
        let stats = self.gpu.stats().transient;
        assert_eq!((stats.heaps, stats.cached), (0, 0), "{stats:?}");
    }
}

/// The treatment of a step of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// A pass that draws to its target and fills its check buffer, which is read back.
    Runs,
    /// A pass that acquires or declares both and uses neither.
    UsesNothing,
    /// No pass: the resources are only declared or acquired.
    IsLeftOut,
}

struct Step {
    target: TextureDesc,
    fate: Fate,
    bytes: Vec<u8>,
}

/// The steps of a frame. The first two run, so that at least two steps can share memory.
fn steps(targets: &[TextureDesc], rng: &mut Rng) -> Vec<Step> {
    let fates = [Fate::Runs, Fate::UsesNothing, Fate::IsLeftOut];
    let step = |number| Step {
        target: targets[usize::try_from(rng.below(targets.len() as u64)).unwrap()].clone(),
        fate: if number < 2 { Fate::Runs } else { fates[usize::try_from(rng.below(3)).unwrap()] },
        bytes: rng.bytes(CHECK_BYTES),
    };
    (0..STEPS).map(step).collect()
}

/// The state of a target for drawing to it.
fn drawn(target: &TextureDesc) -> State {
    let is_depth = target.info.usage.contains(Usage::DEPTH_STENCIL);
    if is_depth { State::DEPTH_WRITE } else { State::RENDER_TARGET }
}

/// The readbacks of check buffers, with the bytes that they must bring.
type Found<'s, H> = Vec<(Readback<<H as Harness>::Device>, &'s [u8])>;

#[track_caller]
fn check<H: Harness>(found: Found<'_, H>) {
    for (readback, bytes) in found {
        assert_bytes(&readback.poll().unwrap().unwrap(), bytes, "the check buffer of a step");
    }
}

/// A pass of a graph that records commands.
struct Pass<'s> {
    target: ResourceId,
    check: ResourceId,
    step: &'s Step,
    is_reader: bool,
}

/// Declares a step and returns its passes; `None` stands for a pass that records nothing.
fn declare<'s>(graph: &mut Graph, step: &'s Step) -> Vec<Option<Pass<'s>>> {
    let (target, check) = (graph.texture(step.target.clone()), graph.buffer(check_buffer()));
    let (drawn, read) = (drawn(&step.target), State::PIXEL_SHADER);
    match step.fate {
        Fate::Runs => {
            graph.pass(Queue::Graphics, "write").uses(target, drawn).uses(check, State::COPY_DST);
            graph.pass(Queue::Graphics, "read").uses(target, read).uses(check, State::COPY_SRC);
            [false, true].map(|is_reader| Some(Pass { target, check, step, is_reader })).into()
        }
        // A pass that declares several states of a resource makes the transitions itself; this one makes none.
        Fate::UsesNothing => {
            let pass = graph.pass(Queue::Graphics, "culled").uses(target, drawn).uses(target, read);
            pass.uses(check, State::COPY_DST).uses(check, State::COPY_SRC);
            vec![None]
        }
        Fate::IsLeftOut => Vec::new(),
    }
}

/// Runs the steps as a graph.
fn run_graph<H: Harness>(bench: &Bench<'_, H>, frame: &Frame<H::Device>, steps: &[Step]) {
    let mut graph = Graph::new();
    let passes: Vec<_> = steps.iter().flat_map(|step| declare(&mut graph, step)).collect();
    let mut found: Found<'_, H> = Vec::new();
    let done = frame.execute(&graph, |pass, recording, resources| {
        let Some(Pass { target, check, step, is_reader }) = &passes[pass.index()] else { return Ok(()) };
        let check = resources.buffer(*check)?;
        if *is_reader {
            found.push((recording.read_back(check, 0, CHECK_BYTES)?, &step.bytes));
            return Ok(());
        }
        recording.discard(resources.texture(*target)?, Subresource::All)?;
        recording.copy_buffer(&bench.staging(&step.bytes), 0, check, 0, CHECK_BYTES)
    });
    bench.wait(&done.unwrap());
    check::<H>(found);
}

/// Runs the steps in a recording, which is submitted or discarded.
fn run_recording<H: Harness>(
    bench: &Bench<'_, H>,
    frame: &Frame<H::Device>,
    steps: &[Step],
    is_submitted: bool,
) {
    let mut recording = frame.record(Queue::Graphics, "steps").unwrap();
    let mut found: Found<'_, H> = Vec::new();
    for step in steps {
        let target = recording.transient_texture(&step.target).unwrap();
        let check = recording.transient_buffer(&check_buffer()).unwrap();
        if step.fate == Fate::Runs {
            recording.discard(&target, Subresource::All).unwrap();
            recording.copy_buffer(&bench.staging(&step.bytes), 0, &check, 0, CHECK_BYTES).unwrap();
            recording.use_resource(&target, Subresource::All, State::PIXEL_SHADER).unwrap();
            recording.barriers();
            found.push((recording.read_back(&check, 0, CHECK_BYTES).unwrap(), &step.bytes));
        }
    }
    if is_submitted {
        bench.wait(&frame.submit(recording).unwrap());
        check::<H>(found);
    }
}

/// Graphs with targets of several sample counts, in which some passes are culled. The other passes read the right
/// bytes, and the memory that was planned for the culled passes stays unused.
pub fn culled_passes_of_graphs_leave_nothing_behind<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, config());
    let (targets, mut rng) = (bench.targets(), Rng::new(43));
    for _ in 0..harness.effort().frames / 25 {
        let frame = bench.gpu.begin_frame().unwrap();
        run_graph(&bench, &frame, &steps(&targets, &mut rng));
        frame.end().unwrap();
        let stats = bench.gpu.stats().transient;
        assert!(stats.footprint < stats.requested, "{stats:?}");
    }
    bench.let_transient_resources_go();
    bench.end();
}

/// Targets and check buffers are acquired pass by pass, some are never used, and some recordings are discarded. The
/// steps that run read the right bytes.
pub fn culled_acquisitions_leave_nothing_behind<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, config());
    let (targets, mut rng) = (bench.targets(), Rng::new(47));
    for _ in 0..harness.effort().frames / 25 {
        let frame = bench.gpu.begin_frame().unwrap();
        run_recording(&bench, &frame, &steps(&targets, &mut rng), rng.below(5) > 0);
        frame.end().unwrap();
    }
    let stats = bench.gpu.stats().transient;
    assert!(stats.created < stats.acquired, "{stats:?}");
    bench.let_transient_resources_go();
    bench.end();
}
