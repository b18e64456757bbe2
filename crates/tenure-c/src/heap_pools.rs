//! Functions: pools of heaps that the program allocates. They need no device.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use tenure_heap::{
    BlockSizes, CompactionBudget, HeapBudget, HeapCategory, HeapDesc, HeapDevice, HeapError, HeapPoolsConfig,
    HeapProperties, InvalidSetup, MAX_MEMORY_TYPES, MemoryError, MemoryFlags, MemoryHeap, MemoryRange,
    MemoryRequest, MemoryType, MemoryTypeId, Spill,
};

use crate::call::{call, call_create, call_status};
use crate::callback::{Inside, during};
use crate::convert::unknown;
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// The properties of a memory type, with the bits of `VkMemoryPropertyFlags`.
pub type tn_MemoryFlags = u32;
/// Fast for the GPU.
pub const TN_MEMORY_DEVICE_LOCAL: tn_MemoryFlags = 1 << 0;
/// The CPU can map it.
pub const TN_MEMORY_HOST_VISIBLE: tn_MemoryFlags = 1 << 1;
/// Does not need flushes.
pub const TN_MEMORY_HOST_COHERENT: tn_MemoryFlags = 1 << 2;
/// Fast to read for the CPU.
pub const TN_MEMORY_HOST_CACHED: tn_MemoryFlags = 1 << 3;
/// Tile memory.
pub const TN_MEMORY_LAZILY_ALLOCATED: tn_MemoryFlags = 1 << 4;
/// Memory for special purposes; all higher bits have the same meaning.
pub const TN_MEMORY_SPECIAL: tn_MemoryFlags = 1 << 5;

/// A memory type.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryType {
    /// `TN_MEMORY_DEVICE_LOCAL`, …
    pub flags: tn_MemoryFlags,
    /// The index of its heap.
    pub heap: u32,
}

/// A physical memory heap.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryHeap {
    /// Bytes.
    pub size: u64,
    /// Whether the heap is local to the GPU.
    pub is_device_local: tn_Bool,
    /// Must be 0.
    pub reserved: u32,
}

/// The kind of resources in a heap. Ranges of different categories never share a heap.
pub type tn_HeapCategory = u32;
/// All resources.
pub const TN_HEAP_ANY: tn_HeapCategory = 0;
/// Buffers and linear images.
pub const TN_HEAP_BUFFERS: tn_HeapCategory = 1;
/// Render targets and depth-stencil targets.
pub const TN_HEAP_TARGETS: tn_HeapCategory = 2;
/// Other textures, and optimal images.
pub const TN_HEAP_TEXTURES: tn_HeapCategory = 3;

/// A heap to allocate from the driver.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_HeapDesc {
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub alignment: u64,
    /// `tn_MemoryRequest.resource` for a dedicated heap; otherwise null.
    pub resource: *mut c_void,
    /// The index of the memory type.
    pub memory_type: u32,
    /// `TN_HEAP_…`.
    pub category: tn_HeapCategory,
}

/// Allocates a heap, and writes it to `heap`. Returns `TN_OK`; `TN_ERROR_OUT_OF_MEMORY`, to retry with smaller heaps and other
/// memory; or a program-defined negative number, which the call returns. Must not unwind. May release handles, except a `tn_Gpu`;
/// other functions return `TN_ERROR_CALLBACK`.
pub type tn_CreateHeapFn =
    extern "C-unwind" fn(user: *mut c_void, desc: tn_HeapDesc, heap: *mut tn_Native) -> tn_Status;
/// Frees a heap. Same rules as `tn_CreateHeapFn`.
pub type tn_DestroyHeapFn = extern "C-unwind" fn(user: *mut c_void, heap: tn_Native);
/// Writes the budget and the usage of a memory heap, in bytes; both are preset to 0, for unknown. Same rules as `tn_CreateHeapFn`.
pub type tn_HeapBudgetFn =
    extern "C-unwind" fn(user: *mut c_void, heap: u32, budget: *mut u64, usage: *mut u64);

/// Flag of `tn_HeapPoolsDesc`: enables `tn_heap_pools_compact`, at a cost of 8 bytes per range.
pub const TN_HEAP_POOLS_COMPACT: u32 = 1 << 0;
/// Flag of `tn_HeapPoolsDesc`: heaps are freed as soon as they are empty.
pub const TN_HEAP_POOLS_KEEP_NONE: u32 = 1 << 1;

/// Pools of heaps.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_HeapPoolsDesc {
    /// `sizeof(tn_HeapPoolsDesc)`.
    pub struct_size: u32,
    /// `TN_HEAP_POOLS_…`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Allocates a heap.
    pub create_heap: Option<tn_CreateHeapFn>,
    /// Frees a heap.
    pub destroy_heap: Option<tn_DestroyHeapFn>,
    /// The budget function; null: budgets are unknown.
    pub budget: Option<tn_HeapBudgetFn>,
    /// Passed to the three functions.
    pub user: *mut c_void,
    /// The memory types, 1 to 32.
    pub memory_types: In<tn_MemoryType>,
    /// Number of memory types.
    pub memory_type_count: usize,
    /// The memory heaps that the types refer to.
    pub memory_heaps: In<tn_MemoryHeap>,
    /// Number of memory heaps.
    pub memory_heap_count: usize,
    /// Heap sizes are rounded up to a multiple of this power of two; 0: 64 KiB.
    pub heap_alignment: u64,
    /// The alignment of heaps for multisampled textures; 0: 4 MiB.
    pub msaa_heap_alignment: u64,
    /// Flushes of memory that is not coherent are rounded to a multiple of this power of two; 0: 1.
    pub non_coherent_atom: u64,
    /// The maximum number of heaps; 0: no limit.
    pub max_heaps: u64,
    /// The maximum size of a heap; 0: no limit.
    pub max_heap_size: u64,
    /// The size of the first block in memory that is not CPU-visible; 0: 1 MiB.
    pub device_block_min: u64,
    /// The maximum block size there; 0: 64 MiB.
    pub device_block_max: u64,
    /// The size of the first block in CPU-visible memory; 0: 1 MiB.
    pub host_block_min: u64,
    /// The maximum block size there; 0: 32 MiB.
    pub host_block_max: u64,
    /// The granularity of ranges, a power of two; 0: 16.
    pub granule: u64,
    /// The divisor for growth: a new block is a pool's capacity divided by this; 0: 16.
    pub growth_divisor: u64,
    /// The number of empty heaps that a pool keeps; 0: 1.
    pub empty_blocks: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The fallback of a request when its memory is short.
pub type tn_Spill = u32;
/// Other memory after a refusal by the driver.
pub const TN_SPILL_AFTER_REFUSAL: tn_Spill = 0;
/// Other memory before the budget is exceeded.
pub const TN_SPILL_BEFORE_BUDGET: tn_Spill = 1;
/// None: the request fails.
pub const TN_SPILL_NEVER: tn_Spill = 2;

/// Flag of `tn_MemoryRequest`: a dedicated heap.
pub const TN_MEMORY_DEDICATED: u32 = 1 << 0;
/// Flag of `tn_MemoryRequest`: the budget must not be exceeded.
pub const TN_MEMORY_WITHIN_BUDGET: u32 = 1 << 1;

/// A request for a range of a heap.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryRequest {
    /// `sizeof(tn_MemoryRequest)`.
    pub struct_size: u32,
    /// `TN_MEMORY_DEDICATED`, `TN_MEMORY_WITHIN_BUDGET`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes.
    pub size: u64,
    /// A power of two; 0: 1.
    pub alignment: u64,
    /// The indices of the acceptable memory types, best first.
    pub memory_types: In<u32>,
    /// Number of memory types, 1 to 32.
    pub memory_type_count: usize,
    /// Passed to `create_heap` with `TN_MEMORY_DEDICATED`.
    pub resource: *mut c_void,
    /// `TN_HEAP_…`.
    pub category: tn_HeapCategory,
    /// `TN_SPILL_…`.
    pub spill: tn_Spill,
    /// The name in messages.
    pub name: tn_Str,
}

/// A range of a heap. A plain value that can be copied.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryRange {
    /// The heap, as written by `create_heap`.
    pub heap: tn_Native,
    /// The first byte in the heap.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Internal identity of the range.
    pub id: [u64; 3],
    /// The memory type of the heap.
    pub memory_type: u32,
    /// Whether the range is the only one of its heap.
    pub is_dedicated: tn_Bool,
}

/// Statistics of pools.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryTotals {
    /// `sizeof(tn_MemoryTotals)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes of all heaps.
    pub reserved_bytes: u64,
    /// The peak of `reserved_bytes`.
    pub peak_reserved: u64,
    /// Bytes of all ranges, as requested.
    pub requested: u64,
    /// Number of ranges.
    pub allocations: u64,
    /// Number of heaps.
    pub heaps: u64,
    /// Heaps created so far, including freed ones.
    pub heaps_created: u64,
    /// Bytes allocated so far in other memory than the first choice.
    pub spilled: u64,
}

/// The limits of one call of `tn_heap_pools_compact` or `tn_gpu_compact`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_CompactionBudget {
    /// Maximum bytes to copy.
    pub bytes: u64,
    /// Maximum number of moves.
    pub moves: u32,
    /// Maximum number of ranges and holes to examine.
    pub pieces: u32,
}

/// A move of a range.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_MemoryMove {
    /// The old location: free it once the GPU no longer uses it.
    pub from: tn_MemoryRange,
    /// The new location, already allocated.
    pub to: tn_MemoryRange,
}

/// Returns 1 for a range that can be moved; `heap` is 0 in it: identify the range by its `id`. Same rules as `tn_CreateHeapFn`.
pub type tn_IsMovableFn = extern "C-unwind" fn(user: *mut c_void, range: tn_MemoryRange) -> tn_Bool;

descs! {
    tn_HeapPoolsDesc: TN_HEAP_POOLS_COMPACT | TN_HEAP_POOLS_KEEP_NONE,
    tn_MemoryRequest: TN_MEMORY_DEDICATED | TN_MEMORY_WITHIN_BUDGET,
    tn_MemoryTotals: 0,
}

impl Outcome for tn_MemoryTotals {}

/// The object behind a `tn_HeapPools`.
pub(crate) type HeapPools = tenure_heap::HeapPools<Program>;

/// Heaps allocated by the functions of the program.
pub(crate) struct Program {
    create_heap: tn_CreateHeapFn,
    destroy_heap: tn_DestroyHeapFn,
    budget: Option<tn_HeapBudgetFn>,
    /// Passed to the functions unchanged.
    user: AtomicPtr<c_void>,
    properties: HeapProperties,
    /// Whether the pools can be compacted.
    compacts: bool,
}

impl Program {
    fn user(&self) -> *mut c_void {
        self.user.load(Ordering::Relaxed)
    }

    fn create(&self, desc: &HeapDesc, resource: *mut c_void) -> Result<tn_Native, HeapError> {
        let &HeapDesc { size, alignment, memory, category, .. } = desc;
        let memory_type = memory.0.into();
        let category = match category {
            HeapCategory::Any => TN_HEAP_ANY,
            HeapCategory::Buffers => TN_HEAP_BUFFERS,
            HeapCategory::Targets => TN_HEAP_TARGETS,
            HeapCategory::Textures => TN_HEAP_TEXTURES,
        };
        let desc = tn_HeapDesc { size, alignment, resource, memory_type, category };
        let mut heap = 0;
        match during(Inside::Heap, || (self.create_heap)(self.user(), desc, &raw mut heap)) {
            0.. => Ok(heap),
            TN_ERROR_OUT_OF_MEMORY => Err(HeapError::OutOfMemory { requested: size, memory }),
            status => {
                Err(HeapError::Failed { call: "tn_CreateHeapFn", code: u64::from(status.unsigned_abs()) })
            }
        }
    }
}

impl HeapDevice for Program {
    type Heap = tn_Native;
    type Error = HeapError;

    fn properties(&self) -> HeapProperties {
        self.properties.clone()
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<tn_Native, HeapError> {
        self.create(desc, std::ptr::null_mut())
    }

    fn destroy_heap(&self, heap: tn_Native) {
        during(Inside::Heap, || (self.destroy_heap)(self.user(), heap));
    }

    fn budget(&self) -> Vec<HeapBudget> {
        let Some(function) = self.budget else { return Vec::new() };
        let of_heap = |heap: usize| {
            let mut found = HeapBudget::default();
            let heap = u32::try_from(heap).unwrap_or(u32::MAX);
            let HeapBudget { budget, usage } = &mut found;
            during(Inside::Heap, || function(self.user(), heap, &raw mut *budget, &raw mut *usage));
            found
        };
        (0..self.properties.memory_heaps.len()).map(of_heap).collect()
    }
}

impl From<InvalidSetup> for Failure {
    #[cold]
    fn from(error: InvalidSetup) -> Self {
        Self::new(TN_ERROR_CONFIG, error.to_string())
    }
}

impl From<MemoryError<HeapError>> for Failure {
    #[cold]
    fn from(error: MemoryError<HeapError>) -> Self {
        let status = match &error {
            MemoryError::OutOfMemory { .. } => TN_ERROR_OUT_OF_MEMORY,
            // The number returned by the program.
            MemoryError::Device { source: HeapError::Failed { code, .. }, .. } => {
                i32::try_from(-i64::try_from(*code).unwrap_or(i64::MAX)).unwrap_or(TN_ERROR_DEVICE)
            }
            MemoryError::Device { .. } => TN_ERROR_DEVICE,
            MemoryError::DoubleFree => TN_ERROR_HANDLE,
            MemoryError::Foreign => TN_ERROR_FOREIGN,
            _ => TN_ERROR_ARGUMENT,
        };
        let failure = Self::new(status, error.to_string());
        if let MemoryError::OutOfMemory { size, alignment, memory, largest_free, .. } = error {
            let memory_type = memory.0.into();
            let shortage = Shortage { size, alignment, memory_type, largest_free, ..Shortage::default() };
            return failure.with_numbers(shortage);
        }
        failure
    }
}

fn or(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}

fn config(desc: &tn_HeapPoolsDesc) -> HeapPoolsConfig {
    let mut config = HeapPoolsConfig::default();
    let blocks =
        |min, max, blocks: BlockSizes| BlockSizes { min: or(min, blocks.min), max: or(max, blocks.max) };
    config.device_blocks = blocks(desc.device_block_min, desc.device_block_max, config.device_blocks);
    config.host_blocks = blocks(desc.host_block_min, desc.host_block_max, config.host_blocks);
    config.granule = or(desc.granule, config.granule);
    config.growth_divisor = or(desc.growth_divisor, config.growth_divisor);
    config.empty_blocks = match desc.empty_blocks {
        _ if desc.flags & TN_HEAP_POOLS_KEEP_NONE != 0 => 0,
        0 => config.empty_blocks,
        count => count,
    };
    config.compacts = desc.flags & TN_HEAP_POOLS_COMPACT != 0;
    config
}

const FLAGS: [(tn_MemoryFlags, MemoryFlags); 5] = [
    (TN_MEMORY_DEVICE_LOCAL, MemoryFlags::DEVICE_LOCAL),
    (TN_MEMORY_HOST_VISIBLE, MemoryFlags::HOST_VISIBLE),
    (TN_MEMORY_HOST_COHERENT, MemoryFlags::HOST_COHERENT),
    (TN_MEMORY_HOST_CACHED, MemoryFlags::HOST_CACHED),
    (TN_MEMORY_LAZILY_ALLOCATED, MemoryFlags::LAZILY_ALLOCATED),
];

fn properties(desc: &tn_HeapPoolsDesc) -> Result<HeapProperties, Failure> {
    let memory_type = |found: &tn_MemoryType| {
        let in_rust = FLAGS.iter().filter(|(flag, _)| found.flags & flag != 0);
        let mut flags = in_rust.fold(MemoryFlags::empty(), |all, (_, flag)| all | *flag);
        flags.set(MemoryFlags::SPECIAL, found.flags >= TN_MEMORY_SPECIAL);
        // No heap has this number: rejected later.
        MemoryType { flags, heap: u8::try_from(found.heap).unwrap_or(u8::MAX) }
    };
    let memory_heap =
        |found: &tn_MemoryHeap| MemoryHeap { size: found.size, device_local: found.is_device_local != 0 };
    let types = desc.memory_types.array(desc.memory_type_count, "memory_types")?;
    let heaps = desc.memory_heaps.array(desc.memory_heap_count, "memory_heaps")?;
    if types.len() > MAX_MEMORY_TYPES || heaps.len() > MAX_MEMORY_TYPES {
        let text =
            format!("{} memory types, {} heaps: at most {MAX_MEMORY_TYPES} each", types.len(), heaps.len());
        return Err(Failure::new(TN_ERROR_CONFIG, text));
    }
    Ok(HeapProperties {
        memory_types: types.iter().map(memory_type).collect(),
        memory_heaps: heaps.iter().map(memory_heap).collect(),
        heap_alignment: or(desc.heap_alignment, 64 << 10),
        msaa_heap_alignment: or(desc.msaa_heap_alignment, 4 << 20),
        non_coherent_atom: or(desc.non_coherent_atom, 1),
        max_allocations: or(desc.max_heaps, u64::MAX),
        max_heap_size: or(desc.max_heap_size, u64::MAX),
    })
}

pub(crate) fn budget(budget: &tn_CompactionBudget) -> CompactionBudget {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let &tn_CompactionBudget { bytes, moves, pieces } = budget;
    CompactionBudget { bytes, moves: count(moves), pieces: count(pieces) }
}

fn range_in_c(range: &MemoryRange, heap: tn_Native) -> tn_MemoryRange {
    tn_MemoryRange {
        heap,
        offset: range.offset(),
        size: range.size(),
        id: range.to_raw(),
        memory_type: range.memory().0.into(),
        is_dedicated: range.is_dedicated().into(),
    }
}

fn category(category: tn_HeapCategory) -> Result<HeapCategory, Failure> {
    match category {
        TN_HEAP_ANY => Ok(HeapCategory::Any),
        TN_HEAP_BUFFERS => Ok(HeapCategory::Buffers),
        TN_HEAP_TARGETS => Ok(HeapCategory::Targets),
        TN_HEAP_TEXTURES => Ok(HeapCategory::Textures),
        category => unknown("category", category),
    }
}

fn spill(spill: tn_Spill) -> Result<Spill, Failure> {
    match spill {
        TN_SPILL_AFTER_REFUSAL => Ok(Spill::AfterRefusal),
        TN_SPILL_BEFORE_BUDGET => Ok(Spill::BeforeBudget),
        TN_SPILL_NEVER => Ok(Spill::Never),
        spill => unknown("spill", spill),
    }
}

/// Creates pools of heaps; the program's functions allocate and free the heaps. Pools must be used by one thread at a time.
/// `tn_release` of the handle frees all heaps.
///
/// Errors: `TN_ERROR_CONFIG` for a number out of range, and inconsistent memory types; `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_create(desc: In<tn_HeapPoolsDesc>, out: Out<Handle<HeapPools>>) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc()?;
        let missing =
            || Failure::new(TN_ERROR_POINTER, "null, where create_heap and destroy_heap are needed");
        let program = Program {
            create_heap: desc.create_heap.ok_or_else(missing)?,
            destroy_heap: desc.destroy_heap.ok_or_else(missing)?,
            budget: desc.budget,
            user: AtomicPtr::new(desc.user),
            properties: properties(desc)?,
            compacts: desc.flags & TN_HEAP_POOLS_COMPACT != 0,
        };
        Ok(HeapPools::new(program, config(desc))?)
    })
}

/// Allocates a range: in a shared heap, in a new heap, or in a dedicated one. The program binds its resource there.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY` after all memory types failed; `TN_ERROR_ARGUMENT` for an unsupported size, alignment or memory
/// type; the error returned by `create_heap`; `TN_ERROR_BUSY`, `TN_ERROR_ENUM`, `TN_ERROR_TEXT`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_allocate(
    pools: Handle<HeapPools>,
    request: In<tn_MemoryRequest>,
    out: Out<tn_MemoryRange>,
) -> tn_Status {
    call(|| {
        out.check("a tn_MemoryRange")?;
        let request = request.desc()?;
        let types = request.memory_types.array(request.memory_type_count, "memory_types")?;
        let mut memory = [MemoryTypeId(u8::MAX); MAX_MEMORY_TYPES];
        if types.len() > MAX_MEMORY_TYPES {
            let text = format!("memory_type_count = {}: at most {MAX_MEMORY_TYPES}", types.len());
            return Err(Failure::new(TN_ERROR_ARGUMENT, text));
        }
        for (memory, number) in memory.iter_mut().zip(types) {
            *memory = MemoryTypeId(u8::try_from(*number).unwrap_or(u8::MAX));
        }
        let (memory, category) = (&memory[..types.len()], category(request.category)?);
        let mut found = MemoryRequest::new(request.size, request.alignment.max(1), memory, category);
        found.name = request.name.name()?;
        found.shortage.spill = spill(request.spill)?;
        found.shortage.may_exceed_budget = request.flags & TN_MEMORY_WITHIN_BUDGET == 0;
        let mut pools = pools.alone()?;
        let (range, heap) = if request.flags & TN_MEMORY_DEDICATED != 0 {
            let make = |program: &Program, desc: &HeapDesc| program.create(desc, request.resource);
            pools.allocate_dedicated(found, make, |heap| *heap)?
        } else {
            pools.allocate(found, |heap| *heap)?
        };
        out.set(range_in_c(&range, heap));
        Ok(())
    })
}

/// Frees a range, identified by its `id`. The GPU must not use it any more.
///
/// Errors: `TN_ERROR_HANDLE` for a range that was already freed; `TN_ERROR_FOREIGN` for a range of other pools; `TN_ERROR_BUSY`.
/// Nothing is changed then.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_free(pools: Handle<HeapPools>, range: In<tn_MemoryRange>) -> tn_Status {
    call(|| {
        let id = range.value("a tn_MemoryRange")?.id;
        let mut pools = pools.alone()?;
        let range = pools.live_range(id)?;
        Ok(pools.free(&range)?)
    })
}

/// Statistics of pools, in constant time.
///
/// Errors: `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_totals(pools: Handle<HeapPools>, out: Out<tn_MemoryTotals>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let totals = pools.alone()?.totals();
        out.set(tn_MemoryTotals {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            reserved_bytes: totals.reserved,
            peak_reserved: totals.peak_reserved,
            requested: totals.requested,
            allocations: totals.allocations,
            heaps: totals.heaps,
            heaps_created: totals.heaps_made,
            spilled: totals.spilled_bytes,
        });
        Ok(())
    })
}

/// Frees every empty heap.
///
/// Errors: `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_trim(pools: Handle<HeapPools>) -> tn_Status {
    call(|| {
        pools.alone()?.trim();
        Ok(())
    })
}

/// Limits the memory that the pools allocate from a memory heap, in bytes; `UINT64_MAX`: no limit.
///
/// Errors: `TN_ERROR_ARGUMENT` for a heap that does not exist; `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_set_cap(pools: Handle<HeapPools>, heap: u32, bytes: u64) -> tn_Status {
    call(|| {
        let index = usize::try_from(heap).unwrap_or(usize::MAX);
        match pools.alone()?.set_cap(index, (bytes != u64::MAX).then_some(bytes)) {
            true => Ok(()),
            false => Err(Failure::new(TN_ERROR_ARGUMENT, format!("heap = {heap}: there is no such heap"))),
        }
    })
}

/// Continues to empty sparse heaps, within the budget: writes up to `room` moves, and their number to `count`. The program copies
/// each range to its new location, and frees `from` when the GPU no longer uses it; if it cannot copy, it frees `to` instead, and
/// calls `tn_heap_pools_stop_compaction`. `is_movable` is called once for each range. `TN_NOT_READY`: call it again, for example
/// once per frame. Requires `TN_HEAP_POOLS_COMPACT`.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_BUSY`; `TN_ERROR_ARGUMENT` without that flag.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_compact(
    pools: Handle<HeapPools>,
    budget: In<tn_CompactionBudget>,
    is_movable: Option<tn_IsMovableFn>,
    user: *mut c_void,
    moves: Out<tn_MemoryMove>,
    room: usize,
    count: Out<usize>,
) -> tn_Status {
    call_status(|| {
        count.check("a number")?;
        moves.check_array(room, "room for moves")?;
        let mut budget = self::budget(&budget.value("a tn_CompactionBudget")?);
        budget.moves = budget.moves.min(room);
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_IsMovableFn is needed");
        let is_movable = is_movable.ok_or_else(missing)?;
        let ask = |range: &MemoryRange| {
            // The heap cannot be looked up here: the pools are in use.
            let range = range_in_c(range, 0);
            during(Inside::Heap, || is_movable(user, range)) != 0
        };
        let mut pools = pools.alone()?;
        if !pools.device().compacts {
            return Err(Failure::new(
                TN_ERROR_ARGUMENT,
                "the pools were created without TN_HEAP_POOLS_COMPACT",
            ));
        }
        let mut found = Vec::new();
        let is_done = pools.compact(budget, ask, &mut found);
        let heap = |range: &MemoryRange| pools.heap(range).copied().unwrap_or(0);
        let in_c = |range: &MemoryRange| range_in_c(range, heap(range));
        // The budget allows no more moves than there is room for.
        let found: Vec<tn_MemoryMove> = found
            .iter()
            .take(room)
            .map(|moved| tn_MemoryMove { from: in_c(&moved.from), to: in_c(&moved.to) })
            .collect();
        moves.set_array(&found);
        count.set(found.len());
        Ok(if is_done { TN_OK } else { TN_NOT_READY })
    })
}

/// Stops emptying heaps: their free bytes can be allocated again. Moves already returned stay valid.
///
/// Errors: `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_heap_pools_stop_compaction(pools: Handle<HeapPools>) -> tn_Status {
    call(|| {
        pools.alone()?.stop_compaction();
        Ok(())
    })
}
