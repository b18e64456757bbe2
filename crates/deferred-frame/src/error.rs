//! The errors of a frame.

use tenure::Error;

/// The reason why a frame failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// tenure or the device returned an error.
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
    /// A pass read other bytes than were written last.
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
        /// The number of the part.
        part: usize,
        /// The pass that wrote last; `no pass` if none did.
        writer: &'static str,
        /// The bytes read.
        found: Vec<u8>,
        /// The bytes written.
        expected: Vec<u8>,
    },
}
