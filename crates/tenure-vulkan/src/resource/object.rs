//! API objects, without memory, and the handle types for sharing their memory.

use ash::vk;
use tenure_core::device::{Allowed, BufferInfo, DeviceError, ResourceDesc, TextureInfo, Usage};

use super::Resources;
use super::image::ImagePlan;
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::format::samples;
use crate::memory::HandleTypes;
use crate::usage::buffer_usage;

/// A buffer or an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    Buffer(vk::Buffer),
    Image(vk::Image),
}

/// The creation parameters of an object.
#[derive(Clone, Debug)]
pub(crate) enum Plan<'a> {
    Buffer {
        size: u64,
        usage: vk::BufferUsageFlags,
        flags: vk::BufferCreateFlags,
        /// The handle types for export, or the type of its import.
        external: HandleTypes,
    },
    Image {
        info: &'a TextureInfo,
        plan: ImagePlan,
    },
}

pub(crate) const SPARSE_BUFFER: vk::BufferCreateFlags = vk::BufferCreateFlags::from_raw(
    vk::BufferCreateFlags::SPARSE_BINDING.as_raw()
        | vk::BufferCreateFlags::SPARSE_RESIDENCY.as_raw()
        | vk::BufferCreateFlags::SPARSE_ALIASED.as_raw(),
);

impl Resources {
    /// The plan of a resource with plain memory, or with memory for export if it is shared, checked against all
    /// limits of the device.
    pub(crate) fn plan<'a>(&self, desc: &'a ResourceDesc) -> Result<Plan<'a>, DeviceError> {
        match desc {
            ResourceDesc::Buffer(info) => {
                desc.validate()?;
                let most = self.tables.properties.max_buffer_size;
                self.plan_buffer(info, most, vk::BufferCreateFlags::empty(), Handles::of(info.usage))
            }
            ResourceDesc::Texture(info) => {
                let plan = self.known_image(info, |known| known.plan.clone())?;
                Ok(Plan::Image { info, plan })
            }
        }
    }

    /// The plan of a resource whose memory is imported by such a handle.
    pub(crate) fn plan_import<'a>(
        &self,
        desc: &'a ResourceDesc,
        handle: HandleTypes,
    ) -> Result<Plan<'a>, DeviceError> {
        desc.validate()?;
        let handles = Handles::Imported(handle);
        match desc {
            ResourceDesc::Buffer(info) => {
                let most = self.tables.properties.max_buffer_size;
                self.plan_buffer(info, most, vk::BufferCreateFlags::empty(), handles)
            }
            ResourceDesc::Texture(info) => {
                let plan = self.plan_image(info, vk::ImageCreateFlags::empty(), handles)?;
                Ok(Plan::Image { info, plan })
            }
        }
    }

    pub(crate) fn plan_buffer(
        &self,
        info: &BufferInfo,
        most: u64,
        flags: vk::BufferCreateFlags,
        handles: Handles,
    ) -> Result<Plan<'static>, DeviceError> {
        if info.size > most {
            return Err(DeviceError::invalid_desc("size", info.size, Allowed::AtMost(most)));
        }
        self.check_peers(info.usage)?;
        let structures = self.api.uses(OptionalFeatures::ACCELERATION_STRUCTURES);
        if info.usage.contains(Usage::ACCELERATION_STRUCTURE) && !structures {
            return Err(unsupported("acceleration structures (VK_KHR_acceleration_structure)"));
        }
        let pipelines = self.api.uses(OptionalFeatures::RAY_TRACING_PIPELINES);
        if info.usage.contains(Usage::SHADER_BINDING_TABLE) && !pipelines {
            return Err(unsupported("shader binding tables (VK_KHR_ray_tracing_pipeline)"));
        }
        let usage = buffer_usage(info.usage, self.api.address.is_some(), structures);
        if usage.is_empty() {
            return Err(DeviceError::invalid_desc(
                "usage",
                info.usage,
                Allowed::Rule("at least one use that Vulkan has for buffers"),
            ));
        }
        let external = self.handles_of_buffer(handles, usage, flags)?;
        Ok(Plan::Buffer { size: info.size, usage, flags, external })
    }

    /// Calls `run` with the create info of a buffer. All families share it.
    pub(crate) fn with_buffer_info<T>(
        &self,
        size: u64,
        usage: vk::BufferUsageFlags,
        flags: vk::BufferCreateFlags,
        external: HandleTypes,
        run: impl FnOnce(&vk::BufferCreateInfo<'_>) -> T,
    ) -> T {
        let mut handles = vk::ExternalMemoryBufferCreateInfo::default().handle_types(external);
        let mut info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(usage)
            .flags(flags)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        if self.families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&self.families);
        }
        if !external.is_empty() {
            info = info.push_next(&mut handles);
        }
        run(&info)
    }

    /// Calls `run` with the create info of an image.
    pub(crate) fn with_image_info<T>(
        &self,
        info: &TextureInfo,
        plan: &ImagePlan,
        run: impl FnOnce(&vk::ImageCreateInfo<'_>) -> T,
    ) -> T {
        let [width, height, depth] = info.mip_extent(0);
        let mut formats = vk::ImageFormatListCreateInfo::default().view_formats(&plan.view_formats);
        let mut create = vk::ImageCreateInfo::default()
            .flags(plan.flags)
            .image_type(plan.kind)
            .format(plan.format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(info.mips)
            .array_layers(info.layers())
            .samples(samples(info.samples))
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(plan.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED);
        if self.families.len() > 1 && info.usage.is_of_all_queues() {
            create = create.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(&self.families);
        }
        if !plan.view_formats.is_empty() && self.api.uses(OptionalFeatures::FORMAT_LISTS) {
            create = create.push_next(&mut formats);
        }
        let mut handles = vk::ExternalMemoryImageCreateInfo::default().handle_types(plan.external);
        if !plan.external.is_empty() {
            create = create.push_next(&mut handles);
        }
        run(&create)
    }

    /// Creates the object of a plan.
    pub(crate) fn create(&self, plan: &Plan<'_>) -> Result<Bare<'_>, DeviceError> {
        let device = &self.api.device;
        let object = match plan {
            Plan::Buffer { size, usage, flags, external } => {
                let made = self.with_buffer_info(*size, *usage, *flags, *external, |info| {
                    // SAFETY: `info` was checked against the limits of the device.
                    unsafe { device.create_buffer(info, None) }
                });
                Object::Buffer(made.map_err(|result| self.error("vkCreateBuffer", result))?)
            }
            Plan::Image { info, plan } => {
                let made = self.with_image_info(info, plan, |info| {
                    // SAFETY: `info` was checked against the device's limits.
                    unsafe { device.create_image(info, None) }
                });
                Object::Image(made.map_err(|result| self.error("vkCreateImage", result))?)
            }
        };
        Ok(Bare { owner: self, object, is_kept: false })
    }

    /// Destroys an object that the GPU no longer uses.
    pub(crate) fn destroy_object(&self, object: Object) {
        match object {
            // SAFETY: it is of this device, and the caller made sure that it is not in use.
            Object::Buffer(buffer) => unsafe { self.api.device.destroy_buffer(buffer, None) },
            // SAFETY: as above.
            Object::Image(image) => unsafe { self.api.device.destroy_image(image, None) },
        }
    }
}

/// A newly created object, destroyed on drop unless it is kept.
pub(crate) struct Bare<'a> {
    owner: &'a Resources,
    pub(crate) object: Object,
    is_kept: bool,
}

impl Bare<'_> {
    /// Keeps it, for a resource.
    pub(crate) fn keep(mut self) -> Object {
        self.is_kept = true;
        self.object
    }
}

impl Drop for Bare<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.owner.destroy_object(self.object);
        }
    }
}

/// The sharing of a resource's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handles {
    /// It is not shared.
    None,
    /// It is exported, by all handle types that the device supports.
    Exported,
    /// It is imported, by a handle of this type.
    Imported(HandleTypes),
}

impl Handles {
    pub(crate) const fn of(usage: Usage) -> Self {
        if usage.contains(Usage::SHARED) { Self::Exported } else { Self::None }
    }
}

impl Resources {
    /// Peers of other drivers take a resource from a queue family of their own.
    pub(crate) fn check_peers(&self, usage: Usage) -> Result<(), DeviceError> {
        let has_family = self.api.uses(OptionalFeatures::QUEUE_FAMILY_FOREIGN);
        match usage.contains(Usage::SHARED_ACROSS_DRIVERS) && !has_family {
            true => Err(unsupported("memory shared across drivers (VK_EXT_queue_family_foreign)")),
            false => Ok(()),
        }
    }

    /// The handle types for sharing the memory of a buffer.
    pub(super) fn handles_of_buffer(
        &self,
        handles: Handles,
        usage: vk::BufferUsageFlags,
        flags: vk::BufferCreateFlags,
    ) -> Result<HandleTypes, DeviceError> {
        self.handles(handles, |handle| {
            let info =
                vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).flags(flags).handle_type(handle);
            let mut found = vk::ExternalBufferProperties::default();
            let (instance, physical) = (&self.api.instance, self.api.physical);
            // SAFETY: the physical device is one of the instance's, the version at least 1.1.
            unsafe { instance.get_physical_device_external_buffer_properties(physical, &info, &mut found) };
            Ok(found.external_memory_properties)
        })
    }

    /// The handle types of a resource, by the driver's properties of one type.
    pub(super) fn handles(
        &self,
        handles: Handles,
        ask: impl Fn(HandleTypes) -> Result<vk::ExternalMemoryProperties, DeviceError>,
    ) -> Result<HandleTypes, DeviceError> {
        use vk::ExternalMemoryFeatureFlags as Can;
        match handles {
            Handles::None => Ok(HandleTypes::empty()),
            Handles::Imported(handle) => {
                match ask(handle)?.external_memory_features.contains(Can::IMPORTABLE) {
                    true => Ok(handle),
                    false => {
                        Err(unsupported("importing the memory of such a resource by this kind of handle"))
                    }
                }
            }
            Handles::Exported => {
                if !self.api.uses(OptionalFeatures::EXTERNAL_MEMORY_FD) {
                    return Err(unsupported("shared memory (VK_KHR_external_memory_fd)"));
                }
                let mut types = HandleTypes::empty();
                for handle in self.exported_types() {
                    let found = ask(handle)?;
                    let is_exported = found.external_memory_features.contains(Can::EXPORTABLE);
                    if is_exported && found.compatible_handle_types.contains(types) {
                        types |= handle;
                    }
                }
                match types.is_empty() {
                    true => Err(unsupported("exporting the memory of such a resource")),
                    false => Ok(types),
                }
            }
        }
    }

    /// The handle types to try, the most useful first.
    fn exported_types(&self) -> impl Iterator<Item = HandleTypes> {
        let has_dma_buf = self.api.uses(OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF);
        let dma_buf = has_dma_buf.then_some(HandleTypes::DMA_BUF_EXT);
        [HandleTypes::OPAQUE_FD].into_iter().chain(dma_buf)
    }
}
