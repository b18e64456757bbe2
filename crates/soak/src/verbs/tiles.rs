//! Reserved buffers, whose tiles are mapped and unmapped.

use tenure_core::device::{Features, prelude::*};
use tenure_core::{Queue, ReservedDesc, State, Subresource, TileRegion, Usage};
use test_random::Rng;

use super::one_of;
use crate::world::{Checked, Tiles, World, wrong};

const TILES: u32 = 8;

pub(super) fn create(world: &mut World, _: &mut Rng) -> Checked {
    let properties = world.device().properties();
    let tile = properties.tile_size;
    if !properties.features.contains(Features::RESERVED_BUFFERS) || world.tiles.len() >= 2 {
        return Ok(());
    }
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let made =
        world.gpu.create_reserved(&ReservedDesc::buffer(u64::from(TILES) * tile, usage).name("sparse"));
    world.say(|| "a reserved buffer".to_owned());
    if let Some(reserved) = world.allow("a reserved buffer", made)? {
        let count = TILES as usize;
        world.tiles.push(Tiles {
            reserved,
            bytes: vec![None; count],
            is_mapped: vec![false; count],
            is_shared: vec![false; count],
        });
    }
    Ok(())
}

fn region(rng: &mut Rng) -> (usize, usize) {
    let first = rng.below(TILES.into());
    (first as usize, 1 + rng.below(u64::from(TILES) - first) as usize)
}

pub(super) fn map(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.tiles) else { return Ok(()) };
    let (first, count) = region(rng);
    world.say(|| format!("map tiles {first}+{count}"));
    let mapped =
        world.tiles[at].reserved.map(Queue::Graphics, TileRegion::buffer(first as u32, count as u32));
    if world.allow("map tiles", mapped)?.is_some() {
        let tiles = &mut world.tiles[at];
        tiles.bytes[first..first + count].fill(None);
        tiles.is_mapped[first..first + count].fill(true);
        tiles.is_shared[first..first + count].fill(false);
    }
    check_count(world, at)
}

pub(super) fn unmap(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.tiles) else { return Ok(()) };
    let (first, count) = region(rng);
    world.say(|| format!("unmap tiles {first}+{count}"));
    let unmapped =
        world.tiles[at].reserved.unmap(Queue::Graphics, TileRegion::buffer(first as u32, count as u32));
    if world.allow("unmap tiles", unmapped)?.is_some() {
        let tiles = &mut world.tiles[at];
        tiles.bytes[first..first + count].fill(None);
        tiles.is_mapped[first..first + count].fill(false);
        tiles.is_shared[first..first + count].fill(false);
    }
    check_count(world, at)
}

fn check_count(world: &World, at: usize) -> Checked {
    let tiles = &world.tiles[at];
    let (found, expected) =
        (tiles.reserved.mapped_tiles(), tiles.is_mapped.iter().filter(|is_mapped| **is_mapped).count());
    if found == expected { Ok(()) } else { wrong(format!("{found} tiles are mapped instead of {expected}")) }
}

/// Fills a mapped tile.
pub(super) fn fill(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.tiles) else { return Ok(()) };
    let (tile, byte) = (rng.below(TILES.into()) as usize, rng.below(256) as u8);
    if !world.tiles[at].is_mapped[tile] || world.tiles[at].is_shared[tile] {
        return Ok(());
    }
    world.say(|| format!("fill tile {tile} with {byte}"));
    let made = world.gpu.record(Queue::Graphics, "tiles");
    let Some(mut recording) = world.allow("record", made)? else { return Ok(()) };
    let Some(reserved) = world.reserved(at) else { return Ok(()) };
    let size = reserved.layout().tile_size;
    let used = recording.use_resource(reserved, Subresource::All, State::COPY_DST);
    if used.is_ok() {
        recording.raw().fill_buffer(reserved.raw(), tile as u64 * size, size, byte);
    }
    let submitted = used.and_then(|()| recording.submit());
    if world.allow("fill a tile", submitted)?.is_some() {
        world.tiles[at].bytes[tile] = Some(byte);
    }
    Ok(())
}

pub(super) fn drop_one(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.tiles) {
        world.say(|| "drop a reserved buffer".to_owned());
        drop(world.tiles.swap_remove(at));
    }
    Ok(())
}

/// Maps tiles of one buffer to the memory of another buffer's tiles. Their contents are no longer compared:
/// they may be written through either buffer.
pub(super) fn copy(world: &mut World, rng: &mut Rng) -> Checked {
    if world.tiles.len() < 2 {
        return create(world, rng);
    }
    let (first, count) = region(rng);
    let region = TileRegion::buffer(first as u32, count as u32);
    world.say(|| format!("map tiles {first}+{count} to those of another buffer"));
    let (target, source) = (&world.tiles[0], &world.tiles[1]);
    let copied = target.reserved.copy_mappings(Queue::Graphics, region, &source.reserved, region);
    if world.allow("copy mappings", copied)?.is_some() {
        let is_mapped = world.tiles[1].is_mapped[first..first + count].to_vec();
        world.tiles[0].is_mapped[first..first + count].copy_from_slice(&is_mapped);
        for tiles in &mut world.tiles {
            tiles.bytes[first..first + count].fill(None);
            tiles.is_shared[first..first + count].fill(true);
        }
    }
    check_count(world, 0)
}
