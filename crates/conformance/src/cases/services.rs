//! All per-frame services at the same time.

use std::thread;

use tenure_core::device::CommandList as _;
use tenure_core::{
    Bind, BindingKind, Buffer, BufferDesc, BufferViewDesc, Commands, Config, Error, InPlaceConfig, Queue,
    QueueKind, Readback, Scratch, SetBinding, SetDescriptor, SetLayout, SetLayoutDesc, StagingConfig, State,
    Subresource, UploadRingDesc, Usage, View,
};

use crate::bench::{Bench, LONG, assert_bytes};
use crate::permit;
use crate::shader_reads::dynamic;
use crate::{Harness, Look, Through};
use test_random::Rng;

const SIZE: u64 = 6000;

/// The objects that tables and sets of all frames use.
struct Descriptors<H: Harness> {
    lights: View<H::Device>,
    layout: Option<SetLayout<H::Device>>,
    outputs: Vec<Buffer<H::Device>>,
}

impl<H: Harness> Descriptors<H> {
    fn new(bench: &Bench<'_, H>) -> Self {
        let lights =
            bench.gpu.create_buffer(&BufferDesc::new(1024, Usage::SHADER_READ).alignment(256)).unwrap();
        let binding = |binding, kind| SetBinding { binding, kind, count: 1 };
        let set_bindings = [binding(0, BindingKind::Constants), binding(1, BindingKind::Buffer)];
        Self {
            lights: bench.gpu.create_buffer_view(&lights, &BufferViewDesc::raw()).unwrap(),
            layout: bench.has_sets().then(|| {
                bench.gpu.create_set_layout(&SetLayoutDesc::new(&set_bindings).name("frame")).unwrap()
            }),
            outputs: (0..4).map(|_| bench.output(2)).collect(),
        }
    }

    /// Creates a table and a set with constants, and reads the constants through both.
    fn record_reads(
        &self,
        bench: &Bench<'_, H>,
        (commands, scratch): (&mut Commands<H::Device>, &Scratch<'_, H::Device>),
        constants: Bind<'_, H::Device>,
        thread: usize,
    ) -> Result<Vec<Readback<H::Device>>, Error> {
        let output = &self.outputs[thread];
        let has_shaders = bench.properties().queues[commands.queue().index()].kind != QueueKind::Copy;
        if has_shaders {
            bench.open(commands, output);
        }
        let mut reads = Vec::new();
        if bench.has_heaps() {
            let table = scratch.descriptors(&[(&self.lights).into(), constants])?;
            reads.push(Through::Heap { heap: table.heap(), index: table.first() + 1 });
        }
        if let Some(layout) = &self.layout {
            let set = scratch
                .set(layout, &[SetDescriptor::new(0, constants), SetDescriptor::new(1, &self.lights)])?;
            let (layout, (block, set)) = (layout.raw(), dynamic(&set));
            reads.push(Through::Set { layout, block, set, binding: 0, element: 0 });
        }
        reads.retain(|_| has_shaders);
        for (through, index) in reads.iter().zip(0..) {
            bench.probe(commands, *through, Look::Constants, (output, index));
        }
        (0..reads.len() as u64).map(|index| bench.read_back_result(commands, output, index)).collect()
    }
}

/// In each frame, threads record constants, tables, sets, uploads, ring slices and readbacks for all queues. After
/// the first frames no API object is created, by the counts of tenure and of the driver.
pub fn frames_of_many_threads_create_nothing<H: Harness>(harness: &H) {
    // Small pages, so that the pages of each service are full within a few frames.
    let (constant_page, upload_page) = (4 << 10, 64 << 10);
    let pages = Config::from(
        StagingConfig::default()
            .constant_page(constant_page)
            .upload_page(upload_page)
            .readback_page(upload_page),
    );
    let descriptors = pages.descriptors.clone().chunk(16).set_pool(4);
    // Which of the threads' uploads find the GPU idle depends on time, and so does the staging memory of the others.
    let in_place = InPlaceConfig::default().uploads(false);
    let config = pages.descriptors(descriptors).in_place(in_place);
    let bench = Bench::with(harness, config);
    let gpu = &bench.gpu;
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("ring")).unwrap();
    let desc = BufferDesc::new(SIZE, Usage::VERTEX | Usage::COPY_SRC).name("mesh");
    let meshes: Vec<_> = (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let descriptors = Descriptors::new(&bench);
    let warm_up = 60;
    let mut warm = (0, None);
    for round in 0..warm_up + harness.effort().frames {
        let frame = gpu.begin_frame().unwrap();
        let work = |thread: usize| {
            let bytes = Rng::new(round * 4 + thread as u64).bytes(SIZE);
            let (first, rest) = bytes.split_at(2000);
            let (second, third) = rest.split_at(2000);
            let mesh = &meshes[thread];
            gpu.upload(mesh, 0, first)?;
            let queue = [Queue::Graphics, Queue::Compute, Queue::Copy, Queue::Graphics][thread];
            let mut recording = frame.record(queue, "thread")?;
            let (commands, scratch) = recording.split();
            let slice = ring.allocate(scratch, 2000, 16)?;
            slice.write(0, second)?;
            let constant = scratch.constant_bytes(third)?;
            let reads = descriptors.record_reads(&bench, (commands, &scratch), constant.into(), thread)?;
            commands.copy_slice(&slice, 0, mesh, 2000, 2000)?;
            commands.use_resource(mesh, Subresource::All, State::COPY_DST)?;
            commands.barriers();
            let (from, to) = (constant.offset(), mesh.offset() + 4000);
            commands.raw_mut(permit()).copy_buffer(constant.raw(), from, mesh.raw(), to, 2000);
            let readback = commands.read_back(mesh, 0, SIZE)?;
            Ok::<_, Error>((recording, readback, reads, bytes))
        };
        let recorded: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let mut readbacks = Vec::new();
        for (recording, readback, reads, bytes) in recorded {
            frame.submit(recording).unwrap();
            readbacks.push((readback, reads, bytes));
        }
        frame.end().unwrap();
        for (readback, reads, bytes) in readbacks {
            assert_bytes(&readback.wait(LONG).unwrap(), &bytes, "a thread's bytes");
            for look in reads {
                assert_bytes(&look.wait(LONG).unwrap(), &bytes[4000..4016], "a thread's constants");
            }
        }
        if round + 1 == warm_up {
            warm = (gpu.stats().objects_created(), harness.driver_objects());
        }
    }
    let created = (gpu.stats().objects_created(), harness.driver_objects());
    assert_eq!(created, warm, "API objects were created after the first frames");
    drop((meshes, ring, descriptors));
    bench.end();
}
