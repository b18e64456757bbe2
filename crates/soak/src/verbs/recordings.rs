//! Recordings: opening and ending them, and commands other than copies.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_core::{BufferDesc, Error, Queue, State, Subresource, Texture, TextureDesc, Usage};
use tenure_core::{Format, device::CommandList as _};
use tenure_sim::Device;
use test_random::Rng;

use super::{any, happens, one_of, span, textures};
use crate::callbacks::{check_own_panic, panic_on_purpose};
use crate::contents::{Effect, Range};
use crate::setup::Trouble;
use crate::world::{Checked, LONG, OpenRecording, World, words_of, wrong};

/// Recordings that are open at once.
const MOST_OPEN: usize = 5;

/// Reads by shaders of each kind, and by several.
pub(super) const SHADER_READS: [State; 6] = [
    State::NON_PIXEL_SHADER,
    State::SHADER_READ,
    State::VERTEX_SHADER,
    State::MESH_SHADER,
    State::COMPUTE_SHADER,
    State::RAY_TRACING_SHADER,
];

/// Writes by shaders of all kinds, and of one.
pub(super) const SHADER_WRITES: [State; 4] = [
    State::UNORDERED_ACCESS,
    State::MESH_UNORDERED_ACCESS,
    State::COMPUTE_UNORDERED_ACCESS,
    State::RAY_TRACING_UNORDERED_ACCESS,
];

/// A queue, graphics mostly.
pub(super) fn queue(rng: &mut Rng) -> Queue {
    any(rng, [Queue::Graphics, Queue::Graphics, Queue::Compute, Queue::Copy])
}

pub(super) fn open(world: &mut World, rng: &mut Rng) -> Checked {
    if world.open.len() >= MOST_OPEN {
        return submit(world, rng);
    }
    let (queue, is_of_frame) = (queue(rng), happens(rng, 50));
    let number = world.number();
    world.say(|| format!("open recording r{number} on {queue:?}"));
    let made = match &world.frame {
        Some(frame) if is_of_frame => frame.record(queue, format!("r{number}")),
        _ => world.gpu.record(queue, format!("r{number}")),
    };
    if let Some(recording) = world.allow("record", made)? {
        world.open.push(OpenRecording::new(recording, is_of_frame));
    }
    Ok(())
}

pub(super) fn submit(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.open) else { return Ok(()) };
    let open = world.open.swap_remove(at);
    world.say(|| format!("submit {:?}", open.recording.id()));
    world.submit(open)?;
    Ok(())
}

/// Several at once, in any order, if a frame is open.
pub(super) fn submit_all(world: &mut World, rng: &mut Rng) -> Checked {
    let mut all = Vec::new();
    for _ in 0..1 + rng.below(MOST_OPEN as u64) {
        let Some(at) = one_of(rng, &world.open).filter(|_| world.frame.is_some()) else { break };
        all.push(world.open.swap_remove(at));
    }
    let ids: Vec<_> = all.iter().map(|open| open.recording.id()).collect();
    world.say(|| format!("submit together {ids:?}"));
    world.submit_all(all)
}

pub(super) fn discard(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.open) {
        let open = world.open.swap_remove(at);
        world.say(|| format!("discard {:?}", open.recording.id()));
    }
    Ok(())
}

/// A recording of the program, for some commands; opened if there is none.
pub(super) fn pick(world: &mut World, rng: &mut Rng) -> Checked<Option<usize>> {
    if world.open.is_empty() {
        open(world, rng)?;
    }
    Ok(one_of(rng, &world.open))
}

/// Waits for a submission, or for a sync point that is never submitted.
pub(super) fn wait_for_point(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let mut point = world.gpu.submitted();
    let is_impossible = happens(rng, 20);
    let newest = point.iter().next().filter(|_| is_impossible);
    if let Some(newest) = newest {
        point.require(newest.queue, newest.serial + 1000);
    }
    let is_impossible = newest.is_some();
    let waited = world.open[at].recording.wait_for(&point);
    if is_impossible && waited.is_ok() {
        return wrong("a recording waits for a sync point that was never submitted");
    }
    world.say(|| format!("wait for {point:?}"));
    world.allow("wait for a point", waited)?;
    Ok(())
}

/// Shaders read buffers, and write back the same bytes.
pub(super) fn use_buffers(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    for _ in 0..1 + rng.below(5) {
        let Some(index) = one_of(rng, &world.buffers) else { break };
        let known = &world.buffers[index];
        if !known.is_read() || !world.contents.is_known(known.part()) {
            continue;
        }
        let usage = known.buffer.usage();
        let state = match usage {
            // No byte changes.
            _ if usage.contains(Usage::UNORDERED_ACCESS) && happens(rng, 40) => any(rng, SHADER_WRITES),
            _ if usage.contains(Usage::SHADER_READ) => any(rng, SHADER_READS),
            _ => State::COPY_SRC,
        };
        let recording = &mut world.open[at].recording;
        let used = recording.use_resource(&known.buffer, Subresource::All, state);
        if used.is_ok() {
            let (commands, scratch) = recording.split();
            if let Ok(place) = scratch.buffer(&known.buffer) {
                let (offset, size) = span(rng, known.buffer.size());
                commands.raw().use_buffer(place.raw(), place.offset() + offset, size, state);
            }
            world.open[at].note_use(known.number);
        }
        let number = known.number;
        world.say(|| format!("use b{number} in {state:?}"));
        world.allow("use a buffer", used)?;
    }
    Ok(())
}

/// A shader reads a texture.
pub(super) fn use_textures(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[index];
    let part = rng.below(known.parts().into()) as u32;
    if !world.contents.is_known(known.part(part)) {
        return Ok(());
    }
    let state = if happens(rng, 25) { State::COPY_SRC } else { any(rng, SHADER_READS) };
    let recording = &mut world.open[at].recording;
    let used = recording.use_resource(&known.texture, Subresource::One(part), state);
    if used.is_ok() {
        let (commands, scratch) = recording.split();
        if let Ok(object) = scratch.texture(&known.texture) {
            commands.raw().use_texture(object, Subresource::One(part), state);
        }
        world.open[at].note_use(known.number);
    }
    let number = known.number;
    world.say(|| format!("read t{number} part {part} in {state:?}"));
    world.allow("use a texture", used)?;
    Ok(())
}

/// Several mips and layers of a texture are declared at once.
pub(super) fn use_range(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[index];
    let (range, parts) = textures::range(rng, known.texture.info());
    if parts.iter().any(|part| !world.contents.is_known(known.part(*part))) {
        return Ok(());
    }
    let state = if happens(rng, 25) { State::COPY_SRC } else { any(rng, SHADER_READS) };
    let recording = &mut world.open[at].recording;
    let used = recording.use_resource(&known.texture, range, state);
    if used.is_ok() {
        let (commands, scratch) = recording.split();
        if let Ok(object) = scratch.texture(&known.texture) {
            parts.iter().for_each(|part| commands.raw().use_texture(object, Subresource::One(*part), state));
        }
        world.open[at].note_use(known.number);
    }
    let number = known.number;
    world.say(|| format!("read parts {parts:?} of t{number} in {state:?}"));
    world.allow("use a texture", used)?;
    Ok(())
}

/// Constants, compared on the GPU with the written values.
pub(super) fn constants(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    world.say(|| "constants".to_owned());
    for _ in 0..1 + rng.below(6) {
        let size = rng.size(11);
        let bytes = rng.bytes(size);
        let (commands, scratch) = world.open[at].recording.split();
        let made = scratch.constant_bytes(&bytes).map(|constant| {
            commands.raw().expect_bytes(constant.raw(), constant.offset(), &bytes);
        });
        world.allow("constants", made)?;
    }
    Ok(())
}

/// Bytes from an upload ring to a buffer.
pub(super) fn ring(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let (Some(ring), Some(index)) = (one_of(rng, &world.rings), one_of(rng, &world.buffers)) else {
        return Ok(());
    };
    let known = &world.buffers[index];
    if !known.is_written() {
        return Ok(());
    }
    let (offset, size) = span(rng, known.buffer.size().min(40_000));
    let (bytes, to) = (rng.bytes(size), Range { offset, size, ..known.all() });
    let (commands, scratch) = world.open[at].recording.split();
    let copied = world.rings[ring].allocate(scratch, size, any(rng, [4, 16, 256])).and_then(|slice| {
        slice.write(0, &bytes)?;
        commands.copy_slice(&slice, 0, &known.buffer, offset, size)
    });
    let number = known.number;
    if copied.is_ok() {
        world.open[at].note(Effect::Write { to, bytes });
    }
    world.say(|| format!("from a ring to b{number} {offset}+{size}"));
    world.allow("a ring", copied)?;
    Ok(())
}

/// Transient resources of one recording, filled and looked at.
pub(super) fn transient(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    world.say(|| "transient resources".to_owned());
    let recording = &mut world.open[at].recording;
    let mut acquired = Vec::new();
    let mut done = Ok(());
    for _ in 0..1 + rng.below(3) {
        let size = any(rng, [4096, 70_000, 400_000]);
        let desc = BufferDesc::new(size, Usage::SHADER_READ | Usage::UNORDERED_ACCESS).name("transient");
        match recording.transient_buffer(&desc) {
            Ok(buffer) => acquired.push(buffer),
            Err(error) => done = Err(error),
        }
    }
    for buffer in &acquired {
        let byte = rng.below(256) as u8;
        let filled = recording.use_resource(buffer, Subresource::All, State::COPY_DST).and_then(|()| {
            recording.raw().fill_buffer(buffer.raw(), buffer.offset(), buffer.size(), byte);
            recording.use_resource(buffer, Subresource::All, State::COPY_SRC)
        });
        if filled.is_ok() {
            recording.raw().expect_bytes(buffer.raw(), buffer.offset() + buffer.size() / 2, &[byte; 8]);
        }
        done = done.and(filled);
    }
    if happens(rng, 50) {
        let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("transient");
        done = done.and(recording.transient_texture(&desc).map(drop));
    }
    drop(acquired);
    world.allow("transient resources", done)?;
    Ok(())
}

/// A target whose content never leaves a pass, of the recording or of the program: drawn to in one pass after the other.
pub(super) fn attachments(world: &mut World, rng: &mut Rng) -> Checked {
    let (format, usage, state) = match happens(rng, 50) {
        true => (Format::Rgba8Unorm, Usage::RENDER_TARGET, State::RENDER_TARGET),
        false => (Format::D32Float, Usage::DEPTH_STENCIL, State::DEPTH_WRITE),
    };
    let usage = usage | Usage::TRANSIENT_ATTACHMENT;
    if !world.gpu.supports_format(format, usage) {
        return Ok(());
    }
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let (is_kept, passes) = (happens(rng, 50), 1 + rng.below(3));
    let desc = TextureDesc::d2(64, 64, format, usage).name("attachment");
    world.say(|| format!("a transient attachment of {format:?} in {passes} passes"));
    if is_kept {
        let texture = world.gpu.create_texture(&desc);
        let Some(texture) = world.allow("a transient attachment", texture)? else { return Ok(()) };
        draw(world, at, (&texture, state), passes)?;
        if happens(rng, 50) {
            world.kept.push(Box::new(texture));
        }
    } else {
        let texture = world.open[at].recording.transient_texture(&desc);
        let Some(texture) = world.allow("a transient attachment", texture)? else { return Ok(()) };
        draw(world, at, (&texture, state), passes)?;
    }
    Ok(())
}

/// Draws to an attachment in passes of a recording.
fn draw(world: &mut World, at: usize, (target, state): (&Texture<Device>, State), passes: u64) -> Checked {
    for pass in 0..passes {
        let recording = &mut world.open[at].recording;
        let drawn = recording.use_resource(target, Subresource::All, state).map(|()| {
            recording.barriers();
            recording.raw().clear_texture(target.raw(), Subresource::All, &[pass as u8]);
        });
        if world.allow("draw to a transient attachment", drawn)?.is_none() {
            return Ok(());
        }
        let recording = &mut world.open[at].recording;
        if recording.use_resource(target, Subresource::All, State::COPY_SRC).is_ok() {
            return wrong("the content of a transient attachment can be copied");
        }
    }
    Ok(())
}

pub(super) fn queries(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    world.say(|| "queries".to_owned());
    let recording = &mut world.open[at].recording;
    let written = recording.write_timestamp();
    let counted = recording.begin_occlusion().and_then(|query| recording.end_query(query)).map(drop);
    if happens(rng, 20) {
        // Left open: it ends with the recording.
        let _open = recording.begin_pipeline_statistics();
    }
    if let Some(ticket) = world.allow("a timestamp", written)? {
        world.tickets.push(ticket);
    }
    world.allow("occlusion", counted)?;
    if let Some(index) = one_of(rng, &world.tickets) {
        let ticket = world.tickets.swap_remove(index);
        let polled = ticket.poll();
        world.allow("poll a ticket", polled)?;
    }
    Ok(())
}

/// The GPU's time of a scope, in which the program may panic.
pub(super) fn gpu_time(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let panics = happens(rng, 50);
    world.say(|| format!("time a scope{}", if panics { " that panics" } else { "" }));
    let recording = &mut world.open[at].recording;
    let timed = catch_unwind(AssertUnwindSafe(|| {
        recording.gpu_time("scope", |recording| {
            recording.raw_mut(tenure_core::device::Permit::checked()).barriers(&[]);
            if panics {
                panic_on_purpose();
            }
            Ok::<_, Error>(())
        })
    }));
    match timed {
        Ok(Ok(_)) if panics => wrong("a scope that panics does not"),
        Ok(timed) => world.allow("time a scope", timed.map(drop)).map(|_| ()),
        Err(panic) => check_own_panic("the scope", &words_of(&*panic)),
    }
}

/// Reserves lists for future recordings: then this number can be open without creating a list.
pub(super) fn reserve(world: &mut World, rng: &mut Rng) -> Checked {
    let (queue, count) = (queue(rng), 1 + rng.below(4) as usize);
    world.say(|| format!("reserve {count} recordings on {queue:?}"));
    let reserved = world.gpu.reserve_recordings(queue, count);
    // A list with failing calls is abandoned.
    let is_exact = world.is_counted() && world.trouble == Trouble::None;
    if world.allow("reserve recordings", reserved)?.is_none() || !is_exact {
        return Ok(());
    }
    let before = world.gpu.stats().lists_created;
    let mut open = Vec::new();
    for _ in 0..count {
        let recorded = world.gpu.record(queue, "of those reserved");
        open.extend(world.allow("record", recorded)?);
    }
    let made = world.gpu.stats().lists_created - before;
    if made > 0 { wrong(format!("{made} lists are created, although {count} were reserved")) } else { Ok(()) }
}

/// One recording signals a fence of the program's own, and another one waits for it.
pub(super) fn fences(world: &mut World, rng: &mut Rng) -> Checked {
    let (from, to) = (queue(rng), queue(rng));
    world.say(|| format!("{from:?} signals a fence that {to:?} waits for"));
    let fence = world.device().create_fence("own");
    let first = world.gpu.record(from, "signal").and_then(|mut recording| {
        recording.signal_external(fence.at(1));
        recording.submit()
    });
    if world.allow("signal a fence", first)?.is_none() {
        return Ok(());
    }
    let second = world.gpu.record(to, "wait").and_then(|mut recording| {
        recording.wait_for_external(fence.at(1));
        recording.submit()
    });
    if let Some(point) = world.allow("wait for a fence", second)? {
        let waited = world.gpu.wait(&point, LONG);
        if world.allow("wait for the GPU", waited)? == Some(false) {
            return wrong("who waits for a fence waits for ever");
        }
    }
    // A fence may be dropped when its signalling submission is complete.
    let waited = world.gpu.wait(&world.gpu.submitted(), LONG);
    match world.allow("wait for the GPU", waited)? {
        Some(true) => drop(fence),
        _ => world.kept.push(Box::new(fence)),
    }
    Ok(())
}

/// Constants addressed by a value without a lifetime, valid only in their recording.
pub(super) fn untyped(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let size = rng.size(9);
    let bytes = rng.bytes(size);
    world.say(|| "constants without a lifetime".to_owned());
    let made = world.open[at].recording.split().1.untyped_constants(&bytes);
    let Some(constants) = world.allow("constants", made)? else { return Ok(()) };
    let (commands, scratch) = world.open[at].recording.split();
    match scratch.find(constants) {
        Ok(found) if found.size() == size => commands.raw().expect_bytes(found.raw(), found.offset(), &bytes),
        found => return wrong(format!("{:?} B of constants instead of {size}", found.map(|it| it.size()))),
    }
    let other = (at + 1) % world.open.len();
    if other != at && world.open[other].recording.split().1.find(constants).is_ok() {
        return wrong("constants are found in a recording that did not make them");
    }
    Ok(())
}

/// Queries in a separate recording, with a wait for their results.
pub(super) fn results(world: &mut World, rng: &mut Rng) -> Checked {
    let recorded = world.gpu.record(Queue::Graphics, "queries");
    let Some(mut recording) = world.allow("record", recorded)? else { return Ok(()) };
    world.say(|| "queries whose results are waited for".to_owned());
    let first = recording.write_timestamp();
    let first = world.allow("a timestamp", first)?;
    let counted = recording.begin_pipeline_statistics().and_then(|query| recording.end_query(query));
    let counted = world.allow("pipeline statistics", counted)?;
    let seen = recording.begin_binary_occlusion().and_then(|query| recording.end_query(query));
    let seen = world.allow("occlusion", seen)?;
    let second = recording.write_timestamp();
    let second = world.allow("a timestamp", second)?;
    let is_submitted = if happens(rng, 80) {
        let submitted = recording.submit();
        world.allow("submit", submitted)?.is_some()
    } else {
        drop(recording);
        false
    };
    let mut times = Vec::new();
    for ticket in [&first, &second].into_iter().flatten() {
        match ticket.wait(LONG) {
            Ok(_) if !is_submitted => return wrong("a result of queries that were not submitted"),
            Ok(time) => times.push(time),
            Err(Error::Discarded { .. }) if !is_submitted => {}
            Err(error) => drop(world.allow::<()>("wait for a timestamp", Err(error))?),
        }
    }
    if let [first, second] = &times[..]
        && second.since(first) > LONG
    {
        return wrong(format!("the times of one recording are {first:?} and {second:?}"));
    }
    if is_submitted {
        let waited = seen.map(|ticket| ticket.wait(LONG).map(drop));
        waited.map_or(Ok(None), |waited| world.allow("wait for occlusion", waited))?;
        let waited = counted.map(|ticket| ticket.wait(LONG).map(drop));
        waited.map_or(Ok(None), |waited| world.allow("wait for statistics", waited))?;
    }
    Ok(())
}
