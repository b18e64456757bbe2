//! Markers of the GPU's progress, for the report of a lost device.

/// The memory into which lists write markers: see [`CommandList::write_marker`](crate::CommandList::write_marker).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkerLimits {
    /// The number of 32-bit words; 0 if the device has no markers.
    pub words: u32,
    /// Whether lists may write markers in render passes.
    pub in_passes: bool,
}

/// The time at which the GPU writes a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkerPoint {
    /// After it has begun the commands before the marker. Later commands may begin earlier.
    Begun,
    /// After it has completed the commands before the marker.
    Completed,
}

/// A marker of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    /// The word: an even one for [`MarkerPoint::Begun`], the one after it for [`MarkerPoint::Completed`].
    pub word: u32,
    /// The value: higher, with wrap-around, than all earlier ones of the two words.
    pub value: u32,
    /// The time at which the GPU writes it.
    pub point: MarkerPoint,
    /// Whether it is of a scope, and may be in a render pass. Others are at the begin or the end of a list.
    pub is_of_scope: bool,
}
