//! Commands as recorded.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{BufferLayout, QueueTransfer, State, Subresource, TextureRegion, Usage};

use crate::descriptors::{At, DescriptorHeapState, What};
use crate::layout::Span;
use crate::memory::HeapState;
use crate::object::Label;
use crate::queries::{QueryCommand, QueryStep};
use crate::resource::ResourceState;
use crate::structures::{StructureState, StructureStep};

/// The size of a stored sample: four words.
pub(crate) const SAMPLE_BYTES: u64 = 16;

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
        from: State,
        to: State,
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
    /// From one texture to the same subresources of another.
    CopySubresources {
        src: Arc<ResourceState>,
        dst: Arc<ResourceState>,
        subresource: Subresource,
    },
    /// From the next larger mip.
    GenerateMip {
        texture: Arc<ResourceState>,
        mip: u32,
        layers: Range<u32>,
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
    /// Later copies may read bytes that were never written.
    KeepUnwritten,
    WriteMarker {
        word: u32,
        value: u32,
    },
    /// Makes writes in these states visible to the CPU.
    MakeVisible {
        written: State,
    },
    /// Resources and samplers.
    SetDescriptorHeaps([Option<Arc<DescriptorHeapState>>; 2]),
    UseDescriptor {
        at: At,
        state: State,
    },
    ReadDescriptor {
        at: At,
        state: State,
        out: Arc<ResourceState>,
        offset: u64,
        size: u64,
    },
    SampleDescriptor {
        sampler: At,
        texture: At,
        state: State,
        out: Arc<ResourceState>,
        offset: u64,
    },
    Discard {
        resource: Arc<ResourceState>,
        subresource: Subresource,
        state: State,
    },
    ExpectBytes {
        resource: Arc<ResourceState>,
        offset: u64,
        bytes: Box<[u8]>,
    },
    Query(QueryCommand),
    Structure(StructureStep),
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
            Self::CopySubresources { .. } => "copy_texture",
            Self::GenerateMip { .. } => "generate_mip",
            Self::ClearTexture { .. } => "clear_texture",
            Self::FillBuffer { .. } => "fill_buffer",
            Self::Use { resource, .. } if resource.is_buffer() => "use_buffer",
            Self::Use { .. } => "use_texture",
            Self::KeepUnwritten => "keep_unwritten",
            Self::WriteMarker { .. } => "write_marker",
            Self::MakeVisible { .. } => "make_visible_to_cpu",
            Self::SetDescriptorHeaps(_) => "set_descriptor_heaps",
            Self::UseDescriptor { .. } => "use_descriptor",
            Self::ReadDescriptor { .. } => "read_descriptor",
            Self::SampleDescriptor { .. } => "sample_descriptor",
            Self::Discard { .. } => "discard",
            Self::ExpectBytes { .. } => "expect_bytes",
            Self::Query(query) => query.name(),
            Self::Structure(step) => step.name(),
        }
    }

    /// Calls `visit` with each resource that it uses. A barrier's `before` is only a reference.
    pub(crate) fn resources(&self, mut visit: impl FnMut(&Arc<ResourceState>)) {
        match self {
            Self::Transition { resource, .. }
            | Self::Unordered { resource }
            | Self::Aliasing { after: resource, .. } => visit(resource),
            _ => self.own_accesses(|resource, _, _| visit(resource)),
        }
        self.structures(|structure| visit(structure.resource()));
        self.descriptors(|at| {
            if let Some(resource) = at.what().as_ref().and_then(What::resource) {
                visit(resource);
            }
        });
    }

    /// Calls `visit` with each acceleration structure that it uses.
    pub(crate) fn structures(&self, mut visit: impl FnMut(&Arc<StructureState>)) {
        match self {
            Self::Structure(step) => step.structures(visit),
            Self::Query(QueryCommand { step: QueryStep::CompactedSize(structure), .. }) => visit(structure),
            _ => {}
        }
    }

    /// Calls `visit` with each descriptor that it uses.
    pub(crate) fn descriptors(&self, mut visit: impl FnMut(&At)) {
        match self {
            Self::UseDescriptor { at, .. } | Self::ReadDescriptor { at, .. } => visit(at),
            Self::SampleDescriptor { sampler, texture, .. } => {
                visit(sampler);
                visit(texture);
            }
            _ => {}
        }
    }

    /// Calls `visit` with each accessed part of a resource, and whether it writes there.
    pub(crate) fn accesses(&self, mut visit: impl FnMut(&Arc<ResourceState>, Span, bool)) {
        self.own_accesses(&mut visit);
        match self {
            Self::UseDescriptor { at, state } | Self::SampleDescriptor { texture: at, state, .. } => {
                if let Some(what) = at.what() {
                    what.parts(|resource, span| visit(resource, span, state.is_write()));
                }
            }
            Self::ReadDescriptor { at, state, size, .. } => {
                let what = at.what();
                if let Some((resource, span)) = what.as_ref().and_then(|what| what.beginning(*size)) {
                    visit(resource, span, state.is_write());
                }
            }
            _ => {}
        }
    }

    /// As [`accesses`](Self::accesses), without the accesses through descriptors.
    fn own_accesses(&self, mut visit: impl FnMut(&Arc<ResourceState>, Span, bool)) {
        let bytes = |start: u64, size: u64| Span::Bytes { start, end: start + size };
        match self {
            Self::CopyBuffer { src, src_offset, dst, dst_offset, size } => {
                visit(src, bytes(*src_offset, *size), false);
                visit(dst, bytes(*dst_offset, *size), true);
            }
            Self::CopyTexture { buffer, layout, texture, region, to_texture } => {
                visit(buffer, copied_rows(texture, region, *layout), !to_texture);
                visit(texture, Span::Region(*region), *to_texture);
            }
            Self::CopySubresources { src, dst, subresource } => {
                visit(src, Span::Subresource(*subresource), false);
                visit(dst, Span::Subresource(*subresource), true);
            }
            Self::GenerateMip { texture, mip, layers } => {
                for (from, to) in generated(texture, *mip, layers) {
                    visit(texture, from, false);
                    visit(texture, to, true);
                }
            }
            Self::ClearTexture { resource, subresource, .. }
            | Self::Discard { resource, subresource, .. } => {
                visit(resource, Span::Subresource(*subresource), true);
            }
            Self::FillBuffer { resource: out, offset, size, .. }
            | Self::ReadDescriptor { out, offset, size, .. } => visit(out, bytes(*offset, *size), true),
            Self::Use { resource, span, state } => visit(resource, *span, state.is_write()),
            Self::SampleDescriptor { out, offset, .. } => visit(out, bytes(*offset, SAMPLE_BYTES), true),
            Self::ExpectBytes { resource, offset, bytes: expected } => {
                visit(resource, bytes(*offset, expected.len() as u64), false);
            }
            // No acceleration structure is in memory that the CPU maps.
            Self::Query(_) | Self::Structure(_) => {
                let written = match self {
                    Self::Query(query) => query.written(),
                    Self::Structure(step) => step.scratch(),
                    _ => None,
                };
                if let Some((resource, span)) = written {
                    visit(resource, span, true);
                }
            }
            Self::Transition { .. }
            | Self::Unordered { .. }
            | Self::Aliasing { .. }
            | Self::KeepUnwritten
            | Self::WriteMarker { .. }
            | Self::MakeVisible { .. }
            | Self::SetDescriptorHeaps(_)
            | Self::UseDescriptor { .. } => {}
        }
    }

    /// Calls `visit` with each part of a resource that it reads or writes, including acceleration structures.
    /// Barriers are not included.
    pub(crate) fn touches(&self, mut visit: impl FnMut(&Arc<ResourceState>, Span)) {
        self.accesses(|resource, span, _| visit(resource, span));
        self.structures(|structure| visit(structure.resource(), structure.span()));
        self.descriptors(|at| {
            if let Some(What::Structure(structure)) = at.what() {
                visit(structure.resource(), structure.span());
            }
        });
    }
}

/// The state in which clears and fills access a resource, as its API would require.
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

/// The larger mip and the filled mip of each layer.
pub(crate) fn generated(
    texture: &ResourceState,
    mip: u32,
    layers: &Range<u32>,
) -> impl Iterator<Item = (Span, Span)> + use<> {
    let mips = texture.layout.texture().map_or(1, |info| info.mips);
    layers.clone().map(move |layer| {
        let part = |mip| Span::Subresource(Subresource::One(layer * mips + mip));
        (part(mip - 1), part(mip))
    })
}

/// The bytes of a buffer that a copy to or from `region` of `texture` accesses.
pub(crate) fn copied_rows(texture: &ResourceState, region: &TextureRegion, layout: BufferLayout) -> Span {
    let Some(info) = texture.layout.texture() else { return Span::Bytes { start: 0, end: 0 } };
    let block = region.block(info.format);
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

/// The content of a list at submission.
pub(crate) struct Recorded {
    pub(crate) label: Arc<Label>,
    pub(crate) commands: Arc<Vec<Command>>,
}

/// The new mapping of tiles.
pub(crate) enum TileOrigin {
    Heap { heap: Arc<HeapState>, offset: u64 },
    Unmapped,
    CopyOf { resource: Arc<ResourceState>, tiles: Vec<u64> },
}

/// A change of tile mappings, checked.
pub(crate) struct TileChange {
    pub(crate) resource: Arc<ResourceState>,
    pub(crate) tiles: Vec<u64>,
    pub(crate) origin: TileOrigin,
}
