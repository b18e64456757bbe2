//! What is written into place without staging.

use super::{Check, ConfigError, GIB, KIB, MIB};

/// What the CPU writes straight to where it stays, without staging memory and a copy: part of [`Config`](crate::Config).
///
/// It does so where the memory that the policy chooses is local to the GPU and seen by the CPU as a whole: on unified memory,
/// and on cards with a resizable BAR (GPU upload heaps). Which bytes arrive, and for which submissions, is the same either
/// way: what the GPU may still be using is staged.
///
/// Textures are written so where the device writes them itself and loses nothing by it
/// ([`Device::texture_write_states`](crate::device::Device::texture_write_states)), if they are created
/// [filled](crate::TextureDesc::filled).
///
/// ```
/// use tenure::{BufferDesc, Config, Gpu, InPlaceConfig, Usage, sim};
///
/// let in_place = InPlaceConfig { initial_data: false, uploads: false, ..InPlaceConfig::default() };
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_LAVAPIPE), Config::from(in_place))?;
/// let rock = gpu.create_buffer_with(&BufferDesc::new(4096, Usage::VERTEX), &[7; 4096])?;
/// assert_eq!((gpu.upload_stats().in_place, gpu.upload_stats().bytes), (0, 4096));
/// # let _ = rock;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlaceConfig {
    /// Whether initial data is, and uploads to what no command can use yet: what neither a recording, a view nor
    /// [`Buffer::raw`](crate::Buffer::raw) has asked for. Default `true`.
    pub initial_data: bool,
    /// Whether uploads to anything else are, while the GPU is through with all that was submitted. Default `true`.
    pub uploads: bool,
    /// Whether both go for textures, too. Default `true`; without it no texture is made writable by the CPU.
    pub textures: bool,
    /// Bytes of the largest such upload. Default 4 MiB; at most 4 GiB.
    ///
    /// Whoever submits on another thread waits while it is written: larger saves more staging memory, smaller lets
    /// others submit sooner.
    pub max_upload: u64,
    /// Bytes of the largest buffer or texture that is created [filled](crate::BufferDesc::filled), and of the largest
    /// upload, that is written across the bus to a card with memory of its own. Default 64 KiB; 0: nothing is; at most 4 GiB.
    ///
    /// The CPU writes such memory at the speed of the bus, while the copy of what is staged takes none of its time. Larger
    /// saves more staging memory and submissions; smaller lets the CPU go on sooner.
    pub max_over_bus: u64,
}

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
