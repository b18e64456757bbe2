//! The C interface of tenure: the header is `include/tenure.h`.
//!
//! Programs in Rust use the crate `tenure`. The functions here are only for C and C++, so nothing is public in Rust.
//!
//! `status` has the results of calls, `pointer` all pointers of the caller, `slot` handles, `call` the wrapper of each function,
//! `callback` the calls into the program. `types` and `convert` have the values of the header in both languages, `settings` the
//! configuration by name, `object` the objects of each backend. The functions are in `library`, `sim`, `vulkan`, `d3d12`, `gpu`,
//! `object`, `resource`, `cost`, `descriptor`, `descriptor_vulkan`, `recording`, `query`, `upload_ring`, `structure`, `reserved`,
//! `transfer`, `graph` and `swapchain`; those of independent parts, with their structures, in `plan`, `suballocator`,
//! `release_queue`, `heap_pools`, `recorder` and `compaction`. `held` has objects that a handle borrows. A new function needs a
//! call in `tests/c`, a method in `include/tenure.hpp`, and `cargo xtask header`; a new structure also rows in `layouts` and
//! `tests/layouts.txt`.

#![allow(unreachable_pub, reason = "items of the header, of which Rust exports none")]
#![expect(non_camel_case_types, reason = "the names of the header")]
#![cfg_attr(not(test), deny(clippy::panic, clippy::unwrap_used, clippy::expect_used))]

#[cfg(panic = "abort")]
compile_error!("panics must not end the program of the caller: build tenure-c with panic = \"unwind\"");

mod adopt_vulkan;
mod call;
mod callback;
mod compaction;
mod convert;
mod cost;
#[cfg(windows)]
mod d3d12;
mod descriptor;
#[allow(dead_code, reason = "the header has values that Rust only passes on")]
mod descriptor_types;
mod descriptor_vulkan;
mod gpu;
mod graph;
mod heap_pools;
mod held;
#[cfg(test)]
mod layouts;
mod library;
mod object;
mod plan;
mod pointer;
mod present;
mod query;
mod query_types;
mod recorder;
mod recording;
mod release_queue;
mod reserved;
mod resource;
mod settings;
mod sim;
mod slot;
#[allow(dead_code, reason = "the header has values that Rust only passes on")]
mod status;
mod structure;
mod suballocator;
mod swapchain;
mod transfer;
#[allow(dead_code, reason = "the header has values that Rust only passes on")]
mod types;
mod upload_ring;
mod vulkan;
