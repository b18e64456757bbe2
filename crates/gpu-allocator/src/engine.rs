//! The shared part of both APIs: tenure's pools, with logs and reports.
//!
//! Panics of the program's logger are caught: they would unwind out of an incomplete call and lose the range.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_heap::{
    HeapBudget, HeapDesc, HeapDevice, HeapError, HeapPools, HeapProperties, LiveMemory, MemoryError,
    MemoryHeap, MemoryRange, MemoryRequest, MemoryTotals, MemoryTypeId, Name, run_caught,
};

use crate::recording::{Recording, Told};
#[cfg(feature = "visualizer")]
use crate::visualizer::{BlockView, LiveView, Memory, MemoryTypeView};
use crate::{
    AllocationError, AllocationReport, AllocationSizes, AllocatorDebugSettings, AllocatorReport,
    MemoryBlockReport, Result,
};

/// Pools, with data for reports.
pub(crate) struct Engine<D: HeapDevice<Error = HeapError>> {
    pools: HeapPools<D>,
    debug: AllocatorDebugSettings,
    /// Backtraces by serial number; empty unless requested.
    traces: BTreeMap<NonZeroU64, Arc<Backtrace>>,
    recording: Option<Recording>,
    /// For each range, by index, whether it is for a non-linear image, which the visualizer draws in another colour.
    #[cfg(feature = "visualizer")]
    is_optimal: Vec<bool>,
    /// Whether a spill was already logged.
    has_warned: bool,
}

impl<D: HeapDevice<Error = HeapError>> Engine<D> {
    pub(crate) fn new(
        device: D,
        sizes: &AllocationSizes,
        granule: u64,
        debug: AllocatorDebugSettings,
    ) -> Result<Self> {
        if debug.log_memory_information {
            log_memory(&device.properties(), &device.budget());
        }
        let pools = HeapPools::new(device, sizes.config(granule))
            .map_err(|error| AllocationError::InvalidAllocatorCreateDesc(error.to_string()))?;
        Ok(Self {
            pools,
            debug,
            traces: BTreeMap::new(),
            recording: Recording::begin(),
            #[cfg(feature = "visualizer")]
            is_optimal: Vec::new(),
            has_warned: false,
        })
    }

    pub(crate) fn device(&self) -> &D {
        self.pools.device()
    }

    /// Allocates a range in any memory type of the request.
    ///
    /// Inlined with all its callees in steady state: a result passed through memory is written in parts and read as a
    /// whole, which stalls the processor.
    #[inline(always)]
    pub(crate) fn allocate<R>(
        &mut self,
        request: MemoryRequest<'_>,
        told: Told,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R)> {
        self.log_allocation(&request);
        let preferred = request.memory.first().copied();
        match self.pools.allocate(request, inspect) {
            Ok(found) => {
                self.note(&found.0, told);
                if preferred != Some(found.0.memory()) {
                    self.look_for_spill(&found.0);
                }
                Ok(found)
            }
            Err(error) => Err(refused(&error)),
        }
    }

    /// Allocates dedicated memory with the caller's function.
    pub(crate) fn allocate_dedicated<R>(
        &mut self,
        request: MemoryRequest<'_>,
        told: Told,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, HeapError>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R)> {
        self.log_allocation(&request);
        let found = self.pools.allocate_dedicated(request, make, inspect).map_err(|error| refused(&error))?;
        self.note(&found.0, told);
        self.look_for_spill(&found.0);
        Ok(found)
    }

    pub(crate) fn free(&mut self, range: Option<&MemoryRange>) -> Result<()> {
        if self.debug.log_frees {
            self.log_free(range);
        }
        let Some(range) = range else { return Ok(()) };
        self.pools.free(range).map_err(|error| refused(&error))?;
        self.record(|recording| recording.freed(range.serial()));
        if !self.traces.is_empty() {
            self.traces.remove(&range.serial());
        }
        Ok(())
    }

    pub(crate) fn rename(&mut self, range: Option<&MemoryRange>, name: Name) -> Result<()> {
        let Some(range) = range else { return Ok(()) };
        self.pools.rename(range, name).map_err(|error| refused(&error))
    }

    pub(crate) fn report_leaks(&self, level: log::Level) {
        if !log::log_enabled!(level) {
            return;
        }
        for (block, found) in self.pools.blocks().into_iter().enumerate() {
            for LiveMemory { name, serial, offset, size, memory, .. } in found.allocations {
                let trace = self.traces.get(&serial);
                let trace = trace.map_or_else(String::new, |trace| format!("\nallocated by\n{trace}"));
                log::log!(
                    level,
                    "leak: `{name}`, allocation {serial}: {size} B at {offset} of block {block}, memory type \
                     {}{trace}",
                    memory.0,
                );
            }
        }
    }

    pub(crate) fn report(&self) -> AllocatorReport {
        let mut allocations = Vec::new();
        let mut blocks = Vec::new();
        for block in self.pools.blocks() {
            let first = allocations.len();
            allocations.extend(block.allocations.into_iter().map(|found| AllocationReport {
                name: found.name.as_str().to_owned(),
                offset: found.offset,
                size: found.size,
            }));
            blocks.push(MemoryBlockReport { size: block.size, allocations: first..allocations.len() });
        }
        let total_allocated_bytes = allocations.iter().map(|found| found.size).sum();
        let total_capacity_bytes = blocks.iter().map(|block| block.size).sum();
        AllocatorReport { allocations, blocks, total_allocated_bytes, total_capacity_bytes }
    }

    /// The data for the visualizer; `lines` are specific to the API.
    #[cfg(feature = "visualizer")]
    pub(crate) fn visualized(&self, lines: Vec<String>) -> Memory {
        let properties = self.pools.device().properties();
        let heap = |(index, heap): (usize, &MemoryHeap)| {
            let place = if heap.device_local { ", device-local" } else { "" };
            format!("Heap: {index}, size: {} MiB{place}", heap.size >> 20)
        };
        let heaps = properties.memory_heaps.iter().enumerate().map(heap).collect();
        let view = |found: &tenure_heap::MemoryType| MemoryTypeView {
            lines: vec![format!("properties: {:?}", found.flags), format!("heap index: {}", found.heap)],
            blocks: Vec::new(),
        };
        let mut types: Vec<MemoryTypeView> = properties.memory_types.iter().map(view).collect();
        for block in self.pools.blocks() {
            if let Some(of_type) = types.get_mut(usize::from(block.memory.0)) {
                of_type.blocks.push(self.visualized_block(block));
            }
        }
        Memory { lines, heaps, types, keeps_traces: self.debug.keeps_traces() }
    }

    #[cfg(feature = "visualizer")]
    fn visualized_block(&self, block: tenure_heap::MemoryBlock) -> BlockView {
        let view = |found: LiveMemory| LiveView {
            name: found.name.as_str().to_owned(),
            serial: found.serial,
            offset: found.offset,
            size: found.size,
            is_linear: !self.is_optimal.get(found.index).is_some_and(|&is_optimal| is_optimal),
            trace: self.traces.get(&found.serial).cloned(),
        };
        let mut allocations: Vec<LiveView> = block.allocations.into_iter().map(view).collect();
        allocations.sort_by_key(|found| found.offset);
        BlockView { id: block.id, size: block.size, is_dedicated: block.is_dedicated, allocations }
    }

    /// Bytes of all blocks.
    pub(crate) fn capacity(&self) -> u64 {
        self.pools.totals().reserved
    }

    pub(crate) fn totals(&self) -> MemoryTotals {
        self.pools.totals()
    }

    /// Logs once that allocations were placed in other memory, which makes a program slower without an error.
    #[cold]
    fn look_for_spill(&mut self, range: &MemoryRange) {
        if self.has_warned || self.pools.totals().spilled == 0 {
            return;
        }
        self.has_warned = true;
        let name = self.pools.name(range).map_or("", Name::as_str);
        let (size, memory) = (range.size(), range.memory().0);
        run_caught(|| {
            log::warn!(
                "the driver refused more of the preferred memory: `{name}`, {size} B, was placed in memory type {memory}, \
                 and others may follow; `Allocator::spilled_bytes` counts them"
            );
        });
    }

    #[inline(always)]
    fn log_allocation(&self, request: &MemoryRequest<'_>) {
        if self.debug.log_allocations {
            self.log_request(request.name.as_str(), request.size, request.alignment);
        }
    }

    #[cold]
    fn log_request(&self, name: &str, size: u64, alignment: u64) {
        let trace = self.trace_here();
        run_caught(|| log::debug!("allocating `{name}`: {size} B aligned to {alignment}{trace}"));
    }

    #[cold]
    fn log_free(&self, range: Option<&MemoryRange>) {
        let name = range.and_then(|range| self.pools.name(range)).map_or("<null>", Name::as_str);
        let trace = self.trace_here();
        run_caught(|| log::debug!("freeing `{name}`{trace}"));
    }

    #[inline(always)]
    fn note(&mut self, range: &MemoryRange, told: Told) {
        #[cfg(feature = "visualizer")]
        self.note_tiling(range.index(), told.is_linear);
        if self.recording.is_some() || self.debug.keeps_traces() {
            self.take_down(range.serial(), told);
        }
    }

    #[cfg(feature = "visualizer")]
    fn note_tiling(&mut self, index: usize, is_linear: bool) {
        if index >= self.is_optimal.len() {
            self.is_optimal.resize(index + 1, false);
        }
        self.is_optimal[index] = !is_linear;
    }

    #[cold]
    fn take_down(&mut self, serial: NonZeroU64, told: Told) {
        self.record(|recording| recording.allocated(serial, told));
        if self.debug.keeps_traces() {
            self.traces.insert(serial, Arc::new(Backtrace::force_capture()));
        }
    }

    /// Records an event. After an error the recording ends.
    fn record(&mut self, write: impl FnOnce(&mut Recording) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.recording.as_mut().map(write) {
            self.recording = None;
            run_caught(|| log::error!("recording stopped: {error}"));
        }
    }

    /// The current stack, if stack traces are logged.
    fn trace_here(&self) -> String {
        if self.debug.logs_traces() { format!(" at\n{}", Backtrace::force_capture()) } else { String::new() }
    }
}

impl<D: HeapDevice<Error = HeapError>> Drop for Engine<D> {
    fn drop(&mut self) {
        if self.debug.log_leaks_on_shutdown {
            run_caught(|| self.report_leaks(log::Level::Warn));
        }
    }
}

impl<D: HeapDevice<Error = HeapError>> fmt::Debug for Engine<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

/// Converts an error of the pools; the details are logged.
#[cold]
fn refused(error: &MemoryError<HeapError>) -> AllocationError {
    match error {
        MemoryError::InvalidRequest { .. } => AllocationError::InvalidAllocationCreateDesc,
        MemoryError::NoMemoryType => AllocationError::NoCompatibleMemoryTypeFound,
        MemoryError::OutOfMemory { .. } => {
            run_caught(|| log::warn!("{error}"));
            AllocationError::OutOfMemory
        }
        other => AllocationError::Internal(other.to_string()),
    }
}

fn log_memory(properties: &HeapProperties, budget: &[HeapBudget]) {
    for (index, found) in properties.memory_types.iter().enumerate() {
        log::debug!("memory type {index}: {:?}, heap {}", found.flags, found.heap);
    }
    for (index, (heap, granted)) in properties.memory_heaps.iter().zip(budget).enumerate() {
        let local = if heap.device_local { ", device-local" } else { "" };
        let [size, budget, usage] = [heap.size, granted.budget, granted.usage].map(|bytes| bytes >> 20);
        log::debug!("memory heap {index}: {size} MiB{local}; {budget} MiB granted, {usage} MiB taken");
    }
}

/// The device's live allocations, and their bytes by memory heap.
///
/// [`MemoryLimits`](tenure_heap::MemoryLimits) of the pools also counts allocations, but not the bytes of each memory
/// heap: it chooses among memory types and block sizes. This count is behind [`HeapDevice`]: it refuses calls above
/// the device's limit, which Vulkan leaves undefined, and replaces [`HeapDevice::budget`] if the driver reports none.
pub(crate) struct MemoryCount {
    bytes: Vec<AtomicU64>,
    count: AtomicU64,
}

impl MemoryCount {
    pub(crate) fn new(heaps: usize) -> Self {
        Self { bytes: (0..heaps).map(|_| AtomicU64::new(0)).collect(), count: AtomicU64::new(0) }
    }

    /// Counts an allocation before it is made.
    ///
    /// # Errors
    /// [`HeapError::TooManyAllocations`] at the device's limit; nothing is counted then.
    pub(crate) fn add(
        &self,
        properties: &HeapProperties,
        memory: MemoryTypeId,
        size: u64,
    ) -> Result<(), HeapError> {
        let limit = properties.max_allocations;
        if self.count.fetch_add(1, Ordering::Relaxed) >= limit {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return Err(HeapError::TooManyAllocations { limit });
        }
        if let Some(bytes) = self.of(properties, memory) {
            bytes.fetch_add(size, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts the release of an allocation.
    pub(crate) fn remove(&self, properties: &HeapProperties, memory: MemoryTypeId, size: u64) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        if let Some(bytes) = self.of(properties, memory) {
            bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// The size of each memory heap and its allocated bytes: the budgets of devices that report none.
    pub(crate) fn budget(&self, properties: &HeapProperties) -> Vec<HeapBudget> {
        let of = |(heap, bytes): (&MemoryHeap, &AtomicU64)| HeapBudget {
            budget: heap.size,
            usage: bytes.load(Ordering::Relaxed),
        };
        properties.memory_heaps.iter().zip(&self.bytes).map(of).collect()
    }

    fn of(&self, properties: &HeapProperties, memory: MemoryTypeId) -> Option<&AtomicU64> {
        let memory_type = properties.memory_types.get(usize::from(memory.0))?;
        self.bytes.get(usize::from(memory_type.heap))
    }
}
