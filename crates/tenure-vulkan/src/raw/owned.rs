//! Vulkan objects that destroy themselves.

use core::fmt;
use core::ops::Deref;

use ash::vk;

use crate::device::Device;

mod sealed {
    use super::Device;

    pub trait Sealed: Copy {
        /// # Safety
        /// The object is of this device, and neither in use now nor used afterwards.
        unsafe fn destroy(self, device: &Device);
    }
}

/// Objects that an [`Owned`] destroys.
pub trait Destroy: sealed::Sealed {}

macro_rules! destroyed_by {
    ($($object:ident: $destroy:ident,)*) => {$(
        impl Destroy for vk::$object {}

        impl sealed::Sealed for vk::$object {
            unsafe fn destroy(self, device: &Device) {
                // SAFETY: the caller promises the requirements of the call.
                unsafe { device.raw().$destroy(self, None) };
            }
        }
    )*};
}

destroyed_by! {
    BufferView: destroy_buffer_view,
    DescriptorPool: destroy_descriptor_pool,
    DescriptorSetLayout: destroy_descriptor_set_layout,
    Framebuffer: destroy_framebuffer,
    ImageView: destroy_image_view,
    Pipeline: destroy_pipeline,
    PipelineCache: destroy_pipeline_cache,
    PipelineLayout: destroy_pipeline_layout,
    RenderPass: destroy_render_pass,
    Sampler: destroy_sampler,
    Semaphore: destroy_semaphore,
    ShaderModule: destroy_shader_module,
}

impl Destroy for vk::SurfaceKHR {}

impl sealed::Sealed for vk::SurfaceKHR {
    unsafe fn destroy(self, device: &Device) {
        if let Some(entry) = device.entry() {
            let calls = ash::khr::surface::Instance::new(entry, device.instance());
            // SAFETY: the caller promises the requirements of the call.
            unsafe { calls.destroy_surface(self, None) };
        }
    }
}

/// The program's own Vulkan object, destroyed when this is dropped: immediately, so keep objects that the GPU
/// uses in a [`Deferred`](tenure_core::Deferred). It keeps the device alive.
///
/// A surface is not destroyed on a device that was wrapped without its loader
/// ([`Raw::entry`](crate::Raw::entry)).
///
/// ```no_run
/// use ash::vk;
/// use tenure_core::{Deferred, Gpu};
/// use tenure_vulkan::{Device, Owned};
///
/// fn sampler(gpu: &Gpu<Device>) -> Result<Deferred<Device, Owned<vk::Sampler>>, vk::Result> {
///     let device = gpu.device();
///     // SAFETY: the description is valid, and nothing else destroys the sampler.
///     let sampler = unsafe { device.own(device.raw().create_sampler(&vk::SamplerCreateInfo::default(), None)?) };
///     Ok(gpu.defer("sampler", sampler))
/// }
/// ```
pub struct Owned<T: Destroy> {
    object: T,
    device: Device,
}

impl Device {
    /// Takes ownership of an object created by the program.
    ///
    /// # Safety
    /// The object is of this device (a surface: of its instance), and no other code destroys it. When the
    /// [`Owned`] is dropped, the object is no longer in use.
    pub unsafe fn own<T: Destroy>(&self, object: T) -> Owned<T> {
        Owned { object, device: self.clone() }
    }
}

impl<T: Destroy> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: Destroy> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the creator of this value guarantees the requirements of the destruction.
        unsafe { self.object.destroy(&self.device) };
    }
}

impl<T: Destroy + fmt::Debug> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owned").field(&self.object).finish()
    }
}
