//! The functions of swap chains.

use crate::call::{call, call_create, call_status};
use crate::callback;
use crate::held::{Loans, ResourceOf};
use crate::object::{Backend, Gpu, On, Recording, Swapchain, Texture, View, on};
use crate::pointer::{In, Out};
use crate::present::{
    Presents as _, SwapchainOf, describe, formats, hdr_metadata, latency, modes, tn_HdrMetadata,
    tn_PresentMode, tn_SurfaceFormat, tn_SwapchainDesc, tn_SwapchainOffers, tn_SwapchainProperties,
};
use crate::slot::Handle;
use crate::types::*;

/// An acquired image. Both handles are owned by the swap chain, and become invalid with its next `tn_swapchain_acquire`,
/// `tn_swapchain_present` or `tn_swapchain_resize`, and with its release.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SwapchainImage {
    /// The image, with undefined contents.
    pub texture: Handle<Texture>,
    /// A render target view of the image, in the format of the swap chain.
    pub view: Handle<View>,
    /// The index of the image in the swap chain.
    pub index: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// Creates a swap chain of a simulated device, without a window. Like all swap chains, it must be used by one thread at a time.
/// Release it before `tn_gpu_shutdown`.
///
/// Errors: `TN_ERROR_SWAPCHAIN` for an unsupported number of images or format; `TN_ERROR_ARGUMENT` for a frame latency out of
/// range; `TN_ERROR_FOREIGN` for a device of another backend; `TN_ERROR_ENUM`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_create_sim(
    gpu: Handle<Gpu>,
    desc: In<tn_SwapchainDesc>,
    out: Out<Handle<Swapchain>>,
) -> tn_Status {
    call_create(out, || match gpu.get()? {
        On::Sim(gpu) => Ok(On::Sim(describe(gpu, desc, |desc| tenure_sim::Swapchain::new(gpu, desc))?)),
        _ => Err(Failure::foreign()),
    })
}

/// Acquires an image to draw to. `TN_NOT_READY`, with null handles: the window is minimised, or has changed so that nothing can be
/// shown. Waits for an image for a bounded time. An image that was not presented is returned again, with its contents.
///
/// Errors: `TN_ERROR_TIMEOUT`, `TN_ERROR_SWAPCHAIN`, `TN_ERROR_DEVICE_LOST`; after a change of preferred formats or modes, as
/// `tn_swapchain_resize`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_acquire(swapchain: Handle<Swapchain>, out: Out<tn_SwapchainImage>) -> tn_Status {
    let none = tn_SwapchainImage { texture: Handle::NULL, view: Handle::NULL, index: 0, reserved: 0 };
    out.set(none);
    call_status(|| {
        out.check("a tn_SwapchainImage")?;
        let image = settled(|| on!(&mut *swapchain.alone()?, swapchain => acquire(swapchain)))?;
        out.set(image.unwrap_or(none));
        Ok(if image.is_some() { TN_OK } else { TN_NOT_READY })
    })
}

/// The result of a call that may wait until nothing holds the old images. It calls destroy functions, and objects that these release
/// otherwise end after the call: then it is tried again without them.
fn settled<T>(call: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    match call() {
        Err(failure) if failure.status() == TN_ERROR_SWAPCHAIN && callback::settle_all() => call(),
        result => result,
    }
}

fn acquire<D: Backend>(swapchain: &mut SwapchainOf<D>) -> Result<Option<tn_SwapchainImage>, Failure> {
    let Some(image) = swapchain.acquire()? else { return Ok(None) };
    let mut handles = Loans::default();
    let texture = handles.lend(D::texture(ResourceOf::of_image(&image)))?;
    let view = handles.lend(D::view_object(image.view().share()))?;
    let index = image.index();
    swapchain.keep(handles, image);
    Ok(Some(tn_SwapchainImage { texture, view, index, reserved: 0 }))
}

/// Makes a recording wait until the acquired image is available: the first recording, in submission order, that uses it. The whole
/// recording waits: in a graph, set `TN_PASS_BEGINS_RECORDING` for the pass.
///
/// Errors: `TN_ERROR_SWAPCHAIN` without an image; `TN_ERROR_FOREIGN`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_begin(swapchain: Handle<Swapchain>, recording: Handle<Recording>) -> tn_Status {
    call(|| {
        let (swapchain, mut recording) = (swapchain.alone()?, recording.alone()?);
        on!((&*swapchain, &mut *recording), (swapchain, list) => swapchain.image()?.begin(list)?);
        Ok(())
    })
}

/// Transitions the acquired image for presentation, in the last recording that uses it. Includes `tn_swapchain_begin` if no
/// recording has called it.
///
/// Errors: as `tn_swapchain_begin`; `TN_ERROR_SWAPCHAIN` for a repeated call, and while the recording that called
/// `tn_swapchain_begin` is open on another queue.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_finish(swapchain: Handle<Swapchain>, recording: Handle<Recording>) -> tn_Status {
    call(|| {
        let (swapchain, mut recording) = (swapchain.alone()?, recording.alone()?);
        on!((&*swapchain, &mut *recording), (swapchain, list) => swapchain.image()?.finish(list)?);
        Ok(())
    })
}

/// Presents the acquired image, after the submission of the recording that called `tn_swapchain_finish`. Its handles become invalid
/// in any case; an image that could not be presented is returned by the next acquire.
///
/// Errors: `TN_ERROR_SWAPCHAIN` without an image, and for one that is not finished; `TN_ERROR_DEVICE`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_present(swapchain: Handle<Swapchain>) -> tn_Status {
    call(|| on!(&mut *swapchain.alone()?, swapchain => swapchain.present()))
}

/// Resizes the images to the window; a size with a 0 means that the window is minimised. If the size has not changed, the images
/// stay. In any case, also on error, the handles of an acquired image become invalid: the next acquire returns it again, or another.
///
/// Errors: `TN_ERROR_SWAPCHAIN` while views or open recordings of the program use an image, and for a window that is gone;
/// `TN_ERROR_TIMEOUT`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_resize(swapchain: Handle<Swapchain>, width: u32, height: u32) -> tn_Status {
    let resize = || on!(&mut *swapchain.alone()?, swapchain => swapchain.resize([width, height]));
    call(|| settled(resize))
}

/// Size, format and mode of a swap chain, and whether it matches its window.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_properties(
    swapchain: Handle<Swapchain>,
    out: Out<tn_SwapchainProperties>,
) -> tn_Status {
    call(|| {
        out.check_head()?;
        out.set(on!(&mut *swapchain.alone()?, swapchain => swapchain.properties(out.size())));
        Ok(())
    })
}

/// The formats and modes currently supported by the window, from the operating system.
///
/// Errors: `TN_ERROR_SWAPCHAIN` for a window that was destroyed; `TN_ERROR_DEVICE`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_offers(swapchain: Handle<Swapchain>, out: Out<tn_SwapchainOffers>) -> tn_Status {
    call(|| {
        out.check_head()?;
        out.set(on!(&mut *swapchain.alone()?, swapchain => swapchain.offers(out.size())?));
        Ok(())
    })
}

/// Replaces the preferred formats. The next `tn_swapchain_acquire` chooses again, and recreates the images if the format or color
/// space changes.
///
/// Errors: `TN_ERROR_ENUM`, `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_set_formats(
    swapchain: Handle<Swapchain>,
    formats: In<tn_SurfaceFormat>,
    count: usize,
) -> tn_Status {
    call(|| {
        let formats = self::formats(formats, count)?;
        on!(&mut *swapchain.alone()?, swapchain => swapchain.chain.set_formats(&formats));
        Ok(())
    })
}

/// Replaces the preferred modes, from the next image on.
///
/// Errors: `TN_ERROR_ENUM`, `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_set_modes(
    swapchain: Handle<Swapchain>,
    modes: In<tn_PresentMode>,
    count: usize,
) -> tn_Status {
    call(|| {
        let modes = self::modes(modes, count)?;
        on!(&mut *swapchain.alone()?, swapchain => swapchain.chain.set_modes(&modes));
        Ok(())
    })
}

/// Sets the maximum number of images queued for presentation, 1 to 16, from the next image on: `frame_latency` of
/// `tn_SwapchainDesc`. Fewer mean less latency, more keep the GPU busy where frames take longer now and then. No effect on the
/// simulated device, and on Vulkan without `VK_KHR_present_wait`.
///
/// Errors: `TN_ERROR_ARGUMENT` for a number out of range; `TN_ERROR_DEVICE`.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_set_frame_latency(swapchain: Handle<Swapchain>, frames: u32) -> tn_Status {
    call(|| {
        on!(&mut *swapchain.alone()?, swapchain => swapchain.chain.set_latency(latency(frames)?)?);
        Ok(())
    })
}

/// Sets the HDR metadata of the images, for `TN_COLOR_SPACE_HDR10`, until the next call.
///
/// Errors: `TN_ERROR_DEVICE` for values out of range, and on a device without HDR metadata.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_set_hdr_metadata(
    swapchain: Handle<Swapchain>,
    metadata: In<tn_HdrMetadata>,
) -> tn_Status {
    call(|| {
        let metadata = hdr_metadata(&metadata.value("a tn_HdrMetadata")?);
        on!(&mut *swapchain.alone()?, swapchain => swapchain.chain.set_hdr_metadata(&metadata)?);
        Ok(())
    })
}
