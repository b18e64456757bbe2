//! Memory for lasting resources: pools of heaps, one a class; what to do when there is none left.
//!
//! # How a request is served (spec M11)
//! For each memory type that can hold the resource, in [order of preference](type_order):
//! 1. a range of the pool's blocks;
//! 2. a new block: the preferred size, then a half, a quarter, an eighth of it, as far as the
//!    request fits and the device allows (it takes the place of the pool's empty blocks, which
//!    were too small);
//! 3. memory of its own (a committed resource).
//!
//! When all types have refused, what the GPU is done with is released, idle blocks are given back,
//! and the types are tried once more. Only then the request fails, with [`OutOfMemory`]
//! (size, class, budget, largest free range). A lost device or an invalid description ends the
//! climb at once. Whatever was made on the way is unmade.
//!
//! [`OutOfMemory`]: crate::OutOfMemory

pub mod bare;
mod class;
mod freeing;
mod growth;
mod ladder;
mod lending;
mod mailbox;
mod make;
mod notices;
mod objects;
mod page;
mod patience;
mod place;
pub mod policy;
mod pool;
mod pools;
mod ranges;
mod seat;
mod shards;
mod types;

pub(crate) use freeing::RUN;
pub(crate) use ladder::{Fall, RangeRequest, ResourceRequest};
pub(crate) use mailbox::Mailbox;
pub(crate) use objects::{MemoryOwner, Taken};
pub(crate) use page::{Page, PageSeat};
pub(crate) use place::{Home, Place};
pub(crate) use pool::{Pool, Receipt, Spot, Store};
pub(crate) use pools::{Pools, allows};
pub(crate) use seat::{Seat, SharedHeap, Turn};
pub(crate) use shards::{MAX_SHARDS, Shards};
pub(crate) use types::flush_atom;

pub use class::{Class, PoolKind};
pub use place::LocationKind;
pub use types::{MemoryUse, TypeOrder, target_type_order, type_order};
