//! How the heaps that shaders see are divided.

use crate::device::{DescriptorKind, DescriptorLimits};
use crate::{Config, ConfigError};

/// Descriptors of both parts of a heap; none where the device has no such heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) lasting: u32,
    pub(super) dynamic: u32,
}

impl Parts {
    pub(super) const fn total(self) -> u32 {
        self.lasting.saturating_add(self.dynamic)
    }

    /// The parts that the configuration asks for, as far as the device has them.
    pub(super) fn of(
        config: &Config,
        kind: DescriptorKind,
        limits: &DescriptorLimits,
    ) -> Result<Self, ConfigError> {
        let (lasting, dynamic, most, default) = match kind {
            DescriptorKind::Resource => (
                ("static_resource_descriptors", config.static_resource_descriptors),
                ("dynamic_resource_descriptors", config.dynamic_resource_descriptors),
                1_000_000,
                65_536,
            ),
            DescriptorKind::Sampler => (
                ("static_sampler_descriptors", config.static_sampler_descriptors),
                ("dynamic_sampler_descriptors", config.dynamic_sampler_descriptors),
                2048,
                1024,
            ),
            DescriptorKind::RenderTarget | DescriptorKind::DepthStencil => return Ok(Self::default()),
        };
        let limit = limits.visible(kind).min(most);
        let check = |(field, value): (&'static str, Option<u32>), limit: u32| {
            let rule = ", what the device has of them, and of both parts together";
            let error = |value| ConfigError { field, value, min: 1, max: u64::from(limit), rule };
            match value {
                Some(value) if value == 0 || value > limit => Err(error(u64::from(value))),
                _ => Ok(()),
            }
        };
        check(lasting, limit)?;
        check(dynamic, limit.saturating_sub(lasting.1.unwrap_or(0)))?;
        Ok(match (lasting.1, dynamic.1) {
            (Some(lasting), Some(dynamic)) => Self { lasting, dynamic },
            (Some(lasting), None) => Self { lasting, dynamic: default.min(limit - lasting) },
            (None, Some(dynamic)) => Self { lasting: default.min(limit - dynamic), dynamic },
            (None, None) => {
                let lasting = default.min(limit / 2);
                Self { lasting, dynamic: default.min(limit - lasting) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(visible_resources: u32) -> DescriptorLimits {
        DescriptorLimits {
            visible_resources,
            visible_samplers: 2048,
            samplers: 2048,
            sets: false,
            null: true,
            anisotropy: 16,
            constant_size: 64 << 10,
            storage_size: 1 << 27,
            typed_elements: 1 << 27,
            typed_alignment: 16,
        }
    }

    fn parts(device: u32, lasting: Option<u32>, dynamic: Option<u32>) -> Result<(u32, u32), ConfigError> {
        let config = Config {
            static_resource_descriptors: lasting,
            dynamic_resource_descriptors: dynamic,
            ..Config::default()
        };
        let parts = Parts::of(&config, DescriptorKind::Resource, &limits(device))?;
        Ok((parts.lasting, parts.dynamic))
    }

    #[test]
    fn defaults_are_cut_to_what_the_device_has() {
        assert_eq!(parts(1_000_000, None, None), Ok((65_536, 65_536)));
        assert_eq!(parts(1001, None, None), Ok((500, 501)));
        assert_eq!(parts(1000, Some(900), None), Ok((900, 100)));
        assert_eq!(parts(1000, None, Some(999)), Ok((1, 999)));
        assert_eq!(parts(0, None, None), Ok((0, 0)));
    }

    #[test]
    fn more_than_there_are_is_refused() {
        let refused = |device, lasting, dynamic| {
            let ConfigError { field, value, max, .. } = parts(device, lasting, dynamic).unwrap_err();
            (field, value, max)
        };
        let (first, second) = ("static_resource_descriptors", "dynamic_resource_descriptors");
        assert_eq!(refused(1_000_000, Some(1_000_001), None), (first, 1_000_001, 1_000_000));
        // The tier is the limit also where a device says more.
        assert_eq!(refused(u32::MAX, Some(1_000_001), None), (first, 1_000_001, 1_000_000));
        assert_eq!(refused(1000, Some(600), Some(401)), (second, 401, 400));
        assert_eq!(refused(1000, Some(0), None), (first, 0, 1000));
        assert_eq!(refused(1000, None, Some(0)), (second, 0, 1000));
        assert_eq!(refused(0, Some(1), None), (first, 1, 0));
    }
}
