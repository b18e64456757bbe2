//! The sizes of blocks; neither allocator makes them readable.

/// The requested block sizes of a program; for both allocators.
#[derive(Clone, Copy, Debug)]
pub struct AllocationSizes {
    /// Bytes for device and host memory.
    min: [u64; 2],
    max: [Option<u64>; 2],
}

impl AllocationSizes {
    /// Blocks of these sizes, in bytes.
    pub fn new(device_memblock_size: u64, host_memblock_size: u64) -> Self {
        Self { min: [device_memblock_size, host_memblock_size], max: [None; 2] }
    }

    /// Sets the maximum for device memory, in bytes.
    pub fn with_max_device_memblock_size(mut self, size: u64) -> Self {
        self.max[0] = Some(size);
        self
    }

    /// Sets the maximum for host memory, in bytes.
    pub fn with_max_host_memblock_size(mut self, size: u64) -> Self {
        self.max[1] = Some(size);
        self
    }
}

/// Converts to the type of one of the allocators.
macro_rules! into {
    ($crate_name:ident) => {
        impl From<AllocationSizes> for $crate_name::AllocationSizes {
            fn from(sizes: AllocationSizes) -> Self {
                let AllocationSizes { min: [device, host], max: [most_device, most_host] } = sizes;
                Self::new(device, host)
                    .with_max_device_memblock_size(most_device.unwrap_or(device))
                    .with_max_host_memblock_size(most_host.unwrap_or(host))
            }
        }
    };
}

into!(original);
into!(tenure);
