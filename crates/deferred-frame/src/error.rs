//! What goes wrong in a frame.

use tenure_core::Error;

/// Why a frame failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// tenure, or the device, refused.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The GPU did not finish a frame.
    #[error("frame {frame} is not complete after {waited_ms} ms")]
    Late {
        /// The frame, counted from 0.
        frame: u64,
        /// Milliseconds.
        waited_ms: u64,
    },
    /// A pass read something else than was written last.
    #[error(
        "frame {frame}, pass {pass}: part {part} of {resource}, written by {writer}, is {found:02x?} instead of \
         {expected:02x?}"
    )]
    Wrong {
        /// The frame, counted from 0.
        frame: u64,
        /// The pass that read.
        pass: &'static str,
        /// The resource.
        resource: String,
        /// Which of its parts.
        part: usize,
        /// The pass that wrote last.
        writer: &'static str,
        /// What was there.
        found: Vec<u8>,
        /// What was written.
        expected: Vec<u8>,
    },
}
