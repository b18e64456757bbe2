//! Descriptors that are created and freed while the GPU is behind.

use std::thread;

use tenure_core::{
    Config, DescriptorConfig, DescriptorKind, DescriptorOwner, DescriptorPart, DescriptorSetDesc,
    DescriptorTableDesc, Error, Frame, Queue, SetLayoutDesc,
};

use crate::Harness;
use crate::bench::Bench;
use crate::shader_input::{Kind, ShaderInput};
use crate::shader_reads::{bindings, dynamic, dynamic_bindings, in_set, lasting, set_binds, views};
use test_random::Rng;

/// A manager with few descriptors of each kind, in small chunks, which poisons freed descriptors.
fn few() -> Config {
    Config::from(
        DescriptorConfig::default()
            .static_resources(Some(64))
            .dynamic_resources(Some(64))
            .static_samplers(Some(16))
            .dynamic_samplers(Some(16))
            .block(16)
            .chunk(16)
            .set_pool(4)
            .poison(true)
            .report_unnamed(true),
    )
}

/// The configuration, without the kinds of descriptors that the device lacks.
fn few_of<H: Harness>(harness: &H) -> Bench<'_, H> {
    Bench::of_device(harness, |properties| {
        let limits = &properties.descriptors;
        let only = |limit: u32, some: Option<u32>| some.filter(|_| limit > 0);
        let few = few();
        let descriptors = &few.descriptors;
        few.clone().descriptors(
            descriptors
                .clone()
                .static_resources(only(limits.visible_resources, descriptors.static_resources))
                .dynamic_resources(only(limits.visible_resources, descriptors.dynamic_resources))
                .static_samplers(only(limits.visible_samplers, descriptors.static_samplers))
                .dynamic_samplers(only(limits.visible_samplers, descriptors.dynamic_samplers)),
        )
    })
}

/// Kinds of inputs whose descriptors are allocated in different ways.
const SOME: [Kind; 4] = [Kind::Buffer, Kind::StorageTexture, Kind::Sharp, Kind::TypedBuffer];

fn some<H: Harness>(bench: &Bench<'_, H>, rng: &mut Rng) -> Vec<ShaderInput<H::Device>> {
    SOME.map(|kind| bench.input(kind, rng)).into()
}

/// In each frame, tables, sets, views and their resources are dropped right after the submission, while the GPU is
/// behind by the full number of frames in flight. No descriptor that the GPU reads is overwritten.
pub fn descriptors_outlive_their_handles<H: Harness>(harness: &H) {
    const FRAMES: usize = 12;
    let bench = few_of(harness);
    let mut rng = Rng::new(130);
    for round in 0..3 {
        let mut submitted = Vec::new();
        harness.hold();
        for _ in 0..FRAMES / 3 {
            let inputs = some(&bench, &mut rng);
            let out: Vec<_> = (0..4).map(|_| bench.output(inputs.len())).collect();
            let tables = bench.has_heaps().then(|| bench.tables(&inputs, "table"));
            let set_bindings = bindings(&inputs);
            let layout = bench.has_sets().then(|| {
                bench.gpu.create_set_layout(&SetLayoutDesc::new(&set_bindings).name("set")).unwrap()
            });
            let set = layout.as_ref().map(|layout| {
                bench
                    .gpu
                    .create_descriptor_set(&DescriptorSetDesc::new(layout, &set_binds(&inputs)).name("set"))
                    .unwrap()
            });
            bench.submit(Queue::Graphics, |recording| {
                let (commands, scratch) = recording.split();
                if let Some(tables) = tables {
                    bench.record_reads(commands, &inputs, &tables.view_bindings(&inputs), &out[0]);
                    bench.record_reads(commands, &inputs, &dynamic_bindings(&scratch, &inputs), &out[1]);
                }
                if let (Some(layout), Some(set)) = (layout, set) {
                    let view_bindings = in_set(&inputs, &layout, lasting(&set));
                    bench.record_reads(commands, &inputs, &view_bindings, &out[2]);
                    let set = scratch.set(&layout, &set_binds(&inputs)).unwrap();
                    let view_bindings = in_set(&inputs, &layout, dynamic(&set));
                    bench.record_reads(commands, &inputs, &view_bindings, &out[3]);
                }
            });
            submitted.push((inputs.into_iter().map(ShaderInput::into_expected).collect::<Vec<_>>(), out));
            bench.gpu.reclaim().unwrap();
        }
        bench.finish();
        for (memories, out) in submitted {
            for (way, out) in out.iter().enumerate() {
                let is_there = if way < 2 { bench.has_heaps() } else { bench.has_sets() };
                if is_there {
                    for (memory, seen) in memories.iter().zip(bench.results(out)) {
                        memory.check(seen, &format!("way {way} of round {round}"));
                    }
                }
            }
        }
    }
    bench.end();
}

/// Records a frame on many threads, each with tables and sets of its own.
fn record_frame<H: Harness>(
    bench: &Bench<'_, H>,
    frame: &Frame<H::Device>,
    inputs: &[ShaderInput<H::Device>],
    round: usize,
) {
    let layouts: Vec<_> = inputs
        .iter()
        .map(|input| {
            let set_bindings = bindings(std::slice::from_ref(input));
            bench
                .has_sets()
                .then(|| bench.gpu.create_set_layout(&SetLayoutDesc::new(&set_bindings).name("set")).unwrap())
        })
        .collect();
    let work = |(input, layout): (&ShaderInput<H::Device>, &Option<_>)| {
        let input = std::slice::from_ref(input);
        let out = [bench.output(1), bench.output(1)];
        let mut recording = frame.record(Queue::Graphics, "thread").unwrap();
        let (commands, scratch) = recording.split();
        for _ in 0..5 {
            if bench.has_heaps() {
                let view_bindings = dynamic_bindings(&scratch, input);
                bench.record_reads(commands, input, &view_bindings, &out[0]);
            }
            if let Some(layout) = layout {
                let set = scratch.set(layout, &set_binds(input)).unwrap();
                bench.record_reads(commands, input, &in_set(input, layout, dynamic(&set)), &out[1]);
            }
        }
        (recording, out)
    };
    let recorded: Vec<_> = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            inputs.iter().zip(&layouts).map(|each| scope.spawn(move || work(each))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut outs = Vec::new();
    for (recording, out) in recorded {
        frame.submit(recording).unwrap();
        outs.push(out);
    }
    drop(layouts);
    for (input, [in_heaps, in_sets]) in inputs.iter().zip(&outs) {
        let ways = [(bench.has_heaps(), in_heaps), (bench.has_sets(), in_sets)];
        for (_, out) in ways.iter().filter(|(is_there, _)| *is_there) {
            input.check(bench.results(out)[0], &format!("frame {round}"));
        }
    }
}

/// Threads allocate descriptors of their recordings in the same heaps, and sets of the same layouts.
pub fn many_threads_take_descriptors<H: Harness>(harness: &H) {
    let bench = few_of(harness);
    let mut rng = Rng::new(131);
    let inputs = some(&bench, &mut rng);
    for round in 0..6 {
        let frame = bench.gpu.begin_frame().unwrap();
        record_frame(&bench, &frame, &inputs, round);
        frame.end().unwrap();
    }
    drop(inputs);
    bench.end();
}

/// Descriptors reuse the same index, and no read returns the data of the next descriptor.
pub fn slots_are_used_again_once_the_gpu_is_done<H: Harness>(harness: &H) {
    let bench = few_of(harness);
    let mut rng = Rng::new(132);
    let mut indices = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let inputs = [bench.input(Kind::Buffer, &mut rng)];
        indices.insert(inputs[0].view.index());
        let out = bench.output(1);
        if bench.has_heaps() {
            let tables = bench.tables(&inputs, "table");
            bench.submit(Queue::Graphics, |recording| {
                let (commands, _) = recording.split();
                bench.record_reads(commands, &inputs, &tables.view_bindings(&inputs), &out);
            });
            drop(tables);
            bench.check_results(&inputs, &out, "a table with one entry");
        }
    }
    assert!(indices.len() < 40, "{indices:?}");
    bench.finish();
    let stats = bench.gpu.stats().descriptors;
    assert_eq!(stats.views, 0);
    assert!(stats.heaps.iter().all(|heap| heap.used == 0), "{stats:?}");
    bench.end();
}

/// If a part of a heap is full, the error names an owner, and no descriptor is lost: allocations succeed again when
/// the GPU has finished or a handle was dropped.
pub fn errors_of_full_heaps_name_the_owner<H: Harness>(harness: &H) {
    let bench = few_of(harness);
    let inputs = [bench.input(Kind::Texture, &mut Rng::new(133))];
    if bench.has_heaps() {
        let binds = |count| vec![inputs[0].bind(); count];
        let table = |count, name: &'static str| {
            bench.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds(count)).name(name))
        };
        let (large, small) = (table(40, "terrain").unwrap(), table(20, "sky").unwrap());
        let Err(Error::NoDescriptors(error)) = table(30, "water") else { panic!("60 of 64 are used") };
        assert_eq!((error.name.as_str(), error.part), ("water", DescriptorPart::Static));
        assert_eq!((error.requested, error.capacity, error.free, error.largest_free), (30, 64, 4, 4));
        let users: Vec<_> = error.users.iter().map(|user| (user.name.as_str(), user.count)).collect();
        assert_eq!(users, [("terrain", 40), ("sky", 20)]);
        drop(large);
        let water = table(30, "water").unwrap();
        drop((small, water));
        // Fills the dynamic part chunk by chunk.
        if harness.hold() {
            let take = || {
                let mut recording = bench.gpu.record(Queue::Graphics, "hungry").unwrap();
                let taken = recording.split().1.descriptors(&binds(16)).map(drop);
                recording.submit().unwrap();
                taken
            };
            let taken = (0..8).map(|_| take()).find_map(Result::err);
            let Some(Error::NoDescriptors(error)) = taken else { panic!("{taken:?}") };
            assert_eq!((error.part, error.requested, error.capacity), (DescriptorPart::Dynamic, 16, 64));
            assert_eq!(error.free, 0);
            bench.finish();
            take().unwrap();
        }
    }
    drop(inputs);
    bench.end();
}

/// The manager reports the present owner of a descriptor, and the previous one after a free.
pub fn owners_of_descriptors_are_reported<H: Harness>(harness: &H) {
    let bench = few_of(harness);
    let inputs = [bench.input(Kind::Texture, &mut Rng::new(134))];
    let owner = |index| bench.gpu.descriptor_owner(DescriptorKind::Resource, index);
    if bench.has_heaps() {
        let table = bench
            .gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&views(&inputs)).name("terrain"))
            .unwrap();
        let index = table.first();
        assert_eq!(owner(index), DescriptorOwner::Static { name: "terrain".into() });
        let mut recording = bench.gpu.record(Queue::Graphics, "shadows").unwrap();
        let first = recording.split().1.descriptors(&views(&inputs)).unwrap().first();
        assert_eq!(owner(first), DescriptorOwner::Dynamic { recording: "shadows".into() });
        recording.submit().unwrap();
        drop(table);
        bench.finish();
        assert_eq!(owner(index), DescriptorOwner::Freed { name: "terrain".into() });
        assert!(!matches!(owner(first), DescriptorOwner::Dynamic { .. }), "{:?}", owner(first));
        assert_eq!(owner(u32::MAX), DescriptorOwner::OutOfRange);
        let again = bench
            .gpu
            .create_descriptor_table(&DescriptorTableDesc::new(&views(&inputs)).name("water"))
            .unwrap();
        assert_eq!(owner(again.first()), DescriptorOwner::Static { name: "water".into() });
    }
    drop(inputs);
    bench.end();
}

/// Pools of sets are reused, and destroyed by `trim`.
pub fn sets_are_recycled<H: Harness>(harness: &H) {
    let bench = few_of(harness);
    if bench.has_sets() {
        let inputs = [bench.input(Kind::Constants, &mut Rng::new(135))];
        let layout =
            bench.gpu.create_set_layout(&SetLayoutDesc::new(&bindings(&inputs)).name("set")).unwrap();
        let mut most = 0;
        for round in 0..60 {
            let frame = bench.gpu.begin_frame().unwrap();
            let mut recording = frame.record(Queue::Graphics, "sets").unwrap();
            let (commands, scratch) = recording.split();
            // Each round needs more than one block.
            let out = bench.output(1);
            for _ in 0..7 {
                let set = scratch.set(&layout, &set_binds(&inputs)).unwrap();
                let view_bindings = in_set(&inputs, &layout, dynamic(&set));
                bench.record_reads(commands, &inputs, &view_bindings, &out);
            }
            frame.submit(recording).unwrap();
            frame.end().unwrap();
            if round % 20 == 0 {
                bench.check_results(&inputs, &out, "a set of the recording");
            }
            most = most.max(bench.gpu.stats().descriptors.set_pools);
        }
        assert!((2..40).contains(&most), "{most} blocks");
        let blocks = || bench.gpu.stats().descriptors.set_pools;
        bench.finish();
        bench.gpu.trim();
        assert_eq!(blocks(), 0, "unused blocks were not destroyed");
    }
    bench.end();
}
