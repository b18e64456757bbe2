//! Swap chains: shared code of the tests of all window systems.

mod faults;
mod headless;
mod latency;
#[cfg(target_os = "linux")]
mod windows;
mod wishes;

use tenure_core::device::Format;
use tenure_core::{Error, Gpu, Queue, Recording, State, Subresource, SwapchainDesc, SwapchainImage, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig, OptionalFeatures, RawView as _, Swapchain, ash};

use crate::harness::validated;

/// The options with and without fences for presentations.
fn all_options() -> [DeviceConfig; 2] {
    let options = validated().presentation(true);
    [options.clone(), options.without(OptionalFeatures::SWAPCHAIN_MAINTENANCE1)]
}

/// Red, green, blue and alpha of the picture of frame `frame`; each is 0 or 1, so that no format rounds it.
fn color(frame: u32) -> [f32; 4] {
    let bit = |bit: u32| if frame & (1_u32 << bit) == 0 { 0.0 } else { 1.0 };
    [bit(0), bit(1), bit(2), 1.0]
}

/// A render pass that clears the image to a color, in the layout that images are drawn to in.
struct Painter {
    device: Device,
    pass: vk::RenderPass,
    framebuffers: Vec<vk::Framebuffer>,
}

impl Painter {
    fn new(device: &Device, format: Format) -> Self {
        let layout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
        let attachments = [vk::AttachmentDescription::default()
            .format(tenure_vulkan::to_vk_format(format))
            .samples(vk::SampleCountFlags::TYPE_1)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .initial_layout(layout)
            .final_layout(layout)];
        let colors = [vk::AttachmentReference { attachment: 0, layout }];
        let subpasses = [vk::SubpassDescription::default().color_attachments(&colors)];
        let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
        // SAFETY: the description is valid.
        let pass = unsafe { device.raw().create_render_pass(&info, None) }.unwrap();
        Self { device: device.clone(), pass, framebuffers: Vec::new() }
    }

    fn paint(&mut self, recording: &mut Recording<Device>, image: &SwapchainImage<Device>, color: [f32; 4]) {
        recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET).unwrap();
        let views = [image.view().image_view()];
        let info = image.texture().info();
        let extent = vk::Extent2D { width: info.width, height: info.height };
        let frame = vk::FramebufferCreateInfo::default()
            .render_pass(self.pass)
            .attachments(&views)
            .width(extent.width)
            .height(extent.height)
            .layers(1);
        let clears = [vk::ClearValue { color: vk::ClearColorValue { float32: color } }];
        recording.barriers();
        let buffer = recording.raw().command_buffer();
        // SAFETY: the description is valid, the list open, and the view lives until the GPU is done.
        unsafe {
            let framebuffer = self.device.raw().create_framebuffer(&frame, None).unwrap();
            self.framebuffers.push(framebuffer);
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(self.pass)
                .framebuffer(framebuffer)
                .render_area(vk::Rect2D { extent, ..Default::default() })
                .clear_values(&clears);
            self.device.raw().cmd_begin_render_pass(buffer, &begin, vk::SubpassContents::INLINE);
            self.device.raw().cmd_end_render_pass(buffer);
        }
    }
}

impl Painter {
    /// Destroys the objects of the frames, when the GPU is done.
    fn end_frames(&mut self) {
        for framebuffer in self.framebuffers.drain(..) {
            // SAFETY: it is ours, and not in use, says the caller.
            unsafe { self.device.raw().destroy_framebuffer(framebuffer, None) };
        }
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        // SAFETY: one thread uses the device; the render pass is not in use then.
        unsafe {
            let _ = self.device.raw().device_wait_idle();
            self.end_frames();
            self.device.raw().destroy_render_pass(self.pass, None);
        }
    }
}

/// One frame: acquire, draw, present. False when nothing could be shown.
fn frame(
    gpu: &Gpu<Device>,
    swapchain: &mut Swapchain,
    painter: &mut Painter,
    number: u32,
) -> Result<bool, Error> {
    let frame = gpu.begin_frame()?;
    let Some(image) = swapchain.acquire()? else {
        frame.end()?;
        return Ok(false);
    };
    let mut recording = frame.record(Queue::Graphics, "picture")?;
    image.begin(&mut recording)?;
    painter.paint(&mut recording, &image, color(number));
    image.finish(&mut recording)?;
    frame.submit(recording)?;
    swapchain.present(image)?;
    frame.end()?;
    Ok(true)
}

fn desc(size: [u32; 2]) -> SwapchainDesc {
    SwapchainDesc::new(size).usage(Usage::COPY_SRC)
}

/// A surface that no window shows.
struct Headless {
    calls: ash::khr::surface::Instance,
    surface: vk::SurfaceKHR,
}

impl Headless {
    /// `None` where there are none.
    fn new(device: &Device) -> Option<Self> {
        let (entry, instance) = (device.entry().unwrap(), device.instance());
        let name = c"vkCreateHeadlessSurfaceEXT";
        // SAFETY: the instance is alive, and the name a valid string.
        unsafe { entry.get_instance_proc_addr(instance.handle(), name.as_ptr()) }?;
        let headless = ash::ext::headless_surface::Instance::new(entry, instance);
        // SAFETY: the extension is enabled, as its function is there.
        let surface = unsafe { headless.create_headless_surface(&Default::default(), None) }.unwrap();
        Some(Self { calls: ash::khr::surface::Instance::new(entry, instance), surface })
    }

    fn swapchain(&self, gpu: &Gpu<Device>, desc: &SwapchainDesc) -> Result<Swapchain, Error> {
        // SAFETY: the surface is dropped last.
        unsafe { Swapchain::new(gpu, self.surface, desc) }
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        // SAFETY: the tests drop the swap chain before.
        unsafe { self.calls.destroy_surface(self.surface, None) };
    }
}
