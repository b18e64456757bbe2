//! Recordings of the allocations of a program: reading, writing and generating them.
//!
//! A recording is the list of a program's allocations and frees of GPU memory, as they arrived at
//! its allocator, with a mark for each frame. A replay of the recording through an allocator
//! measures the speed and the memory use of that allocator for the program, without the program and
//! without a GPU.
//!
//! - [`TraceReader`] reads and checks one event after the other; [`read_all`] loads a whole recording
//!   and rejects an invalid one; [`check`] only checks.
//! - [`TraceRecorder`] records the allocations of a [`Gpu`](tenure_core::Gpu), [`TraceWriter`] writes any
//!   events.
//! - [`generate`] makes synthetic recordings of four [`Workload`]s from a seed.
//! - [`Validator`] checks the rules that every recording keeps.
//!
//! ```
//! use tenure_trace::{Encoding, TraceWriter, Workload, generate, read_all};
//!
//! let mut writer = TraceWriter::new(Vec::new(), Encoding::Gzip)?;
//! for event in generate(Workload::Voxel, 42, 10_000) {
//!     writer.event(&event)?;
//! }
//! let bytes = writer.finish()?;
//!
//! let trace = read_all(bytes.as_slice(), "voxel.csv.gz")?;
//! assert_eq!(trace.summary.allocs, 5_000);
//! assert!(trace.summary.live_at_end.is_empty());
//! # Ok::<(), tenure_trace::TraceError>(())
//! ```
//!
//! # Features
//!
//! - `zstd`: recordings compressed with Zstandard. Its library is written in C, so that a C compiler is needed. Without
//!   the feature such recordings are recognised, and refused with an error.
//!
//! # The format
//!
//! Text in UTF-8, one event a line, stored plain, as gzip or as zstd. The encoding is recognised by
//! the first bytes, never by the file's name. Lines end with a line feed (a carriage return before
//! it is ignored, and the last line may lack it) and have at most [`MAX_LINE_BYTES`] bytes. The
//! first line is the [`HEADER`]; each line after it has exactly six columns, separated by commas,
//! without quotes or spaces:
//!
//! ```csv
//! op,id,size,align,kind,frame
//! alloc,1,2304,64,cpu_to_gpu+linear,0
//! frame,,,,,1
//! free,1,2304,,cpu_to_gpu+linear,1
//! ```
//!
//! | column | in `alloc` | in `free` | in `frame` |
//! | --- | --- | --- | --- |
//! | `op` | `alloc` | `free` | `frame`: the program presented |
//! | `id` | any number not used before in the file | the id of a live allocation | empty |
//! | `size` | bytes, 1 to [`MAX_SIZE`] | the size allocated | empty |
//! | `align` | bytes, a power of two up to [`MAX_ALIGN`] | empty, or the alignment allocated | empty |
//! | `kind` | `gpu_only`, `cpu_to_gpu` or `gpu_to_cpu`, then `+linear` (a buffer) or `+optimal` (an image) | the kind allocated, or empty | empty |
//! | `frame` | the last frame marked before, 0 at first | the same | the frame's own number |
//!
//! Numbers are decimal digits below 2^64. Ids are never used again. The `frame` column never
//! decreases from line to line, and no frame is marked twice. The live allocations add up to less
//! than 2^64 bytes. A file may end with allocations live (the [`Summary`] lists them).
//!
//! A line that breaks any of these rules is an error with the source's name, the line and the
//! [`Reason`], for example `game.csv.gz:512: double free of id 17`. So is compressed data that is
//! cut off, damaged or followed by something else.

#![warn(missing_debug_implementations)]

mod encoding;
mod error;
mod event;
mod generate;
mod line;
#[cfg(not(feature = "zstd"))]
mod no_zstd;
mod reader;
mod recorder;
mod seen_ids;
mod trace;
mod validate;
mod writer;

pub use encoding::{Decoder, Encoding};
pub use error::{Column, Reason, TraceError};
pub use event::{Event, HEADER, Kind, Layout, MAX_ALIGN, MAX_EVENTS, MAX_LINE_BYTES, MAX_SIZE, MemoryKind};
pub use generate::{Generator, UnknownWorkload, Workload, generate};
pub use reader::TraceReader;
pub use recorder::TraceRecorder;
pub use trace::{Trace, check, read_all};
pub use validate::{LiveAllocation, Summary, Validator};
pub use writer::TraceWriter;

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
