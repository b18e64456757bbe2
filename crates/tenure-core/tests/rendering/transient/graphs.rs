//! Graphs: declared ahead and executed.

use std::time::Duration;

use tenure_core::device::prelude::*;
use tenure_core::transient::graph::{Graph, GraphError, PassId, ResourceId};
use tenure_core::{
    Config, Error, Frame, Gpu, Queue, QueueKind, Recording, Resources, State, Subresource, SyncPoint,
    TexelData, TransientConfig,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, HazardKind, Lag, Profile};

use super::{MIB, PROFILES, clear, device, fill, finish, gpu, gpu_with, read, sample, storage, target};
use test_random::Rng;

/// The use of one resource in one pass.
#[derive(Clone, Copy, Debug)]
struct Work {
    id: ResourceId,
    is_texture: bool,
    writes: bool,
    /// The byte that it writes, or expects to read.
    byte: u8,
}

/// A graph, and the accesses of its passes.
struct Program {
    graph: Graph,
    passes: Vec<Vec<Work>>,
}

impl Program {
    /// Random passes on the queues that the device has, which use random resources, each written first.
    fn random(chance: &mut Rng, device: &Device, most_passes: u64) -> Self {
        let kinds: Vec<QueueKind> = device.properties().queues.iter().map(|queue| queue.kind).collect();
        let count = 2 + chance.below(most_passes - 1);
        let queues: Vec<usize> = (0..count).map(|_| chance.below(kinds.len() as u64) as usize).collect();
        let mut graph = Graph::new();
        let mut passes: Vec<Vec<Work>> = queues.iter().map(|_| Vec::new()).collect();
        for resource in 0..2 + chance.below(9) {
            let is_texture = chance.below(3) == 0;
            let id = if is_texture {
                graph.texture(super::random_target(device, chance, format!("texture {resource}")))
            } else {
                graph.buffer(storage(256 << chance.below(10), format!("buffer {resource}")))
            };
            let mut written = None;
            for (pass, work) in passes.iter_mut().enumerate() {
                let kind = kinds[queues[pass]];
                let (can_write, can_read) = match (is_texture, kind) {
                    (true, QueueKind::Graphics) | (false, QueueKind::Graphics | QueueKind::Compute) => {
                        (true, true)
                    }
                    (true, _) => (false, false),
                    (false, QueueKind::Copy) => (true, false),
                };
                if chance.below(3) > 0 {
                    continue;
                }
                let writes = written.is_none() || chance.below(3) == 0;
                if writes && can_write {
                    let byte = 1 + chance.below(250) as u8;
                    written = Some(byte);
                    work.push(Work { id, is_texture, writes: true, byte });
                } else if let (Some(byte), true) = (written, can_read && !writes) {
                    work.push(Work { id, is_texture, writes: false, byte });
                }
            }
        }
        for (pass, work) in passes.iter().enumerate() {
            let queue = Queue::Id(tenure_core::QueueId(queues[pass] as u8));
            let mut declared = graph.pass(queue, "pass");
            for Work { id, is_texture, writes, .. } in work {
                let state = match (is_texture, writes) {
                    (true, true) => State::RENDER_TARGET,
                    (true, false) => State::PIXEL_SHADER,
                    (false, true) => State::COPY_DST,
                    (false, false) => State::NON_PIXEL_SHADER,
                };
                declared = declared.uses(*id, state);
            }
        }
        Self { graph, passes }
    }

    fn record(
        &self,
        pass: PassId,
        list: &mut Recording<Device>,
        resources: &Resources<'_, Device>,
    ) -> Result<(), Error> {
        for Work { id, is_texture, writes, byte } in &self.passes[pass.index()] {
            match (is_texture, writes) {
                (true, true) => clear(list, resources.texture(*id)?, *byte),
                (true, false) => sample(list, resources.texture(*id)?, *byte),
                (false, true) => fill(list, resources.buffer(*id)?, *byte),
                (false, false) => read(list, resources.buffer(*id)?, *byte),
            }
        }
        Ok(())
    }

    fn run(&self, frame: &Frame<Device>) {
        let run: Result<_, Error> =
            frame.execute(&self.graph, |pass, list, resources| self.record(pass, list, resources));
        run.unwrap();
    }

    fn frame(&self, gpu: &Gpu<Device>) {
        let frame = gpu.begin_frame().unwrap();
        self.run(&frame);
        frame.end().unwrap();
    }
}

#[test]
fn random_graphs_on_all_queues_find_their_bytes() {
    for &profile in PROFILES {
        let mut chance = Rng::new(11);
        for _ in 0..25 {
            let device = device(profile);
            let gpu = gpu(&device);
            let programs: Vec<_> = (0..3).map(|_| Program::random(&mut chance, &device, 14)).collect();
            for _ in 0..6 {
                let frame = gpu.begin_frame().unwrap();
                programs[chance.below(3) as usize].run(&frame);
                // A second graph in the same frame reuses the memory of the first.
                programs[chance.below(3) as usize].run(&frame);
                frame.end().unwrap();
            }
            finish(&device, gpu);
        }
    }
}

/// If the driver requires dedicated memory, nothing is placed, and graphs still work.
#[test]
fn graphs_share_nothing_if_dedicated_memory_is_required() {
    for &profile in PROFILES {
        let mut chance = Rng::new(12);
        let options = DeviceConfig::new(profile).lag(Lag::Random { max: 6 }).requires_dedicated();
        let device = Device::with_config(options);
        let gpu = gpu(&device);
        let program = Program::random(&mut chance, &device, 14);
        let mut made = Vec::new();
        for number in 0..12_u8 {
            program.frame(&gpu);
            let frame = gpu.begin_frame().unwrap();
            let mut list = frame.record(Queue::Graphics, "pass by pass").unwrap();
            let texture = list.transient_texture(&target(64, "target")).unwrap();
            clear(&mut list, &texture, number);
            sample(&mut list, &texture, number);
            drop(texture);
            let buffer = list.transient_buffer(&storage(1000, "storage")).unwrap();
            fill(&mut list, &buffer, number);
            read(&mut list, &buffer, number);
            drop(buffer);
            frame.submit(list).unwrap();
            frame.end().unwrap();
            made.push(device.calls().made(CallKind::CreateCommitted));
        }
        assert_eq!(made[6], made[11], "{profile:?}: {made:?}");
        let calls = device.calls();
        assert_eq!(calls.made(CallKind::CreateHeap) + calls.made(CallKind::CreatePlaced), 0, "{profile:?}");
        finish(&device, gpu);
    }
}

/// For drivers with a bug in flushing caches, resources that shaders read are in the copy source state, too:
/// the simulated device reports every use without it.
#[test]
fn shader_reads_include_the_copy_source_state_if_needed() {
    for &profile in PROFILES {
        let mut chance = Rng::new(13);
        for _ in 0..10 {
            let options = DeviceConfig::new(profile).lag(Lag::Random { max: 6 }).copy_src_with_reads();
            let device = Device::with_config(options);
            let gpu = gpu(&device);
            let programs: Vec<_> = (0..2).map(|_| Program::random(&mut chance, &device, 14)).collect();
            for _ in 0..4 {
                programs.iter().for_each(|program| program.frame(&gpu));
            }
            lasting_textures(&gpu);
            finish(&device, gpu);
        }
    }
}

/// A lasting texture that is read by shaders first, in one submission after the other, then drawn to and
/// read, then copied.
fn lasting_textures(gpu: &Gpu<Device>) {
    let texture = gpu.create_texture_with(&sampled_target(), &[TexelData::new(&[7; 64 * 64 * 4])]).unwrap();
    for number in 0..3_u8 {
        let frame = gpu.begin_frame().unwrap();
        let mut list = frame.record(Queue::Graphics, "read").unwrap();
        if number == 0 {
            sample(&mut list, &texture, 7);
        }
        clear(&mut list, &texture, number);
        sample(&mut list, &texture, number);
        let copy = gpu.create_texture(&sampled_target()).unwrap();
        list.use_resource(&texture, Subresource::All, State::COPY_SRC).unwrap();
        list.use_resource(&copy, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        list.barriers();
        frame.submit(list).unwrap();
        frame.end().unwrap();
    }
}

fn sampled_target() -> tenure_core::TextureDesc {
    let mut desc = target(64, "lasting");
    desc.info.usage |= tenure_core::Usage::COPY_DST;
    desc
}

/// The graphs of the barrier tests: large enough that memory is reused many times.
fn barrier_programs(device: &Device) -> Vec<Program> {
    let mut chance = Rng::new(5);
    (0..6).map(|_| Program::random(&mut chance, device, 14)).collect()
}

/// Runs graphs one after the other for some frames, the last frame without one of its barriers.
fn hazards_without(profile: Profile, lost: Option<u64>) -> (u64, Vec<tenure_sim::Hazard>) {
    let device = device(profile);
    let gpu = gpu(&device);
    let programs = barrier_programs(&device);
    let frame = || {
        let frame = gpu.begin_frame().unwrap();
        programs.iter().for_each(|program| program.run(&frame));
        frame.end().unwrap();
    };
    (0..3).for_each(|_| frame());
    device.run_until_idle();
    let before = device.faults().aliasing_barriers();
    if let Some(lost) = lost {
        device.faults().lose_aliasing_barrier(lost);
    }
    frame();
    device.run_until_idle();
    let barriers = device.faults().aliasing_barriers() - before;
    let hazards = device.take_hazards();
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    (barriers, hazards)
}

/// Whichever aliasing barrier is left out, there is a hazard: none is superfluous.
#[test]
fn every_aliasing_barrier_is_needed() {
    for &profile in PROFILES {
        let (barriers, hazards) = hazards_without(profile, None);
        assert!(hazards.is_empty(), "{profile:?}: {hazards:?}");
        assert!(barriers >= 10, "{profile:?}: only {barriers}");
        for lost in 1..=barriers {
            let (_, hazards) = hazards_without(profile, Some(lost));
            let is_found = hazards.iter().any(|hazard| hazard.kind == HazardKind::MissingAliasingBarrier);
            assert!(is_found, "{profile:?}: {lost} of {barriers} is not missed: {hazards:?}");
        }
    }
}

/// Equal graphs are planned once, and create nothing after the first frames.
#[test]
fn equal_graphs_are_planned_once_and_create_nothing() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let mut made = Vec::new();
        for _ in 0..40 {
            // Built anew each time, as programs do.
            let program = Program::random(&mut Rng::new(3), &device, 14);
            program.frame(&gpu);
            made.push(gpu.stats().objects_created());
        }
        let stats = gpu.stats().transient;
        assert_eq!((stats.plans, stats.executions), (1, 40), "{profile:?}");
        assert_eq!(made[10], made[39], "{profile:?}: {made:?}");
        finish(&device, gpu);
    }
}

/// A chain of full-screen targets.
fn chain(side: u32, passes: u32) -> Program {
    let mut graph = Graph::new();
    let targets: Vec<_> =
        (0..passes).map(|pass| graph.texture(target(side, format!("target {pass}")))).collect();
    let mut works = Vec::new();
    for pass in 0..passes as usize {
        let mut work = vec![Work { id: targets[pass], is_texture: true, writes: true, byte: pass as u8 }];
        let mut declared = graph.pass(Queue::Graphics, "link").uses(targets[pass], State::RENDER_TARGET);
        if let Some(before) = pass.checked_sub(1) {
            declared = declared.uses(targets[before], State::PIXEL_SHADER);
            work.push(Work { id: targets[before], is_texture: true, writes: false, byte: before as u8 });
        }
        let _ = declared.id();
        works.push(work);
    }
    Program { graph, passes: works }
}

#[test]
fn memory_stays_bounded_while_the_resolution_changes() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let (large, small) = (chain(256, 12), chain(128, 12));
        let largest = gpu.plan_graph(&large.graph).unwrap().peak();
        for number in 0..240 {
            let program = if number / 60 % 2 == 0 { &large } else { &small };
            program.frame(&gpu);
            let stats = gpu.stats().transient;
            assert!(stats.reserved <= largest * 2, "{profile:?}: {stats:?}");
            assert!(stats.cached <= 24, "{profile:?}: {stats:?}");
        }
        let stats = gpu.stats().transient;
        assert_eq!(stats.plans, 2);
        assert!(stats.heaps_created <= 4 && stats.created <= 4 * 12, "{profile:?}: {stats:?}");
        finish(&device, gpu);
    }
}

/// After an error in any pass, the next frame works.
#[test]
fn a_pass_that_fails_leaves_nothing_behind() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let program = Program::random(&mut Rng::new(9), &device, 14);
        for failing in 0..program.passes.len() {
            let frame = gpu.begin_frame().unwrap();
            let run: Result<_, Error> = frame.execute(&program.graph, |pass, list, resources| {
                if pass.index() == failing {
                    return Err(Error::Internal { what: "a test" });
                }
                program.record(pass, list, resources)
            });
            assert!(matches!(run, Err(Error::Internal { what: "a test" })));
            frame.end().unwrap();
            program.frame(&gpu);
        }
        finish(&device, gpu);
    }
}

#[test]
fn where_a_heap_is_refused_smaller_ones_are_used() {
    let mut most_heaps = 0;
    for refusals in 0..24 {
        let device = device(Profile::DISCRETE);
        let gpu = gpu(&device);
        let program = Program::random(&mut Rng::new(21), &device, 14);
        for n in 1..=refusals {
            device.faults().inject(Fault::nth(n, FaultKind::OutOfMemory).of(CallKind::CreateHeap));
        }
        let frame = gpu.begin_frame().unwrap();
        let run: Result<_, Error> =
            frame.execute(&program.graph, |pass, list, resources| program.record(pass, list, resources));
        frame.end().unwrap();
        match run {
            Ok(_) => most_heaps = most_heaps.max(gpu.stats().transient.heaps),
            Err(error) => assert!(matches!(error, Error::OutOfMemory(_)), "{error}"),
        }
        device.faults().clear();
        program.frame(&gpu);
        program.frame(&gpu);
        finish(&device, gpu);
    }
    assert!(most_heaps >= 2, "{most_heaps}");
}

#[test]
fn alternating_graphs_and_passes_share_heaps() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu_with(&device, Config::from(TransientConfig::default().heap(MIB)));
    let program = chain(256, 8);
    for _ in 0..8 {
        let frame = gpu.begin_frame().unwrap();
        program.run(&frame);
        let mut list = frame.record(Queue::Graphics, "by hand").unwrap();
        let texture = list.transient_texture(&target(128, "by hand")).unwrap();
        clear(&mut list, &texture, 7);
        program.run(&frame);
        sample(&mut list, &texture, 7);
        drop(texture);
        frame.submit(list).unwrap();
        frame.end().unwrap();
    }
    finish(&device, gpu);
}

#[test]
fn invalid_uses_in_a_pass_are_refused() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu(&device);
    let mut graph = Graph::new();
    let (one, other) = (graph.buffer(storage(64, "one")), graph.texture(target(16, "other")));
    let _ = graph.pass(Queue::Graphics, "first").uses(one, State::COPY_DST).id();
    let _ = graph.pass(Queue::Graphics, "second").uses(other, State::RENDER_TARGET).id();
    let mut refusals = Vec::new();
    let frame = gpu.begin_frame().unwrap();
    let run: Result<_, Error> = frame.execute(&graph, |pass, _, resources| {
        refusals.push((pass.index(), resources.texture(other).is_err(), resources.texture(one).is_err()));
        refusals.push((pass.index(), resources.buffer(other).is_err(), resources.buffer(one).is_err()));
        Ok(())
    });
    run.unwrap();
    assert_eq!(refusals, [(0, true, true), (0, true, false), (1, false, true), (1, true, true)]);
    let swapped: Result<_, Error> = frame.execute(&graph, |_, list, _| {
        *list = frame.record(Queue::Graphics, "another")?;
        Ok(())
    });
    assert!(matches!(swapped, Err(Error::Transient { .. })));
    let foreign = graph.clone().buffer(storage(64, "foreign"));
    let run: Result<_, Error> = frame.execute(&graph, |_, _, resources| resources.buffer(foreign).map(drop));
    assert!(matches!(run, Err(Error::Transient { .. })), "{run:?}");
    frame.end().unwrap();

    let _ = graph.pass(Queue::Graphics, "third").uses(one, State::VERTEX_OR_CONSTANT).id();
    let wrong = gpu.plan_graph(&graph);
    assert!(matches!(wrong, Err(Error::Graph(GraphError::NotInUsage { pass, .. })) if pass == "third"));
    finish(&device, gpu);
}

/// Resources are in the declared states when a pass is recorded.
#[test]
fn declared_states_come_before_the_pass() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let mut graph = Graph::new();
        let image = graph.texture(target(64, "image"));
        let _ = graph.pass(Queue::Graphics, "draw").uses(image, State::RENDER_TARGET).id();
        let _ = graph.pass(Queue::Graphics, "show").uses(image, State::PIXEL_SHADER).id();
        for _ in 0..3 {
            let frame = gpu.begin_frame().unwrap();
            let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
                let texture = resources.texture(image)?;
                if pass.index() == 0 {
                    list.raw().clear_texture(texture.raw(), Subresource::All, &[5; 4]);
                } else {
                    list.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
                }
                Ok(())
            });
            run.unwrap();
            frame.end().unwrap();
        }
        finish(&device, gpu);
    }
}

/// The GPU time of each pass arrives under its name where the configuration asks for it, and with nothing else.
#[test]
fn passes_are_timed_when_asked() {
    for gpu_times in [false, true] {
        let device = device(Profile::DISCRETE);
        let transient = TransientConfig::default().gpu_times(gpu_times);
        let gpu = gpu_with(&device, Config::default().transient(transient));
        let mut graph = Graph::new();
        let image = graph.texture(target(64, "image"));
        let _ = graph.pass(Queue::Graphics, "draw").uses(image, State::RENDER_TARGET).id();
        let _ = graph.pass(Queue::Compute, "compute").id();
        let _ = graph.pass(Queue::Graphics, "show").uses(image, State::PIXEL_SHADER).id();
        let mut times = Vec::new();
        for _ in 0..8 {
            let frame = gpu.begin_frame().unwrap();
            let run: Result<SyncPoint, Error> = frame.execute(&graph, |pass, list, resources| {
                if pass.index() == 0 {
                    list.raw().clear_texture(resources.texture(image)?.raw(), Subresource::All, &[5; 4]);
                }
                if pass.index() == 2 {
                    list.gpu_time("inside", |_| Ok::<_, Error>(()))?;
                }
                Ok(())
            });
            gpu.wait(&run.unwrap(), Duration::from_secs(10)).unwrap();
            frame.end().unwrap();
            times.extend(gpu.stats().gpu_times);
        }
        let mut names: Vec<_> =
            times.iter().map(|time| (time.frame, time.depth, time.name.as_str())).collect();
        names.sort_unstable();
        let of_frame = |frame| {
            let inside = [(frame, u32::from(gpu_times), "inside")];
            let passes = [(frame, 0, "compute"), (frame, 0, "draw"), (frame, 0, "show")];
            passes.into_iter().filter(|_| gpu_times).chain(inside)
        };
        assert_eq!(names, (1..=8).flat_map(of_frame).collect::<Vec<_>>());
        finish(&device, gpu);
    }
}

/// Two resources of one description at one offset, which different queues acquire alternately, are both cached.
#[test]
fn queues_that_alternate_at_one_offset_create_nothing() {
    for &profile in PROFILES {
        let device = device(profile);
        let gpu = gpu(&device);
        let both = |name: &'static str| {
            let mut desc = target(64, name);
            desc.info.usage |= tenure_core::Usage::UNORDERED_ACCESS;
            desc
        };
        let mut graph = Graph::new();
        let (drawn, computed) = (graph.texture(both("drawn")), graph.texture(both("computed")));
        let _ = graph.pass(Queue::Graphics, "draw").uses(drawn, State::RENDER_TARGET).id();
        let shown = graph.pass(Queue::Graphics, "show").uses(drawn, State::PIXEL_SHADER).id();
        let compute = graph.pass(Queue::Compute, "compute");
        let _ = compute.uses(computed, State::UNORDERED_ACCESS).after(shown).id();
        let _ = graph.pass(Queue::Graphics, "show too").uses(computed, State::PIXEL_SHADER).id();
        let mut made = Vec::new();
        for _ in 0..30 {
            let frame = gpu.begin_frame().unwrap();
            let run: Result<_, Error> = frame.execute(&graph, |pass, list, resources| {
                let states = [State::RENDER_TARGET, State::PIXEL_SHADER, State::UNORDERED_ACCESS];
                let state = states.get(pass.index()).copied().unwrap_or(State::PIXEL_SHADER);
                let texture = resources.texture(if pass.index() < 2 { drawn } else { computed })?;
                match state {
                    State::RENDER_TARGET => {
                        list.raw().clear_texture(texture.raw(), Subresource::All, &[5; 4]);
                    }
                    state => list.raw().use_texture(texture.raw(), Subresource::All, state),
                }
                Ok(())
            });
            run.unwrap();
            frame.end().unwrap();
            made.push(gpu.stats().transient.created);
        }
        assert_eq!(made[3], made[29], "{profile:?}: {made:?}");
        finish(&device, gpu);
    }
}

/// Heaps of Direct3D 12 have two alignments alone, whatever the alignments of the resources in them.
#[test]
fn buffers_with_large_alignments_share_ordinary_heaps() {
    for profile in PROFILES {
        let device = device(*profile);
        let gpu = gpu(&device);
        let mut graph = Graph::new();
        let [small, large] = [1, 128 << 10].map(|alignment| {
            graph.buffer(storage(100, format!("aligned to {alignment}")).alignment(alignment))
        });
        let pass = graph.pass(Queue::Graphics, "pass").uses(small, State::COPY_DST);
        let _id = pass.uses(large, State::COPY_DST).id();
        let plan = gpu.plan_graph(&graph).unwrap();
        assert!(plan.placement(large).unwrap().offset.is_multiple_of(128 << 10));
        let frame = gpu.begin_frame().unwrap();
        let run = frame.execute(&graph, |_, list, resources| {
            for id in [small, large] {
                let buffer = resources.buffer(id)?;
                list.raw().fill_buffer(buffer.raw(), 0, buffer.size(), 1);
            }
            Ok::<(), Error>(())
        });
        run.unwrap_or_else(|error| panic!("{profile:?}: {error}"));
        frame.end().unwrap();
        finish(&device, gpu);
    }
}
