//! The parts of a round; each uses one service of the manager.

use std::collections::HashMap;

use tenure_core::Recording;
use tenure_core::device::{Features, QueryKind, QueueKind, prelude::*};
use tenure_core::transient::Resources;
use tenure_core::transient::graph::PassId;
use tenure_core::{
    AccelerationStructureDesc, Bind, BindingKind, Buffer, BufferDesc, BufferViewDesc, CompactionBudget,
    DescriptorSetDesc, DescriptorTableDesc, Error, Format, Gpu, Graph, LocationKind, MemoryUse,
    PageAllocator, PageAllocatorDesc, Plane, Queue, SamplerDesc, SamplerInfo, SetBinding, SetDescriptor,
    SetLayout, SetLayoutDesc, State, Subresource, TexelData, Texture, TextureDesc, TextureRegion,
    TextureViewDesc, UploadRing, UploadRingDesc, Usage, View,
};
use tenure_sim::Device;

use super::Round;

/// A road.
pub(super) struct Road {
    pub(super) name: &'static str,
    /// It drops objects that commands may use, so their release waits for every open recording.
    pub(super) waits_for_recordings: bool,
    pub(super) needs_frame: bool,
    pub(super) run: fn(&mut Round<'_>) -> Result<(), Error>,
}

const fn road(name: &'static str, run: fn(&mut Round<'_>) -> Result<(), Error>) -> Road {
    Road { name, waits_for_recordings: false, needs_frame: false, run }
}

const fn drops(name: &'static str, run: fn(&mut Round<'_>) -> Result<(), Error>) -> Road {
    Road { name, waits_for_recordings: true, ..road(name, run) }
}

/// All of them.
pub(super) const ROADS: &[Road] = &[
    drops("buffers", buffers),
    drops("buffers with data", buffers_with_data),
    drops("evictable buffers", evictable),
    drops("movable buffers", movable),
    drops("textures", textures),
    drops("multisampled textures", multisampled),
    drops("pages", pages),
    road("uploads", uploads),
    road("uploads of texels", texels),
    road("constants", constants),
    road("readbacks", readbacks),
    road("recorded readbacks", recorded_readbacks),
    drops("ring", ring),
    Road { needs_frame: true, ..road("graph", graph) },
    Road { needs_frame: true, ..road("graph of buffers", graph_of_buffers) },
    road("pass by pass", pass_by_pass),
    road("transient buffers", transient_buffers),
    drops("views", views),
    drops("tables", tables),
    drops("sets", sets),
    road("descriptors of a recording", dynamic_descriptors),
    road("sets of a recording", recorded_sets),
    drops("samplers", samplers),
    drops("set layouts", layouts),
    road("queries", queries),
    road("external submissions", external),
    drops("acceleration structures", structures),
];

const ALL: [Queue; 3] = [Queue::Graphics, Queue::Compute, Queue::Copy];
const SHADERS: [Queue; 2] = [Queue::Graphics, Queue::Compute];

/// Objects that live as long as the program.
pub(super) struct Lasting {
    target: Buffer<Device>,
    texture: Texture<Device>,
    view: View<Device>,
    ring: UploadRing<Device>,
    pages: PageAllocator<Device>,
    layout: Option<SetLayout<Device>>,
}

impl Lasting {
    pub(super) fn new(gpu: &Gpu<Device>) -> Result<Self, Error> {
        let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
        let target =
            gpu.create_buffer_with(&BufferDesc::new(300_000, usage).name("target"), &[0; 300_000])?;
        let view = gpu.create_buffer_view(&target, &BufferViewDesc::raw().range(0, 256))?;
        let desc = TextureDesc::d2(100, 60, Format::Rgba8Unorm, usage).name("texture");
        let bindings = [SetBinding::new(0, BindingKind::Buffer)];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("lasting"));
        Ok(Self {
            target,
            texture: gpu.create_texture(&desc)?,
            view,
            ring: gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("ring"))?,
            pages: gpu.create_pages(&PageAllocatorDesc::new(300_000).name("level")),
            // Not every device has sets.
            layout: layout.ok(),
        })
    }
}

/// A buffer size in bytes, often just above or below a rounding boundary.
fn size(round: &mut Round<'_>) -> u64 {
    let near = [4 << 10, 64 << 10, 128 << 10, 256 << 10][round.rng.below(4) as usize];
    let odd = [0, 1, 12, 300][round.rng.below(4) as usize];
    match round.rng.below(3) {
        0 => near - odd,
        1 => near + odd,
        _ => round.rng.size(19),
    }
}

/// Creates a buffer, uses it, and keeps it for some rounds.
fn buffer(round: &mut Round<'_>, desc: BufferDesc, data: Option<&[u8]>) -> Result<(), Error> {
    let buffer = match data {
        None => round.gpu.create_buffer(&desc)?,
        Some(data) => round.gpu.create_buffer_with(&desc, data)?,
    };
    note(round, buffer.location(), desc.size);
    let mut recording = round.record(Queue::Graphics)?;
    if desc.memory == MemoryUse::GpuOnly {
        recording.use_resource(&buffer, Subresource::All, State::COPY_SRC)?;
    }
    let (_, scratch) = recording.split();
    let _named = scratch.buffer(&buffer)?;
    round.submit(recording)?;
    round.keep(buffer);
    Ok(())
}

fn note(round: &mut Round<'_>, location: LocationKind, bytes: u64) {
    round.counts.named += 1;
    round.counts.alone += u64::from(location == LocationKind::Committed);
    round.counts.bytes += bytes;
}

/// Data staged through pages may get a page of its own.
fn stage(round: &mut Round<'_>) {
    round.counts.named += 1;
    round.counts.alone += 1;
}

fn buffers(round: &mut Round<'_>) -> Result<(), Error> {
    for number in 0..1 + round.rng.below(4) {
        let memory = [MemoryUse::GpuOnly, MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::Readback];
        let memory = memory[round.rng.below(4) as usize];
        let usage = if memory == MemoryUse::Readback {
            Usage::COPY_DST
        } else {
            [Usage::VERTEX, Usage::SHADER_READ, Usage::INDIRECT][number as usize % 3] | Usage::COPY_SRC
        };
        let desc = BufferDesc::new(size(round), usage).usage(usage).memory(memory);
        let desc = if round.rng.below(4) == 0 { desc.own_resource() } else { desc };
        let desc = desc.alignment(1 << round.rng.below(17));
        buffer(round, desc, None)?;
    }
    Ok(())
}

fn buffers_with_data(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(3) {
        let size = size(round);
        let desc = BufferDesc::new(size, Usage::SHADER_READ | Usage::COPY_SRC);
        buffer(round, desc, Some(&vec![1; size as usize]))?;
        round.counts.bytes += size;
        stage(round);
    }
    Ok(())
}

fn evictable(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(3) {
        let desc = BufferDesc::new(size(round), Usage::SHADER_READ | Usage::COPY_SRC).evictable();
        buffer(round, desc, None)?;
    }
    Ok(())
}

fn movable(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(3) {
        let desc = BufferDesc::new(size(round), Usage::SHADER_READ | Usage::COPY_SRC).movable();
        buffer(round, desc, None)?;
    }
    round.gpu.compact(CompactionBudget { bytes: 1 << 20, moves: 10, pieces: 1000 })?;
    let _moved = round.gpu.take_moved();
    // Each may move once more.
    round.counts.named += 10;
    round.counts.blocks += 1;
    Ok(())
}

fn texture(round: &mut Round<'_>, desc: &TextureDesc, state: State) -> Result<(), Error> {
    let texture = round.gpu.create_texture(desc)?;
    let bytes = round.gpu.texture_cost(desc)?.size;
    note(round, texture.location(), bytes);
    let mut recording = round.record(Queue::Graphics)?;
    recording.use_resource(&texture, Subresource::All, state)?;
    round.submit(recording)?;
    round.keep(texture);
    Ok(())
}

fn textures(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(3) {
        let [width, height] = [0; 2].map(|_: u32| 1 + round.rng.below(300) as u32);
        let desc =
            TextureDesc::d2(width, height, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::RENDER_TARGET);
        texture(round, &desc, State::RENDER_TARGET)?;
    }
    Ok(())
}

/// Samples of a target, where the device has such.
fn samples(round: &Round<'_>) -> u32 {
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
    if round.gpu.texture_cost(&desc).is_ok() { 4 } else { 1 }
}

fn multisampled(round: &mut Round<'_>) -> Result<(), Error> {
    let samples = samples(round);
    let [width, height] = [0; 2].map(|_: u32| 100 + round.rng.below(500) as u32);
    let desc = TextureDesc::d2(width, height, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(samples);
    texture(round, &desc, State::RENDER_TARGET)
}

fn pages(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(4) {
        let desc = BufferDesc::new(size(round), Usage::SHADER_READ | Usage::COPY_SRC);
        let made = round.lasting.pages.create_buffer(&desc)?;
        note(round, made.location(), desc.size);
        // A page is free when all of it is.
        round.counts.bytes += 300_000;
        round.keep(made);
    }
    Ok(())
}

fn uploads(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(4) {
        let size = size(round).min(300_000);
        let upload = round.gpu.upload(&round.lasting.target, 0, &vec![2; size as usize])?;
        stage(round);
        round.counts.bytes += size;
        round.keep(upload);
    }
    let mut recording = round.record(Queue::Graphics)?;
    recording.use_resource(&round.lasting.target, Subresource::All, State::COPY_SRC)?;
    round.submit(recording)
}

fn texels(round: &mut Round<'_>) -> Result<(), Error> {
    let rows = 1 + round.rng.below(60) as u32;
    let region =
        TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [100, rows, 1] };
    let texels = vec![3; 400 * rows as usize];
    let upload = round.gpu.upload_texture(&round.lasting.texture, region, TexelData::new(&texels))?;
    round.counts.bytes += 2 * texels.len() as u64;
    stage(round);
    round.keep(upload);
    let mut recording = round.record(Queue::Graphics)?;
    recording.use_resource(&round.lasting.texture, Subresource::All, State::PIXEL_SHADER)?;
    round.submit(recording)
}

fn constants(round: &mut Round<'_>) -> Result<(), Error> {
    let queue = round.queue(&ALL);
    let mut recording = round.record(queue)?;
    for _ in 0..1 + round.rng.below(20) {
        let bytes = vec![4; round.rng.size(13) as usize];
        let _ = recording.split().1.constant_bytes(&bytes)?;
        round.counts.bytes += bytes.len() as u64 + 256;
    }
    round.submit(recording)
}

fn readbacks(round: &mut Round<'_>) -> Result<(), Error> {
    let size = size(round).min(300_000);
    stage(round);
    let readback = round.gpu.read_back(&round.lasting.target, 0, size)?;
    round.counts.bytes += size;
    round.keep(readback);
    Ok(())
}

fn recorded_readbacks(round: &mut Round<'_>) -> Result<(), Error> {
    let mut recording = round.record(Queue::Graphics)?;
    let size = size(round).min(300_000);
    stage(round);
    let readback = recording.read_back(&round.lasting.target, 0, size)?;
    round.counts.bytes += size;
    round.submit(recording)?;
    round.keep(readback);
    Ok(())
}

fn ring(round: &mut Round<'_>) -> Result<(), Error> {
    let queue = round.queue(&ALL);
    let mut recording = round.record(queue)?;
    let slice = round.lasting.ring.allocate(recording.split().1, 1 + round.rng.below(30_000), 16)?;
    slice.write(0, &[5])?;
    round.submit(recording)?;
    if round.frame.is_none() {
        round.lasting.ring.close();
    }
    Ok(())
}

/// A graph of targets, the first of them multisampled where the device has such.
fn graph(round: &mut Round<'_>) -> Result<(), Error> {
    let samples = samples(round);
    let [width, height] = [0; 2].map(|_: u32| 100 + round.rng.below(400) as u32);
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let mut graph = Graph::new();
    let count = 1 + round.rng.below(4) as usize;
    let (mut last, mut drawn) = (None, HashMap::new());
    for index in 0..=count {
        let samples = if index == 0 { samples } else { 1 };
        let usage = if samples > 1 { Usage::RENDER_TARGET } else { usage };
        let desc = TextureDesc::d2(width, height, Format::Rgba8Unorm, usage).samples(samples);
        round.counts.bytes += round.gpu.texture_cost(&desc)?.size;
        let target = graph.texture(desc.name(format!("target {index}")));
        let mut pass = graph.pass(Queue::Graphics, format!("pass {index}"));
        if let Some(last) = last.filter(|_| index > 1) {
            pass = pass.uses(last, State::PIXEL_SHADER);
        }
        drawn.insert(pass.uses(target, State::RENDER_TARGET).id(), target);
        last = Some(target);
    }
    execute(round, &graph, |id, recording, resources| {
        let target = resources.texture(drawn[&id])?;
        recording.raw().clear_texture(target.raw(), Subresource::All, &[1]);
        Ok(())
    })
}

fn graph_of_buffers(round: &mut Round<'_>) -> Result<(), Error> {
    let mut graph = Graph::new();
    let usage = Usage::COPY_SRC | Usage::SHADER_READ;
    let buffers: Vec<_> = (0..2 + round.rng.below(5))
        .map(|index| {
            let size = size(round);
            round.counts.bytes += size;
            graph.buffer(BufferDesc::new(size, usage).name(format!("buffer {index}")))
        })
        .collect();
    let mut uses = HashMap::new();
    for (index, pair) in buffers.windows(2).enumerate() {
        let queue = round.queue(&ALL);
        let mut pass = graph.pass(queue, format!("pass {index}"));
        if index > 0 {
            pass = pass.uses(pair[0], State::COPY_SRC);
        }
        uses.insert(pass.uses(pair[1], State::COPY_DST).id(), (pair[0], pair[1], index > 0));
    }
    execute(round, &graph, |id, recording, resources| {
        let (from, to, reads) = uses[&id];
        if reads {
            let from = resources.buffer(from)?;
            recording.raw().use_buffer(from.raw(), from.offset(), from.size(), State::COPY_SRC);
        }
        let to = resources.buffer(to)?;
        recording.raw().fill_buffer(to.raw(), to.offset(), to.size(), 1);
        Ok(())
    })
}

/// Executes a graph in the frame.
fn execute(
    round: &Round<'_>,
    graph: &Graph,
    pass: impl FnMut(PassId, &mut Recording<Device>, &Resources<'_, Device>) -> Result<(), Error>,
) -> Result<(), Error> {
    round.frame.map_or(Ok(()), |frame| frame.execute(graph, pass).map(drop))
}

fn pass_by_pass(round: &mut Round<'_>) -> Result<(), Error> {
    let mut recording = round.record(Queue::Graphics)?;
    let samples = samples(round);
    for index in 0..1 + round.rng.below(4) {
        let [width, height] = [0; 2].map(|_: u32| 50 + round.rng.below(300) as u32);
        let samples = if index == 0 { samples } else { 1 };
        let desc = TextureDesc::d2(width, height, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(samples);
        round.counts.bytes += round.gpu.texture_cost(&desc)?.size;
        let target = recording.transient_texture(&desc)?;
        recording.use_resource(&target, Subresource::All, State::RENDER_TARGET)?;
        recording.raw().clear_texture(target.raw(), Subresource::All, &[1]);
    }
    round.submit(recording)
}

fn transient_buffers(round: &mut Round<'_>) -> Result<(), Error> {
    let queue = round.queue(&SHADERS);
    let mut recording = round.record(queue)?;
    for _ in 0..1 + round.rng.below(4) {
        let desc = BufferDesc::new(size(round), Usage::SHADER_READ | Usage::UNORDERED_ACCESS);
        round.counts.bytes += desc.size;
        let buffer = recording.transient_buffer(&desc)?;
        recording.use_resource(&buffer, Subresource::All, State::UNORDERED_ACCESS)?;
        recording.raw().use_buffer(buffer.raw(), buffer.offset(), buffer.size(), State::UNORDERED_ACCESS);
    }
    round.submit(recording)
}

fn views(round: &mut Round<'_>) -> Result<(), Error> {
    for _ in 0..1 + round.rng.below(40) {
        let view =
            round.gpu.create_buffer_view(&round.lasting.target, &BufferViewDesc::raw().range(256, 256))?;
        round.keep(view);
        let view = round.gpu.create_texture_view(&round.lasting.texture, &TextureViewDesc::sampled())?;
        round.keep(view);
    }
    Ok(())
}

fn tables(round: &mut Round<'_>) -> Result<(), Error> {
    if !round.gpu.device().properties().sets_descriptor_heaps() {
        return Ok(());
    }
    let count = 1 + round.rng.below(20) as usize;
    let binds: Vec<Bind<'_, Device>> = vec![(&round.lasting.view).into(); count];
    let table = round.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table"))?;
    let mut recording = round.record(Queue::Graphics)?;
    let _row = recording.split().1.table(&table)?;
    round.submit(recording)?;
    round.keep(table);
    Ok(())
}

fn sets(round: &mut Round<'_>) -> Result<(), Error> {
    let Some(layout) = &round.lasting.layout else { return Ok(()) };
    for _ in 0..1 + round.rng.below(5) {
        let binds = [SetDescriptor::new(0, &round.lasting.view)];
        let set = round.gpu.create_descriptor_set(&DescriptorSetDesc::new(layout, &binds).name("set"))?;
        round.keep(set);
    }
    Ok(())
}

fn dynamic_descriptors(round: &mut Round<'_>) -> Result<(), Error> {
    if !round.gpu.device().properties().sets_descriptor_heaps() {
        return Ok(());
    }
    let mut recording = round.record(Queue::Graphics)?;
    let count = 1 + round.rng.below(20) as usize;
    let binds: Vec<Bind<'_, Device>> = vec![(&round.lasting.view).into(); count];
    let _row = recording.split().1.descriptors(&binds)?;
    round.submit(recording)
}

fn recorded_sets(round: &mut Round<'_>) -> Result<(), Error> {
    let Some(layout) = &round.lasting.layout else { return Ok(()) };
    let mut recording = round.record(Queue::Graphics)?;
    for _ in 0..1 + round.rng.below(5) {
        let binds = [SetDescriptor::new(0, &round.lasting.view)];
        let _set = recording.split().1.set(layout, &binds)?;
    }
    round.submit(recording)
}

fn samplers(round: &mut Round<'_>) -> Result<(), Error> {
    for number in 0..1 + round.rng.below(4) {
        let info = SamplerInfo::default().max_lod(number as f32);
        let sampler = round.gpu.create_sampler(&SamplerDesc::new(info).name("sampler"))?;
        round.keep(sampler);
    }
    Ok(())
}

fn layouts(round: &mut Round<'_>) -> Result<(), Error> {
    if round.lasting.layout.is_none() {
        return Ok(());
    }
    let bindings = [SetBinding::new(0, BindingKind::Buffer), SetBinding::new(3, BindingKind::Buffer)];
    let layout = round.gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("of a round"))?;
    round.counts.layouts += 1;
    round.keep(layout);
    Ok(())
}

fn queries(round: &mut Round<'_>) -> Result<(), Error> {
    let properties = round.gpu.device().properties();
    if !properties.has_queries(QueryKind::Timestamp, properties.queue(QueueKind::Graphics)) {
        return Ok(());
    }
    let mut recording = round.record(Queue::Graphics)?;
    for _ in 0..1 + round.rng.below(10) {
        let ticket = recording.write_timestamp()?;
        round.keep(ticket);
    }
    round.submit(recording)
}

fn external(round: &mut Round<'_>) -> Result<(), Error> {
    let queue = round.queue(&ALL);
    let submitted = round.gpu.submitted();
    round.gpu.submit_external(queue, &submitted, |_| Ok::<_, Error>(()))?;
    Ok(())
}

fn structures(round: &mut Round<'_>) -> Result<(), Error> {
    if !round.gpu.device().properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        return Ok(());
    }
    let size = 256 + round.rng.below(100_000);
    let structure =
        round.gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(size).name("rock"))?;
    note(round, structure.location(), size);
    let queue = round.queue(&SHADERS);
    let mut recording = round.record(queue)?;
    recording.use_structures([&structure])?;
    let _scratch = recording.split().1.build_scratch(1 + round.rng.below(50_000))?;
    round.counts.bytes += 50_000;
    round.submit(recording)?;
    round.keep(structure);
    Ok(())
}
