//! The edits of the landscape: each builds one letter of a word, of stone.

use crate::block::Block;
use crate::grid::Grid;

/// The letters, as rows of five dots from the top; bit 4 is the leftmost dot.
pub(super) const WORD: [[u8; 7]; 6] = [
    [0b01000, 0b01000, 0b11110, 0b01000, 0b01000, 0b01001, 0b00110], // t
    [0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110], // e
    [0b00000, 0b00000, 0b11110, 0b10001, 0b10001, 0b10001, 0b10001], // n
    [0b00000, 0b00000, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101], // u
    [0b00000, 0b00000, 0b10110, 0b11001, 0b10000, 0b10000, 0b10000], // r
    [0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110], // e
];

/// The width and depth of a dot in blocks. Each row of dots is a step of a stair that rises from south to
/// north, and is as high as it is deep.
const DOT: i32 = 5;
/// The height of a letter above its step, in blocks.
const RISE: i32 = 2;
/// The south-western corner of the first letter.
const CORNER: [i32; 2] = [553, 258];
/// The height of the lowest step.
const LEVEL: i32 = 50;
/// The width of the paving around a letter, in blocks.
const MARGIN: i32 = 3;

/// Builds one letter, with its part of the stair.
pub(super) fn build(letter: usize, heights: &mut Grid<u8>, trunks: &mut Grid<u8>, built: &mut Grid<Block>) {
    let Some(rows) = WORD.get(letter) else { return };
    let west = CORNER[0] + letter as i32 * 6 * DOT;
    for z in -MARGIN..7 * DOT + MARGIN {
        let step = z.div_euclid(DOT).clamp(0, 6);
        for x in -MARGIN..5 * DOT + MARGIN {
            let is_on_step = (0..5 * DOT).contains(&x) && (0..7 * DOT).contains(&z);
            let is_dot = is_on_step && rows[6 - step as usize] >> (4 - x / DOT) & 1 == 1;
            let (block, rise) = if is_dot { (Block::Marble, RISE) } else { (Block::Paving, 0) };
            let place = [west + x, CORNER[1] + z];
            heights.set(place[0], place[1], (LEVEL + step * DOT + rise) as u8);
            trunks.set(place[0], place[1], 0);
            built.set(place[0], place[1], block);
        }
    }
}
