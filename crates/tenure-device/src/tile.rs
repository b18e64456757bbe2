//! Tiles of reserved (sparse) resources.

/// Tile layout of a reserved resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileLayout {
    /// Size of a tile in bytes.
    pub tile_size: u64,
    /// Texels of one tile: width, height, depth. A buffer's tile is `tile_size` bytes wide.
    pub tile_extent: [u32; 3],
    /// Number of tiles in x, y and z of each subresource `mip + layer * mips`; zero for packed mips.
    pub subresources: Vec<[u32; 3]>,
    /// Mips from this one on are packed together into `packed_tiles` tiles, for each layer.
    pub first_packed_mip: u32,
    /// Number of tiles of the packed mips of one layer; addressed as subresource `first_packed_mip + layer * mips`, x only.
    pub packed_tiles: u32,
    /// Bit *i* is set if tiles can be mapped to memory of type *i*. May contain fewer types than for a placed resource with
    /// the same description: NVIDIA's Vulkan drivers map tiles only to device memory.
    pub memory_types: u32,
}

/// A box of tiles of one subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileRegion {
    /// Subresource `mip + layer * mips`; 0 for a buffer.
    pub subresource: u32,
    /// First tile: x, y, z.
    pub origin: [u32; 3],
    /// Number of tiles in x, y and z.
    pub extent: [u32; 3],
}

impl TileRegion {
    /// A run of tiles of a buffer.
    #[must_use]
    pub const fn buffer(first: u32, count: u32) -> Self {
        Self { subresource: 0, origin: [first, 0, 0], extent: [count, 1, 1] }
    }

    /// Number of tiles; `None` when it overflows.
    #[must_use]
    pub const fn tiles(&self) -> Option<u32> {
        match self.extent[0].checked_mul(self.extent[1]) {
            Some(slice) => slice.checked_mul(self.extent[2]),
            None => None,
        }
    }
}
