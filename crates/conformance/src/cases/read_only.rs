//! Resources that commands only read: shaders of every queue find their content, and no recording names them.

use tenure_core::{
    BindingKind, Buffer, BufferDesc, BufferViewDesc, CompactionBudget, CompactionConfig, Config,
    DescriptorSet, DescriptorSetDesc, DescriptorTable, DescriptorTableDesc, Format, Queue, Scratch,
    SetBinding, SetDescriptor, SetLayout, SetLayoutDesc, State, TexelData, Texture, TextureDesc,
    TextureViewDesc, Usage, View,
};

use crate::bench::Bench;
use crate::{Harness, Look, Through};

/// The shapes of access to a view that the device has.
enum Shown<H: Harness> {
    Table(DescriptorTable<H::Device>),
    Set(SetLayout<H::Device>, DescriptorSet<H::Device>),
}

impl<H: Harness> Shown<H> {
    /// The view in a table, in a set, or in both.
    fn all(bench: &Bench<'_, H>, view: &View<H::Device>, kind: BindingKind) -> Vec<Self> {
        let mut all = Vec::new();
        if bench.has_heaps() {
            let binds = [view.into()];
            all.push(Self::Table(
                bench.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds)).unwrap(),
            ));
        }
        if bench.has_sets() {
            let layout =
                bench.gpu.create_set_layout(&SetLayoutDesc::new(&[SetBinding::new(0, kind)])).unwrap();
            let binds = [SetDescriptor::new(0, view)];
            let set = bench.gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
            all.push(Self::Set(layout, set));
        }
        all
    }

    fn through<'r>(&'r self, scratch: &Scratch<'r, H::Device>) -> Through<'r, H::Device> {
        match self {
            Self::Table(table) => {
                let row = scratch.table(table).unwrap();
                Through::Heap { heap: row.heap(), index: row.first() }
            }
            Self::Set(layout, set) => {
                let set = scratch.lasting_set(set).unwrap();
                let (layout, block, set) = (layout.raw(), set.block(), set.index());
                Through::Set { layout, block, set, binding: 0, element: 0 }
            }
        }
    }
}

struct Scene<H: Harness> {
    texture: Texture<H::Device>,
    buffer: Buffer<H::Device>,
    /// And whether it is the texture.
    shown: Vec<(Shown<H>, bool)>,
}

fn texels(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(64 * 64)
}

impl<H: Harness> Scene<H> {
    fn new(bench: &Bench<'_, H>, number: u32) -> Self {
        let desc = TextureDesc::d2(64, 64, Format::R32Uint, Usage::SHADER_READ).name("read").movable();
        let texture = bench
            .gpu
            .create_texture_with(&desc.read_only(State::SHADER_READ), &[TexelData::new(&texels(number))]);
        let desc = BufferDesc::new(4096, Usage::SHADER_READ).name("read").movable();
        let bytes = number.to_le_bytes().repeat(1024);
        let buffer = bench.gpu.create_buffer_with(&desc.read_only(State::SHADER_READ), &bytes);
        Self::showing(bench, texture.unwrap(), buffer.unwrap())
    }

    fn showing(bench: &Bench<'_, H>, texture: Texture<H::Device>, buffer: Buffer<H::Device>) -> Self {
        let view = bench.gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
        let bytes = bench.gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        let textures = Shown::all(bench, &view, BindingKind::Texture);
        let buffers = Shown::all(bench, &bytes, BindingKind::Buffer);
        let textures = textures.into_iter().map(|shown| (shown, true));
        let buffers = buffers.into_iter().map(|shown| (shown, false));
        Self { texture, buffer, shown: textures.chain(buffers).collect() }
    }

    /// Shaders of a queue find the number.
    fn expect(&self, bench: &Bench<'_, H>, queue: Queue, number: u32) {
        let out = bench.output(self.shown.len());
        bench.submit(queue, |recording| {
            let (commands, scratch) = recording.split();
            bench.open(commands, &out);
            for ((shown, is_texture), index) in self.shown.iter().zip(0..) {
                let look = if *is_texture { Look::Texture } else { Look::Buffer };
                bench.probe(commands, shown.through(&scratch), look, (&out, index));
            }
        });
        for found in bench.results(&out) {
            assert_eq!(found, [number; 4], "{queue:?}");
        }
    }
}

/// Shaders read the uploaded bytes, also after later uploads and after moves.
pub fn shaders_read_without_names<H: Harness>(harness: &H) {
    let compaction = CompactionConfig::default().is_automatic(false);
    let bench = Bench::with(harness, Config::from(compaction));
    let mut scenes: Vec<_> = (0..96).map(|number| (Scene::new(&bench, number), number)).collect();
    for (scene, number) in scenes.iter().take(8) {
        let queue = [Queue::Compute, Queue::Graphics][*number as usize % 2];
        scene.expect(&bench, queue, *number);
    }
    scenes.retain(|(_, number)| number % 8 == 3);
    bench.finish();
    for (scene, number) in &mut scenes {
        *number += 1000;
        let region = scene.texture.info().region(0, 0);
        bench.gpu.upload_texture(&scene.texture, region, TexelData::new(&texels(*number))).unwrap();
        bench.gpu.upload(&scene.buffer, 0, &number.to_le_bytes().repeat(1024)).unwrap();
        scene.expect(&bench, Queue::Compute, *number);
        scene.expect(&bench, Queue::Graphics, *number);
    }
    let budget = CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 };
    for _ in 0..50 {
        let frame = bench.gpu.begin_frame().unwrap();
        bench.gpu.compact(budget).unwrap();
        frame.end().unwrap();
        bench.harness.settle();
    }
    assert!(scenes.iter().any(|(scene, _)| scene.texture.moves() > 0), "nothing has moved");
    for (scene, number) in &scenes {
        scene.expect(&bench, Queue::Compute, *number);
        scene.expect(&bench, Queue::Graphics, *number);
    }
    drop(scenes);
    bench.end();
}

/// Shaders find what commands have written before the resource became read-only.
pub fn written_resources_become_read_only<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let usage = Usage::SHADER_READ | Usage::COPY_DST | Usage::ALL_QUEUES;
    let desc = TextureDesc::d2(64, 64, Format::R32Uint, usage).name("written");
    let texture = bench.gpu.create_texture(&desc).unwrap();
    let desc = BufferDesc::new(4096, Usage::SHADER_READ).own_resource().name("written");
    let buffer = bench.gpu.create_buffer(&desc).unwrap();
    let (staging, layout) = bench.staged_rows(texture.info(), texture.info().mip_extent(0), &texels(77));
    let bytes = bench.staging(&77_u32.to_le_bytes().repeat(1024));
    bench.submit(Queue::Graphics, |recording| {
        let region = texture.info().region(0, 0);
        recording.copy_buffer_to_texture(&staging, layout, &texture, region).unwrap();
        recording.copy_buffer(&bytes, 0, &buffer, 0, 4096).unwrap();
    });
    bench.gpu.make_read_only(&texture, State::SHADER_READ).unwrap();
    bench.gpu.make_read_only(&buffer, State::SHADER_READ).unwrap();
    let scene = Scene::showing(&bench, texture, buffer);
    scene.expect(&bench, Queue::Compute, 77);
    scene.expect(&bench, Queue::Graphics, 77);
    let mut recording = bench.gpu.record(Queue::Graphics, "writes").unwrap();
    assert!(recording.copy_buffer(&bytes, 0, &scene.buffer, 0, 4096).is_err());
    drop((recording, scene, staging, bytes));
    bench.end();
}
