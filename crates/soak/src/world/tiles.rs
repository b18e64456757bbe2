//! The contents of tiles of reserved buffers.

use tenure_core::{Queue, State, Subresource};

use super::{Checked, World};

impl World {
    /// Every tile that was filled has its bytes: the GPU compares them.
    pub(crate) fn check_tiles(&mut self) -> Checked {
        for at in 0..self.tiles.len() {
            let made = self.gpu.record(Queue::Graphics, "look at tiles");
            let Some(mut recording) = self.must("record", made)? else { continue };
            let tiles = &self.tiles[at];
            let size = tiles.reserved.layout().tile_size;
            let used = recording.use_resource(&tiles.reserved, Subresource::All, State::COPY_SRC);
            if used.is_ok() {
                for (tile, byte) in (0_u64..).zip(&tiles.bytes) {
                    if let Some(byte) = byte {
                        let offset = tile * size + size / 2;
                        recording.raw().expect_bytes(tiles.reserved.raw(), offset, &[*byte; 64]);
                    }
                }
            }
            let submitted = used.and_then(|()| recording.submit());
            self.must("look at tiles", submitted)?;
        }
        Ok(())
    }
}
