//! The formats and modes supported by a surface, and the program's preferences.

use ash::vk;
use tenure_core::device::{DeviceError, Format};
use tenure_core::{ColorSpace, Error, HdrMetadata, PresentMode, SurfaceFormat, SwapchainRule};

use super::choose;
use super::swapchain::Swapchain;
use crate::error::unsupported;
use crate::format::to_vk_format;

const NO_METADATA: DeviceError =
    unsupported("HDR metadata (VK_EXT_hdr_metadata, with DeviceConfig::presentation)");

impl Swapchain {
    /// The formats that the window offers now for the [usage](tenure_core::SwapchainDesc::usage) of the images.
    ///
    /// Colour spaces other than [`ColorSpace::Srgb`] need `VK_EXT_swapchain_colorspace`: tenure enables it where it
    /// is available, a program that wraps its own device does so itself.
    ///
    /// # Errors
    /// [`SwapchainRule::WindowLost`]; [`Error::Device`].
    pub fn offered_formats(&self) -> Result<Vec<SurfaceFormat>, Error> {
        let offered = self.surface_formats()?;
        let formats = Format::ALL
            .iter()
            .flat_map(|format| ColorSpace::ALL.map(|color_space| SurfaceFormat::new(*format, color_space)));
        Ok(formats.filter(|format| self.is_offered(*format, &offered)).collect())
    }

    /// The present modes that the window offers now.
    ///
    /// # Errors
    /// [`SwapchainRule::WindowLost`]; [`Error::Device`].
    pub fn offered_modes(&self) -> Result<Vec<PresentMode>, Error> {
        let offered = self.surface_modes()?;
        let is_offered = |mode: &PresentMode| offered.contains(&choose::vk_mode(*mode));
        Ok(PresentMode::ALL.into_iter().filter(is_offered).collect())
    }

    /// Replaces the [preferred formats](tenure_core::SwapchainDesc::formats). The next [`acquire`](Self::acquire)
    /// chooses again, and creates new images if the format or colour space has changed. Until then an acquired
    /// image can be drawn and presented. If the window offers none of these, nor
    /// [`format`](tenure_core::SwapchainDesc::format), the images stay.
    ///
    /// If that fails, there is no image until the next successful [`resize`](Self::resize):
    /// [`is_outdated`](Self::is_outdated) returns true.
    pub fn set_formats(&mut self, formats: &[SurfaceFormat]) {
        self.desc.formats = formats.to_vec();
        (self.is_rewished, self.is_format_open) = (true, true);
    }

    /// Replaces the [preferred modes](tenure_core::SwapchainDesc::modes), as [`set_formats`](Self::set_formats)
    /// does the formats.
    pub fn set_modes(&mut self, modes: &[PresentMode]) {
        self.desc.modes = modes.to_vec();
        self.is_rewished = true;
    }

    /// Describes HDR images to the screen, now and after each change of the images (`VK_EXT_hdr_metadata`).
    ///
    /// # Errors
    /// [`Error::Device`]: values out of range, no such extension, or the device is lost.
    pub fn set_hdr_metadata(&mut self, metadata: &HdrMetadata) -> Result<(), Error> {
        self.alive()?;
        metadata.check().map_err(|source| self.device_error(source))?;
        if self.calls.hdr.is_none() {
            return Err(self.device_error(NO_METADATA));
        }
        self.metadata = Some(*metadata);
        self.describe();
        Ok(())
    }

    /// Sets the metadata of the chain.
    pub(super) fn describe(&self) {
        let (Some(hdr), Some(metadata), Some(current)) = (&self.calls.hdr, &self.metadata, &self.current)
        else {
            return;
        };
        let point = |[x, y]: [f32; 2]| vk::XYColorEXT { x, y };
        let [red, green, blue] = metadata.primaries.map(point);
        let metadata = vk::HdrMetadataEXT::default()
            .display_primary_red(red)
            .display_primary_green(green)
            .display_primary_blue(blue)
            .white_point(point(metadata.white_point))
            .max_luminance(metadata.max_luminance)
            .min_luminance(metadata.min_luminance)
            .max_content_light_level(metadata.max_content_light)
            .max_frame_average_light_level(metadata.max_frame_average_light);
        // SAFETY: the chain is alive and of this device, whose extension is enabled.
        unsafe { hdr.set_hdr_metadata(&[current.chain.handle], &[metadata]) };
    }

    /// The current format while the preferences are unchanged and the window supports it, otherwise the one that they
    /// choose. If the window supports none of the preferred formats, the current one is kept.
    pub(super) fn choose_format(&self, current: Option<SurfaceFormat>) -> Result<SurfaceFormat, Error> {
        let offered = self.surface_formats()?;
        let is_offered = |format| self.is_offered(format, &offered);
        let current = current.filter(|format| is_offered(*format));
        let kept = current.filter(|_| !self.is_format_open);
        let format = kept.or_else(|| self.desc.choose_format(is_offered)).or(current);
        format.ok_or_else(|| self.broken(SwapchainRule::Format))
    }

    fn is_offered(&self, format: SurfaceFormat, offered: &[vk::SurfaceFormatKHR]) -> bool {
        let (resources, usage) = (self.gpu.device().resources(), choose::flags(&self.desc));
        choose::is_offered(format, offered)
            && resources.has_images(to_vk_format(format.format), usage).unwrap_or(false)
    }

    fn surface_formats(&self) -> Result<Vec<vk::SurfaceFormatKHR>, Error> {
        let physical = self.queues().api.physical;
        // SAFETY: the surface is alive and of this instance.
        let offered =
            unsafe { self.calls.surface.get_physical_device_surface_formats(physical, self.surface) };
        offered.map_err(|result| self.failed("vkGetPhysicalDeviceSurfaceFormatsKHR", result))
    }

    pub(super) fn surface_modes(&self) -> Result<Vec<vk::PresentModeKHR>, Error> {
        let physical = self.queues().api.physical;
        // SAFETY: the surface is alive and of this instance.
        let offered =
            unsafe { self.calls.surface.get_physical_device_surface_present_modes(physical, self.surface) };
        offered.map_err(|result| self.failed("vkGetPhysicalDeviceSurfacePresentModesKHR", result))
    }
}
