//! Status codes of presentations other than errors: the test returns them in place of the runtime.

use core::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use tenure_core::present::SwapchainDesc;
use tenure_d3d12::Swapchain;
use tenure_d3d12::windows::Win32::Foundation::{DXGI_STATUS_MODE_CHANGED, DXGI_STATUS_OCCLUDED};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::{DXGI_PRESENT, IDXGISwapChain_Vtbl, IDXGISwapChain3};
use tenure_d3d12::windows::core::{HRESULT, Interface};

use crate::interposed::{PUTTING, put};
use crate::swapchain::{GREEN, RED, end, frame, gpu};
use crate::window::TestWindow;

type Present = unsafe extern "system" fn(*mut c_void, u32, DXGI_PRESENT) -> HRESULT;

static REAL: Mutex<Option<Present>> = Mutex::new(None);
/// The chain whose next presentation the test answers, and the answer.
static CHAIN: AtomicUsize = AtomicUsize::new(0);
static ANSWER: AtomicI32 = AtomicI32::new(0);

unsafe extern "system" fn present(this: *mut c_void, interval: u32, flags: DXGI_PRESENT) -> HRESULT {
    let real = REAL.lock().unwrap().expect("the function is in place");
    // SAFETY: as the caller has it.
    let answer = unsafe { real(this, interval, flags) };
    let is_watched = answer == HRESULT(0) && this.addr() == CHAIN.load(Ordering::Relaxed);
    if is_watched { HRESULT(ANSWER.swap(0, Ordering::Relaxed)) } else { answer }
}

/// Sets the result of the chain's next presentation.
fn answer(chain: &IDXGISwapChain3, status: HRESULT) {
    let mut real = REAL.lock().unwrap();
    if real.is_none() {
        let _putting = PUTTING.lock().unwrap();
        let table: *const IDXGISwapChain_Vtbl = core::ptr::from_ref(Interface::vtable(chain)).cast();
        // SAFETY: the table of the newer interface begins with that of the older one.
        *real = Some(unsafe { put(&raw const (*table).Present, present as Present) });
    }
    CHAIN.store(chain.as_raw().addr(), Ordering::Relaxed);
    ANSWER.store(status.0, Ordering::Relaxed);
}

#[test]
fn a_mode_that_changed_outdates_images_of_the_same_size() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    frame(&gpu, &mut chain, RED);
    answer(chain.raw().unwrap(), DXGI_STATUS_MODE_CHANGED);
    assert!(!chain.is_outdated());
    frame(&gpu, &mut chain, RED);
    assert!(chain.is_outdated() && !chain.is_occluded());
    chain.resize([64, 64]).unwrap();
    assert!(!chain.is_outdated());
    assert_eq!(chain.acquire().unwrap().expect("not minimised").index(), 0, "the buffers are new");
    frame(&gpu, &mut chain, GREEN);
    window.expect([32, 32], [0, 255, 0]);
    drop(chain);
    end(gpu);
}

#[test]
fn a_covered_window_is_known_to_be() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let mut chain = Swapchain::new(&gpu, window.handle, &SwapchainDesc::new([64, 64])).unwrap();
    frame(&gpu, &mut chain, RED);
    assert!(!chain.is_occluded());
    answer(chain.raw().unwrap(), DXGI_STATUS_OCCLUDED);
    frame(&gpu, &mut chain, RED);
    assert!(chain.is_occluded() && !chain.is_outdated());
    drop(chain);
    end(gpu);
}
