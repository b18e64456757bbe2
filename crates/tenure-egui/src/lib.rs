//! tenure's GPU memory as a panel in any program with [`egui`]: what each memory heap holds over the last frames, the blocks
//! of every pool, each live object, and what keeps dropped ones from being released.
//!
//! ```
//! use tenure_core::device::Usage;
//! use tenure_core::{BufferDesc, Config, Gpu};
//! use tenure_egui::MemoryPanel;
//!
//! let gpu = Gpu::new(tenure_sim::Device::new(tenure_sim::Profile::DISCRETE), Config::default())?;
//! let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock").tag("terrain"))?;
//!
//! let mut panel = MemoryPanel::new();
//! let mut is_open = true;
//! let context = egui::Context::default(); // the program's own
//! for _ in 0..3 {
//!     gpu.begin_frame()?.end()?;
//!     panel.end_frame(&gpu); // takes down the frame, also while the window is closed
//!     context.begin_pass(egui::RawInput::default());
//!     panel.window(&context, &gpu, &mut is_open);
//!     let _output = context.end_pass();
//! }
//! # drop(rock);
//! # Ok::<(), tenure_core::Error>(())
//! ```
//!
//! The panel draws with `egui` alone, so that it is on whatever the program draws `egui` with. It allocates nothing on the
//! GPU.

#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

mod block_rows;
mod blocks;
mod colours;
mod heaps;
mod object_table;
mod panel;
mod samples;
mod snapshot;
mod text;
mod waiting;

pub use panel::MemoryPanel;

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
