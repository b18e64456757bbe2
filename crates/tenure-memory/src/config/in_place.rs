//! Limits of writing in place, without staging.

use super::{Check, ConfigError, GIB, KIB, MIB};

/// Limits of CPU writes directly to the destination, without staging memory and a copy: part of
/// [`Config`](crate::Config).
///
/// The CPU writes in place if the memory chosen by the policy is local to the GPU and entirely CPU-visible: on
/// unified memory, and on cards with a resizable BAR (GPU upload heaps). The resulting contents, and the
/// submissions that see them, are the same either way: writes to resources that the GPU may still use are
/// staged.
///
/// Textures are written in place if the device supports it without a cost for the GPU
/// ([`Device::texture_write_states`](crate::device::MemoryDevice::texture_write_states)), and if they are
/// created with initial data.
///
/// ```
/// use tenure::{BufferDesc, Config, Gpu, Usage, config::InPlaceConfig, sim};
///
/// let in_place = InPlaceConfig::default().initial_data(false).uploads(false);
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_LAVAPIPE), Config::from(in_place))?;
/// let rock = gpu.create_buffer_with(&BufferDesc::new(4096, Usage::VERTEX), &[7; 4096])?;
/// assert_eq!((gpu.upload_stats().in_place, gpu.upload_stats().bytes), (0, 4096));
/// # let _ = rock;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InPlaceConfig {
    /// Whether to write initial data in place, and uploads to resources that no command can use yet: resources
    /// that no recording, view or `Buffer::raw` has used. Default `true`.
    pub initial_data: bool,
    /// Whether to write other uploads in place, while the GPU is idle. Default `true`.
    pub uploads: bool,
    /// Whether both apply to textures, too. Default `true`; otherwise no texture is created writable by the
    /// CPU.
    pub textures: bool,
    /// Bytes of the largest upload to other resources that is written in place. Default 4 MiB; at most 4 GiB.
    ///
    /// Submissions of other threads wait during the write: a larger value saves more staging memory, a smaller
    /// one lets others submit sooner.
    pub max_upload: u64,
    /// Bytes of the largest buffer or texture created with initial data, and of the largest upload, written in
    /// place over the bus to a card. Default 64 KiB; 0: none; at most 4 GiB.
    ///
    /// The CPU writes such memory at the speed of the bus, whereas the copy of staged bytes takes no CPU time.
    /// A larger value saves more staging memory and submissions; a smaller one lets the CPU continue sooner.
    pub max_over_bus: u64,
}

tenure_heap::setters!(InPlaceConfig {
    initial_data: bool,
    uploads: bool,
    textures: bool,
    max_upload: u64,
    max_over_bus: u64,
});

impl Default for InPlaceConfig {
    fn default() -> Self {
        Self {
            initial_data: true,
            uploads: true,
            textures: true,
            max_upload: 4 * MIB,
            max_over_bus: 64 * KIB,
        }
    }
}

impl InPlaceConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        Check::bytes("in_place.max_upload", self.max_upload).range(0, 4 * GIB)?;
        Check::bytes("in_place.max_over_bus", self.max_over_bus).range(0, 4 * GIB)
    }
}
