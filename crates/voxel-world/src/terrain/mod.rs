//! The landscape: heights, trees, sunlight, and what is built in it.

mod ground;
mod letters;
mod light;
pub(crate) mod trees;

use std::collections::BTreeSet;

use fastnoise_lite::FastNoiseLite;
use glam::Vec3;

use crate::block::Block;
use crate::grid::Grid;

/// Chunks from west to east.
pub const CHUNKS_X: usize = 160;
/// Chunks from south to north.
pub const CHUNKS_Z: usize = 125;
/// Blocks along a chunk's sides.
pub(crate) const CHUNK: usize = 8;
/// The height of the sea: blocks up to it are under water.
pub(crate) const SEA: u8 = 40;

const WIDTH: usize = CHUNKS_X * CHUNK;
const DEPTH: usize = CHUNKS_Z * CHUNK;

/// Toward the sun, not normalised.
pub(crate) const SUN: Vec3 = Vec3::new(-1.0, light::FALL, -light::DRIFT);

/// A landscape of 160 by 125 chunks, the same in every run.
pub struct Terrain {
    /// The topmost block of the ground.
    heights: Grid<u8>,
    /// The blocks of a tree's trunk; 0: no tree.
    trunks: Grid<u8>,
    /// Blocks below this are in the shade of others.
    shade: Grid<u8>,
    /// What the ground was replaced by; air: nothing.
    built: Grid<Block>,
    colours: FastNoiseLite,
}

impl Terrain {
    /// Makes the landscape.
    #[must_use]
    pub fn new() -> Self {
        let heights = ground::heights(WIDTH, DEPTH);
        let trunks = trees::trunks(&heights);
        let shade = light::shade(&heights, &trunks);
        let built = Grid::new(WIDTH, DEPTH);
        Self { heights, trunks, shade, built, colours: ground::noise(5, 0.02, 2) }
    }

    /// Chunks, from west to east, then from south to north.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        CHUNKS_X * CHUNKS_Z
    }

    /// The x and z of a chunk's south-western corner.
    pub(crate) const fn corner(chunk: usize) -> [i32; 2] {
        [(chunk % CHUNKS_X * CHUNK) as i32, (chunk / CHUNKS_X * CHUNK) as i32]
    }

    /// How many times the landscape can be edited.
    #[must_use]
    pub const fn edits(&self) -> usize {
        letters::WORD.len()
    }

    /// Edits the landscape: builds one letter of the word. Returns the chunks that look different
    /// now, because the ground or the sunlight on it changed.
    pub fn edit(&mut self, edit: usize) -> Vec<usize> {
        let (heights, shade) = (self.heights.clone(), self.shade.clone());
        letters::build(edit, &mut self.heights, &mut self.trunks, &mut self.built);
        self.shade = light::shade(&self.heights, &self.trunks);
        let mut changed = BTreeSet::new();
        for z in 0..self.heights.depth() {
            for x in 0..self.heights.width() {
                let same =
                    heights.get(x, z) == self.heights.get(x, z) && shade.get(x, z) == self.shade.get(x, z);
                if !same {
                    changed.extend(chunks_around(x, z));
                }
            }
        }
        changed.into_iter().collect()
    }

    /// The topmost block of the ground.
    pub(crate) fn height(&self, x: i32, z: i32) -> i32 {
        i32::from(self.heights.get(x, z))
    }

    /// The blocks of the trunk of the tree that stands there.
    pub(crate) fn trunk(&self, x: i32, z: i32) -> Option<i32> {
        let trunk = self.trunks.get(x, z);
        (trunk > 0).then_some(i32::from(trunk))
    }

    /// True when the sun shines on a block.
    pub(crate) fn is_sunny(&self, x: i32, y: i32, z: i32) -> bool {
        y >= i32::from(self.shade.get(x, z))
    }

    /// The topmost block of the ground is of this kind, those below of [`Block::below`].
    pub(crate) fn surface(&self, x: i32, z: i32) -> Block {
        match self.built.get(x, z) {
            Block::Air => ground::surface(&self.heights, x, z),
            built => built,
        }
    }

    /// What a block's colour is multiplied with: soft, wide spots.
    pub(crate) fn tint(&self, x: i32, z: i32) -> [u8; 3] {
        let spot = self.colours.get_noise_2d(x as f32, z as f32) * 0.5 + 0.5;
        let mix = |dry: f32, wet: f32| ((dry + (wet - dry) * spot) * 255.0) as u8;
        [mix(1.0, 0.72), mix(0.92, 1.0), mix(0.66, 0.80)]
    }
}

impl Default for Terrain {
    fn default() -> Self {
        Self::new()
    }
}

/// The chunks whose meshes show a column: its own, and those it is at the border of.
fn chunks_around(x: i32, z: i32) -> impl Iterator<Item = usize> {
    let chunk = |block: i32, chunks: usize| (block.max(0) as usize / CHUNK).min(chunks - 1);
    let columns = (-1..=1).flat_map(move |dz| (-1..=1).map(move |dx| (x + dx, z + dz)));
    columns.map(move |(x, z)| chunk(z, CHUNKS_Z) * CHUNKS_X + chunk(x, CHUNKS_X))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::ChunkMesh;

    #[test]
    fn the_world_has_twenty_thousand_meshes_and_edits_change_a_few() {
        let mut terrain = Terrain::new();
        assert_eq!(terrain.chunks(), 20_000);
        let before = ChunkMesh::new(&terrain, 0).bytes().to_vec();
        for edit in 0..terrain.edits() {
            let changed = terrain.edit(edit);
            assert!((4..400).contains(&changed.len()), "edit {edit} changed {} chunks", changed.len());
            assert!(changed.iter().all(|chunk| *chunk < terrain.chunks()));
        }
        assert_eq!(ChunkMesh::new(&terrain, 0).bytes(), before, "far from every letter nothing changes");
        assert!(
            (0..terrain.chunks()).step_by(7).all(|chunk| ChunkMesh::new(&terrain, chunk).index_count() > 0)
        );
    }
}
