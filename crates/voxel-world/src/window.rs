//! The world in a window, with a camera that flies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::present::Swapchain;
use tenure::{Format, Gpu, Usage, present::SwapchainDesc};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, KeyEvent, MouseButton, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::keyboard::{KeyCode, PhysicalKey};
use winit::window::{Window, WindowAttributes, WindowId};

use crate::scene::{compare, give_back, load};
use crate::unrest::Unrest;
use crate::{Direction, Flight, Options, Painter, Picture, Result, Show};

/// The format of a window's images.
const FORMAT: Format = Format::Bgra8Srgb;

/// Between frames while the window is resized and minimised by a test.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes the swap chain of a window, which outlives it or is kept by it.
pub type OpenSwapchain<S> = fn(&Gpu<<S as Swapchain>::Device>, &Arc<Window>, &SwapchainDesc) -> Result<S>;

/// Runs like [`perform`](crate::perform), but in a window, until the window is closed. A picture is written
/// only if the options name one.
///
/// # Errors
/// As [`perform`](crate::perform); the errors of the window.
pub fn perform_in_window<D: Device, P: Painter<D>, S: Swapchain<Device = D>>(
    options: &Options,
    gpu: Gpu<D>,
    open: OpenSwapchain<S>,
    painter: impl FnOnce(&Show<D>) -> Result<P>,
) -> Result<()> {
    let mut show = load(gpu, options, FORMAT)?;
    let mut painter = painter(&show)?;
    let picture = run(&mut show, open, &mut painter, options)?;
    drop(painter);
    give_back(show)?;
    let Some(picture) = picture else { return Ok(()) };
    if let Some(path) = &options.picture {
        picture.write(path)?;
        println!("the picture: {}", path.display());
    }
    compare(&picture, options)
}

/// Shows the world in a window until that is closed. Returns the last frame, if the options ask for it.
fn run<D: Device, S: Swapchain<Device = D>>(
    show: &mut Show<D>,
    open: OpenSwapchain<S>,
    painter: &mut impl Painter<D>,
    options: &Options,
) -> Result<Option<Picture>> {
    let flight = Flight::new(*show.camera());
    let unrest = Unrest::new(options.unrest, options.size);
    let mut app =
        App { show, open, painter, options, flight, unrest, cursor: None, is_dragging: false, shown: None };
    EventLoop::new()?.run_app(&mut app)?;
    Ok(app.shown.transpose()?.and_then(|shown| shown.picture))
}

/// A window and its contents. Fields are dropped in this order.
struct Shown<S> {
    swapchain: S,
    window: Arc<Window>,
    frames: u64,
    last: Instant,
    picture: Option<Picture>,
}

impl<S: Swapchain> Shown<S> {
    fn new(events: &ActiveEventLoop, show: &Show<S::Device>, open: OpenSwapchain<S>) -> Result<Self> {
        let [width, height] = show.targets.size;
        let attributes = WindowAttributes::default().with_title("tenure: a voxel world");
        let window =
            Arc::new(events.create_window(attributes.with_inner_size(PhysicalSize::new(width, height)))?);
        let desc = SwapchainDesc::new(window.inner_size().into()).format(FORMAT);
        let desc = desc.usage(Usage::COPY_SRC | Usage::COPY_DST);
        let swapchain = open(&show.gpu, &window, &desc)?;
        Ok(Self { swapchain, window, frames: 0, last: Instant::now(), picture: None })
    }
}

/// The callbacks of winit.
struct App<'a, P, S: Swapchain> {
    show: &'a mut Show<S::Device>,
    open: OpenSwapchain<S>,
    painter: &'a mut P,
    options: &'a Options,
    flight: Flight,
    unrest: Unrest,
    /// Where the mouse is.
    cursor: Option<[f64; 2]>,
    is_dragging: bool,
    shown: Option<Result<Shown<S>>>,
}

impl<P: Painter<S::Device>, S: Swapchain> App<'_, P, S> {
    /// Draws a frame; true when it is the last.
    fn draw(&mut self, is_closing: bool) -> Result<bool> {
        let Some(Ok(shown)) = &mut self.shown else { return Ok(true) };
        // Waits while more frames are in flight than the configuration allows.
        let frame = self.show.gpu.begin_frame()?;
        shown.swapchain.resize(shown.window.inner_size().into())?;
        let Some(image) = shown.swapchain.acquire()? else {
            self.unrest.advance(&shown.window, None)?;
            return Ok(is_closing);
        };
        let size = shown.swapchain.extent();
        self.show.resize(size, self.painter)?;
        self.flight.advance(shown.last.elapsed().as_secs_f32());
        shown.last = Instant::now();
        self.show.set_camera(self.flight.camera(size[0] as f32 / size[1] as f32));
        // The changes of the window come before the last frame, in frames that do not count.
        let is_counted = self.options.frames != Some(shown.frames + 1) || !self.unrest.is_active();
        let edit = usize::try_from(shown.frames).ok().filter(|edit| is_counted && *edit < self.show.edits());
        shown.frames += u64::from(is_counted);
        let is_last = is_closing || self.options.frames == Some(shown.frames);
        let is_wanted = self.options.picture.is_some() || self.options.compare.is_some();
        let picture = self.show.draw_to(&image, &frame, edit, self.painter, is_last && is_wanted)?;
        shown.swapchain.present(image)?;
        if let Some(picture) = picture {
            let texels = picture.wait(self.show.gpu.config().frames.timeout)?;
            shown.picture = Some(Picture::from_bgra(size, &texels));
        }
        frame.end()?;
        if !is_counted {
            self.unrest.advance(&shown.window, Some(size))?;
        }
        Ok(is_last)
    }

    /// Draws a frame, and asks for the next one.
    fn redraw(&mut self, events: &ActiveEventLoop, is_closing: bool) {
        match self.draw(is_closing) {
            Ok(true) => events.exit(),
            Ok(false) => match &self.shown {
                // Nothing is drawn while the window is minimised.
                Some(Ok(shown)) if shown.swapchain.extent() != [0, 0] => shown.window.request_redraw(),
                _ => {}
            },
            Err(error) => {
                self.shown = Some(Err(error));
                events.exit();
            }
        }
    }

    fn key(&mut self, events: &ActiveEventLoop, event: &KeyEvent) {
        let is_down = event.state == ElementState::Pressed;
        let direction = match event.physical_key {
            PhysicalKey::Code(KeyCode::KeyW | KeyCode::ArrowUp) => Direction::Forward,
            PhysicalKey::Code(KeyCode::KeyS | KeyCode::ArrowDown) => Direction::Backward,
            PhysicalKey::Code(KeyCode::KeyA | KeyCode::ArrowLeft) => Direction::Left,
            PhysicalKey::Code(KeyCode::KeyD | KeyCode::ArrowRight) => Direction::Right,
            PhysicalKey::Code(KeyCode::Escape) if is_down => return self.redraw(events, true),
            _ => return,
        };
        self.flight.hold(direction, is_down);
    }

    fn mouse(&mut self, to: [f64; 2]) {
        if let Some(from) = self.cursor.replace(to).filter(|_| self.is_dragging) {
            self.flight.turn([(to[0] - from[0]) as f32, (to[1] - from[1]) as f32]);
        }
    }
}

impl<P: Painter<S::Device>, S: Swapchain> ApplicationHandler for App<'_, P, S> {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.shown.get_or_insert_with(|| Shown::new(events, self.show, self.open)).is_err() {
            events.exit();
        }
    }

    /// Windows that are minimised are asked for no frames.
    fn about_to_wait(&mut self, events: &ActiveEventLoop) {
        let is_active = self.unrest.is_active() && !events.exiting();
        if is_active {
            self.redraw(events, false);
        }
        events.set_control_flow(if is_active {
            ControlFlow::wait_duration(PAUSE)
        } else {
            ControlFlow::Wait
        });
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(Ok(shown)) = &self.shown else { return };
        match event {
            WindowEvent::CloseRequested => self.redraw(events, true),
            WindowEvent::Resized(_) => shown.window.request_redraw(),
            WindowEvent::RedrawRequested => self.redraw(events, false),
            WindowEvent::KeyboardInput { event, .. } => self.key(events, &event),
            WindowEvent::MouseInput { state, button: MouseButton::Left, .. } => {
                self.is_dragging = state == ElementState::Pressed;
            }
            WindowEvent::CursorMoved { position, .. } => self.mouse(position.into()),
            // Keys that are released elsewhere are not reported.
            WindowEvent::Focused(false) => {
                self.flight.release_all();
                self.is_dragging = false;
            }
            _ => {}
        }
    }
}
