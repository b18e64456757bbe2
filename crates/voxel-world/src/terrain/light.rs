//! Sunlight: which blocks are in the shade. The sun is in the west, so shadows fall to the east.

use super::trees;
use crate::grid::Grid;

/// The height that a shadow's upper edge loses over one block to the east.
pub(super) const FALL: f32 = 0.62;
/// The distance by which a shadow moves north over one block to the east.
pub(super) const DRIFT: f32 = 0.45;

/// The height of the shadow on each column; blocks below it are in the shade. It is the height of the western
/// neighbour's blocks, or of the shadow on them if that is higher, minus [`FALL`].
pub(super) fn shade(heights: &Grid<u8>, trunks: &Grid<u8>) -> Grid<u8> {
    let (width, depth) = (heights.width(), heights.depth());
    let tops = tops(heights, trunks);
    let mut shade = Grid::new(width as usize, depth as usize);
    let mut before = vec![0.0_f32; depth as usize];
    for x in 1..width {
        // A shadow also moves north, so its height is interpolated between the western neighbours at z and z - 1.
        let edge = |z: i32| before[z.clamp(0, depth - 1) as usize].max(f32::from(tops.get(x - 1, z)));
        let now: Vec<f32> =
            (0..depth).map(|z| edge(z) * (1.0 - DRIFT) + edge(z - 1) * DRIFT - FALL).collect();
        for (z, edge) in (0..).zip(&now) {
            shade.set(x, z, edge.max(0.0) as u8);
        }
        before = now;
    }
    shade
}

/// The height of the topmost block of each column, leaves included.
fn tops(heights: &Grid<u8>, trunks: &Grid<u8>) -> Grid<u8> {
    let mut tops = heights.clone();
    for z in 0..heights.depth() {
        for x in 0..heights.width() {
            let trunk = trunks.get(x, z);
            if trunk == 0 {
                continue;
            }
            let ground = i32::from(heights.get(x, z));
            for ([dx, y, dz], _) in trees::blocks(i32::from(trunk)) {
                let top = u8::try_from(ground + y).unwrap_or(u8::MAX);
                tops.set(x + dx, z + dz, tops.get(x + dx, z + dz).max(top));
            }
        }
    }
    tops
}
