//! Readbacks of bytes of loaded objects.

use std::time::Duration;

use tenure::device::Device;
use tenure::{
    Readback, Recording, TextureDesc,
    resource::{Plane, TextureRegion},
};
use voxel_world::Result;

use crate::content::{Content, random};
use crate::streamer::Loaded;
use crate::world::VERTEX;

/// A readback of some texels or a vertex, with the expected bytes.
#[derive(Debug)]
pub(crate) struct Pick<D: Device> {
    id: usize,
    readback: Readback<D>,
    expected: Vec<u8>,
}

/// Some texels of a texture.
struct Texels {
    region: TextureRegion,
    /// The offset of each row of blocks in the bytes of the object, and the bytes of a row.
    rows: Vec<u64>,
    row: u64,
}

impl Texels {
    /// Four by four texels of any mip, fewer of smaller mips.
    fn pick(desc: &TextureDesc, chance: u64) -> Self {
        let (info, block) = (&desc.info, desc.info.format.block());
        let mip = (chance % u64::from(info.mips)) as u32;
        let whole = info.mip_extent(mip);
        let first = |side: u32, chance: u64| 4 * (chance % u64::from(side.div_ceil(4))) as u32;
        let origin = [first(whole[0], chance >> 8), first(whole[1], chance >> 32), 0];
        let extent = [4.min(whole[0] - origin[0]), 4.min(whole[1] - origin[1]), 1];
        let before: u64 = (0..mip).filter_map(|mip| info.mip_bytes(mip)).sum();
        let bytes = u64::from(block.bytes);
        let pitch = u64::from(whole[0].div_ceil(block.width)) * bytes;
        let start = before + u64::from(origin[0] / block.width) * bytes;
        let (top, high) = (origin[1] / block.height, extent[1].div_ceil(block.height));
        Self {
            region: TextureRegion { mip, layer: 0, plane: Plane::First, origin, extent },
            rows: (top..top + high).map(|row| start + u64::from(row) * pitch).collect(),
            row: u64::from(extent[0].div_ceil(block.width)) * bytes,
        }
    }
}

impl<D: Device> Pick<D> {
    /// Records the copy of a random part of an object.
    pub(crate) fn record(
        recording: &mut Recording<D>,
        id: usize,
        object: &Loaded<D>,
        chance: u64,
    ) -> Result<Self> {
        let (content, chance) = (Content::of(id), random(chance, 3));
        let (readback, expected) = match object {
            Loaded::Texture(texture) => {
                let texels = Texels::pick(&texture.info().clone().into(), chance);
                let readback = recording.read_back_texture(texture, texels.region)?;
                (readback, texels.rows.iter().flat_map(|row| content.bytes(*row, texels.row)).collect())
            }
            Loaded::Mesh(mesh) => {
                let offset = chance % (mesh.size() / VERTEX) * VERTEX;
                (recording.read_back(mesh, offset, VERTEX)?, content.bytes(offset, VERTEX).collect())
            }
        };
        Ok(Self { id, readback, expected })
    }

    /// Waits for the bytes and compares them.
    pub(crate) fn check(self) -> Result<()> {
        let found = self.readback.wait(Duration::from_secs(60))?;
        if found == self.expected {
            return Ok(());
        }
        Err(format!("object {}: read back {found:x?}, uploaded {:x?}", self.id, self.expected).into())
    }
}
