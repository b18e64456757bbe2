//! The texture: a procedurally generated layer for each kind of face, with all mips.

/// The layer number that vertices of the sky have.
pub(crate) const SKY: i16 = -1;

/// The mip bias of samplers. It is negative because the ground, seen at a flat angle, looks blurred without it.
pub const LOD_BIAS: f32 = -0.5;

/// The width and height of a layer in texels.
const SIDE: u32 = 32;

/// The layers of the texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tile {
    Grass,
    GrassSide,
    Dirt,
    Stone,
    Sand,
    Snow,
    Water,
    Bark,
    Leaves,
    Marble,
    Paving,
}

impl Tile {
    const ALL: [Self; 11] = [
        Self::Grass,
        Self::GrassSide,
        Self::Dirt,
        Self::Stone,
        Self::Sand,
        Self::Snow,
        Self::Water,
        Self::Bark,
        Self::Leaves,
        Self::Marble,
        Self::Paving,
    ];

    /// The colour, its variation from texel to texel, and the width of its spots in texels.
    const fn paint(self) -> ([f32; 3], f32, u32) {
        match self {
            Self::Grass => ([0.40, 0.62, 0.22], 0.34, 4),
            Self::GrassSide | Self::Dirt => ([0.47, 0.34, 0.22], 0.32, 4),
            Self::Stone => ([0.50, 0.49, 0.48], 0.26, 4),
            Self::Sand => ([0.86, 0.78, 0.56], 0.16, 4),
            Self::Snow => ([0.94, 0.96, 0.99], 0.05, 4),
            Self::Water => ([0.12, 0.33, 0.48], 0.26, 8),
            Self::Bark => ([0.36, 0.26, 0.17], 0.30, 2),
            Self::Leaves => ([0.24, 0.46, 0.14], 0.55, 4),
            Self::Marble => ([0.93, 0.90, 0.84], 0.06, 8),
            Self::Paving => ([0.44, 0.43, 0.45], 0.18, 4),
        }
    }

    /// The colour of one texel.
    fn texel(self, x: u32, y: u32) -> [f32; 3] {
        let (colour, varies, spot) = self.paint();
        let seed = self as u32;
        let (stretch, squeeze) = if self == Self::Bark { (8, 1) } else { (1, 1) };
        let fine = speckle(x / squeeze, y / stretch, seed);
        let coarse = speckle(x / spot, y / (spot * stretch), seed + 100);
        let light = 1.0 + varies * (0.4 * fine + 0.6 * coarse);
        // Grass covers the uppermost rows, and ends at a different row every two columns.
        if self == Self::GrassSide && y < 7 + (speckle(x / 2, 0, 7) * 4.0) as u32 {
            return Self::Grass.texel(x, y);
        }
        let is_joint = match self {
            Self::Stone => (x + 9 * (y / 8)).is_multiple_of(16) && speckle(x / 4, y / 4, 9) > 0.0,
            Self::Marble | Self::Paving => x.is_multiple_of(16) || y.is_multiple_of(16),
            _ => false,
        };
        let light = if is_joint { light * 0.72 } else { light };
        colour.map(|channel| (channel * light).clamp(0.0, 1.0))
    }
}

/// The texture's texels: RGBA, 8 bits, sRGB.
pub struct Tiles {
    mips: Vec<Vec<Vec<u8>>>,
}

impl Tiles {
    /// The width and height of a layer in texels.
    pub const SIDE: u32 = SIDE;
    /// The number of layers.
    pub const LAYERS: u32 = Tile::ALL.len() as u32;
    /// The number of mip levels; the last is one texel.
    pub const MIPS: u32 = SIDE.ilog2() + 1;

    /// Generates all texels.
    #[must_use]
    pub fn new() -> Self {
        Self { mips: Tile::ALL.into_iter().map(mips_of).collect() }
    }

    /// The texels of one mip level of one layer, row by row; `None` beyond the last.
    #[must_use]
    pub fn texels(&self, layer: u32, mip: u32) -> Option<&[u8]> {
        self.mips.get(layer as usize)?.get(mip as usize).map(Vec::as_slice)
    }
}

impl Default for Tiles {
    fn default() -> Self {
        Self::new()
    }
}

fn mips_of(tile: Tile) -> Vec<Vec<u8>> {
    // Mips are means of linear light: the square approximates the conversion from sRGB, `bytes` converts back.
    let texels = (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| tile.texel(x, y).map(|side| side * side)));
    let mut light: Vec<[f32; 3]> = texels.collect();
    let mut side = SIDE as usize;
    let mut mips = vec![bytes(&light)];
    while side > 1 {
        light = halve(&light, side);
        side /= 2;
        mips.push(bytes(&light));
    }
    mips
}

fn halve(light: &[[f32; 3]], side: usize) -> Vec<[f32; 3]> {
    let mean = |x: usize, y: usize| {
        let first = 2 * y * side + 2 * x;
        let four = [first, first + 1, first + side, first + side + 1].map(|index| light[index]);
        [0, 1, 2].map(|channel| four.iter().map(|texel| texel[channel]).sum::<f32>() / 4.0)
    };
    (0..side / 2).flat_map(|y| (0..side / 2).map(move |x| (x, y))).map(|(x, y)| mean(x, y)).collect()
}

fn bytes(light: &[[f32; 3]]) -> Vec<u8> {
    let byte = |channel: f32| (channel.sqrt() * 255.0 + 0.5) as u8;
    light.iter().flat_map(|[red, green, blue]| [byte(*red), byte(*green), byte(*blue), 255]).collect()
}

/// A hash of the arguments, as a number in -1.0..1.0.
fn speckle(x: u32, y: u32, seed: u32) -> f32 {
    let mut mixed =
        x.wrapping_mul(0x27d4_eb2f) ^ y.wrapping_mul(0x1656_67b1) ^ seed.wrapping_mul(0x9e37_79b1);
    mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b);
    mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    ((mixed >> 16) & 0xffff) as f32 / 32768.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mip_of_every_layer_has_all_its_texels() {
        let tiles = Tiles::new();
        for layer in 0..Tiles::LAYERS {
            for mip in 0..Tiles::MIPS {
                let side = (SIDE >> mip) as usize;
                assert_eq!(tiles.texels(layer, mip).map(<[u8]>::len), Some(side * side * 4));
            }
        }
        assert!(tiles.texels(0, Tiles::MIPS).is_none());
        assert!(tiles.texels(Tiles::LAYERS, 0).is_none());
    }
}
