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
//! - [`OwnMemory`] describes the memory that a recorded program took from the driver itself.
//! - [`Validator`] checks the rules of recordings.
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
//! - `serde`: [`OwnMemory`] implements `Serialize`.
//! - `zstd`: recordings compressed with Zstandard. The library is written in C, so a C compiler is needed. Without
//!   the feature such recordings are recognised and refused with an error.
//!
//! # The format
//!
//! UTF-8 text, one event per line, stored plain, as gzip or as zstd. The first bytes determine the encoding, not the
//! file name. Lines end with a line feed (a carriage return before it is ignored, and the last line may lack it) and
//! have at most [`MAX_LINE_BYTES`] bytes.
//!
//! ```csv
//! #tenure-recording=2
//! #api=vulkan
//! #program=game
//! #type.0=1,0
//! #type.1=6,1
//! op,id,size,align,kind,frame,more
//! block,1,65536,,,0,type=1
//! alloc,1,2304,64,cpu_to_gpu+linear,0,block=1 offset=4096 heap=host name=vertices
//! submit,1,,,,0,
//! frame,,,,,1,
//! done,1,,,,1,
//! free,1,2304,,cpu_to_gpu+linear,1,final
//! unblock,1,65536,,,1,
//! ```
//!
//! The first line is [`FIRST_LINE`]. Lines `#key=value` follow, at most [`MAX_HEADER_LINES`], each key once: see
//! [`Header`]. A key has 1 to 64 characters of `a-z`, `A-Z`, `0-9` and `-_.`, a value at most 512 bytes; in the
//! value, `%` and control characters are written `%XX` (two hexadecimal digits). The header ends with the line
//! [`COLUMNS`]. Each further line has exactly seven columns, separated by commas, without quotes or spaces:
//!
//! | `op` | `id` | `size` | `align` | `kind` | `more` |
//! | --- | --- | --- | --- | --- | --- |
//! | `alloc` | a new number | 1 to [`MAX_SIZE`] | a power of two up to [`MAX_ALIGN`] | see below | any |
//! | `free` | a live allocation or alias | its size | empty, or its alignment | its kind, or empty | `final` |
//! | `frame`: the program presented | empty | empty | empty | empty | |
//! | `alias`: a resource on the bytes of another one | as in `alloc` | as in `alloc` | as in `alloc` | as in `alloc` | `of=`, and any |
//! | `submit`: work was submitted | a new number of a submission | empty | empty | empty | |
//! | `done`: the program knows that it is complete | a submission, each once | empty | empty | empty | |
//! | `block`: memory from the driver, for resources that the program places | a new number of a block | 1 to [`MAX_SIZE`] | empty | empty | `type=` and others |
//! | `unblock`: back to the driver | a live block | its size | empty | empty | |
//! | `map`, `unmap`: CPU access begins, or ends | a live block | empty | empty | empty | |
//!
//! The kind is `gpu_only`, `cpu_to_gpu` or `gpu_to_cpu`, then `+linear` (a buffer or a linear image) or `+optimal`
//! (an image). `frame` is a mark's own number, otherwise that of the last mark before, or 0. Sizes, alignments and
//! offsets are bytes. Numbers are decimal digits below 2^64.
//!
//! `more` has any number of words, separated by spaces. A word is a flag, or `key=value`. Unknown words are ignored;
//! the value of a known key must be valid. The words and their meanings are the fields of [`Details`]:
//!
//! | words | on |
//! | --- | --- |
//! | `t=N` (microseconds), `thread=N`, `device=N` | all |
//! | `final` | `free` |
//! | `block=ID` `offset=N` | `alloc`; inside a live block |
//! | `of=ID` `offset=N` | `alias`: required (`offset` is 0 if absent); inside a live allocation or alias |
//! | `type=N`, `dedicated`, `import` | `alloc`, `alias`, `block` |
//! | `heap=local`, `heap=host`, `wants-dedicated`, `needs-dedicated`, `priority=X` (0 to 1), `address` | `alloc`, `alias` |
//! | `usage=0xN`, `format=N`, `extent=WxHxD`, `mips=N`, `layers=N`, `samples=N`, `linear-image` | `alloc`, `alias` |
//! | `name=TEXT` (at most [`MAX_NAME_BYTES`]; spaces, commas, `%` and control characters as `%XX`) | `alloc`, `alias` |
//!
//! Numbers of resources, blocks and submissions are separate, and never reused. The `frame` column never decreases,
//! and no frame is marked twice. A block may be freed before its resources, and a resource before its aliases. The
//! live allocations add up to less than 2^64 bytes, and so do the blocks. Aliases and imports take none of the
//! program's memory: the [`Summary`] counts them, and excludes them from its other figures. A file may end with live
//! allocations (the summary lists them).
//!
//! A line that breaks any of these rules is an error with the source's name, the line and the [`Reason`], for example
//! `game.csv.gz:512: double free of id 17`. Compressed data that is cut off, damaged or followed by other data is an
//! error, too.
//!
//! In version 1 the first line is [`HEADER`], and each further line is an `alloc`, `free` or `frame` of six columns,
//! without `more`. It is still read; [`TraceWriter`] writes version 2.

#![warn(missing_debug_implementations)]

mod details;
mod encoding;
mod error;
mod escape;
mod event;
mod generate;
mod header;
mod line;
#[cfg(not(feature = "zstd"))]
mod no_zstd;
mod own;
mod reader;
mod recorder;
mod seen_ids;
mod summary;
mod trace;
mod validate;
mod writer;

pub use details::{Details, HeapKind};
pub use encoding::{Decoder, Encoding};
pub use error::{Column, Reason, TraceError};
pub use event::{
    COLUMNS, Event, FIRST_LINE, HEADER, Kind, Layout, MAX_ALIGN, MAX_EVENTS, MAX_HEADER_LINES,
    MAX_LINE_BYTES, MAX_NAME_BYTES, MAX_SIZE, MemoryKind,
};
pub use generate::{Generator, UnknownWorkload, Workload, generate};
pub use header::{Header, RecordedType};
pub use own::{OwnAlive, OwnChange, OwnMemory, OwnPhase, OwnRow, OwnSum, OwnType};
pub use reader::TraceReader;
pub use recorder::TraceRecorder;
pub use summary::{LiveAllocation, Summary};
pub use trace::{Trace, check, read_all};
pub use validate::Validator;
pub use writer::TraceWriter;

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
