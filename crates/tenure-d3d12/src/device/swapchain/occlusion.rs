//! Status codes of DXGI for a window that are not errors.

use std::time::Duration;

use windows::Win32::Foundation::{DXGI_STATUS_MODE_CHANGED, DXGI_STATUS_OCCLUDED};
use windows::Win32::Graphics::Dxgi::IDXGIFactory4;
use windows::core::HRESULT;

use crate::device::queue::Event;

/// The status of a successful presentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Seen,
    /// No part of the window is visible.
    Occluded,
    /// The screen has another mode: buffers of the same size may be stretched or converted until they are resized.
    ModeChanged,
}

impl Shown {
    pub(super) fn of(answer: HRESULT) -> Self {
        match answer {
            DXGI_STATUS_OCCLUDED => Self::Occluded,
            DXGI_STATUS_MODE_CHANGED => Self::ModeChanged,
            _ => Self::Seen,
        }
    }
}

/// An event that DXGI sets when windows are covered or can be seen again.
pub(super) struct OcclusionEvent {
    factory: IDXGIFactory4,
    event: Event,
    cookie: u32,
}

impl OcclusionEvent {
    /// `None` if DXGI does not support the event, as in Wine.
    pub(super) fn new(factory: &IDXGIFactory4) -> Option<Self> {
        let event = Event::new().ok()?;
        // SAFETY: the factory is alive, and the event is open until it is unregistered.
        let cookie = unsafe { factory.RegisterOcclusionStatusEvent(event.handle()) }.ok()?;
        Some(Self { factory: factory.clone(), event, cookie })
    }

    /// True once for each time it was set.
    pub(super) fn is_set(&self) -> bool {
        self.event.wait(Duration::ZERO)
    }
}

impl Drop for OcclusionEvent {
    fn drop(&mut self) {
        // SAFETY: the factory is alive, and the cookie is that of the registration, which ends here.
        unsafe { self.factory.UnregisterOcclusionStatus(self.cookie) };
    }
}

#[cfg(test)]
mod tests {
    use windows::Win32::Foundation::S_OK;

    use super::*;

    #[test]
    fn statuses_are_distinguished() {
        let found = [S_OK, DXGI_STATUS_OCCLUDED, DXGI_STATUS_MODE_CHANGED].map(Shown::of);
        assert_eq!(found, [Shown::Seen, Shown::Occluded, Shown::ModeChanged]);
    }
}
