//! What a wait was for.

use std::fmt;

/// What the GPU did not finish in time, in [`Error::Timeout`](crate::Error::Timeout).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Awaited {
    /// A frame before the one that was to begin: more may not be in flight.
    EarlierFrame,
    /// The last frame that was submitted.
    LastFrame,
    /// The oldest frame that has bytes of an upload ring.
    UploadRing,
    /// The submission that reads bytes back.
    Readback,
    /// The recording that reads bytes back: nobody has submitted it.
    ReadbackSubmission,
    /// An image of a swap chain that is free to be drawn to: the earlier ones are still being shown.
    SwapchainImage,
    /// The submission that makes a query.
    Query,
    /// The recording that makes a query: nobody has submitted it.
    QuerySubmission,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EarlierFrame => "an earlier frame",
            Self::LastFrame => "the last frame",
            Self::UploadRing => "the oldest frame of an upload ring",
            Self::Readback => "a readback",
            Self::Query => "a query",
            Self::QuerySubmission => "a query whose recording is not submitted",
            Self::ReadbackSubmission => "a readback whose recording is not submitted",
            Self::SwapchainImage => "with an image of a swap chain",
        })
    }
}
