//! The parts of the program that cargo features add, and the error if one is missing.

use std::{fmt, io};

use crate::replay::NoDevice;

/// A cargo feature. Its [`Display`](fmt::Display) text is the error of a program that was built without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Direct3D 12 devices.
    D3d12,
    /// `tenure report`.
    Report,
    /// Vulkan devices.
    Vulkan,
    /// Files compressed with zstd.
    Zstd,
}

/// `remedy!("zstd")`: how to get a program with a feature.
macro_rules! remedy {
    ($feature:literal) => {
        concat!(
            "install the whole program with `cargo install tenure-cli --features full`, or in a checkout use `cargo run \
             --release --features ",
            $feature,
            " --`"
        )
    };
}

impl Feature {
    /// Every feature that can be missing.
    pub const ALL: [Self; 4] = [Self::D3d12, Self::Report, Self::Vulkan, Self::Zstd];

    /// Whether this program was built with the feature.
    #[must_use]
    pub const fn is_built(self) -> bool {
        match self {
            Self::D3d12 => cfg!(feature = "d3d12"),
            Self::Report => cfg!(feature = "report"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            // Another package of the same build may enable it.
            Self::Zstd => tenure_trace::Encoding::Zstd.is_supported(),
        }
    }

    /// Name in the manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::D3d12 => "d3d12",
            Self::Report => "report",
            Self::Vulkan => "vulkan",
            Self::Zstd => "zstd",
        }
    }

    /// The part of the program that the feature adds.
    const fn part(self) -> &'static str {
        match self {
            Self::D3d12 => "Direct3D 12",
            Self::Report => "`tenure report`",
            Self::Vulkan => "Vulkan",
            Self::Zstd => "zstd",
        }
    }

    /// How to get a program with the feature.
    const fn remedy(self) -> &'static str {
        match self {
            Self::D3d12 => remedy!("d3d12"),
            Self::Report => remedy!("report"),
            Self::Vulkan => remedy!("vulkan"),
            Self::Zstd => remedy!("zstd"),
        }
    }

    /// The error for a requested device if this program was built without its API.
    #[must_use]
    pub fn no_device(self) -> NoDevice {
        let api = self.name();
        if self == Self::D3d12 && !cfg!(windows) {
            let reason = "this program was not built for Windows".to_owned();
            let remedy = "build it with --features d3d12 and --target x86_64-pc-windows-msvc or -gnu; Wine runs it, too";
            return NoDevice { api, reason, remedy };
        }
        NoDevice {
            api,
            reason: format!("this program was built without {}", self.part()),
            remedy: self.remedy(),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this program was built without {}: {}", self.part(), self.remedy())
    }
}

impl std::error::Error for Feature {}

impl From<Feature> for io::Error {
    fn from(feature: Feature) -> Self {
        Self::new(io::ErrorKind::Unsupported, feature)
    }
}

#[cfg(test)]
mod tests {
    use super::Feature;

    #[test]
    fn every_feature_names_the_missing_part_and_the_remedy() {
        let how = |name: &str| {
            format!(
                "install the whole program with `cargo install tenure-cli --features full`, or in a checkout use `cargo \
                 run --release --features {name} --`"
            )
        };
        let parts = ["Direct3D 12", "`tenure report`", "Vulkan", "zstd"];
        for (feature, part) in Feature::ALL.into_iter().zip(parts) {
            let wanted = format!("this program was built without {part}: {}", how(feature.name()));
            assert_eq!(feature.to_string(), wanted);
        }
        let missing = Feature::Vulkan.no_device().to_string();
        assert_eq!(missing, format!("vulkan: this program was built without Vulkan; {}", how("vulkan")));
    }
}
