//! Page allocators, rings, deferred values, the program's own submissions, acceleration structures.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_core::device::{Features, prelude::*};
use tenure_core::{
    AccelerationStructureDesc, BufferDesc, Error, PageAllocatorDesc, Queue, SyncPoint, UploadRingDesc, Usage,
};
use test_random::Rng;

use super::{any, happens, one_of, recordings};
use crate::callbacks::{check_own_panic, panic_on_purpose, survive};
use crate::world::{Checked, KnownBuffer, LONG, World, words_of, wrong};

pub(super) fn pages(world: &mut World, rng: &mut Rng) -> Checked {
    if world.pages.len() >= 3 {
        let at = rng.below(3) as usize;
        world.say(|| "drop a page allocator".to_owned());
        drop(world.pages.swap_remove(at));
        return Ok(());
    }
    world.say(|| "a page allocator".to_owned());
    let desc = PageAllocatorDesc::new(any(rng, [64 << 10, 1 << 20])).name("level");
    world.pages.push(world.gpu.create_pages(&desc));
    Ok(())
}

/// A buffer of a page allocator, which is used like any other.
pub(super) fn in_page(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.pages) else { return Ok(()) };
    let number = world.number();
    let size = rng.size(18);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC;
    let made = world.pages[at].create_buffer(&BufferDesc::new(size, usage).name(format!("b{number}")));
    world.say(|| format!("create b{number} in a page, {size} B"));
    if let Some(buffer) = world.allow("a buffer in a page", made)? {
        let known = KnownBuffer::new(number, buffer);
        world.contents.add_undefined(known.part(), size);
        world.buffers.push(known);
    }
    Ok(())
}

pub(super) fn ring(world: &mut World, rng: &mut Rng) -> Checked {
    if world.rings.len() >= 2 {
        let at = rng.below(2) as usize;
        world.say(|| "drop a ring".to_owned());
        drop(world.rings.swap_remove(at));
        return Ok(());
    }
    world.say(|| "a ring".to_owned());
    let desc = UploadRingDesc::new(any(rng, [64 << 10, 1 << 20])).name("ring");
    let made = world.gpu.create_upload_ring(&if happens(rng, 50) { desc.dedicate() } else { desc });
    if let Some(ring) = world.allow("a ring", made)? {
        world.rings.push(ring);
    }
    Ok(())
}

/// A value that is dropped when the GPU has finished.
pub(super) fn defer(world: &mut World, rng: &mut Rng) -> Checked {
    let act = world.callbacks.choose(rng);
    let value = world.callbacks.value(act);
    let way = rng.below(3);
    world.say(|| format!("a deferred value, way {way}: {act:?}"));
    match way {
        0 => world.kept.push(Box::new(world.gpu.defer("deferred", value))),
        1 => drop(world.gpu.defer("deferred", value)),
        _ => {
            let released = survive(|| Ok(world.gpu.release_after(value, world.gpu.submitted())?));
            world.allow("release after a point", released)?;
        }
    }
    Ok(())
}

/// A submission of the program's own; it may fail, or panic.
pub(super) fn external(world: &mut World, rng: &mut Rng) -> Checked {
    let (queue, way) = (recordings::queue(rng), rng.below(4));
    world.say(|| format!("submit on {queue:?} by itself, way {way}"));
    let waits = if happens(rng, 50) { world.gpu.submitted() } else { SyncPoint::NONE };
    let gpu = world.gpu.clone();
    let run = || {
        gpu.submit_external(queue, &waits, |_| match way {
            0 => Err(Error::ShutDown),
            1 => panic_on_purpose(),
            2 => {
                // Nothing can be submitted from inside.
                let inside = gpu.record(Queue::Graphics, "inside")?.submit();
                Ok(inside.is_err())
            }
            _ => Ok(true),
        })
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Err(panic) => check_own_panic("submit_external", &words_of(&*panic)),
        Ok(Err(Error::ShutDown)) if way == 0 => Ok(()),
        Ok(Ok(_)) if way < 2 => wrong("submit_external succeeds, and the program does not"),
        Ok(Ok((false, _))) => wrong("a submission inside of submit_external succeeds"),
        Ok(submitted) => world.allow("submit_external", submitted).map(|_| ()),
    }
}

/// Acceleration structures are built.
pub(super) fn structures(world: &mut World, rng: &mut Rng) -> Checked {
    if !world.device().properties().features.contains(Features::ACCELERATION_STRUCTURES) {
        return Ok(());
    }
    if world.structures.len() >= 4 {
        world.structures.swap_remove(rng.below(4) as usize);
    }
    world.say(|| "build an acceleration structure".to_owned());
    let size = any(rng, [256, 5000, 70_000]);
    let made = world.gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(size).name("rock"));
    let Some(structure) = world.allow("a structure", made)? else { return Ok(()) };
    let recorded = world.gpu.record(any(rng, [Queue::Graphics, Queue::Compute]), "build");
    let Some(mut recording) = world.allow("record", recorded)? else { return Ok(()) };
    let built = recording.use_structures([&structure]).and_then(|()| {
        let (commands, scratch) = recording.split();
        let room = scratch.build_scratch(1000)?;
        let place = (room.raw(), room.offset(), room.size());
        commands.raw().build_acceleration_structure(structure.raw(), place, size / 2, &[]);
        Ok(())
    });
    if world.allow("a build", built)?.is_some() {
        let submitted = recording.submit();
        if world.allow("submit", submitted)?.is_some() {
            world.structures.push(structure);
        }
    }
    Ok(())
}

pub(super) fn drop_kept(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.kept) {
        world.say(|| "drop something".to_owned());
        drop(world.kept.swap_remove(at));
    }
    Ok(())
}

/// Builds a structure, queries its size, copies it, and compacts it.
pub(super) fn compact_structures(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.structures) else { return Ok(()) };
    world.say(|| "copy and compact an acceleration structure".to_owned());
    let queue = any(rng, [Queue::Graphics, Queue::Compute]);
    let structure = &world.structures[at];
    let asked = world.gpu.record(queue, "ask").and_then(|mut recording| {
        let size = recording.query_compacted_size(structure)?;
        recording.submit()?;
        Ok(size)
    });
    let Some(ticket) = world.allow("the size of a structure", asked)? else { return Ok(()) };
    let waited = ticket.wait(LONG);
    let Some(size) = world.allow("wait for the size of a structure", waited)? else { return Ok(()) };
    let structure = &world.structures[at];
    if size.0 == 0 || size.0 > structure.size() {
        return wrong(format!("{} B of {} after compaction", size.0, structure.size()));
    }
    let desc = AccelerationStructureDesc::bottom(structure.size()).name("copy");
    let copied = world.gpu.create_acceleration_structure(&desc).and_then(|copy| {
        let mut recording = world.gpu.record(queue, "copy")?;
        recording.copy_acceleration_structure(structure, &copy)?;
        let small = recording.compact(structure, size)?;
        recording.submit()?;
        Ok((copy, small))
    });
    let Some((copy, small)) = world.allow("copies of a structure", copied)? else { return Ok(()) };
    if small.size() != size.0 {
        return wrong(format!("a compacted structure of {} B instead of {}", small.size(), size.0));
    }
    let copied = if happens(rng, 50) { copy } else { small };
    drop(std::mem::replace(&mut world.structures[at], copied));
    Ok(())
}
