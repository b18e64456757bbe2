//! Copies in recordings.

use tenure_core::{BufferLayout, State, Subresource, Usage};
use test_random::Rng;

use super::recordings::pick;
use super::{happens, one_of, span};
use crate::contents::{Effect, Range};
use crate::world::{Checked, Read, World};

pub(super) fn buffers(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let (Some(from), Some(to)) = (one_of(rng, &world.buffers), one_of(rng, &world.buffers)) else {
        return Ok(());
    };
    let (src, dst) = (&world.buffers[from], &world.buffers[to]);
    if !src.is_read() || !dst.is_written() || !world.contents.is_known(src.part()) || from == to {
        return Ok(());
    }
    let size = span(rng, src.buffer.size().min(dst.buffer.size())).1;
    let start = |rng: &mut Rng, whole: u64| rng.below(whole - size + 1);
    let (src_offset, dst_offset) = (start(rng, src.buffer.size()), start(rng, dst.buffer.size()));
    let copied = world.open[at].recording.copy_buffer(&src.buffer, src_offset, &dst.buffer, dst_offset, size);
    let effect = Effect::Copy {
        from: Range { offset: src_offset, size, ..src.all() },
        to: Range { offset: dst_offset, size, ..dst.all() },
    };
    let numbers = (src.number, dst.number);
    if copied.is_ok() {
        world.open[at].note(effect);
    }
    world.say(|| format!("copy b{} {src_offset}+{size} to b{} {dst_offset}", numbers.0, numbers.1));
    world.allow("copy a buffer", copied)?;
    Ok(())
}

/// A command of the program's own that writes.
pub(super) fn fill(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[index];
    if !known.is_written() {
        return Ok(());
    }
    let ((offset, size), byte) = (span(rng, known.buffer.size()), rng.below(256) as u8);
    let recording = &mut world.open[at].recording;
    let used = recording.use_resource(&known.buffer, Subresource::All, State::COPY_DST);
    let filled = used.and_then(|()| {
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(&known.buffer)?;
        commands.raw().fill_buffer(place.raw(), place.offset() + offset, size, byte);
        Ok(())
    });
    let (number, to) = (known.number, Range { offset, size, ..known.all() });
    if filled.is_ok() {
        world.open[at].note(Effect::Write { to, bytes: vec![byte; size as usize] });
    }
    world.say(|| format!("fill b{number} {offset}+{size} with {byte}"));
    world.allow("fill a buffer", filled)?;
    Ok(())
}

/// Between two textures that are alike.
pub(super) fn textures(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let (Some(from), Some(to)) = (one_of(rng, &world.textures), one_of(rng, &world.textures)) else {
        return Ok(());
    };
    let (src, dst) = (&world.textures[from], &world.textures[to]);
    let part = rng.below(src.parts().into()) as u32;
    if from == to || part >= dst.parts() || !world.contents.is_known(src.part(part)) {
        return Ok(());
    }
    let copied = world.open[at].recording.copy_texture(&src.texture, &dst.texture, Subresource::One(part));
    let effect = Effect::Copy { from: src.all(part), to: dst.all(part) };
    let numbers = (src.number, dst.number);
    if copied.is_ok() {
        world.open[at].note(effect);
    }
    world.say(|| format!("copy t{} to t{}, part {part}", numbers.0, numbers.1));
    world.allow("copy a texture", copied)?;
    Ok(())
}

/// A command of the program's own that writes all of a subresource; sometimes its contents are discarded
/// before.
pub(super) fn clear(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[index];
    let (part, byte) = (rng.below(known.parts().into()) as u32, rng.below(256) as u8);
    let usage = known.texture.info().usage;
    let state = if usage.contains(Usage::RENDER_TARGET) {
        State::RENDER_TARGET
    } else if usage.contains(Usage::DEPTH_STENCIL) {
        State::DEPTH_WRITE
    } else {
        State::COPY_DST
    };
    let recording = &mut world.open[at].recording;
    let used = recording.use_resource(&known.texture, Subresource::One(part), state);
    let cleared = used.and_then(|()| {
        let (commands, scratch) = recording.split();
        let object = scratch.texture(&known.texture)?;
        commands.raw().clear_texture(object, Subresource::One(part), &[byte]);
        Ok(())
    });
    let (number, to) = (known.number, known.all(part));
    if cleared.is_ok() {
        world.open[at].note(Effect::Write { to, bytes: vec![byte; to.size as usize] });
    }
    world.say(|| format!("clear t{number} part {part} to {byte}"));
    world.allow("clear a texture", cleared)?;
    Ok(())
}

/// The layout of rows of texels in a buffer, if they fit.
fn layout(world: &World, row: u64, rows: u64, room: u64, rng: &mut Rng) -> Option<BufferLayout> {
    let properties = tenure_core::device::Device::properties(world.device());
    let row_pitch = row.next_multiple_of(properties.copy_pitch_alignment.max(16));
    let align = properties.copy_offset_alignment.max(16);
    let last = room.checked_sub(row_pitch * rows)? / align;
    let offset = if happens(rng, 50) { 0 } else { rng.below(last + 1) * align };
    Some(BufferLayout { offset, row_pitch, rows: u32::try_from(rows).ok()? })
}

pub(super) fn to_texture(world: &mut World, rng: &mut Rng) -> Checked {
    between(world, rng, true)
}

pub(super) fn to_buffer(world: &mut World, rng: &mut Rng) -> Checked {
    between(world, rng, false)
}

/// Rows of texels go from a buffer to a texture, or back.
fn between(world: &mut World, rng: &mut Rng, is_to_texture: bool) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let (Some(one), Some(other)) = (one_of(rng, &world.buffers), one_of(rng, &world.textures)) else {
        return Ok(());
    };
    let (buffer, texture) = (&world.buffers[one], &world.textures[other]);
    let part = rng.below(texture.parts().into()) as u32;
    let grid = texture.grid(part);
    if grid.region.extent[2] > 1 {
        return Ok(());
    }
    let is_possible = if is_to_texture {
        buffer.is_read() && world.contents.is_known(buffer.part())
    } else {
        buffer.is_written() && world.contents.is_known(texture.part(part))
    };
    let layout = layout(world, grid.row, grid.rows, buffer.buffer.size(), rng);
    let (true, Some(layout)) = (is_possible, layout) else { return Ok(()) };
    let recording = &mut world.open[at].recording;
    let copied = if is_to_texture {
        recording.copy_buffer_to_texture(&buffer.buffer, layout, &texture.texture, grid.region)
    } else {
        recording.copy_texture_to_buffer(&texture.texture, grid.region, &buffer.buffer, layout)
    };
    let numbers = (buffer.number, texture.number);
    if copied.is_ok() {
        let row = |row: u64| {
            let of_buffer =
                Range { offset: layout.offset + row * layout.row_pitch, size: grid.row, ..buffer.all() };
            let of_texture = Range { offset: row * grid.row, size: grid.row, ..texture.all(part) };
            match is_to_texture {
                true => Effect::Copy { from: of_buffer, to: of_texture },
                false => Effect::Copy { from: of_texture, to: of_buffer },
            }
        };
        let effects: Vec<Effect> = (0..grid.rows).map(row).collect();
        effects.into_iter().for_each(|effect| world.open[at].note(effect));
    }
    let way = if is_to_texture { "to" } else { "from" };
    world.say(|| format!("copy b{} {way} t{} part {part}: {layout:?}", numbers.0, numbers.1));
    world.allow("copy texels", copied)?;
    Ok(())
}

pub(super) fn read_back(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[index];
    if !known.is_read() || !world.contents.is_known(known.part()) {
        return Ok(());
    }
    let (offset, size) = span(rng, known.buffer.size());
    let read = world.open[at].recording.read_back(&known.buffer, offset, size);
    let (of, from) = (known.number, Range { offset, size, ..known.all() });
    world.say(|| format!("record: read b{of} {offset}+{size} back"));
    if let Some(readback) = world.allow("record a readback", read)? {
        let number = world.number();
        world.open[at].note(Effect::Read { read: number, from });
        world.reads.push(Read { number, readback });
    }
    Ok(())
}

pub(super) fn read_back_texture(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = pick(world, rng)? else { return Ok(()) };
    let Some(index) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[index];
    let part = rng.below(known.parts().into()) as u32;
    if !world.contents.is_known(known.part(part)) {
        return Ok(());
    }
    let read = world.open[at].recording.read_back_texture(&known.texture, known.grid(part).region);
    let (of, from) = (known.number, known.all(part));
    world.say(|| format!("record: read t{of} part {part} back"));
    if let Some(readback) = world.allow("record a readback of texels", read)? {
        let number = world.number();
        world.open[at].note(Effect::Read { read: number, from });
        world.reads.push(Read { number, readback });
    }
    Ok(())
}
