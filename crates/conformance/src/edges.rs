//! The first and the last bytes of a resource of any kind.

use tenure_core::device::{CommandList as _, Device};
use tenure_core::{
    Buffer, BufferLayout, LocationKind, Plane, Queue, Recording, Reserved, State, Subresource, Texture,
    TextureInfo, TextureRegion, TileRegion,
};

use crate::permit;
use crate::texels::rows;

/// A resource of any kind.
pub(crate) enum Thing<D: Device> {
    Buffer(Buffer<D>),
    Texture(Texture<D>),
    /// A reserved buffer, with its size in bytes.
    SparseBuffer(Reserved<D>, u64),
    SparseTexture(Reserved<D>, TextureInfo),
}

/// The kind of a resource, for messages and counts.
pub(crate) type Kind = (LocationKind, &'static str);

/// The bytes that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    First,
    Last,
}

pub(crate) const EDGES: [Edge; 2] = [Edge::First, Edge::Last];

/// The location of the bytes of an edge.
#[derive(Clone, Copy)]
enum Span {
    Bytes { offset: u64, size: u64 },
    Texel { region: TextureRegion, layout: BufferLayout, size: u64 },
}

fn byte_span(size: u64, edge: Edge) -> Span {
    let count = (size / 2).clamp(1, 24);
    let offset = if edge == Edge::First { 0 } else { size - count };
    Span::Bytes { offset, size: count }
}

/// The first texel of the first subresource, or the last of the last.
fn texel_span(info: &TextureInfo, edge: Edge, pitch: u64) -> Span {
    let (mip, layer) = if edge == Edge::First { (0, 0) } else { (info.mips - 1, info.layers() - 1) };
    let origin = match edge {
        Edge::First => [0; 3],
        Edge::Last => info.mip_extent(mip).map(|side| side - 1),
    };
    let region = TextureRegion { mip, layer, plane: Plane::First, origin, extent: [1; 3] };
    let (rows, size) = rows(info, region.extent);
    Span::Texel {
        region,
        layout: BufferLayout { offset: 0, row_pitch: size.next_multiple_of(pitch), rows },
        size,
    }
}

impl<D: Device> Thing<D> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Buffer(buffer) => (buffer.location(), "buffer"),
            Self::Texture(texture) => (texture.location(), "texture"),
            Self::SparseBuffer(..) => (LocationKind::Reserved, "buffer"),
            Self::SparseTexture(..) => (LocationKind::Reserved, "texture"),
        }
    }

    fn span(&self, edge: Edge, pitch: u64) -> Span {
        match self {
            Self::Buffer(buffer) => byte_span(buffer.size(), edge),
            Self::SparseBuffer(_, size) => byte_span(*size, edge),
            Self::Texture(texture) => texel_span(texture.info(), edge, pitch),
            Self::SparseTexture(_, info) => texel_span(info, edge, pitch),
        }
    }

    /// Bytes of an edge.
    pub(crate) fn edge_size(&self, edge: Edge) -> u64 {
        match self.span(edge, 1) {
            Span::Bytes { size, .. } | Span::Texel { size, .. } => size,
        }
    }

    /// The subresource that a copy of the span uses.
    fn part(&self, span: Span) -> Subresource {
        match (self, span) {
            (Self::SparseTexture(_, info), Span::Texel { region, .. }) => {
                Subresource::One(region.mip + region.layer * info.mips)
            }
            _ => Subresource::All,
        }
    }

    /// Copies an edge from the beginning of a buffer.
    pub(crate) fn fill(&self, recording: &mut Recording<D>, staging: &Buffer<D>, edge: Edge, pitch: u64) {
        match (self, self.span(edge, pitch)) {
            (Self::Buffer(buffer), Span::Bytes { offset, size }) => {
                recording.copy_buffer(staging, 0, buffer, offset, size).unwrap();
            }
            (Self::Texture(texture), Span::Texel { region, layout, .. }) => {
                recording.copy_buffer_to_texture(staging, layout, texture, region).unwrap();
            }
            (Self::SparseBuffer(reserved, _) | Self::SparseTexture(reserved, _), span) => {
                recording.use_resource(staging, Subresource::All, State::COPY_SRC).unwrap();
                recording.use_resource(reserved, self.part(span), State::COPY_DST).unwrap();
                recording.barriers();
                let (from, at, to, list) =
                    (staging.raw(), staging.offset(), reserved.raw(), recording.raw_mut(permit()));
                match span {
                    Span::Bytes { offset, size } => list.copy_buffer(from, at, to, offset, size),
                    Span::Texel { region, layout, .. } => {
                        list.copy_buffer_to_texture(from, BufferLayout { offset: at, ..layout }, to, region);
                    }
                }
            }
            _ => unreachable!("buffers have bytes and textures texels"),
        }
    }

    /// Copies an edge to the beginning of a buffer.
    pub(crate) fn copy_out(
        &self,
        recording: &mut Recording<D>,
        readback: &Buffer<D>,
        edge: Edge,
        pitch: u64,
    ) {
        match (self, self.span(edge, pitch)) {
            (Self::Buffer(buffer), Span::Bytes { offset, size }) => {
                recording.copy_buffer(buffer, offset, readback, 0, size).unwrap();
            }
            (Self::Texture(texture), Span::Texel { region, layout, .. }) => {
                recording.copy_texture_to_buffer(texture, region, readback, layout).unwrap();
            }
            (Self::SparseBuffer(reserved, _) | Self::SparseTexture(reserved, _), span) => {
                recording.use_resource(reserved, self.part(span), State::COPY_SRC).unwrap();
                recording.use_resource(readback, Subresource::All, State::COPY_DST).unwrap();
                recording.barriers();
                let (from, to, at, list) =
                    (reserved.raw(), readback.raw(), readback.offset(), recording.raw_mut(permit()));
                match span {
                    Span::Bytes { offset, size } => list.copy_buffer(from, offset, to, at, size),
                    Span::Texel { region, layout, .. } => {
                        list.copy_texture_to_buffer(from, region, to, BufferLayout { offset: at, ..layout });
                    }
                }
            }
            _ => unreachable!("buffers have bytes and textures texels"),
        }
    }
}

/// Maps every tile of a reserved texture of one layer.
pub(crate) fn map_all<D: Device>(reserved: &Reserved<D>) {
    let layout = reserved.layout().clone();
    for (mip, extent) in (0..layout.first_packed_mip).zip(layout.subresources) {
        let region = TileRegion { subresource: mip, origin: [0; 3], extent };
        reserved.map(Queue::Graphics, region).unwrap();
    }
    if layout.packed_tiles > 0 {
        let extent = [layout.packed_tiles, 1, 1];
        let region = TileRegion { subresource: layout.first_packed_mip, origin: [0; 3], extent };
        reserved.map(Queue::Graphics, region).unwrap();
    }
}
