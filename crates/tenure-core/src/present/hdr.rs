//! Metadata of HDR images.

use crate::device::{Allowed, DeviceError};

/// The luminance at the upper end of ST 2084, in nits.
const MAX_NITS: f32 = 10_000.0;

/// The display on which HDR images were mastered, and their brightness: SMPTE ST 2086, and the content light levels of
/// CTA-861. Screens use them for tone mapping.
///
/// Luminances are in nits (cd/m²), 0 to 10,000; chromaticities are x and y of CIE 1931, 0 to 1. Direct3D 12 rounds
/// luminances to nits, the minimum to 0.0001 nits, and chromaticities to 0.00002.
///
/// ```
/// use tenure::present::HdrMetadata;
///
/// let metadata = HdrMetadata { max_content_light: 800.0, ..HdrMetadata::new(0.001, 1000.0) };
/// assert!(metadata.check().is_ok());
/// let error = HdrMetadata { white_point: [1.3, 0.3], ..metadata }.check().unwrap_err();
/// assert_eq!(error.to_string(), "invalid description: white_point = 1.3: must be 0 to 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HdrMetadata {
    /// Chromaticities of red, green and blue.
    pub primaries: [[f32; 2]; 3],
    /// Chromaticity of white.
    pub white_point: [f32; 2],
    /// The minimum luminance; less than the maximum.
    pub min_luminance: f32,
    /// The maximum luminance.
    pub max_luminance: f32,
    /// The luminance of the brightest pixel of all images (MaxCLL); 0 if unknown.
    pub max_content_light: f32,
    /// The average luminance of the brightest image (MaxFALL); 0 if unknown. At most `max_content_light`.
    pub max_frame_average_light: f32,
}

impl HdrMetadata {
    /// The primaries of BT.2020, those of [`ColorSpace::Hdr10`](crate::ColorSpace::Hdr10).
    pub const BT2020: [[f32; 2]; 3] = [[0.708, 0.292], [0.170, 0.797], [0.131, 0.046]];
    /// The white point of sRGB and BT.2020.
    pub const D65: [f32; 2] = [0.3127, 0.3290];

    /// A display with the whole gamut of BT.2020, with content of unknown brightness.
    #[must_use]
    pub const fn new(min_luminance: f32, max_luminance: f32) -> Self {
        Self {
            primaries: Self::BT2020,
            white_point: Self::D65,
            min_luminance,
            max_luminance,
            max_content_light: 0.0,
            max_frame_average_light: 0.0,
        }
    }

    /// Checks the ranges. Swap chains call it.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the first field that is out of range, or not a number.
    pub fn check(&self) -> Result<(), DeviceError> {
        let refuse = |field, value: f32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
        let points = self.primaries.as_flattened().iter().map(|part| ("primaries", part));
        let points = points.chain(self.white_point.iter().map(|part| ("white_point", part)));
        for (field, value) in points {
            if !(0.0..=1.0).contains(value) {
                return refuse(field, *value, Allowed::Rule("0 to 1"));
            }
        }
        for (field, value) in [
            ("min_luminance", self.min_luminance),
            ("max_luminance", self.max_luminance),
            ("max_content_light", self.max_content_light),
            ("max_frame_average_light", self.max_frame_average_light),
        ] {
            if !(0.0..=MAX_NITS).contains(&value) {
                return refuse(field, value, Allowed::Rule("0 to 10,000 nits"));
            }
        }
        if self.min_luminance >= self.max_luminance {
            return refuse("min_luminance", self.min_luminance, Allowed::Rule("less than max_luminance"));
        }
        if self.max_content_light > 0.0 && self.max_frame_average_light > self.max_content_light {
            let allowed = Allowed::Rule("at most max_content_light, if that is known");
            return refuse("max_frame_average_light", self.max_frame_average_light, allowed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let good = HdrMetadata::new(0.0, 10_000.0);
        let bright = HdrMetadata { max_content_light: 600.0, max_frame_average_light: 600.0, ..good };
        for fine in [good, bright, HdrMetadata { max_content_light: 0.0, ..bright }] {
            fine.check().unwrap();
        }
        let green = |green| HdrMetadata { primaries: [[0.6, 0.3], green, [0.1, 0.0]], ..good };
        let table = [
            (green([0.3, 1.01]), "primaries = 1.01"),
            (green([-0.1, 0.5]), "primaries = -0.1"),
            (green([f32::NAN, 0.5]), "primaries = not a number"),
            (HdrMetadata { white_point: [0.3, f32::INFINITY], ..good }, "white_point = infinity"),
            (HdrMetadata::new(-1.0, 10.0), "min_luminance = -1"),
            (HdrMetadata::new(0.0, 10_001.0), "max_luminance = 10001"),
            (HdrMetadata::new(f32::NAN, 10.0), "min_luminance = not a number"),
            (HdrMetadata::new(10.0, 10.0), "min_luminance = 10: must be less than max_luminance"),
            (HdrMetadata::new(0.0, 0.0), "min_luminance = 0: must be less than max_luminance"),
            (HdrMetadata { max_content_light: 65_536.0, ..good }, "max_content_light = 65536"),
            (HdrMetadata { max_frame_average_light: f32::NAN, ..good }, "max_frame_average_light = not"),
            (HdrMetadata { max_frame_average_light: 601.0, ..bright }, "max_frame_average_light = 601"),
        ];
        for (metadata, wanted) in table {
            let refused = metadata.check().unwrap_err().to_string();
            assert!(refused.contains(wanted), "{refused}: {wanted}");
        }
    }
}
