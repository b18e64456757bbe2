//! Frames that use everything, in which any one call of the driver is refused: the request returns an error and
//! leaves nothing behind, and later frames are unaffected.

use std::collections::BTreeMap;

use tenure_core::device::{Features, prelude::*};
use tenure_core::transient::graph::Graph;
use tenure_core::{
    AccelerationStructureDesc, BindingKind, Buffer, BufferDesc, BufferViewDesc, CompactedSize, Error, Format,
    Gpu, MemoryUse, Plane, Queue, Recording, SetBinding, SetDescriptor, SetLayoutDesc, State, Subresource,
    TexelData, Texture, TextureDesc, TextureRegion, UploadRing, UploadRingDesc, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{SECOND, device, gpu};

const SIZE: u64 = 4096;

/// Resources that persist from frame to frame.
struct Scene {
    mesh: Buffer<Device>,
    shadows: Texture<Device>,
    albedo: Texture<Device>,
    ring: UploadRing<Device>,
}

impl Scene {
    fn new(gpu: &Gpu<Device>) -> Result<Self, Error> {
        let usage = Usage::SHADER_READ | Usage::COPY_SRC;
        let mesh = BufferDesc::new(SIZE, usage).name("mesh");
        let shadows = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ)
            .name("shadows");
        let albedo = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ).filled().name("albedo");
        Ok(Self {
            mesh: gpu.create_buffer_with(&mesh, &[1; SIZE as usize])?,
            shadows: gpu.create_texture(&shadows)?,
            albedo: gpu.create_texture(&albedo)?,
            ring: gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring"))?,
        })
    }

    fn update(&self, gpu: &Gpu<Device>, number: u64) -> Result<(), Error> {
        gpu.upload(&self.mesh, 0, &[number as u8; 512])?;
        let texels = [number as u8; 16 * 16 * 4];
        let whole =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [16, 16, 1] };
        gpu.upload_texture(&self.albedo, whole, TexelData::new(&texels))?;
        Ok(())
    }

    fn draw(&self, gpu: &Gpu<Device>, recording: &mut Recording<Device>) -> Result<(), Error> {
        let written = (&self.shadows, Subresource::All, State::RENDER_TARGET);
        recording.use_resource(written.0, written.1, written.2)?;
        recording.raw().use_texture(self.shadows.raw(), written.1, written.2);
        for texture in [&self.shadows, &self.albedo] {
            recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER)?;
        }
        recording.use_resource(&self.mesh, Subresource::All, State::PIXEL_SHADER)?;
        let list = recording.raw();
        list.use_texture(self.shadows.raw(), Subresource::All, State::PIXEL_SHADER);
        list.use_texture(self.albedo.raw(), Subresource::All, State::PIXEL_SHADER);
        list.use_buffer(self.mesh.raw(), self.mesh.offset(), SIZE, State::PIXEL_SHADER);
        let target = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
        let bloom = recording.transient_texture(&target.name("bloom"))?;
        recording.use_resource(&*bloom, Subresource::All, State::RENDER_TARGET)?;
        recording.raw().use_texture(bloom.raw(), Subresource::All, State::RENDER_TARGET);
        self.bind(gpu, recording)?;
        let (commands, scratch) = recording.split();
        scratch.constants(&[1.0_f32; 16])?;
        let slice = self.ring.allocate(scratch, 256, 256)?;
        slice.write(0, &[3; 256])?;
        commands.copy_slice(&slice, 0, &self.mesh, 1024, 256)
    }

    fn bind(&self, gpu: &Gpu<Device>, recording: &mut Recording<Device>) -> Result<(), Error> {
        let limits = &gpu.device().properties().descriptors;
        let view = gpu.create_buffer_view(&self.mesh, &BufferViewDesc::raw())?;
        if limits.sets {
            let binding = SetBinding::new(0, BindingKind::Buffer);
            let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("layout"))?;
            recording.split().1.set(&layout, &[SetDescriptor::new(0, &view)])?;
        }
        if limits.visible_resources > 0 {
            recording.set_descriptor_heaps()?;
            recording.split().1.descriptors(&[(&view).into()])?;
        }
        Ok(())
    }
}

/// Builds an acceleration structure, asks for its size, and copies it.
fn build(gpu: &Gpu<Device>, recording: &mut Recording<Device>) -> Result<(), Error> {
    if !gpu.device().properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        return Ok(());
    }
    let rock = gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(4096).name("rock"))?;
    recording.use_structures([&rock])?;
    let (commands, scratch) = recording.split();
    let room = scratch.build_scratch(1024)?;
    let room = (room.raw(), room.offset(), room.size());
    commands.raw().build_acceleration_structure(rock.raw(), room, 2048, &[]);
    let _size = recording.query_compacted_size(&rock)?;
    recording.reuse_build_scratch();
    recording.compact(&rock, CompactedSize(2048)).map(drop)
}

fn frame(gpu: &Gpu<Device>, scene: &Scene, graph: &Graph, number: u64) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    scene.update(gpu, number)?;
    let mut recording = frame.record(Queue::Graphics, "draw")?;
    scene.draw(gpu, &mut recording)?;
    let result = BufferDesc::new(SIZE, Usage::COPY_DST).memory(MemoryUse::Readback).name("result");
    let result = gpu.create_buffer(&result)?;
    recording.copy_buffer(&scene.mesh, 0, &result, 0, SIZE)?;
    let ticket = recording.read_back(&scene.mesh, 0, 64)?;
    build(gpu, &mut recording)?;
    // The query heap of this kind is created now.
    if number == 2 {
        let query = recording.begin_occlusion()?;
        let _counted = recording.end_query(query)?;
        // Committed, and in a new block that is mapped.
        for memory in [MemoryUse::GpuOnly, MemoryUse::Upload] {
            let large = BufferDesc::new(40 << 20, Usage::SHADER_READ).memory(memory).name("large");
            let _ = gpu.create_buffer(&large)?;
        }
    }
    frame.submit(recording)?;
    let mut recording = frame.record(Queue::Compute, "cull")?;
    recording.use_resource(&scene.mesh, Subresource::All, State::NON_PIXEL_SHADER)?;
    recording.raw().use_buffer(scene.mesh.raw(), scene.mesh.offset(), SIZE, State::NON_PIXEL_SHADER);
    frame.submit(recording)?;
    frame.execute(graph, |_, _, _| Ok::<_, Error>(()))?;
    frame.end()?;
    if number.is_multiple_of(3) {
        ticket.wait(SECOND)?;
    }
    gpu.trim();
    Ok(())
}

fn graph() -> Graph {
    let mut graph = Graph::new();
    let target = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let (first, second) = (graph.texture(target.clone().name("first")), graph.texture(target.name("second")));
    graph.pass(Queue::Graphics, "one").uses(first, State::RENDER_TARGET);
    graph.pass(Queue::Graphics, "two").uses(first, State::PIXEL_SHADER).uses(second, State::RENDER_TARGET);
    graph
}

/// Runs frames in which the *n*-th call of a kind is refused; true if there were *n* calls.
fn run(profile: Profile, refused: Option<(CallKind, u64)>) -> bool {
    let device = device(profile, Lag::Submissions(2));
    let gpu = gpu(&device);
    let (scene, graph) = (Scene::new(&gpu).unwrap(), graph());
    frame(&gpu, &scene, &graph, 0).unwrap();
    let what = format!("{profile:?}, {refused:?}");
    if let Some((call, nth)) = refused {
        device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory).of(call));
    }
    // The manager recovers from some refusals.
    let outcomes: Vec<_> = (1..4).map(|number| frame(&gpu, &scene, &graph, number)).collect();
    let has_struck = refused.is_some_and(|(call, _)| device.calls().failed(call) > 0);
    assert!(has_struck || outcomes.iter().all(Result::is_ok), "{what}: {outcomes:?}");
    device.faults().clear();
    for number in 4..7 {
        frame(&gpu, &scene, &graph, number).unwrap_or_else(|error| panic!("{what}: later: {error}"));
    }
    drop(scene);
    assert!(gpu.wait(&gpu.submitted(), SECOND).unwrap(), "{what}");
    gpu.reclaim().unwrap();
    let stats = gpu.stats();
    assert_eq!((stats.live_objects, stats.open_recordings), (0, 0), "{what}");
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.is_clean(), "{what}: {report:?}");
    device.check_clean().unwrap_or_else(|findings| panic!("{what}: {findings}"));
    has_struck
}

#[test]
fn frames_after_any_refused_call_are_complete() {
    let mut struck = BTreeMap::new();
    for profile in Profile::ALL {
        run(*profile, None);
        for call in CallKind::ALL.iter().copied().filter(|call| call.can_fail()) {
            let nth = (1..=100).take_while(|nth| run(*profile, Some((call, *nth)))).count();
            *struck.entry(call).or_insert(0) += nth;
        }
    }
    let tried: Vec<_> = struck.iter().map(|(call, count)| (call.name(), *count)).collect();
    let is_tried = |call: &CallKind| struck[call] >= Profile::ALL.len();
    let not_used = [
        CallKind::CreateReserved,
        CallKind::UpdateTiles,
        CallKind::MakeResident,
        CallKind::Evict,
        CallKind::SetPriority,
    ];
    let only_somewhere = [
        CallKind::CreateList,
        CallKind::CreateSetLayout,
        CallKind::CreateSetPool,
        CallKind::WriteSet,
        CallKind::CreateAccelerationStructure,
        CallKind::WriteTexture,
    ];
    let everywhere = |call: &&CallKind| !not_used.contains(call) && !only_somewhere.contains(call);
    assert!(struck.keys().filter(everywhere).all(is_tried), "{tried:?}");
    assert!(only_somewhere.iter().all(|call| struck[call] > 0), "{tried:?}");
}
