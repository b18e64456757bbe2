//! Values of the header as values of Rust.

use std::mem::ManuallyDrop;
use std::time::Duration;

use tenure_core::device::{Priority, QueueId};
use tenure_core::{
    AllocationFlags, BufferAccess, BufferDesc, BufferViewDesc, ClearValue, Elements, Format, MemoryUse, Name,
    Plane, Pressure, Queue, State, Subresource, SyncPoint, TexelData, TextureAccess, TextureDesc,
    TextureInfo, TextureRegion, TextureViewDesc, Usage, ViewShape,
};

use crate::types::*;

#[inline]
pub(crate) fn unknown<T>(what: &str, value: u32) -> Result<T, Failure> {
    Err(unknown_value(what, value))
}

#[cold]
fn unknown_value(what: &str, value: u32) -> Failure {
    Failure::new(TN_ERROR_ENUM, format!("{what} = {value}: unknown in this version"))
}

/// `max` for times that no clock counts.
pub(crate) fn duration(nanoseconds: u64) -> Duration {
    if nanoseconds == TN_FOREVER { Duration::MAX } else { Duration::from_nanos(nanoseconds) }
}

pub(crate) fn usage(bits: tn_Usage) -> Result<Usage, Failure> {
    Usage::from_bits(bits).map_or_else(|| unknown("usage", bits), Ok)
}

pub(crate) fn state(bits: tn_State) -> Result<State, Failure> {
    State::from_bits(bits).map_or_else(|| unknown("state", bits), Ok)
}

/// `None` for `TN_FORMAT_UNKNOWN`.
pub(crate) fn format_or_none(number: tn_Format) -> Result<Option<Format>, Failure> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match index {
        None => Ok(None),
        Some(index) => {
            Format::ALL.get(index).map_or_else(|| unknown("format", number), |found| Ok(Some(*found)))
        }
    }
}

pub(crate) fn format(number: tn_Format) -> Result<Format, Failure> {
    let none = || Failure::new(TN_ERROR_ENUM, "format = 0, TN_FORMAT_UNKNOWN: must be a format");
    format_or_none(number)?.ok_or_else(none)
}

pub(crate) fn queue(queue: tn_Queue) -> Result<Queue, Failure> {
    match queue {
        TN_QUEUE_GRAPHICS => Ok(Queue::Graphics),
        TN_QUEUE_COMPUTE => Ok(Queue::Compute),
        TN_QUEUE_COPY => Ok(Queue::Copy),
        _ => {
            let index = queue.checked_sub(TN_QUEUE_FIRST).and_then(|index| u8::try_from(index).ok());
            index.map_or_else(|| unknown("queue", queue), |index| Ok(Queue::Id(QueueId(index))))
        }
    }
}

#[inline]
fn priority(priority: tn_Priority) -> Result<Option<Priority>, Failure> {
    match priority {
        TN_PRIORITY_BY_USAGE => Ok(None),
        TN_PRIORITY_LOW => Ok(Some(Priority::Low)),
        TN_PRIORITY_NORMAL => Ok(Some(Priority::Normal)),
        TN_PRIORITY_HIGH => Ok(Some(Priority::High)),
        _ => unknown("priority", priority),
    }
}

fn allocation(bits: tn_Allocation) -> Result<AllocationFlags, Failure> {
    let known = u8::try_from(bits).ok().and_then(AllocationFlags::from_bits);
    known.map_or_else(|| unknown("allocation", bits), Ok)
}

pub(crate) fn memory(memory: tn_Memory) -> Result<MemoryUse, Failure> {
    memory_or_none(memory).map_or_else(|| unknown("memory", memory), Ok)
}

fn memory_or_none(memory: tn_Memory) -> Option<MemoryUse> {
    match memory {
        TN_MEMORY_GPU_ONLY => Some(MemoryUse::GpuOnly),
        TN_MEMORY_UPLOAD => Some(MemoryUse::Upload),
        TN_MEMORY_READBACK => Some(MemoryUse::Readback),
        TN_MEMORY_GPU_UPLOAD => Some(MemoryUse::GpuUpload),
        _ => None,
    }
}

fn plane(plane: tn_Plane) -> Result<Plane, Failure> {
    match plane {
        TN_PLANE_FIRST => Ok(Plane::First),
        TN_PLANE_STENCIL => Ok(Plane::Stencil),
        _ => unknown("plane", plane),
    }
}

pub(crate) fn buffer_desc(desc: &tn_BufferDesc) -> Result<BufferDesc, Failure> {
    let mut found = BufferDesc::new(desc.size, usage(desc.usage)?);
    found.memory = memory(desc.memory)?;
    // 0 and 1 both mean no more than the usage needs.
    found.alignment = desc.alignment.max(1);
    found.stride = desc.stride;
    found.allocation = allocation(desc.allocation)?;
    found.priority = priority(desc.priority)?;
    found.own_resource = desc.flags & TN_RESOURCE_OWN != 0;
    found.is_evictable = desc.flags & TN_RESOURCE_EVICTABLE != 0;
    found.is_filled = desc.flags & TN_RESOURCE_FILLED != 0;
    if desc.read_only != 0 {
        found = found.read_only(state(desc.read_only)?);
    }
    found.name = desc.name.name()?;
    found.tag = desc.tag.name()?;
    Ok(if desc.flags & TN_RESOURCE_MOVABLE != 0 { found.movable() } else { found })
}

/// As [`buffer_desc`], for the usual description: one without rare settings and contents, whose name is a literal or absent. `None`
/// for others, also for invalid ones. Nothing in the result must be dropped. All checks come before the first value is stored, so
/// that each is stored once.
#[inline(always)]
pub(crate) fn usual_buffer_desc(desc: &tn_BufferDesc) -> Option<ManuallyDrop<BufferDesc>> {
    let rare = desc.flags | desc.allocation | desc.priority | desc.read_only;
    if rare != 0 || desc.tag.size | desc.data_size != 0 || !desc.data.is_null() {
        return None;
    }
    let (usage, memory) = (Usage::from_bits(desc.usage)?, memory_or_none(desc.memory)?);
    let name = desc.name.data.literal(desc.name.size)?;
    let mut found = BufferDesc::new(desc.size, usage);
    found.memory = memory;
    found.alignment = desc.alignment.max(1);
    found.stride = desc.stride;
    found.name = Name::from(name);
    Some(ManuallyDrop::new(found))
}

fn clear(clear: &tn_ClearValue) -> Result<Option<ClearValue>, Failure> {
    match clear.kind {
        TN_CLEAR_NONE => Ok(None),
        TN_CLEAR_COLOR => Ok(Some(ClearValue::Color(clear.color))),
        TN_CLEAR_DEPTH_STENCIL => match u8::try_from(clear.stencil) {
            Ok(stencil) => Ok(Some(ClearValue::DepthStencil(clear.depth, stencil))),
            Err(_) => unknown("clear.stencil", clear.stencil),
        },
        kind => unknown("clear.kind", kind),
    }
}

pub(crate) fn texture_desc(desc: &tn_TextureDesc) -> Result<TextureDesc, Failure> {
    let (format, usage) = (format(desc.format)?, usage(desc.usage)?);
    let third = desc.depth_or_layers.max(1);
    let mut found = match desc.dimension {
        TN_DIMENSION_2D => TextureDesc::d2(desc.width, desc.height, format, usage).layers(third),
        TN_DIMENSION_3D => TextureDesc::d3(desc.width, desc.height, third, format, usage),
        dimension => return unknown("dimension", dimension),
    };
    found.info.mips = desc.mips.max(1);
    found.info.samples = desc.samples.max(1);
    found.info.clear = clear(&desc.clear)?;
    let formats = desc.view_formats.array(desc.view_format_count, "view_formats")?;
    found.info.view_formats = formats.iter().map(|number| self::format(*number)).collect::<Result<_, _>>()?;
    found.allocation = allocation(desc.allocation)?;
    found.priority = priority(desc.priority)?;
    found.is_evictable = desc.flags & TN_RESOURCE_EVICTABLE != 0;
    found.is_filled = desc.flags & TN_RESOURCE_FILLED != 0;
    if desc.read_only != 0 {
        found = found.read_only(state(desc.read_only)?);
    }
    found.name = desc.name.name()?;
    found.tag = desc.tag.name()?;
    Ok(if desc.flags & TN_RESOURCE_MOVABLE != 0 { found.movable() } else { found })
}

pub(crate) fn texels(texels: &tn_Texels) -> Result<TexelData<'_>, Failure> {
    let mut found = TexelData::new(texels.data.bytes(texels.size)?);
    found.row_pitch = (texels.row_pitch != 0).then_some(texels.row_pitch);
    found.rows = (texels.rows != 0).then_some(texels.rows);
    Ok(found)
}

/// The part of a texture, which a zero extent leaves to the texture.
pub(crate) fn region(region: &tn_TextureRegion, info: &TextureInfo) -> Result<TextureRegion, Failure> {
    let tn_TextureRegion { mip, layer, origin, extent, .. } = *region;
    // A mip that does not exist is refused later.
    let whole = if mip < info.mips { info.mip_extent(mip) } else { [1; 3] };
    let rest = [0, 1, 2].map(|axis| whole[axis].saturating_sub(origin[axis]));
    let extent = if extent == [0; 3] { rest } else { extent };
    Ok(TextureRegion { mip, layer, plane: plane(region.plane)?, origin, extent })
}

pub(crate) const fn subresource(number: u32) -> Subresource {
    if number == TN_ALL { Subresource::All } else { Subresource::One(number) }
}

pub(crate) fn buffer_view_desc(desc: &tn_BufferViewDesc) -> Result<BufferViewDesc, Failure> {
    let typed = || format(desc.format).map(Elements::Typed);
    let structured = Elements::Structured(desc.stride);
    let access = match desc.access {
        TN_BUFFER_CONSTANTS => BufferAccess::Constants,
        TN_BUFFER_RAW => BufferAccess::Read(Elements::Raw),
        TN_BUFFER_RAW_WRITABLE => BufferAccess::ReadWrite(Elements::Raw),
        TN_BUFFER_STRUCTURED => BufferAccess::Read(structured),
        TN_BUFFER_STRUCTURED_WRITABLE => BufferAccess::ReadWrite(structured),
        TN_BUFFER_TYPED => BufferAccess::Read(typed()?),
        TN_BUFFER_TYPED_WRITABLE => BufferAccess::ReadWrite(typed()?),
        access => return unknown("access", access),
    };
    let mut found = BufferViewDesc::new(access);
    found.offset = desc.offset;
    found.size = (desc.size != 0).then_some(desc.size);
    found.name = desc.name.name()?;
    Ok(found)
}

pub(crate) fn texture_view_desc(desc: &tn_TextureViewDesc) -> Result<TextureViewDesc, Failure> {
    let access = match desc.access {
        TN_TEXTURE_SAMPLED => TextureAccess::Sampled,
        TN_TEXTURE_STORAGE => TextureAccess::Storage,
        TN_TEXTURE_RENDER_TARGET => TextureAccess::RenderTarget,
        TN_TEXTURE_DEPTH_STENCIL => TextureAccess::DepthStencil { read_only: false },
        TN_TEXTURE_DEPTH_READ_ONLY => TextureAccess::DepthStencil { read_only: true },
        TN_TEXTURE_INPUT_ATTACHMENT => TextureAccess::InputAttachment,
        access => return unknown("access", access),
    };
    let shape = match desc.shape {
        TN_SHAPE_OF_TEXTURE => None,
        TN_SHAPE_2D => Some(ViewShape::D2),
        TN_SHAPE_2D_ARRAY => Some(ViewShape::D2Array),
        TN_SHAPE_CUBE => Some(ViewShape::Cube),
        TN_SHAPE_CUBE_ARRAY => Some(ViewShape::CubeArray),
        TN_SHAPE_3D => Some(ViewShape::D3),
        shape => return unknown("shape", shape),
    };
    let mut found = TextureViewDesc::new(access);
    found.shape = shape;
    found.format = format_or_none(desc.format)?;
    found.plane = plane(desc.plane)?;
    found.first_mip = desc.first_mip;
    found.mips = (desc.mips != 0).then_some(desc.mips);
    found.first_layer = desc.first_layer;
    found.layers = (desc.layers != 0).then_some(desc.layers);
    found.name = desc.name.name()?;
    Ok(found)
}

pub(crate) fn pressure(pressure: Pressure) -> tn_Pressure {
    match pressure {
        Pressure::Normal => TN_PRESSURE_NORMAL,
        Pressure::High => TN_PRESSURE_HIGH,
        // Also for levels that may be added.
        _ => TN_PRESSURE_CRITICAL,
    }
}

pub(crate) fn sync_point(point: &tn_SyncPoint) -> SyncPoint {
    SyncPoint::from_raw(point.serials, point.clock)
}

impl From<SyncPoint> for tn_SyncPoint {
    fn from(point: SyncPoint) -> Self {
        let (serials, clock) = point.to_raw();
        Self { serials, clock, reserved: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pointer::{In, TN_STATIC, TN_TO_NUL, Text};

    macro_rules! same {
        ($Flags:ty: $($constant:ident = $flag:ident),* $(,)?) => {{
            let known: &[(u32, $Flags)] = &[$(($constant, <$Flags>::$flag)),*];
            for (constant, flag) in known {
                assert_eq!(u32::from(flag.bits()), *constant, "{flag:?}");
            }
            let all = known.iter().fold(<$Flags>::empty(), |all, (_, flag)| all | *flag);
            assert_eq!(all, <$Flags>::all(), "a flag without a constant in C");
        }};
    }

    #[test]
    fn flags_have_the_same_bits_in_both_languages() {
        same!(
            Usage: TN_USAGE_VERTEX = VERTEX, TN_USAGE_INDEX = INDEX, TN_USAGE_CONSTANT = CONSTANT,
            TN_USAGE_SHADER_READ = SHADER_READ, TN_USAGE_UNORDERED_ACCESS = UNORDERED_ACCESS,
            TN_USAGE_INDIRECT = INDIRECT, TN_USAGE_ACCELERATION_STRUCTURE = ACCELERATION_STRUCTURE,
            TN_USAGE_COPY_SRC = COPY_SRC, TN_USAGE_COPY_DST = COPY_DST, TN_USAGE_RENDER_TARGET = RENDER_TARGET,
            TN_USAGE_DEPTH_STENCIL = DEPTH_STENCIL, TN_USAGE_PRESENT = PRESENT,
            TN_USAGE_SHADER_BINDING_TABLE = SHADER_BINDING_TABLE, TN_USAGE_INPUT_ATTACHMENT = INPUT_ATTACHMENT,
            TN_USAGE_TRANSIENT_ATTACHMENT = TRANSIENT_ATTACHMENT, TN_USAGE_SHARED = SHARED,
            TN_USAGE_CPU_WRITE = CPU_WRITE, TN_USAGE_SHARED_ACROSS_DRIVERS = SHARED_ACROSS_DRIVERS,
            TN_USAGE_ALL_QUEUES = ALL_QUEUES, TN_USAGE_EXCLUSIVE = EXCLUSIVE,
        );
        same!(
            State: TN_STATE_COMMON = COMMON, TN_STATE_VERTEX_OR_CONSTANT = VERTEX_OR_CONSTANT,
            TN_STATE_INDEX = INDEX, TN_STATE_PIXEL_SHADER = PIXEL_SHADER,
            TN_STATE_VERTEX_SHADER = VERTEX_SHADER, TN_STATE_MESH_SHADER = MESH_SHADER,
            TN_STATE_COMPUTE_SHADER = COMPUTE_SHADER, TN_STATE_RAY_TRACING_SHADER = RAY_TRACING_SHADER,
            TN_STATE_INDIRECT = INDIRECT, TN_STATE_COPY_SRC = COPY_SRC, TN_STATE_RESOLVE_SRC = RESOLVE_SRC,
            TN_STATE_DEPTH_READ = DEPTH_READ, TN_STATE_ACCELERATION_STRUCTURE = ACCELERATION_STRUCTURE,
            TN_STATE_UNORDERED_ACCESS = UNORDERED_ACCESS,
            TN_STATE_MESH_UNORDERED_ACCESS = MESH_UNORDERED_ACCESS,
            TN_STATE_COMPUTE_UNORDERED_ACCESS = COMPUTE_UNORDERED_ACCESS,
            TN_STATE_RAY_TRACING_UNORDERED_ACCESS = RAY_TRACING_UNORDERED_ACCESS,
            TN_STATE_RENDER_TARGET = RENDER_TARGET, TN_STATE_DEPTH_WRITE = DEPTH_WRITE,
            TN_STATE_COPY_DST = COPY_DST, TN_STATE_RESOLVE_DST = RESOLVE_DST, TN_STATE_PRESENT = PRESENT,
        );
        same!(
            AllocationFlags: TN_ALLOCATION_WITHIN_BUDGET = WITHIN_BUDGET,
            TN_ALLOCATION_DEVICE_LOCAL_ONLY = DEVICE_LOCAL_ONLY, TN_ALLOCATION_NEVER_ALLOCATE = NEVER_ALLOCATE,
            TN_ALLOCATION_NEVER_WAIT = NEVER_WAIT,
        );
    }

    /// The numbers of formats are positions in `Format::ALL`, and must stay when formats are added.
    #[test]
    fn formats_have_the_same_names_in_both_languages() {
        let in_c: Vec<(String, usize)> = include_str!("types.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("pub const TN_FORMAT_")?.split_once(": tn_Format = "))
            .map(|(name, number)| {
                let name = name.replace('_', "").to_lowercase();
                (name, number.trim_end_matches(';').parse().unwrap_or(usize::MAX))
            })
            .collect();
        assert_eq!(in_c.first(), Some(&("unknown".to_owned(), 0)));
        assert_eq!(in_c.len(), Format::ALL.len() + 1);
        for ((name, number), format) in in_c.iter().skip(1).zip(Format::ALL) {
            assert_eq!(*name, format!("{format:?}").to_lowercase());
            assert_eq!(Format::ALL.get(number - 1), Some(format));
        }
    }

    fn rock() -> tn_BufferDesc {
        tn_BufferDesc {
            struct_size: size_of::<tn_BufferDesc>() as u32,
            flags: 0,
            next: In::NULL,
            size: 4096,
            usage: TN_USAGE_VERTEX,
            memory: TN_MEMORY_UPLOAD,
            alignment: 0,
            stride: 12,
            allocation: 0,
            priority: TN_PRIORITY_BY_USAGE,
            read_only: 0,
            name: tn_Str { data: Text::of("rock"), size: 4 | TN_STATIC },
            tag: tn_Str::empty(),
            data: In::NULL,
            data_size: 0,
        }
    }

    #[test]
    fn the_usual_description_is_the_same_as_by_the_long_way() {
        for (length, alignment) in [(4, 0), (0, 256), (3, 1)] {
            let name = tn_Str { size: length | TN_STATIC, ..rock().name };
            let desc = tn_BufferDesc { alignment, name, ..rock() };
            let found = usual_buffer_desc(&desc).map(|found| format!("{:?}", *found));
            assert!(found.is_some());
            assert_eq!(found, buffer_desc(&desc).ok().map(|found| format!("{found:?}")));
        }
    }

    #[test]
    fn rare_and_invalid_descriptions_go_the_long_way() {
        let copied = tn_Str { size: 4, ..rock().name };
        let others = [
            tn_BufferDesc { flags: TN_RESOURCE_MOVABLE, ..rock() },
            tn_BufferDesc { usage: 1 << 31, ..rock() },
            tn_BufferDesc { memory: 4, ..rock() },
            tn_BufferDesc { allocation: TN_ALLOCATION_NEVER_WAIT, ..rock() },
            tn_BufferDesc { priority: 4, ..rock() },
            tn_BufferDesc { read_only: TN_STATE_VERTEX_OR_CONSTANT, ..rock() },
            tn_BufferDesc { name: copied, ..rock() },
            tn_BufferDesc { name: tn_Str { size: TN_TO_NUL, ..copied }, ..rock() },
            tn_BufferDesc { tag: copied, ..rock() },
            tn_BufferDesc { data_size: 1, ..rock() },
        ];
        assert!(others.iter().all(|other| usual_buffer_desc(other).is_none()));
    }
}
