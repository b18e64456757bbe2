//! Places resources with known lifetimes in as little memory as possible.
//!
//! Each resource of a frame has a lifetime from one pass to another; resources whose lifetimes do not overlap may
//! share bytes. Finding offsets with the lowest peak is offline dynamic storage allocation: placing rectangles that
//! are fixed in time and movable in address. It is NP-hard. This crate does not depend on graphics: it places
//! [`Item`]s with a lifetime, a size and an alignment, and optionally a class, a fixed offset, or an offset in the
//! previous plan.
//!
//! ```
//! use tenure_plan::{Item, PlanConfig, check, plan};
//!
//! const MIB: u64 = 1 << 20;
//! let items = [
//!     Item::new(0..3, 16 * MIB),  // shadow map: written in pass 0, last read in pass 2
//!     Item::new(1..5, 32 * MIB),  // G-buffer
//!     Item::new(3..6, 16 * MIB),  // light
//!     Item::new(5..7, 32 * MIB).aligned(64 << 10),
//! ];
//! let plan = plan(&items, &PlanConfig::new())?;
//! assert_eq!(plan.peak, 48 * MIB);
//! assert!(plan.proven, "no plan can be lower");
//! assert_eq!(check(&items, &plan.offsets), Ok(plan.peak));
//! # Ok::<(), tenure_plan::PlanError>(())
//! ```
//!
//! # Guarantees
//!
//! Every plan is valid: [`check`] shares no code with the planner. A plan contains a lower bound of the peak; if the
//! peak equals the bound, `proven` is true, and the plan is optimal. Without a time limit a plan depends only on the
//! items and the [`PlanConfig`], also with several threads.
//!
//! # Algorithm
//!
//! *Time* is divided into sections, the maximal sets of items that are alive together; *sizes* are counted
//! in the largest unit that divides them all. Then:
//!
//! 1. *One pass* of the skyline heuristic for strip packing (Burke, Kendall and Whitwell, 2004). The upper
//!    edge of the placed items is a row of plateaus. A plateau that is lower than its neighbours takes the first
//!    item, in some order, that fits into it; if there is none, it rises to its lower neighbour. Two such
//!    plateaus never compete for an item, so no queue is needed. A few hundred items are kept as bit sets, more
//!    as points (start, end) in a k-d tree, in which the items within a plateau are a quadrant. O(n log n) in
//!    practice, with memory linear in n. Among items of about the same priority, the coarsest alignment comes
//!    first, as heights that suit it are rare.
//! 2. *More passes*: the first item that ended too high comes first in the next pass (squeaky wheel
//!    optimisation: Joslin and Clements, 1999). If up to 1,024 items differ in alignment, six of these passes
//!    belong to the first plan. With more than 2,048 items only the upper ones are placed again, above eight
//!    heights one after the other, in an order that suits the remaining items and counts the bytes left empty
//!    below.
//! 3. *A backtracking search* of up to 2,048 items for a plan within the lower bound or the capacity, placing
//!    items in order of offset (as in MiniMalloc: Moffitt, 2023). It branches by placing an item at its lowest
//!    offset or postponing it; a postponed item must later rest on another one, which bounds its offset from
//!    below, as does an item that is forced to be the lowest of a section. The causes of a failure are found
//!    through those bounds: the search jumps back to a placement that matters (conflict-directed backjumping:
//!    Prosser, 1993), and records the conflict as a nogood. A portfolio of branching orders is tried with
//!    restarts, some of them weighted by earlier failures. If the search exhausts a capacity, the bound rises.
//! 4. *Large neighbourhood search* (Shaw, 1998): an item that ends too high is removed together with items near
//!    it, and all are placed again by the search or in another order. This alternates with the search or, for
//!    more than 2,048 items, with random orders.
//!
//! Items in disjoint time ranges, and classes, are planned independently.
//!
//! # Limits
//!
//! [`MAX_ITEMS`] items, [`MAX_BYTES`] bytes and 64 threads. A time limit ends everything except the first pass.
//! Frames of a renderer (100 items) take about 10 µs, the hardest published instances (150 to 450 items that fill
//! their capacity) some milliseconds, a million random items some seconds. The memory of the search grows with the
//! square of its items, to about 80 MiB for 2,048; the rest takes some hundred bytes per item. `cargo run --release
//! -p bench -- plan` measures all this; `TENURE_PLAN_INSTANCES` names the folder of the published instances.
#![warn(missing_debug_implementations)]
#![forbid(unsafe_code)]

mod bound;
mod check;
mod config;
pub mod csv;
mod error;
mod item;
mod numbers;
mod order;
mod part;
mod plan;
mod planner;
mod problem;
mod search;
mod sections;
mod skyline;
mod solve;
mod stability;
pub mod svg;

pub use check::check;
pub use config::{PlanConfig, Stability};
pub use error::{Fault, MAX_BYTES, MAX_ITEMS, PlanError};
pub use item::Item;
pub use plan::{ClassPlan, Plan};
pub use planner::plan;

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
