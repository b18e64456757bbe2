//! Samplers.

use core::sync::atomic::{AtomicU32, Ordering};

use ash::vk;
use tenure_core::device::{
    AddressMode, Allowed, BindingKind, BorderColor, Compare, DeviceError, Filter, SamplerInfo,
};

use super::Descriptors;
use super::slot::{Slot, Value, Written};
use crate::error::unsupported;

/// How many there are: some drivers do not count themselves.
#[derive(Debug, Default)]
pub(crate) struct SamplerCount(AtomicU32);

impl SamplerCount {
    fn take(&self, most: u32) -> bool {
        let more = |count: u32| count.checked_add(1).filter(|count| *count <= most);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn give_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Descriptors {
    pub(super) fn create_sampler(&self, desc: &SamplerInfo) -> Result<Slot, DeviceError> {
        let tables = &self.limits;
        desc.validate(tables.contract.anisotropy)?;
        if desc.mip_bias.abs() > tables.mip_bias {
            return Err(DeviceError::invalid_desc(
                "mip_bias",
                desc.mip_bias,
                Allowed::Rule("within maxSamplerLodBias"),
            ));
        }
        let portability = self.api.portability;
        if desc.compare.is_some() && !portability.comparison_samplers {
            return Err(unsupported("comparison samplers in descriptors (mutableComparisonSamplers)"));
        }
        if desc.mip_bias != 0.0 && !portability.mip_bias {
            return Err(unsupported("samplers with a bias (samplerMipLodBias)"));
        }
        if !self.samplers.take(tables.contract.samplers) {
            return Err(DeviceError::OutOfHostMemory { what: "samplers: maxSamplerAllocationCount" });
        }
        // SAFETY: all numbers are within the limits and features of the device.
        let made = unsafe { self.api.device.create_sampler(&info(desc), None) };
        let sampler = made.map_err(|result| {
            self.samplers.give_back();
            self.error("vkCreateSampler", result)
        })?;
        let value = Value::Image(vk::DescriptorImageInfo::default().sampler(sampler));
        Ok(Slot::Shader(Written { kind: BindingKind::Sampler, value }))
    }
}

fn info(desc: &SamplerInfo) -> vk::SamplerCreateInfo<'static> {
    let [across, down, deep] = desc.address.map(address);
    vk::SamplerCreateInfo::default()
        .mag_filter(filter(desc.mag))
        .min_filter(filter(desc.min))
        .mipmap_mode(match desc.mip {
            Filter::Nearest => vk::SamplerMipmapMode::NEAREST,
            Filter::Linear => vk::SamplerMipmapMode::LINEAR,
        })
        .address_mode_u(across)
        .address_mode_v(down)
        .address_mode_w(deep)
        .mip_lod_bias(desc.mip_bias)
        .anisotropy_enable(desc.anisotropy > 1)
        .max_anisotropy(desc.anisotropy as f32)
        .compare_enable(desc.compare.is_some())
        .compare_op(desc.compare.map_or(vk::CompareOp::ALWAYS, compare))
        .min_lod(desc.min_lod)
        .max_lod(desc.max_lod)
        .border_color(match desc.border {
            BorderColor::TransparentBlack => vk::BorderColor::FLOAT_TRANSPARENT_BLACK,
            BorderColor::OpaqueBlack => vk::BorderColor::FLOAT_OPAQUE_BLACK,
            BorderColor::OpaqueWhite => vk::BorderColor::FLOAT_OPAQUE_WHITE,
        })
}

const fn filter(filter: Filter) -> vk::Filter {
    match filter {
        Filter::Nearest => vk::Filter::NEAREST,
        Filter::Linear => vk::Filter::LINEAR,
    }
}

const fn address(mode: AddressMode) -> vk::SamplerAddressMode {
    match mode {
        AddressMode::Repeat => vk::SamplerAddressMode::REPEAT,
        AddressMode::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
        AddressMode::Clamp => vk::SamplerAddressMode::CLAMP_TO_EDGE,
        AddressMode::Border => vk::SamplerAddressMode::CLAMP_TO_BORDER,
    }
}

const fn compare(compare: Compare) -> vk::CompareOp {
    match compare {
        Compare::Never => vk::CompareOp::NEVER,
        Compare::Less => vk::CompareOp::LESS,
        Compare::Equal => vk::CompareOp::EQUAL,
        Compare::LessOrEqual => vk::CompareOp::LESS_OR_EQUAL,
        Compare::Greater => vk::CompareOp::GREATER,
        Compare::NotEqual => vk::CompareOp::NOT_EQUAL,
        Compare::GreaterOrEqual => vk::CompareOp::GREATER_OR_EQUAL,
        Compare::Always => vk::CompareOp::ALWAYS,
    }
}
