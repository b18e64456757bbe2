//! Sizes, alignments and memory types of resources: the rules by which the device places them, and 2,000 descriptions beside
//! a simulated device.

use serde::Serialize;
use tenure::device::{DescriptorLimits, Device, Features, HeapCategory, Requirements, ResourceDesc};
use tenure::error::DeviceError;
use tenure::resource::BufferInfo;
use tenure::{Format, TextureDesc, Usage, device::prelude::*, sim};

use super::descriptions::{descriptions, in_words};
use super::examination::{Bounds, Opener};
use crate::examined::Failure;

/// The number of compared descriptions.
const COMPARED: u32 = 2_000;
/// The differences that are kept in full.
const EXAMPLES: usize = 20;
/// The largest side of the targets that are tried.
const LARGEST_TARGET: u32 = 8_192;

/// The rules of placement, and the limits and formats that [`Found`](crate::devices::Found) does not have.
#[derive(Debug, Default, Serialize)]
pub(super) struct Placement {
    pub(super) buffer_alignment: u64,
    /// The alignment of textures up to 64 KiB.
    pub(super) image_alignment: u64,
    /// The alignment of larger textures.
    pub(super) large_image_alignment: u64,
    /// The memory types of buffers, one in each bit.
    pub(super) buffer_types: u32,
    /// The memory types of textures, one in each bit.
    pub(super) image_types: u32,
    /// Buffers and textures are kept apart.
    pub(super) split: bool,
    /// The size of the smallest target for which the driver prefers a dedicated allocation.
    pub(super) dedicated_targets_from: Option<u64>,
    /// The families of block-compressed formats.
    pub(super) compression: Vec<&'static str>,
    pub(super) d24s8: bool,
    /// Block-compressed textures whose sides are not whole blocks.
    pub(super) unaligned_blocks: bool,
    pub(super) descriptors: Descriptors,
}

/// The limits of descriptors.
#[derive(Debug, Default, Serialize)]
pub(super) struct Descriptors {
    visible_resources: u32,
    visible_samplers: u32,
    descriptors_per_index: u32,
    samplers: u32,
    sets: bool,
    null: bool,
    anisotropy: u32,
    constant_size: u64,
    storage_size: u64,
    typed_elements: u32,
    typed_alignment: u64,
}

impl From<DescriptorLimits> for Descriptors {
    fn from(limits: DescriptorLimits) -> Self {
        Self {
            visible_resources: limits.visible_resources,
            visible_samplers: limits.visible_samplers,
            descriptors_per_index: limits.descriptors_per_index,
            samplers: limits.samplers,
            sets: limits.sets,
            null: limits.null,
            anisotropy: limits.anisotropy,
            constant_size: limits.constant_size,
            storage_size: limits.storage_size,
            typed_elements: limits.typed_elements,
            typed_alignment: limits.typed_alignment,
        }
    }
}

fn target(side: u32, usage: Usage) -> ResourceDesc {
    ResourceDesc::Texture(TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).info)
}

pub(super) fn examine<P: Opener>(opener: &P, _: &Bounds, found: &mut Placement) -> Result<(), Failure> {
    let device = opener.open()?;
    examine_device(&device, found)
}

pub(super) fn examine_device<D: Device>(device: &D, found: &mut Placement) -> Result<(), Failure> {
    found.descriptors = device.properties().descriptors.into();
    let buffer = device.requirements(&ResourceDesc::Buffer(BufferInfo::new(1, Usage::VERTEX)))?;
    (found.buffer_alignment, found.buffer_types) = (buffer.alignment, buffer.memory_types);
    // Lazily allocated memory is for transient attachments only.
    let transient = target(16, Usage::RENDER_TARGET | Usage::TRANSIENT_ATTACHMENT);
    let small =
        device.requirements(&transient).or_else(|_| device.requirements(&target(16, Usage::SHADER_READ)))?;
    (found.image_alignment, found.image_types) = (small.alignment, small.memory_types);
    let large = device.requirements(&target(1024, Usage::SHADER_READ))?;
    found.large_image_alignment = large.alignment;
    found.split = buffer.category == HeapCategory::Buffers;
    let sides = std::iter::successors(Some(16_u32), |side| {
        side.checked_mul(2).filter(|side| *side <= LARGEST_TARGET)
    });
    for side in sides {
        // A side above the limit of the device.
        let Ok(needs) = device.requirements(&target(side, Usage::RENDER_TARGET)) else { break };
        if needs.prefers_dedicated {
            found.dedicated_targets_from = Some(needs.size);
            break;
        }
    }
    let families =
        [("bc", Format::Bc7Unorm), ("etc2", Format::Etc2Rgb8Unorm), ("astc", Format::Astc4x4Unorm)];
    let offered =
        families.into_iter().filter(|(_, format)| device.supports_format(*format, Usage::SHADER_READ));
    found.compression = offered.map(|(name, _)| name).collect();
    found.d24s8 = device.supports_format(Format::D24UnormS8Uint, Usage::DEPTH_STENCIL);
    let partial = families.into_iter().find(|(name, _)| found.compression.contains(name));
    let unaligned = partial.map(|(_, format)| TextureDesc::d2(5, 5, format, Usage::SHADER_READ).info);
    found.unaligned_blocks =
        unaligned.is_some_and(|info| device.requirements(&ResourceDesc::Texture(info)).is_ok());
    Ok(())
}

/// The comparison of the requirements of descriptions.
#[derive(Debug, Default, Serialize)]
pub(super) struct Sizes {
    pub(super) compared: u32,
    /// Size, alignment and category are equal, or both devices refuse the description.
    pub(super) equal: u32,
    /// The size is larger than on the simulated device.
    pub(super) larger: u32,
    pub(super) smaller: u32,
    /// The largest size, as a multiple of the simulated device's.
    pub(super) largest_ratio: f64,
    pub(super) smallest_ratio: f64,
    /// The sizes are equal, but not the alignments or categories.
    pub(super) otherwise_different: u32,
    pub(super) refused_by_device: u32,
    pub(super) refused_by_profile: u32,
    /// The first differences.
    pub(super) examples: Vec<Difference>,
}

/// A description for which the devices differ.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) resource: String,
    pub(super) device: String,
    pub(super) profile: String,
}

fn answer(needs: &Result<Requirements, DeviceError>) -> String {
    match needs {
        Ok(needs) => format!("{} B at {} B, {:?}", needs.size, needs.alignment, needs.category),
        Err(error) => error.to_string(),
    }
}

impl Sizes {
    fn add(
        &mut self,
        desc: &ResourceDesc,
        real: &Result<Requirements, DeviceError>,
        simulated: &Result<Requirements, DeviceError>,
    ) {
        self.compared += 1;
        let counter = match (real, simulated) {
            (Err(_), Err(_)) => &mut self.equal,
            (Err(_), Ok(_)) => &mut self.refused_by_device,
            (Ok(_), Err(_)) => &mut self.refused_by_profile,
            (Ok(real), Ok(simulated)) => {
                let ratio = real.size as f64 / simulated.size.max(1) as f64;
                self.largest_ratio = self.largest_ratio.max(ratio);
                self.smallest_ratio =
                    if self.smallest_ratio == 0.0 { ratio } else { self.smallest_ratio.min(ratio) };
                let is_alike = (real.alignment, real.category) == (simulated.alignment, simulated.category);
                match real.size.cmp(&simulated.size) {
                    std::cmp::Ordering::Greater => &mut self.larger,
                    std::cmp::Ordering::Less => &mut self.smaller,
                    std::cmp::Ordering::Equal if is_alike => &mut self.equal,
                    std::cmp::Ordering::Equal => &mut self.otherwise_different,
                }
            }
        };
        *counter += 1;
        let is_equal = match (real, simulated) {
            (Ok(real), Ok(simulated)) => {
                (real.size, real.alignment, real.category)
                    == (simulated.size, simulated.alignment, simulated.category)
            }
            (real, simulated) => real.is_err() == simulated.is_err(),
        };
        if !is_equal && self.examples.len() < EXAMPLES {
            let example =
                Difference { resource: in_words(desc), device: answer(real), profile: answer(simulated) };
            self.examples.push(example);
        }
    }
}

pub(super) fn compare<P: Opener>(
    opener: &P,
    bounds: &Bounds,
    profile: sim::Profile,
    sizes: &mut Sizes,
) -> Result<(), Failure> {
    let device = opener.open()?;
    let tight = device.properties().features.contains(Features::TIGHT_ALIGNMENT);
    let simulated = sim::Device::with_config(sim::DeviceConfig::new(profile).tight_alignment(tight));
    for desc in descriptions(COMPARED) {
        let real = device.requirements(&desc);
        if let Err(error @ DeviceError::Lost { .. }) = real {
            return Err(error.into());
        }
        sizes.add(&desc, &real, &simulated.requirements(&desc));
        bounds.check()?;
    }
    Ok(())
}
