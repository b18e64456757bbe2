//! Restrictions on a request for memory.

use bitflags::bitflags;

use super::MemoryUse;
use crate::device::{DeviceError, MemoryFlags, MemoryTypeId, Properties};

bitflags! {
    /// Restrictions on a request for memory, set by `BufferDesc::allocation` and `TextureDesc::allocation`. A
    /// request that finds no memory because of them fails with `OutOfMemory`. The program can then omit the
    /// resource, or use a smaller one: a streaming system loads a smaller mip.
    ///
    /// The flags apply to lasting resources, in pools and in pages. They do not apply to transient resources,
    /// which share heaps.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Error, Gpu, Usage, memory::AllocationFlags, sim};
    ///
    /// # fn main() -> Result<(), tenure::Error> {
    /// let options = sim::DeviceConfig::new(sim::Profile::DISCRETE).budgets([1 << 20, 1 << 30]);
    /// let gpu = Gpu::new(sim::Device::with_config(options), Config::default())?;
    /// let flags = AllocationFlags::WITHIN_BUDGET | AllocationFlags::DEVICE_LOCAL_ONLY;
    /// let terrain = BufferDesc::new(4 << 20, Usage::VERTEX).allocation(flags).name("terrain");
    /// assert!(matches!(gpu.create_buffer(&terrain), Err(Error::OutOfMemory(_))), "1 MiB is granted");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AllocationFlags: u8 {
        /// The budget of the operating system must not be exceeded. Resources that the GPU reads well from
        /// system memory may still be placed there, within the budget of that memory.
        const WITHIN_BUDGET = 1 << 0;
        /// Only memory local to the GPU.
        const DEVICE_LOCAL_ONLY = 1 << 1;
        /// Only free ranges of existing blocks: no memory is requested from the driver. Resources with
        /// dedicated memory by policy fail. Does not wait, either.
        const NEVER_ALLOCATE = 1 << 2;
        /// No waiting for dropped memory that the GPU still uses, regardless of
        /// [`PoolConfig::max_wait`](crate::PoolConfig::max_wait).
        const NEVER_WAIT = 1 << 3;
    }
}

impl AllocationFlags {
    /// The allowed ones among `memory_types`, as bits.
    pub fn memory_types(self, properties: &Properties, memory_types: u32) -> u32 {
        if !self.contains(Self::DEVICE_LOCAL_ONLY) {
            return memory_types;
        }
        let local = properties
            .memory_types
            .iter()
            .zip(0..)
            .filter(|(memory_type, _)| memory_type.flags.contains(MemoryFlags::DEVICE_LOCAL));
        memory_types & local.fold(0, |bits, (_, index): (_, u32)| bits | 1_u32.wrapping_shl(index))
    }

    /// Whether the blocks of the usual pool are allowed. The preferred memory for GPU-only resources is local
    /// to the GPU.
    #[inline]
    pub const fn allows_usual(self, memory_use: MemoryUse) -> bool {
        !self.contains(Self::DEVICE_LOCAL_ONLY) || matches!(memory_use, MemoryUse::GpuOnly)
    }

    /// # Errors
    /// A shortage, if no memory may be requested from the driver.
    pub const fn check_allocates(self, requested: u64, memory: MemoryTypeId) -> Result<(), DeviceError> {
        match self.contains(Self::NEVER_ALLOCATE) {
            true => Err(DeviceError::NeverAllocate { requested, memory }),
            false => Ok(()),
        }
    }
}
