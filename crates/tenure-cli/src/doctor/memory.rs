//! Memory: budgets, allocations, the capacity of heaps, and the speed of mapped memory.

use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::Usage;
use tenure::device::{
    Device, HeapBudget, HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId, Priority, Properties,
    ResourceDesc, prelude::*,
};
use tenure::error::DeviceError;
use tenure::resource::BufferInfo;

use super::examination::{Bounds, Opener, noted, permit, type_in};
use crate::examined::Failure;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The sizes of the measured allocations.
const SIZES: [u64; 4] = [64 * KIB, MIB, 16 * MIB, 64 * MIB];
/// Repetitions per size.
const REPETITIONS: usize = 16;
/// The maximum number of blocks that fill a heap.
const BLOCKS: u64 = 64;
/// The size of the mapped buffers.
const MAPPED: u64 = 4 * MIB;
/// Bytes per copy by the CPU.
const CHUNK: usize = 64 << 10;

/// The budget of a memory heap, and whether an allocation changes its usage.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Budget {
    pub(super) heap: usize,
    pub(super) size: u64,
    pub(super) device_local: bool,
    /// Whether this is the CPU-visible part of a card's memory.
    pub(super) window: bool,
    pub(super) budget: u64,
    pub(super) usage: u64,
    /// The size of the test allocation.
    pub(super) allocated: u64,
    /// Growth of the usage after that allocation; negative if it shrank.
    pub(super) growth: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

fn category<D: Device>(device: &D) -> Result<HeapCategory, DeviceError> {
    device
        .requirements(&ResourceDesc::Buffer(BufferInfo::new(MIB, Usage::VERTEX)))
        .map(|needs| needs.category)
}

/// A description of at least `size` bytes.
fn heap_desc(properties: &Properties, category: HeapCategory, memory: MemoryTypeId, size: u64) -> HeapDesc {
    let alignment = properties.heap_alignment.max(64 * KIB);
    let size = size.max(1).checked_next_multiple_of(alignment).unwrap_or(alignment);
    HeapDesc { size, alignment, memory, category, priority: Priority::Normal }
}

/// Bytes that the examination may allocate in a heap.
fn allowed(properties: &Properties, budgets: &[HeapBudget], heap: usize, share: f64) -> u64 {
    let size = properties.memory_heaps.get(heap).map_or(0, |heap| heap.size);
    let budget = budgets.get(heap).copied().unwrap_or_default();
    let granted = if budget.budget == 0 { size } else { budget.budget.min(size) };
    let free = granted.saturating_sub(budget.usage);
    (free as f64 * share.clamp(0.0, 1.0)) as u64
}

pub(super) fn budgets<P: Opener>(opener: &P, bounds: &Bounds, rows: &mut Vec<Budget>) -> Result<(), Failure> {
    let device = opener.open()?;
    let (properties, category) = (device.properties(), category(&device)?);
    for (index, heap) in properties.memory_heaps.iter().enumerate() {
        let before = device.budget()?;
        let HeapBudget { budget, usage } = before.get(index).copied().unwrap_or_default();
        let window = heap.is_window(&properties.memory_heaps);
        let mut row = Budget {
            heap: index,
            size: heap.size,
            device_local: heap.device_local,
            window,
            budget,
            usage,
            allocated: 0,
            growth: 0,
            error: None,
        };
        let size = (16 * MIB).min(allowed(properties, &before, index, bounds.share));
        let taken = type_in(properties, index).filter(|_| size > 0);
        if let Some(memory) = taken {
            match device.create_heap(&heap_desc(properties, category, memory, size)) {
                Ok(block) => {
                    row.allocated = size;
                    let after = device.budget();
                    device.destroy_heap(permit(), block);
                    let after = after?.get(index).map_or(usage, |heap| heap.usage);
                    row.growth = after.wrapping_sub(usage).cast_signed();
                }
                Err(error) => row.error = Some(noted(error)?),
            }
        }
        rows.push(row);
    }
    Ok(())
}

/// The cost of an allocation of one size and memory type.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Allocation {
    pub(super) memory_type: u8,
    pub(super) size: u64,
    /// Medians.
    pub(super) allocate_nanoseconds: u64,
    pub(super) free_nanoseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn median(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

pub(super) fn allocations<P: Opener>(
    opener: &P,
    bounds: &Bounds,
    rows: &mut Vec<Allocation>,
) -> Result<(), Failure> {
    let device = opener.open()?;
    let (properties, category) = (device.properties(), category(&device)?);
    let budgets = device.budget()?;
    for (memory_type, found) in (0_u8..).zip(&properties.memory_types) {
        if found.flags.intersects(MemoryFlags::SPECIAL) {
            continue;
        }
        let most = allowed(properties, &budgets, usize::from(found.heap), bounds.share);
        for size in SIZES.into_iter().filter(|size| *size <= most.min(properties.max_heap_size)) {
            bounds.check()?;
            let desc = heap_desc(properties, category, MemoryTypeId(memory_type), size);
            let (mut taken, mut freed) = (Vec::new(), Vec::new());
            let (end, mut failure) = (bounds.within(bounds.measured), None);
            while taken.len() < REPETITIONS && (taken.is_empty() || !end.is_over()) {
                let begun = Instant::now();
                let block = match device.create_heap(&desc) {
                    Ok(block) => block,
                    Err(error) => {
                        failure = Some(noted(error)?);
                        break;
                    }
                };
                taken.push(nanoseconds(begun.elapsed()));
                let begun = Instant::now();
                device.destroy_heap(permit(), block);
                freed.push(nanoseconds(begun.elapsed()));
            }
            rows.push(Allocation {
                memory_type,
                size,
                allocate_nanoseconds: median(&mut taken),
                free_nanoseconds: median(&mut freed),
                error: failure,
            });
        }
    }
    Ok(())
}

/// The allocatable part of a heap, up to a limit.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Capacity {
    pub(super) heap: usize,
    /// The maximum number of bytes to allocate.
    pub(super) limit: u64,
    pub(super) block: u64,
    pub(super) blocks: u64,
    pub(super) taken: u64,
    /// Whether the driver refused a block before the limit.
    pub(super) refused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

pub(super) fn capacity<P: Opener>(
    opener: &P,
    bounds: &Bounds,
    rows: &mut Vec<Capacity>,
) -> Result<(), Failure> {
    let device = opener.open()?;
    let (properties, category) = (device.properties(), category(&device)?);
    for heap in 0..properties.memory_heaps.len() {
        let Some(memory) = type_in(properties, heap) else { continue };
        let limit = allowed(properties, &device.budget()?, heap, bounds.share);
        let largest = (properties.max_heap_size / (64 * KIB) * (64 * KIB)).max(64 * KIB);
        let desc = heap_desc(properties, category, memory, (limit / BLOCKS).clamp(64 * KIB, largest));
        let mut row =
            Capacity { heap, limit, block: desc.size, blocks: 0, taken: 0, refused: false, error: None };
        let (mut blocks, mut lost) = (Vec::new(), None);
        while row.taken.saturating_add(desc.size) <= limit && row.blocks < BLOCKS && !bounds.is_over() {
            match device.create_heap(&desc) {
                Ok(block) => {
                    blocks.push(block);
                    row.blocks += 1;
                    row.taken = row.taken.saturating_add(desc.size);
                }
                Err(error) => {
                    (row.refused, row.error) = (true, Some(error.to_string()));
                    lost = matches!(error, DeviceError::Lost { .. }).then_some(error);
                    break;
                }
            }
        }
        blocks.into_iter().for_each(|block| device.destroy_heap(permit(), block));
        rows.push(row);
        if let Some(error) = lost {
            return Err(error.into());
        }
        bounds.check()?;
    }
    Ok(())
}

/// The speed of CPU access to mapped memory.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Mapped {
    pub(super) memory_type: u8,
    pub(super) write_bytes_per_second: u64,
    pub(super) read_bytes_per_second: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

fn per_second(bytes: u64, time: Duration) -> u64 {
    let nanoseconds = time.as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX)
}

/// Copies consecutive chunks, and wraps around at the end of the mapping.
fn speed(bounds: &Bounds, mut copy: impl FnMut(u64) -> Result<(), DeviceError>) -> Result<u64, DeviceError> {
    let (begun, end) = (Instant::now(), bounds.within(bounds.measured));
    let mut bytes = 0_u64;
    loop {
        copy(bytes % MAPPED)?;
        bytes += CHUNK as u64;
        if end.is_over() {
            return Ok(per_second(bytes, begun.elapsed()));
        }
    }
}

fn mapped<D: Device>(
    device: &D,
    buffer: &D::Resource,
    bounds: &Bounds,
    row: &mut Mapped,
) -> Result<(), DeviceError> {
    let mapping = device.map(buffer)?;
    let mut bytes = vec![0x5a; CHUNK];
    row.write_bytes_per_second = speed(bounds, |offset| mapping.write(offset, &bytes))?;
    row.read_bytes_per_second = speed(bounds, |offset| mapping.read(offset, &mut bytes))?;
    Ok(())
}

pub(super) fn mapping<P: Opener>(opener: &P, bounds: &Bounds, rows: &mut Vec<Mapped>) -> Result<(), Failure> {
    let device = opener.open()?;
    let properties = device.properties();
    let budgets = device.budget()?;
    let usages = [Usage::COPY_SRC | Usage::COPY_DST, Usage::COPY_DST, Usage::COPY_SRC];
    for (memory_type, found) in (0_u8..).zip(&properties.memory_types) {
        let is_mapped =
            found.flags.contains(MemoryFlags::HOST_VISIBLE) && !found.flags.contains(MemoryFlags::SPECIAL);
        if !is_mapped || allowed(properties, &budgets, usize::from(found.heap), bounds.share) < MAPPED {
            continue;
        }
        bounds.check()?;
        let mut row =
            Mapped { memory_type, write_bytes_per_second: 0, read_bytes_per_second: 0, error: None };
        let descs = usages.map(|usage| ResourceDesc::Buffer(BufferInfo::new(MAPPED, usage)));
        let fits = |desc: &&ResourceDesc| {
            let types = device.requirements(desc).map_or(0, |needs| needs.memory_types);
            types.checked_shr(memory_type.into()).unwrap_or(0) & 1 == 1
        };
        let Some(desc) = descs.iter().find(fits) else { continue };
        let measured = device.create_committed(desc, MemoryTypeId(memory_type)).and_then(|buffer| {
            let measured = mapped(&device, &buffer, bounds, &mut row);
            device.destroy_resource(permit(), buffer);
            measured
        });
        let failure = measured.err().map(noted).transpose();
        row.error = failure?;
        rows.push(row);
    }
    Ok(())
}
