//! Presentation without a window, for `tenure doctor`.

use std::time::{Duration, Instant};

use tenure::present::SwapchainDesc;
use tenure::vulkan::ash::vk;
use tenure::vulkan::{CreateError, Device, DeviceConfig, OptionalFeatures, Swapchain, adapters, ash};
use tenure::{Config, Gpu, Queue};

use crate::examined::{Failure, Presentation};

/// Number of presented images.
const IMAGES: u32 = 8;
/// Side of an image in texels.
const SIDE: u32 = 16;

fn failed(error: impl ToString) -> Failure {
    Failure::Failed(error.to_string())
}

/// Maps a driver without headless surfaces to `Unsupported`, which is not a failure.
fn not_created(error: CreateError) -> Failure {
    match error {
        CreateError::NoExtension { .. } => Failure::Unsupported(error.to_string()),
        _ => failed(error),
    }
}

fn unsupported() -> Failure {
    Failure::Unsupported("the driver has no surfaces without a window (VK_EXT_headless_surface)".to_owned())
}

/// A surface without a window. It must be dropped after its swap chain.
struct Headless {
    calls: ash::khr::surface::Instance,
    surface: vk::SurfaceKHR,
}

impl Headless {
    fn new(device: &Device) -> Result<Self, Failure> {
        let (entry, instance) = (device.entry().ok_or_else(unsupported)?, device.instance());
        let name = c"vkCreateHeadlessSurfaceEXT";
        // SAFETY: the instance is alive, and the name a valid string.
        unsafe { entry.get_instance_proc_addr(instance.handle(), name.as_ptr()) }.ok_or_else(unsupported)?;
        let headless = ash::ext::headless_surface::Instance::new(entry, instance);
        let info = vk::HeadlessSurfaceCreateInfoEXT::default();
        // SAFETY: the extension is enabled, because its function was found.
        let surface = unsafe { headless.create_headless_surface(&info, None) }.map_err(failed)?;
        Ok(Self { calls: ash::khr::surface::Instance::new(entry, instance), surface })
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        // SAFETY: this value created the surface, and its swap chain was dropped before.
        unsafe { self.calls.destroy_surface(self.surface, None) };
    }
}

/// Presents images on the adapter with this index, and destroys the swap chain.
pub(super) fn present(number: usize, found: &mut Presentation) -> Result<(), Failure> {
    let options = DeviceConfig::default().presentation(true);
    let adapters = adapters(&options).map_err(not_created)?;
    let adapter = adapters.get(number).ok_or_else(|| failed("the adapter is gone"))?;
    let device = adapter.create(&options).map_err(not_created)?;
    found.has_fences = device.optional_features().contains(OptionalFeatures::SWAPCHAIN_MAINTENANCE1);
    let gpu = Gpu::new(device, Config::default())?;
    let headless = Headless::new(gpu.device())?;
    let desc = SwapchainDesc::new([SIDE, SIDE]).name("examined");
    // SAFETY: the surface lives longer than the swap chain.
    let mut swapchain = unsafe { Swapchain::new(&gpu, headless.surface, &desc) }?;
    for _ in 0..IMAGES {
        let Some(image) = swapchain.acquire()? else { break };
        let mut recording = gpu.record(Queue::Graphics, "picture")?;
        image.finish(&mut recording)?;
        recording.submit()?;
        swapchain.present(image)?;
        found.presented += 1;
    }
    if !gpu.wait(&gpu.submitted(), Duration::from_secs(5))? {
        return Err(failed("the GPU did not finish in 5 s"));
    }
    let begun = Instant::now();
    drop(swapchain);
    found.destroyed_nanoseconds = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(())
}
