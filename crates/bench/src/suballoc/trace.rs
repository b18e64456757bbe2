//! Lists of operations that every peer replays.

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Allocates for an empty slot.
    Allocate,
    /// Frees the allocation of a slot.
    Free,
    /// Ends a frame: allocators that free by frame may now reuse the memory freed in it.
    EndFrame,
}

/// One operation. Small, so that reading the trace adds little to the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The operation.
    pub kind: Kind,
    /// log₂ of the alignment in bytes.
    pub align_log2: u8,
    /// The slot of the live allocation; slots are reused.
    pub slot: u32,
    /// Bytes.
    pub size: u32,
}

impl Op {
    /// The alignment in bytes.
    #[inline]
    #[must_use]
    pub fn align(&self) -> u64 {
        1 << self.align_log2
    }
}

/// A workload, drawn from a seed.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its short name, such as `W1`.
    pub name: String,
    /// A description of the workload.
    pub about: String,
    /// The operations. Allocations may be left live at the end.
    pub ops: Vec<Op>,
    /// Slots that the operations name.
    pub slots: usize,
    /// Allocations and frees.
    pub calls: usize,
    /// The peak of requested live bytes.
    pub peak_bytes: u64,
    /// The most allocations that are live at once.
    pub peak_live: usize,
    /// Whether everything is freed in the order of the frames, a fixed number of frames later.
    pub is_ring: bool,
    /// The least alignment, in bytes.
    pub granule: u64,
    /// Bytes of a range that is ample for every measured peer.
    pub ample_bytes: u64,
    /// Bytes of a block where blocks are added as needed.
    pub block_bytes: u64,
}

/// Collects the operations of a trace.
#[derive(Debug, Default)]
pub struct Recorder {
    ops: Vec<Op>,
    /// The last bytes of each slot.
    sizes: Vec<u32>,
    vacant: Vec<u32>,
    calls: usize,
    live_bytes: u64,
    peak_bytes: u64,
    peak_live: usize,
}

impl Recorder {
    /// Allocates, and returns the slot to free.
    pub fn allocate(&mut self, size: u64, align: u64) -> u32 {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            self.sizes.len() as u32 - 1
        });
        self.sizes[slot as usize] = size;
        self.live_bytes += u64::from(size);
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
        self.peak_live = self.peak_live.max(self.sizes.len() - self.vacant.len());
        self.calls += 1;
        self.ops.push(Op { kind: Kind::Allocate, align_log2: align.trailing_zeros() as u8, slot, size });
        slot
    }

    /// Frees a slot.
    pub fn free(&mut self, slot: u32) {
        self.live_bytes -= u64::from(self.sizes[slot as usize]);
        self.calls += 1;
        self.ops.push(Op { kind: Kind::Free, align_log2: 0, slot, size: 0 });
        self.vacant.push(slot);
    }

    /// Ends a frame.
    pub fn end_frame(&mut self) {
        self.ops.push(Op { kind: Kind::EndFrame, align_log2: 0, slot: 0, size: 0 });
    }

    /// Bytes that are live now.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Allocations and frees so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// The trace of the collected operations, for allocations at multiples of `granule`.
    #[must_use]
    pub fn finish(self, name: &str, about: &str, granule: u64) -> Trace {
        Trace {
            name: name.to_owned(),
            about: about.to_owned(),
            ops: self.ops,
            slots: self.sizes.len(),
            calls: self.calls,
            peak_bytes: self.peak_bytes,
            peak_live: self.peak_live,
            is_ring: false,
            granule,
            ample_bytes: self.peak_bytes.saturating_mul(3).next_multiple_of(granule),
            block_bytes: 64 << 20,
        }
    }
}
