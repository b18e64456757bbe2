//! Functions: plans, which place items with known lifetimes so that they share memory. They need no device.

use std::time::Duration;

use tenure_plan::{Fault, Item, PlanConfig, PlanError, Stability, check, plan};

use crate::call::call;
use crate::convert::unknown;
use crate::pointer::{In, Out, Outcome};
use crate::types::*;

/// Flag of `tn_PlanItem.has`: `previous` is set.
pub const TN_PLAN_PREVIOUS: u32 = 1 << 0;
/// Flag of `tn_PlanItem.has`: `pinned` is set.
pub const TN_PLAN_PINNED: u32 = 1 << 1;

/// An item to place. Two items may share bytes if their lifetimes do not overlap, or if their classes differ.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PlanItem {
    /// The time of its first use, such as a pass number.
    pub first: u64,
    /// The end of its lifetime (exclusive); greater than `first`.
    pub end: u64,
    /// Bytes. An item of 0 bytes can share memory with every other.
    pub size: u64,
    /// A power of two; 0: 1.
    pub alignment: u64,
    /// The offset in the previous plan, with `TN_PLAN_PREVIOUS`.
    pub previous: u64,
    /// The required offset, with `TN_PLAN_PINNED`.
    pub pinned: u64,
    /// The memory class: each class has its own offsets, from 0.
    pub memory_class: u32,
    /// `TN_PLAN_PREVIOUS`, `TN_PLAN_PINNED`.
    pub has: u32,
}

/// Flag of `tn_PlanDesc`: only the first pass, which takes a few microseconds for a frame.
pub const TN_PLAN_QUICK: u32 = 1 << 0;
/// Flag of `tn_PlanDesc`: items keep their previous offsets if the cost is within `stability`.
pub const TN_PLAN_STABLE: u32 = 1 << 1;

/// The target and the search budget of a plan.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PlanDesc {
    /// `sizeof(tn_PlanDesc)`.
    pub struct_size: u32,
    /// `TN_PLAN_QUICK`, `TN_PLAN_STABLE`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// A sufficient peak in bytes, over all classes, at which the search stops; 0: as low as possible.
    pub capacity: u64,
    /// The maximum number of placements to try after the first pass; 0: 500,000, or no limit with `time_ns`.
    pub nodes: u64,
    /// The time limit of the call in nanoseconds; 0: no limit, and the same plan on every machine.
    pub time_ns: u64,
    /// The seed of random choices.
    pub seed: u64,
    /// Number of threads, up to 64; 0: 1. The call starts and joins the additional ones.
    pub threads: u32,
    /// With `TN_PLAN_STABLE`: the accepted rise of the peak, in thousandths.
    pub stability: u32,
}

/// The quality of a plan.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PlanResult {
    /// `sizeof(tn_PlanResult)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The highest end of an item in bytes, summed over all classes.
    pub peak: u64,
    /// A lower bound of the peak of any plan.
    pub lower_bound: u64,
    /// Number of items that are not at their previous offset.
    pub moved: u64,
    /// Number of placements tried after the first pass.
    pub nodes: u64,
    /// Whether the peak is proven to be minimal.
    pub is_proven: tn_Bool,
    /// Must be 0.
    pub reserved: u32,
}

descs! {
    tn_PlanDesc: TN_PLAN_QUICK | TN_PLAN_STABLE,
    tn_PlanResult: 0,
}

impl Outcome for tn_PlanResult {}

impl From<PlanError> for Failure {
    #[cold]
    fn from(error: PlanError) -> Self {
        Self::new(TN_ERROR_ARGUMENT, error.to_string())
    }
}

impl From<Fault> for Failure {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self::new(TN_ERROR_ARGUMENT, fault.to_string())
    }
}

fn items(given: &[tn_PlanItem]) -> Result<Vec<Item>, Failure> {
    let item = |given: &tn_PlanItem| {
        if given.has & !(TN_PLAN_PREVIOUS | TN_PLAN_PINNED) != 0 {
            return unknown("has", given.has);
        }
        let mut item = Item::new(given.first..given.end, given.size).in_class(given.memory_class);
        item.alignment = given.alignment.max(1);
        item.previous = (given.has & TN_PLAN_PREVIOUS != 0).then_some(given.previous);
        item.pinned = (given.has & TN_PLAN_PINNED != 0).then_some(given.pinned);
        Ok(item)
    };
    given.iter().map(item).collect()
}

fn config(desc: &tn_PlanDesc) -> PlanConfig {
    let mut config = PlanConfig::new();
    if desc.time_ns != 0 {
        config = config.time(Duration::from_nanos(desc.time_ns));
    }
    match desc.nodes {
        _ if desc.flags & TN_PLAN_QUICK != 0 => config.nodes = 0,
        0 => {}
        nodes => config.nodes = nodes,
    }
    if desc.flags & TN_PLAN_STABLE != 0 {
        config.stability = Stability::Within(desc.stability);
    }
    config.capacity = (desc.capacity != 0).then_some(desc.capacity);
    config.seed = desc.seed;
    config.threads = usize::try_from(desc.threads).unwrap_or(usize::MAX);
    config
}

/// Places items with the lowest peak found within the budget, and writes one offset per item. Every plan is valid. `desc` may be
/// null for the defaults; `out` may be null.
///
/// Errors: `TN_ERROR_ARGUMENT` for an invalid item, whose index is in the text. Nothing is written then.
#[unsafe(no_mangle)]
extern "C" fn tn_plan(
    items: In<tn_PlanItem>,
    count: usize,
    desc: In<tn_PlanDesc>,
    offsets: Out<u64>,
    out: Out<tn_PlanResult>,
) -> tn_Status {
    call(|| {
        offsets.check_array(count, "room for offsets")?;
        if !out.is_null() {
            out.check_head()?;
        }
        let config = desc.desc_or_none()?.map_or_else(PlanConfig::new, config);
        let found = plan(&self::items(items.array(count, "items")?)?, &config)?;
        offsets.set_array(&found.offsets);
        out.set(tn_PlanResult {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            peak: found.peak,
            lower_bound: found.lower_bound,
            moved: found.moved as u64,
            nodes: found.nodes,
            is_proven: found.proven.into(),
            reserved: 0,
        });
        Ok(())
    })
}

/// Checks that offsets, one per item, are a valid plan: aligned, at the pinned offsets, and without overlap of items that are
/// alive at the same time. Shares no code with `tn_plan`. `peak` may be null.
///
/// Errors: `TN_ERROR_ARGUMENT` with the first violation.
#[unsafe(no_mangle)]
extern "C" fn tn_plan_check(
    items: In<tn_PlanItem>,
    count: usize,
    offsets: In<u64>,
    peak: Out<u64>,
) -> tn_Status {
    call(|| {
        peak.check_if_any("a number")?;
        let items = self::items(items.array(count, "items")?)?;
        peak.set(check(&items, offsets.array(count, "offsets")?)?);
        Ok(())
    })
}
