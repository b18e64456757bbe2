//! A simulated GPU that finds the memory hazards no driver reports.
//!
//! [`Device`] is a complete device behind tenure's contract ([`tenure_core::device::Device`]), in software, with
//! no GPU, no driver and no `unsafe`. It copies real bytes, its queues run behind the CPU by a configurable lag,
//! and it checks each use of each byte against the contract.
//!
//! # Use it in your engine's CI
//!
//! Memory mistakes show on few GPUs and under few loads, rarely on a developer's machine: a buffer freed a frame too early, a
//! barrier that only matters when two passes swap, an upload page reused while the copy from it is still in flight. Run the same
//! code against this device in an ordinary test, and each of these is one line with the names of the objects and the call:
//!
//! ```
//! use std::time::Duration;
//! use tenure::device::{MemoryTypeId, ObjectRef, Permit, QueueSerial, ResourceDesc, prelude::*};
//! use tenure::sim::{Device, HazardKind, DeviceConfig, Profile};
//! use tenure::{Usage, device::QueueId, error::DeviceError, resource::BufferInfo};
//!
//! # fn main() -> Result<(), DeviceError> {
//! let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).seed(1));
//! // Nothing is undefined behaviour here, so that the calls of the contract need no `unsafe`.
//! let permit = Permit::checked();
//! let graphics = QueueId(0);
//! let buffer = |usage| ResourceDesc::Buffer(BufferInfo::new(1024, usage));
//!
//! // Your engine's memory code goes here: it creates, maps, records, submits.
//! let page = device.create_committed(&buffer(Usage::COPY_SRC), MemoryTypeId(1))?;
//! let rock = device.create_committed(&buffer(Usage::COPY_DST | Usage::VERTEX), MemoryTypeId(0))?;
//! device.set_name(permit, ObjectRef::Resource(&page), "upload page 7");
//! device.set_name(permit, ObjectRef::Resource(&rock), "rock");
//! device.map(&page)?.write(0, &[1; 1024])?;
//! let mut list = device.create_list(permit, graphics)?;
//! list.begin()?;
//! list.copy_buffer(&page, 0, &rock, 0, 1024);
//! list.close()?;
//! device.submit(permit, graphics, &[&list], &[], 1)?;
//!
//! // A frame too early: the copy above is still in flight.
//! device.map(&page)?.write(512, &[2; 16])?;
//!
//! let hazards = device.take_hazards();
//! assert_eq!(hazards[0].kind, HazardKind::MappingHazard);
//! assert_eq!(
//!     hazards[0].to_string(),
//!     "CPU access races the GPU: buffer 'upload page 7' (#1): the CPU writes bytes 512..528, which \
//!      submission 1 on queue 0 reads and has not been seen complete, in Mapping::write",
//! );
//!
//! // The end of every test: wait, tear down, and nothing may be wrong or left.
//! device.wait(QueueSerial { queue: graphics, serial: 1 }, Duration::from_secs(1))?;
//! device.destroy_list(permit, list);
//! device.destroy_resource(permit, page);
//! device.destroy_resource(permit, rock);
//! device.check_clean().expect("no hazards, no leaks");
//! # Ok(())
//! # }
//! ```
//!
//! A test suite is most useful when run several times: with each [`Profile`], with [`Lag::None`], [`Lag::Random`] under some seeds
//! and [`Lag::Submissions`] larger than your frames in flight, and once with a [`Fault`] at each call in turn. Runs are
//! reproducible: the same seed and the same calls in the same order result in the same completions, addresses, hazards and costs.
//! (With several threads the order of the calls is up to them.)
//!
//! # Time
//!
//! Simulated time counts in ticks. A submission is one tick, and so is a poll (`completed`, or `wait` with a zero
//! timeout), on any queue. A submission made at tick *t* is due at *t* plus the [`Lag`], after the one before it
//! on its queue and after all its waits; then all of it is executed and complete at once. A program that only
//! polls therefore never hangs. A `wait` with a timeout lets ticks pass until its serial is complete; if that
//! needs a submission that was not made yet, or a release by the test with [`Lag::Manual`], it blocks on the real
//! clock up to its timeout. Waiting before the signal is allowed; a deadlock returns `false` after the timeout.
//! `Duration::MAX` never ends.
//!
//! Completion *known to the CPU* differs from completion: a submission counts as complete for the CPU once a poll
//! or a wait returned its serial, or the serial of one that waited for it. Freeing or overwriting before that is
//! a hazard even if the queue happens to be done, because its timing may differ in another run.
//! [`Device::run_until_idle`] counts as waiting, [`Device::complete`] does not.
//!
//! # Checks
//!
//! | [`HazardKind`] | meaning |
//! | --- | --- |
//! | `ReadOfFreed`, `WriteOfFreed` | a command, or the CPU through a mapping, uses a destroyed resource, or one whose heap is destroyed |
//! | `DestroyedInUse` | an object destroyed before the CPU had seen the submissions complete that use it |
//! | `HeapDestroyedFirst` | a heap destroyed with resources in it |
//! | `ListInUse` | a list begun again while in flight |
//! | `UninitializedRead` | bytes read that were never written, to the byte, by the GPU or the CPU |
//! | `UninitializedTarget` | Direct3D 12's legacy barriers: a render target or depth buffer written before a clear, a discard or a copy to all of a subresource initialised it, after creation, an aliasing barrier or new tile mappings |
//! | `MissingAliasingBarrier` | a resource used, or a texture moved, after another live one used its bytes; on Vulkan an aliasing barrier that does not come after their last uses, or does not lead to their next use |
//! | `WrongState` | a use in a state, or a barrier from a state, that is not the current one of the subresource, or that does not come after earlier accesses; the CPU writes texels from another state than their current one; a queue family uses a resource that another owns; a queue uses a resource in a state that it does not know |
//! | `MissingBarrier` | unordered accesses, or on Vulkan copies, to the same bytes with no barrier between |
//! | `MappingHazard` | the CPU accesses bytes that a submission in flight writes, or writes bytes that it reads; in non-coherent memory it writes next to such bytes, in the same atom; it writes texels of a texture that a submission in flight uses |
//! | `QueueRace` | two queues access the same bytes without synchronisation, and one writes |
//! | `DeadDescriptor` | a descriptor is used that was freed or never written, or that has a destroyed resource; on Vulkan one with a destroyed view |
//! | `WrongDescriptor` | a descriptor is used as another kind: a sampler as a view, constants as writable |
//! | `DescriptorInUse` | a descriptor, or on Vulkan a set, overwritten or freed before the CPU had seen the submissions complete that read it; a set changed after it was recorded |
//! | `HeapNotSet` | Direct3D 12: a descriptor is used of a heap that the list did not set |
//! | `LayoutDestroyedFirst` | a set layout destroyed before its blocks |
//! | `QueryNotReady` | Vulkan: a query is written or begun that was not reset or resolved since it was made or used |
//! | `QueryNotWritten` | a query is resolved that was not written, or not ended |
//! | `UnbuiltStructure` | an acceleration structure is read that was never built or copied to |
//! | `StructureTooSmall` | an acceleration structure is compacted into fewer bytes than it needs |
//! | `UsedWhileEvicted` | with [paging](#paging): a submission uses a block that is evicted, or was made resident at a point that its queue has not waited for |
//! | `EvictedInUse` | a block evicted before the CPU had seen the submissions complete that use it |
//! | `EvictedTooOften` | a block evicted more often than it was made resident |
//! | `NeverSignalled` | a submission waits for a point of the program's own fence or semaphore without a signal |
//! | `PresentedBeforeSignal` | Vulkan: an image is presented before the signal of a value is submitted that its frame waits for, directly or through other submissions |
//! | `SignalledTwice` | a fence is signalled to a value that it reaches without this signal, a binary semaphore before a wait |
//! | `DeadFence` | a submission uses a fence or semaphore that is destroyed |
//! | `ForeignFence` | a submission uses a fence or semaphore of another device |
//! | `HeldByPeer` | a [shared](Device::export) resource is used, or released, by a device that has not acquired it, or that has released it |
//! | `NotHandedOver` | a shared resource is acquired while a peer has it, or in another state than that of its release |
//! | `InvalidUse` | a use that the resource was not created for |
//! | `WrongBytes` | [`List::expect_bytes`] found other bytes |
//!
//! [`Checks`] enables them in groups. Leaks are returned by [`Device::leaks`]. A call that violates a rule of the API by itself (a
//! misaligned offset, a heap of the wrong category, a copy outside its texture, a list that is not closed) returns an error,
//! [`DeviceError::InvalidCall`], even if real drivers accept it; `close` returns errors of recording, as in Direct3D 12.
//!
//! [`DeviceError::InvalidCall`]: tenure_core::device::DeviceError::InvalidCall
//!
//! **Contents** are undefined at creation, even where an earlier resource wrote the same bytes,
//! except in memory that the API zeroes (new heaps and committed resources of the `d3d12` profiles,
//! but not placed targets) and in unmapped tiles, which read as zero
//! unless [`DeviceConfig::unmapped_tiles`] is off. They become undefined again by
//! an aliasing barrier, by `discard`, and where tiles are remapped. Uses in a write state
//! ([`List::use_buffer`], [`List::use_texture`]) count as writing all they touch.
//!
//! **States** follow [`StateModel`](tenure_core::device::StateModel). `Promotion`: buffers are promoted from
//! `COMMON` to any state, textures to shader reads and copies; when a submission ends, buffers, promoted reads,
//! and all resources on a copy queue decay to `COMMON`. Upload memory stays in every read state at once, readback
//! memory in `COPY_DST`, acceleration structures in their own state, and no barrier may change these. A resource
//! must come to a copy queue in `COMMON`, and to a compute queue in a state without pixel shaders. `Explicit`: an
//! image must be in the layout of the state it is used in. A barrier comes after the uses in its `before`, and
//! after the uses from which earlier barriers lead there; a write, and a change of layout, comes after all uses
//! of its queue, and a use after a write needs a barrier that names it, except on another queue, which has
//! waited. On Direct3D 12 the end of a submission orders all that, and within one each barrier names all states
//! that the one before it led to. On Vulkan an image belongs to the queue family that uses it first until both
//! halves of a transfer are recorded; buffers belong to all families. On Direct3D 12 all queues belong to one
//! family, a use accepts any layout that serves it (`D3D12_BARRIER_LAYOUT`, by the specification's tables), and a
//! layout of graphics queues is invalid on others. After creation or an aliasing barrier the first transition may
//! come from `COMMON`; no transition leads there.
//!
//! **Aliasing barriers** give bytes to a resource. On Vulkan their `from` covers the last users' accesses on the
//! barrier's queue since its last barrier there, or the state to which that led, and their `to` covers the first
//! use after. Accesses of other queues are waited for. [`Faults::lose_aliasing_barrier`] loses one.
//!
//! **Races** are found by vector clocks, independent of the order in which queues happened to run. A transition that changes a
//! layout or a legacy state counts as a write of a texture's bytes.
//!
//! **Descriptors** follow the API of the profile: `d3d12` profiles have heaps, `vulkan` ones sets, and all but
//! `vulkan-mobile` heaps that are updated after they are bound. A list uses them by [`List::use_descriptor`],
//! [`List::read_descriptor`] and [`List::sample_descriptor`], which touch only the viewed bytes. The content of a
//! shader-visible heap is read when the command runs; a set stays as it was recorded. A copy of a descriptor is
//! independent on Direct3D 12; on Vulkan it refers to the original view, unless that is a plain range of bytes.
//! Descriptors do not keep resources alive.
//!
//! **Queries**: all queues share one clock, which each command advances, and whose counter soon wraps to 0 on the
//! profile with few bits (`vulkan-mobile`). Each use of a target counts as a draw of one sample, each unordered
//! access as a dispatch. Vulkan's copy-only queues have no timestamps.
//!
//! **Acceleration structures** are built by an invented command, [`List::build_acceleration_structure`], with the
//! structures that the result refers to and its compacted size, and read by [`List::trace_rays`], including every
//! structure they refer to. Builds and copies must be ordered after earlier uses of the same bytes, reads after
//! the writes, by a barrier; so must a build after another with the same scratch memory.
//!
//! # Paging
//!
//! With [`DeviceConfig::paging`] the device pages its local memory. A block is a heap or a committed resource. It is
//! resident when it is made; on `d3d12` profiles the program makes it resident and evicts it
//! (`Device::make_resident`, `Device::evict`), counted as in Direct3D 12, and each submission waits for the
//! paging point of its blocks. If more is resident than the budget grants, the operating system demotes blocks:
//! the lowest priority first, the least recently used first within it, and none that work in flight uses. A
//! submission's demoted blocks are brought back if there is space, in place of blocks of at most the same
//! priority, and otherwise read over the link; both cost time. The budget follows [`Paging::script`], and the
//! usage that [`budget`](tenure_core::device::MemoryDevice::budget) reports is the resident bytes.
//! [`Device::paging_stats`] counts all of this to the byte, including bytes that were brought in with a block but
//! not used. The blocks' total may be as large as all memory heaps together.
//!
//! Without it, memory over the budget works like any other, and memory over the heap's size is refused. The heaps of tiles count as
//! used only by the submissions that map them.
//!
//! # Sharing
//!
//! Two devices in one test simulate two processes. One [exports](Device::export) a resource, and the other
//! [imports](Device::import) it: both have a resource in the same bytes, and each keeps these alive. Fences are
//! shared likewise ([`Fence::export`], [`Device::import_fence`]). [`Device::end_process`] simulates the end of
//! one of the processes at any moment. The ownership of a shared resource is checked when a command runs; a
//! missing synchronisation between the two devices is not found if the order happens to be right.
//!
//! # Limitations
//!
//! Shaders and fixed-function state: a draw is a use of ranges in states. Caches and their corruption: the hazard is reported, but
//! the bytes stay intact. The execution time on a GPU, except for the costs of [paging](#paging). Written bytes take the same
//! amount of real memory; untouched ones take none, for heaps of any size.
//!
//! # Cost
//!
//! A mapped write checks the bounds, a few counters, and copies; the history of a byte is looked up only while
//! work in flight uses that buffer. Executing a command is O(log n) in the ranges in flight. Queues share one
//! lock; resources, heaps and logs have their own. [`Device::calls`] counts driver calls and their cost by a
//! model ([`Costs`]).

#![warn(missing_debug_implementations)]
#![forbid(unsafe_code)]

mod calls;
mod checks;
mod clock;
mod command;
mod config;
mod cpu;
mod create;
mod descriptors;
mod device;
mod execute;
mod execution;
mod faults;
mod fence;
mod hazard;
mod interval;
mod journal;
mod layout;
mod list;
mod memory;
mod mips;
mod object;
mod paging;
mod points;
mod profile;
mod queries;
mod requirements;
mod resource;
mod shared;
mod sharing;
mod states;
mod structures;
mod submit;
mod swapchain;
mod timeline;

pub use calls::{CallKind, Calls, Costs};
pub use config::{DeviceConfig, Lag};
pub use descriptors::{DescriptorAt, DescriptorHeap, SetLayout, SetPool};
pub use device::{Device, Faults, Findings, Mapping};
pub use faults::{BarrierChange, Fault, FaultKind};
pub use fence::Fence;
pub use hazard::{Checks, HAZARD_LOG_LIMIT, Hazard, HazardKind, Origin};
pub use journal::Step;
pub use list::List;
pub use memory::Heap;
pub use object::{LiveObject, ObjectKind};
pub use paging::{BudgetChange, Paging, PagingStats, SegmentStats};
pub use points::ExternalPoint;
pub use profile::Profile;
pub use queries::QueryHeap;
pub use resource::Resource;
pub use sharing::{SharedFence, SharedHandle};
pub use structures::AccelerationStructure;
pub use submit::NativeQueue;
pub use swapchain::{Swapchain, SwapchainEvent};

/// Instantiates the manager's functions for this device here, so that programs need not compile them again.
#[doc(hidden)]
#[inline(never)]
pub fn entry_points() {
    tenure_core::entry_points::<Device>();
}

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
