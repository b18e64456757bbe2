//! The target of the frames: a texture, or a window.

use std::sync::Arc;

use tenure::prelude::*;
use tenure::present::Swapchain as _;
use voxel_world::{Picture, Result};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowAttributes, WindowId};

use crate::Arguments;
use crate::renderer::{Backend, COLOR, Renderer};

const SIZE: PhysicalSize<u32> = PhysicalSize::new(480, 270);

/// Draws frames into a texture, and returns the last one.
pub(crate) fn off_screen<B: Backend>(
    renderer: &mut Renderer<'_, B>,
    arguments: &Arguments,
) -> Result<Option<Picture>> {
    let (gpu, size, frames) = (renderer.gpu, SIZE.into(), arguments.frames.unwrap_or(1));
    let target = TextureDesc::d2(SIZE.width, SIZE.height, COLOR, Usage::RENDER_TARGET | Usage::COPY_SRC);
    let target = gpu.create_texture(&target.name("target"))?;
    let view = gpu.create_texture_view(&target, &TextureViewDesc::render_target())?;
    loop {
        let frame = gpu.begin_frame()?;
        let is_last = renderer.receive()? && frame.number() >= frames;
        let number = frame.number().min(frames);
        let picture = renderer.draw(&frame, (&target, &view), None, number, is_last)?;
        frame.end()?;
        if let Some(picture) = picture {
            return Ok(Some(Picture::from_bgra(size, &picture.wait(gpu.config().frames.timeout)?)));
        }
    }
}

/// Draws frames in a window until it is closed; returns the last of a given number of frames.
pub(crate) fn in_window<B: Backend>(
    renderer: &mut Renderer<'_, B>,
    arguments: &Arguments,
) -> Result<Option<Picture>> {
    let mut app = App { arguments, renderer, shown: None };
    EventLoop::new()?.run_app(&mut app)?;
    Ok(app.shown.transpose()?.and_then(|shown| shown.picture))
}

/// A window and its swap chain. Fields are dropped in this order.
struct Shown<B: Backend> {
    swapchain: B::Swapchain,
    window: Arc<Window>,
    picture: Option<Picture>,
}

impl<B: Backend> Shown<B> {
    fn new(events: &ActiveEventLoop, gpu: &Gpu<B::Device>, arguments: &Arguments) -> Result<Self> {
        let size = if arguments.resize { PhysicalSize::new(SIZE.width / 2, SIZE.height) } else { SIZE };
        let window = WindowAttributes::default().with_title("tenure: viewer").with_inner_size(size);
        let window = Arc::new(events.create_window(window)?);
        let desc = SwapchainDesc::new(window.inner_size().into()).format(COLOR).usage(Usage::COPY_SRC);
        Ok(Self { swapchain: B::open(gpu, &window, &desc)?, window, picture: None })
    }

    /// Draws a frame; true when it is the last.
    fn draw(&mut self, renderer: &mut Renderer<'_, B>, arguments: &Arguments) -> Result<bool> {
        // Waits while more frames are in flight than the configuration allows.
        let frame = renderer.gpu.begin_frame()?;
        let frames = arguments.frames.unwrap_or(u64::MAX);
        if arguments.resize && frame.number() == 2 {
            // Some systems resize at once, others later, with an event.
            let _now = self.window.request_inner_size(SIZE);
        }
        // No effect if the size is unchanged.
        self.swapchain.resize(self.window.inner_size().into())?;
        // There is no image while the window is minimised, or just after it has changed.
        let Some(image) = self.swapchain.acquire()? else { return Ok(false) };
        let (target, size) = (image.texture(), self.swapchain.extent());
        let is_resized = !arguments.resize || size == <[u32; 2]>::from(SIZE);
        let is_last = renderer.receive()? && frame.number() >= frames && is_resized;
        let number = frame.number().min(frames);
        let picture = renderer.draw(&frame, (target, image.view()), Some(&image), number, is_last)?;
        self.swapchain.present(image)?;
        frame.end()?;
        if let Some(picture) = picture {
            let texels = picture.wait(renderer.gpu.config().frames.timeout)?;
            self.picture = Some(Picture::from_bgra(size, &texels));
        }
        Ok(is_last)
    }
}

/// The callbacks of winit.
struct App<'a, 'g, B: Backend> {
    arguments: &'a Arguments,
    renderer: &'a mut Renderer<'g, B>,
    shown: Option<Result<Shown<B>>>,
}

impl<B: Backend> ApplicationHandler for App<'_, '_, B> {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let open = || Shown::new(events, self.renderer.gpu, self.arguments);
        if self.shown.get_or_insert_with(open).is_err() {
            events.exit();
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(Ok(shown)) = &mut self.shown else { return };
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(_) => shown.window.request_redraw(),
            WindowEvent::RedrawRequested => match shown.draw(self.renderer, self.arguments) {
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
