//! The height and the topmost block of each column.

use fastnoise_lite::{FastNoiseLite, FractalType, NoiseType};

use super::SEA;
use crate::block::Block;
use crate::grid::Grid;

/// The height above which there is snow, before [`surface`] varies it.
const SNOW: f32 = 118.0;

/// Noise in -1.0..1.0.
pub(super) fn noise(seed: i32, frequency: f32, octaves: i32) -> FastNoiseLite {
    let mut noise = FastNoiseLite::with_seed(seed);
    noise.set_noise_type(Some(NoiseType::OpenSimplex2));
    noise.set_frequency(Some(frequency));
    noise.set_fractal_type(Some(FractalType::FBm));
    noise.set_fractal_octaves(Some(octaves));
    noise
}

/// The height of each column: lowland with lakes in the south, mountains in the north.
pub(super) fn heights(width: usize, depth: usize) -> Grid<u8> {
    let land = noise(11, 1.0 / 420.0, 3);
    let hills = noise(12, 1.0 / 110.0, 4);
    let mut ridges = noise(13, 1.0 / 460.0, 4);
    ridges.set_fractal_type(Some(FractalType::Ridged));
    Grid::from_fn(width, depth, |x, z| {
        let (x, z) = (x as f32, z as f32);
        let north = smooth(240.0, 820.0, z + 120.0 * land.get_noise_2d(x + 900.0, z));
        let lowland = 48.0 + 13.0 * land.get_noise_2d(x, z) + (5.0 + 9.0 * north) * hills.get_noise_2d(x, z);
        let ridge = (ridges.get_noise_2d(x, z) * 0.5 + 0.5).clamp(0.0, 1.0);
        (lowland + north * (6.0 + 128.0 * ridge * ridge)).clamp(8.0, 230.0) as u8
    })
}

/// The topmost block of a column, by its height and its slope.
pub(super) fn surface(heights: &Grid<u8>, x: i32, z: i32) -> Block {
    let height = heights.get(x, z);
    let neighbours = [(1, 0), (-1, 0), (0, 1), (0, -1)].map(|(dx, dz)| heights.get(x + dx, z + dz));
    let slope = neighbours.iter().map(|neighbour| neighbour.abs_diff(height)).max().unwrap_or(0);
    // Varies the limit of the snow from column to column.
    let rough = (hash(x, z, 1) % 7) as f32;
    if slope >= 4 {
        Block::Stone
    } else if f32::from(height) + rough > SNOW + 6.0 * f32::from(slope) {
        Block::Snow
    } else if height <= SEA + 1 {
        Block::Sand
    } else if slope >= 3 || f32::from(height) + rough > SNOW - 18.0 {
        Block::Stone
    } else {
        Block::Grass
    }
}

/// A hash of the arguments.
pub(super) fn hash(x: i32, z: i32, seed: u32) -> u32 {
    let mut mixed = (x as u32).wrapping_mul(0x9e37_79b1) ^ (z as u32).wrapping_mul(0x85eb_ca77) ^ seed;
    mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    mixed = (mixed ^ (mixed >> 12)).wrapping_mul(0x297a_2d39);
    mixed ^ (mixed >> 15)
}

/// Smoothstep: 0 up to `from`, 1 from `to` on, smooth between.
fn smooth(from: f32, to: f32, value: f32) -> f32 {
    let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
    share * share * (3.0 - 2.0 * share)
}
