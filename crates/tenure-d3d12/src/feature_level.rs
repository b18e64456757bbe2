//! Feature levels.

use std::fmt;

use windows::Win32::Graphics::Direct3D::{
    D3D_FEATURE_LEVEL, D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_12_0,
    D3D_FEATURE_LEVEL_12_1, D3D_FEATURE_LEVEL_12_2,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_FEATURE_DATA_FEATURE_LEVELS, D3D12_FEATURE_FEATURE_LEVELS, ID3D12Device,
};

use crate::caps::ask;

/// The feature level of a device; shown as Microsoft writes it, `12_1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureLevel(pub D3D_FEATURE_LEVEL);

impl fmt::Display for FeatureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.0;
        write!(f, "{}_{}", number >> 12, number >> 8 & 0xf)
    }
}

/// The highest level of a device; at least 11.0, which it was created with.
pub(crate) fn feature_level(device: &ID3D12Device) -> FeatureLevel {
    let levels = [
        D3D_FEATURE_LEVEL_11_0,
        D3D_FEATURE_LEVEL_11_1,
        D3D_FEATURE_LEVEL_12_0,
        D3D_FEATURE_LEVEL_12_1,
        D3D_FEATURE_LEVEL_12_2,
    ];
    // Runtimes that do not know the last ones refuse the question.
    let known = (1..=levels.len()).rev().find_map(|count| {
        let question = D3D12_FEATURE_DATA_FEATURE_LEVELS {
            NumFeatureLevels: u32::try_from(count).ok()?,
            pFeatureLevelsRequested: levels.as_ptr(),
            ..Default::default()
        };
        // SAFETY: the structure is that of the feature, and points to that many levels.
        unsafe { ask(device, D3D12_FEATURE_FEATURE_LEVELS, question) }
    });
    FeatureLevel(known.map_or(D3D_FEATURE_LEVEL_11_0, |answer| answer.MaxSupportedFeatureLevel))
}

#[cfg(test)]
mod tests {
    use windows::Win32::Graphics::Direct3D::{D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_2};

    use super::FeatureLevel;

    #[test]
    fn levels_are_shown_as_they_are_written() {
        assert_eq!(FeatureLevel(D3D_FEATURE_LEVEL_11_0).to_string(), "11_0");
        assert_eq!(FeatureLevel(D3D_FEATURE_LEVEL_12_2).to_string(), "12_2");
    }
}
