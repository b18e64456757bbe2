//! The pools with everything needed to allocate from them.

use tenure_heap::{HeapBudget, MemoryLimits};

use super::Class;
use super::pools::Pools;
use super::sharding::Shards;
use crate::Config;
use crate::device::{Device, DeviceError, MemoryFlags, MemoryTypeId};

/// The pools with everything needed to allocate from them.
pub struct Engine<'a, D: Device> {
    pub pools: &'a Pools<D>,
    pub device: &'a D,
    pub config: &'a Config,
}

impl<D: Device> Clone for Engine<'_, D> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Engine<'_, D> {}

impl<'a, D: Device> Engine<'a, D> {
    pub(super) fn limits(self) -> &'a MemoryLimits {
        &self.pools.objects.limits
    }

    pub(super) fn budget(self) -> Vec<HeapBudget> {
        self.pools.objects.budgets.current(self.device).into_vec()
    }

    /// Whether memory is allocated lazily: it costs nothing until used, whereas a block would cost its
    /// size.
    pub(super) fn is_lazy(self, memory: MemoryTypeId) -> bool {
        let memory_type = self.device.properties().memory_types.get(usize::from(memory.0));
        memory_type.is_some_and(|found| found.flags.contains(MemoryFlags::LAZILY_ALLOCATED))
    }

    /// The pool of a class.
    ///
    /// # Errors
    /// No device can have the class.
    #[inline(always)]
    pub(super) fn pool(self, class: Class) -> Result<&'a Shards<D>, DeviceError> {
        self.pools.find(class).map_or_else(|| self.new_pool(class), Ok)
    }

    #[cold]
    fn new_pool(self, class: Class) -> Result<&'a Shards<D>, DeviceError> {
        let no_such = DeviceError::Unsupported { feature: "more than 32 memory types" };
        self.pools.make(self.device, self.config, class).ok_or(no_such)
    }
}
