//! Frames that use every service, in which one call of the driver is refused.
//!
//! The request then returns an error and leaves nothing behind, and later frames are unaffected. A device whose
//! tests can make a call fail runs this for each call in turn.

use tenure_core::device::Device;
use tenure_core::transient::graph::Graph;
use tenure_core::{
    BindingKind, Buffer, BufferDesc, BufferViewDesc, DescriptorSetDesc, DescriptorTableDesc, Error, Format,
    Gpu, MemoryUse, Queue, Recording, SetBinding, SetDescriptor, SetLayoutDesc, State, Subresource,
    TexelData, Texture, TextureDesc, TextureViewDesc, UploadRing, UploadRingDesc, Usage,
};

use crate::bench::LONG;

/// Bytes of the buffer.
const SIZE: u64 = 4096;
/// Bytes of it that each frame uploads.
const UPLOADED: u64 = 512;
/// Bytes of a buffer with memory of its own.
const LARGE: u64 = 17 << 20;
/// Texels of a side of the texture.
const SIDE: u32 = 16;
/// The frame in which a call is refused, and how many there are.
const REFUSED: u64 = 2;
const FRAMES: u64 = 5;

/// Resources that persist from frame to frame.
struct Scene<D: Device> {
    mesh: Buffer<D>,
    albedo: Texture<D>,
    ring: UploadRing<D>,
}

impl<D: Device> Scene<D> {
    fn new(gpu: &Gpu<D>) -> Result<Self, Error> {
        let usage = Usage::SHADER_READ | Usage::COPY_SRC;
        let albedo = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage).name("albedo");
        Ok(Self {
            mesh: gpu.create_buffer_with(&BufferDesc::new(SIZE, usage).name("mesh"), &[1; SIZE as usize])?,
            albedo: gpu.create_texture(&albedo)?,
            ring: gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring"))?,
        })
    }

    fn update(&self, gpu: &Gpu<D>, number: u64) -> Result<(), Error> {
        gpu.upload(&self.mesh, 0, &[number as u8; UPLOADED as usize])?;
        let texels = [number as u8; (SIDE * SIDE * 4) as usize];
        gpu.upload_texture(&self.albedo, self.albedo.info().region(0, 0), TexelData::new(&texels))?;
        Ok(())
    }

    fn draw(&self, gpu: &Gpu<D>, recording: &mut Recording<D>) -> Result<(), Error> {
        recording.use_resource(&self.albedo, Subresource::All, State::NON_PIXEL_SHADER)?;
        recording.barriers();
        let target = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
        drop(recording.transient_texture(&target.name("bloom"))?);
        let level = BufferDesc::new(LARGE, Usage::SHADER_READ).name("level");
        drop((gpu.create_buffer(&level)?, gpu.create_buffer(&level)?, gpu.create_buffer(&level)?));
        self.bind(gpu, recording)?;
        let (commands, scratch) = recording.split();
        scratch.constant_bytes(&[1; 64])?;
        let slice = self.ring.allocate(scratch, 256, 256)?;
        slice.write(0, &[3; 256])?;
        commands.copy_slice(&slice, 0, &self.mesh, 1024, 256)
    }

    /// Views, tables and sets, both lasting and of the recording.
    fn bind(&self, gpu: &Gpu<D>, recording: &mut Recording<D>) -> Result<(), Error> {
        let limits = &gpu.device().properties().descriptors;
        let view = gpu.create_buffer_view(&self.mesh, &BufferViewDesc::raw())?;
        let texture = gpu.create_texture_view(&self.albedo, &TextureViewDesc::sampled())?;
        if limits.sets {
            let binding = SetBinding::new(0, BindingKind::Buffer);
            let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("layout"))?;
            recording.split().1.set(&layout, &[SetDescriptor::new(0, &view)])?;
            drop(
                gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &view)]))?,
            );
        }
        if limits.visible_resources > 0 {
            recording.set_descriptor_heaps()?;
            recording.split().1.descriptors(&[(&view).into(), (&texture).into()])?;
            drop(gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]))?);
        }
        Ok(())
    }

    /// The content that frame `number` has left.
    fn check(&self, gpu: &Gpu<D>, number: u64) -> Result<(), Error> {
        let found = gpu.read_back(&self.mesh, 0, SIZE)?.wait(LONG)?;
        assert!(
            found[..UPLOADED as usize].iter().all(|byte| *byte == number as u8),
            "the mesh of frame {number}"
        );
        assert!(
            found[1024..1280].iter().all(|byte| *byte == 3) && found[2048..].iter().all(|byte| *byte == 1)
        );
        let found = gpu.read_back_texture(&self.albedo, self.albedo.info().region(0, 0))?.wait(LONG)?;
        assert!(found.iter().all(|byte| *byte == number as u8), "the texture of frame {number}");
        Ok(())
    }
}

fn frame<D: Device>(gpu: &Gpu<D>, scene: &Scene<D>, graph: &Graph, number: u64) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    scene.update(gpu, number)?;
    let mut recording = frame.record(Queue::Graphics, "draw")?;
    scene.draw(gpu, &mut recording)?;
    let result = BufferDesc::new(SIZE, Usage::COPY_DST).memory(MemoryUse::Readback).name("result");
    let result = gpu.create_buffer(&result)?;
    recording.copy_buffer(&scene.mesh, 0, &result, 0, SIZE)?;
    let large = gpu.create_buffer(&BufferDesc::new(40 << 20, Usage::SHADER_READ).name("large"))?;
    recording.copy_buffer(&scene.mesh, 0, &large, 0, SIZE)?;
    let read = recording.read_back(&scene.mesh, 0, 64)?;
    frame.submit(recording)?;
    let mut recording = frame.record(Queue::Compute, "cull")?;
    recording.use_resource(&scene.mesh, Subresource::All, State::NON_PIXEL_SHADER)?;
    frame.submit(recording)?;
    frame.execute(graph, |_, _, _| Ok::<_, Error>(()))?;
    frame.end()?;
    read.wait(LONG)?;
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

/// Runs the frames. `refuse` makes a call of the third of them fail, `forgive` takes that back should it not have come to
/// it. The error of that frame, if it had one.
///
/// # Panics
/// When anything else is wrong.
pub fn run<D: Device>(gpu: &Gpu<D>, refuse: impl FnOnce(), forgive: impl FnOnce()) -> Option<Error> {
    let (scene, graph) = (Scene::new(gpu).expect("nothing fails yet"), graph());
    let at = |number| frame(gpu, &scene, &graph, number);
    (0..REFUSED).for_each(|number| at(number).expect("nothing fails yet"));
    refuse();
    let refused = at(REFUSED).err();
    forgive();
    let after =
        |number| at(number).unwrap_or_else(|error| panic!("frame {number}, after {refused:?}: {error}"));
    (REFUSED + 1..FRAMES).for_each(after);
    scene.check(gpu, FRAMES - 1).unwrap_or_else(|error| panic!("after {refused:?}: {error}"));
    drop(scene);
    refused
}
