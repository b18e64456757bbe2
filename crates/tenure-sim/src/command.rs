//! Commands as recorded.

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{BufferLayout, QueueTransfer, State, Subresource, TextureRegion, Usage};

use crate::descriptor::TableState;
use crate::layout::Span;
use crate::resource::ResourceState;

/// One command. Ranges and regions were checked when it was recorded.
pub(crate) enum Command {
    Transition {
        resource: Arc<ResourceState>,
        subresource: Subresource,
        before: State,
        after: State,
        transfer: Option<QueueTransfer>,
    },
    Unordered {
        resource: Arc<ResourceState>,
    },
    Aliasing {
        before: Option<Arc<ResourceState>>,
        after: Arc<ResourceState>,
    },
    CopyBuffer {
        src: Arc<ResourceState>,
        src_offset: u64,
        dst: Arc<ResourceState>,
        dst_offset: u64,
        size: u64,
    },
    CopyTexture {
        buffer: Arc<ResourceState>,
        layout: BufferLayout,
        texture: Arc<ResourceState>,
        region: TextureRegion,
        to_texture: bool,
    },
    ClearTexture {
        resource: Arc<ResourceState>,
        subresource: Subresource,
        /// Repeated; its length divides the size of a block of texels.
        pattern: SmallVec<[u8; 16]>,
    },
    FillBuffer {
        resource: Arc<ResourceState>,
        offset: u64,
        size: u64,
        byte: u8,
    },
    Use {
        resource: Arc<ResourceState>,
        span: Span,
        state: State,
    },
    UseDescriptor {
        table: Arc<TableState>,
        slot: u32,
        state: State,
    },
    Discard {
        resource: Arc<ResourceState>,
    },
    ExpectBytes {
        resource: Arc<ResourceState>,
        offset: u64,
        bytes: Box<[u8]>,
    },
}

impl Command {
    /// The name of the method that records it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Transition { .. } => "barriers: transition",
            Self::Unordered { .. } => "barriers: unordered",
            Self::Aliasing { .. } => "barriers: aliasing",
            Self::CopyBuffer { .. } => "copy_buffer",
            Self::CopyTexture { to_texture: true, .. } => "copy_buffer_to_texture",
            Self::CopyTexture { .. } => "copy_texture_to_buffer",
            Self::ClearTexture { .. } => "clear_texture",
            Self::FillBuffer { .. } => "fill_buffer",
            Self::Use { resource, .. } if resource.is_buffer() => "use_buffer",
            Self::Use { .. } => "use_texture",
            Self::UseDescriptor { .. } => "use_descriptor",
            Self::Discard { .. } => "discard",
            Self::ExpectBytes { .. } => "expect_bytes",
        }
    }

    /// Calls `visit` with each resource that it uses. A barrier's `before` is only named.
    pub(crate) fn resources(&self, mut visit: impl FnMut(&Arc<ResourceState>)) {
        match self {
            Self::Transition { resource, .. }
            | Self::Unordered { resource }
            | Self::ClearTexture { resource, .. }
            | Self::FillBuffer { resource, .. }
            | Self::Use { resource, .. }
            | Self::Discard { resource }
            | Self::ExpectBytes { resource, .. } => visit(resource),
            Self::Aliasing { after, .. } => visit(after),
            Self::CopyBuffer { src, dst, .. } => {
                visit(src);
                visit(dst);
            }
            Self::CopyTexture { buffer, texture, .. } => {
                visit(buffer);
                visit(texture);
            }
            Self::UseDescriptor { table, slot, .. } => {
                if let Some(resource) = table.get(*slot) {
                    visit(&resource);
                }
            }
        }
    }
}

/// How clears and fills touch a resource: by the state that its API would want for them.
pub(crate) fn clear_state(resource: &ResourceState) -> State {
    const BY_USAGE: [(Usage, State); 4] = [
        (Usage::RENDER_TARGET, State::RENDER_TARGET),
        (Usage::DEPTH_STENCIL, State::DEPTH_WRITE),
        (Usage::COPY_DST, State::COPY_DST),
        (Usage::UNORDERED_ACCESS, State::UNORDERED_ACCESS),
    ];
    let usage = resource.desc.usage();
    BY_USAGE.iter().find(|(bit, _)| usage.contains(*bit)).map_or(State::COPY_DST, |(_, state)| *state)
}

/// The bytes of a buffer that a copy to or from `region` of `texture` touches.
pub(crate) fn copied_rows(texture: &ResourceState, region: &TextureRegion, layout: BufferLayout) -> Span {
    let Some(info) = texture.layout.texture() else { return Span::Bytes { start: 0, end: 0 } };
    let block = info.format.block();
    let across = u64::from(region.extent[0].div_ceil(block.width));
    Span::Rows {
        start: layout.offset,
        row_bytes: across * u64::from(block.bytes) * u64::from(info.samples),
        pitch: layout.row_pitch,
        rows: u64::from(region.extent[1].div_ceil(block.height)),
        slice_pitch: layout.row_pitch.saturating_mul(u64::from(layout.rows)),
        slices: u64::from(region.extent[2]),
    }
}

impl Command {
    /// Calls `visit` with each part of a resource that it touches and whether it writes there.
    pub(crate) fn accesses(&self, mut visit: impl FnMut(&Arc<ResourceState>, Span, bool)) {
        match self {
            Self::CopyBuffer { src, src_offset, dst, dst_offset, size } => {
                visit(src, Span::Bytes { start: *src_offset, end: src_offset + size }, false);
                visit(dst, Span::Bytes { start: *dst_offset, end: dst_offset + size }, true);
            }
            Self::CopyTexture { buffer, layout, texture, region, to_texture } => {
                visit(buffer, copied_rows(texture, region, *layout), !to_texture);
                visit(texture, Span::Region(*region), *to_texture);
            }
            Self::ClearTexture { resource, subresource, .. } => {
                visit(resource, Span::Subresource(*subresource), true);
            }
            Self::FillBuffer { resource, offset, size, .. } => {
                visit(resource, Span::Bytes { start: *offset, end: offset + size }, true);
            }
            Self::Use { resource, span, state } => visit(resource, *span, state.is_write()),
            Self::UseDescriptor { table, slot, state } => {
                if let Some(resource) = table.get(*slot) {
                    visit(&resource, Span::Subresource(Subresource::All), state.is_write());
                }
            }
            Self::ExpectBytes { resource, offset, bytes } => {
                visit(resource, Span::Bytes { start: *offset, end: offset + bytes.len() as u64 }, false);
            }
            Self::Transition { .. }
            | Self::Unordered { .. }
            | Self::Aliasing { .. }
            | Self::Discard { .. } => {}
        }
    }
}
