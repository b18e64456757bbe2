//! The device of a program, and the injected failures.

use std::fmt;

use tenure_core::{
    CompactionConfig, Config, DescriptorConfig, FrameConfig, InPlaceConfig, PoolConfig, StagingConfig,
    Strategy, UploadConfig, UploadSuballocator,
};
use tenure_sim::{Device, DeviceConfig, Lag, Paging, Profile};
use test_random::Rng;

/// The conditions of a program besides its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// None: no call may fail for lack of memory, or because the device refuses.
    None,
    /// Calls of the driver fail now and then.
    Faults,
    /// Budgets and caps that change, and a device whose memory is paged.
    Shortage,
    /// The device is lost at some time.
    Loss,
    /// Recordings and frames are leaked.
    Leaks,
}

impl Trouble {
    const ALL: [Self; 8] = [
        Self::None,
        Self::None,
        Self::None,
        Self::Faults,
        Self::Faults,
        Self::Shortage,
        Self::Loss,
        Self::Leaks,
    ];
}

/// The device and the configuration of a program.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The hardware.
    pub profile: Profile,
    /// How far the GPU is behind.
    pub lag: Lag,
    /// The injected failures.
    pub trouble: Trouble,
    /// The operating system moves memory.
    pub is_paged: bool,
    /// The number of threads that make the steps in turn; 1: the caller's thread.
    pub threads: u8,
    /// Small pages, rings and heaps, which fill often.
    pub is_small: bool,
    /// Where buffers go.
    pub strategy: Strategy,
    /// The suballocator of small uploads.
    pub suballocator: UploadSuballocator,
    /// Frames that may be in flight.
    pub in_flight: u32,
    /// Sizes of blocks, heaps and pages are not powers of two, and the driver prefers dedicated memory for some
    /// resources.
    pub is_odd: bool,
    seed: u64,
}

/// One of these values.
fn any<T: Copy, const N: usize>(rng: &mut Rng, from: [T; N]) -> T {
    from[rng.below(N as u64) as usize]
}

impl Setup {
    pub(crate) fn new(seed: u64, rng: &mut Rng) -> Self {
        let profile = Profile::ALL[rng.below(Profile::ALL.len() as u64) as usize];
        let lags = [Lag::None, Lag::Submissions(3), Lag::Random { max: 12 }, Lag::Submissions(7)];
        let trouble = Trouble::ALL[rng.below(Trouble::ALL.len() as u64) as usize];
        Self {
            profile,
            lag: lags[rng.below(lags.len() as u64) as usize],
            trouble,
            is_paged: trouble == Trouble::Shortage || rng.below(4) == 0,
            threads: if rng.below(3) == 0 { 4 } else { 1 },
            is_small: rng.below(2) == 0,
            strategy: any(
                rng,
                [Strategy::Pooled, Strategy::Pooled, Strategy::Pooled, Strategy::Placed, Strategy::Committed],
            ),
            suballocator: any(rng, [UploadSuballocator::Buddy, UploadSuballocator::General]),
            in_flight: 1 + rng.below(4) as u32,
            is_odd: seed % 5 == 2,
            seed,
        }
    }

    /// The same for a steady program: without failures, and with a GPU that the program controls.
    pub(crate) fn steady(self, is_odd: bool) -> Self {
        Self { lag: Lag::Manual, threads: 1, is_odd, ..self.without_trouble() }
    }

    /// The same without failures.
    pub(crate) fn without_trouble(self) -> Self {
        Self { trouble: Trouble::None, ..self }
    }

    /// The same for programs that share a manager: at most the device is lost, in a quarter of the programs.
    pub(crate) fn of_threads(self) -> Self {
        // Seeds with threads are often multiples of a number.
        let is_lost = Rng::new(self.seed ^ 0x1055).below(4) == 0;
        Self { trouble: if is_lost { Trouble::Loss } else { Trouble::None }, ..self }
    }

    /// Seeds the choice of callback actions.
    pub(crate) const fn callbacks(&self) -> Rng {
        Rng::new(self.seed ^ 0xCA11)
    }

    /// A new device.
    pub(crate) fn device(&self) -> Device {
        Device::with_config(self.options())
    }

    /// DeviceConfig of the simulated device.
    pub(crate) fn options(&self) -> DeviceConfig {
        let options = DeviceConfig::new(self.profile).lag(self.lag).seed(self.seed);
        // True for Vulkan profiles.
        let options = options.texture_writes(!self.seed.is_multiple_of(3));
        let options = if self.is_odd { self.odd_options(options) } else { options };
        if self.is_paged { options.paging(Paging::PCIE4_X16) } else { options }
    }

    fn odd_options(&self, options: DeviceConfig) -> DeviceConfig {
        let mut rng = Rng::new(self.seed ^ 0x0DD);
        let options = options.tight_alignment(rng.below(2) == 0).zeroed(rng.below(2) == 0);
        let options = options.heap_sizes([(2 << 30) + rng.below(1 << 30), (2 << 30) + rng.below(1 << 30)]);
        match rng.below(6) {
            0 => options.prefers_dedicated(),
            1 => options.requires_dedicated(),
            2 => options.copy_src_with_reads(),
            _ => options,
        }
    }

    /// Sizes in their ranges that are no powers of two.
    fn odd_config(&self, chosen: Config) -> Config {
        let mut rng = Rng::new(self.seed ^ 0xC0DD);
        let mut from = |least: u64, most: u64| least + rng.below(most - least);
        let pools = chosen
            .pools
            .clone()
            .min_block(from(64 << 10, 1 << 20))
            .max_buffer_block(from(8 << 20, 32 << 20))
            .max_texture_block(from(1 << 20, 64 << 20))
            .max_pooled_buffer(from(0, 8 << 20))
            .growth_divisor(from(1, 64));
        let uploads = chosen
            .uploads
            .clone()
            .max_small(from(256, 100 << 10))
            .max_pooled(from(100 << 10, 64 << 20))
            .max_block(from(128 << 10, 4 << 20));
        let transient = chosen.transient.clone().heap(from(0, 4 << 20));
        chosen.pools(pools).uploads(uploads).transient(transient)
    }

    /// Some programs stage everything, and some write large things across the bus, too.
    fn in_place(&self) -> InPlaceConfig {
        let chosen = InPlaceConfig::default();
        match self.seed % 4 {
            0 => chosen.initial_data(false).uploads(false),
            1 => chosen.max_over_bus(4 << 30),
            _ => chosen,
        }
    }

    pub(crate) fn config(&self) -> Config {
        let config = self.even_config();
        if self.is_odd { self.odd_config(config) } else { config }
    }

    fn even_config(&self) -> Config {
        let chosen = Config::default()
            .frames(FrameConfig::default().in_flight(self.in_flight))
            .pools(PoolConfig::default().strategy(self.strategy))
            .uploads(UploadConfig::default().suballocator(self.suballocator))
            .in_place(self.in_place());
        if !self.is_small {
            return chosen;
        }
        Config::default()
            .frames(chosen.frames.idle(2))
            .pools(chosen.pools.shards(3))
            .uploads(chosen.uploads.max_small(4 << 10))
            .staging(
                StagingConfig::default().constant_page(8 << 10).upload_page(64 << 10).readback_page(64 << 10),
            )
            .descriptors(if self.profile == Profile::VULKAN_MOBILE {
                DescriptorConfig::default()
            } else {
                DescriptorConfig::default()
                    .static_resources(Some(64))
                    .dynamic_resources(Some(256))
                    .static_samplers(Some(8))
                    .dynamic_samplers(Some(16))
                    .chunk(16)
                    .block(16)
                    .set_pool(3)
                    .poison(true)
                    .report_unnamed(true)
            })
            .compaction(CompactionConfig::default().quiet_frames(0))
            .in_place(chosen.in_place)
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?}, trouble {:?}", self.profile.name(), self.lag, self.trouble)?;
        if self.is_paged {
            write!(f, ", paged")?;
        }
        if self.is_odd {
            write!(f, ", odd sizes")?;
        }
        write!(
            f,
            ", {} threads, {} configuration, {:?}, {:?}, {} frames in flight",
            self.threads,
            if self.is_small { "small" } else { "default" },
            self.strategy,
            self.suballocator,
            self.in_flight,
        )
    }
}
