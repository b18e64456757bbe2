//! Requirements of resources: limits, sizes, alignments, memory types, categories.

use tenure_core::device::{
    Allowed, BufferInfo, DeviceError, Dimension, Features, HeapCategory, MemoryTypeId, Properties,
    Requirements, ResourceDesc, TEXTURE_WRITES, TextureInfo, Usage, check,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT, D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT, D3D12_RAYTRACING_SHADER_TABLE_BYTE_ALIGNMENT,
    D3D12_REQ_SUBRESOURCES, D3D12_RESOURCE_ALLOCATION_INFO,
};

use crate::device::format::planes;
use crate::device::inner::Inner;
use crate::device::resource::desc::{Described, describe};
use crate::device::setup::caps::Caps;
use crate::device::setup::format_support::INPUT_ATTACHMENTS;
use crate::small_alignment::{DEFAULT, small_alignment};

/// Heap types as memory types.
pub(crate) const GPU_ONLY: MemoryTypeId = MemoryTypeId(0);
pub(crate) const UPLOAD: MemoryTypeId = MemoryTypeId(1);
pub(crate) const READBACK: MemoryTypeId = MemoryTypeId(2);
pub(crate) const GPU_UPLOAD: MemoryTypeId = MemoryTypeId(3);

/// The bit of a memory type.
pub(crate) fn bit(memory: MemoryTypeId) -> u32 {
    1_u32.checked_shl(u32::from(memory.0)).unwrap_or(0)
}

/// The rule in the error for a refused description.
const REFUSED: &str = "what ID3D12Device::GetResourceAllocationInfo accepts";

/// Checks `desc` against the limits that are independent of the format.
fn check_limits(properties: &Properties, desc: &ResourceDesc) -> Result<(), DeviceError> {
    desc.validate()?;
    let has_structures = properties.features.contains(Features::ACCELERATION_STRUCTURES);
    if desc.usage().contains(Usage::ACCELERATION_STRUCTURE) && !has_structures {
        return Err(DeviceError::Unsupported { feature: "acceleration structures (ray tracing tier 1.0)" });
    }
    let has_tables = properties.features.contains(Features::RAY_TRACING_PIPELINES);
    if desc.usage().contains(Usage::SHADER_BINDING_TABLE) && !has_tables {
        return Err(DeviceError::Unsupported { feature: "shader binding tables (ray tracing tier 1.0)" });
    }
    if desc.usage().contains(Usage::SHARED) && !properties.features.contains(Features::SHARED_MEMORY) {
        return Err(DeviceError::Unsupported { feature: "shared memory (DeviceConfig::shared_memory)" });
    }
    if desc.usage().contains(Usage::SHARED_ACROSS_DRIVERS) {
        return Err(DeviceError::Unsupported { feature: "memory shared across drivers" });
    }
    if desc.usage().contains(Usage::CPU_WRITE) {
        return Err(DeviceError::Unsupported { feature: TEXTURE_WRITES });
    }
    match desc {
        ResourceDesc::Buffer(info) if info.size > properties.max_buffer_size => {
            Err(DeviceError::invalid_desc("size", info.size, Allowed::AtMost(properties.max_buffer_size)))
        }
        ResourceDesc::Buffer(_) => Ok(()),
        ResourceDesc::Texture(info) => check_extent(properties, info),
    }
}

fn check_extent(properties: &Properties, info: &TextureInfo) -> Result<(), DeviceError> {
    let (side, depth) = match info.dimension {
        Dimension::D3 => (properties.max_texture_3d, properties.max_texture_3d),
        _ => (properties.max_texture_2d, properties.max_layers),
    };
    for (field, value, limit) in [
        ("width", info.width, side),
        ("height", info.height, side),
        ("depth_or_layers", info.depth_or_layers, depth),
        ("mips", info.subresources().saturating_mul(planes(info.format)), D3D12_REQ_SUBRESOURCES),
    ] {
        if value > limit {
            return Err(DeviceError::invalid_desc(field, value, Allowed::AtMost(u64::from(limit))));
        }
    }
    Ok(())
}

/// The offset alignment of a buffer by its usage: a driver's tight alignment, at least 8 B, does not consider it.
/// Views of constants and acceleration structures begin at 256 B, raw views at 16 B. If the device traces rays,
/// buffers that shaders write may be scratch memory of a build, at 256 B, and buffers that they read may be a
/// shader table, at 64 B.
const fn alignment_by_use(caps: &Caps, usage: Usage) -> u64 {
    const WIDEST: u32 = D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT;
    let is_scratch = caps.acceleration_structures && usage.contains(Usage::UNORDERED_ACCESS);
    let alignment = if is_scratch || usage.intersects(Usage::CONSTANT.union(Usage::ACCELERATION_STRUCTURE)) {
        WIDEST
    } else if usage.contains(Usage::SHADER_BINDING_TABLE)
        || (caps.acceleration_structures && usage.contains(Usage::SHADER_READ))
    {
        D3D12_RAYTRACING_SHADER_TABLE_BYTE_ALIGNMENT
    } else if usage.intersects(Usage::UNORDERED_ACCESS.union(Usage::SHADER_READ)) {
        D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT
    } else {
        8
    };
    alignment as u64
}

// One constant is used for both.
const _: () = assert!(
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT == D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT
);

/// The runtime's result for an invalid description, or an alignment that is too small.
fn is_refusal(info: &D3D12_RESOURCE_ALLOCATION_INFO) -> bool {
    info.SizeInBytes == 0 || info.SizeInBytes == u64::MAX || !info.Alignment.is_power_of_two()
}

impl Inner {
    /// The creation description of a resource, and its requirements. The requested alignment is part of the
    /// description: the resource is created with the same.
    ///
    /// Textures are described and queried once for each description.
    pub(crate) fn needs(&self, desc: &ResourceDesc) -> Result<(Described, Requirements), DeviceError> {
        match desc {
            ResourceDesc::Buffer(_) => self.ask_needs(desc),
            ResourceDesc::Texture(info) => self.textures.get_or_ask(info, || self.ask_needs(desc)),
        }
    }

    pub(crate) fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        match desc {
            ResourceDesc::Buffer(_) => self.ask_needs(desc).map(|(_, needs)| needs),
            ResourceDesc::Texture(info) => {
                self.textures.read_or_ask(info, |(_, needs)| needs.clone(), || self.ask_needs(desc))
            }
        }
    }

    fn ask_needs(&self, desc: &ResourceDesc) -> Result<(Described, Requirements), DeviceError> {
        let mut described = self.describe(desc)?;
        let needs = match desc {
            ResourceDesc::Buffer(info) => self.buffer_needs(&described, info)?,
            ResourceDesc::Texture(info) => self.texture_needs(&mut described, info)?,
        };
        Ok((described, needs))
    }

    /// Converts a description to Direct3D's, after checking the device's limits.
    pub(crate) fn describe(&self, desc: &ResourceDesc) -> Result<Described, DeviceError> {
        check_limits(&self.properties, desc)?;
        if let ResourceDesc::Texture(info) = desc {
            if !self.caps.unaligned_blocks {
                check::whole_blocks(info)?;
            }
            if info.usage.contains(Usage::INPUT_ATTACHMENT) {
                return Err(DeviceError::Unsupported { feature: INPUT_ATTACHMENTS });
            }
            if let Some(feature) = self.formats.missing(&self.raw, info) {
                return Err(DeviceError::UnsupportedFormat { format: info.format, feature });
            }
            if info.samples > 1 {
                self.check_samples(info)?;
            }
        }
        describe(&self.caps, &self.workarounds, desc)
    }

    /// Checks that only targets are multisampled, with a sample count that the device supports.
    fn check_samples(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        if !info.usage.intersects(Usage::TEXTURE_ONLY) || info.usage.contains(Usage::UNORDERED_ACCESS) {
            return Err(DeviceError::Unsupported { feature: "multisampled textures that are no targets" });
        }
        if !self.formats.has_samples(&self.raw, info.format, info.samples) {
            return Err(DeviceError::invalid_desc(
                "samples",
                info.samples,
                Allowed::Rule("a sample count that the device has for this format"),
            ));
        }
        Ok(())
    }

    fn buffer_needs(&self, described: &Described, info: &BufferInfo) -> Result<Requirements, DeviceError> {
        let (bytes, alignment) = if self.caps.tight_alignment {
            let answer = self.allocation_info(described);
            if is_refusal(&answer) {
                return Err(DeviceError::invalid_desc("size", info.size, Allowed::Rule(REFUSED)));
            }
            // A driver may require more than the requested bytes, which 64 KiB would have covered.
            let alignment = answer.Alignment.max(alignment_by_use(&self.caps, info.usage));
            (answer.SizeInBytes.max(info.size), alignment)
        } else {
            // Documented, so no query is needed.
            (info.size, DEFAULT)
        };
        let size = bytes.checked_next_multiple_of(alignment).ok_or_else(|| {
            DeviceError::invalid_desc("size", info.size, Allowed::Rule("less than 2^64 when aligned"))
        })?;
        // Upload and readback heaps cannot contain resources that shaders write.
        let is_written = info.usage.intersects(Usage::UNORDERED_ACCESS | Usage::ACCELERATION_STRUCTURE);
        let mut memory_types = bit(GPU_ONLY);
        // Heaps that the CPU reaches are not shared.
        let is_shared = info.usage.contains(Usage::SHARED);
        if !is_written && !is_shared {
            memory_types |= bit(UPLOAD) | bit(READBACK);
        }
        // "Acceleration structure memory restrictions" of the DXR specification: default heaps only.
        let is_structure = info.usage.contains(Usage::ACCELERATION_STRUCTURE);
        if self.caps.gpu_upload_heaps && !is_shared && !is_structure {
            memory_types |= bit(GPU_UPLOAD);
        }
        Ok(Requirements {
            size,
            alignment,
            memory_types,
            category: if self.caps.heap_tier_2 { HeapCategory::Any } else { HeapCategory::Buffers },
            prefers_dedicated: described.requires_dedicated,
            requires_dedicated: described.requires_dedicated,
        })
    }

    fn texture_needs(
        &self,
        described: &mut Described,
        info: &TextureInfo,
    ) -> Result<Requirements, DeviceError> {
        let D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: size, Alignment: alignment } =
            self.with_smallest_alignment(described, info)?;
        let category = match (self.caps.heap_tier_2, info.usage.intersects(Usage::TEXTURE_ONLY)) {
            (true, _) => HeapCategory::Any,
            (false, true) => HeapCategory::Targets,
            (false, false) => HeapCategory::Textures,
        };
        Ok(Requirements {
            size,
            alignment,
            memory_types: bit(GPU_ONLY),
            category,
            prefers_dedicated: described.requires_dedicated,
            requires_dedicated: described.requires_dedicated,
        })
    }

    /// Queries the small alignment if it is useful, then the default one.
    fn with_smallest_alignment(
        &self,
        described: &mut Described,
        info: &TextureInfo,
    ) -> Result<D3D12_RESOURCE_ALLOCATION_INFO, DeviceError> {
        // A tight alignment is the driver's own. Runtimes before Agility SDK 1.619.4 refuse an alignment beside
        // it, and later ones take it as the minimum: none is set. It has a minimum for textures as for buffers, 8
        // B placed and 4 KiB committed.
        let has_small = info.samples == 1 || self.caps.small_multisampled;
        let is_asked = self.caps.small_textures && has_small && !self.caps.tight_alignment;
        if let Some(small) = small_alignment(info).filter(|_| is_asked) {
            described.desc.Alignment = small;
            let answer = self.allocation_info(described);
            if !is_refusal(&answer) && answer.Alignment <= small {
                return Ok(answer);
            }
            described.desc.Alignment = 0;
        }
        let answer = self.allocation_info(described);
        if is_refusal(&answer) {
            return Err(DeviceError::invalid_desc("size", answer.SizeInBytes, Allowed::Rule(REFUSED)));
        }
        Ok(answer)
    }

    fn allocation_info(&self, described: &Described) -> D3D12_RESOURCE_ALLOCATION_INFO {
        let castable = &described.castable;
        if let (false, Some(device)) = (castable.is_empty(), &self.interfaces.device12) {
            let count = u32::try_from(castable.len()).unwrap_or(u32::MAX);
            let formats = castable.as_ptr();
            // SAFETY: the call gets one description, one count, and one pointer to that number of formats. All outlive
            // the call.
            return unsafe {
                device.GetResourceAllocationInfo3(
                    0,
                    1,
                    &raw const described.desc,
                    Some(&raw const count),
                    Some(&raw const formats),
                    None,
                )
            };
        }
        // SAFETY: the descriptions outlive the call, which returns by value.
        unsafe { self.raw.GetResourceAllocationInfo(0, &[described.older()]) }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{MemoryTypeId, Usage};
    use windows::Win32::Graphics::Direct3D12::D3D12_RESOURCE_ALLOCATION_INFO;

    use super::{GPU_UPLOAD, alignment_by_use, bit, is_refusal};
    use crate::device::setup::caps::{Caps, NOTHING};

    #[test]
    fn buffers_lie_where_their_use_allows() {
        let rays = Caps { acceleration_structures: true, ..NOTHING };
        for (usage, plain, traced) in [
            (Usage::VERTEX | Usage::INDEX | Usage::COPY_DST, 8, 8),
            (Usage::INDIRECT, 8, 8),
            (Usage::SHADER_READ, 16, 64),
            (Usage::UNORDERED_ACCESS | Usage::SHADER_READ, 16, 256),
            (Usage::CONSTANT | Usage::VERTEX, 256, 256),
            (Usage::ACCELERATION_STRUCTURE, 256, 256),
            (Usage::SHADER_BINDING_TABLE, 64, 64),
        ] {
            let found = [&NOTHING, &rays].map(|caps| alignment_by_use(caps, usage));
            assert_eq!(found, [plain, traced], "{usage:?}");
        }
    }

    #[test]
    fn answers_that_are_none_are_refusals() {
        let answer =
            |size, alignment| D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: size, Alignment: alignment };
        assert!(!is_refusal(&answer(4096, 4096)) && !is_refusal(&answer(1, 1)));
        for refusal in [answer(0, 65_536), answer(u64::MAX, 65_536), answer(4096, 0), answer(4096, 3)] {
            assert!(is_refusal(&refusal), "{refusal:?}");
        }
    }

    #[test]
    fn memory_types_are_bits() {
        assert_eq!((bit(MemoryTypeId(0)), bit(GPU_UPLOAD)), (1, 8));
        assert_eq!((bit(MemoryTypeId(32)), bit(MemoryTypeId(255))), (0, 0), "no device has so many");
    }
}
