//! The landscape: heights, trees, sunlight and edits.

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
/// The width and depth of a chunk in blocks.
pub(crate) const CHUNK: usize = 8;
/// The height of the sea: empty blocks up to this height are water.
pub(crate) const SEA: u8 = 40;

const WIDTH: usize = CHUNKS_X * CHUNK;
const DEPTH: usize = CHUNKS_Z * CHUNK;

/// The direction toward the sun, not normalised.
pub(crate) const SUN: Vec3 = Vec3::new(-1.0, light::FALL, -light::DRIFT);

/// A landscape of 160 by 125 chunks, the same in every run.
pub struct Terrain {
    /// The height of the ground's topmost block.
    heights: Grid<u8>,
    /// The height of the trunk of the tree on a column; 0 if there is no tree.
    trunks: Grid<u8>,
    /// The height of the shadow on a column: blocks below it are in the shade.
    shade: Grid<u8>,
    /// The topmost block that an edit built; air if there is none.
    built: Grid<Block>,
    colours: FastNoiseLite,
}

impl Terrain {
    /// Generates the landscape.
    #[must_use]
    pub fn new() -> Self {
        let heights = ground::heights(WIDTH, DEPTH);
        let trunks = trees::trunks(&heights);
        let shade = light::shade(&heights, &trunks);
        let built = Grid::new(WIDTH, DEPTH);
        Self { heights, trunks, shade, built, colours: ground::noise(5, 0.02, 2) }
    }

    /// The number of chunks. Chunks are numbered from west to east, then from south to north.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        CHUNKS_X * CHUNKS_Z
    }

    /// The x and z of a chunk's south-western corner.
    pub(crate) const fn corner(chunk: usize) -> [i32; 2] {
        [(chunk % CHUNKS_X * CHUNK) as i32, (chunk / CHUNKS_X * CHUNK) as i32]
    }

    /// The number of edits that the landscape has.
    #[must_use]
    pub const fn edits(&self) -> usize {
        letters::WORD.len()
    }

    /// Edits the landscape: builds one letter of the word. Returns the chunks whose meshes
    /// change, because the ground or the sunlight on it is different.
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

    /// The height of the ground's topmost block.
    pub(crate) fn height(&self, x: i32, z: i32) -> i32 {
        i32::from(self.heights.get(x, z))
    }

    /// The height of the trunk of the tree on a column, if there is one.
    pub(crate) fn trunk(&self, x: i32, z: i32) -> Option<i32> {
        let trunk = self.trunks.get(x, z);
        (trunk > 0).then_some(i32::from(trunk))
    }

    /// True when the sun shines on a block.
    pub(crate) fn is_sunny(&self, x: i32, y: i32, z: i32) -> bool {
        y >= i32::from(self.shade.get(x, z))
    }

    /// The kind of the ground's topmost block. [`Block::below`] gives the kinds of the blocks below it.
    pub(crate) fn surface(&self, x: i32, z: i32) -> Block {
        match self.built.get(x, z) {
            Block::Air => ground::surface(&self.heights, x, z),
            built => built,
        }
    }

    /// The colour that a block's texture is multiplied with. It varies slowly over the landscape.
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

/// The chunks whose meshes depend on a column: its own, and the neighbouring chunks if it is at their border.
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
    fn an_edit_changes_less_than_400_of_20_000_meshes() {
        let mut terrain = Terrain::new();
        assert_eq!(terrain.chunks(), 20_000);
        let before = ChunkMesh::new(&terrain, 0).bytes().to_vec();
        for edit in 0..terrain.edits() {
            let changed = terrain.edit(edit);
            assert!((4..400).contains(&changed.len()), "edit {edit} changed {} chunks", changed.len());
            assert!(changed.iter().all(|chunk| *chunk < terrain.chunks()));
        }
        assert_eq!(
            ChunkMesh::new(&terrain, 0).bytes(),
            before,
            "an edit changed a chunk far from the letters"
        );
        assert!(
            (0..terrain.chunks()).step_by(7).all(|chunk| ChunkMesh::new(&terrain, chunk).index_count() > 0)
        );
    }
}
