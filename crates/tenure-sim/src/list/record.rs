//! Checks of individual commands, while recording.

use std::ops::Range;
use std::sync::Arc;

use tenure_core::device::{
    BufferLayout, CallRule, DescriptorKind, DeviceError, Features, Properties, QueueKind, State, Subresource,
    TextureInfo, TextureRegion, Usage, check,
};

use crate::command::{Command, copied_rows};
use crate::descriptors::DescriptorHeap;
use crate::layout::Span;
use crate::resource::Resource;
use crate::shared::Shared;

/// The end of a range inside `limit` bytes.
pub(crate) fn inside(offset: u64, size: u64, limit: u64) -> Result<u64, DeviceError> {
    check::range(CallRule::InsideResource, offset, size, limit).map(|()| offset + size)
}

pub(crate) fn buffer_span(resource: &Resource, offset: u64, size: u64) -> Result<Span, DeviceError> {
    if !resource.state.is_buffer() {
        return Err(DeviceError::invalid_value(CallRule::IsBuffer, resource.state.label.id));
    }
    let end = inside(offset, size, resource.state.layout.bytes())?;
    Ok(Span::Bytes { start: offset, end })
}

pub(crate) fn subresource(resource: &Resource, which: Subresource) -> Result<(), DeviceError> {
    check::subresource(&resource.state.desc, which)
}

fn texture(resource: &Resource) -> Result<&TextureInfo, DeviceError> {
    let info = resource.state.layout.texture();
    info.ok_or_else(|| DeviceError::invalid_value(CallRule::IsTexture, resource.state.label.id))
}

pub(crate) fn texture_subresource(resource: &Resource, which: Subresource) -> Result<(), DeviceError> {
    texture(resource)?;
    subresource(resource, which)
}

pub(crate) fn has_shaders(kind: QueueKind) -> Result<(), DeviceError> {
    if kind == QueueKind::Copy {
        return Err(DeviceError::broken_rule("a copy queue has no shaders"));
    }
    Ok(())
}

/// Checks shader-visible descriptor heaps for a list: their kinds, and their visibility.
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
            return Err(DeviceError::invalid_value(
                "a heap that is set is of its kind, and visible",
                heap.label.id,
            ));
        }
    }
    let states = pairs.map(|(heap, _)| heap.map(|heap| Arc::clone(&heap.state)));
    Ok(Command::SetDescriptorHeaps(states))
}

pub(crate) fn clear(resource: &Resource, which: Subresource, texel: &[u8]) -> Result<(), DeviceError> {
    texture_subresource(resource, which)?;
    let block = u64::from(texture(resource)?.format.block().bytes);
    if texel.len() != 1 && texel.len() as u64 != block {
        let bytes = texel.len() as u64;
        return Err(DeviceError::invalid_call("a clear value is one byte or one block", bytes, block));
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
    shared: &Shared,
    (src, src_offset): (&Resource, u64),
    (dst, dst_offset): (&Resource, u64),
    size: u64,
) -> Result<Command, DeviceError> {
    buffer_span(src, src_offset, size)?;
    buffer_span(dst, dst_offset, size)?;
    if Arc::ptr_eq(&src.state, &dst.state) {
        // A legacy state is a source or a destination.
        if shared.promotes() {
            return Err(DeviceError::broken_rule("no buffer is copied to itself (legacy states)"));
        }
        check::copy_within(src_offset, dst_offset, size)?;
    }
    Ok(Command::CopyBuffer {
        src: Arc::clone(&src.state),
        src_offset,
        dst: Arc::clone(&dst.state),
        dst_offset,
        size,
    })
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
    let alignments = (properties.copy_offset_alignment.max(1), properties.copy_pitch_alignment.max(1));
    check::multiple(CallRule::CopyOffsetAligned, layout.offset, alignments.0)?;
    check::multiple(CallRule::RowPitchAligned, pitch, alignments.1)?;
    if pitch < row_bytes {
        return Err(DeviceError::invalid_call(CallRule::RowsHoldTexels, pitch, row_bytes));
    }
    if slices > 1 && u64::from(layout.rows) < down {
        return Err(DeviceError::invalid_call(CallRule::RowsHoldTexels, u64::from(layout.rows), down));
    }
    let last = slice_pitch
        .checked_mul(slices - 1)
        .and_then(|slices| slices.checked_add(pitch.checked_mul(down - 1)?))
        .and_then(|last| last.checked_add(start));
    inside(last.unwrap_or(u64::MAX), row_bytes, limit).map(drop)
}

pub(crate) fn copy_texture(
    (shared, kind): (&Shared, QueueKind),
    (buffer, layout): (&Resource, BufferLayout),
    (image, region): (&Resource, TextureRegion),
    to_texture: bool,
) -> Result<Command, DeviceError> {
    if !buffer.state.is_buffer() {
        return Err(DeviceError::invalid_value(CallRule::IsBuffer, buffer.state.label.id));
    }
    let info = texture(image)?;
    region.check(info)?;
    if to_texture {
        check::copy_to_plane(shared.properties.features, region.plane)?;
    }
    if shared.is_d3d12() {
        let is_whole = region.origin == [0; 3] && region.extent == info.mip_extent(region.mip);
        if info.format.is_depth() && !is_whole {
            return Err(DeviceError::broken_rule("depth is copied a whole subresource at a time"));
        }
    } else {
        check::depth_copies(info.format, kind == QueueKind::Graphics)?;
    }
    if kind == QueueKind::Copy {
        check::copy_steps(info, &region, shared.copy_steps)?;
    }
    let rows = copied_rows(&image.state, &region, layout);
    layout_fits(&shared.properties, layout, &rows, buffer.state.layout.bytes())?;
    Ok(Command::CopyTexture {
        buffer: Arc::clone(&buffer.state),
        layout,
        texture: Arc::clone(&image.state),
        region,
        to_texture,
    })
}

pub(crate) fn generate_mip(
    (shared, kind): (&Shared, QueueKind),
    resource: &Resource,
    mip: u32,
    layers: Range<u32>,
) -> Result<Command, DeviceError> {
    let info = texture(resource)?;
    check::usage(info.usage, Usage::COPY_SRC | Usage::COPY_DST)?;
    check::mip_generation(info, (mip, &layers), kind, shared.generates_mips(info.format))?;
    Ok(Command::GenerateMip { texture: Arc::clone(&resource.state), mip, layers })
}

pub(crate) fn copy_subresources(
    (features, kind): (Features, QueueKind),
    src: &Resource,
    dst: &Resource,
    which: Subresource,
) -> Result<Command, DeviceError> {
    let infos = (texture(src)?, texture(dst)?);
    if Arc::ptr_eq(&src.state, &dst.state) {
        return Err(DeviceError::broken_rule(CallRule::CopyToAnother));
    }
    check::texture_copy(infos, which, kind)?;
    check::copy_to_layers(features, infos.1, which)?;
    Ok(Command::CopySubresources {
        src: Arc::clone(&src.state),
        dst: Arc::clone(&dst.state),
        subresource: which,
    })
}
