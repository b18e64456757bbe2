//! A Vulkan layer that writes down the memory events of a program: memory, resources and their bindings, submissions and
//! presents. The program needs no change, and `tenure capture` of the crate `tenure-cli` starts it with this layer and turns
//! the logs into a recording.
//!
//! The crate is a library for the Vulkan loader (`libtenure_capture.so`, `tenure_capture.dll`). It has no interface for
//! programs, and no policy: which events are a frame, an alias or a leak is decided by the reader of the log.
//!
//! ```sh
//! cargo build --release --package tenure-capture
//! tenure capture --layer target/release/libtenure_capture.so -- vkcube
//! ```
//!
//! # Environment
//!
//! | variable | content |
//! | --- | --- |
//! | `TENURE_CAPTURE` | the folder of the logs. Without it nothing is written |
//! | `TENURE_CAPTURE_AS` | the memory of another device, see below |
//! | `TENURE_CAPTURE_NAMES` | if set, names of `VK_EXT_debug_utils` are written, too |
//!
//! # Logs
//!
//! Each device has a file of its own, `PROCESS-N.log`. It is created with the instance, before a sandbox can forbid it, and only
//! grows: lines are handed to the system at each submission, present and refused allocation, and with the first line after a
//! millisecond without, so that they survive the process, however it ends. The last line may then be incomplete. A failure to create or write a file has no effect on the program. The logs have no
//! paths and no arguments, and of names only those of the application, the engine and the device.
//!
//! Each line has the time since the creation of the device in microseconds, the number of the thread, a word for the event,
//! and its values. Numbers of memory and resources are the log's own and are never used again.
//!
//! | line | event |
//! | --- | --- |
//! | `capture 1` | the version of this format, first |
//! | `process N`, `application NAME`, `engine NAME`, `api 1.3`, `device NAME` | the program, the version in use, the device |
//! | `ids VENDOR DEVICE TYPE DRIVER` | in hexadecimal, but for the type |
//! | `limits GRANULARITY ALLOCATIONS ATOM` | `bufferImageGranularity`, `maxMemoryAllocationCount`, `nonCoherentAtomSize` |
//! | `as NAME` | the disguise |
//! | `heap N SIZE FLAGS`, `type N FLAGS HEAP` | memory, as the program sees it |
//! | `M ID SIZE TYPE [WORD …]` | memory was allocated: `dedicated`, `address`, `priority=P`, `export`, `import`, `import-host` |
//! | `N RESULT SIZE TYPE [WORD …]` | an allocation was refused |
//! | `F ID` | memory was freed |
//! | `m ID`, `u ID` | memory was mapped, unmapped |
//! | `R ID b SIZE USAGE [sparse]` | a buffer was created; the usage is hexadecimal |
//! | `R ID i WxHxD FORMAT MIPS LAYERS SAMPLES o\|l\|m USAGE [sparse]` | an image: optimal, linear, or of a modifier |
//! | `R ID v SIZE` | a range of a video session, with its binding |
//! | `B ID MEMORY OFFSET SIZE ALIGNMENT PLANE [wants-dedicated\|needs-dedicated]` | a resource was bound; the plane is 0, or that of a disjoint image |
//! | `n ID NAME` | a resource was named |
//! | `D ID` | a resource was destroyed |
//! | `S N QUEUE` | submission N |
//! | `W N QUEUE` | the program saw that submission N and all before it on the queue are complete |
//! | `X BUFFERS OPAQUE IMAGES` | counts of sparse bindings, before their submission |
//! | `P QUEUE` | a present |
//! | `C WxH IMAGES FORMAT` | a swap chain was created |
//! | `end` | the device was destroyed |
//!
//! # Disguise
//!
//! `TENURE_CAPTURE_AS` replaces heaps, memory types, alignments and limits in all answers about memory, so that a program
//! chooses as on another device: `name=NAME heaps=SIZE:LOCAL,… types=FLAGS:HEAP,… buffer=BYTES image=BYTES large-image=BYTES
//! image-types=BITS granularity=BYTES atom=BYTES allocations=N largest=BYTES`. Alignments are of buffers and linear images, of
//! optimal images up to 64 KiB, and of larger ones; all are at least the driver's. `image-types` has a bit for each type that
//! holds optimal images. Each type stands for one of the driver's that the CPU reaches in the same way. Types of the driver that
//! none stands for follow those of the table, and are only for resources that no type of the table holds. An allocation beyond
//! the size of its heap is refused. Sizes of resources remain the driver's.
//!
//! # Cost
//!
//! The layer adds 1.5 to 3 µs to the life of a resource, and 4 µs with the effects on a driver's caches: see the README. At
//! each submission and present, and otherwise at most once a millisecond, the lines since the last are written by one call:
//! about 30 bytes an event.

#![warn(missing_debug_implementations)]

mod bind;
mod chain;
mod device;
mod disguise;
mod file;
mod functions;
mod guard;
mod hooks;
mod instance;
mod link;
mod loader;
mod log;
mod memory;
mod program;
mod queue;
mod registry;
mod requirements;
mod resource;
mod submissions;

pub use loader::{Negotiation, vkNegotiateLoaderLayerInterfaceVersion};
