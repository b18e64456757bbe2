//! Numbering of the tiles of a reserved resource.

use crate::TileRule;
use crate::device::{TileLayout, TileRegion};

/// The tiles of a reserved resource: the tiles of each subresource in order, followed by the tiles of the
/// packed mips, layer by layer.
#[derive(Debug)]
pub(super) struct TileMap {
    pub(super) layout: TileLayout,
    layers: u32,
    mips: u32,
}

impl TileMap {
    pub(super) const fn new(layout: TileLayout, layers: u32, mips: u32) -> Self {
        Self { layout, layers, mips }
    }

    /// Tiles of all subresources and packed mips.
    pub(super) fn count(&self) -> u64 {
        let packed = u64::from(self.layout.packed_tiles) * u64::from(self.layers);
        self.standard(self.layout.subresources.len()).saturating_add(packed)
    }

    /// The number of tiles of the first `subresources` subresources.
    fn standard(&self, subresources: usize) -> u64 {
        self.layout.subresources.iter().take(subresources).map(|extent| volume(*extent)).sum()
    }

    /// The numbers of the tiles of a box, in the order x, y, z.
    pub(super) fn tiles(&self, region: TileRegion) -> Result<Vec<u64>, TileRule> {
        let (first, extent) = self.subresource(region.subresource)?;
        for ((origin, size), limit) in region.origin.into_iter().zip(region.extent).zip(extent) {
            let end = u64::from(origin) + u64::from(size);
            if size == 0 || end > u64::from(limit) {
                return Err(TileRule::OutOfRange { end, limit: limit.into() });
            }
        }
        let [x, y, z] = region.origin.map(u64::from);
        let [width, height, depth] = region.extent.map(u64::from);
        let [across, down, _] = extent.map(u64::from);
        let row = move |z: u64, y: u64| (x..x + width).map(move |x| first + (z * down + y) * across + x);
        Ok((z..z + depth).flat_map(|z| (y..y + height).flat_map(move |y| row(z, y))).collect())
    }

    /// The number of a subresource's first tile, and its extent in tiles.
    fn subresource(&self, subresource: u32) -> Result<(u64, [u32; 3]), TileRule> {
        let (mip, layer) = (subresource % self.mips, subresource / self.mips);
        let standard_mips = self.layout.first_packed_mip.min(self.mips);
        let index = subresource as usize;
        let extent = self.layout.subresources.get(index).filter(|_| mip < standard_mips);
        if let Some(extent) = extent.filter(|_| layer < self.layers) {
            return Ok((self.standard(index), *extent));
        }
        if layer < self.layers && mip == standard_mips && self.layout.packed_tiles > 0 {
            let packed = u64::from(self.layout.packed_tiles);
            let first = self.standard(self.layout.subresources.len()) + u64::from(layer) * packed;
            return Ok((first, [self.layout.packed_tiles, 1, 1]));
        }
        let count = u64::from(self.layers) * u64::from(self.mips);
        Err(TileRule::Subresource { subresource, count })
    }
}

/// The number of tiles in a box.
fn volume(extent: [u32; 3]) -> u64 {
    extent.iter().fold(1_u64, |product, side| product.saturating_mul(u64::from(*side)))
}

#[cfg(test)]
mod tests {
    use super::TileMap;
    use crate::TileRule;
    use crate::device::{TileLayout, TileRegion};

    /// Two layers of 4 x 2 and 2 x 1 tiles and two packed ones.
    fn map() -> TileMap {
        let layout = TileLayout {
            tile_size: 64 << 10,
            tile_extent: [128, 128, 1],
            subresources: vec![[4, 2, 1], [2, 1, 1], [0; 3], [4, 2, 1], [2, 1, 1], [0; 3]],
            first_packed_mip: 2,
            packed_tiles: 2,
            memory_types: 1,
        };
        TileMap::new(layout, 2, 3)
    }

    #[test]
    fn every_tile_has_one_number() {
        let map = map();
        let boxes =
            [(0, [4, 2, 1]), (1, [2, 1, 1]), (2, [2, 1, 1]), (3, [4, 2, 1]), (4, [2, 1, 1]), (5, [2, 1, 1])];
        let mut all: Vec<u64> = boxes
            .iter()
            .flat_map(|(subresource, extent)| {
                let region = TileRegion { subresource: *subresource, origin: [0; 3], extent: *extent };
                map.tiles(region).unwrap()
            })
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..map.count()).collect::<Vec<_>>());
    }

    #[test]
    fn boxes_outside_are_refused_with_the_numbers() {
        let map = map();
        let region = |subresource, origin, extent| TileRegion { subresource, origin, extent };
        let outside = |end| Err(TileRule::OutOfRange { end, limit: 4 });
        assert_eq!(map.tiles(region(0, [3, 0, 0], [2, 1, 1])), outside(5));
        assert_eq!(map.tiles(region(0, [u32::MAX, 0, 0], [1, 1, 1])), outside(1 << 32));
        assert!(map.tiles(region(0, [0; 3], [0, 1, 1])).is_err(), "an empty box");
        let missing = Err(TileRule::Subresource { subresource: 6, count: 6 });
        assert_eq!(map.tiles(region(6, [0; 3], [1, 1, 1])), missing);
        assert_eq!(map.tiles(region(1, [1, 0, 0], [1, 1, 1])).unwrap(), [9]);
    }
}
