//! Errors of creating a device, and the meaning of the driver's results.

use ash::vk;
use tenure_core::device::{ApiCode, DeviceError, Format, MemoryTypeId};

/// The error of creating or wrapping an instance or device.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// There is no Vulkan loader on this machine.
    #[error("no Vulkan loader: {reason}")]
    NoLoader {
        /// The message of the system's library loader.
        reason: String,
    },
    /// The loader, or the version given with a wrapped device, is older than Vulkan 1.1.
    #[error("Vulkan {found} is older than 1.1")]
    TooOld {
        /// The version of the loader or of the wrapped device.
        found: crate::features::ApiVersion,
    },
    /// A requested layer is not installed.
    #[error("the layer {layer} is not installed")]
    NoLayer {
        /// The name.
        layer: String,
    },
    /// A requested extension is not supported.
    #[error("the extension {extension} is not offered")]
    NoExtension {
        /// The name.
        extension: String,
    },
    /// The physical device lacks a feature that the program's chain has switched on.
    #[error("the device does not have the feature {feature}")]
    NoFeature {
        /// The name, and that of the structure.
        feature: String,
    },
    /// The program's chain of features cannot be worked with.
    #[error("cannot enable the program's features: {rule} ({found})")]
    InvalidFeatures {
        /// The violated rule.
        rule: &'static str,
        /// The violation.
        found: String,
    },
    /// Queues for the program's own use that cannot be created.
    #[error("cannot make the program's own queues of family {family}: {rule} ({found})")]
    InvalidQueues {
        /// The violated rule.
        rule: &'static str,
        /// The family.
        family: u32,
        /// The violation, with the numbers.
        found: String,
    },
    /// No adapter offers Vulkan 1.1 and a queue that can do everything.
    #[error("none of {found} adapters has Vulkan 1.1 and a queue for graphics and compute")]
    NoAdapter {
        /// The number of adapters.
        found: usize,
    },
    /// A function of the version, or of an extension that is enabled, is missing.
    #[error(
        "{function} is missing: the function, the handles, the version and the features given do not belong together"
    )]
    NoFunction {
        /// The name in the core API.
        function: &'static str,
    },
    /// A feature of a wrapped device needs an extension that is not among those given, and not part of the version.
    #[error(
        "{feature} is listed as enabled, but needs {extension} with Vulkan {version}, which is not enabled"
    )]
    ExtensionNotEnabled {
        /// The feature, as a constant of [`OptionalFeatures`](crate::OptionalFeatures).
        feature: &'static str,
        /// The extension.
        extension: &'static str,
        /// The version given.
        version: crate::features::ApiVersion,
    },
    /// A call failed.
    #[error("{call} failed: {result}")]
    Failed {
        /// The call.
        call: &'static str,
        /// The result returned by the driver.
        result: vk::Result,
    },
    /// tenure cannot work with the wrapped device.
    #[error("cannot wrap the device: {rule} ({value})")]
    InvalidRaw {
        /// The violated rule.
        rule: &'static str,
        /// The offending number.
        value: u64,
    },
}

impl CreateError {
    /// Creates the error of a failed call, for `map_err`.
    pub(crate) fn failed(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |result| Self::Failed { call, result }
    }
}

/// A feature that the device lacks.
pub(crate) const fn unsupported(feature: &'static str) -> DeviceError {
    DeviceError::Unsupported { feature }
}

/// A format that the device lacks, or has not for a use.
pub(crate) const fn unsupported_format(format: Format, feature: &'static str) -> DeviceError {
    DeviceError::UnsupportedFormat { format, feature }
}

/// The meaning of a driver's result; `None` for device loss, which must be recorded.
///
/// `asked`: the memory that the call would allocate, if any.
pub(crate) fn meaning(
    call: &'static str,
    result: vk::Result,
    asked: Option<(u64, MemoryTypeId)>,
    max_allocations: u64,
) -> Option<DeviceError> {
    Some(match (result, asked) {
        (vk::Result::ERROR_DEVICE_LOST, _) => return None,
        (vk::Result::ERROR_TOO_MANY_OBJECTS, _) => DeviceError::TooManyAllocations { limit: max_allocations },
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, Some((requested, memory))) => {
            DeviceError::OutOfMemory { requested, memory }
        }
        // No memory of the kind that tenure counts: the driver's own, or addresses.
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, None) => DeviceError::OutOfDeviceMemory { what: call },
        (
            vk::Result::ERROR_OUT_OF_HOST_MEMORY
            | vk::Result::ERROR_OUT_OF_POOL_MEMORY
            | vk::Result::ERROR_FRAGMENTED_POOL
            | vk::Result::ERROR_FRAGMENTATION
            | vk::Result::ERROR_MEMORY_MAP_FAILED
            | vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS,
            _,
        ) => DeviceError::OutOfHostMemory { what: call },
        (
            vk::Result::ERROR_FEATURE_NOT_PRESENT
            | vk::Result::ERROR_EXTENSION_NOT_PRESENT
            | vk::Result::ERROR_FORMAT_NOT_SUPPORTED,
            _,
        ) => DeviceError::Unsupported { feature: call },
        (other, _) => DeviceError::ApiFailed { call, code: ApiCode::VkResult(other.as_raw()) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortages_are_shortages_and_loss_is_none() {
        let memory = MemoryTypeId(3);
        let read = |result, asked| meaning("vkAllocateMemory", result, asked, 4096);
        let asked = Some((100, memory));
        assert_eq!(
            read(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, asked),
            Some(DeviceError::OutOfMemory { requested: 100, memory })
        );
        assert_eq!(
            read(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, None),
            Some(DeviceError::OutOfDeviceMemory { what: "vkAllocateMemory" }),
            "not of the host"
        );
        let short = [
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
            vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            vk::Result::ERROR_TOO_MANY_OBJECTS,
            vk::Result::ERROR_FRAGMENTED_POOL,
            vk::Result::ERROR_OUT_OF_POOL_MEMORY,
            vk::Result::ERROR_FRAGMENTATION,
            vk::Result::ERROR_MEMORY_MAP_FAILED,
        ];
        for result in short {
            for asked in [None, asked] {
                assert!(read(result, asked).unwrap().is_shortage(), "{result} {asked:?}");
            }
        }
        let limit = DeviceError::TooManyAllocations { limit: 4096 };
        assert_eq!(read(vk::Result::ERROR_TOO_MANY_OBJECTS, asked), Some(limit));
        assert_eq!(read(vk::Result::ERROR_DEVICE_LOST, asked), None);
        for result in [vk::Result::ERROR_UNKNOWN, vk::Result::ERROR_FEATURE_NOT_PRESENT] {
            assert!(!read(result, asked).unwrap().is_shortage(), "{result}");
        }
    }
}
