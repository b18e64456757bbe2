//! Configuration of paging.

/// The paging of a device's memory: see [`DeviceConfig::paging`](crate::DeviceConfig::paging) and the
/// [crate documentation](crate#paging).
///
/// ```
/// use tenure::sim::{BudgetChange, Device, DeviceConfig, Paging, Profile};
///
/// // After 100 submissions another program takes most of the card, and after 300 it is gone.
/// let paging = Paging::PCIE4_X16.script([
///     BudgetChange { after: 100, heap: 0, bytes: 1 << 30 },
///     BudgetChange { after: 300, heap: 0, bytes: 7 << 30 },
/// ]);
/// let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).paging(paging));
/// assert_eq!(device.paging_stats().submissions, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Paging {
    /// Bytes a second between the GPU's memory and where blocks go: at least 1.
    pub link: u64,
    /// Nanoseconds that the operating system takes for each moved block, in addition to its bytes.
    pub per_block: u64,
    /// Nanoseconds that the GPU takes for a submission, in addition to paging for it.
    pub per_submission: u64,
    /// Submissions for which more than the budget may be resident before the operating system demotes blocks: the
    /// time for a program to follow a lower budget by itself. *Default*: 0.
    pub demotion_delay: u64,
    /// Budgets that change, in the order of their submissions.
    pub script: Vec<BudgetChange>,
}

/// A change of the budget of a memory heap after some submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetChange {
    /// The number of submissions, on all queues together, that have run before.
    pub after: u64,
    /// The index of the memory heap.
    pub heap: usize,
    /// Bytes that are granted.
    pub bytes: u64,
}

impl Paging {
    /// A card in a slot of PCI Express 3.0 with 16 lanes: 12 GB/s of 15.8 in practice.
    pub const PCIE3_X16: Self = Self::over(12_000_000_000);
    /// A card in a slot of PCI Express 4.0 with 16 lanes: 24 GB/s of 31.5 in practice.
    pub const PCIE4_X16: Self = Self::over(24_000_000_000);
    /// A GPU that shares the system's memory, paged to a solid-state disk.
    pub const DISK: Self = Self::over(3_000_000_000);

    /// Costs for a link of `link` bytes a second.
    #[must_use]
    pub const fn over(link: u64) -> Self {
        Self { link, per_block: 50_000, per_submission: 1_000_000, demotion_delay: 0, script: Vec::new() }
    }

    /// Sets [`script`](Self::script).
    #[must_use]
    pub fn script(mut self, changes: impl Into<Vec<BudgetChange>>) -> Self {
        self.script = changes.into();
        self
    }

    /// Sets [`demotion_delay`](Self::demotion_delay).
    #[must_use]
    pub const fn demotion_delay(mut self, submissions: u64) -> Self {
        self.demotion_delay = submissions;
        self
    }

    /// The nanoseconds to transfer `bytes`.
    pub(super) fn transfer(&self, bytes: u64) -> u128 {
        u128::from(bytes) * 1_000_000_000 / u128::from(self.link.max(1))
    }
}
