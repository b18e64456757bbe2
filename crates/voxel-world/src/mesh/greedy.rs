//! Greedy meshing: adjacent faces that look the same become one quad.

use super::volume::Volume;
use crate::block::Block;

/// A rectangle of faces that look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quad {
    /// The corner with the lowest coordinates.
    low: [i32; 3],
    /// Blocks along the two axes that follow the normal's, in the order x, y, z, x.
    size: [i32; 2],
    pub(super) normal: [i32; 3],
    pub(super) block: Block,
    pub(super) is_sunny: bool,
}

/// The block of a visible face, and whether the sun shines on it; `None` if no face is visible.
type Face = Option<(Block, bool)>;

/// The quads of all visible faces of a chunk. `is_sunny` says whether the sun shines on a block's position.
pub(super) fn quads(volume: &Volume, is_sunny: impl Fn([i32; 3]) -> bool) -> Vec<Quad> {
    let mut quads = Vec::new();
    let [first, end] = volume.ends();
    for axis in 0..3 {
        for direction in [-1, 1] {
            for slice in first[axis]..end[axis] {
                merge_slice(volume, &is_sunny, Slice { axis, direction, slice }, &mut quads);
            }
        }
    }
    quads
}

#[derive(Clone, Copy)]
struct Slice {
    axis: usize,
    direction: i32,
    slice: i32,
}

impl Slice {
    fn normal(self) -> [i32; 3] {
        let mut normal = [0; 3];
        normal[self.axis] = self.direction;
        normal
    }

    /// The position of a face's block, from its coordinates in the slice.
    fn place(self, across: i32, along: i32) -> [i32; 3] {
        let mut place = [self.slice; 3];
        place[(self.axis + 1) % 3] = across;
        place[(self.axis + 2) % 3] = along;
        place
    }

    fn face(self, volume: &Volume, is_sunny: &impl Fn([i32; 3]) -> bool, place: [i32; 3]) -> Face {
        let block = volume.get(place);
        let mut front = place;
        front[self.axis] += self.direction;
        let is_seen = block != Block::Air && volume.get(front) == Block::Air;
        is_seen.then(|| (block, is_sunny(front)))
    }
}

fn merge_slice(volume: &Volume, is_sunny: &impl Fn([i32; 3]) -> bool, slice: Slice, quads: &mut Vec<Quad>) {
    let [first, end] = volume.ends();
    let (u, v) = ((slice.axis + 1) % 3, (slice.axis + 2) % 3);
    let (width, height) = ((end[u] - first[u]) as usize, (end[v] - first[v]) as usize);
    let place = |across: usize, along: usize| slice.place(first[u] + across as i32, first[v] + along as i32);
    let face = |index: usize| slice.face(volume, is_sunny, place(index % width, index / width));
    let mut faces: Vec<Face> = (0..width * height).map(face).collect();
    for start in 0..faces.len() {
        let Some((block, is_sunny)) = faces[start] else { continue };
        let [across, along] = grow(&faces, start, width);
        for row in 0..along {
            faces[start + row * width..][..across].fill(None);
        }
        let (size, normal) = ([across as i32, along as i32], slice.normal());
        quads.push(Quad { low: place(start % width, start / width), size, normal, block, is_sunny });
    }
}

/// The largest rectangle of equal faces that begins at `start`, first along its row, then over
/// the rows that follow.
fn grow(faces: &[Face], start: usize, width: usize) -> [usize; 2] {
    let room = width - start % width;
    let across = faces[start..][..room].iter().take_while(|face| **face == faces[start]).count();
    let rows = faces[start..]
        .chunks(width)
        .take_while(|row| row.len() >= across && row[..across].iter().all(|face| *face == faces[start]));
    [across, rows.count()]
}

impl Quad {
    /// Its four corners with their texture coordinates, clockwise seen from outside.
    pub(super) fn corners(&self) -> [([i32; 3], [i32; 2]); 4] {
        let axis = self.normal.iter().position(|side| *side != 0).unwrap_or(0);
        let is_front = self.normal[axis] > 0;
        let [width, height] = self.size;
        let around = match is_front {
            true => [[0, 0], [width, 0], [width, height], [0, height]],
            false => [[0, 0], [0, height], [width, height], [width, 0]],
        };
        around.map(|[across, along]| {
            let mut place = self.low;
            place[axis] += i32::from(is_front);
            place[(axis + 1) % 3] += across;
            place[(axis + 2) % 3] += along;
            // On the sides, the first row of the texture is at the top.
            let uv = match axis {
                0 => [along, width - across],
                1 => [along, across],
                _ => [across, height - along],
            };
            (place, uv)
        })
    }

    /// The six sides of a cube, seen from inside.
    pub(super) fn cube(low: [i32; 3], size: i32) -> Vec<Self> {
        let side = |axis: usize, direction: i32| {
            let mut quad = Self { low, size: [size; 2], normal: [0; 3], block: Block::Air, is_sunny: true };
            quad.normal[axis] = direction;
            // Faces point inward: the face with this normal is on the opposite side of the cube.
            quad.low[axis] += if direction > 0 { -1 } else { size };
            quad
        };
        (0..3).flat_map(|axis| [side(axis, -1), side(axis, 1)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use glam::IVec3;

    use super::*;
    use crate::terrain::Terrain;

    /// Every visible face, found one by one.
    fn faces(volume: &Volume, is_sunny: impl Fn([i32; 3]) -> bool) -> HashMap<([i32; 3], [i32; 3]), Face> {
        let [first, end] = volume.ends();
        let mut faces = HashMap::new();
        for y in first[1]..end[1] {
            for (z, x) in (first[2]..end[2]).flat_map(|z| (first[0]..end[0]).map(move |x| (z, x))) {
                for normal in [IVec3::X, IVec3::Y, IVec3::Z, -IVec3::X, -IVec3::Y, -IVec3::Z] {
                    let (place, front) = ([x, y, z], (IVec3::new(x, y, z) + normal).to_array());
                    if volume.get(place) != Block::Air && volume.get(front) == Block::Air {
                        let face = (volume.get(place), is_sunny(front));
                        faces.insert((place, normal.to_array()), Some(face));
                    }
                }
            }
        }
        faces
    }

    #[test]
    fn quads_cover_every_visible_face_and_no_other() {
        let terrain = Terrain::new();
        let is_sunny = |[x, y, z]: [i32; 3]| terrain.is_sunny(x, y, z);
        for corner in [[0, 0], [560, 256], [640, 960], [1272, 992]] {
            let volume = Volume::new(&terrain, corner);
            let mut faces = faces(&volume, is_sunny);
            let (count, quads) = (faces.len(), quads(&volume, is_sunny));
            for quad in &quads {
                let axis = quad.normal.iter().position(|side| *side != 0).unwrap_or(0);
                let [width, height] = quad.size;
                for (across, along) in (0..height).flat_map(|v| (0..width).map(move |u| (u, v))) {
                    let mut place = quad.low;
                    place[(axis + 1) % 3] += across;
                    place[(axis + 2) % 3] += along;
                    let face = faces.remove(&(place, quad.normal));
                    assert_eq!(face, Some(Some((quad.block, quad.is_sunny))), "at {place:?}");
                }
            }
            assert!(faces.is_empty(), "{} faces are not covered", faces.len());
            assert!(quads.len() < count, "{} quads for {count} faces", quads.len());
        }
    }

    #[test]
    fn corners_are_in_winding_order_around_the_normal() {
        let terrain = Terrain::new();
        for quad in quads(&Volume::new(&terrain, [640, 480]), |_| true) {
            let [a, b, c, d] = quad.corners().map(|(place, _)| IVec3::from_array(place));
            let normal = IVec3::from_array(quad.normal);
            assert!((b - a).cross(c - a).dot(normal) > 0 && (c - a).cross(d - a).dot(normal) > 0);
        }
    }
}
