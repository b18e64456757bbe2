//! Kinds of blocks.

use crate::tiles::Tile;

/// The kind of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Block {
    /// Empty space.
    #[default]
    Air,
    /// Earth with grass on it.
    Grass,
    /// Earth.
    Dirt,
    /// Rock.
    Stone,
    /// Sand of beaches and lake beds.
    Sand,
    /// Snow on high mountains.
    Snow,
    /// Water of lakes.
    Water,
    /// Trunks of trees.
    Wood,
    /// Crowns of trees.
    Leaves,
    /// Stone of the letters.
    Marble,
    /// Stone of the ground around the letters.
    Paving,
}

impl Block {
    /// The kind of the block `depth` blocks below a topmost block of this kind.
    pub(crate) const fn below(self, depth: i32) -> Self {
        match (self, depth) {
            (_, 0) | (Self::Marble | Self::Sand, _) | (Self::Snow, 1) => self,
            (Self::Grass, 1..=3) => Self::Dirt,
            _ => Self::Stone,
        }
    }

    /// The texture layer of a face. `up` is the y of its normal: 1 on top, -1 at the bottom, 0 on the sides.
    pub(crate) const fn tile(self, up: i32) -> Tile {
        match (self, up) {
            (Self::Grass, 1) => Tile::Grass,
            (Self::Grass, 0) => Tile::GrassSide,
            (Self::Grass | Self::Dirt, _) => Tile::Dirt,
            (Self::Stone, _) => Tile::Stone,
            (Self::Sand, _) => Tile::Sand,
            (Self::Snow, _) => Tile::Snow,
            (Self::Water | Self::Air, _) => Tile::Water,
            (Self::Wood, _) => Tile::Bark,
            (Self::Leaves, _) => Tile::Leaves,
            (Self::Marble, _) => Tile::Marble,
            (Self::Paving, _) => Tile::Paving,
        }
    }

    /// True for blocks whose colour varies from place to place.
    pub(crate) const fn is_tinted(self) -> bool {
        matches!(self, Self::Grass | Self::Leaves)
    }
}
