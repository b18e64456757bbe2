//! The settings of allocations and allocators.

/// The access to an allocation by CPU and GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLocation {
    /// The driver's first suitable memory type.
    Unknown,
    /// The GPU only. Device-local memory is preferred.
    GpuOnly,
    /// Written by the CPU, read by the GPU.
    CpuToGpu,
    /// Written by the GPU, read by the CPU.
    GpuToCpu,
}

/// The log settings.
#[non_exhaustive]
#[derive(Copy, Clone, Debug)]
pub struct AllocatorDebugSettings {
    /// Logs the device's memory types and heaps, at level debug, when the allocator is created.
    pub log_memory_information: bool,
    /// Logs allocations that were not freed, at level warn, when the allocator is dropped.
    pub log_leaks_on_shutdown: bool,
    /// Keeps the stack trace of each allocation for the report of leaks. Costs microseconds per allocation.
    #[cfg(feature = "std")]
    pub store_stack_traces: bool,
    /// Logs each allocation, at level debug.
    pub log_allocations: bool,
    /// Logs each free, at level debug.
    pub log_frees: bool,
    /// Adds stack traces to logged allocations and frees.
    #[cfg(feature = "std")]
    pub log_stack_traces: bool,
}

impl Default for AllocatorDebugSettings {
    fn default() -> Self {
        Self {
            log_memory_information: false,
            log_leaks_on_shutdown: true,
            #[cfg(feature = "std")]
            store_stack_traces: false,
            log_allocations: false,
            log_frees: false,
            #[cfg(feature = "std")]
            log_stack_traces: false,
        }
    }
}

#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
impl AllocatorDebugSettings {
    /// Whether to keep stack traces of allocations.
    pub(crate) const fn keeps_traces(&self) -> bool {
        #[cfg(feature = "std")]
        return self.store_stack_traces;
        #[cfg(not(feature = "std"))]
        false
    }

    /// Whether to log stack traces.
    pub(crate) const fn logs_traces(&self) -> bool {
        #[cfg(feature = "std")]
        return self.log_stack_traces;
        #[cfg(not(feature = "std"))]
        false
    }
}
