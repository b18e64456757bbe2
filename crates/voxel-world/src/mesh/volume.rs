//! The blocks of one chunk, with a border of one block on each side.

use crate::block::Block;
use crate::terrain::{CHUNK, SEA, Terrain, trees};

const SIDE: usize = CHUNK + 2;

/// The blocks of a chunk, from the lowest to the highest visible one, with a border of one block.
pub(super) struct Volume {
    corner: [i32; 2],
    low: i32,
    high: i32,
    blocks: Vec<Block>,
}

impl Volume {
    pub(super) fn new(terrain: &Terrain, corner: [i32; 2]) -> Self {
        let low = columns(corner, 1).map(|[x, z]| terrain.height(x, z)).min().unwrap_or(0);
        // The leaves of trees outside the chunk may reach into it.
        let wide = columns(corner, 1 + trees::REACH);
        let highest = wide.map(|[x, z]| terrain.height(x, z)).fold(i32::from(SEA), i32::max);
        let high = highest + trees::TALLEST + 1;
        let mut volume =
            Self { corner, low, high, blocks: vec![Block::Air; SIDE * SIDE * (high - low) as usize] };
        columns(corner, 1).for_each(|[x, z]| volume.fill_column(terrain, x, z));
        columns(corner, 1 + trees::REACH).for_each(|[x, z]| volume.plant(terrain, x, z));
        volume.high = volume.highest() + 1;
        volume
    }

    fn fill_column(&mut self, terrain: &Terrain, x: i32, z: i32) {
        let (height, surface) = (terrain.height(x, z), terrain.surface(x, z));
        for y in self.low..=height {
            self.set([x, y, z], surface.below(height - y));
        }
        for y in height + 1..=i32::from(SEA) {
            self.set([x, y, z], Block::Water);
        }
    }

    /// Sets the blocks of a column's tree.
    fn plant(&mut self, terrain: &Terrain, x: i32, z: i32) {
        let Some(trunk) = terrain.trunk(x, z) else { return };
        for ([dx, y, dz], block) in trees::blocks(trunk) {
            let place = [x + dx, terrain.height(x, z) + y, z + dz];
            if self.index(place).is_some_and(|index| self.blocks[index] == Block::Air) {
                self.set(place, block);
            }
        }
    }

    /// The height of the lowest block, and the height above the highest block.
    pub(super) fn heights(&self) -> [i32; 2] {
        [self.low, self.high]
    }

    /// The chunk's lowest corner, and its highest corner (exclusive).
    pub(super) fn ends(&self) -> [[i32; 3]; 2] {
        let [x, z] = self.corner;
        [[x, self.low, z], [x + CHUNK as i32, self.high, z + CHUNK as i32]]
    }

    /// The block at a position. All blocks below the volume are stone.
    pub(super) fn get(&self, place: [i32; 3]) -> Block {
        let outside = if place[1] < self.low { Block::Stone } else { Block::Air };
        self.index(place).map_or(outside, |index| self.blocks[index])
    }

    fn set(&mut self, place: [i32; 3], block: Block) {
        if let Some(index) = self.index(place) {
            self.blocks[index] = block;
        }
    }

    fn index(&self, [x, y, z]: [i32; 3]) -> Option<usize> {
        let side = |block: i32, first: i32| usize::try_from(block - first + 1).ok().filter(|b| *b < SIDE);
        let (x, z) = (side(x, self.corner[0])?, side(z, self.corner[1])?);
        let y = (self.low..self.high).contains(&y).then(|| (y - self.low) as usize)?;
        Some((y * SIDE + z) * SIDE + x)
    }

    fn highest(&self) -> i32 {
        let index = self.blocks.iter().rposition(|block| *block != Block::Air).unwrap_or(0);
        self.low + (index / (SIDE * SIDE)) as i32
    }
}

/// The columns of a chunk, with a border of `more` columns on each side.
fn columns(corner: [i32; 2], more: i32) -> impl Iterator<Item = [i32; 2]> {
    let side = -more..CHUNK as i32 + more;
    side.clone().flat_map(move |z| side.clone().map(move |x| [corner[0] + x, corner[1] + z]))
}
