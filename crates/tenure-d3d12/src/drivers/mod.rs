//! Drivers with known faults, and their workarounds.
//!
//! [`TABLE`] has a row for each fault: the adapters, driver versions and builds of Windows that have it, the
//! affected resources, and the [`Actions`] that avoid it, with a public source. Adapters are identified by vendor
//! and device number and the driver's version, never by their name, which drivers translate, shorten and pad with
//! garbage.
//!
//! [`Workarounds::of`] chooses the rows for an adapter, [`Workarounds::actions`] returns the workarounds for a
//! resource. Neither calls the driver, so both can be tested without the adapters; `DeviceConfig::driver_faults` makes
//! a device behave as on any of them.
//!
//! To add a row, append it to the table; the tests of this module require a source and an action.

mod layers;
mod table;

use std::fmt;
use std::ops::RangeInclusive;

use bitflags::bitflags;
use tenure_core::device::{Dimension, Format, ResourceDesc, TextureInfo, Usage};

use layers::with_spare_layers;
pub use table::TABLE;

/// A display driver's version as Windows numbers it: `31.0.101.4577`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub [u16; 4]);

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [product, version, sub_version, build] = self.0;
        write!(f, "{product}.{version}.{sub_version}.{build}")
    }
}

impl DriverVersion {
    /// The key for ordering versions of a vendor. The first two of Intel's parts encode the Windows version; the
    /// same driver has others elsewhere
    /// (<https://www.intel.com/content/www/us/en/support/articles/000005654/graphics.html>).
    fn order(self, vendor: u32) -> [u16; 4] {
        let [product, version, sub_version, build] = self.0;
        if vendor == INTEL { [0, 0, sub_version, build] } else { [product, version, sub_version, build] }
    }
}

/// The properties that identify faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AdapterId {
    /// PCI vendor number.
    pub vendor: u32,
    /// PCI device number.
    pub device: u32,
    /// The version of the display driver. `None` if Windows does not report it: then every version is assumed.
    pub driver: Option<DriverVersion>,
    /// The build of Windows, such as 22631. `None` if unknown: then every build is assumed.
    pub windows_build: Option<u32>,
}

/// Intel's vendor number.
pub const INTEL: u32 = 0x8086;
/// AMD's vendor number.
pub const AMD: u32 = 0x1002;
/// NVIDIA's vendor number.
pub const NVIDIA: u32 = 0x10de;

/// The driver versions with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drivers {
    /// All known versions.
    All,
    /// Versions before this one, which has the fix.
    Before(DriverVersion),
    /// Versions up to this one.
    UpTo(DriverVersion),
    /// This version, which was the first to have it, and all later ones.
    From(DriverVersion),
}

/// The resources that a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resources {
    /// Buffers and textures.
    All,
    /// Buffers that copies and the results of queries are written to.
    WrittenBuffers,
    /// Textures.
    Textures,
    /// 2D textures that are targets or that copies write.
    WrittenTextures,
    /// 2D textures of several layers in a colour format.
    ColorArrays,
    /// Textures of depth or stencil.
    DepthStencil,
    /// Textures of depth in 24 bits and stencil.
    D24S8,
    /// Textures of depth or stencil that copies write.
    CopiedDepthStencil,
}

bitflags! {
    /// The workarounds applied to a resource because of a driver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Actions: u32 {
        /// The resource gets dedicated memory: its requirements demand it.
        const COMMIT = 1 << 0;
        /// The dedicated memory of the resource is zeroed, even if that was not requested.
        const ZERO = 1 << 1;
        /// The resource is created without its clear value.
        const NO_CLEAR_VALUE = 1 << 2;
        /// The texture is created with extra layers, which are not used: the driver reserves too little memory.
        const SPARE_LAYERS = 1 << 3;
        /// With resource states, resources that shaders read are in the state of a copy source, too.
        const COPY_SOURCE_TOO = 1 << 4;
        /// Views show stencil in all four components.
        const STENCIL_EVERYWHERE = 1 << 5;
        /// Zeros are written to the destination of query results, before the results.
        const CLEAR_RESULTS = 1 << 6;
        /// Buffers are not copied to its stencil.
        const NO_STENCIL_UPLOADS = 1 << 7;
        /// Other textures are not copied to its subresources, except to the first.
        const NO_LAYER_COPIES = 1 << 8;
    }
}

/// A fault of some drivers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fault {
    /// PCI vendor number.
    pub vendor: u32,
    /// PCI device numbers; empty: all of the vendor's.
    pub devices: &'static [RangeInclusive<u32>],
    /// Driver versions.
    pub drivers: Drivers,
    /// The first build of Windows on which it shows; 0: all.
    pub windows_from: u32,
    /// The affected resources.
    pub resources: Resources,
    /// The workarounds.
    pub actions: Actions,
    /// The symptom.
    pub fault: &'static str,
    /// The source of this information.
    pub source: &'static str,
}

impl Fault {
    /// True if the adapter has it. Unknown properties of the adapter are assumed to be faulty.
    #[must_use]
    pub fn is_on(&self, adapter: &AdapterId) -> bool {
        let order = |driver: DriverVersion| driver.order(self.vendor);
        let has_driver = match (self.drivers, adapter.driver) {
            (Drivers::All, _) | (_, None) => true,
            (Drivers::Before(fixed), Some(driver)) => order(driver) < order(fixed),
            (Drivers::UpTo(last), Some(driver)) => order(driver) <= order(last),
            (Drivers::From(first), Some(driver)) => order(driver) >= order(first),
        };
        let has_device =
            self.devices.is_empty() || self.devices.iter().any(|range| range.contains(&adapter.device));
        self.vendor == adapter.vendor
            && has_device
            && has_driver
            && adapter.windows_build.is_none_or(|build| build >= self.windows_from)
    }
}

impl Resources {
    fn has(self, desc: &ResourceDesc) -> bool {
        let is_copied_to = desc.usage().contains(Usage::COPY_DST);
        let ResourceDesc::Texture(info) = desc else {
            return self == Self::All || (self == Self::WrittenBuffers && is_copied_to);
        };
        let is_flat = info.dimension == Dimension::D2;
        match self {
            Self::All | Self::Textures => true,
            Self::WrittenBuffers => false,
            Self::WrittenTextures => is_flat && (is_copied_to || info.usage.intersects(Usage::TEXTURE_ONLY)),
            Self::ColorArrays => is_flat && info.layers() > 1 && !info.format.is_depth(),
            Self::DepthStencil => info.format.is_depth(),
            Self::D24S8 => info.format == Format::D24UnormS8Uint,
            Self::CopiedDepthStencil => info.format.is_depth() && is_copied_to,
        }
    }
}

/// The faults of one adapter.
///
/// ```
/// use tenure_core::TextureDesc;
/// use tenure_core::device::{Format, ResourceDesc, Usage};
/// use tenure_d3d12::drivers::{Actions, AdapterId, DriverVersion, INTEL, Workarounds};
///
/// let driver = Some(DriverVersion([31, 0, 101, 4577]));
/// let iris_xe = AdapterId { vendor: INTEL, device: 0x46a6, driver, windows_build: Some(22_631) };
/// let workarounds = Workarounds::of(&iris_xe);
/// let usage = Usage::SHADER_READ | Usage::COPY_DST;
/// let albedo = ResourceDesc::Texture(TextureDesc::d2(256, 256, Format::Rgba8Unorm, usage).info);
/// assert_eq!(workarounds.actions(&albedo), Actions::COMMIT);
/// for fault in workarounds.faults() {
///     println!("{} ({})", fault.fault, fault.source);
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workarounds(Vec<&'static Fault>);

impl Workarounds {
    /// The faults in the table that the adapter has. O(rows).
    #[must_use]
    pub fn of(adapter: &AdapterId) -> Self {
        Self(TABLE.iter().filter(|fault| fault.is_on(adapter)).collect())
    }

    /// The faults themselves, in the order of the table.
    #[must_use]
    pub fn faults(&self) -> &[&'static Fault] {
        &self.0
    }

    /// The workarounds for a resource. O(faults of the adapter).
    #[must_use]
    pub fn actions(&self, desc: &ResourceDesc) -> Actions {
        let concerned = self.0.iter().filter(|fault| fault.resources.has(desc));
        concerned.fold(Actions::empty(), |actions, fault| actions | fault.actions)
    }

    /// True when something is done to some resources.
    #[must_use]
    pub fn has(&self, actions: Actions) -> bool {
        self.0.iter().any(|fault| fault.actions.intersects(actions))
    }
}

/// Layers to create a texture with, where these actions are taken; its depth, for a volume. Saturates.
#[must_use]
pub fn created_layers(actions: Actions, info: &TextureInfo) -> u64 {
    if actions.contains(Actions::SPARE_LAYERS) {
        with_spare_layers(info)
    } else {
        u64::from(info.depth_or_layers)
    }
}

#[cfg(test)]
mod tests;
