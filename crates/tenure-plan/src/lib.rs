//! Places resources with known lifetimes in as little memory as possible.
//!
//! Resources of a frame live from one pass to another; those that do not live at the same time may
//! share bytes. Where everything goes such that the peak is lowest is offline dynamic storage
//! allocation: rectangles that are fixed in time and slide in address. It is NP-hard. This crate knows
//! nothing of graphics: it has [`Item`]s with a lifetime, a size and an alignment, and where wanted a
//! class, a fixed place, or a place in the plan before.
//!
//! ```
//! use tenure_plan::{Item, Options, check, plan};
//!
//! const MIB: u64 = 1 << 20;
//! let items = [
//!     Item::new(0..3, 16 * MIB),  // shadow map: written in pass 0, last read in pass 2
//!     Item::new(1..5, 32 * MIB),  // G-buffer
//!     Item::new(3..6, 16 * MIB),  // light
//!     Item::new(5..7, 32 * MIB).aligned(64 << 10),
//! ];
//! let plan = plan(&items, &Options::new())?;
//! assert_eq!(plan.peak, 48 * MIB);
//! assert!(plan.proven, "no plan can be lower");
//! assert_eq!(check(&items, &plan.offsets), Ok(plan.peak));
//! # Ok::<(), tenure_plan::PlanError>(())
//! ```
//!
//! # What is promised
//!
//! A plan is valid, whatever the effort: [`check`] shares no code with what makes plans. It comes with
//! a lower bound that no plan can pass; where the peak is the bound, `proven` is true, and it is the
//! best plan there is. Without a limit of time a plan depends on the items and the [`Options`] alone,
//! with any number of threads.
//!
//! # How
//!
//! *Time* is cut into sections, the maximal sets of items that are alive together; *sizes* are counted
//! in the largest unit that divides them all. Then:
//!
//! 1. *One pass.* What has been placed has an upper edge, a row of plateaus. One that is lower than
//!    its neighbours takes the first item in an order that lies within it, or rises to its lower
//!    neighbour if there is none (the skyline heuristic of strip packing: Burke, Kendall and Whitwell,
//!    2004). Two such plateaus never compete for an item, so no queue is needed. A few hundred items
//!    are kept as sets of bits, more as points (start, end) in a k-d tree, where the items within a
//!    plateau are a quadrant. O(n log n) in practice, with memory linear in n. Of items of about the
//!    same urgency, those with the coarsest alignment come first, as heights that suit them are rare.
//! 2. *Some passes more*: the first item that ended too high comes first the next time (squeaky wheel
//!    optimisation: Joslin and Clements, 1999). Where up to 1,024 items differ in alignment, six of
//!    them belong to the first plan.
//! 3. *A search* of up to 2,048 items for a plan within the lower bound or the capacity, in the
//!    canonical order of offsets (as in MiniMalloc: Moffitt, 2023). An item that is put off must come
//!    to lie on another one, which bounds it from below, as does whatever is forced to come first. What
//!    a dead end depends on is traced back through those bounds: the search returns to where it
//!    matters (conflict-directed backjumping: Prosser, 1993), and keeps the reason for later. Many
//!    orders take turns, each for a while, some of them weighted by where earlier ones failed. If the
//!    search exhausts a capacity, the bound rises.
//! 4. *Repairs*: what ends too high is taken out with what lies around it, and placed anew by the
//!    search or another order (large neighbourhood search: Shaw, 1998). They take turns with the
//!    search, or with other orders for more items than that.
//!
//! Parts that do not touch in time, and classes, are planned apart.
//!
//! # Limits
//!
//! [`MAX_ITEMS`] items, [`MAX_BYTES`] bytes and 64 threads. A limit of time ends everything but the first
//! pass, which is the least that a plan takes. Frames of a renderer (100 items) take about 10 µs, the
//! hardest instances published (150 to 450 items that fill their capacity) some milliseconds, a
//! million random items some seconds. The search's memory grows with the square of its items, to about
//! 80 MiB for 2,048; all else takes some hundred bytes an item. `cargo run --release -p bench -- plan`
//! measures all this.
#![forbid(unsafe_code)]

mod bound;
mod budget;
mod check;
pub mod csv;
mod error;
mod item;
mod mix;
mod options;
mod order;
mod part;
mod plan;
mod planner;
mod problem;
mod range_max;
mod search;
mod skyline;
mod solve;
mod stability;
pub mod svg;
mod validate;

pub use check::check;
pub use error::{Fault, MAX_BYTES, MAX_ITEMS, PlanError};
pub use item::Item;
pub use options::{Options, Stability};
pub use plan::{ClassPlan, Plan};
pub use planner::plan;
