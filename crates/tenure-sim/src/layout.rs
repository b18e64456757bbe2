//! The linear layout of a resource's texels.
//!
//! Real GPUs swizzle; here rows of blocks follow one another, slices follow rows, stencil follows
//! depth, mips follow slices, layers follow mips. Reserved textures do the same within each tile, and tiles follow
//! one another in the order x, y, z.

use std::ops::Range;

use smallvec::SmallVec;
use tenure_core::device::{Plane, ResourceDesc, Subresource, TextureInfo, TextureRegion, TileLayout};

/// Bytes of a tile.
pub(crate) const TILE: u64 = 64 << 10;

/// Byte ranges, adjacent ones joined.
pub(crate) type Ranges = SmallVec<[Range<u64>; 2]>;

/// A part of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Bytes {
        start: u64,
        end: u64,
    },
    /// Rows of a buffer that texels are copied from or to; the padding between them is not accessed.
    Rows {
        start: u64,
        row_bytes: u64,
        pitch: u64,
        rows: u64,
        slice_pitch: u64,
        slices: u64,
    },
    Region(TextureRegion),
    Subresource(Subresource),
    /// Consecutive subresources: mips of one layer.
    Subresources {
        start: u32,
        end: u32,
    },
}

/// A run of bytes of one row of a region.
pub(crate) struct Run {
    /// Row of blocks within the region, and slice.
    pub(crate) row: u64,
    pub(crate) slice: u64,
    /// Bytes from the row's beginning within the region.
    pub(crate) column: u64,
    /// The offset in the resource.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The layout of one resource.
pub(crate) enum Layout {
    Buffer {
        size: u64,
    },
    Texture {
        info: TextureInfo,
        /// Byte of each mip within a layer.
        mips: SmallVec<[u64; 16]>,
        layer_bytes: u64,
    },
    Tiled {
        info: TextureInfo,
        tiles: TileLayout,
        /// First tile of each subresource; packed subresources share that of the first packed one.
        bases: Vec<u64>,
        total: u64,
    },
}

impl Layout {
    /// The layout of a resource with plain memory; `None` when its size overflows.
    pub(crate) fn linear(desc: &ResourceDesc) -> Option<Self> {
        let info = match desc {
            ResourceDesc::Buffer(info) => return Some(Self::Buffer { size: info.size }),
            ResourceDesc::Texture(info) => info,
        };
        let mut mips = SmallVec::new();
        let mut layer_bytes = 0_u64;
        for mip in 0..info.mips {
            mips.push(layer_bytes);
            layer_bytes = layer_bytes.checked_add(mip_bytes(info, mip)?)?;
        }
        layer_bytes.checked_mul(u64::from(info.layers()))?;
        Some(Self::Texture { info: info.clone(), mips, layer_bytes })
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Buffer { size } => *size,
            Self::Texture { info, layer_bytes, .. } => layer_bytes * u64::from(info.layers()),
            Self::Tiled { total, .. } => total * TILE,
        }
    }

    pub(crate) const fn texture(&self) -> Option<&TextureInfo> {
        match self {
            Self::Buffer { .. } => None,
            Self::Texture { info, .. } | Self::Tiled { info, .. } => Some(info),
        }
    }

    /// The subresources of a span, as indices.
    pub(crate) fn subresources(&self, span: &Span) -> Range<u32> {
        match (span, self.texture()) {
            (Span::Region(region), Some(info)) => {
                let index = region.layer.saturating_mul(info.mips).saturating_add(region.mip);
                index..index.saturating_add(1)
            }
            (Span::Subresource(Subresource::One(index)), _) => *index..index.saturating_add(1),
            (Span::Subresources { start, end }, Some(_)) => *start..*end,
            (_, Some(info)) => 0..info.subresources(),
            (_, None) => 0..1,
        }
    }

    /// The bytes of a span.
    pub(crate) fn ranges(&self, span: &Span) -> Ranges {
        let mut ranges = Ranges::new();
        match (span, self) {
            (Span::Bytes { start, end }, _) => ranges.push(*start..*end),
            (Span::Rows { start, row_bytes, pitch, rows, slice_pitch, slices }, _) => {
                for slice in 0..*slices {
                    for row in 0..*rows {
                        join(&mut ranges, start + slice * slice_pitch + row * pitch, *row_bytes);
                    }
                }
            }
            (Span::Region(region), _) => self.runs(region, |run| join(&mut ranges, run.offset, run.bytes)),
            (Span::Subresource(_) | Span::Subresources { .. }, Self::Buffer { size }) => {
                ranges.push(0..*size);
            }
            (Span::Subresource(Subresource::All), Self::Texture { .. }) => ranges.push(0..self.bytes()),
            (Span::Subresource(_) | Span::Subresources { .. }, _) => {
                for index in self.subresources(span) {
                    self.subresource_ranges(index, &mut ranges);
                }
            }
        }
        ranges
    }

    fn subresource_ranges(&self, index: u32, ranges: &mut Ranges) {
        match self {
            Self::Texture { info, mips, layer_bytes } => {
                let (mip, layer) = (index % info.mips, index / info.mips);
                let start = u64::from(layer) * layer_bytes + mips[mip as usize];
                join(ranges, start, mip_bytes(info, mip).unwrap_or(0));
            }
            Self::Tiled { info, .. } => {
                let mip = index % info.mips;
                let (layer, extent) = (index / info.mips, info.mip_extent(mip));
                for plane in info.format.planes().iter().copied() {
                    let whole = TextureRegion { mip, layer, plane, origin: [0; 3], extent };
                    self.runs(&whole, |run| join(ranges, run.offset, run.bytes));
                }
            }
            Self::Buffer { .. } => {}
        }
    }

    /// Bytes of a mip before its stencil, if the region is stencil; otherwise 0.
    fn plane_base(&self, region: &TextureRegion) -> u64 {
        match (region.plane, self.texture()) {
            (Plane::Stencil, Some(info)) => plane_bytes(info, region.mip, Plane::First).unwrap_or(0),
            _ => 0,
        }
    }

    /// Calls `visit` for each run of consecutive bytes of a region, which is inside the texture.
    pub(crate) fn runs(&self, region: &TextureRegion, mut visit: impl FnMut(Run)) {
        let Some(info) = self.texture() else { return };
        let block = region.block(info.format);
        let texel = u64::from(block.bytes) * u64::from(info.samples);
        let [width, height, _] = info.mip_extent(region.mip);
        let pitch = u64::from(width.div_ceil(block.width));
        let rows = u64::from(height.div_ceil(block.height));
        let (x, y) = (u64::from(region.origin[0] / block.width), u64::from(region.origin[1] / block.height));
        let across = u64::from(region.extent[0].div_ceil(block.width));
        let down = u64::from(region.extent[1].div_ceil(block.height));
        let subresource = region.layer * info.mips + region.mip;
        for slice in 0..u64::from(region.extent[2]) {
            for row in 0..down {
                let z = u64::from(region.origin[2]) + slice;
                let linear = ((z * rows + y + row) * pitch + x) * texel;
                match self {
                    Self::Tiled { tiles, bases, .. } if region.mip < tiles.first_packed_mip => {
                        let base = bases[subresource as usize];
                        let across_tiles = u64::from(tiles.subresources[subresource as usize][0]);
                        let shape = [
                            u64::from(tiles.tile_extent[0] / block.width),
                            u64::from(tiles.tile_extent[1] / block.height),
                        ];
                        let in_tile = tile_plane_base(info, shape, region.plane);
                        let mut at = x;
                        while at < x + across {
                            let end = (at - at % shape[0] + shape[0]).min(x + across);
                            let line = y + row;
                            let tile = base + line / shape[1] * across_tiles + at / shape[0];
                            let inside = in_tile + (line % shape[1] * shape[0] + at % shape[0]) * texel;
                            visit(Run {
                                row,
                                slice,
                                column: (at - x) * texel,
                                offset: tile * TILE + inside,
                                bytes: (end - at) * texel,
                            });
                            at = end;
                        }
                    }
                    _ => visit(Run {
                        row,
                        slice,
                        column: 0,
                        offset: self.plain_base(region) + self.plane_base(region) + linear,
                        bytes: across * texel,
                    }),
                }
            }
        }
    }

    /// The first byte of a mip, with rows without padding.
    fn plain_base(&self, region: &TextureRegion) -> u64 {
        match self {
            Self::Buffer { .. } => 0,
            Self::Texture { mips, layer_bytes, .. } => {
                u64::from(region.layer) * layer_bytes + mips[region.mip as usize]
            }
            Self::Tiled { info, tiles, bases, .. } => {
                let before: u64 =
                    (tiles.first_packed_mip..region.mip).map(|mip| mip_bytes(info, mip).unwrap_or(0)).sum();
                bases[(region.layer * info.mips + region.mip) as usize] * TILE + before
            }
        }
    }
}

/// Bytes of one plane of a mip of one layer; `None` when they overflow.
fn plane_bytes(info: &TextureInfo, mip: u32, plane: Plane) -> Option<u64> {
    let block = info.format.plane_block(plane)?;
    let [width, height, depth] = info.mip_extent(mip);
    u64::from(width.div_ceil(block.width))
        .checked_mul(u64::from(height.div_ceil(block.height)))?
        .checked_mul(u64::from(depth))?
        .checked_mul(u64::from(block.bytes))?
        .checked_mul(u64::from(info.samples))
}

/// Bytes of a tile of `across` by `down` blocks before its stencil, if that is the plane; otherwise 0.
fn tile_plane_base(info: &TextureInfo, [across, down]: [u64; 2], plane: Plane) -> u64 {
    match (plane, info.format.plane_block(Plane::First)) {
        (Plane::Stencil, Some(block)) => across * down * u64::from(block.bytes),
        _ => 0,
    }
}

/// Bytes of all planes of a mip of one layer; `None` when they overflow.
pub(crate) fn mip_bytes(info: &TextureInfo, mip: u32) -> Option<u64> {
    let mut planes = info.format.planes().iter();
    planes.try_fold(0_u64, |bytes, plane| bytes.checked_add(plane_bytes(info, mip, *plane)?))
}

fn join(ranges: &mut Ranges, start: u64, bytes: u64) {
    match ranges.last_mut() {
        Some(last) if last.end == start => last.end += bytes,
        _ if bytes == 0 => {}
        _ => ranges.push(start..start + bytes),
    }
}
