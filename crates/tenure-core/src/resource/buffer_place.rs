//! Placement of buffers: alignment, size, and the kind of memory.

use super::BufferDesc;
use crate::Error;
use crate::context::Context;
use crate::device::{Allowed, Api, BufferInfo, Device, DeviceError, Requirements, ResourceDesc, Usage};
use crate::memory::policy::{PlacementKind, buffer_subject, page_pool, place_buffer, place_buffer_alone};
use crate::memory::{Backing, MakeRoom, MemoryUse, PoolKind, RangeRequest};

/// The placement of a buffer by the policy, with the size that this placement takes.
pub(super) struct BufferPlacement {
    pub(super) align: u64,
    /// Its offset in a shared buffer is a multiple of this.
    pub(super) step: Option<u64>,
    /// Bytes of a range.
    pub(super) size: u64,
    pub(super) placement: PlacementKind,
}

impl BufferPlacement {
    #[inline(always)]
    pub(super) fn of<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<Self, Error> {
        let align = buffer_alignment(context, desc)?;
        let subject = buffer_subject(desc.usage, desc.memory);
        let step =
            step(desc.size, align, desc.stride).filter(|_| !desc.own_resource && desc.read_only.is_empty());
        let alone = || place_buffer_alone(subject, desc.size, &context.config);
        // Offsets are multiples of the alignment, so the padding to a multiple of both is less than a step.
        let size = desc.size.saturating_add(step.map_or(0, |step| step - align));
        let placement = step.map_or_else(alone, |_| place_buffer(subject, size, &context.config));
        let traits = desc.traits(context);
        let placement = match placement {
            _ if traits.wants_own_memory(desc.size) => PlacementKind::Committed,
            _ if desc.usage.contains(Usage::SHARED) => PlacementKind::Committed,
            // The slots of small buffers lie in heaps that they cannot leave; movable buffers use another pool.
            PlacementKind::Range(PoolKind::SmallBuffers) if traits.is_movable => {
                PlacementKind::Range(PoolKind::ReadOnlyBuffers)
            }
            placement => placement,
        };
        Ok(Self { align, step, size, placement })
    }
}

/// The offset in a shared buffer must be a multiple of this: the least common multiple of the alignment, a
/// power of two, and the stride. `None` if the padding to such an offset would cost more than sharing saves.
fn step(size: u64, align: u64, stride: u32) -> Option<u64> {
    /// A separate resource costs up to 64 KiB and a driver call: this much is negligible in comparison.
    const CHEAP: u64 = 4 << 10;
    let stride = u64::from(stride.max(1));
    let step = align.checked_mul(stride >> stride.trailing_zeros().min(align.trailing_zeros()))?;
    (step - align <= size.max(CHEAP)).then_some(step)
}

/// Mapped buffers of at least this size are aligned for copies between buffers and textures.
const COPIED_FROM: u64 = 4 << 10;

/// The alignment of a buffer inside a larger one.
#[inline(always)]
pub(crate) fn buffer_alignment<D: Device>(context: &Context<D>, desc: &BufferDesc) -> Result<u64, Error> {
    if !desc.alignment.is_power_of_two() || desc.size == 0 || desc.size > context.max_buffer_size {
        return Err(refused(desc, context.max_buffer_size));
    }
    let mut align = desc.alignment.max(4);
    if desc.usage.contains(Usage::CONSTANT) {
        align = align.max(context.alignments.constant);
    }
    if desc.usage.contains(Usage::UNORDERED_ACCESS)
        || (desc.usage.contains(Usage::SHADER_READ) && !has_structured_views(context, desc))
    {
        align = align.max(context.alignments.storage);
    }
    if desc.usage.contains(Usage::ACCELERATION_STRUCTURE) {
        align = align.max(context.alignments.acceleration_structure);
    }
    align = align.max(table_alignment(context, desc.usage));
    let is_copied = match desc.memory {
        MemoryUse::Upload | MemoryUse::GpuUpload => desc.usage.contains(Usage::COPY_SRC),
        MemoryUse::Readback => desc.usage.contains(Usage::COPY_DST),
        _ => false,
    };
    if is_copied && desc.size >= COPIED_FROM {
        align = align.max(context.alignments.copy_offset);
    }
    Ok(align)
}

/// The error for an alignment or a size that no buffer has.
#[cold]
fn refused(desc: &BufferDesc, max_size: u64) -> Error {
    let (field, value, allowed) = match desc.size {
        _ if !desc.alignment.is_power_of_two() => ("alignment", desc.alignment, Allowed::POWER_OF_TWO),
        0 => ("size", 0, Allowed::AtLeast(1)),
        size => ("size", size, Allowed::AtMost(max_size)),
    };
    Error::device(&desc.name, DeviceError::invalid_desc(field, value, allowed))
}

/// The alignment of a GPU address for shader binding tables, if the buffer may hold one.
fn table_alignment<D: Device>(context: &Context<D>, usage: Usage) -> u64 {
    match usage.contains(Usage::SHADER_BINDING_TABLE) {
        true => context.alignments.shader_binding_table,
        false => 1,
    }
}

/// Whether the buffer can have views of structured buffers, which begin at any element on Direct3D 12;
/// elsewhere they are storage buffers like others.
fn has_structured_views<D: Device>(context: &Context<D>, desc: &BufferDesc) -> bool {
    desc.stride > 0 && context.device().properties().api == Api::Direct3D12
}

/// Memory for a page of the manager itself, which never shares an API buffer with buffers of the program.
pub(crate) fn place_page<D: Device>(
    context: &Context<D>,
    room: &dyn MakeRoom,
    desc: &BufferDesc,
) -> Result<Backing<D>, Error> {
    let align = buffer_alignment(context, desc)?;
    let subject = buffer_subject(desc.usage, desc.memory);
    let placement = match place_buffer(subject, desc.size, &context.config) {
        PlacementKind::Range(_) => PlacementKind::Range(page_pool(desc.memory)),
        alone => alone,
    };
    place_buffer_bytes(context, room, desc, placement, desc.size, align)
}

/// Memory for a buffer, where the policy places it; `size` bytes for a range.
// Always, whatever the number of callers in a program, so that arguments and the result are not copied.
#[inline(always)]
pub(super) fn place_buffer_bytes<D: Device>(
    context: &Context<D>,
    room: &dyn MakeRoom,
    desc: &BufferDesc,
    placement: PlacementKind,
    size: u64,
    align: u64,
) -> Result<Backing<D>, Error> {
    let alone = BufferInfo::new(desc.size, desc.usage);
    let (memory_use, flags, name) = (desc.memory, desc.allocation, &desc.name);
    let traits = desc.traits(context);
    match placement {
        PlacementKind::Range(kind) => {
            let is_filled = desc.is_filled_in_place(context, traits);
            let alone = &alone;
            let request =
                RangeRequest { kind, memory_use, is_filled, size, align, alone, flags, traits, name };
            context.place_range(room, request)
        }
        placement => place_buffer_resource(context, room, desc, alone, placement),
    }
}

/// The requirements on the heap of a buffer with a separate API resource: the driver's, and the alignment that
/// the program requests, up to that of the heap itself.
pub(crate) fn placed_needs<D: Device>(
    context: &Context<D>,
    desc: &BufferDesc,
    resource: &ResourceDesc,
) -> Result<Requirements, Error> {
    let mut needs = context.requirements(&desc.name, resource)?;
    let asked = desc.alignment.max(table_alignment(context, desc.usage));
    let asked = asked.min(context.device().properties().heap_alignment);
    needs.alignment = needs.alignment.max(asked);
    Ok(needs)
}

fn place_buffer_resource<D: Device>(
    context: &Context<D>,
    room: &dyn MakeRoom,
    desc: &BufferDesc,
    info: BufferInfo,
    placement: PlacementKind,
) -> Result<Backing<D>, Error> {
    let resource = ResourceDesc::Buffer(info);
    let needs = placed_needs(context, desc, &resource)?;
    let placement = if needs.wants_dedicated() { PlacementKind::Committed } else { placement };
    let traits = desc.traits(context);
    context.place_resource(room, desc.request(context, (&resource, &needs), placement, traits))
}
