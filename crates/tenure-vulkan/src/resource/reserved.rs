//! Reserved (sparse) resources.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{
    CallRule, DeviceError, Dimension, ResourceDesc, TextureInfo, TileLayout, Usage, check,
};

use super::Resources;
use super::external::Handles;
use super::handle::{Backing, Resource};
use super::image::{ImagePlan, SPARSE_IMAGE};
use super::object::{Object, Plan, SPARSE_BUFFER};
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::sparse::{Sparse, Tiling};

impl Resource {
    pub(crate) fn sparse(&self) -> Result<&Sparse, DeviceError> {
        match &self.backing {
            Backing::Reserved(sparse) => Ok(sparse),
            _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
        }
    }

    pub(crate) fn tile_layout(&self) -> Result<TileLayout, DeviceError> {
        self.owner.alive()?;
        Ok(self.sparse()?.tiling.layout.clone())
    }
}

impl Resources {
    pub(crate) fn create_reserved(self: &Arc<Self>, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.alive()?;
        let plan = self.plan_reserved(desc)?;
        let bytes = self.needs_of_plan(&plan)?.memory.size;
        self.take_sparse(bytes)?;
        self.make_reserved(desc, &plan, bytes).inspect_err(|_| self.give_sparse(bytes))
    }

    fn make_reserved(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        plan: &Plan<'_>,
        bytes: u64,
    ) -> Result<Resource, DeviceError> {
        let bare = self.create(plan)?;
        let needs = self.needs_of(bare.object).memory;
        let memory_types = needs.memory_type_bits & self.tables.general_types;
        let tiling = match (desc, bare.object) {
            (ResourceDesc::Texture(info), Object::Image(image)) => {
                Tiling::image(info, (needs.alignment, memory_types), &self.sparse_requirements(image)?)
            }
            _ => Tiling::buffer(needs.size, needs.alignment, memory_types),
        };
        let sparse = Box::new(Sparse { tiling, bytes, table: Mutex::default() });
        Ok(self.resource(bare.keep(), desc, plan, Backing::Reserved(sparse)))
    }

    /// Takes address space for a sparse resource: all together have `sparseAddressSpaceSize`.
    fn take_sparse(&self, bytes: u64) -> Result<(), DeviceError> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.tables.sparse_space);
        let taken = self.sparse_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| DeviceError::OutOfDeviceMemory { what: "sparseAddressSpaceSize" })
    }

    /// Gives back bytes from [`take_sparse`](Self::take_sparse).
    pub(crate) fn give_sparse(&self, bytes: u64) {
        self.sparse_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn plan_reserved<'a>(&self, desc: &'a ResourceDesc) -> Result<Plan<'a>, DeviceError> {
        check::reserved_usage(desc)?;
        match desc {
            ResourceDesc::Buffer(info) => {
                if !self.api.uses(OptionalFeatures::SPARSE_BUFFERS) {
                    return Err(unsupported("reserved (sparse) buffers"));
                }
                desc.validate()?;
                let most = self.tables.max_buffer.min(self.tables.sparse_space);
                self.plan_buffer(info, most, SPARSE_BUFFER, Handles::None)
            }
            ResourceDesc::Texture(info) => {
                self.check_sparse_texture(info)?;
                let plan = self.plan_image(info, SPARSE_IMAGE, Handles::None)?;
                self.check_sparse_format(&plan)?;
                Ok(Plan::Image { info, plan })
            }
        }
    }

    fn check_sparse_texture(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        if !self.api.uses(OptionalFeatures::SPARSE_TEXTURES) {
            return Err(unsupported("reserved (sparse) textures"));
        }
        if info.dimension != Dimension::D2 {
            return Err(unsupported("reserved (sparse) 3D textures"));
        }
        if info.samples > 1 || info.usage.contains(Usage::DEPTH_STENCIL) || info.format.is_depth() {
            return Err(unsupported("reserved (sparse) depth-stencil or multisampled textures"));
        }
        Ok(())
    }

    fn check_sparse_format(&self, plan: &ImagePlan) -> Result<(), DeviceError> {
        let info = vk::PhysicalDeviceSparseImageFormatInfo2::default()
            .format(plan.format)
            .ty(plan.kind)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(plan.usage)
            .tiling(vk::ImageTiling::OPTIMAL);
        let (instance, physical) = (&self.api.instance, self.api.physical);
        // SAFETY: the physical device is one of the instance's, the version at least 1.1.
        let kinds =
            unsafe { instance.get_physical_device_sparse_image_format_properties2_len(physical, &info) };
        if kinds == 0 { Err(unsupported("reserved (sparse) textures of this format")) } else { Ok(()) }
    }

    /// How the colour of a sparse image is tiled.
    fn sparse_requirements(
        &self,
        image: vk::Image,
    ) -> Result<vk::SparseImageMemoryRequirements, DeviceError> {
        // SAFETY: the image is alive and was created for sparse residency.
        let found = unsafe { self.api.device.get_image_sparse_memory_requirements(image) };
        let is_of = |aspect| {
            move |found: &&vk::SparseImageMemoryRequirements| {
                found.format_properties.aspect_mask.contains(aspect)
            }
        };
        if found.iter().any(|found| is_of(vk::ImageAspectFlags::METADATA)(&found)) {
            return Err(unsupported("reserved (sparse) textures with metadata to be mapped"));
        }
        let color = found.iter().find(is_of(vk::ImageAspectFlags::COLOR)).copied();
        color.ok_or(unsupported("reserved (sparse) textures of this format"))
    }
}
