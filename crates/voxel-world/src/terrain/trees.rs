//! The positions and the shape of trees.

use super::SEA;
use super::ground::{hash, noise, surface};
use crate::block::Block;
use crate::grid::Grid;

/// At most one tree grows in a square of this many blocks.
const PLOT: i32 = 5;

/// The distance that leaves reach from the trunk, in blocks.
pub(crate) const REACH: i32 = 2;

/// The height of the tallest tree in blocks, leaves included.
pub(crate) const TALLEST: i32 = 8;

/// The height of the trunk on each column; 0 where there is no tree.
pub(super) fn trunks(heights: &Grid<u8>) -> Grid<u8> {
    let forest = noise(21, 1.0 / 210.0, 3);
    Grid::from_fn(heights.width() as usize, heights.depth() as usize, |x, z| {
        let plot = hash(x.div_euclid(PLOT), z.div_euclid(PLOT), 2);
        let here = (x.rem_euclid(PLOT), z.rem_euclid(PLOT));
        if here != ((plot % 5) as i32, (plot / 5 % 5) as i32) {
            return 0;
        }
        let density = forest.get_noise_2d(x as f32, z as f32) * 0.9 + 0.05;
        let grows = ((plot >> 8) % 1000) as f32 / 1000.0 < density;
        let is_dry = heights.get(x, z) > SEA + 2;
        let trunk = 4 + ((plot >> 20) % 3) as u8;
        if grows && is_dry && surface(heights, x, z) == Block::Grass { trunk } else { 0 }
    })
}

/// The blocks of a tree whose trunk is `trunk` blocks high, relative to the topmost block of the ground below it.
pub(crate) fn blocks(trunk: i32) -> impl Iterator<Item = ([i32; 3], Block)> {
    let crown = (trunk - 1..=trunk + 2).flat_map(move |y| {
        let wide = if y <= trunk { REACH } else { 1 };
        let square = (-wide..=wide).flat_map(move |z| (-wide..=wide).map(move |x| [x, y, z]));
        square.filter(move |[x, y, z]| {
            let is_corner = x.abs() == wide && z.abs() == wide;
            !is_corner || *y == trunk + 1
        })
    });
    let stem = (1..=trunk).map(|y| ([0, y, 0], Block::Wood));
    crown.map(|place| (place, Block::Leaves)).chain(stem)
}
