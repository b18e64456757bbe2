//! The parts of a resource that are written and read.

use tenure::{
    resource::{Plane, TextureInfo, TextureRegion},
    transient::TransientDesc,
};

use crate::frame::middle;

/// The length of a run in texels.
const RUN: u32 = 4;
/// The size of a part of a buffer in bytes.
const PIECE: u64 = 16;

/// A few bytes of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A run of texels in one row.
    Texels(TextureRegion),
    /// Bytes of a buffer.
    Bytes { offset: u64, size: u64 },
}

impl Part {
    /// Its size in bytes, in a resource of this description.
    pub(crate) fn bytes(&self, desc: &TransientDesc) -> u64 {
        match (self, desc) {
            (Self::Texels(region), TransientDesc::Texture(desc)) => {
                u64::from(region.extent[0]) * u64::from(desc.info.format.block().bytes)
            }
            (Self::Bytes { size, .. }, _) => *size,
            (Self::Texels(_), TransientDesc::Buffer(_)) => 0,
        }
    }
}

/// The parts of a resource. Of a texture: runs of texels at the corners and in the middle of the first mip, and
/// at both ends of the last mip. Of a buffer: the beginning, the middle and the end.
pub(crate) fn parts(desc: &TransientDesc) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |part: Part| {
        if !parts.iter().any(|known| overlap(known, &part)) {
            parts.push(part);
        }
    };
    match desc {
        TransientDesc::Buffer(desc) => {
            let size = desc.size.min(PIECE);
            let last = desc.size - size;
            for offset in [0, last / 2 / 4 * 4, last] {
                add(Part::Bytes { offset, size });
            }
        }
        TransientDesc::Texture(desc) => {
            let info = &desc.info;
            let [x, y, z] = info.mip_extent(0).map(|side| side - 1);
            for at in [[0, 0, 0], [x, 0, 0], [0, y, z], [x, y, z], middle(info, 0)] {
                add(run(info, 0, at));
            }
            let last = info.mips.saturating_sub(1);
            for at in [[0; 3], info.mip_extent(last).map(|side| side - 1)] {
                add(run(info, last, at));
            }
        }
    }
    parts
}

/// A run of texels that begins at a texel, or ends at the edge of the mip if it would leave the mip.
fn run(info: &TextureInfo, mip: u32, [x, y, z]: [u32; 3]) -> Part {
    let [width, ..] = info.mip_extent(mip);
    let length = RUN.min(width);
    let origin = [x.min(width - length), y, z];
    Part::Texels(TextureRegion { mip, layer: 0, plane: Plane::First, origin, extent: [length, 1, 1] })
}

fn overlap(one: &Part, other: &Part) -> bool {
    match (one, other) {
        (Part::Texels(one), Part::Texels(other)) => {
            let is_row = one.mip == other.mip && one.origin[1..] == other.origin[1..];
            is_row
                && one.origin[0] < other.origin[0] + other.extent[0]
                && other.origin[0] < one.origin[0] + one.extent[0]
        }
        (Part::Bytes { offset, size }, Part::Bytes { offset: other, size: other_size }) => {
            *offset < other + other_size && *other < offset + size
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tenure::{BufferDesc, Format, TextureDesc, Usage};

    use super::*;

    #[test]
    fn parts_are_disjoint_and_within_the_resource() {
        for [width, height, depth, mips] in
            [[1, 1, 1, 1], [5, 3, 1, 3], [64, 64, 1, 7], [4, 4, 4, 1], [33, 7, 9, 2]]
        {
            let flat = TextureDesc::d2(width, height, Format::Rgba8Unorm, Usage::SHADER_READ);
            let deep = TextureDesc::d3(width, height, depth, Format::Rgba8Unorm, Usage::SHADER_READ);
            let desc = if depth > 1 { deep } else { flat }.mips(mips);
            let parts = parts(&TransientDesc::Texture(desc.clone()));
            assert!(!parts.is_empty());
            for (at, part) in parts.iter().enumerate() {
                let Part::Texels(region) = part else { panic!("{part:?}") };
                assert_eq!(region.check(&desc.info), Ok(()));
                assert!(parts[..at].iter().all(|other| !overlap(other, part)), "{parts:?}");
            }
        }
        for size in [4, 16, 20, 256, 1 << 20] {
            let parts = parts(&TransientDesc::Buffer(BufferDesc::new(size, Usage::UNORDERED_ACCESS)));
            let ends =
                |part: &Part| matches!(part, Part::Bytes { offset, size: bytes } if offset + bytes <= size);
            assert!(parts.iter().all(ends), "{parts:?}");
        }
    }
}
