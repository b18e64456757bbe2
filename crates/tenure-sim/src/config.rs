//! Configuration of a device.

use tenure_core::device::DescriptorLimits;

use crate::calls::Costs;
use crate::hazard::Checks;
use crate::paging::Paging;
use crate::profile::Profile;

/// The lag of the queues behind the CPU. See the [crate documentation](crate#time).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// Every submission is done when `submit` returns, unless it waits for another queue.
    None,
    /// A submission is due this many ticks after it was made: a tick is a submission or a poll,
    /// on any queue.
    Submissions(u64),
    /// A submission is due a random number of ticks after it was made, drawn from the seed:
    /// `0..=max`.
    Random {
        /// The most ticks.
        max: u64,
    },
    /// Submissions complete only by [`Device::complete_one`](crate::Device::complete_one),
    /// [`complete`](crate::Device::complete) or [`run_until_idle`](crate::Device::run_until_idle). `wait` blocks
    /// on the real clock.
    Manual,
}

/// The methods that set options of plain values.
macro_rules! setters {
    ($($name:ident($($value:ident: $type:ty)?) = $set:expr;)*) => {$(
        #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        #[must_use]
        pub const fn $name(mut self $(, $value: $type)?) -> Self {
            self.$name = $set;
            self
        }
    )*};
}

/// The settings of a device.
///
/// ```
/// use tenure::sim::{Checks, Device, Lag, DeviceConfig, Profile};
///
/// let options = DeviceConfig::new(Profile::VULKAN_NVIDIA)
///     .seed(7)
///     .lag(Lag::Random { max: 5 })
///     .checks(Checks::all().difference(Checks::RACES));
/// let device = Device::with_config(options);
/// # let _ = device;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// The simulated hardware.
    pub profile: Profile,
    /// The seed of all randomness. *Default*: 0.
    pub seed: u64,
    /// The lag of the queues. *Default*: two ticks.
    pub lag: Lag,
    /// The enabled checks. *Default*: all.
    pub checks: Checks,
    /// Whether the executed steps about barriers are recorded for [`Device::take_journal`]. Unbounded: take it
    /// regularly. *Default*: no.
    ///
    /// [`Device::take_journal`]: crate::Device::take_journal
    pub journal: bool,
    /// The cost model.
    pub costs: Costs,
    /// Sizes of the memory heaps in bytes, replacing the profile's; missing heaps keep theirs. Limited to 16 TiB. The
    /// budgets follow, and `max_heap_size`: on `d3d12` profiles it is the largest heap, on `vulkan` ones at most that.
    pub heap_sizes: Vec<u64>,
    /// Bytes that the OS grants of each memory heap instead of nine tenths of its size; heaps not
    /// named keep that.
    pub budgets: Vec<u64>,
    /// Buffers may be placed at any multiple of 8 B allowed by their usage (D3D12 tight alignment): 256 B for constants
    /// and acceleration structures, 16 B for shader reads and writes. Textures that may be at 4 KiB without it may be at
    /// 256 B. *Default*: the profile's.
    pub tight_alignment: Option<bool>,
    /// New memory reads as zero. *Default*: the profile's.
    pub zeroed: Option<bool>,
    /// The driver prefers dedicated memory for all resources, like one with problems with placed resources.
    /// *Default*: no.
    pub prefers_dedicated: bool,
    /// The driver requires dedicated memory for all resources, like one that corrupts placed resources: placing a
    /// resource is an error. *Default*: no.
    pub requires_dedicated: bool,
    /// Textures read by shaders must also be in `COPY_SRC`, after a barrier: simulates a driver that otherwise flushes
    /// too little. On Direct3D 12 with resource states. *Default*: no.
    pub copy_src_with_reads: bool,
    /// The driver loses some copies to depth and stencil (`Features::NO_STENCIL_UPLOADS` and
    /// `NO_DEPTH_LAYER_COPIES`), and such copies are refused. On Direct3D 12. *Default*: no.
    pub loses_depth_copies: bool,
    /// Unmapped tiles read as zero; otherwise a read of them is a read of unwritten bytes. *Default*: yes, as
    /// with D3D12 tiled resources tier 2.
    pub unmapped_tiles: bool,
    /// Resources can be shared with other devices: see [`Device::export`](crate::Device::export). *Default*: yes.
    pub shared_memory: bool,
    /// The CPU writes texels directly, as with `VK_EXT_host_image_copy`. On Vulkan profiles. *Default*: the
    /// profile's.
    pub texture_writes: Option<bool>,
    /// The descriptor limits. *Default*: the profile's.
    pub descriptors: Option<DescriptorLimits>,
    /// The paging simulation. *Default*: none, and memory over the budget works like any other.
    pub paging: Option<Paging>,
    /// An access of destroyed or evicted memory loses the device, as on a real one, and is no hazard:
    /// [`Gpu::loss`](tenure_core::Gpu::loss) names the object. Textures have addresses, too, as on Vulkan with
    /// `DeviceConfig::address_reports`. *Default*: no.
    pub page_faults: bool,
    /// Recordings and their scopes write markers, so that [`Gpu::loss`](tenure_core::Gpu::loss) shows the progress of
    /// the GPU.
    /// *Default*: no.
    pub markers: bool,
    /// Keep a line for each call: see [`Device::call_log`](crate::Device::call_log).
    pub record_calls: bool,
}

impl DeviceConfig {
    /// The defaults, for a profile.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            seed: 0,
            lag: Lag::Submissions(2),
            checks: Checks::all(),
            journal: false,
            costs: Costs::default(),
            heap_sizes: Vec::new(),
            budgets: Vec::new(),
            tight_alignment: None,
            zeroed: None,
            prefers_dedicated: false,
            requires_dedicated: false,
            copy_src_with_reads: false,
            loses_depth_copies: false,
            unmapped_tiles: true,
            page_faults: false,
            markers: false,
            shared_memory: true,
            texture_writes: None,
            descriptors: None,
            paging: None,
            record_calls: false,
        }
    }

    setters! {
        seed(seed: u64) = seed;
        lag(lag: Lag) = lag;
        checks(checks: Checks) = checks;
        tight_alignment(on: bool) = Some(on);
        zeroed(on: bool) = Some(on);
        prefers_dedicated() = true;
        requires_dedicated() = true;
        copy_src_with_reads() = true;
        loses_depth_copies() = true;
        unmapped_tiles(on: bool) = on;
        page_faults(on: bool) = on;
        markers(on: bool) = on;
        shared_memory(on: bool) = on;
        texture_writes(on: bool) = Some(on);
        descriptors(limits: DescriptorLimits) = Some(limits);
        journal(on: bool) = on;
        record_calls() = true;
    }

    /// Sets [`costs`](Self::costs).
    #[must_use]
    pub fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// Sets [`heap_sizes`](Self::heap_sizes).
    #[must_use]
    pub fn heap_sizes(mut self, bytes: impl Into<Vec<u64>>) -> Self {
        self.heap_sizes = bytes.into();
        self
    }

    /// Sets [`budgets`](Self::budgets).
    #[must_use]
    pub fn budgets(mut self, bytes: impl Into<Vec<u64>>) -> Self {
        self.budgets = bytes.into();
        self
    }

    /// Sets [`paging`](Self::paging).
    #[must_use]
    pub fn paging(mut self, paging: Paging) -> Self {
        self.paging = Some(paging);
        self
    }
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self::new(Profile::default())
    }
}
