//! Configuration and its defaults.

mod compaction;
mod descriptors;
mod error;
mod in_place;
mod memory;
mod pressure;

use std::time::Duration;

pub use compaction::CompactionConfig;
pub use descriptors::DescriptorConfig;
pub use error::{ConfigError, ConfigRule, ConfigUnit};
pub use in_place::InPlaceConfig;
pub use memory::MAX_POOL_SHARDS;
pub use memory::{PoolConfig, StagingConfig, Strategy, TransientConfig, UploadConfig, UploadSuballocator};
pub use pressure::PressureConfig;

pub use error::Check;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Configuration of a `Gpu`, in parts.
///
/// The defaults suit programs of any size: change a setting only if `Gpu::stats` or a measurement shows a reason. Sizes are in
/// bytes. With any configuration, blocks never exceed the device's limits, nor, except for larger requests, an eighth of their
/// memory heap.
///
/// Each part, and each field of a part, has a setter of the same name.
///
/// ```
/// use std::time::Duration;
/// use tenure::{Config, config::{FrameConfig, PoolConfig}};
///
/// let config = Config::default()
///     .frames(FrameConfig::default().in_flight(2))
///     .pools(PoolConfig::default().min_block(1 << 20));
/// assert!(config.validate().is_ok());
///
/// // One part alone:
/// let config = Config::from(PoolConfig::default().shards(1));
/// assert_eq!(config.pools.shards, 1);
///
/// // Or a field at a time:
/// let mut config = Config::default();
/// config.frames.in_flight = 0;
/// let refused = config.validate().unwrap_err();
/// assert_eq!(refused.field, "frames.in_flight");
/// assert_eq!(refused.to_string(), "configuration: frames.in_flight = 0 frames: must be 1 to 16 frames");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Frames in flight, and timeouts.
    pub frames: FrameConfig,
    /// Placement of lasting buffers and textures, and the blocks that they share.
    pub pools: PoolConfig,
    /// Placement of buffers of [`MemoryUse::Upload`](crate::MemoryUse::Upload).
    pub uploads: UploadConfig,
    /// The pages of constants, uploads and readbacks.
    pub staging: StagingConfig,
    /// Limits of writing in place, without staging.
    pub in_place: InPlaceConfig,
    /// Descriptor heaps and sets.
    pub descriptors: DescriptorConfig,
    /// Heaps and API resources of transient resources.
    pub transient: TransientConfig,
    /// Fractions of the budget at which memory counts as scarce.
    pub pressure: PressureConfig,
    /// Limits of moving movable resources.
    pub compaction: CompactionConfig,
    /// Keeps a backtrace of each creation for the report of leaks. Default off: it costs microseconds per creation, and memory
    /// for each live object.
    pub leak_backtraces: bool,
    /// Number of released objects that `Gpu::whose` remembers, for each thread that creates objects. Default 1,024; 0 to 65,536.
    /// Each takes about 100 bytes.
    ///
    /// With a higher value, faults of the GPU can be attributed to objects that were released longer ago.
    pub released_history: u32,
}

tenure_heap::setters!(Config {
    frames: FrameConfig,
    pools: PoolConfig,
    uploads: UploadConfig,
    staging: StagingConfig,
    in_place: InPlaceConfig,
    descriptors: DescriptorConfig,
    transient: TransientConfig,
    pressure: PressureConfig,
    compaction: CompactionConfig,
    leak_backtraces: bool,
    released_history: u32,
});

impl Default for Config {
    fn default() -> Self {
        Self {
            frames: FrameConfig::default(),
            pools: PoolConfig::default(),
            uploads: UploadConfig::default(),
            staging: StagingConfig::default(),
            in_place: InPlaceConfig::default(),
            descriptors: DescriptorConfig::default(),
            transient: TransientConfig::default(),
            pressure: PressureConfig::default(),
            compaction: CompactionConfig::default(),
            leak_backtraces: false,
            released_history: 1024,
        }
    }
}

impl Config {
    /// Checks every field against its range.
    ///
    /// `Gpu::new` checks the limits that depend on the device: those of descriptors.
    ///
    /// # Errors
    /// [`ConfigError`] for the first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.frames.validate()?;
        self.pools.validate()?;
        self.uploads.validate()?;
        self.staging.validate()?;
        self.in_place.validate()?;
        self.descriptors.validate()?;
        self.transient.validate()?;
        self.pressure.validate()?;
        self.compaction.validate()?;
        let remembered = self.released_history.into();
        Check::new("released_history", remembered, ConfigUnit::Count).range(0, 65_536)
    }
}

/// Makes a configuration from one part, with defaults for the others.
macro_rules! from_part {
    ($($part:ident: $Part:ty),+) => {
        $(impl From<$Part> for Config {
            fn from($part: $Part) -> Self {
                Self { $part, ..Self::default() }
            }
        })+
    };
}
from_part!(
    frames: FrameConfig,
    pools: PoolConfig,
    uploads: UploadConfig,
    staging: StagingConfig,
    in_place: InPlaceConfig,
    descriptors: DescriptorConfig,
    transient: TransientConfig,
    pressure: PressureConfig,
    compaction: CompactionConfig
);

/// Frames in flight, and timeouts: part of [`Config`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameConfig {
    /// Frames in flight, including the one being recorded. Default 3; 1 to 16.
    ///
    /// A higher value lets the CPU continue while the GPU is behind, but adds latency, and one more copy of everything that
    /// changes each frame (constants, staging memory, command lists). With a lower value, `begin_frame` waits sooner.
    pub in_flight: u32,
    /// Frames after which an unused block or page is freed. Default 16; at most 1,000,000. One free page is kept for each thread
    /// that fills pages. In a program without frames, they are kept until `trim` or a shortage.
    ///
    /// A higher value saves driver calls for intermittent use; a lower one returns memory sooner. The period adapts per pool: a
    /// pool that needs a new block within 16 periods of freeing one doubles its period, up to 64 times this value; a pool that
    /// needs none for that long halves it again, down to this value.
    pub idle: u32,
    /// Maximum wait of `begin_frame` for the GPU; a longer wait is an error. Default
    /// 10 s; at most an hour.
    ///
    /// It should exceed the operating system's limit for a hung GPU (2 s by default on Windows), so that a lost device is
    /// reported as lost.
    pub timeout: Duration,
    /// Maximum wait of the shutdown for the GPU. Default 5 s; at most an hour.
    ///
    /// Objects that the GPU may still use after that are leaked and reported.
    pub shutdown_timeout: Duration,
}

tenure_heap::setters!(FrameConfig {
    in_flight: u32,
    idle: u32,
    timeout: Duration,
    shutdown_timeout: Duration,
});

impl Default for FrameConfig {
    fn default() -> Self {
        Self {
            in_flight: 3,
            idle: tenure_suballoc::DEFAULT_IDLE_FRAMES,
            timeout: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(5),
        }
    }
}

impl FrameConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let frames = |field, value: u32| Check::new(field, value.into(), ConfigUnit::Frames);
        frames("frames.in_flight", self.in_flight).range(1, 16)?;
        frames("frames.idle", self.idle).range(0, 1_000_000)?;
        let time = |field, value: Duration| {
            let millis = u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
            Check::new(field, millis, ConfigUnit::Milliseconds).range(0, 3_600_000)
        };
        time("frames.timeout", self.timeout)?;
        time("frames.shutdown_timeout", self.shutdown_timeout)
    }
}
