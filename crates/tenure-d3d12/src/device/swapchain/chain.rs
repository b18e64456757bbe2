//! The DXGI swap chain and its calls.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::device::DeviceError;
use tenure_core::present::{ColorSpace, HdrMetadata};
use windows::Win32::Foundation::{CloseHandle, E_ACCESSDENIED, E_FAIL, HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows::Win32::Graphics::Direct3D12::{ID3D12CommandQueue, ID3D12Resource};
use windows::Win32::Graphics::Dxgi::{
    DXGI_ERROR_INVALID_CALL, DXGI_FEATURE_PRESENT_ALLOW_TEARING, DXGI_HDR_METADATA_HDR10,
    DXGI_HDR_METADATA_TYPE_HDR10, DXGI_MWA_NO_ALT_ENTER, DXGI_PRESENT_TEST,
    DXGI_SWAP_CHAIN_COLOR_SPACE_SUPPORT_FLAG_PRESENT, IDXGIFactory4, IDXGIFactory5, IDXGIOutput,
    IDXGISwapChain3, IDXGISwapChain4,
};
use windows::Win32::System::Threading::WaitForSingleObject;
use windows::core::{BOOL, Error, Interface};

use crate::device::error::Asked;
use crate::device::format::to_dxgi_format;
use crate::device::inner::Inner;
use crate::device::queue::milliseconds;
use crate::device::swapchain::occlusion::{OcclusionEvent, Shown};
use crate::device::swapchain::settings::{Settings, dxgi_metadata, dxgi_space};
use crate::device::swapchain::window::Claim;

/// A reason for refusing a call that is not the device's fault.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The window is destroyed, or another chain has it.
    Window,
    /// Something still refers to a buffer.
    Held,
    /// Any other error.
    Device(DeviceError),
}

/// A chain. Its buffers keep it alive: it is destroyed after them, and before another can have the window.
pub(crate) struct Chain {
    raw: IDXGISwapChain3,
    waitable: Waitable,
    occlusion: Option<OcclusionEvent>,
    claim: Arc<Claim>,
}

impl Chain {
    pub(super) fn create(
        device: &Inner,
        factory: &IDXGIFactory4,
        queue: &ID3D12CommandQueue,
        claim: &Arc<Claim>,
        settings: &Settings,
        size: [u32; 2],
    ) -> Result<Self, Refusal> {
        const ANY_OUTPUT: Option<&IDXGIOutput> = None;
        let window = claim.window();
        let desc = settings.chain(size);
        // SAFETY: the interfaces are alive, and the description is a local that outlives the call. A destroyed
        // window is refused.
        let raw =
            unsafe { factory.CreateSwapChainForHwnd(queue, window.0, &raw const desc, None, ANY_OUTPUT) }
                .map_err(|error| match error.code() {
                    // DXGI's result for a window with a chain that is not ours.
                    E_ACCESSDENIED => Refusal::Window,
                    _ if !window.exists() => Refusal::Window,
                    _ => Refusal::Device(device.fail(&error, Asked::Object("CreateSwapChainForHwnd"))),
                })?;
        let raw: IDXGISwapChain3 = raw
            .cast()
            .map_err(|error| Refusal::Device(device.fail(&error, Asked::Object("IDXGISwapChain3"))))?;
        // SAFETY: the interface is alive, and was created with the flag for it. The handle is ours to close.
        let waitable = Waitable(unsafe { raw.GetFrameLatencyWaitableObject() });
        // SAFETY: the factory is alive, and is the one that made the chain. If it is refused, a program that does
        // not want Alt+Enter must block it itself.
        let _disabled = unsafe { factory.MakeWindowAssociation(window.0, DXGI_MWA_NO_ALT_ENTER) };
        let occlusion = OcclusionEvent::new(factory);
        Ok(Self { raw, waitable, occlusion, claim: Arc::clone(claim) })
    }

    pub(super) const fn raw(&self) -> &IDXGISwapChain3 {
        &self.raw
    }

    pub(super) const fn waitable(&self) -> &Waitable {
        &self.waitable
    }

    pub(super) fn buffer(&self, device: &Inner, index: u32) -> Result<ID3D12Resource, DeviceError> {
        // SAFETY: the interface is alive.
        unsafe { self.raw.GetBuffer(index) }
            .map_err(|error| device.fail(&error, Asked::Object("IDXGISwapChain::GetBuffer")))
    }

    /// The buffer that is presented next.
    pub(super) fn current(&self) -> u32 {
        // SAFETY: the interface is alive.
        unsafe { self.raw.GetCurrentBackBufferIndex() }
    }

    pub(super) fn set_latency(&self, device: &Inner, frames: u32) -> Result<(), DeviceError> {
        // SAFETY: the interface is alive.
        unsafe { self.raw.SetMaximumFrameLatency(frames) }
            .map_err(|error| device.fail(&error, Asked::Object("SetMaximumFrameLatency")))
    }

    pub(super) fn present(&self, device: &Inner, settings: &Settings) -> Result<Shown, Refusal> {
        let (interval, flags) = settings.present();
        // SAFETY: the interface is alive; its queue is not in use elsewhere meanwhile.
        let answer = unsafe { self.raw.Present(interval, flags) };
        if answer.is_ok() {
            return Ok(Shown::of(answer));
        }
        if !self.claim.window().exists() {
            return Err(Refusal::Window);
        }
        let error = Error::from_hresult(answer);
        Err(Refusal::Device(device.fail(&error, Asked::Object("IDXGISwapChain::Present"))))
    }

    /// Whether DXGI signals that windows are covered or visible again.
    pub(super) const fn has_occlusion_event(&self) -> bool {
        self.occlusion.is_some()
    }

    /// The result of a test presentation, if DXGI has signalled a change since the last call. No other thread may
    /// present meanwhile.
    pub(super) fn changed(&self) -> Option<Shown> {
        self.occlusion.as_ref().filter(|event| event.is_set())?;
        // SAFETY: the interface is alive; a test does not present.
        let answer = unsafe { self.raw.Present(0, DXGI_PRESENT_TEST) };
        answer.is_ok().then(|| Shown::of(answer))
    }

    /// Whether the screen that shows the window displays a colour space.
    pub(super) fn displays(&self, space: ColorSpace) -> bool {
        // SAFETY: the interface is alive.
        let answer = unsafe { self.raw.CheckColorSpaceSupport(dxgi_space(space)) };
        let flag = DXGI_SWAP_CHAIN_COLOR_SPACE_SUPPORT_FLAG_PRESENT.0.cast_unsigned();
        answer.is_ok_and(|flags| flags & flag != 0)
    }

    pub(super) fn set_color_space(&self, device: &Inner, space: ColorSpace) -> Result<(), DeviceError> {
        const CALL: &str = "IDXGISwapChain3::SetColorSpace1";
        // SAFETY: the interface is alive.
        unsafe { self.raw.SetColorSpace1(dxgi_space(space)) }
            .map_err(|error| device.fail(&error, Asked::Object(CALL)))
    }

    pub(super) fn describe(&self, device: &Inner, metadata: &HdrMetadata) -> Result<(), DeviceError> {
        const CALL: &str = "IDXGISwapChain4::SetHDRMetaData";
        let chain: IDXGISwapChain4 =
            self.raw.cast().map_err(|_| DeviceError::Unsupported { feature: CALL })?;
        let metadata = dxgi_metadata(metadata);
        let size = size_of::<DXGI_HDR_METADATA_HDR10>();
        // SAFETY: the structure has no padding, and outlives the slice.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const metadata).cast(), size) };
        // SAFETY: the interface is alive, and the slice is a structure of that type.
        let set = unsafe { chain.SetHDRMetaData(DXGI_HDR_METADATA_TYPE_HDR10, Some(bytes)) };
        set.map_err(|error| device.fail(&error, Asked::Object(CALL)))
    }

    /// tenure must no longer refer to its buffers.
    pub(super) fn resize(&self, device: &Inner, settings: &Settings, size: [u32; 2]) -> Result<(), Refusal> {
        let ([width, height], format) = (size, to_dxgi_format(settings.linear));
        // SAFETY: the interface is alive. Any remaining reference to a buffer makes this fail.
        unsafe { self.raw.ResizeBuffers(settings.images, width, height, format, settings.flags()) }.map_err(
            |error| match error.code() {
                _ if !self.claim.window().exists() => Refusal::Window,
                // The errors for a held buffer: on Windows, and on Wine.
                DXGI_ERROR_INVALID_CALL | E_FAIL if device.look().is_ok() => Refusal::Held,
                _ => Refusal::Device(device.fail(&error, Asked::Object("IDXGISwapChain::ResizeBuffers"))),
            },
        )
    }
}

/// True when the system can present without waiting for the screen.
pub(super) fn can_tear(factory: &IDXGIFactory4) -> bool {
    let Ok(factory) = factory.cast::<IDXGIFactory5>() else { return false };
    let mut allowed = BOOL(0);
    let size = size_of_val(&allowed) as u32;
    // SAFETY: the pointer is to a local of that size that outlives the call.
    let answer = unsafe {
        factory.CheckFeatureSupport(DXGI_FEATURE_PRESENT_ALLOW_TEARING, (&raw mut allowed).cast(), size)
    };
    answer.is_ok() && allowed.as_bool()
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Reached,
    TimedOut,
    Failed,
}

/// The object that counts the frames which may still be begun.
pub(super) struct Waitable(HANDLE);

// SAFETY: a handle is a number that the kernel looks up; it may be used from any thread.
unsafe impl Send for Waitable {}
// SAFETY: as above; the kernel synchronises.
unsafe impl Sync for Waitable {}

impl Waitable {
    pub(super) const fn handle(&self) -> HANDLE {
        self.0
    }

    pub(super) fn wait(&self, timeout: Duration) -> Waited {
        // SAFETY: the handle is open as long as `self`.
        match unsafe { WaitForSingleObject(self.0, milliseconds(timeout)) } {
            WAIT_OBJECT_0 => Waited::Reached,
            WAIT_TIMEOUT => Waited::TimedOut,
            _ => Waited::Failed,
        }
    }
}

impl Drop for Waitable {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and open. A failure to close it has no consequences.
        let _closed = unsafe { CloseHandle(self.0) };
    }
}
