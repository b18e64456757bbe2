//! Configuration of a device.

use std::sync::Arc;

use crate::device::setup::message::{Message, MessageSink};
use crate::drivers::AdapterId;

/// The selection of driver faults to work around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverFaults {
    /// The faults of the adapter in the table.
    #[default]
    Table,
    /// None.
    Ignored,
    /// The faults of this adapter in the table, on any device: for tests of a program's behaviour there.
    Of(AdapterId),
}

/// The settings of a device. Unsupported features are not used even if enabled here.
///
/// ```no_run
/// use tenure_d3d12::{Device, DeviceConfig};
///
/// // Everything the device has, but no GPU upload heaps, and the debug layer's opinion.
/// let options = DeviceConfig::default().gpu_upload_heaps(false).validation(true);
/// let device = Device::create(&options)?;
/// # Ok::<(), tenure_core::device::DeviceError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// Use WARP, the software adapter, even if there is hardware. For [`Device::create`] only. *Default*: off.
    ///
    /// [`Device::create`]: crate::Device::create
    pub software: bool,
    /// Enable the debug layer if it is installed, and deliver its messages to [`messages`](Self::messages).
    /// Windows then removes existing devices of the process without it, so enable it on the first one created.
    /// With a device of the program this only collects messages that the program has enabled. *Default*:
    /// off.
    pub validation: bool,
    /// The receiver of the debug layer's messages. *Default*: `None`, for `tracing` events.
    pub messages: Option<MessageSink>,
    /// Heap tier 2 if the device supports it: heaps for all resources. Off: separate heaps for buffers, targets
    /// and other textures, as on tier 1. *Default*: on.
    pub heap_tier_2: bool,
    /// Request the small alignment of textures (4 KiB; 64 KiB when multisampled). *Default*: on.
    pub small_textures: bool,
    /// Tight alignment: buffers at 256 B or less instead of 64 KiB. *Default*: on.
    pub tight_alignment: bool,
    /// GPU upload heaps as memory type 3. *Default*: on.
    pub gpu_upload_heaps: bool,
    /// Enhanced barriers instead of resource states. *Default*: on.
    pub enhanced_barriers: bool,
    /// Castable formats instead of typeless ones. *Default*: on.
    pub relaxed_casting: bool,
    /// Heaps and committed resources that Windows need not zero. *Default*: on.
    pub not_zeroed: bool,
    /// Resources and fences shared with other processes and APIs: see [`Sharing`](crate::Sharing). Off: such resources are
    /// `Unsupported`. *Default*: on.
    pub shared_memory: bool,
    /// Has Windows record page faults and breadcrumbs (DRED) for [`Gpu::loss`](tenure_core::Gpu::loss), from Windows 10 1903,
    /// for all devices that the process creates from now on. Lists then cost more on the GPU. For [`Device::create`]
    /// only: with a device of its own, the program enables them. *Default*: off.
    ///
    /// [`Device::create`]: crate::Device::create
    pub records_faults: bool,
    /// The driver faults to work around. *Default*: the faults that the table of [`drivers`](crate::drivers)
    /// lists for the adapter.
    pub driver_faults: DriverFaults,
    /// Create reserved resources although the device reports no tiled resources: for tests of the code path on
    /// implementations that nevertheless accept the calls. *Default*: off.
    pub assume_tiled_resources: bool,
}

tenure_core::setters!(DeviceConfig {
    software: bool,
    validation: bool,
    heap_tier_2: bool,
    small_textures: bool,
    tight_alignment: bool,
    gpu_upload_heaps: bool,
    enhanced_barriers: bool,
    relaxed_casting: bool,
    not_zeroed: bool,
    shared_memory: bool,
    records_faults: bool,
    driver_faults: DriverFaults,
    assume_tiled_resources: bool,
});

impl DeviceConfig {
    /// Delivers messages of the debug layer to `sink`, from any thread: see [`MessageSink`].
    #[must_use]
    pub fn on_message(mut self, sink: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        self.messages = Some(Arc::new(sink));
        self
    }
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            software: false,
            validation: false,
            messages: None,
            heap_tier_2: true,
            small_textures: true,
            tight_alignment: true,
            gpu_upload_heaps: true,
            enhanced_barriers: true,
            relaxed_casting: true,
            not_zeroed: true,
            shared_memory: true,
            records_faults: false,
            driver_faults: DriverFaults::Table,
            assume_tiled_resources: false,
        }
    }
}

impl std::fmt::Debug for DeviceConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceConfig")
            .field("software", &self.software)
            .field("validation", &self.validation)
            .field("heap_tier_2", &self.heap_tier_2)
            .field("small_textures", &self.small_textures)
            .field("tight_alignment", &self.tight_alignment)
            .field("gpu_upload_heaps", &self.gpu_upload_heaps)
            .field("enhanced_barriers", &self.enhanced_barriers)
            .field("relaxed_casting", &self.relaxed_casting)
            .field("not_zeroed", &self.not_zeroed)
            .field("shared_memory", &self.shared_memory)
            .field("records_faults", &self.records_faults)
            .field("driver_faults", &self.driver_faults)
            .field("assume_tiled_resources", &self.assume_tiled_resources)
            .finish_non_exhaustive()
    }
}
