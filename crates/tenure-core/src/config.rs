//! What a program may choose, and the defaults.

use std::time::Duration;

use crate::memory::MAX_SHARDS;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Where lasting resources go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Strategy {
    /// The [placement policy](crate::memory::policy): small things share, large things stand alone.
    #[default]
    Tenure,
    /// An API resource of its own for everything, placed in pooled heaps. For comparison, and for
    /// drivers with trouble in sub-ranges.
    Placed,
    /// A committed resource for everything. For comparison, and to rule the pools out when hunting
    /// a bug.
    Committed,
}

/// The suballocator of uploads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UploadSuballocator {
    /// The general one (C4), for all sizes in one pool: less memory and fewer blocks on recorded
    /// programs. `tenure replay --uploads buddy` shows the other.
    #[default]
    General,
    /// A buddy allocator (C3) for small ones in a pool of their own, the general one for the rest.
    Buddy,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration: {field} = {value} is not in {min}..={max}{rule}")]
pub struct ConfigError {
    /// The field.
    pub field: &'static str,
    /// What it was set to.
    pub value: u64,
    /// The smallest value allowed.
    pub min: u64,
    /// The largest value allowed.
    pub max: u64,
    /// What else it must satisfy; empty or beginning with a comma.
    pub rule: &'static str,
}

/// Everything about a [`Gpu`](crate::Gpu) that is a choice. Sizes are bytes. Whatever
/// is chosen here, blocks are never larger than the device allows, nor, but for larger requests,
/// than an eighth of the memory that they are taken from.
///
/// ```
/// use tenure::Config;
/// let config = Config { frames_in_flight: 2, ..Config::default() };
/// assert!(config.validate().is_ok());
/// let refused = Config { frames_in_flight: 0, ..Config::default() }.validate();
/// assert_eq!(refused.unwrap_err().field, "frames_in_flight");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Frames that the CPU may be ahead, the one being recorded included. Default 3; 1 to 16.
    pub frames_in_flight: u32,
    /// Frames after which an unused block, or a page that no recording took, is given back. Default 16; at most
    /// 1,000,000.
    ///
    /// A pool that needs a block again soon after giving one back waits twice as long from then
    /// on, up to 64 times this, and half as long again when it is not missed; soon is within 16
    /// times what it waits.
    pub idle_frames: u32,
    /// Where lasting resources go. Default: the placement policy.
    pub strategy: Strategy,
    /// Size of one backing buffer of the small-buffer pool; a power of two. Default 64 KiB;
    /// 64 KiB to 16 MiB.
    pub small_buffer_slot: u64,
    /// The smallest block a pool asks the driver for. Blocks grow with what the pool holds.
    /// Default 192 KiB; 64 KiB to 256 MiB.
    pub min_block: u64,
    /// The largest block of a pool of buffers. Default 32 MiB; 64 KiB to 4 GiB.
    pub max_buffer_block: u64,
    /// The largest block of a pool of textures. Default 64 MiB; 64 KiB to 4 GiB.
    pub max_texture_block: u64,
    /// Buffers above this are committed. Default 16 MiB; up to `max_buffer_block`.
    pub max_pooled_buffer: u64,
    /// A pool grows by blocks of what it holds divided by this: larger reserves less, smaller
    /// calls the driver less often. Default 16; 1 to 64.
    pub growth_divisor: u64,
    /// Dynamic buffers up to this go to the small upload pool, when the buddy suballocator divides
    /// it. Default 64 KiB; 256 B up to `max_upload_block`.
    pub max_small_upload: u64,
    /// Dynamic buffers above this are committed. Default 64 MiB; up to 4 GiB.
    pub max_pooled_upload: u64,
    /// The largest block of the small upload pool, whose blocks are powers of two. Default 4 MiB;
    /// 64 KiB to 256 MiB.
    pub max_upload_block: u64,
    /// The suballocator of uploads.
    pub upload_suballocator: UploadSuballocator,
    /// Shards that a pool may be divided into when threads get into each other's way; 1 for one pool that
    /// all share, and places that depend on the order of calls alone. A thread that finds a pool taken
    /// often enough gets a shard of its own, which divides pieces of the first one's blocks; requests above
    /// 64 KiB are never sharded. Default 8; 1 to 16.
    pub pool_shards: u32,
    /// Bytes of the pages that constants of a recording are pushed to; a power of two. Default
    /// 64 KiB; 4 KiB to 4 MiB.
    pub constant_page: u64,
    /// Bytes of the pages that uploads are staged in; a power of two. Default 1 MiB; 64 KiB to
    /// 64 MiB.
    pub upload_page: u64,
    /// Uploads are submitted without waiting for a submission or the end of a frame once so many
    /// bytes are pending. Default 64 MiB; 64 KiB to 4 GiB.
    pub max_pending_upload: u64,
    /// Bytes of the pages that readbacks share; a power of two. Default 1 MiB; 64 KiB to 64 MiB.
    pub readback_page: u64,
    /// Descriptors of one heap that shaders do not see. Default 1,024; 16 to 65,536.
    pub descriptor_block: u32,
    /// Descriptors of views, in the heap that shaders see, for [tables](crate::DescriptorTable).
    /// Default: 65,536, or what the device has room for beside the dynamic ones; 1 to 1,000,000
    /// together with those. The heap is made for the first of its descriptors, tables' or recordings', and
    /// then takes the memory of all (on Vulkan of six descriptors for each, one of every type); on
    /// Direct3D 12 also when a list is [told of it](crate::Commands::set_descriptor_heaps).
    pub static_resource_descriptors: Option<u32>,
    /// Descriptors of views, in the heap that shaders see, for [recordings](crate::Scratch::descriptors).
    /// Default and limits as those of `static_resource_descriptors`.
    pub dynamic_resource_descriptors: Option<u32>,
    /// As `static_resource_descriptors`, for samplers. Default 1,024; 1 to 2,048 together with the
    /// dynamic ones.
    pub static_sampler_descriptors: Option<u32>,
    /// As `dynamic_resource_descriptors`, for samplers. Default and limits as those of
    /// `static_sampler_descriptors`.
    pub dynamic_sampler_descriptors: Option<u32>,
    /// Descriptors of views that a recording takes from the dynamic part at a time; of samplers a
    /// sixteenth. Default 1,024; 16 to 65,536.
    pub descriptor_chunk: u32,
    /// Descriptor sets that are made at a time; fewer of layouts with many descriptors. Those for
    /// recordings are kept until [`Gpu::trim`](crate::Gpu::trim). Default 64; 1 to 4,096.
    pub set_block: u32,
    /// Fill freed descriptors that shaders see with nothing, so that a use of them is found, and
    /// remember whose they were. Default: in debug builds.
    pub poison_descriptors: bool,
    /// Bytes of a heap for [transient resources](crate::transient) that no graph was declared for, or the
    /// request where that is larger; 0: heaps of exactly the requests. Default 128 MiB; up to 4 GiB.
    pub transient_heap: u64,
    /// API resources of each sort, buffers and textures, that a heap for transient resources keeps
    /// although nobody wants them. Default 64; up to 1,000,000.
    pub transient_cache: u32,
    /// Frames after which heaps for transient resources that nobody used go, and resources beyond
    /// `transient_cache`. Default 16; at most 1,000,000.
    pub transient_latency: u32,
    /// Placements that are tried each frame to improve the plan of a graph that is not known to be the
    /// best. Default 2,000, a fraction of a millisecond; 0: plans stay as they are. At most 1,000,000,000.
    pub transient_improvement: u64,
    /// How long shutting down waits for the GPU. Default 5 s; at most an hour.
    pub shutdown_timeout: Duration,
    /// How long beginning a frame waits for the GPU before that is an error. Default 10 s; at
    /// most an hour.
    pub frame_timeout: Duration,
    /// Keep a backtrace of each creation for the leak report. Default off: it costs microseconds
    /// a creation.
    pub leak_backtraces: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frames_in_flight: 3,
            idle_frames: tenure_suballoc::DEFAULT_IDLE_FRAMES,
            strategy: Strategy::Tenure,
            small_buffer_slot: 64 * KIB,
            min_block: 192 * KIB,
            max_buffer_block: 32 * MIB,
            max_texture_block: 64 * MIB,
            max_pooled_buffer: 16 * MIB,
            growth_divisor: 16,
            max_small_upload: 64 * KIB,
            max_pooled_upload: 64 * MIB,
            max_upload_block: 4 * MIB,
            upload_suballocator: UploadSuballocator::General,
            pool_shards: 8,
            constant_page: 64 * KIB,
            upload_page: MIB,
            max_pending_upload: 64 * MIB,
            readback_page: MIB,
            descriptor_block: 1024,
            static_resource_descriptors: None,
            dynamic_resource_descriptors: None,
            static_sampler_descriptors: None,
            dynamic_sampler_descriptors: None,
            descriptor_chunk: 1024,
            set_block: 64,
            poison_descriptors: cfg!(debug_assertions),
            transient_heap: 128 * MIB,
            transient_cache: 64,
            transient_latency: 16,
            transient_improvement: 2000,
            shutdown_timeout: Duration::from_secs(5),
            frame_timeout: Duration::from_secs(10),
            leak_backtraces: false,
        }
    }
}

impl Config {
    /// Checks every field against its range.
    ///
    /// # Errors
    /// [`ConfigError`] for the first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |field, value: u64, min, max| {
            let in_range = (min..=max).contains(&value);
            if in_range { Ok(()) } else { Err(ConfigError { field, value, min, max, rule: "" }) }
        };
        let power_of_two = |field, value: u64, min, max| {
            check(field, value, min, max)?;
            let rule = ", a power of two";
            if value.is_power_of_two() { Ok(()) } else { Err(ConfigError { field, value, min, max, rule }) }
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        check("frames_in_flight", u64::from(self.frames_in_flight), 1, 16)?;
        check("idle_frames", u64::from(self.idle_frames), 0, 1_000_000)?;
        power_of_two("small_buffer_slot", self.small_buffer_slot, 64 * KIB, 16 * MIB)?;
        power_of_two("constant_page", self.constant_page, 4 * KIB, 4 * MIB)?;
        power_of_two("upload_page", self.upload_page, 64 * KIB, 64 * MIB)?;
        power_of_two("readback_page", self.readback_page, 64 * KIB, 64 * MIB)?;
        check("max_pending_upload", self.max_pending_upload, 64 * KIB, 4 * GIB)?;
        check("min_block", self.min_block, 64 * KIB, 256 * MIB)?;
        check("max_buffer_block", self.max_buffer_block, 64 * KIB, 4 * GIB)?;
        check("max_texture_block", self.max_texture_block, 64 * KIB, 4 * GIB)?;
        check("max_pooled_buffer", self.max_pooled_buffer, 0, self.max_buffer_block)?;
        check("growth_divisor", self.growth_divisor, 1, 64)?;
        check("max_upload_block", self.max_upload_block, 64 * KIB, 256 * MIB)?;
        check("max_small_upload", self.max_small_upload, 256, self.max_upload_block)?;
        check("max_pooled_upload", self.max_pooled_upload, self.max_small_upload, 4 * GIB)?;
        check("pool_shards", u64::from(self.pool_shards), 1, MAX_SHARDS as u64)?;
        check("descriptor_block", u64::from(self.descriptor_block), 16, 65_536)?;
        check("descriptor_chunk", u64::from(self.descriptor_chunk), 16, 65_536)?;
        check("set_block", u64::from(self.set_block), 1, 4096)?;
        check("transient_heap", self.transient_heap, 0, 4 * GIB)?;
        check("transient_cache", u64::from(self.transient_cache), 0, 1_000_000)?;
        check("transient_improvement", self.transient_improvement, 0, 1_000_000_000)?;
        check("transient_latency", u64::from(self.transient_latency), 0, 1_000_000)?;
        check("shutdown_timeout (ms)", millis(self.shutdown_timeout), 0, 3_600_000)?;
        check("frame_timeout (ms)", millis(self.frame_timeout), 0, 3_600_000)
    }
}
