//! Views, tables and sets: the results that shaders read through them.

use tenure_core::{
    Bind, BindingKind, DescriptorSetDesc, DescriptorTableDesc, DeviceError, Error, Filter, Queue,
    SamplerDesc, SamplerInfo, SetBinding, SetLayoutDesc,
};

use crate::bench::Bench;
use crate::shader_input::{Kind, ShaderInput};
use crate::shader_reads::{bindings, dynamic, dynamic_bindings, in_set, lasting, set_binds, views};
use crate::{Harness, Look, Through};
use test_random::Rng;

/// The device does not have it, and says what it lacks.
#[track_caller]
fn assert_unsupported<T>(result: Result<T, Error>, lacking: &str) {
    match result {
        Err(Error::Device { source: DeviceError::Unsupported { feature }, .. }) => {
            assert_eq!(feature, lacking)
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{lacking} is not there, and yet it works"),
    }
}

const NO_HEAPS: &str = "descriptor indexing";
const NO_SETS: &str = "descriptor sets";

/// Reads inputs through persistent tables, tables of a recording, persistent sets and sets of a recording,
/// as far as the device has them.
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

/// Every kind of view, and samplers, through tables and sets.
pub fn every_kind_of_view_is_seen<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    assert!(bench.has_heaps() || bench.has_sets(), "shaders find descriptors somewhere");
    let inputs = bench.inputs(&mut Rng::new(120));
    read_in_every_way(&bench, &inputs, Queue::Graphics);
    drop(inputs);
    bench.end();
}

/// Shaders read exactly the bytes, mips and layers of a view.
pub fn views_show_their_part<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(121);
    for kind in Kind::ALL {
        let inputs = match kind {
            Kind::Smooth | Kind::Sharp => continue,
            Kind::Texture | Kind::StorageTexture => bench.texture_parts(kind, (3, 2), &mut rng),
            // The second is behind the first, in one API buffer if they share one.
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

/// Shaders on all kinds of queues read the same.
pub fn views_are_seen_on_every_queue<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    // Nothing in a layout that only one kind of queue knows: buffers belong to all.
    let mut rng = Rng::new(122);
    for queue in [Queue::Graphics, Queue::Compute] {
        let inputs: Vec<_> =
            [Kind::Constants, Kind::Buffer, Kind::TypedBuffer].map(|kind| bench.input(kind, &mut rng)).into();
        bench.finish();
        read_in_every_way(&bench, &inputs, queue);
    }
    bench.end();
}

/// Constants of a recording, through its tables and sets, also with the offset given at last.
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
            let set = scratch.set(layout, &[(2, 0, constant.into()), (5, 0, constant.into())]).unwrap();
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

/// Equal samplers are one descriptor, and give it back once.
pub fn equal_samplers_are_one<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let create =
        |info: &SamplerInfo| bench.gpu.create_sampler(&SamplerDesc::new(*info).name("sampler")).unwrap();
    let plain = SamplerInfo::default();
    let one = create(&plain);
    let same = [create(&plain), create(&SamplerInfo { mip_bias: -0.0, ..plain }), one.clone()];
    assert!(same.iter().all(|sampler| sampler.index() == one.index()));
    let others = [
        SamplerInfo { mag: Filter::Nearest, ..plain },
        SamplerInfo { mip_bias: 0.5, ..plain },
        SamplerInfo { max_lod: 1.0, ..plain },
    ];
    let others: Vec<_> = others.iter().map(create).collect();
    let mut indices: Vec<_> = others.iter().chain([&one]).map(|sampler| sampler.index()).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices.len(), 4, "different ones are different");
    let stats = bench.gpu.stats().descriptors;
    assert_eq!((stats.samplers, stats.samplers_shared), (4, 2));
    drop(one);
    assert_eq!(bench.gpu.stats().descriptors.samplers, 4, "the others keep it");
    drop((same, others));
    bench.finish();
    assert_eq!(bench.gpu.stats().descriptors.samplers, 0);
    drop(create(&plain));
    bench.end();
}

/// A missing feature of a device is refused by name, and other objects stay usable.
pub fn descriptors_that_are_not_there_are_refused<H: Harness>(harness: &H) {
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
