//! Validation of descriptions, independent of devices.

use super::{Allowed, ClearValue, DeviceError, Dimension, ResourceDesc, SamplerInfo, TextureInfo, Usage};

impl TextureInfo {
    /// Checks the rules of all devices, independent of limits: zero extents, more mips than the extent has, sample counts that
    /// are no power of two or combined with mips or 3D, a depth usage without a depth format, a clear value that does not match
    /// the usage, view formats with texels of another size.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the field and its value.
    pub fn validate(&self) -> Result<(), DeviceError> {
        let bad = |field, value: u32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
        let bad_usage = |allowed| Err(DeviceError::invalid_desc("usage", self.usage, allowed));
        for (field, value) in [
            ("width", self.width),
            ("height", self.height),
            ("depth_or_layers", self.depth_or_layers),
            ("mips", self.mips),
        ] {
            if value == 0 {
                return bad(field, 0, Allowed::AtLeast(1));
            }
        }
        let deepest = match self.dimension {
            Dimension::D2 => 1,
            Dimension::D3 => self.depth_or_layers,
        };
        let longest = self.width.max(self.height).max(deepest);
        let most_mips = longest.ilog2() + 1;
        if self.mips > most_mips {
            return bad("mips", self.mips, Allowed::AtMost(u64::from(most_mips)));
        }
        let multisampled = self.samples > 1;
        if !self.samples.is_power_of_two()
            || self.samples > 16
            || (multisampled && (self.mips > 1 || self.dimension == Dimension::D3))
        {
            let rule = "1, 2, 4, 8 or 16, and 1 for textures with mips or of three dimensions";
            return bad("samples", self.samples, Allowed::Rule(rule));
        }
        if self.usage.intersects(Usage::BUFFER_ONLY) {
            return bad_usage(Allowed::Usage(Usage::all() - Usage::BUFFER_ONLY - Usage::PRESENT));
        }
        if let Some(rule) = broken_sharing(self.usage) {
            return bad_usage(Allowed::Rule(rule));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL) && self.dimension == Dimension::D3 {
            return bad_usage(Allowed::Rule(
                "without DEPTH_STENCIL, because the texture is of three dimensions",
            ));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL | Usage::UNORDERED_ACCESS) {
            return bad_usage(Allowed::Rule("DEPTH_STENCIL or UNORDERED_ACCESS, not both"));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL) && !self.format.is_depth() {
            return bad_usage(Allowed::Rule("without DEPTH_STENCIL, because the format is of colour"));
        }
        if self.usage.contains(Usage::CPU_WRITE) && !self.is_writable_by_cpu() {
            let rule = "CPU_WRITE beside other uses, without SHARED and TRANSIENT_ATTACHMENT, for one sample of colour";
            return bad_usage(Allowed::Rule(rule));
        }
        let is_flat = self.dimension == Dimension::D2 && !self.format.is_compressed();
        if self.usage.contains(Usage::INPUT_ATTACHMENT) && !is_flat {
            let rule = "without INPUT_ATTACHMENT, because the texture is a volume or its format compressed";
            return bad_usage(Allowed::Rule(rule));
        }
        if self.usage.contains(Usage::DEPTH_STENCIL | Usage::RENDER_TARGET) {
            return bad_usage(Allowed::Rule("RENDER_TARGET or DEPTH_STENCIL, not both"));
        }
        if self.usage.contains(Usage::TRANSIENT_ATTACHMENT) && !self.usage.is_of_transient_attachment() {
            let rule = "RENDER_TARGET or DEPTH_STENCIL beside TRANSIENT_ATTACHMENT, with INPUT_ATTACHMENT or without, \
                        because the content never leaves a render pass";
            return bad_usage(Allowed::Rule(rule));
        }
        let is_plain = !self.format.is_depth() && !self.format.is_compressed();
        if self.usage.contains(Usage::RENDER_TARGET) && !is_plain {
            let rule = "without RENDER_TARGET, because the format is of depth or compressed";
            return bad_usage(Allowed::Rule(rule));
        }
        let clear_fits = match self.clear {
            None => true,
            Some(ClearValue::Color(_)) => self.usage.contains(Usage::RENDER_TARGET),
            Some(ClearValue::DepthStencil(..)) => self.usage.contains(Usage::DEPTH_STENCIL),
        };
        if !clear_fits {
            let rule = "a colour with the usage RENDER_TARGET, depth and stencil with DEPTH_STENCIL";
            return Err(DeviceError::invalid_desc("clear", self.usage, Allowed::Rule(rule)));
        }
        match self.view_formats.iter().find(|format| !self.format.is_castable_to(**format)) {
            None => Ok(()),
            Some(&format) => {
                let rule = "colour formats whose texels are as large as those of the texture's format, \
                            and of compressed ones its own kind";
                Err(DeviceError::invalid_desc("view_formats", format, Allowed::Rule(rule)))
            }
        }
    }
}

impl ResourceDesc {
    /// Checks the rules of all devices, independent of limits.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the field and its value.
    pub fn validate(&self) -> Result<(), DeviceError> {
        match self {
            Self::Buffer(info) if info.size == 0 => {
                Err(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1)))
            }
            Self::Buffer(info) if info.usage.intersects(Usage::TEXTURE_ONLY | Usage::CPU_WRITE) => {
                let allowed = Allowed::Usage(Usage::all() - Usage::TEXTURE_ONLY - Usage::CPU_WRITE);
                Err(DeviceError::invalid_desc("usage", info.usage, allowed))
            }
            Self::Buffer(info) => match broken_sharing(info.usage) {
                Some(rule) => Err(DeviceError::invalid_desc("usage", info.usage, Allowed::Rule(rule))),
                None => Ok(()),
            },
            Self::Texture(info) if info.usage.contains(Usage::PRESENT) => {
                let allowed =
                    Allowed::Rule("PRESENT is for images that a swap chain made, which are adopted");
                Err(DeviceError::invalid_desc("usage", info.usage, allowed))
            }
            Self::Texture(info) => info.validate(),
        }
    }
}

impl SamplerInfo {
    /// Checks each field against its range.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] with the field, its value and its constraint.
    ///
    /// ```
    /// use tenure::descriptor::SamplerInfo;
    /// assert!(SamplerInfo::default().validate(16).is_ok());
    /// let refused = SamplerInfo::default().anisotropy(32).validate(16);
    /// assert_eq!(refused.unwrap_err().to_string(), "invalid description: anisotropy = 32: must be at most 16");
    /// ```
    pub fn validate(&self, most_anisotropy: u32) -> Result<(), DeviceError> {
        let bad = |field, value: f32, rule| Err(DeviceError::invalid_desc(field, value, Allowed::Rule(rule)));
        let most_anisotropy = most_anisotropy.max(1);
        if !(-16.0..16.0).contains(&self.mip_bias) {
            return bad("mip_bias", self.mip_bias, "from -16 to less than 16");
        }
        if self.anisotropy == 0 {
            return Err(DeviceError::invalid_desc("anisotropy", 0_u32, Allowed::AtLeast(1)));
        }
        if self.anisotropy > most_anisotropy {
            let allowed = Allowed::AtMost(u64::from(most_anisotropy));
            return Err(DeviceError::invalid_desc("anisotropy", self.anisotropy, allowed));
        }
        if !self.min_lod.is_finite() || self.min_lod < 0.0 {
            return bad("min_lod", self.min_lod, "finite, and not negative");
        }
        if !self.max_lod.is_finite() || self.max_lod < self.min_lod {
            return bad("max_lod", self.max_lod, "finite, and not below min_lod");
        }
        Ok(())
    }
}

/// The rule about [`Usage::SHARING`] and [`Usage::QUEUES`] that a usage violates. Vulkan has no resources without a usage.
const fn broken_sharing(usage: Usage) -> Option<&'static str> {
    if usage.difference(Usage::SHARING.union(Usage::QUEUES)).is_empty() {
        return Some("at least one flag, besides SHARED");
    }
    let is_foreign = usage.contains(Usage::SHARED_ACROSS_DRIVERS);
    match is_foreign && !usage.contains(Usage::SHARED) {
        true => Some("SHARED beside SHARED_ACROSS_DRIVERS"),
        false => None,
    }
}
