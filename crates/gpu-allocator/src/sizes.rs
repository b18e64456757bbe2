//! The sizes of blocks.

const MIB: u64 = 1 << 20;
/// The unit of sizes, and the smallest size, in bytes.
const STEP: u64 = 4 * MIB;
/// Bytes of the largest block.
const MOST: u64 = 256 * MIB;

/// Limits of the size of shared blocks, for memory without (device) and with CPU access (host). Sizes are clamped to
/// 4 to 256 MiB and rounded up to multiples of 4 MiB.
///
/// A pool begins with blocks of a 64th of the minimum, grows with its capacity, and stops at the maximum. Larger
/// requests get dedicated memory.
///
/// ```
/// use gpu_allocator::AllocationSizes;
/// const MIB: u64 = 1 << 20;
/// let sizes = AllocationSizes::new(8 * MIB, 8 * MIB)
///     .with_max_device_memblock_size(256 * MIB)
///     .with_max_host_memblock_size(64 * MIB);
/// # let _ = sizes;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AllocationSizes {
    min_device: u64,
    max_device: u64,
    min_host: u64,
    max_host: u64,
}

impl AllocationSizes {
    /// Blocks of these sizes, in bytes, as both minimum and maximum.
    pub fn new(device_memblock_size: u64, host_memblock_size: u64) -> Self {
        let (device, host) = (adjust(device_memblock_size, "device"), adjust(host_memblock_size, "host"));
        Self { min_device: device, max_device: device, min_host: host, max_host: host }
    }

    /// Sets the maximum for device memory, in bytes; at least the minimum.
    pub fn with_max_device_memblock_size(mut self, size: u64) -> Self {
        self.max_device = adjust(size, "device").max(self.min_device);
        self
    }

    /// Sets the maximum for host memory, in bytes; at least the minimum.
    pub fn with_max_host_memblock_size(mut self, size: u64) -> Self {
        self.max_host = adjust(size, "host").max(self.min_host);
        self
    }
}

impl Default for AllocationSizes {
    fn default() -> Self {
        Self { min_device: MOST, max_device: MOST, min_host: MOST / 4, max_host: MOST / 4 }
    }
}

fn adjust(size: u64, kind: &str) -> u64 {
    let clamped = size.clamp(STEP, MOST);
    let rounded = clamped.next_multiple_of(STEP);
    if rounded != clamped {
        log::warn!("blocks of {kind} memory are multiples of 4 MiB: {size} B becomes {rounded} B");
    }
    rounded
}

#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
impl AllocationSizes {
    /// The configuration of tenure's pools for these sizes.
    pub(crate) fn config(&self, granule: u64) -> tenure_heap::HeapPoolsConfig {
        use tenure_heap::{BlockSizes, HeapPoolsConfig};
        let young = |min: u64, max| BlockSizes { min: min / 64, max };
        HeapPoolsConfig::default()
            .device_blocks(young(self.min_device, self.max_device))
            .host_blocks(young(self.min_host, self.max_host))
            .granule(granule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_clamped_and_rounded() {
        let sizes = AllocationSizes::new(1, u64::MAX).with_max_device_memblock_size(9 * MIB);
        assert_eq!((sizes.min_device, sizes.max_device), (4 * MIB, 12 * MIB));
        assert_eq!((sizes.min_host, sizes.max_host), (256 * MIB, 256 * MIB));
        let shrunk = sizes.with_max_host_memblock_size(4 * MIB);
        assert_eq!(shrunk.max_host, 256 * MIB, "never below the minimum");
    }
}
