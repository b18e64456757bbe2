//! Views, tables and sets: the results that shaders read through them.

use tenure_core::{
    Bind, BindingKind, DescriptorSetDesc, DescriptorTableDesc, DeviceError, Error, Filter, Queue,
    SamplerDesc, SamplerInfo, SetBinding, SetDescriptor, SetLayoutDesc,
};

use crate::bench::Bench;
use crate::shader_input::{Kind, ShaderInput};
use crate::shader_reads::{bindings, dynamic, dynamic_bindings, in_set, lasting, set_binds, views};
use crate::{Harness, Look, Through};
use test_random::Rng;

/// Checks that a call was refused, with the name of the feature that the device lacks.
#[track_caller]
fn assert_unsupported<T>(result: Result<T, Error>, lacking: &str) {
    match result {
        Err(Error::Device { source: DeviceError::Unsupported { feature }, .. }) => {
            assert_eq!(feature, lacking)
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the device lacks {lacking}, but the call succeeded"),
    }
}

const NO_HEAPS: &str = "descriptor indexing";
const NO_SETS: &str = "descriptor sets";

/// Reads inputs through persistent tables, tables of a recording, persistent sets and sets of a recording,
/// if the device has them.
fn read_in_every_way<H: Harness>(bench: &Bench<'_, H>, inputs: &[ShaderInput<H::Device>], queue: Queue) {
    if bench.has_heaps() {
        let (first, second) = (bench.output(inputs.len()), bench.output(inputs.len()));
        let tables = bench.tables(inputs, "inputs");
        bench.submit(queue, |recording| {
            let (commands, scratch) = recording.split();
            bench.record_reads(commands, inputs, &tables.view_bindings(inputs), &first);
            bench.record_reads(commands, inputs, &dynamic_bindings(&scratch, inputs), &second);
        });
        bench.check_results(inputs, &first, "through a table");
        bench.check_results(inputs, &second, "through a table of the recording");
    }
    if bench.has_sets() {
        let (first, second) = (bench.output(inputs.len()), bench.output(inputs.len()));
        let layout =
            bench.gpu.create_set_layout(&SetLayoutDesc::new(&bindings(inputs)).name("inputs")).unwrap();
        let set = bench
            .gpu
            .create_descriptor_set(&DescriptorSetDesc::new(&layout, &set_binds(inputs)).name("inputs"))
            .unwrap();
        bench.submit(queue, |recording| {
            let (commands, scratch) = recording.split();
            bench.record_reads(commands, inputs, &in_set(inputs, &layout, lasting(&set)), &first);
            let set = scratch.set(&layout, &set_binds(inputs)).unwrap();
            bench.record_reads(commands, inputs, &in_set(inputs, &layout, dynamic(&set)), &second);
        });
        bench.check_results(inputs, &first, "through a set");
        bench.check_results(inputs, &second, "through a set of the recording");
    }
}

/// Shaders read every kind of view, and sample, through tables and sets.
pub fn shaders_read_every_kind_of_view<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    assert!(bench.has_heaps() || bench.has_sets(), "the device has neither heaps nor sets of descriptors");
    let inputs = bench.inputs(&mut Rng::new(120));
    read_in_every_way(&bench, &inputs, Queue::Graphics);
    drop(inputs);
    bench.end();
}

/// Shaders read exactly the bytes, mips and layers of a view.
pub fn views_read_exactly_their_part<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(121);
    for kind in Kind::ALL {
        let inputs = match kind {
            Kind::Smooth | Kind::Sharp => continue,
            Kind::Texture | Kind::StorageTexture => bench.texture_parts(kind, (3, 2), &mut rng),
            // The second buffer comes after the first in the same API buffer, if they share one.
            _ => {
                let mut parts = bench.buffer_parts(kind, 3, &mut rng);
                parts.extend(bench.buffer_parts(kind, 3, &mut rng));
                parts
            }
        };
        read_in_every_way(&bench, &inputs, Queue::Graphics);
    }
    bench.end();
}

/// Shaders on graphics and compute queues read the same bytes through views.
pub fn shaders_read_views_on_every_queue<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    // Buffers alone: a texture may be in a layout that only one kind of queue knows.
    let mut rng = Rng::new(122);
    for queue in [Queue::Graphics, Queue::Compute] {
        let inputs: Vec<_> =
            [Kind::Constants, Kind::Buffer, Kind::TypedBuffer].map(|kind| bench.input(kind, &mut rng)).into();
        bench.finish();
        read_in_every_way(&bench, &inputs, queue);
    }
    bench.end();
}

/// Shaders read constants of a recording through its tables and sets, also with a dynamic offset.
pub fn constants_are_bound_directly<H: Harness>(harness: &H) {
    const COUNT: usize = 12;
    let bench = Bench::new(harness);
    let mut rng = Rng::new(123);
    let words: Vec<[u32; 4]> =
        (0..COUNT).map(|_| std::array::from_fn(|_| rng.below(1 << 32) as u32)).collect();
    let (in_heaps, in_sets, moved) = (bench.output(COUNT), bench.output(COUNT), bench.output(COUNT));
    let binding = |binding, kind| SetBinding { binding, kind, count: 1 };
    let forms = [binding(2, BindingKind::Constants), binding(5, BindingKind::DynamicConstants)];
    let layout = bench
        .has_sets()
        .then(|| bench.gpu.create_set_layout(&SetLayoutDesc::new(&forms).name("constants")).unwrap());
    bench.submit(Queue::Graphics, |recording| {
        let (commands, scratch) = recording.split();
        for out in [&in_heaps, &in_sets, &moved] {
            bench.open(commands, out);
        }
        for (words, index) in words.iter().zip(0..) {
            let constant = scratch.constants(words).unwrap();
            if bench.has_heaps() {
                let table = scratch.descriptors(&[constant.into()]).unwrap();
                let through = Through::Heap { heap: table.heap(), index: table.first() };
                bench.probe(commands, through, Look::Constants, (&in_heaps, index));
            }
            let Some(layout) = &layout else { continue };
            let set = scratch
                .set(layout, &[SetDescriptor::new(2, constant), SetDescriptor::new(5, constant)])
                .unwrap();
            let (layout, (block, set)) = (layout.raw(), dynamic(&set));
            let through = |binding| Through::Set { layout, block, set, binding, element: 0 };
            bench.probe(commands, through(2), Look::Constants, (&in_sets, index));
            let look = Look::DynamicConstants { offset: u32::try_from(constant.offset()).unwrap() };
            bench.probe(commands, through(5), look, (&moved, index));
        }
    });
    for (is_there, out) in
        [(bench.has_heaps(), &in_heaps), (bench.has_sets(), &in_sets), (bench.has_sets(), &moved)]
    {
        if is_there {
            assert_eq!(bench.results(out), words);
        }
    }
    drop((in_heaps, in_sets, moved, layout));
    bench.end();
}

/// Shaders of many draws read their constants through the set of a page, with an offset each, on several threads.
pub fn dynamic_constants_find_their_draws<H: Harness>(harness: &H) {
    const COUNT: usize = 600;
    let bench = Bench::new(harness);
    if !bench.has_sets() {
        let binding = [SetBinding::new(3, BindingKind::DynamicConstants)];
        assert_unsupported(bench.gpu.create_set_layout(&SetLayoutDesc::new(&binding)), NO_SETS);
        bench.end();
        return;
    }
    let layouts = [3, 0].map(|binding| {
        let binding = [SetBinding::new(binding, BindingKind::DynamicConstants)];
        bench.gpu.create_set_layout(&SetLayoutDesc::new(&binding).name("draw")).unwrap()
    });
    let mut rng = Rng::new(124);
    let words: Vec<[u32; 4]> =
        (0..COUNT).map(|_| std::array::from_fn(|_| rng.below(1 << 32) as u32)).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let out = bench.output(COUNT);
                bench.submit(Queue::Graphics, |recording| {
                    let (commands, scratch) = recording.split();
                    bench.open(commands, &out);
                    for (index, words) in words.iter().enumerate() {
                        // Values of several sizes, which all begin with the words.
                        let mut bytes = vec![0xee; [64, 256, 1040, 16][index % 4]];
                        bytes[..16].copy_from_slice(&words.map(u32::to_ne_bytes).concat());
                        let layout = &layouts[usize::from(index % 5 == 0)];
                        let draw = scratch.dynamic_constant_bytes(layout, &bytes).unwrap();
                        let (block, set) = dynamic(&draw.set());
                        let binding = layout.bindings()[0].binding;
                        let through = Through::Set { layout: layout.raw(), block, set, binding, element: 0 };
                        let look = Look::DynamicConstants { offset: draw.dynamic_offset() };
                        bench.probe(commands, through, look, (&out, index as u64));
                    }
                });
                assert_eq!(bench.results(&out), words);
            });
        }
    });
    drop(layouts);
    bench.end();
}

/// Equal samplers share one descriptor, which is freed once.
pub fn equal_samplers_are_one<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let create =
        |info: &SamplerInfo| bench.gpu.create_sampler(&SamplerDesc::new(*info).name("sampler")).unwrap();
    let plain = SamplerInfo::default();
    let one = create(&plain);
    let same = [create(&plain), create(&plain.mip_bias(-0.0)), one.clone()];
    assert!(same.iter().all(|sampler| sampler.index() == one.index()));
    let others = [plain.mag(Filter::Nearest), plain.mip_bias(0.5), plain.max_lod(1.0)];
    let others: Vec<_> = others.iter().map(create).collect();
    let mut indices: Vec<_> = others.iter().chain([&one]).map(|sampler| sampler.index()).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices.len(), 4, "different samplers share a descriptor");
    let stats = bench.gpu.stats().descriptors;
    assert_eq!((stats.samplers, stats.samplers_shared), (4, 2));
    drop(one);
    assert_eq!(
        bench.gpu.stats().descriptors.samplers,
        4,
        "the descriptor was freed while other samplers share it"
    );
    drop((same, others));
    bench.finish();
    assert_eq!(bench.gpu.stats().descriptors.samplers, 0);
    drop(create(&plain));
    bench.end();
}

/// A call that needs a missing feature is refused with its name, and other objects stay usable.
pub fn descriptors_without_device_support_are_refused<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let input = bench.input(Kind::Texture, &mut Rng::new(124));
    let inputs = [input];
    let layout = bench.gpu.create_set_layout(&SetLayoutDesc::new(&bindings(&inputs)).name("set"));
    if bench.has_sets() {
        drop(layout.unwrap());
    } else {
        assert_unsupported(layout, NO_SETS);
    }
    let binds: Vec<Bind<'_, _>> = views(&inputs);
    let table = bench.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table"));
    let mut recording = bench.gpu.record(Queue::Graphics, "table").unwrap();
    let (commands, scratch) = recording.split();
    let descriptors = scratch.descriptors(&binds);
    commands.set_descriptor_heaps().unwrap();
    if bench.has_heaps() {
        let (table, descriptors) = (table.unwrap(), descriptors.unwrap());
        assert_ne!(table.first(), descriptors.first());
        assert_eq!((table.len(), descriptors.len()), (1, 1));
    } else {
        assert_unsupported(table, NO_HEAPS);
        assert_unsupported(descriptors, NO_HEAPS);
    }
    recording.submit().unwrap();
    read_in_every_way(&bench, &inputs, Queue::Graphics);
    drop(inputs);
    bench.end();
}
