//! Configuration of pools, pages and heaps.

use std::fmt;
use std::time::Duration;

use super::error::Check;
use super::{ConfigError, ConfigUnit, GIB, KIB, MIB};

/// The maximum number of shards of a pool.
pub const MAX_POOL_SHARDS: usize = 16;

/// Placement strategy for lasting resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Strategy {
    /// The [placement policy](crate::policy): small resources share memory, large ones have dedicated
    /// memory.
    #[default]
    Pooled,
    /// A separate API resource for everything, placed in pooled heaps. For comparison, and for drivers with
    /// problems in sub-ranges of buffers.
    Placed,
    /// A committed resource for everything. For comparison, and to exclude the pools as the cause of a bug.
    Committed,
}

impl Strategy {
    /// The name on command lines and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Placed => "placed",
            Self::Committed => "committed",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The suballocator of upload buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UploadSuballocator {
    /// The general suballocator, for all sizes in one pool: it uses less memory and fewer blocks on recorded programs.
    /// `tenure replay --uploads buddy` shows the alternative.
    #[default]
    General,
    /// A buddy allocator for small buffers in a separate pool, the general suballocator for the rest.
    Buddy,
}

/// Placement of lasting buffers and textures, and the blocks that they share: part of
/// [`Config`](crate::Config).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolConfig {
    /// Placement strategy for lasting resources. Default: the placement policy.
    pub strategy: Strategy,
    /// Bytes of one backing buffer of the pool of small buffers, a power of two. Vertex and index buffers up to
    /// this size share such a backing buffer. Default 64 KiB; 64 KiB to 16 MiB.
    ///
    /// A larger value packs more buffers into an API resource and calls the driver less often; a smaller one leaves less
    /// memory unused when few buffers remain in each.
    pub small_buffer_slot: u64,
    /// Bytes of the smallest block that a pool requests from the driver. Default 128 KiB; 64 KiB to 256 MiB. Limited by
    /// `max_buffer_block` and `max_texture_block`.
    ///
    /// Blocks grow with the contents of the pool, so this affects small pools: a larger value calls the driver less often
    /// while a program starts; a smaller one reserves less in pools that stay small.
    pub min_block: u64,
    /// Bytes of the largest block of a pool of buffers. Default 32 MiB; 64 KiB to 4 GiB.
    ///
    /// Larger blocks need fewer driver allocations; some drivers allow only 4,096. Smaller blocks become empty and are
    /// released sooner.
    pub max_buffer_block: u64,
    /// Bytes of the largest block of a pool of textures. Default 64 MiB; 64 KiB to 4 GiB. Textures above
    /// this are committed.
    pub max_texture_block: u64,
    /// Bytes above which a buffer is committed. Default 16 MiB; up to `max_buffer_block`.
    ///
    /// A smaller value returns the memory of large buffers immediately; a larger one makes creating and destroying them
    /// faster.
    pub max_pooled_buffer: u64,
    /// The divisor for growth: a new block is the pool's used bytes divided by this. Default 16; 1 to 64.
    ///
    /// A larger value reserves less memory; a smaller one calls the driver less often.
    pub growth_divisor: u64,
    /// Maximum number of shards of a pool when threads contend for it; 1: all threads share one pool, and placement depends
    /// only on the order of calls. Default 8; 1 to 16.
    ///
    /// A thread that often finds a pool locked gets its own shard, which suballocates pieces of the first shard's blocks;
    /// requests above 64 KiB are never sharded. With more shards, more threads allocate at the same time, and more memory
    /// is unused in each.
    pub shards: u32,
    /// Maximum time that an allocation waits for dropped memory that the GPU still uses, before it uses slower memory or
    /// fails. Default 1 s; up to 60 s; 0: no wait, not even by [uploads](StagingConfig::max_pending).
    pub max_wait: Duration,
}

tenure_heap::setters!(PoolConfig {
    strategy: Strategy,
    small_buffer_slot: u64,
    min_block: u64,
    max_buffer_block: u64,
    max_texture_block: u64,
    max_pooled_buffer: u64,
    growth_divisor: u64,
    shards: u32,
    max_wait: Duration,
});

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            strategy: Strategy::Pooled,
            small_buffer_slot: 64 * KIB,
            min_block: 128 * KIB,
            max_buffer_block: 32 * MIB,
            max_texture_block: 64 * MIB,
            max_pooled_buffer: 16 * MIB,
            growth_divisor: 16,
            shards: 8,
            max_wait: Duration::from_secs(1),
        }
    }
}

impl PoolConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        Check::bytes("pools.small_buffer_slot", self.small_buffer_slot).power_of_two(64 * KIB, 16 * MIB)?;
        Check::bytes("pools.min_block", self.min_block).range(64 * KIB, 256 * MIB)?;
        Check::bytes("pools.max_buffer_block", self.max_buffer_block).range(64 * KIB, 4 * GIB)?;
        Check::bytes("pools.max_texture_block", self.max_texture_block).range(64 * KIB, 4 * GIB)?;
        Check::bytes("pools.max_pooled_buffer", self.max_pooled_buffer).up_to(
            0,
            "pools.max_buffer_block",
            self.max_buffer_block,
        )?;
        let count = |field, value| Check::new(field, value, ConfigUnit::Count);
        count("pools.growth_divisor", self.growth_divisor).range(1, 64)?;
        count("pools.shards", self.shards.into()).range(1, MAX_POOL_SHARDS as u64)?;
        let wait = u64::try_from(self.max_wait.as_millis()).unwrap_or(u64::MAX);
        Check::new("pools.max_wait", wait, ConfigUnit::Milliseconds).range(0, 60_000)
    }
}

/// Placement of buffers of [`MemoryUse::Upload`](crate::MemoryUse::Upload): part of [`Config`](crate::Config).
/// Blocks of their pools start at [`PoolConfig::min_block`] bytes, like others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadConfig {
    /// The suballocator of upload buffers. Default: the general one.
    pub suballocator: UploadSuballocator,
    /// Bytes up to which an upload buffer goes to the buddy suballocator, if there is one. Default 64 KiB; 256
    /// B up to `max_block`.
    ///
    /// A buddy allocator rounds sizes up to powers of two: a larger value wastes more memory on large buffers.
    pub max_small: u64,
    /// Bytes above which an upload buffer is committed. Default 64 MiB; `max_small` to 4 GiB.
    ///
    /// A smaller value returns the memory of large buffers immediately; a larger one makes creating and destroying them
    /// faster. It also limits the blocks of the pool of uploads.
    pub max_pooled: u64,
    /// Bytes of the largest block of the buddy suballocator, whose blocks are powers of two. Default 4 MiB;
    /// 64 KiB to 256 MiB.
    pub max_block: u64,
}

tenure_heap::setters!(UploadConfig {
    suballocator: UploadSuballocator,
    max_small: u64,
    max_pooled: u64,
    max_block: u64,
});

impl Default for UploadConfig {
    fn default() -> Self {
        Self {
            suballocator: UploadSuballocator::General,
            max_small: 64 * KIB,
            max_pooled: 64 * MIB,
            max_block: 4 * MIB,
        }
    }
}

impl UploadConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        Check::bytes("uploads.max_block", self.max_block).range(64 * KIB, 256 * MIB)?;
        Check::bytes("uploads.max_small", self.max_small).up_to(256, "uploads.max_block", self.max_block)?;
        Check::bytes("uploads.max_pooled", self.max_pooled).range(self.max_small, 4 * GIB)
    }
}

/// The shared pages of constants, uploads and readbacks: part of [`Config`](crate::Config).
///
/// Larger pages are allocated less often; smaller ones leave less memory unused at their ends. Uploads and readbacks of at
/// least half such a page, and constants larger than a page, get a separate buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StagingConfig {
    /// Bytes of the pages for the constants of recordings, a power of two. Default 64 KiB; 4 KiB to 4 MiB.
    pub constant_page: u64,
    /// Bytes of the largest pages for staging uploads, a power of two. Default 1 MiB; 64 KiB to 64 MiB.
    ///
    /// The first page has 64 KiB. The size doubles when a page is full before its predecessor is free.
    pub upload_page: u64,
    /// Bytes of the largest shared pages of readbacks, a power of two. Default 1 MiB; 64 KiB to 64 MiB. They grow like
    /// those of uploads.
    pub readback_page: u64,
    /// Bytes of the largest pages for the scratch memory of acceleration structure
    /// builds, a power of two. Default 4 MiB; 64 KiB to 256 MiB.
    ///
    /// The first page has 64 KiB, or the size needed by the first build. The size doubles when a recording needs more than
    /// one page. A larger value serves builds of larger scenes without a separate buffer; a smaller one reserves less for
    /// few builds.
    pub build_scratch_page: u64,
    /// Bytes of pending uploads at which they are submitted without waiting for a submission or the end of a
    /// frame. Default 64 MiB; 64 KiB to 4 GiB.
    ///
    /// It also limits the staging memory of large transfers. Uploads and initial data above a quarter of it are divided
    /// into pieces of a quarter. A whole subresource is divided only if it is larger than `max_pending`, because copies of
    /// parts need a graphics queue. Before the next piece is staged, the call waits for the GPU until the piece and all
    /// staged bytes that the GPU has not copied yet fit into this limit. The limit may be exceeded by one piece for each
    /// further uploading thread, by a row of blocks or a depth mip that is larger than the limit, by uploads of up to a
    /// quarter, which never wait, and by uploads that must not wait
    /// ([`AllocationFlags::NEVER_WAIT`](crate::AllocationFlags::NEVER_WAIT), a [`PoolConfig::max_wait`] of 0, uploads
    /// inside `Gpu::submit_external`). `Gpu::read_back_into` has the same limit for its own pieces.
    ///
    /// A larger value copies more per submission and waits less; a smaller one starts the copies sooner and needs less
    /// staging memory.
    pub max_pending: u64,
}

tenure_heap::setters!(StagingConfig {
    constant_page: u64,
    upload_page: u64,
    readback_page: u64,
    build_scratch_page: u64,
    max_pending: u64,
});

impl Default for StagingConfig {
    fn default() -> Self {
        Self {
            constant_page: 64 * KIB,
            upload_page: MIB,
            readback_page: MIB,
            build_scratch_page: 4 * MIB,
            max_pending: 64 * MIB,
        }
    }
}

impl StagingConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        Check::bytes("staging.constant_page", self.constant_page).power_of_two(4 * KIB, 4 * MIB)?;
        Check::bytes("staging.upload_page", self.upload_page).power_of_two(64 * KIB, 64 * MIB)?;
        Check::bytes("staging.readback_page", self.readback_page).power_of_two(64 * KIB, 64 * MIB)?;
        let build_scratch = Check::bytes("staging.build_scratch_page", self.build_scratch_page);
        build_scratch.power_of_two(64 * KIB, 256 * MIB)?;
        Check::bytes("staging.max_pending", self.max_pending).range(64 * KIB, 4 * GIB)
    }
}

/// Heaps and API resources of transient resources: part of [`Config`](crate::Config).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransientConfig {
    /// Bytes of the largest heap for transient resources without a declared graph, unless the request is
    /// larger; 0: heaps of exactly the requested size. Default 128 MiB; up to 4 GiB.
    ///
    /// The first heap has 1 MiB or the size of the first request; each further one is half of the current total for such
    /// resources. With a larger value, more resources share memory; a smaller one reserves less at the end of the last
    /// heap.
    pub heap: u64,
    /// Number of unused API resources, buffers and textures separately, that a heap keeps. Default 64; up to 1,000,000.
    ///
    /// A larger value avoids recreating them when a program alternates between graphs; a smaller one keeps less driver
    /// memory for them.
    pub cache: u32,
    /// Frames after which unused heaps, oversized heaps of graphs, and API resources beyond `cache` are destroyed. Heaps
    /// replaced by a new one are destroyed immediately. Default 16; at most 1,000,000.
    ///
    /// A larger value saves driver calls for intermittent use; a smaller one returns memory sooner.
    pub latency: u32,
    /// Number of placements tried in each frame to improve the plan of a graph that is not proven optimal. Default 2,000, a
    /// fraction of a millisecond; 0: plans stay unchanged. At most 1,000,000,000.
    ///
    /// A larger value finds a smaller plan within fewer frames, and costs more CPU time in each until then.
    pub improvement: u64,
    /// Whether to measure the GPU time of each pass of a graph, and report it under the name of the pass in
    /// `Stats::gpu_times`, as with `Commands::gpu_time`. Default `false`.
    ///
    /// It costs two timestamps per pass; some GPUs wait for one before they begin the next pass.
    pub gpu_times: bool,
}

tenure_heap::setters!(TransientConfig {
    heap: u64,
    cache: u32,
    latency: u32,
    improvement: u64,
    gpu_times: bool,
});

impl Default for TransientConfig {
    fn default() -> Self {
        Self { heap: 128 * MIB, cache: 64, latency: 16, improvement: 2000, gpu_times: false }
    }
}

impl TransientConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        Check::bytes("transient.heap", self.heap).range(0, 4 * GIB)?;
        let count = |field, value| Check::new(field, value, ConfigUnit::Count);
        count("transient.cache", self.cache.into()).range(0, 1_000_000)?;
        count("transient.improvement", self.improvement).range(0, 1_000_000_000)?;
        Check::new("transient.latency", self.latency.into(), ConfigUnit::Frames).range(0, 1_000_000)
    }
}
