//! Two triangles in a window, on Vulkan 1.3: a complete program with tenure, from its device to a clean exit.
//!
//! `cargo run --example triangle-vulkan`; off screen: `… -- --headless --frames 60 --picture
//! target/triangle.png`. Set `VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation` to run with the validation
//! layers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure::prelude::*;
use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, DeviceConfig, Owned, RawHandle as _, RawView as _, Swapchain, to_vk_format};
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowAttributes, WindowId};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Target<'a> = (&'a Texture<Device>, &'a View<Device>);
type Pipeline = (Owned<vk::PipelineLayout>, Owned<vk::Pipeline>);

const SIZE: winit::dpi::PhysicalSize<u32> = winit::dpi::PhysicalSize::new(400, 300);
const COLOR: Format = Format::Bgra8Srgb;
const DEPTH: Format = Format::D32Float;
/// Position and texture coordinates. The far triangle comes last: only depth keeps it behind the near one.
type Triangle = [[f32; 5]; 3];
const NEAR: Triangle = [[0.0, 0.8, 0.3, 2.0, 0.0], [0.7, -0.5, 0.3, 4.0, 4.0], [-0.7, -0.5, 0.3, 0.0, 4.0]];
const FAR: Triangle = [[0.0, -0.8, 0.6, 8.0, 16.0], [-0.8, 0.5, 0.6, 0.0, 0.0], [0.8, 0.5, 0.6, 16.0, 0.0]];

/// Draws two triangles
#[derive(clap::Parser)]
struct Arguments {
    /// Draw off screen, without a window
    #[arg(long)]
    headless: bool,
    /// Number of frames [without a window: 1]
    #[arg(long)]
    frames: Option<u64>,
    /// Write the last frame to a PNG file
    #[arg(long)]
    picture: Option<PathBuf>,
    /// Write the shaders as SPIR-V to a file, for `triangle-vulkan.cpp`
    #[arg(long)]
    write_shaders: Option<PathBuf>,
}

/// The resources of the frames. Dropped objects are destroyed when the GPU is done with them.
struct Scene {
    gpu: Gpu<Device>,
    vertices: Buffer<Device>,
    board: Texture<Device>,
    board_view: View<Device>,
    sampler: Sampler<Device>,
    set_layout: SetLayout<Device>,
    pipeline: Deferred<Device, Pipeline>,
}

impl Scene {
    /// Creates the device. An engine wraps its own with `Device::from_raw`.
    fn new(is_headless: bool) -> Result<Self> {
        let options = DeviceConfig::default().presentation(!is_headless).on_message(|message| {
            if message.severity >= tenure::vulkan::Severity::Warning {
                eprintln!("{message}");
            }
        });
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut rendering);
        // SAFETY: the structure is of Vulkan 1.3, and tenure enables nothing in it.
        let gpu = Gpu::new(unsafe { Device::create_with(&options, features) }?, Config::default())?;
        let vertices = BufferDesc::new(size_of_val(&[NEAR, FAR]) as u64, Usage::VERTEX).name("vertices");
        let vertices = gpu.create_buffer_with(&vertices, bytemuck::cast_slice(&[NEAR, FAR]))?;
        let mips: Vec<_> = (0..6).map(|mip| board(64 >> mip, mip)).collect();
        let texels: Vec<_> = mips.iter().map(|texels| TexelData::new(texels)).collect();
        let board = TextureDesc::d2(64, 64, Format::Rgba8Srgb, Usage::SHADER_READ).mips(6).name("board");
        let board = gpu.create_texture_with(&board, &texels)?;
        let board_view = gpu.create_texture_view(&board, &TextureViewDesc::sampled())?;
        let sampler = gpu.create_sampler(&SamplerDesc::default().name("trilinear"))?;
        let kinds = [(0, BindingKind::Constants), (1, BindingKind::Texture), (2, BindingKind::Sampler)];
        let bindings = kinds.map(|(binding, kind)| SetBinding { binding, kind, count: 1 });
        let set_layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("frame"))?;
        let pipeline = gpu.defer("pipeline", pipeline(gpu.device(), set_layout.raw().raw())?);
        Ok(Self { gpu, vertices, board, board_view, sampler, set_layout, pipeline })
    }

    fn draw(&self, list: &mut Recording<Device>, (target, view): Target<'_>, number: u64) -> Result<()> {
        let (width, height) = (target.info().width, target.info().height);
        // Depth is needed only in this recording: other transient resources can share its memory.
        let depth = TextureDesc::d2(width, height, DEPTH, Usage::DEPTH_STENCIL).name("depth");
        let depth = list.transient_texture(&depth)?;
        // Barriers follow from the declared states.
        list.use_resource(target, Subresource::All, State::RENDER_TARGET)?;
        list.use_resource(&depth, Subresource::All, State::DEPTH_WRITE)?;
        list.use_resource(&self.board, Subresource::All, State::PIXEL_SHADER)?;
        list.use_resource(&self.vertices, Subresource::All, State::VERTEX_OR_CONSTANT)?;
        let (commands, scratch) = list.split();
        let angle = number as f32 * 0.01;
        let frame = scratch.constants(&[angle.cos(), angle.sin(), height as f32 / width as f32, 0.0])?;
        let binds = [
            SetDescriptor::new(0, frame),
            SetDescriptor::new(1, &self.board_view),
            SetDescriptor::new(2, &self.sampler),
        ];
        let set = scratch.set(&self.set_layout, &binds)?;
        let attachment = vk::RenderingAttachmentInfo::default().load_op(vk::AttachmentLoadOp::CLEAR);
        let clear = vk::ClearValue { color: vk::ClearColorValue { float32: [0.4, 0.5, 0.6, 1.0] } };
        let color = attachment.image_view(view.image_view()).clear_value(clear);
        let colors = [color.image_layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL)];
        let clear = vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } };
        let depth = depth.view(&TextureViewDesc::depth_stencil())?.image_view();
        let depth = attachment
            .image_view(depth)
            .clear_value(clear)
            .image_layout(vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
        let area = vk::Rect2D::default().extent(vk::Extent2D { width, height });
        let rendering = vk::RenderingInfo::default().render_area(area).layer_count(1);
        let rendering = rendering.color_attachments(&colors).depth_attachment(&depth);
        let viewport = vk::Viewport::default().width(width as f32).height(height as f32).max_depth(1.0);
        let vertices = self.vertices.raw().buffer().unwrap_or_default();
        let (vk, graphics) = (self.gpu.device().raw(), vk::PipelineBindPoint::GRAPHICS);
        let (layout, pipeline) = &*self.pipeline;
        let commands = commands.raw().command_buffer();
        // SAFETY: the command buffer is open. All that is bound is tenure's, and lives until the GPU is done.
        unsafe {
            vk.cmd_begin_rendering(commands, &rendering);
            vk.cmd_set_viewport(commands, 0, &[viewport]);
            vk.cmd_set_scissor(commands, 0, &[area]);
            vk.cmd_bind_pipeline(commands, graphics, **pipeline);
            vk.cmd_bind_descriptor_sets(commands, graphics, **layout, 0, &[set.raw()], &[]);
            vk.cmd_bind_vertex_buffers(commands, 0, &[vertices], &[self.vertices.offset()]);
            vk.cmd_draw(commands, 6, 1, 0, 0);
            vk.cmd_end_rendering(commands);
        }
        Ok(())
    }
}

/// The texels of a mip: four squares, darker from mip to mip.
fn board(side: u32, mip: u32) -> Vec<u8> {
    let light = 255 - 40 * mip as u8;
    let squares = [[light, light, light, 255], [40, 60, 90, 255]];
    let texel = |x, y| squares[((2 * x / side + 2 * y / side) % 2) as usize];
    (0..side).flat_map(|y| (0..side).flat_map(move |x| texel(x, y))).collect()
}

/// The shaders in SPIR-V.
fn shaders() -> Result<Vec<u32>> {
    let source = include_str!("triangle.wgsl");
    let module = naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    let info = naga::valid::Validator::new(Default::default(), Default::default()).validate(&module)?;
    Ok(naga::back::spv::write_vec(&module, &info, &Default::default(), None)?)
}

/// tenure does not manage pipelines: this is Vulkan's own.
fn pipeline(device: &Device, set_layout: vk::DescriptorSetLayout) -> Result<Pipeline> {
    use tenure::vulkan::ash::vk::*;
    let code = shaders()?;
    let module = ShaderModuleCreateInfo::default().code(&code);
    let layout = PipelineLayoutCreateInfo::default().set_layouts(std::slice::from_ref(&set_layout));
    // SAFETY: the set layout is alive, naga checked the shaders, and nothing else destroys these objects.
    let module = unsafe { device.own(device.raw().create_shader_module(&module, None)?) };
    // SAFETY: as above.
    let layout = unsafe { device.own(device.raw().create_pipeline_layout(&layout, None)?) };
    let base = PipelineShaderStageCreateInfo::default().module(*module).name(c"vertex");
    let fragment = base.stage(ShaderStageFlags::FRAGMENT).name(c"fragment");
    let stages = [base.stage(ShaderStageFlags::VERTEX), fragment];
    let bindings = [VertexInputBindingDescription::default().stride(size_of::<[f32; 5]>() as u32)];
    let attribute = VertexInputAttributeDescription::default().format(Format::R32G32B32_SFLOAT);
    let attributes = [attribute, attribute.location(1).format(Format::R32G32_SFLOAT).offset(12)];
    let input = PipelineVertexInputStateCreateInfo::default().vertex_binding_descriptions(&bindings);
    let input = input.vertex_attribute_descriptions(&attributes);
    let assembly = PipelineInputAssemblyStateCreateInfo::default().topology(PrimitiveTopology::TRIANGLE_LIST);
    let viewport = PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let sample =
        PipelineMultisampleStateCreateInfo::default().rasterization_samples(SampleCountFlags::TYPE_1);
    let depth = PipelineDepthStencilStateCreateInfo::default().depth_test_enable(true);
    let depth = depth.depth_write_enable(true).depth_compare_op(CompareOp::LESS);
    let targets = [PipelineColorBlendAttachmentState::default().color_write_mask(ColorComponentFlags::RGBA)];
    let blend = PipelineColorBlendStateCreateInfo::default().attachments(&targets);
    let dynamic = [DynamicState::VIEWPORT, DynamicState::SCISSOR];
    let dynamic = PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let colors = [to_vk_format(COLOR)];
    let formats = PipelineRenderingCreateInfo::default().color_attachment_formats(&colors);
    let mut formats = formats.depth_attachment_format(to_vk_format(DEPTH));
    let info = GraphicsPipelineCreateInfo::default().stages(&stages).vertex_input_state(&input);
    let info = info.input_assembly_state(&assembly).viewport_state(&viewport).rasterization_state(&raster);
    let info = info.multisample_state(&sample).depth_stencil_state(&depth).color_blend_state(&blend);
    let info = info.dynamic_state(&dynamic).layout(*layout).push_next(&mut formats);
    // SAFETY: all that is named is alive, and the shaders agree with the layout, the attributes and the formats.
    let made = unsafe { device.raw().create_graphics_pipelines(PipelineCache::null(), &[info], None) };
    // SAFETY: nothing else destroys it.
    let pipeline = unsafe { device.own(made.map_err(|(_, error)| error)?[0]) };
    Ok((layout, pipeline))
}

fn write_png(path: &Path, [width, height]: [u32; 2], mut bgra: Vec<u8>) -> Result<()> {
    bgra.as_chunks_mut::<4>().0.iter_mut().for_each(|texel| texel.swap(0, 2));
    let mut encoder = png::Encoder::new(std::fs::File::create(path)?, width, height);
    encoder.set_color(png::ColorType::Rgba);
    Ok(encoder.write_header()?.write_image_data(&bgra)?)
}

fn draw_off_screen(scene: &Scene, arguments: &Arguments) -> Result<()> {
    let target = TextureDesc::d2(SIZE.width, SIZE.height, COLOR, Usage::RENDER_TARGET | Usage::COPY_SRC);
    let target = scene.gpu.create_texture(&target.name("target"))?;
    let view = scene.gpu.create_texture_view(&target, &TextureViewDesc::render_target())?;
    for _ in 0..arguments.frames.unwrap_or(1) {
        let frame = scene.gpu.begin_frame()?;
        let mut list = frame.record(Queue::Graphics, "triangles")?;
        scene.draw(&mut list, (&target, &view), frame.number())?;
        frame.submit(list)?;
        frame.end()?;
    }
    let Some(path) = &arguments.picture else { return Ok(()) };
    let picture = scene.gpu.read_back_texture(&target, target.info().region(0, 0))?;
    write_png(path, SIZE.into(), picture.wait(scene.gpu.config().frames.timeout)?)
}

/// A window and its swap chain, which keeps it.
struct Shown {
    swapchain: Swapchain,
    window: Arc<Window>,
}

impl Shown {
    fn new(events: &ActiveEventLoop, gpu: &Gpu<Device>) -> Result<Self> {
        let window = Arc::new(events.create_window(WindowAttributes::default().with_inner_size(SIZE))?);
        let desc = SwapchainDesc::new(window.inner_size().into()).format(COLOR).usage(Usage::COPY_SRC);
        let swapchain = Swapchain::for_window(gpu, window.clone(), &desc)?;
        Ok(Self { swapchain, window })
    }

    /// Draws a frame; true when it is the last.
    fn draw(&mut self, scene: &Scene, arguments: &Arguments) -> Result<bool> {
        // Waits while more frames are in flight than the configuration allows.
        let frame = scene.gpu.begin_frame()?;
        let is_last = arguments.frames.is_some_and(|frames| frame.number() >= frames);
        // No effect if the size is unchanged. Frames in flight keep their images.
        self.swapchain.resize(self.window.inner_size().into())?;
        // There is no image while the window is minimised, or just after it has changed.
        let Some(image) = self.swapchain.acquire()? else { return Ok(false) };
        let (target, size) = (image.texture(), self.swapchain.extent());
        let mut list = frame.record(Queue::Graphics, "triangles")?;
        scene.draw(&mut list, (target, image.view()), frame.number())?;
        let read_back = || list.read_back_texture(target, target.info().region(0, 0));
        let picture = is_last.then(read_back).transpose()?;
        image.finish(&mut list)?;
        frame.submit(list)?;
        self.swapchain.present(image)?;
        if let (Some(picture), Some(path)) = (picture, &arguments.picture) {
            write_png(path, size, picture.wait(scene.gpu.config().frames.timeout)?)?;
        }
        frame.end()?;
        Ok(is_last)
    }
}

/// The callbacks of winit.
struct App<'a> {
    arguments: &'a Arguments,
    scene: &'a Scene,
    shown: Option<Result<Shown>>,
}

impl winit::application::ApplicationHandler for App<'_> {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.shown.get_or_insert_with(|| Shown::new(events, &self.scene.gpu)).is_err() {
            events.exit();
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(Ok(shown)) = &mut self.shown else { return };
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(_) => shown.window.request_redraw(),
            WindowEvent::RedrawRequested => match shown.draw(self.scene, self.arguments) {
                Ok(true) => events.exit(),
                // Nothing is drawn while the window is minimised.
                Ok(false) if shown.swapchain.extent() == [0, 0] => {}
                Ok(false) => shown.window.request_redraw(),
                Err(error) => {
                    self.shown = Some(Err(error));
                    events.exit();
                }
            },
            _ => {}
        }
    }
}

fn main() -> Result<()> {
    let arguments: Arguments = clap::Parser::parse();
    if let Some(path) = &arguments.write_shaders {
        std::fs::write(path, bytemuck::cast_slice(&shaders()?))?;
    }
    let scene = Scene::new(arguments.headless)?;
    let gpu = scene.gpu.clone();
    if arguments.headless {
        draw_off_screen(&scene, &arguments)?;
    } else {
        let mut app = App { arguments: &arguments, scene: &scene, shown: None };
        EventLoop::new()?.run_app(&mut app)?;
        drop(app.shown.transpose()?);
    }
    drop(scene);
    assert!(gpu.shutdown().is_clean(), "everything was dropped, so nothing is left");
    Ok(())
}
