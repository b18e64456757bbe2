//! Targets of waits that timed out.

use std::fmt;

/// The work that the GPU did not finish in time, in [`Error::Timeout`](crate::Error::Timeout).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Awaited {
    /// An earlier frame: the next one would exceed the frames in flight.
    EarlierFrame,
    /// The last submitted frame.
    LastFrame,
    /// The oldest frame that has bytes of an upload ring.
    UploadRing,
    /// The uploads before a large one: staged bytes may not exceed
    /// [`StagingConfig::max_pending`](crate::StagingConfig::max_pending).
    EarlierUploads,
    /// The submission that reads bytes back.
    Readback,
    /// The submission of the recording that reads bytes back; it was not submitted.
    ReadbackSubmission,
    /// An image of a swap chain that can be drawn to: the earlier ones are still being shown.
    SwapchainImage,
    /// The submission that makes a query.
    Query,
    /// The submission of the recording that makes a query; it was not submitted.
    QuerySubmission,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EarlierFrame => "the GPU did not finish an earlier frame",
            Self::LastFrame => "the GPU did not finish the last frame",
            Self::UploadRing => "the GPU did not finish the oldest frame that has bytes of an upload ring",
            Self::EarlierUploads => "the GPU did not finish earlier uploads",
            Self::Readback => "the GPU did not finish a readback",
            Self::Query => "the GPU did not finish a query",
            Self::QuerySubmission => "the recording of a query was not submitted",
            Self::ReadbackSubmission => "the recording of a readback was not submitted",
            Self::SwapchainImage => "the GPU did not finish with an image of a swap chain",
        })
    }
}
