//! Windows to present to, and their visible contents.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

use tenure_core::present::SwapchainImage;
use tenure_core::{Gpu, Queue, Recording, State, Subresource};
use tenure_d3d12::windows::Win32::Foundation::{HWND, LPARAM, LRESULT, WPARAM};
use tenure_d3d12::windows::Win32::Graphics::Gdi::{CLR_INVALID, GetDC, GetPixel, ReleaseDC};
use tenure_d3d12::windows::Win32::UI::WindowsAndMessaging::{
    CreateWindowExW, DefWindowProcW, DestroyWindow, DispatchMessageW, MSG, PM_REMOVE, PeekMessageW,
    RegisterClassW, SW_MINIMIZE, SW_RESTORE, SWP_NOACTIVATE, SWP_NOMOVE, SWP_NOZORDER, SetWindowPos,
    ShowWindow, WNDCLASSW, WS_EX_TOPMOST, WS_POPUP, WS_VISIBLE,
};
use tenure_d3d12::windows::core::w;
use tenure_d3d12::{Device, RawHandle as _};

/// One window at a time: another test's window must not cover it.
static SCREEN: Mutex<()> = Mutex::new(());

/// A window without a frame: all of it is drawn to.
pub(crate) struct TestWindow {
    pub(crate) handle: HWND,
    at: i32,
    _screen: MutexGuard<'static, ()>,
}

unsafe extern "system" fn procedure(window: HWND, message: u32, word: WPARAM, long: LPARAM) -> LRESULT {
    // SAFETY: passes on the system's arguments.
    unsafe { DefWindowProcW(window, message, word, long) }
}

/// A window next to another.
pub(crate) struct Another<'a> {
    handle: HWND,
    _beside: &'a TestWindow,
}

impl Another<'_> {
    pub(crate) const fn handle(&self) -> HWND {
        self.handle
    }
}

impl Drop for Another<'_> {
    fn drop(&mut self) {
        // SAFETY: takes no pointers.
        let _destroyed = unsafe { DestroyWindow(self.handle) };
    }
}

fn create([x, y]: [i32; 2], [width, height]: [i32; 2]) -> HWND {
    let (class, title) = (w!("tenure swap chain test"), w!("test"));
    let style = WS_POPUP | WS_VISIBLE;
    // SAFETY: the class is registered, and the texts outlive the call.
    unsafe {
        CreateWindowExW(WS_EX_TOPMOST, class, title, style, x, y, width, height, None, None, None, None)
    }
    .unwrap()
}

impl TestWindow {
    pub(crate) fn new(size: [i32; 2]) -> Self {
        static REGISTERED: Once = Once::new();
        static NEXT: AtomicI32 = AtomicI32::new(0);
        let screen = SCREEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        REGISTERED.call_once(|| {
            let class = WNDCLASSW {
                lpfnWndProc: Some(procedure),
                lpszClassName: w!("tenure swap chain test"),
                ..Default::default()
            };
            // SAFETY: the description and its texts outlive the call.
            assert_ne!(unsafe { RegisterClassW(&raw const class) }, 0);
        });
        let at = 16 * (NEXT.fetch_add(1, Ordering::Relaxed) % 8);
        let made = Self { handle: create([at, at], size), at, _screen: screen };
        // Wine paints a new window black a little after it has shown it.
        for _ in 0..10 {
            made.pump();
            std::thread::sleep(Duration::from_millis(10));
        }
        made
    }

    /// A second window, of 64 by 64, that covers nothing of this one.
    pub(crate) fn another(&self) -> Another<'_> {
        Another { handle: create([400, 300], [64, 64]), _beside: self }
    }

    /// Handles the messages that wait.
    pub(crate) fn pump(&self) {
        let mut message = MSG::default();
        // SAFETY: the pointers are to a local that outlives the calls.
        while unsafe { PeekMessageW(&raw mut message, None, 0, 0, PM_REMOVE) }.as_bool() {
            // SAFETY: as above.
            unsafe { DispatchMessageW(&raw const message) };
        }
    }

    pub(crate) fn resize(&self, size: [i32; 2]) {
        let flags = SWP_NOMOVE | SWP_NOZORDER | SWP_NOACTIVATE;
        // SAFETY: takes no pointers.
        unsafe { SetWindowPos(self.handle, None, 0, 0, size[0], size[1], flags) }.unwrap();
        self.pump();
    }

    pub(crate) fn minimise(&self, is_minimised: bool) {
        let command = if is_minimised { SW_MINIMIZE } else { SW_RESTORE };
        // SAFETY: takes no pointers.
        let _was_visible = unsafe { ShowWindow(self.handle, command) };
        self.pump();
    }

    pub(crate) fn destroy(&self) {
        // SAFETY: takes no pointers.
        unsafe { DestroyWindow(self.handle) }.unwrap();
    }

    /// The colour at a point of the window, red, green and blue, as the desktop shows it.
    fn pixel(&self, x: i32, y: i32) -> [u8; 3] {
        // SAFETY: takes no pointers; the context is released.
        let colour = unsafe {
            let desktop = GetDC(None);
            let colour = GetPixel(desktop, self.at + x, self.at + y);
            ReleaseDC(None, desktop);
            colour
        };
        assert_ne!(colour.0, CLR_INVALID, "outside of the screen");
        let [red, green, blue, _] = colour.0.to_le_bytes();
        [red, green, blue]
    }

    /// Waits until a point has nearly that colour.
    #[track_caller]
    pub(crate) fn expect(&self, [x, y]: [i32; 2], wanted: [u8; 3]) {
        let begun = Instant::now();
        loop {
            self.pump();
            let seen = self.pixel(x, y);
            if seen.iter().zip(wanted).all(|(seen, wanted)| seen.abs_diff(wanted) <= 2) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{seen:?} at {x}, {y}, not {wanted:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for TestWindow {
    fn drop(&mut self) {
        // SAFETY: takes no pointers. A destroyed window is not destroyed again.
        let _destroyed = unsafe { DestroyWindow(self.handle) };
    }
}

/// Records the filling of an image.
pub(crate) fn fill(list: &mut Recording<Device>, image: &SwapchainImage<Device>, colour: [f32; 4]) {
    image.begin(list).unwrap();
    list.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET).unwrap();
    list.barriers();
    let target = image.view().raw();
    // SAFETY: the list is open, and the handle is of a live view.
    unsafe { list.raw().raw().ClearRenderTargetView(target, &colour, None) };
}

/// Fills an image in a frame of its own.
pub(crate) fn draw(gpu: &Gpu<Device>, image: &SwapchainImage<Device>, colour: [f32; 4]) {
    let frame = gpu.begin_frame().unwrap();
    let mut list = frame.record(Queue::Graphics, "picture").unwrap();
    fill(&mut list, image, colour);
    image.finish(&mut list).unwrap();
    frame.submit(list).unwrap();
    frame.end().unwrap();
}
