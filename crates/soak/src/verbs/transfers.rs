//! Uploads and readbacks outside of recordings.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_core::{Error, MemoryUse, Readback, TexelData, TextureRegion};
use tenure_sim::Device;
use test_random::Rng;

use super::{happens, one_of, span};
use crate::contents::{Effect, Range};
use crate::world::{Checked, Grid, KnownTexture, LONG, Read, Task, World, compare, wrong};

pub(super) fn upload(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    if known.buffer.memory() != MemoryUse::GpuOnly || world.is_busy(known.number) {
        return Ok(());
    }
    let (number, (offset, size)) = (known.number, span(rng, known.buffer.size()));
    let (bytes, to) = (rng.bytes(size), Range { offset, size, ..known.all() });
    let uploaded = world.gpu.upload(&known.buffer, offset, &bytes);
    world.say(|| format!("upload to b{number} {offset}+{size}"));
    if let Some(upload) = world.allow("upload", uploaded)? {
        world.contents.write(to, &bytes);
        world.uploads.push(upload);
    }
    Ok(())
}

pub(super) fn upload_texture(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[at];
    if world.is_busy(known.number) {
        return Ok(());
    }
    let (number, part) = (known.number, rng.below(known.parts().into()) as u32);
    let (to, grid) = (known.all(part), known.grid(part));
    let window = if happens(rng, 40) { window(rng, known, &grid) } else { None };
    let Window { region, first, row, rows } = window.unwrap_or(Window::whole(&grid));
    let bytes = rng.bytes(row * rows);
    let uploaded = world.gpu.upload_texture(&known.texture, region, TexelData::new(&bytes));
    world.say(|| format!("upload to t{number} part {part}: {:?} at {:?}", region.extent, region.origin));
    if let Some(upload) = world.allow("upload texels", uploaded)? {
        for (at, texels) in (0..).zip(bytes.chunks(row as usize)) {
            world.contents.write(Range { offset: first + at * grid.row, size: row, ..to }, texels);
        }
        world.uploads.push(upload);
    }
    Ok(())
}

/// Some texels of a subresource: where the first is among its bytes, and how many rows of how many bytes there are.
struct Window {
    region: TextureRegion,
    first: u64,
    row: u64,
    rows: u64,
}

impl Window {
    const fn whole(grid: &Grid) -> Self {
        Self { region: grid.region, first: 0, row: grid.row, rows: grid.rows }
    }
}

/// A part of a flat subresource; copies of depth are of all of it.
fn window(rng: &mut Rng, known: &KnownTexture, grid: &Grid) -> Option<Window> {
    let format = known.texture.info().format;
    let (region, block) = (grid.region, grid.region.block(format));
    let [width, height, depth] = region.extent;
    if format.is_depth() || depth > 1 {
        return None;
    }
    let (columns, rows) = (u64::from(width / block.width), u64::from(height / block.height));
    if columns == 0 || rows == 0 {
        return None;
    }
    let ((left, across), (top, down)) = (span(rng, columns), span(rng, rows));
    let texels = |blocks: u64, size: u32| blocks as u32 * size;
    let region = TextureRegion {
        origin: [texels(left, block.width), texels(top, block.height), 0],
        extent: [texels(across, block.width), texels(down, block.height), 1],
        ..region
    };
    let bytes = u64::from(block.bytes);
    Some(Window { region, first: top * grid.row + left * bytes, row: across * bytes, rows: down })
}

pub(super) fn flush(world: &mut World, _: &mut Rng) -> Checked {
    world.say(|| "flush the uploads".to_owned());
    let flushed = world.gpu.flush_uploads();
    world.allow("flush the uploads", flushed)?;
    Ok(())
}

pub(super) fn wait_upload(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.uploads) else { return Ok(()) };
    let upload = world.uploads.swap_remove(at);
    world.say(|| "wait for an upload".to_owned());
    let waited = world.gpu.wait_upload(&upload, LONG);
    match world.allow("wait for an upload", waited)? {
        Some(false) => wrong("an upload does not become complete"),
        _ => Ok(()),
    }
}

fn keep(world: &mut World, from: Range, readback: Readback<Device>) {
    let number = world.number();
    world.contents.apply(vec![Effect::Read { read: number, from }]);
    world.reads.push(Read { number, readback });
}

pub(super) fn read_back(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    if !known.is_read() || !world.contents.is_known(known.part()) {
        return Ok(());
    }
    let (number, (offset, size)) = (known.number, span(rng, known.buffer.size()));
    let from = Range { offset, size, ..known.all() };
    let read = world.gpu.read_back(&known.buffer, offset, size);
    world.say(|| format!("read b{number} {offset}+{size} back"));
    if let Some(readback) = world.allow("read back", read)? {
        let submitted = world.gpu.submitted();
        world.buffers[at].last.merge(&submitted);
        keep(world, from, readback);
    }
    Ok(())
}

pub(super) fn read_back_texture(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[at];
    let part = rng.below(known.parts().into()) as u32;
    if !world.contents.is_known(known.part(part)) {
        return Ok(());
    }
    let (number, from) = (known.number, known.all(part));
    let read = world.gpu.read_back_texture(&known.texture, known.grid(part).region);
    world.say(|| format!("read t{number} part {part} back"));
    if let Some(readback) = world.allow("read texels back", read)? {
        keep(world, from, readback);
    }
    Ok(())
}

/// Polls some, waits for others, awaits and forgets others.
pub(super) fn look_at_reads(world: &mut World, rng: &mut Rng) -> Checked {
    match rng.below(3) {
        0 => world.check_reads(Duration::ZERO),
        1 if world.open.is_empty() && !world.has_leaked => world.check_reads(LONG),
        _ => poll_one(world, rng),
    }
}

/// A future that is polled once, and dropped.
fn poll_one(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.reads) else { return Ok(()) };
    let Read { number, readback } = world.reads.swap_remove(at);
    let name = readback.name().to_string();
    world.say(|| format!("await {name} once"));
    let future = pin!(readback);
    let polled = future.poll(&mut Context::from_waker(Waker::noop()));
    let expected = world.contents.take_found(number);
    match polled {
        Poll::Pending => Ok(()),
        Poll::Ready(Ok(found)) => {
            expected.flatten().map_or(Ok(()), |expected| compare(&name, &found, &expected))
        }
        Poll::Ready(Err(Error::Discarded { .. })) if expected.is_none() => Ok(()),
        Poll::Ready(Err(error)) => world.allow::<()>("await", Err(error)).map(|_| ()),
    }
}

/// A task that awaits a readback, or one that was woken and is polled again.
pub(super) fn await_one(world: &mut World, rng: &mut Rng) -> Checked {
    let woken = world.tasks.iter().position(|task| task.alarm.was_woken());
    let (number, readback) = if let Some(at) = woken {
        let Task { number, readback, .. } = world.tasks.swap_remove(at);
        (number, readback)
    } else if let Some(at) = one_of(rng, &world.reads) {
        let Read { number, readback } = world.reads.swap_remove(at);
        (number, Box::pin(readback))
    } else {
        return Ok(());
    };
    let act = world.callbacks.choose(rng);
    world.say(|| format!("await {}: {act:?}", readback.name()));
    let alarm = world.callbacks.alarm(act);
    world.poll(Task { number, readback, alarm })
}

pub(super) fn drop_read(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.reads)
        && happens(rng, 80)
    {
        let read = world.reads.swap_remove(at);
        world.say(|| format!("drop a readback of {}", read.readback.name()));
    }
    Ok(())
}
