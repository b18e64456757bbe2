//! Two triangles in a window, on Direct3D 12: a complete program with tenure, from its device to a clean exit.
//!
//! `cargo run --example triangle-d3d12`; off screen: `… -- --headless --frames 60 --picture target/triangle.png`.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Parser;
use tenure::d3d12::{Device, DeviceConfig, LiveObjects, RawHandle as _, Swapchain};
use tenure::prelude::*;
use windows::Win32::Foundation::{HWND, RECT};
use windows::Win32::Graphics::Direct3D::D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST;
use windows::Win32::Graphics::Direct3D12::*;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::{Window, WindowAttributes, WindowId};

use crate::pipeline::{Pipeline, pipeline};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
type Target<'a> = (&'a Texture<Device>, &'a View<Device>);

const SIZE: PhysicalSize<u32> = PhysicalSize::new(400, 300);
pub(crate) const COLOR: Format = Format::Bgra8Srgb;
pub(crate) const DEPTH: Format = Format::D32Float;
/// Position and texture coordinates. The far triangle comes last: only depth keeps it behind the near one.
type Triangle = [[f32; 5]; 3];
const NEAR: Triangle = [[0.0, 0.8, 0.3, 2.0, 0.0], [0.7, -0.5, 0.3, 4.0, 4.0], [-0.7, -0.5, 0.3, 0.0, 4.0]];
const FAR: Triangle = [[0.0, -0.8, 0.6, 8.0, 16.0], [-0.8, 0.5, 0.6, 0.0, 0.0], [0.8, 0.5, 0.6, 16.0, 0.0]];

/// Draws two triangles
#[derive(Parser)]
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
}

/// The resources of the frames. Dropped objects are released when the GPU is done with them.
struct Scene {
    gpu: Gpu<Device>,
    vertices: Buffer<Device>,
    board: Texture<Device>,
    table: DescriptorTable<Device>,
    pipeline: Deferred<Device, Pipeline>,
}

impl Scene {
    /// Creates the device. An engine wraps its own with `Device::new`.
    fn new() -> Result<Self> {
        let gpu = Gpu::new(Device::create(&DeviceConfig::default())?, Config::default())?;
        let vertices = BufferDesc::new(size_of_val(&[NEAR, FAR]) as u64, Usage::VERTEX).name("vertices");
        let vertices = gpu.create_buffer_with(&vertices, bytemuck::cast_slice(&[NEAR, FAR]))?;
        let mips: Vec<_> = (0..6).map(|mip| board(64 >> mip, mip)).collect();
        let texels: Vec<_> = mips.iter().map(|texels| TexelData::new(texels)).collect();
        let board = TextureDesc::d2(64, 64, Format::Rgba8Srgb, Usage::SHADER_READ).mips(6).name("board");
        let board = gpu.create_texture_with(&board, &texels)?;
        let view = gpu.create_texture_view(&board, &TextureViewDesc::sampled())?;
        let table =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("board"))?;
        let pipeline = gpu.defer("pipeline", pipeline(gpu.device())?);
        Ok(Self { gpu, vertices, board, table, pipeline })
    }

    fn draw(&self, list: &mut Recording<Device>, (target, view): Target<'_>, number: u64) -> Result<()> {
        let (width, height) = (target.info().width, target.info().height);
        // Depth is needed only in this recording: other transient resources can share its memory.
        let depth = TextureDesc::d2(width, height, DEPTH, Usage::DEPTH_STENCIL).name("depth");
        let depth = list.transient_texture(&depth.clear(ClearValue::DepthStencil(1.0, 0)))?;
        // Barriers follow from the declared states.
        list.use_resource(target, Subresource::All, State::RENDER_TARGET)?;
        list.use_resource(&depth, Subresource::All, State::DEPTH_WRITE)?;
        list.use_resource(&self.board, Subresource::All, State::PIXEL_SHADER)?;
        list.use_resource(&self.vertices, Subresource::All, State::VERTEX_OR_CONSTANT)?;
        let (commands, scratch) = list.split();
        let angle = number as f32 * 0.01;
        let frame = scratch.constants(&[angle.cos(), angle.sin(), height as f32 / width as f32, 0.0])?;
        let frame = frame.gpu_address().unwrap_or_default();
        commands.set_descriptor_heaps()?;
        let (color, depth) = (view.raw(), depth.view(&TextureViewDesc::depth_stencil())?.raw());
        let vertices = D3D12_VERTEX_BUFFER_VIEW {
            BufferLocation: self.vertices.gpu_address().unwrap_or_default(),
            SizeInBytes: self.vertices.size() as u32,
            StrideInBytes: size_of::<[f32; 5]>() as u32,
        };
        let (w, h) = (width as f32, height as f32);
        let viewport = D3D12_VIEWPORT { Width: w, Height: h, MaxDepth: 1.0, ..Default::default() };
        let area = RECT { right: width as i32, bottom: height as i32, ..Default::default() };
        let (root, pipeline) = &*self.pipeline;
        let list = commands.raw().raw();
        // SAFETY: the list is open. All that is set is tenure's, and lives until the GPU is done.
        unsafe {
            list.OMSetRenderTargets(1, Some(&raw const color), false, Some(&raw const depth));
            list.ClearRenderTargetView(color, &[0.4, 0.5, 0.6, 1.0], None);
            list.ClearDepthStencilView(depth, D3D12_CLEAR_FLAG_DEPTH, 1.0, 0, None);
            list.RSSetViewports(&[viewport]);
            list.RSSetScissorRects(&[area]);
            list.SetGraphicsRootSignature(root);
            list.SetPipelineState(pipeline);
            list.SetGraphicsRootConstantBufferView(0, frame);
            list.SetGraphicsRootDescriptorTable(1, self.table.raw());
            list.IASetPrimitiveTopology(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
            list.IASetVertexBuffers(0, Some(&[vertices]));
            list.DrawInstanced(6, 1, 0, 0);
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

fn write_png(path: &Path, [width, height]: [u32; 2], mut bgra: Vec<u8>) -> Result<()> {
    bgra.as_chunks_mut::<4>().0.iter_mut().for_each(|texel| texel.swap(0, 2));
    let mut encoder = png::Encoder::new(File::create(path)?, width, height);
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

/// A window and its swap chain. Fields are dropped in this order.
struct Shown {
    swapchain: Swapchain,
    window: Window,
}

impl Shown {
    fn new(events: &ActiveEventLoop, gpu: &Gpu<Device>) -> Result<Self> {
        let window = events.create_window(WindowAttributes::default().with_inner_size(SIZE))?;
        let RawWindowHandle::Win32(handle) = window.window_handle()?.as_raw() else {
            return Err("a window of another system".into());
        };
        let desc = SwapchainDesc::new(window.inner_size().into()).format(COLOR).usage(Usage::COPY_SRC);
        let swapchain = Swapchain::new(gpu, HWND(handle.hwnd.get() as *mut _), &desc)?;
        Ok(Self { swapchain, window })
    }

    /// Draws a frame; true when it is the last.
    fn draw(&mut self, scene: &Scene, arguments: &Arguments) -> Result<bool> {
        // Waits while more frames are in flight than the configuration allows.
        let frame = scene.gpu.begin_frame()?;
        let is_last = arguments.frames.is_some_and(|frames| frame.number() >= frames);
        // No effect if the size is unchanged. Otherwise it waits for the frames in flight.
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

impl ApplicationHandler for App<'_> {
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

pub(crate) fn run() -> Result<()> {
    let arguments = Arguments::parse();
    let scene = Scene::new()?;
    let gpu = scene.gpu.clone();
    if arguments.headless {
        draw_off_screen(&scene, &arguments)?;
    } else {
        let mut app = App { arguments: &arguments, scene: &scene, shown: None };
        EventLoop::new()?.run_app(&mut app)?;
        drop(app.shown.transpose()?);
    }
    drop(scene);
    let device = gpu.device().clone();
    assert!(gpu.shutdown().is_clean(), "everything was dropped, so nothing is left");
    drop(gpu);
    assert_eq!(device.live_objects(), LiveObjects::default());
    Ok(())
}
