//! Windows, each with one swap chain at a time.

use parking_lot::Mutex;
use windows::Win32::Foundation::{HWND, RECT};
use windows::Win32::UI::WindowsAndMessaging::{GetClientRect, IsWindow};

/// The windows of this process that have a swap chain. DXGI refuses a second chain, and some of its
/// implementations crash on one.
static TAKEN: Mutex<Vec<Window>> = Mutex::new(Vec::new());

/// A window of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Window(pub(super) HWND);

// SAFETY: the handle is a number that the system looks up, from any thread.
unsafe impl Send for Window {}
// SAFETY: as above; the system synchronises.
unsafe impl Sync for Window {}

impl Window {
    pub(super) fn exists(self) -> bool {
        // SAFETY: any number may be passed.
        unsafe { IsWindow(Some(self.0)) }.as_bool()
    }

    /// Width and height of the client area: 0 when it is minimised; `None` if the window is destroyed.
    pub(super) fn client_size(self) -> Option<[u32; 2]> {
        let mut rect = RECT::default();
        // SAFETY: any number may be passed, and the pointer is to a local that outlives the call.
        unsafe { GetClientRect(self.0, &raw mut rect) }.ok()?;
        let side = |length: i32| u32::try_from(length).unwrap_or(0);
        Some([side(rect.right - rect.left), side(rect.bottom - rect.top)])
    }
}

/// The exclusive claim of a swap chain to a window.
pub(super) struct Claim(Window);

impl Claim {
    /// `None` if the window does not exist, or has a swap chain.
    pub(super) fn new(window: Window) -> Option<Self> {
        let mut taken = TAKEN.lock();
        if !window.exists() || taken.contains(&window) {
            return None;
        }
        taken.push(window);
        Some(Self(window))
    }

    pub(super) const fn window(&self) -> Window {
        self.0
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        TAKEN.lock().retain(|window| *window != self.0);
    }
}
