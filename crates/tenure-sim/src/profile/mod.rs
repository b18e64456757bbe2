//! The simulated hardware.

mod d3d12;
mod table;
mod vulkan;

pub(crate) use table::{Formats, Rules, Table};

/// A hardware profile: memory types, heaps, queues, alignments, limits and rules of a device.
///
/// The tables follow the values that the named kind of device reports through its API, as collected by public
/// capability databases. `d3d12-*` profiles behave as Direct3D 12 does
/// ([`StateModel::Promotion`](tenure_core::device::StateModel) except for `d3d12-enhanced`, zeroed heaps, 64 KiB
/// placement); `vulkan-*` profiles as Vulkan does (explicit barriers, ownership of queue families, heaps with
/// undefined contents).
///
/// ```
/// use tenure::device::Device as _;
/// use tenure::sim::{Device, Profile};
///
/// for profile in Profile::ALL {
///     assert_eq!(Profile::by_name(profile.name()), Some(*profile));
///     assert!(!Device::new(*profile).properties().queues.is_empty());
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Profile(&'static Table);

impl Profile {
    /// A discrete card under Direct3D 12 with heap tier 2: the default.
    pub const DISCRETE: Self = Self::D3D12_TIER2;
    /// Direct3D 12, discrete, heap tier 1: separate heaps for buffers, targets and other textures.
    pub const D3D12_TIER1: Self = Self(&d3d12::TIER1);
    /// Direct3D 12, discrete, heap tier 2: one heap for all resources.
    pub const D3D12_TIER2: Self = Self(&d3d12::TIER2);
    /// Direct3D 12, discrete, heap tier 2, with GPU upload heaps (resizable BAR) and tight
    /// alignment.
    pub const D3D12_REBAR: Self = Self(&d3d12::REBAR);
    /// Direct3D 12, integrated: one memory for CPU and GPU.
    pub const D3D12_UMA: Self = Self(&d3d12::UMA);
    /// As [`D3D12_REBAR`](Self::D3D12_REBAR), with enhanced barriers: layouts in place of legacy
    /// states.
    pub const D3D12_ENHANCED: Self = Self(&d3d12::ENHANCED);
    /// Vulkan on a discrete NVIDIA card: 10 GiB, a 214 MiB window, `bufferImageGranularity` 1024.
    pub const VULKAN_NVIDIA: Self = Self(&vulkan::NVIDIA);
    /// Vulkan on a discrete AMD card with a CPU-visible BAR of 256 MiB.
    pub const VULKAN_AMD_SMALL_BAR: Self = Self(&vulkan::AMD_SMALL_BAR);
    /// Vulkan on an integrated Intel GPU.
    pub const VULKAN_INTEL: Self = Self(&vulkan::INTEL);
    /// Vulkan on a phone: one queue, non-coherent cached memory, lazily allocated memory.
    pub const VULKAN_MOBILE: Self = Self(&vulkan::MOBILE);
    /// Vulkan on Mesa's lavapipe: one heap, one memory type, one queue.
    pub const VULKAN_LAVAPIPE: Self = Self(&vulkan::LAVAPIPE);

    /// Every profile, each once.
    pub const ALL: &'static [Self] = &[
        Self::D3D12_TIER1,
        Self::D3D12_TIER2,
        Self::D3D12_REBAR,
        Self::D3D12_UMA,
        Self::D3D12_ENHANCED,
        Self::VULKAN_NVIDIA,
        Self::VULKAN_AMD_SMALL_BAR,
        Self::VULKAN_INTEL,
        Self::VULKAN_MOBILE,
        Self::VULKAN_LAVAPIPE,
    ];

    /// The profile's name for command lines: `"d3d12-tier2"`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.0.name
    }

    /// The profile with that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|profile| profile.name() == name).copied()
    }

    /// True when new heaps and committed resources read as zero, as on Direct3D 12.
    #[must_use]
    pub const fn zeroes_memory(&self) -> bool {
        self.0.zeroed
    }

    pub(crate) const fn table(self) -> &'static Table {
        self.0
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::DISCRETE
    }
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Profile {}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Profile({})", self.name())
    }
}
