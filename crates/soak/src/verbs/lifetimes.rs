//! What must outlive the handle of it, or be waited for without being named.

use tenure_core::{
    BufferDesc, BufferViewDesc, CompactionBudget, MemoryUse, Queue, State, Subresource, SyncPoint, Usage,
};
use test_random::Rng;

use super::{any, happens, one_of, recordings};
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
    let known = KnownBuffer { number, buffer, last: SyncPoint::NONE };
    if world.allow("write what is viewed", written)?.is_some()
        && let Some(view) = world.allow("view", view)?
    {
        world.contents.add(known.part(), bytes);
        let range = ShownRange { range: Range { size: 256, ..known.all() }, is_fixed: true };
        world.shown.push(Shown { view, range });
    }
    Ok(())
}

/// Names a buffer as read by shaders, in a recording of its own that comes after `point`.
fn name_read(world: &mut World, at: usize, point: &SyncPoint) -> Checked<Option<SyncPoint>> {
    let named = world.gpu.record(Queue::Graphics, "name").and_then(|mut recording| {
        recording.wait_for(point)?;
        recording.use_resource(&world.buffers[at].buffer, Subresource::All, State::NON_PIXEL_SHADER)?;
        recording.submit()
    });
    world.allow("name a state", named)
}

/// A buffer is brought into a state, may move, and is read where it is without its state being named: by a queue that waits
/// for no copies but those that the manager makes it wait for.
pub(super) fn at_rest(world: &mut World, rng: &mut Rng) -> Checked {
    let fits = |known: &KnownBuffer| {
        known.buffer.usage().contains(Usage::SHADER_READ) && known.buffer.memory() == MemoryUse::GpuOnly
    };
    let Some(at) = one_of(rng, &world.buffers).filter(|at| fits(&world.buffers[*at])) else { return Ok(()) };
    let number = world.buffers[at].number;
    // Others bring other ranges of the same API buffer into other states.
    if !world.is_alone || world.is_busy(number) || !world.contents.is_known(world.buffers[at].part()) {
        return Ok(());
    }
    world.say(|| format!("name b{number}, and read it once it may have moved"));
    let Some(point) = name_read(world, at, &SyncPoint::NONE)? else { return Ok(()) };
    for _ in 0..rng.below(4) {
        let budget = CompactionBudget { bytes: 1 << 20, moves: 100, pieces: 10_000 };
        let compacted = world.gpu.compact(budget);
        world.allow("compact", compacted)?;
    }
    let queue = any(rng, [Queue::Graphics, Queue::Compute]);
    let read = world.gpu.record(queue, "read at rest").and_then(|mut recording| {
        recording.wait_for(&point)?;
        let buffer = &world.buffers[at].buffer;
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(buffer)?;
        commands.raw().use_buffer(place.raw(), place.offset(), buffer.size(), State::NON_PIXEL_SHADER);
        recording.submit()
    });
    let Some(point) = world.allow("read at rest", read)? else { return Ok(()) };
    // Who writes it next waits for uses that were named.
    match name_read(world, at, &point)? {
        Some(point) => world.buffers[at].last.merge(&point),
        None => drop(world.buffers.swap_remove(at)),
    }
    Ok(())
}

/// Readbacks of a recording that nobody wants any more before it is submitted: their bytes are written all the same.
pub(super) fn unwanted_reads(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(open) = recordings::pick(world, rng)? else { return Ok(()) };
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    if !known.is_read() || !world.contents.is_known(known.part()) {
        return Ok(());
    }
    let (number, size) = (known.number, known.buffer.size().min(30_000));
    world.say(|| format!("record: read b{number} back, and drop what is read"));
    for _ in 0..=rng.below(4) {
        let read = world.open[open].recording.read_back(&world.buffers[at].buffer, 0, size);
        world.open[open].note_use(number);
        world.allow("a readback that nobody wants", read)?;
    }
    Ok(())
}
