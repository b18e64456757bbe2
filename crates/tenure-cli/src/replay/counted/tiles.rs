//! Updates of tile mappings, with resources and heaps translated.

use tenure::device::{Device, TileSource, TileUpdate};

use super::Counted;

pub(super) fn inner<'a, D: Device>(update: &TileUpdate<'a, Counted<D>>) -> TileUpdate<'a, D> {
    let source = match &update.source {
        TileSource::Heap { heap, offset } => TileSource::Heap { heap: &heap.inner, offset: *offset },
        TileSource::Unmapped => TileSource::Unmapped,
        TileSource::CopyOf { resource, region } => {
            TileSource::CopyOf { resource: &resource.inner, region: *region }
        }
    };
    TileUpdate { resource: &update.resource.inner, region: update.region, source }
}
