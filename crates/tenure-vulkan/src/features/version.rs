//! Versions of Vulkan.

use core::fmt;

use ash::vk;

/// A version of Vulkan; patches do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    /// 1.
    pub major: u32,
    /// 1 in Vulkan 1.1.
    pub minor: u32,
}

impl ApiVersion {
    /// Vulkan 1.1, the oldest that tenure works with.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// Vulkan 1.2.
    pub const V1_2: Self = Self { major: 1, minor: 2 };
    /// Vulkan 1.3, the newest whose functions tenure calls as part of the core.
    pub const V1_3: Self = Self { major: 1, minor: 3 };

    /// From Vulkan's packed number.
    ///
    /// ```
    /// use tenure_vulkan::ApiVersion;
    /// let packed = ash::vk::make_api_version(0, 1, 2, 203);
    /// assert_eq!(ApiVersion::from_packed(packed), ApiVersion::V1_2);
    /// assert_eq!(ApiVersion::V1_2.to_packed(), ash::vk::API_VERSION_1_2);
    /// ```
    #[must_use]
    pub const fn from_packed(packed: u32) -> Self {
        Self { major: vk::api_version_major(packed), minor: vk::api_version_minor(packed) }
    }

    /// As Vulkan's packed number.
    #[must_use]
    pub const fn to_packed(self) -> u32 {
        vk::make_api_version(0, self.major, self.minor, 0)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
