//! The frame: its passes, their resources, and their order.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use glam::Vec3;
use glam::camera::rh::proj::directx::{orthographic, perspective};
use glam::camera::rh::view::look_at_mat4;
use tenure::prelude::*;
use tenure::{device, present};
use voxel_world::Result;
use winit::window::Window;

use crate::loader::Loaded;
use crate::scene::Object;

/// The format of the screen, or of the target instead of it.
pub(crate) const COLOR: Format = Format::Bgra8Srgb;
/// The format of the scene's light, which has no upper limit.
pub(crate) const LIGHT: Format = Format::Rgba16Float;
const DEPTH: Format = Format::D32Float;
/// Samples of a pixel of the scene.
const SAMPLES: u32 = 4;
/// The light where there is no object.
pub(crate) const SKY: [f32; 4] = [0.35, 0.5, 0.8, 1.0];
/// Width and height of the shadow map: `viewer.wgsl` has it, too.
const SHADOW_SIDE: u32 = 1024;

/// The part of the renderer that each API does in its own way: pipelines, descriptors of materials, draw calls.
pub(crate) trait Backend: Sized + Sync {
    type Device: device::Device;
    type Swapchain: present::Swapchain<Device = Self::Device>;
    /// The descriptors of a material.
    type Material: Send;

    fn new(gpu: &Gpu<Self::Device>) -> Result<Self>;
    fn open(gpu: &Gpu<Self::Device>, window: &Arc<Window>, desc: &SwapchainDesc) -> Result<Self::Swapchain>;
    /// Called by the loading thread.
    fn create_material(&self, texture: &View<Self::Device>) -> Result<Self::Material>;
    fn draw(&self, list: &mut Recording<Self::Device>, pass: &Pass<'_, Self>) -> Result<()>;
    /// Averages the samples of the first texture in the second. They are in their states.
    fn resolve(&self, list: &mut Recording<Self::Device>, textures: [&Texture<Self::Device>; 2]);
}

/// Bytes of a vertex.
pub(crate) const STRIDE: u32 = 32;

/// The pipelines: an index of [`PIPELINES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shader {
    Shadow,
    Scene,
    Tone,
}

/// A pipeline. tenure does not manage them.
pub(crate) struct PipelineDesc {
    /// The file and its text.
    pub(crate) source: (&'static str, &'static str),
    pub(crate) vertex: &'static CStr,
    pub(crate) fragment: Option<&'static CStr>,
    /// Position, normal and texture coordinates: how many of them the vertex shader has.
    pub(crate) inputs: usize,
    pub(crate) color: Option<Format>,
    pub(crate) depth: Option<Format>,
    pub(crate) samples: u32,
}

const VIEWER: (&str, &str) = ("viewer.wgsl", include_str!("viewer.wgsl"));
const TONE: (&str, &str) = ("tone.wgsl", include_str!("tone.wgsl"));
const SHADOW_PIPELINE: PipelineDesc = PipelineDesc {
    source: VIEWER,
    vertex: c"shadow_vertex",
    fragment: None,
    inputs: 1,
    color: None,
    depth: Some(DEPTH),
    samples: 1,
};
pub(crate) const PIPELINES: [PipelineDesc; 3] = [
    SHADOW_PIPELINE,
    PipelineDesc {
        vertex: c"scene_vertex",
        fragment: Some(c"scene_fragment"),
        inputs: 3,
        color: Some(LIGHT),
        samples: SAMPLES,
        ..SHADOW_PIPELINE
    },
    PipelineDesc {
        source: TONE,
        vertex: c"tone_vertex",
        fragment: Some(c"tone_fragment"),
        inputs: 0,
        color: Some(COLOR),
        depth: None,
        samples: 1,
    },
];

/// A render pass, whose resources are in their states.
pub(crate) struct Pass<'a, B: Backend> {
    pub(crate) shader: Shader,
    pub(crate) size: [u32; 2],
    /// Cleared, except for the tone mapping, which draws over all of it.
    pub(crate) color: Option<&'a View<B::Device>>,
    /// Cleared.
    pub(crate) depth: Option<&'a View<B::Device>>,
    /// The texture that all draws of the pass read.
    pub(crate) read: Option<&'a View<B::Device>>,
    pub(crate) constants: &'a Constants,
    /// The tone mapping has none, and draws one triangle without vertices.
    pub(crate) draws: &'a [Draw<'a, B>],
}

/// An object, with the buffer that has its vertices and indices.
pub(crate) type Draw<'a, B> = (&'a Buffer<<B as Backend>::Device>, &'a Object, &'a <B as Backend>::Material);

/// The constants of a frame, as in `viewer.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct Constants {
    camera: [[f32; 4]; 4],
    light: [[f32; 4]; 4],
    eye: [f32; 4],
    to_light: [f32; 4],
}

impl Constants {
    /// The view of a frame: the camera goes around the scene, and the light stands still.
    fn new([width, height]: [u32; 2], number: u64) -> Self {
        let angle = 0.6 + number as f32 * 0.01;
        let (eye, middle) = (Vec3::new(5.0 * angle.sin(), 3.2, 5.0 * angle.cos()), Vec3::new(0.2, 0.7, 0.3));
        let to_light = Vec3::new(0.45, 0.8, 0.4).normalize();
        let camera = perspective(45_f32.to_radians(), width as f32 / height as f32, 0.1, 50.0);
        let light = orthographic(-5.0, 5.0, -5.0, 5.0, 1.0, 25.0);
        Self {
            camera: (camera * look_at_mat4(eye, middle, Vec3::Y)).to_cols_array_2d(),
            light: (light * look_at_mat4(middle + to_light * 12.0, middle, Vec3::Y)).to_cols_array_2d(),
            eye: eye.extend(1.0).to_array(),
            to_light: to_light.extend(0.0).to_array(),
        }
    }
}

/// Draws the frames.
pub(crate) struct Renderer<'g, B: Backend> {
    pub(crate) gpu: &'g Gpu<B::Device>,
    backend: &'g B,
    loading: Receiver<Loaded<B>>,
    /// The loaded part of the scene.
    geometry: Option<Buffer<B::Device>>,
    objects: Vec<Object>,
    materials: Vec<B::Material>,
}

impl<'g, B: Backend> Renderer<'g, B> {
    pub(crate) fn new(gpu: &'g Gpu<B::Device>, backend: &'g B, loading: Receiver<Loaded<B>>) -> Self {
        let (objects, materials) = (Vec::new(), Vec::new());
        Self { gpu, backend, loading, geometry: None, objects, materials }
    }

    /// Takes what the loading thread has sent; true once everything is there.
    pub(crate) fn receive(&mut self) -> Result<bool> {
        loop {
            match self.loading.try_recv() {
                Ok(Loaded::Objects(geometry, objects)) => {
                    (self.geometry, self.objects) = (Some(geometry), objects)
                }
                Ok(Loaded::Material(material)) => self.materials.push(material),
                Ok(Loaded::Failed(reason)) => return Err(reason.into()),
                Err(error) => return Ok(error == TryRecvError::Disconnected),
            }
        }
    }

    /// Draws picture `number` into a target, which is perhaps the image of a window, and reads it back on request.
    pub(crate) fn draw(
        &self,
        frame: &Frame<B::Device>,
        (target, target_view): (&Texture<B::Device>, &View<B::Device>),
        image: Option<&SwapchainImage<B::Device>>,
        number: u64,
        is_wanted: bool,
    ) -> Result<Option<Readback<B::Device>>> {
        let size @ [width, height] = [target.info().width, target.info().height];
        // Declared anew for each frame. While the sizes stay the same, so does the plan of its memory, and nothing is
        // created. After a change of size the old resources are released when the GPU is done with them.
        let mut graph = Graph::new();
        // Direct3D 12 clears faster to a value that is known beforehand.
        let (far, sky) = (ClearValue::DepthStencil(1.0, 0), ClearValue::Color(SKY));
        let shadows =
            TextureDesc::d2(SHADOW_SIDE, SHADOW_SIDE, DEPTH, Usage::DEPTH_STENCIL | Usage::SHADER_READ);
        let shadows = graph.texture(shadows.clear(far).name("shadows"));
        // Only one pass uses the depth of the scene: tile-based GPUs keep it on the chip, without memory.
        let depth = TextureDesc::d2(width, height, DEPTH, Usage::DEPTH_STENCIL | Usage::TRANSIENT_ATTACHMENT);
        let depth = graph.texture(depth.samples(SAMPLES).clear(far).name("depth"));
        let samples = TextureDesc::d2(width, height, LIGHT, Usage::RENDER_TARGET | Usage::COPY_SRC);
        let samples = graph.texture(samples.samples(SAMPLES).clear(sky).name("samples"));
        let light = TextureDesc::d2(width, height, LIGHT, Usage::COPY_DST | Usage::SHADER_READ);
        let light = graph.texture(light.name("light"));
        // The states that the passes need. Barriers follow from them, and so does the memory that resources can share.
        let shadow_pass = graph.pass(Queue::Graphics, "shadows").uses(shadows, State::DEPTH_WRITE).id();
        let scene_pass = graph.pass(Queue::Graphics, "scene").uses(shadows, State::PIXEL_SHADER);
        let scene_pass = scene_pass.uses(samples, State::RENDER_TARGET).uses(depth, State::DEPTH_WRITE).id();
        // A command resolves on both APIs. For tile-based GPUs, resolve at the end of Vulkan's render pass instead: both
        // textures are in RENDER_TARGET then, and the samples are a TRANSIENT_ATTACHMENT like the depth.
        let resolve_pass = graph.pass(Queue::Graphics, "resolve").uses(samples, State::RESOLVE_SRC);
        let resolve_pass = resolve_pass.uses(light, State::RESOLVE_DST).id();
        // Only this pass waits until the window's image is free: the others are submitted before.
        graph.pass(Queue::Graphics, "tone mapping").uses(light, State::PIXEL_SHADER).begins_recording();

        let constants = &Constants::new(size, number);
        let mut draws: Vec<Draw<'_, B>> = Vec::new();
        for object in &self.objects {
            // Objects whose texture is not there yet are left out.
            let Some(material) = self.materials.get(object.material) else { continue };
            draws.extend(self.geometry.as_ref().map(|geometry| (geometry, object, material)));
        }
        let draws = draws.as_slice();
        let mut picture = None;
        frame.execute(&graph, |pass, list, resources| -> Result<()> {
            let sampled = |id| resources.texture_view(id, &TextureViewDesc::sampled()).map(Some);
            let depth_target = |id| resources.texture_view(id, &TextureViewDesc::depth_stencil()).map(Some);
            // Resources outside of the graph are declared here, before a render pass begins.
            if let Some((geometry, ..)) = draws.first().filter(|_| pass == shadow_pass || pass == scene_pass)
            {
                list.use_resource(*geometry, Subresource::All, State::VERTEX_OR_CONSTANT | State::INDEX)?;
            }
            if pass == shadow_pass {
                let (shader, size, depth) = (Shader::Shadow, [SHADOW_SIDE; 2], depth_target(shadows)?);
                let pass = Pass { shader, size, color: None, depth, read: None, constants, draws };
                self.backend.draw(list, &pass)
            } else if pass == scene_pass {
                let color = Some(resources.texture_view(samples, &TextureViewDesc::render_target())?);
                let (shader, depth, read) = (Shader::Scene, depth_target(depth)?, sampled(shadows)?);
                self.backend.draw(list, &Pass { shader, size, color, depth, read, constants, draws })
            } else if pass == resolve_pass {
                self.backend.resolve(list, [resources.texture(samples)?, resources.texture(light)?]);
                Ok(())
            } else {
                list.use_resource(target, Subresource::All, State::RENDER_TARGET)?;
                let (shader, color, read) = (Shader::Tone, Some(target_view), sampled(light)?);
                let pass = Pass { shader, size, color, depth: None, read, constants, draws: &[] };
                self.backend.draw(list, &pass)?;
                if is_wanted {
                    picture = Some(list.read_back_texture(target, target.info().region(0, 0))?);
                }
                // The image may be presented when this recording is executed.
                Ok(image.map_or(Ok(()), |image| image.finish(list))?)
            }
        })?;
        Ok(picture)
    }
}
