//! Sizes, alignments and memory types of resources: the device's rules of placement, and a comparison of 2,000
//! descriptions with a simulated device.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tenure::device::{DescriptorLimits, Device, Features, HeapCategory, Requirements, ResourceDesc};
use tenure::error::DeviceError;
use tenure::resource::BufferInfo;
use tenure::{Format, TextureDesc, Usage, device::prelude::*, sim};

use super::descriptions::{descriptions, in_words};
use super::examination::{Bounds, Opener};
use crate::examined::Failure;

/// The number of compared descriptions.
const COMPARED: u32 = 2_000;
/// The number of differences that are listed in full.
const EXAMPLES: usize = 20;
/// The number of render targets to try, with sides from 16 to 8,192.
const TARGETS: usize = 10;

/// The rules of placement, and limits and formats that [`Found`](crate::devices::Found) does not contain.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Placement {
    pub(super) buffer_alignment: u64,
    /// The alignment of textures up to 64 KiB.
    pub(super) image_alignment: u64,
    /// The alignment of larger textures.
    pub(super) large_image_alignment: u64,
    /// The memory types of buffers, as a bit mask.
    pub(super) buffer_types: u32,
    /// The memory types of textures, as a bit mask.
    pub(super) image_types: u32,
    /// Whether buffers and textures need separate memory.
    pub(super) split: bool,
    /// The size of the smallest target for which the driver prefers a dedicated allocation.
    pub(super) dedicated_targets_from: Option<u64>,
    /// The families of block-compressed formats.
    pub(super) compression: Vec<Family>,
    /// Whether textures with 24 bits of depth and a stencil are supported.
    pub(super) d24s8: bool,
    /// Whether block-compressed textures may have sides that are not multiples of a block.
    pub(super) unaligned_blocks: bool,
    #[serde(with = "Descriptors")]
    pub(super) descriptors: DescriptorLimits,
}

/// The variants of [`Compression`](tenure::device::Compression).
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Family {
    Bc,
    Etc2,
    Astc,
}

/// The limits of descriptors.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize, Serialize)]
#[serde(remote = "DescriptorLimits")]
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

fn target(side: u32, usage: Usage) -> ResourceDesc {
    ResourceDesc::Texture(TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).info)
}

pub(super) fn examine<D: Device>(device: &D) -> Result<Placement, DeviceError> {
    let buffer = device.requirements(&ResourceDesc::Buffer(BufferInfo::new(1, Usage::VERTEX)))?;
    // Lazily allocated memory is for transient attachments only.
    let transient = target(16, Usage::RENDER_TARGET | Usage::TRANSIENT_ATTACHMENT);
    let small =
        device.requirements(&transient).or_else(|_| device.requirements(&target(16, Usage::SHADER_READ)))?;
    let large = device.requirements(&target(1024, Usage::SHADER_READ))?;
    let sides = std::iter::successors(Some(16_u32), |side| side.checked_mul(2));
    let targets = sides.map_while(|side| device.requirements(&target(side, Usage::RENDER_TARGET)).ok());
    let dedicated = targets.take(TARGETS).find(|needs| needs.prefers_dedicated);
    let families = [
        (Family::Bc, Format::Bc7Unorm),
        (Family::Etc2, Format::Etc2Rgb8Unorm),
        (Family::Astc, Format::Astc4x4Unorm),
    ];
    let offered = families.iter().filter(|(_, format)| device.supports_format(*format, Usage::SHADER_READ));
    let partial = |format| ResourceDesc::Texture(TextureDesc::d2(5, 5, format, Usage::SHADER_READ).info);
    Ok(Placement {
        buffer_alignment: buffer.alignment,
        image_alignment: small.alignment,
        large_image_alignment: large.alignment,
        buffer_types: buffer.memory_types,
        image_types: small.memory_types,
        split: buffer.category == HeapCategory::Buffers,
        dedicated_targets_from: dedicated.map(|needs| needs.size),
        compression: offered.clone().map(|(family, _)| *family).collect(),
        d24s8: device.supports_format(Format::D24UnormS8Uint, Usage::DEPTH_STENCIL),
        unaligned_blocks: offered.clone().any(|(_, format)| device.requirements(&partial(*format)).is_ok()),
        descriptors: device.properties().descriptors,
    })
}

/// The comparison of memory requirements.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(super) struct Sizes {
    pub(super) compared: u32,
    /// Size, alignment and category are equal, or both devices refuse the description.
    pub(super) equal: u32,
    /// The size is larger than on the simulated device.
    pub(super) larger: u32,
    pub(super) smaller: u32,
    /// The largest size divided by the simulated device's.
    pub(super) largest_ratio: f64,
    pub(super) smallest_ratio: f64,
    /// Equal sizes, but different alignments or categories.
    pub(super) otherwise_different: u32,
    pub(super) refused_by_device: u32,
    pub(super) refused_by_profile: u32,
    /// The first differences.
    pub(super) examples: Vec<Difference>,
}

/// A description with different requirements on the two devices.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
        let equal = self.equal;
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
                    Ordering::Greater => &mut self.larger,
                    Ordering::Less => &mut self.smaller,
                    Ordering::Equal if is_alike => &mut self.equal,
                    Ordering::Equal => &mut self.otherwise_different,
                }
            }
        };
        *counter += 1;
        if self.equal == equal && self.examples.len() < EXAMPLES {
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
