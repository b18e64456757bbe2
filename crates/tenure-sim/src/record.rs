//! What is wrong with a command by itself: the checks made while recording.

use std::sync::Arc;

use tenure_core::device::{
    BufferLayout, DescriptorKind, DeviceError, Properties, QueueKind, State, Subresource, TextureInfo,
    TextureRegion,
};

use crate::command::{Command, copied_rows};
use crate::descriptors::DescriptorHeap;
use crate::layout::Span;
use crate::resource::Resource;

pub(crate) fn invalid(rule: &'static str, value: u64, limit: u64) -> DeviceError {
    DeviceError::InvalidCall { rule, value, limit }
}

/// The end of a range inside `limit` bytes.
pub(crate) fn inside(offset: u64, size: u64, limit: u64) -> Result<u64, DeviceError> {
    match offset.checked_add(size) {
        Some(end) if end <= limit => Ok(end),
        end => Err(invalid("the range is inside the resource", end.unwrap_or(u64::MAX), limit)),
    }
}

pub(crate) fn buffer_span(resource: &Resource, offset: u64, size: u64) -> Result<Span, DeviceError> {
    if !resource.state.is_buffer() {
        return Err(invalid("the resource is a buffer", resource.state.label.id, 0));
    }
    let end = inside(offset, size, resource.state.layout.bytes())?;
    Ok(Span::Bytes { start: offset, end })
}

pub(crate) fn subresource(resource: &Resource, which: Subresource) -> Result<(), DeviceError> {
    let count = resource.state.desc.subresources();
    match which {
        Subresource::One(index) if index >= count => {
            Err(invalid("the subresource exists", u64::from(index), u64::from(count)))
        }
        _ => Ok(()),
    }
}

fn texture(resource: &Resource) -> Result<&TextureInfo, DeviceError> {
    let info = resource.state.layout.texture();
    info.ok_or_else(|| invalid("the resource is a texture", resource.state.label.id, 0))
}

pub(crate) fn texture_subresource(resource: &Resource, which: Subresource) -> Result<(), DeviceError> {
    texture(resource)?;
    subresource(resource, which)
}

/// A queue knows only some states, and write states stand alone.
pub(crate) fn state_on(kind: QueueKind, state: State) -> Result<(), DeviceError> {
    if !state.is_valid() {
        return Err(DeviceError::write_state_alone(state));
    }
    let allowed = State::allowed_on(kind);
    if !allowed.contains(state) {
        let rule = "the queue must know the state";
        return Err(DeviceError::InvalidState { rule, state, allowed });
    }
    Ok(())
}

pub(crate) fn has_shaders(kind: QueueKind) -> Result<(), DeviceError> {
    if kind == QueueKind::Copy {
        return Err(invalid("a copy queue has no shaders", 0, 1));
    }
    Ok(())
}

/// Heaps that shaders are to find descriptors in: of the right kinds, and visible.
pub(crate) fn descriptor_heaps(
    kind: QueueKind,
    resources: Option<&DescriptorHeap>,
    samplers: Option<&DescriptorHeap>,
) -> Result<Command, DeviceError> {
    has_shaders(kind)?;
    let pairs = [(resources, DescriptorKind::Resource), (samplers, DescriptorKind::Sampler)];
    for (heap, kind) in pairs {
        let Some(heap) = heap.map(|heap| &heap.state) else { continue };
        if heap.kind() != kind || !heap.desc.shader_visible {
            return Err(invalid("a heap that is set is of its kind, and visible", heap.label.id, 0));
        }
    }
    let states = pairs.map(|(heap, _)| heap.map(|heap| Arc::clone(&heap.state)));
    Ok(Command::SetDescriptorHeaps(states))
}

pub(crate) fn clear(resource: &Resource, which: Subresource, texel: &[u8]) -> Result<(), DeviceError> {
    texture_subresource(resource, which)?;
    let block = u64::from(texture(resource)?.format.block().bytes);
    if texel.len() != 1 && texel.len() as u64 != block {
        return Err(invalid("a clear value is one byte or one block", texel.len() as u64, block));
    }
    Ok(())
}

/// The state that subresources are discarded in.
pub(crate) fn discarded(
    kind: QueueKind,
    resource: &Resource,
    which: Subresource,
) -> Result<State, DeviceError> {
    texture_subresource(resource, which)?;
    let usage = resource.state.desc.usage();
    State::to_discard(usage, kind).ok_or_else(|| DeviceError::cannot_discard(usage))
}

pub(crate) fn copy_buffer(
    (src, src_offset): (&Resource, u64),
    (dst, dst_offset): (&Resource, u64),
    size: u64,
) -> Result<Command, DeviceError> {
    buffer_span(src, src_offset, size)?;
    buffer_span(dst, dst_offset, size)?;
    let apart = src_offset.abs_diff(dst_offset);
    if Arc::ptr_eq(&src.state, &dst.state) && apart < size {
        return Err(invalid("a copy within a buffer does not overlap itself", apart, size));
    }
    Ok(Command::CopyBuffer {
        src: Arc::clone(&src.state),
        src_offset,
        dst: Arc::clone(&dst.state),
        dst_offset,
        size,
    })
}

fn region_inside(info: &TextureInfo, region: &TextureRegion) -> Result<(), DeviceError> {
    for (rule, value, limit) in
        [("the mip exists", region.mip, info.mips), ("the layer exists", region.layer, info.layers())]
    {
        if value >= limit {
            return Err(invalid(rule, u64::from(value), u64::from(limit)));
        }
    }
    if info.samples > 1 {
        return Err(invalid("buffers and multisampled textures are not copied", u64::from(info.samples), 1));
    }
    let block = info.format.block();
    let size = info.mip_extent(region.mip);
    for (axis, step) in [block.width, block.height, 1].into_iter().enumerate() {
        let (origin, extent, size) = (region.origin[axis], region.extent[axis], size[axis]);
        let end = u64::from(origin) + u64::from(extent);
        if extent == 0 || end > u64::from(size) {
            return Err(invalid("the region is inside the texture", end, u64::from(size)));
        }
        let whole = extent.is_multiple_of(step) || end == u64::from(size);
        if !origin.is_multiple_of(step) || !whole {
            return Err(invalid("the region is made of whole blocks", u64::from(origin), u64::from(step)));
        }
    }
    Ok(())
}

fn layout_fits(
    properties: &Properties,
    layout: BufferLayout,
    rows: &Span,
    limit: u64,
) -> Result<(), DeviceError> {
    let Span::Rows { start, row_bytes, pitch, rows: down, slice_pitch, slices } = *rows else {
        return Ok(());
    };
    let aligned = |value: u64, alignment: u64| value.is_multiple_of(alignment.max(1));
    if !aligned(layout.offset, properties.copy_offset_alignment) {
        return Err(invalid("the copy's offset is aligned", layout.offset, properties.copy_offset_alignment));
    }
    if !aligned(pitch, properties.copy_pitch_alignment) {
        return Err(invalid("the row pitch is aligned", pitch, properties.copy_pitch_alignment));
    }
    if pitch < row_bytes {
        return Err(invalid("the row pitch holds a row", pitch, row_bytes));
    }
    if slices > 1 && u64::from(layout.rows) < down {
        return Err(invalid("the slice pitch holds a slice", u64::from(layout.rows), down));
    }
    let last = slice_pitch
        .checked_mul(slices - 1)
        .and_then(|slices| slices.checked_add(pitch.checked_mul(down - 1)?))
        .and_then(|last| last.checked_add(start));
    inside(last.unwrap_or(u64::MAX), row_bytes, limit).map(drop)
}

pub(crate) fn copy_texture(
    properties: &Properties,
    (buffer, layout): (&Resource, BufferLayout),
    (image, region): (&Resource, TextureRegion),
    to_texture: bool,
) -> Result<Command, DeviceError> {
    if !buffer.state.is_buffer() {
        return Err(invalid("the resource is a buffer", buffer.state.label.id, 0));
    }
    region_inside(texture(image)?, &region)?;
    let rows = copied_rows(&image.state, &region, layout);
    layout_fits(properties, layout, &rows, buffer.state.layout.bytes())?;
    Ok(Command::CopyTexture {
        buffer: Arc::clone(&buffer.state),
        layout,
        texture: Arc::clone(&image.state),
        region,
        to_texture,
    })
}
