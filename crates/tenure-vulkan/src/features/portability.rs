//! Devices that are less than Vulkan: `VK_KHR_portability_subset`.

use ash::vk;

type Features = vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>;

/// What a device can do of what every device can do that is not a portability subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the API's")]
pub(crate) struct Portability {
    /// Slices of volumes are targets.
    pub(crate) slices: bool,
    /// Arrays have samples.
    pub(crate) multisampled_arrays: bool,
    /// Samplers that compare are written to sets.
    pub(crate) comparison_samplers: bool,
    /// Samplers have a bias.
    pub(crate) mip_bias: bool,
    /// Views have formats of other components.
    pub(crate) reinterpretation: bool,
}

impl Portability {
    /// A device that is no subset.
    pub(crate) const ALL: Self = Self {
        slices: true,
        multisampled_arrays: true,
        comparison_samplers: true,
        mip_bias: true,
        reinterpretation: true,
    };

    /// By what is enabled of the subset's features.
    pub(crate) fn of(enabled: &Features) -> Self {
        let on = |feature: vk::Bool32| feature == vk::TRUE;
        Self {
            slices: on(enabled.image_view2_d_on3_d_image),
            multisampled_arrays: on(enabled.multisample_array_image),
            comparison_samplers: on(enabled.mutable_comparison_samplers),
            mip_bias: on(enabled.sampler_mip_lod_bias),
            reinterpretation: on(enabled.image_view_format_reinterpretation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_looked_at() {
        let none = Portability::of(&Features::default());
        let flags = |found: Portability| {
            let Portability { slices, multisampled_arrays, comparison_samplers, mip_bias, reinterpretation } =
                found;
            [slices, multisampled_arrays, comparison_samplers, mip_bias, reinterpretation]
        };
        assert_eq!(flags(none), [false; 5]);
        let each = [
            Features::default().image_view2_d_on3_d_image(true),
            Features::default().multisample_array_image(true),
            Features::default().mutable_comparison_samplers(true),
            Features::default().sampler_mip_lod_bias(true),
            Features::default().image_view_format_reinterpretation(true),
        ];
        for (index, features) in each.iter().enumerate() {
            let found = flags(Portability::of(features));
            assert!((0..5).all(|other| found[other] == (other == index)), "{features:?}");
        }
    }
}
