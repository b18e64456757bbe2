//! The ladder of bare memory.

use super::ledger::{Home, Spot};
use super::shelf::{Shelf, Unfit};
use super::shelves::Sort;
use super::{MemoryError, MemoryPools, MemoryRequest};
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, Priority};
use crate::memory::growth::Growth;
use crate::memory::pool::HeapBlock;

/// Whether new heaps must stay within what the OS grants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    WithinBudget,
    Whatever,
}

/// What makes a heap.
type Make<'a, D> = dyn Fn(&D, &HeapDesc) -> Result<<D as Device>::Heap, DeviceError> + 'a;

/// What may be tried in each memory type.
pub(super) enum Rungs<'a, D: Device> {
    /// A range of the blocks, of a new one, or a heap of its own.
    All,
    /// A heap of its own, made in a particular way.
    Alone(&'a Make<'a, D>),
}

impl<D: Device> MemoryPools<D> {
    /// Tries each memory type within the budget, gives idle blocks back, and tries each again.
    #[cold]
    pub(super) fn climb(
        &mut self,
        request: &MemoryRequest<'_>,
        rungs: &Rungs<'_, D>,
    ) -> Result<(MemoryTypeId, Home<D>), MemoryError> {
        let types = self.device.properties().memory_types.len();
        let allowed = || request.memory.iter().copied().filter(|memory| usize::from(memory.0) < types);
        let first = allowed().next().ok_or(MemoryError::NoMemoryType)?;
        let mut refusal = DeviceError::OutOfMemory { requested: request.size, memory: first };
        for round in [Round::WithinBudget, Round::Whatever] {
            for memory in allowed() {
                let found = match rungs {
                    Rungs::All => self.find(request, memory, round),
                    Rungs::Alone(make) => self.alone(request, memory, round, *make),
                };
                match found {
                    Ok(home) => return Ok((memory, home)),
                    Err(error) if error.is_shortage() => refusal = error,
                    Err(source) => return Err(MemoryError::Device { name: request.name.clone(), source }),
                }
            }
            if round == Round::WithinBudget {
                self.trim();
            }
        }
        let shelf = self.shelves.get(self.sort(request, first).index());
        Err(MemoryError::OutOfMemory {
            name: request.name.clone(),
            size: request.size,
            alignment: request.alignment,
            memory: first,
            largest_free: shelf.map_or(0, Shelf::largest_free),
            refusal,
        })
    }

    /// What a request shares with others of a memory type.
    fn sort(&self, request: &MemoryRequest<'_>, memory: MemoryTypeId) -> Sort {
        self.shelves.sort(memory, request.category, request.alignment)
    }

    /// A range of the shelf's blocks, of a new one, or a heap of its own. The blocks of the first memory type
    /// have been looked at before the climb, and those of the others in the first round: no room came since.
    fn find(
        &mut self,
        request: &MemoryRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Home<D>, DeviceError> {
        let make = |device: &D, desc: &HeapDesc| device.create_heap(desc);
        let no_such = DeviceError::Unsupported { feature: "more than 32 memory types" };
        let sort = self.sort(request, memory);
        let shelf = self.shelves.find_or_make(self.device.properties(), sort).ok_or(no_such)?;
        let is_new_to_it = round == Round::WithinBudget && request.memory.first() != Some(&memory);
        if is_new_to_it && let Some(found) = shelf.allocate(request.size, request.alignment) {
            return Ok(Home::Pooled(Spot::new(sort.index(), &found)));
        }
        let (growth, used) = (shelf.growth, shelf.used());
        let growth = self.larger(growth);
        if request.size > growth.max {
            return self.alone(request, memory, round, &make);
        }
        match self.grow(sort, request, growth.sizes(request.size, request.alignment, used), round) {
            Err(error) if error.is_shortage() || matches!(error, DeviceError::Unsupported { .. }) => {
                self.alone(request, memory, round, &make)
            }
            grown => grown,
        }
    }

    /// A shelf's growth. The fewer heaps the device still allows, the more each has to hold.
    fn larger(&self, growth: Growth) -> Growth {
        let properties = self.device.properties();
        let heaps = self.objects.counts().heaps;
        let eighths = heaps.saturating_mul(8) / properties.max_allocations.max(1);
        let times = 1_u64 << eighths.min(8);
        let larger = |bytes: u64| bytes.saturating_mul(times).min(growth.limit.max(bytes));
        Growth { min: larger(growth.min), max: larger(growth.max), ..growth }
    }

    /// A range after adding a block, of the first of the sizes that the driver grants.
    fn grow(
        &mut self,
        sort: Sort,
        request: &MemoryRequest<'_>,
        sizes: impl Iterator<Item = u64>,
        round: Round,
    ) -> Result<Home<D>, DeviceError> {
        let memory = sort.memory;
        let mut refusal = DeviceError::OutOfMemory { requested: request.size, memory };
        for size in sizes {
            if !self.may_take(memory, size, round) {
                continue;
            }
            let alignment = sort.heap_alignment(self.device.properties());
            let (category, priority) = (sort.category, sort.kind().priority());
            let desc = HeapDesc { size, alignment, memory, category, priority };
            match self.objects.create_heap(&self.device, &desc, sort.kind().as_str(), &self.taken) {
                Ok(heap) => return self.add_block(sort, HeapBlock { heap, size }, request),
                Err(error) if error.is_shortage() => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    /// Puts a new block onto its shelf, in place of the empty ones, which were too small.
    fn add_block(
        &mut self,
        sort: Sort,
        heap: HeapBlock<D>,
        request: &MemoryRequest<'_>,
    ) -> Result<Home<D>, DeviceError> {
        let added = match self.shelves.get_mut(sort.index()) {
            Some(shelf) => shelf.add_and_allocate(heap, request.size, request.alignment, &mut self.retired),
            None => Err(Unfit(heap)),
        };
        let found = added.map_err(|Unfit(heap)| self.retired.push(heap));
        self.give_back();
        let refused = DeviceError::Unsupported { feature: "a block of this size in the suballocator" };
        found.map(|found| Home::Pooled(Spot::new(sort.index(), &found))).map_err(|()| refused)
    }

    /// A heap for this request alone.
    fn alone(
        &self,
        request: &MemoryRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
        make: &Make<'_, D>,
    ) -> Result<Home<D>, DeviceError> {
        let properties = self.device.properties();
        let alignment = self.sort(request, memory).heap_alignment(properties);
        let size = request.size.next_multiple_of(alignment);
        if size > properties.max_heap_size || !self.may_take(memory, size, round) {
            return Err(DeviceError::OutOfMemory { requested: size, memory });
        }
        let category = request.category;
        let desc = HeapDesc { size, alignment, memory, category, priority: Priority::Normal };
        let (objects, name) = (&self.objects, request.name.as_str());
        let heap = objects.create_heap_by(&self.device, &desc, name, &self.taken, make)?;
        Ok(Home::Alone(HeapBlock { heap, size }))
    }

    /// Whether a heap of so many bytes may be asked for: the driver has the last word, but is not asked
    /// for more than the memory has, nor at first for more than the OS grants.
    fn may_take(&self, memory: MemoryTypeId, size: u64, round: Round) -> bool {
        let properties = self.device.properties();
        let Some(memory_type) = properties.memory_types.get(usize::from(memory.0)) else { return false };
        let heap = usize::from(memory_type.heap);
        if properties.memory_heaps.get(heap).is_none_or(|heap| size > heap.size) {
            return false;
        }
        let is_granted = || {
            let Ok(budgets) = self.device.budget() else { return true };
            budgets.get(heap).is_none_or(|found| found.grants(size))
        };
        round == Round::Whatever || is_granted()
    }
}
