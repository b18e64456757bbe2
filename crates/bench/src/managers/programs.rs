//! The programs of the comparison: the same for all of them.

use tenure_trace::{Layout, MemoryKind};

use crate::Result;
use crate::recordings::scripts;
use crate::script;

/// Buffers that a round creates.
const BUFFERS: usize = 100_000;
/// Textures that a round creates.
const TEXTURES: usize = 10_000;
/// Frames in a round of the programs that do the same in each frame.
const FRAMES: usize = 20;

/// Buffers that a frame uploads to.
const UPLOADS: usize = 1000;
/// Bytes of each of those.
const UPLOAD_BYTES: usize = 4096;
/// Buffers that the passes copy between, in two halves: a copy goes from one half to the other.
const COPIED_BUFFERS: usize = 200;
/// Bytes of each of those; a copy copies all of them.
pub const COPIED_BYTES: u64 = 256;
/// Constants that a frame writes.
const CONSTANTS: usize = 2000;

const PASSES: usize = 100;
/// The number of copies in a pass. Each makes two uses.
const COPIES_OF_A_PASS: usize = 5;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Creates and drops 100,000 buffers.
    Buffers,
    /// Creates and drops 10,000 textures.
    Textures,
    /// Uploads 4 KiB to each of 1,000 buffers, in each frame.
    Uploads,
    /// Records and submits 100 passes with 10 uses each, in each frame.
    Passes,
    /// The same with a list of commands for each pass.
    Lists,
    /// Records and submits one of those passes, in each frame.
    Pass,
    /// Writes 2,000 constants of 64 bytes, in each frame.
    Constants,
}

impl Program {
    pub(super) const ALL: [(Self, &str); 7] = [
        (Self::Buffers, "a buffer, created and dropped"),
        (Self::Textures, "a texture, created and dropped"),
        (Self::Uploads, "a frame with 1,000 uploads of 4 KiB"),
        (Self::Passes, "a frame with 100 passes of 10 uses"),
        (Self::Lists, "the same with a list for each pass"),
        (Self::Pass, "a frame with one pass of 10 uses"),
        (Self::Constants, "a frame with 2,000 constants of 64 B"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(program, _)| *program == self).map_or("", |(_, name)| name)
    }

    /// The frames of a round.
    pub(super) fn round(self) -> Result<Vec<Frame>> {
        let frame = match self {
            Self::Buffers => return created(Layout::Linear, BUFFERS),
            Self::Textures => return created(Layout::Optimal, TEXTURES),
            Self::Uploads => Frame::Upload,
            Self::Passes => Frame::Passes(PASSES),
            Self::Lists => Frame::Lists(PASSES),
            Self::Pass => Frame::Passes(1),
            Self::Constants => Frame::Constants,
        };
        Ok(vec![frame; FRAMES])
    }

    /// The number and bytes of the buffers that uploads go to, or that copies use.
    #[must_use]
    pub const fn buffers(self) -> (usize, u64) {
        match self {
            Self::Uploads => (UPLOADS, UPLOAD_BYTES as u64),
            Self::Passes | Self::Lists | Self::Pass => (COPIED_BUFFERS, COPIED_BYTES),
            Self::Buffers | Self::Textures | Self::Constants => (0, 0),
        }
    }

    /// The number of repetitions of [`name`](Self::name) in a round.
    pub(super) const fn times(self) -> usize {
        match self {
            Self::Buffers => BUFFERS,
            Self::Textures => TEXTURES,
            _ => FRAMES,
        }
    }
}

/// The work of one frame, with one submission unless stated otherwise.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Creates and drops. Nothing is submitted.
    Create(Vec<Call>),
    /// Uploads [`UPLOADED`] to each of 1,000 buffers.
    Upload,
    /// Records this number of passes in one list of commands, each with its [`copies`] and the barriers that they need.
    Passes(usize),
    /// The same with a list of commands for each pass. They are submitted together, if the manager can.
    Lists(usize),
    /// Writes each of [`VALUES`] to memory that the GPU can read until the frame is complete, each where it can be bound by
    /// itself. The submission's list of commands has no other commands.
    Constants,
}

/// The bytes of an upload.
pub static UPLOADED: [u8; UPLOAD_BYTES] = [7; UPLOAD_BYTES];
/// The constants of a frame.
pub static VALUES: [[u32; 16]; CONSTANTS] = [[7; 16]; CONSTANTS];

/// One call. A slot identifies what lives; slots are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A buffer comes to life.
    Buffer {
        /// Empty until now.
        slot: usize,
        /// Bytes.
        size: u64,
        /// Who reads and writes it.
        memory: MemoryKind,
    },
    /// A texture of four bytes a texel comes to life, with one mip, for copies and shaders.
    Texture {
        /// Empty until now.
        slot: usize,
        /// Texels.
        width: u32,
        /// Texels.
        height: u32,
    },
    /// The slot becomes empty.
    Drop {
        /// Not empty.
        slot: usize,
    },
}

/// Resources that were created and not dropped.
#[derive(Debug, Default)]
pub struct Slots<R>(pub Vec<Option<R>>);

impl<R> Slots<R> {
    /// Puts a resource into a slot, or empties it.
    pub fn put(&mut self, slot: usize, made: Option<R>) {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, || None);
        }
        self.0[slot] = made;
    }
}

/// The copies of each pass: indices of the source and of the destination. Within a frame, every use of a buffer
/// except its first needs a barrier, because the previous one was of the other kind.
pub fn copies(passes: usize) -> impl Iterator<Item = impl Iterator<Item = (usize, usize)>> {
    const HALF: usize = COPIED_BUFFERS / 2;
    (0..passes).map(|pass| {
        (0..COPIES_OF_A_PASS).map(move |copy| {
            let number = pass * COPIES_OF_A_PASS + copy;
            let (index, turn) = (number % HALF, number / HALF % 2);
            (index + HALF * turn, index + HALF * (1 - turn))
        })
    })
}

/// Frames that create `count` buffers, or textures, like the recordings of the repository, which are repeated
/// as needed. Frames without such calls are left out. Live objects are dropped at the end of a recording.
fn created(layout: Layout, count: usize) -> Result<Vec<Frame>> {
    let recordings = scripts(&[])?;
    let (mut frames, mut left) = (Vec::new(), count);
    for script in recordings.iter().cycle().take(count) {
        let (mut lives, mut calls) = (vec![false; script.slots], Vec::new());
        for call in &script.calls {
            match *call {
                script::Call::Allocate { slot, request } if request.kind.layout == layout && left > 0 => {
                    lives[slot] = true;
                    left -= 1;
                    calls.push(match layout {
                        Layout::Linear => {
                            Call::Buffer { slot, size: request.size, memory: request.kind.memory }
                        }
                        Layout::Optimal => {
                            let (width, height) = extent(request.size);
                            Call::Texture { slot, width, height }
                        }
                    });
                }
                script::Call::Free { slot } if std::mem::take(&mut lives[slot]) => {
                    calls.push(Call::Drop { slot });
                }
                script::Call::EndFrame if !calls.is_empty() => {
                    frames.push(Frame::Create(std::mem::take(&mut calls)));
                    if left == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        if !calls.is_empty() {
            frames.push(Frame::Create(calls));
        }
        let living = lives.iter().enumerate().filter(|(_, lives)| **lives);
        frames.push(Frame::Create(living.map(|(slot, _)| Call::Drop { slot }).collect()));
        if left == 0 {
            return Ok(frames);
        }
    }
    Err(format!("the recordings have too few allocations that are {layout:?}").into())
}

/// The width and height of a texture of about this number of bytes.
fn extent(size: u64) -> (u32, u32) {
    const MAX: u64 = 8192;
    let texels = (size / 4).clamp(1, MAX * MAX);
    let width = (1 << (texels.ilog2().div_ceil(2))).min(MAX);
    let height = (texels / width).clamp(1, MAX);
    (u32::try_from(width).unwrap_or(1), u32::try_from(height).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::{COPIED_BUFFERS, Call, Frame, Program, copies, extent};

    #[test]
    fn a_round_creates_and_drops_its_number_of_resources() {
        for program in [Program::Buffers, Program::Textures] {
            let (mut made, mut live) = (0, std::collections::HashSet::new());
            for frame in program.round().unwrap() {
                let Frame::Create(calls) = frame else { panic!("{program:?}") };
                for call in calls {
                    match call {
                        Call::Buffer { slot, .. } | Call::Texture { slot, .. } => {
                            made += 1;
                            assert!(live.insert(slot), "slot {slot} is taken");
                        }
                        Call::Drop { slot } => assert!(live.remove(&slot), "slot {slot} is empty"),
                    }
                }
            }
            assert_eq!((made, live.len()), (program.times(), 0));
        }
    }

    #[test]
    fn a_texture_takes_about_the_requested_bytes() {
        assert_eq!(extent(1), (1, 1));
        assert_eq!(extent(64 * 64 * 4), (64, 64));
        assert_eq!(extent(u64::MAX), (8192, 8192));
        for size in (4..1_000_000).step_by(997) {
            let (width, height) = extent(size);
            let taken = u64::from(width) * u64::from(height) * 4;
            assert!(taken <= size && taken * 2 > size, "{width} x {height} for {size}");
        }
    }

    #[test]
    fn within_a_frame_every_use_is_of_the_other_kind_than_the_last() {
        let mut was_written = [None; COPIED_BUFFERS];
        for (from, to) in copies(100).flatten() {
            for (buffer, is_written) in [(from, false), (to, true)] {
                assert_ne!(was_written[buffer].replace(is_written), Some(is_written), "buffer {buffer}");
            }
        }
    }
}
