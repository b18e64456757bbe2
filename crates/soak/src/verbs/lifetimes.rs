//! Objects that must outlive their handle, and waits without declared uses.

use tenure_core::{
    BufferDesc, BufferViewDesc, CompactionBudget, MemoryUse, Queue, State, Subresource, SyncPoint, Usage,
};
use test_random::Rng;

use super::{any, descriptors, happens, one_of, recordings};
use crate::callbacks::survive;
use crate::contents::Range;
use crate::world::{Checked, KnownBuffer, Shown, ShownRange, World};

/// A view whose buffer is dropped at once: only the view keeps it.
pub(super) fn orphan(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let size = any(rng, [256, 4096, 40_000]);
    let desc = BufferDesc::new(size, Usage::SHADER_READ).memory(MemoryUse::Upload).name(format!("b{number}"));
    let desc = if happens(rng, 50) { desc.own_resource() } else { desc };
    world.say(|| format!("create b{number} with {size} B, view it and drop it"));
    let made = world.gpu.create_buffer(&desc);
    let Some(buffer) = world.allow("create a buffer for a view", made)? else { return Ok(()) };
    let bytes = rng.bytes(size);
    let written = buffer.write(0, &bytes);
    let view = world.gpu.create_buffer_view(&buffer, &BufferViewDesc::raw().range(0, 256));
    let known = KnownBuffer::new(number, buffer);
    if world.allow("write a viewed buffer", written)?.is_some()
        && let Some(view) = world.allow("view", view)?
    {
        world.contents.add(known.part(), bytes);
        let range = ShownRange { range: Range { size: 256, ..known.all() }, is_fixed: true };
        world.shown.push(Shown { view, range });
    }
    Ok(())
}

/// Names the state of a buffer, in a recording of its own that comes after `point`.
fn name_state(world: &mut World, at: usize, state: State, point: &SyncPoint) -> Checked<Option<SyncPoint>> {
    let named = world.gpu.record(Queue::Graphics, "name").and_then(|mut recording| {
        recording.wait_for(point)?;
        recording.use_resource(&world.buffers[at].buffer, Subresource::All, state)?;
        recording.submit()
    });
    world.allow("name a state", named)
}

/// Some calls that may move resources.
fn move_things(world: &mut World, calls: u64) -> Checked {
    for _ in 0..calls {
        let budget = CompactionBudget { bytes: 1 << 20, moves: 100, pieces: 10_000 };
        let compacted = world.gpu.compact(budget);
        world.allow("compact", compacted)?;
    }
    Ok(())
}

/// Creates buffers that may move, and drops most of them: compaction has something to do.
fn thin_out(world: &mut World, rng: &mut Rng) -> Checked {
    world.say(|| "create buffers that may move, and drop most of them".to_owned());
    let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
    let mut all = Vec::new();
    for _ in 0..16 {
        let number = world.number();
        let desc = BufferDesc::new(40_000, usage).movable().name(format!("b{number}"));
        let bytes = rng.bytes(desc.size);
        let made = world.gpu.create_buffer_with(&desc, &bytes);
        if let Some(buffer) = world.allow("create a buffer that moves", made)? {
            all.push((KnownBuffer::new(number, buffer), bytes));
        }
    }
    let flushed = world.gpu.flush_uploads();
    world.allow("flush the uploads", flushed)?;
    for (known, bytes) in all.into_iter().step_by(7) {
        world.contents.add(known.part(), bytes);
        world.buffers.push(known);
    }
    let reclaimed = survive(|| world.gpu.reclaim());
    world.allow("reclaim", reclaimed)?;
    Ok(())
}

/// A buffer is brought into a state, may move, and is used at its new place without a declared state: by a
/// queue that waits only for copies that the manager orders before it, and that later copies wait for.
pub(super) fn at_rest(world: &mut World, rng: &mut Rng) -> Checked {
    let fits = |known: &KnownBuffer| {
        known.buffer.usage().contains(Usage::SHADER_READ) && known.buffer.memory() == MemoryUse::GpuOnly
    };
    if happens(rng, 50) {
        thin_out(world, rng)?;
    }
    let newest = world.buffers.len().checked_sub(1);
    let at = if happens(rng, 70) { newest } else { one_of(rng, &world.buffers) };
    let Some(at) = at.filter(|at| fits(&world.buffers[*at])) else { return Ok(()) };
    let number = world.buffers[at].number;
    // Others bring other ranges of the same API buffer into other states.
    if !world.is_alone || world.is_busy(number) || !world.contents.is_known(world.buffers[at].part()) {
        return Ok(());
    }
    world.say(|| format!("name b{number}, and use it once it may have moved"));
    let is_written = world.buffers[at].buffer.usage().contains(Usage::UNORDERED_ACCESS) && happens(rng, 50);
    let writes = [State::UNORDERED_ACCESS, State::COMPUTE_UNORDERED_ACCESS];
    let reads = [State::NON_PIXEL_SHADER, State::COMPUTE_SHADER];
    let state = any(rng, if is_written { writes } else { reads });
    let Some(point) = name_state(world, at, state, &SyncPoint::NONE)? else { return Ok(()) };
    move_things(world, rng.below(4))?;
    let queue = any(rng, [Queue::Graphics, Queue::Compute]);
    let used = world.gpu.record(queue, "use at rest").and_then(|mut recording| {
        recording.wait_for(&point)?;
        let buffer = &world.buffers[at].buffer;
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(buffer)?;
        commands.raw().use_buffer(place.raw(), place.offset(), buffer.size(), state);
        recording.submit()
    });
    let Some(point) = world.allow("use at rest", used)? else { return Ok(()) };
    move_things(world, rng.below(4))?;
    // The next writer waits only for declared uses.
    match name_state(world, at, state, &point)? {
        Some(point) => world.buffers[at].last.merge(&point),
        None => drop(world.buffers.swap_remove(at)),
    }
    Ok(())
}

/// Lets resources of a table move, writes them, and reads them through the table.
pub(super) fn moved_views(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.tables) else { return Ok(()) };
    move_things(world, 1 + rng.below(3))?;
    let parts: Vec<_> = world.tables[at].ranges.iter().map(|shown| shown.range).collect();
    for range in parts {
        let number = range.part.object;
        let Some(buffer) = world.buffer(number).filter(|it| it.memory() == MemoryUse::GpuOnly) else {
            continue;
        };
        if world.is_busy(number) {
            continue;
        }
        let bytes = rng.bytes(range.size);
        let uploaded = world.gpu.upload(buffer, range.offset, &bytes);
        if let Some(upload) = world.allow("upload to a shown buffer", uploaded)? {
            world.contents.write(range, &bytes);
            world.uploads.push(upload);
        }
    }
    descriptors::read_table(world, Some(at), None, false)
}

/// Readbacks of a recording that are dropped before it is submitted: their bytes are written nevertheless.
pub(super) fn unwanted_reads(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(open) = recordings::pick(world, rng)? else { return Ok(()) };
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    if !known.is_read() || !world.contents.is_known(known.part()) {
        return Ok(());
    }
    let (number, size) = (known.number, known.buffer.size().min(30_000));
    world.say(|| format!("record: read b{number} back, and drop the readback"));
    for _ in 0..=rng.below(4) {
        let read = world.open[open].recording.read_back(&world.buffers[at].buffer, 0, size);
        world.open[open].note_use(number);
        world.allow("a readback that nobody wants", read)?;
    }
    Ok(())
}
