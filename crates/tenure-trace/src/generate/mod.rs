//! Synthetic recordings from a seed.

mod fragment;
mod frames;
mod rng;
mod script;
mod streaming;
mod voxel;

use std::fmt;
use std::iter::FusedIterator;
use std::str::FromStr;

use thiserror::Error;

use crate::Event;
use script::{Program, Script};

/// The kind of program to imitate.
///
/// Sizes below are those of a long recording. A short one (see [`generate`]) has fewer objects, so that it also
/// contains steady-state frames after the loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Workload {
    /// A voxel world with constant re-meshing: `voxel`.
    ///
    /// 10,000 chunks with a vertex and an index buffer each, both `gpu_only+linear`, 4 B to 40 KiB
    /// (lognormal, median 2,500 B, sigma 1), alignments 4 to 256 B. After loading, each frame
    /// builds up to 32 random chunks anew, with new sizes; a quarter of them allocate the new
    /// buffers before they free the old ones. The bytes arrive through a `cpu_to_gpu+linear`
    /// staging buffer a chunk, freed two frames later.
    Voxel,
    /// A texture streamer: `streaming`.
    ///
    /// 16,384 textures, mip chains of 64 KiB to 85 MiB, all `gpu_only+optimal` and aligned to
    /// 64 KiB (2 % are multisampled: 4 MiB). A camera moves among them, and textures near it
    /// have more mips; a change of mips is a new allocation. At most 4 GiB are live: the least
    /// recently used textures are evicted.
    Streaming,
    /// Constant and staging buffers that exist for a few frames: `frames`.
    ///
    /// Each frame takes 1,500 to 2,500 buffers of 256 B to 4 KiB, `cpu_to_gpu+linear`, aligned to
    /// 256 B, and frees those of three frames ago, in order. Occasionally the GPU is a frame late.
    Frames,
    /// An adversary that fragments: `fragment`.
    ///
    /// Fills 128 MiB with one size, frees every second of these allocations, doubles the size,
    /// fills again, until nothing fits; then frees everything and starts over.
    Fragment,
}

impl Workload {
    /// Every workload.
    pub const ALL: [Self; 4] = [Self::Voxel, Self::Streaming, Self::Frames, Self::Fragment];

    /// The name that [`FromStr`] reads and [`Display`](fmt::Display) shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voxel => "voxel",
            Self::Streaming => "streaming",
            Self::Frames => "frames",
            Self::Fragment => "fragment",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        Self::ALL
            .into_iter()
            .find(|workload| workload.name() == text)
            .ok_or_else(|| UnknownWorkload { found: text.into() })
    }
}

/// A text that names no [`Workload`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown workload {found:?}: expected voxel, streaming, frames or fragment")]
pub struct UnknownWorkload {
    /// The text.
    pub found: String,
}

/// Generates a recording of `ops` operations, rounded up to an even number.
///
/// Operations are allocations and frees, not frame marks. Everything is freed at the end, and a
/// [`Validator`](crate::Validator) accepts every event.
///
/// The same arguments give the same events, on every platform: the random numbers are xoshiro256\*\* and all
/// arithmetic is exact or IEEE 754. Memory is proportional to the live allocations, not to `ops`.
///
/// ```
/// use tenure_trace::{Event, Workload, generate};
///
/// let first = generate(Workload::Streaming, 7, u64::MAX).next();
/// assert!(matches!(first, Some(Event::Alloc { id: 1, .. })));
/// ```
pub fn generate(workload: Workload, seed: u64, ops: u64) -> Generator {
    let allocs = ops.div_ceil(2);
    let program: Box<dyn Program + Send> = match workload {
        Workload::Voxel => Box::new(voxel::Voxel::new(seed, allocs)),
        Workload::Streaming => Box::new(streaming::Streaming::new(seed, allocs)),
        Workload::Frames => Box::new(frames::Frames::new(seed, allocs)),
        Workload::Fragment => Box::new(fragment::Fragment::new(seed, allocs)),
    };
    Generator { workload, script: Script::new(allocs), program, finished: false }
}

/// The events of a synthetic recording; see [`generate`].
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct Generator {
    workload: Workload,
    script: Script,
    program: Box<dyn Program + Send>,
    finished: bool,
}

impl Iterator for Generator {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.script.next_event() {
                return Some(event);
            }
            if self.finished {
                return None;
            }
            if self.script.spent() {
                self.finished = true;
                self.program.finish(&mut self.script);
            } else {
                self.program.step(&mut self.script);
            }
        }
    }
}

impl FusedIterator for Generator {}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("workload", &self.workload).finish_non_exhaustive()
    }
}
