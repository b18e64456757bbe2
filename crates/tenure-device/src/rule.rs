//! The rules of the contract that a call can violate.

use std::fmt;

/// Declares the rules with their text, which is also their documentation.
macro_rules! rules {
    ($($rule:ident = $text:literal,)*) => {
        /// A rule that a call broke: see [`DeviceError::InvalidCall`](super::DeviceError::InvalidCall)
        /// and [`DeviceError::InvalidState`](super::DeviceError::InvalidState).
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CallRule {
            $(#[doc = concat!("Rule: ", $text, ".")] $rule,)*
            /// A rule of one API or of one call, as text.
            Other(&'static str),
        }

        impl CallRule {
            /// The rule as text.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$rule => $text,)*
                    Self::Other(text) => text,
                }
            }
        }
    };
}

rules! {
    // Objects.
    SameDevice = "an object is used with the device that made it",
    IsBuffer = "the resource is a buffer",
    IsTexture = "the resource is a texture",
    IsReserved = "the resource is reserved",
    QueueExists = "the queue exists",
    SubresourceExists = "the subresource exists",
    // Memory.
    MemoryTypeExists = "the memory type exists",
    MemoryTypeAllowed = "the resource can live in this memory type",
    HeapCategory = "the heap is of the resource's category",
    HeapForEverything = "the device allows heaps for everything",
    HeapAlignment = "the device has heaps of this alignment",
    HeapSize = "the heap's size is a multiple of its alignment, and not 0",
    HeapTooLarge = "the heap is not too large",
    HeapAlignedAsResource = "the heap is aligned as the resource needs it",
    ResourceTooLarge = "the resource is not too large",
    RequiresDedicated = "a resource that requires dedicated memory is committed",
    OffsetAligned = "the offset is aligned",
    InsideHeap = "the resource is inside the heap",
    StructuresApart = "buffers of acceleration structures share no bytes with other buffers",
    HostVisible = "mapped memory is host-visible",
    InsideMapping = "the range is inside the mapping",
    IsBlock = "only heaps and committed resources are made resident, evicted or given a priority",
    PagingPointExists = "a submission waits for a paging point that make_resident has answered",
    // Tiles.
    TileRegionInside = "the tile region is inside the resource",
    TileOffsetAligned = "the heap offset of a tile is aligned",
    TilesInsideHeap = "the tiles are inside the heap",
    TileRegionsOfOneSize = "mappings are copied between regions of one size",
    // Lists and submissions.
    RecordedOpen = "commands are recorded between begin and close",
    BegunClosed = "a list is closed before it is begun again",
    BegunSound = "a list that could not be closed or begun is not begun again",
    ClosedOpen = "a list is begun before it is closed",
    SubmittedClosed = "a submitted list is closed",
    SubmittedOnce = "a list is begun anew before it is submitted again",
    ListQueue = "a list is submitted to the queue it was made for",
    SerialOrder = "serials rise by one per submission",
    SubmittedOutside = "nothing is submitted through tenure from inside submit_external",
    WaitsForItself = "a submission does not wait for itself",
    // Copies.
    InsideResource = "the range is inside the resource",
    CopyOverlap = "a copy within a buffer does not overlap itself",
    CopyOffsetAligned = "the offset of texels in the buffer is aligned",
    RowPitchAligned = "the row pitch is aligned",
    RowsHoldTexels = "the row pitch holds a row, and the rows hold a slice",
    MipExists = "the mip exists",
    LayerExists = "the layer exists",
    PlaneExists = "the format has the plane",
    CopySamples = "a texture copied to or from a buffer has one sample",
    TexelsInside = "the texels lie within the mip",
    TexelsWholeBlocks = "the texels are whole blocks",
    CopySteps = "the region is a multiple of the queue's copy granularity",
    CopyToAnother = "a texture is copied to another texture",
    CopyDimension = "a texture is copied to one of the same dimension",
    CopyFormat = "a texture is copied to one of the same format",
    CopyExtent = "a texture is copied to one of the same width, height, and depth or layers",
    CopyMips = "a texture is copied to one with as many mips",
    CopyEqualSamples = "a texture is copied to one with as many samples",
    CopyDepthQueue = "depth and stencil are copied between textures on a graphics queue",
    MipQueue = "mips are generated on a graphics queue",
    MipHasLarger = "a mip is generated from the next larger one",
    CopySamplesQueue = "a multisampled texture is copied on a graphics queue",
    // Writes of texels by the CPU.
    WrittenState = "the CPU writes texels in a state that the device names for it",
    WrittenFrom = "texels that the CPU writes are in COMMON before, or in the state that the write leaves them in",
    // States.
    WriteStateAlone = "a write state stands alone",
    QueueKnowsState = "the queue knows the state",
    UsageAllowsState = "the usage of the resource allows the state",
    UploadOnlyRead = "the GPU only reads upload heaps",
    ReadbackOnlyCopied = "the GPU only copies to readback heaps",
    FixedState = "upload and readback memory and acceleration structures keep their state",
    NeverToCommon = "no resource is moved to COMMON, whose contents are undefined",
    TransferQueue = "a transfer is recorded on one of its two queues",
    PeerTakesShared = "a resource handed to a peer or taken from it is shared",
    PeerTakesAll = "a resource is handed to a peer as a whole, from and to the same state",
    AliasingPlaced = "aliasing barriers are for placed and reserved resources",
    // Descriptors.
    DescriptorInside = "the descriptors are inside their heap",
    DescriptorKind = "a descriptor is of the kind that its heap holds",
    DescriptorCleared = "a descriptor is cleared before it is written again",
    DescriptorWritten = "a descriptor that is copied was written",
    WrittenHidden = "descriptors are written and copied from in heaps that shaders do not see",
    FilledVisible = "heaps that shaders see are filled",
    TargetsHidden = "shaders do not see targets",
    SetExists = "the pool has the set",
    BindingExists = "the layout has the binding",
    ElementExists = "the binding has the element",
    InSetsAlone = "combined samplers and input attachments are in sets alone",
    BindingKind = "a descriptor is of the kind that its binding holds",
    // Views.
    ViewMipsExist = "the mips of a view exist",
    ViewLayersExist = "the layers of a view exist",
    ViewInside = "a view of a buffer is inside it",
    ViewAligned = "the offset of a view of a buffer is aligned",
    ViewTooLarge = "a view of a buffer is not too large",
    ViewWholeElements = "a view of a buffer has whole elements",
    ConstantsAligned = "the offset and the size of constants are aligned",
    // Acceleration structures.
    StructureKinds = "an acceleration structure is copied to one of its kind",
    StructureFits = "an acceleration structure is copied to one that is no smaller",
    // Queries.
    QueryInside = "the queries are inside their heap",
    QueryQueue = "a heap of queries is used by lists of the queue it was made for",
    QueryTimestamp = "a timestamp is written to a query for timestamps",
    QueryRanged = "a query that begins and ends is for no timestamp",
    QueryEnded = "a query has ended before its list is closed",
    QueryAlone = "one query of a kind has begun and not ended at a time",
    QueryBegun = "a query that is ended has begun in the same list",
    QueryCompactedSize = "the size of a compacted acceleration structure is written to a query for such",
    QueryResultsAligned = "the results of queries begin at a multiple of 8 bytes",
}

impl From<&'static str> for CallRule {
    fn from(text: &'static str) -> Self {
        Self::Other(text)
    }
}

impl fmt::Display for CallRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
