//! The objects of the world, and their places.

use std::fmt;

use tenure::{BufferDesc, Format, TextureDesc, Usage};

use crate::content::random;

/// The number of textures. Lower object numbers are textures.
const TEXTURES: u64 = 5_000;
const MESHES: u64 = 20_000;

/// Bytes of a vertex.
pub(crate) const VERTEX: u64 = 32;

/// The view distance, with more objects than fit in memory. The world is a square of side 1.
const SIGHT: f32 = 0.2;

/// Formats and sides of textures, with their percentages: 1.9 MiB on average.
const KINDS: [(u64, Format, u32); 6] = [
    (15, Format::Bc7Unorm, 2048),
    (20, Format::Bc1Unorm, 2048),
    (20, Format::Bc7Unorm, 1024),
    (10, Format::Bc1Unorm, 1024),
    (15, Format::Rgba8Unorm, 512),
    (20, Format::Rgba8Unorm, 256),
];

/// The resource of an object.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A texture with all its mips.
    Texture(TextureDesc),
    /// The vertices of a mesh.
    Mesh(BufferDesc),
}

/// An object in the world.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) shape: Shape,
    pub(crate) bytes: u64,
    place: [f32; 2],
}

/// A coordinate between 0 and 1, from the low 24 bits of a random number.
fn unit(random: u64) -> f32 {
    (random & 0xFF_FFFF) as f32 / 16_777_216.0
}

impl Object {
    fn new(id: u64) -> Self {
        let chance = random(id, 0);
        let place = [unit(chance), unit(chance >> 24)];
        let (shape, bytes) = if id < TEXTURES { texture(id) } else { mesh(id) };
        Self { shape, bytes, place }
    }
}

fn texture(id: u64) -> (Shape, u64) {
    let mut chance = random(id, 1) % 100;
    let mut kinds = KINDS.into_iter();
    let (_, format, side) = kinds
        .find(|(of_a_hundred, ..)| {
            let is_found = chance < *of_a_hundred;
            chance = chance.saturating_sub(*of_a_hundred);
            is_found
        })
        .unwrap_or(KINDS[0]);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let desc = TextureDesc::d2(side, side, format, usage).mips(side.ilog2() + 1).name("texture");
    let bytes = desc.info.packed_bytes().unwrap_or_default();
    (Shape::Texture(desc), bytes)
}

fn mesh(id: u64) -> (Shape, u64) {
    let bytes = VERTEX * (100 + random(id, 1) % 2500);
    (Shape::Mesh(BufferDesc::new(bytes, Usage::VERTEX | Usage::COPY_SRC).name("mesh")), bytes)
}

/// All objects, by their numbers.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) objects: Vec<Object>,
    bytes: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        let objects: Vec<Object> = (0..TEXTURES + MESHES).map(Object::new).collect();
        let bytes = objects.iter().map(|object| object.bytes).sum();
        Self { objects, bytes }
    }

    /// The visible objects of a frame, nearest first.
    pub(crate) fn nearest(&self, frame: u64) -> Vec<usize> {
        let at = |id: &usize| self.distance(*id, frame);
        let mut seen: Vec<(f32, usize)> =
            (0..self.objects.len()).map(|id| (at(&id), id)).filter(|(far, _)| *far < SIGHT).collect();
        seen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        seen.into_iter().map(|(_, id)| id).collect()
    }

    /// The distance of an object from the camera, which flies a figure of eight in 2,000 frames.
    pub(crate) fn distance(&self, id: usize, frame: u64) -> f32 {
        let turn = (frame % 2000) as f32 / 2000.0 * std::f32::consts::TAU;
        let camera = [0.5 + 0.3 * turn.sin(), 0.5 + 0.2 * (2.0 * turn).sin()];
        let Some(object) = self.objects.get(id) else { return f32::MAX };
        (object.place[0] - camera[0]).hypot(object.place[1] - camera[1])
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.bytes as f64 / f64::from(1 << 30);
        write!(f, "the world: {TEXTURES} textures and {MESHES} meshes, {gib:.2} GiB")
    }
}
