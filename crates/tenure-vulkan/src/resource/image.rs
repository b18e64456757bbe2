//! The images supported by a device.

use std::collections::HashMap;

use ash::vk;
use parking_lot::RwLock;
use smallvec::SmallVec;
use tenure_core::device::{
    Allowed, Compression, DeviceError, Dimension, Format, TEXTURE_WRITES, TextureInfo, Usage,
};

use super::Resources;
use super::create::Needs;
use super::object::Handles;
use super::object::Plan;
use crate::error::{unsupported, unsupported_format};
use crate::format::{component_bits, samples, to_vk_format};
use crate::memory::HandleTypes;
use crate::usage::image_usage;

/// The parameters of a format query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Question {
    format: vk::Format,
    kind: vk::ImageType,
    usage: vk::ImageUsageFlags,
    flags: vk::ImageCreateFlags,
    /// The handle type for sharing its memory; empty: none.
    external: HandleTypes,
}

/// The largest image of that kind, and the export and import features of the requested handle.
#[derive(Clone, Copy, Debug)]
struct Found {
    limits: vk::ImageFormatProperties,
    external: vk::ExternalMemoryProperties,
    /// A usage for writes by the CPU does not slow down the GPU's accesses.
    is_optimal: bool,
}

/// `None`: such images are not supported.
type Answer = Option<Found>;

/// Cached results of the driver: they never change, and few differ.
#[derive(Default)]
pub(crate) struct ImageSupport(RwLock<HashMap<Question, Answer>>);

/// The properties of the formats queried so far: they never change.
#[derive(Default)]
pub(crate) struct FormatProperties(RwLock<HashMap<vk::Format, vk::FormatProperties>>);

/// The creation parameters of an image, except its extent.
#[derive(Clone, Debug)]
pub(crate) struct ImagePlan {
    pub(crate) flags: vk::ImageCreateFlags,
    pub(crate) kind: vk::ImageType,
    pub(crate) format: vk::Format,
    pub(crate) usage: vk::ImageUsageFlags,
    /// The image's own first; empty when views have no other.
    pub(crate) view_formats: SmallVec<[vk::Format; 4]>,
    /// The handle types for export, or the type of its import.
    pub(crate) external: HandleTypes,
}

/// The cached properties of an image before its creation.
#[derive(Clone)]
pub(crate) struct KnownImage {
    pub(crate) plan: ImagePlan,
    pub(crate) needs: Needs,
}

pub(crate) const SPARSE_IMAGE: vk::ImageCreateFlags = vk::ImageCreateFlags::from_raw(
    vk::ImageCreateFlags::SPARSE_BINDING.as_raw()
        | vk::ImageCreateFlags::SPARSE_RESIDENCY.as_raw()
        | vk::ImageCreateFlags::SPARSE_ALIASED.as_raw(),
);

impl Resources {
    fn image_support(&self, question: Question) -> Result<Answer, DeviceError> {
        if let Some(answer) = self.support.0.read().get(&question) {
            return Ok(*answer);
        }
        let info = vk::PhysicalDeviceImageFormatInfo2::default()
            .format(question.format)
            .ty(question.kind)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(question.usage)
            .flags(question.flags);
        let mut handle = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(question.external);
        let mut external = vk::ExternalImageFormatProperties::default();
        let mut performance = vk::HostImageCopyDevicePerformanceQueryEXT::default();
        let mut found = vk::ImageFormatProperties2::default();
        let is_host_copied = question.usage.contains(vk::ImageUsageFlags::HOST_TRANSFER_EXT);
        if is_host_copied && !self.copies_format(question.format) {
            self.support.0.write().insert(question, None);
            return Ok(None);
        }
        let is_shared = !question.external.is_empty();
        let info = if is_shared { info.push_next(&mut handle) } else { info };
        if is_shared {
            found = found.push_next(&mut external);
        }
        if is_host_copied {
            found = found.push_next(&mut performance);
        }
        // SAFETY: the physical device is one of the instance's, the version at least 1.1.
        let result = unsafe {
            let instance = &self.api.instance;
            instance.get_physical_device_image_format_properties2(self.api.physical, &info, &mut found)
        };
        let answer = match result {
            Ok(()) => {
                let limits = found.image_format_properties;
                let external = external.external_memory_properties;
                Some(Found { limits, external, is_optimal: performance.optimal_device_access == vk::TRUE })
            }
            Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED) => None,
            Err(result) => return Err(self.error("vkGetPhysicalDeviceImageFormatProperties2", result)),
        };
        self.support.0.write().insert(question, answer);
        Ok(answer)
    }

    /// Whether plain 2D images of a format and usage are supported.
    pub(crate) fn has_images(
        &self,
        format: vk::Format,
        usage: vk::ImageUsageFlags,
    ) -> Result<bool, DeviceError> {
        let (kind, flags) = (vk::ImageType::TYPE_2D, vk::ImageCreateFlags::empty());
        let question = Question { format, kind, usage, flags, external: HandleTypes::empty() };
        self.image_support(question).map(|found| found.is_some())
    }

    /// Whether images of a format are blitted with a linear filter, to and from. Depth has no such filter.
    pub(crate) fn generates_mips(&self, format: Format) -> bool {
        const { assert!(Format::ALL.len() <= 128) };
        let needed = vk::FormatFeatureFlags::BLIT_SRC
            | vk::FormatFeatureFlags::BLIT_DST
            | vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR;
        let ask = |format: Format| {
            let found = self.format_properties(to_vk_format(format));
            !format.is_depth() && found.optimal_tiling_features.contains(needed)
        };
        let all =
            || Format::ALL.iter().fold(0, |bits, format| bits | u128::from(ask(*format)) << *format as u32);
        self.blitted.get_or_init(all) >> format as u32 & 1 == 1
    }

    /// The features of a format on the device, queried once.
    pub(crate) fn format_properties(&self, format: vk::Format) -> vk::FormatProperties {
        if let Some(found) = self.formats.0.read().get(&format) {
            return *found;
        }
        let (instance, physical) = (&self.api.instance, self.api.physical);
        // SAFETY: the physical device is one of the instance's.
        let found = unsafe { instance.get_physical_device_format_properties(physical, format) };
        self.formats.0.write().insert(format, found);
        found
    }

    /// Whether the CPU can write images of a format as the GPU has them.
    fn copies_format(&self, format: vk::Format) -> bool {
        let mut newer = vk::FormatProperties3::default();
        let mut found = vk::FormatProperties2::default().push_next(&mut newer);
        // SAFETY: the physical device belongs to the instance; the structure is of the version or of an extension
        // that includes these copies.
        unsafe {
            let instance = &self.api.instance;
            instance.get_physical_device_format_properties2(self.api.physical, format, &mut found);
        }
        newer.optimal_tiling_features.contains(vk::FormatFeatureFlags2::HOST_IMAGE_TRANSFER_EXT)
    }

    /// Whether the GPU accesses images of such a texture, which the CPU writes, as fast as others.
    pub(super) fn is_optimal_for_cpu(&self, info: &TextureInfo) -> Result<bool, DeviceError> {
        let ImagePlan { format, kind, usage, flags, external, .. } =
            self.known_image(info, |known| known.plan.clone())?;
        let found = self.image_support(Question { format, kind, usage, flags, external })?;
        Ok(found.is_some_and(|found| found.is_optimal))
    }

    /// Reads how to create a texture with plain memory, and its memory requirements: computed once for each
    /// description, because a driver may create an image to find its requirements.
    pub(crate) fn known_image<T>(
        &self,
        info: &TextureInfo,
        read: impl FnOnce(&KnownImage) -> T,
    ) -> Result<T, DeviceError> {
        self.known.read_or_ask(info, read, || {
            let plan = self.plan_image(info, vk::ImageCreateFlags::empty(), Handles::of(info.usage))?;
            let needs = self.needs_of_plan(&Plan::Image { info, plan: plan.clone() })?;
            Ok(KnownImage { plan, needs })
        })
    }

    /// The creation parameters of a texture, checked against all limits of the device.
    pub(crate) fn plan_image(
        &self,
        info: &TextureInfo,
        sparse: vk::ImageCreateFlags,
        handles: Handles,
    ) -> Result<ImagePlan, DeviceError> {
        info.validate()?;
        self.check_extent(info)?;
        self.check_peers(info.usage)?;
        if info.usage.contains(Usage::INPUT_ATTACHMENT) && !self.tables.properties.descriptors.sets {
            // Input attachments need descriptor sets.
            return Err(unsupported("input attachments"));
        }
        if info.usage.contains(Usage::CPU_WRITE) && self.api.host_images.is_none() {
            return Err(unsupported(TEXTURE_WRITES));
        }
        let has_storage = self.api.features.shader_storage_image_multisample == vk::TRUE;
        if info.samples > 1 && info.usage.contains(Usage::UNORDERED_ACCESS) && !has_storage {
            return Err(unsupported("multisampled storage textures (shaderStorageImageMultisample)"));
        }
        if info.samples > 1 && info.layers() > 1 && !self.api.portability.multisampled_arrays {
            return Err(unsupported("multisampled arrays (multisampleArrayImage)"));
        }
        let format = self.format(info.format)?;
        let usage = image_usage(info.usage);
        if usage.is_empty() {
            return Err(DeviceError::invalid_desc(
                "usage",
                info.usage,
                Allowed::Rule("at least one use that Vulkan has for images"),
            ));
        }
        let kind = match info.dimension {
            Dimension::D2 => vk::ImageType::TYPE_2D,
            Dimension::D3 => vk::ImageType::TYPE_3D,
            _ => {
                return Err(DeviceError::invalid_desc(
                    "dimension",
                    info.dimension,
                    Allowed::Rule("D2 or D3"),
                ));
            }
        };
        let (view_formats, external) = (SmallVec::new(), HandleTypes::empty());
        let mut plan = ImagePlan { flags: sparse, kind, format, usage, view_formats, external };
        self.add_view_formats(&mut plan, info)?;
        let mut refusal = unsupported_format(info.format, NO_SUCH_IMAGE);
        for flags in self.candidates(&plan, info)? {
            let question = Question { format, kind, usage, flags, external };
            if let Some(found) = self.image_support(question)? {
                let checked = check_limits(info, &found.limits);
                match checked.and_then(|()| self.handles_of_image(handles, question, info)) {
                    Ok(external) => return Ok(ImagePlan { flags, external, ..plan }),
                    Err(error) => refusal = error,
                }
            }
        }
        Err(refusal)
    }

    /// The handle types for sharing the memory of such an image.
    fn handles_of_image(
        &self,
        handles: Handles,
        question: Question,
        info: &TextureInfo,
    ) -> Result<HandleTypes, DeviceError> {
        self.handles(handles, |external| {
            let found = self.image_support(Question { external, ..question })?;
            let fits = |found: &Found| check_limits(info, &found.limits).is_ok();
            Ok(found.filter(fits).map(|found| found.external).unwrap_or_default())
        })
    }

    /// The flags to try, the best first.
    fn candidates(
        &self,
        plan: &ImagePlan,
        info: &TextureInfo,
    ) -> Result<Vec<vk::ImageCreateFlags>, DeviceError> {
        let mut convenience = convenience(info, !plan.flags.is_empty());
        if !self.api.portability.slices {
            convenience &= !vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE;
        }
        let mut candidates = vec![plan.flags | convenience, plan.flags];
        // A usage that only a view's format supports, such as unordered access to sRGB.
        if self.is_allowed_by_a_view(plan)? {
            let extended = plan.flags | vk::ImageCreateFlags::EXTENDED_USAGE;
            candidates.extend([extended | convenience, extended]);
        }
        candidates.dedup();
        Ok(candidates)
    }

    fn is_allowed_by_a_view(&self, plan: &ImagePlan) -> Result<bool, DeviceError> {
        let ImagePlan { kind, usage, flags, external, .. } = *plan;
        for format in &plan.view_formats {
            if self.image_support(Question { format: *format, kind, usage, flags, external })?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn add_view_formats(&self, plan: &mut ImagePlan, info: &TextureInfo) -> Result<(), DeviceError> {
        for format in &info.view_formats {
            let may_differ = self.api.portability.reinterpretation;
            if !may_differ && component_bits(*format) != component_bits(info.format) {
                return Err(unsupported(
                    "views in formats of other components (imageViewFormatReinterpretation)",
                ));
            }
            let format = self.format(*format)?;
            if format != plan.format && !plan.view_formats.contains(&format) {
                plan.view_formats.push(format);
            }
        }
        if !plan.view_formats.is_empty() {
            plan.view_formats.insert(0, plan.format);
            plan.flags |= vk::ImageCreateFlags::MUTABLE_FORMAT;
        }
        Ok(())
    }

    /// The API format, if the device may use it.
    fn format(&self, format: Format) -> Result<vk::Format, DeviceError> {
        let features = &self.api.features;
        let (is_enabled, feature) = match format.compression() {
            None => (vk::TRUE, ""),
            Some(Compression::Bc) => (features.texture_compression_bc, "textureCompressionBC"),
            Some(Compression::Etc2) => (features.texture_compression_etc2, "textureCompressionETC2"),
            Some(Compression::Astc) => (features.texture_compression_astc_ldr, "textureCompressionASTC_LDR"),
            Some(_) => (vk::FALSE, "compression of this kind"),
        };
        if is_enabled != vk::TRUE {
            return Err(unsupported_format(format, feature));
        }
        Ok(to_vk_format(format))
    }

    fn check_extent(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        let limits = &self.tables.properties;
        let (side, depth) = match info.dimension {
            Dimension::D3 => (limits.max_texture_3d, limits.max_texture_3d),
            _ => (limits.max_texture_2d, limits.max_layers),
        };
        let checks = [
            ("width", info.width, side),
            ("height", info.height, side),
            ("depth_or_layers", info.depth_or_layers, depth),
        ];
        let wrong = checks.into_iter().find(|(_, value, limit)| value > limit);
        wrong.map_or(Ok(()), |(field, value, limit)| {
            Err(DeviceError::invalid_desc(field, value, Allowed::AtMost(u64::from(limit))))
        })
    }
}

/// The message if `vkGetPhysicalDeviceImageFormatProperties` refuses the image as a whole.
const NO_SUCH_IMAGE: &str = "textures of this usage and dimension";
/// The rule if it refuses the sample count.
const NO_SUCH_COUNT: &str = "a sample count that the device has for this format and usage";

/// Views that D3D12 supports for any texture: cubes of square arrays, slices of volumes as targets.
fn convenience(info: &TextureInfo, is_sparse: bool) -> vk::ImageCreateFlags {
    let is_cube = info.dimension == Dimension::D2
        && info.width == info.height
        && info.layers() >= 6
        && info.samples == 1;
    let is_volume = info.dimension == Dimension::D3 && info.usage.contains(Usage::RENDER_TARGET);
    if is_cube {
        vk::ImageCreateFlags::CUBE_COMPATIBLE
    } else if is_volume && !is_sparse {
        vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE
    } else {
        vk::ImageCreateFlags::empty()
    }
}

fn check_limits(info: &TextureInfo, limits: &vk::ImageFormatProperties) -> Result<(), DeviceError> {
    let [_, _, depth] = info.mip_extent(0);
    let most = limits.max_extent;
    let checks = [
        ("width", info.width, most.width),
        ("height", info.height, most.height),
        ("depth_or_layers", depth, most.depth),
        ("depth_or_layers", info.layers(), limits.max_array_layers),
        ("mips", info.mips, limits.max_mip_levels),
    ];
    if let Some((field, value, limit)) = checks.into_iter().find(|(_, value, limit)| value > limit) {
        return Err(DeviceError::invalid_desc(field, value, Allowed::AtMost(u64::from(limit))));
    }
    if !limits.sample_counts.contains(samples(info.samples)) {
        return Err(DeviceError::invalid_desc("samples", info.samples, Allowed::Rule(NO_SUCH_COUNT)));
    }
    Ok(())
}
