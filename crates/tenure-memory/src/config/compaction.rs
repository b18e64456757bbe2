//! Configuration of defragmentation: the limits of moves.

use tenure_heap::CompactionBudget;

use super::error::Check;
use super::{ConfigError, ConfigUnit, GIB, MIB};

/// Limits of moving movable resources at the end of frames, which empties sparse
/// blocks and brings spilled resources back to fast memory: part of [`Config`](crate::Config).
/// `Gpu::compact` does the same on request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionConfig {
    /// Whether the end of each frame continues compaction. Default yes; no effect without movable resources.
    pub is_automatic: bool,
    /// Percentage of a pool's bytes that must be free before it begins. Default 12; 1 to 100.
    ///
    /// Smaller reserves less memory; larger copies less.
    pub min_free: u32,
    /// Frames without growth of a pool before it begins. Default 8; at most 1,000,000.
    ///
    /// A program that is still loading fills the holes itself.
    pub quiet_frames: u32,
    /// Maximum number of bytes moved at the end of a frame, except for a single larger resource. Default 16 MiB; 64 KiB
    /// to 4 GiB.
    ///
    /// The GPU time of a copy is about that of reading and writing as much memory: less than 0.1 ms for 16 MiB on a card.
    pub frame_bytes: u64,
    /// Maximum number of resources moved at the end of a frame. Default 128; 1 to 65,536.
    pub frame_moves: u32,
    /// Maximum number of pieces of blocks, used or free, visited in each pool at the end of a frame: limits its time.
    /// Default 250; 1 to 1,000,000.
    pub frame_pieces: u32,
}

tenure_heap::setters!(CompactionConfig {
    is_automatic: bool,
    min_free: u32,
    quiet_frames: u32,
    frame_bytes: u64,
    frame_moves: u32,
    frame_pieces: u32,
});

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            is_automatic: true,
            min_free: 12,
            quiet_frames: 8,
            frame_bytes: 16 * MIB,
            frame_moves: 128,
            frame_pieces: 250,
        }
    }
}

impl CompactionConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let count = |field, value: u32| Check::new(field, value.into(), ConfigUnit::Count);
        Check::new("compaction.min_free", self.min_free.into(), ConfigUnit::Percent).range(1, 100)?;
        let quiet = self.quiet_frames.into();
        Check::new("compaction.quiet_frames", quiet, ConfigUnit::Frames).range(0, 1_000_000)?;
        let bytes = Check::new("compaction.frame_bytes", self.frame_bytes, ConfigUnit::Bytes);
        bytes.range(64 << 10, 4 * GIB)?;
        count("compaction.frame_moves", self.frame_moves).range(1, 1 << 16)?;
        count("compaction.frame_pieces", self.frame_pieces).range(1, 1_000_000)
    }

    /// The budget of the end of a frame.
    pub const fn budget(&self) -> CompactionBudget {
        let (moves, pieces) = (self.frame_moves as usize, self.frame_pieces as usize);
        CompactionBudget { bytes: self.frame_bytes, moves, pieces }
    }
}
