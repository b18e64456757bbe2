//! Buffers.

use tenure_core::device::Priority;
use tenure_core::device::{MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{AllocationFlags, BufferDesc, BufferInfo, Error, MemoryUse, State, Usage};
use test_random::Rng;

use super::{any, happens, one_of, span};
use crate::contents::Range;
use crate::world::{Checked, KnownBuffer, LONG, World, compare, wrong};

const SIZES: [u64; 10] = [1, 16, 300, 4096, 20_000, 70_000, 300_000, 1 << 20, 3 << 20, 9 << 20];

fn size(rng: &mut Rng) -> u64 {
    let rare = if happens(rng, 8) { 0 } else { 4 };
    SIZES[rng.below(SIZES.len() as u64 - rare) as usize]
}

fn describe(rng: &mut Rng, number: u64) -> BufferDesc {
    let usages = [
        Usage::SHADER_READ,
        Usage::VERTEX,
        Usage::INDEX | Usage::VERTEX,
        Usage::CONSTANT,
        Usage::SHADER_READ | Usage::UNORDERED_ACCESS,
        Usage::INDIRECT,
    ];
    let usage = any(rng, usages) | Usage::COPY_SRC;
    let mut desc =
        BufferDesc::new(size(rng), usage).name(format!("b{number}")).stride(any(rng, [1, 4, 12, 20]));
    if happens(rng, 40) {
        desc = desc.movable();
    }
    if happens(rng, 30) {
        desc = desc.evictable();
    }
    if happens(rng, 15) {
        desc = desc.own_resource();
    }
    if happens(rng, 15) {
        desc = desc.alignment(1 << rng.below(17));
    }
    if happens(rng, 15) {
        desc = desc.priority(any(rng, [Priority::Low, Priority::Normal, Priority::High]));
    }
    if happens(rng, 20) {
        desc = desc.tag(any(rng, ["terrain", "ui"]));
    }
    desc
}

/// A buffer for the GPU, mostly with contents.
pub(super) fn create(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let desc = describe(rng, number);
    let size = desc.size;
    if happens(rng, 20) {
        world.say(|| format!("create b{number}, {size} B"));
        let made = world.gpu.create_buffer(&desc);
        if let Some(buffer) = world.allow("create a buffer", made)? {
            let known = KnownBuffer::new(number, buffer);
            world.contents.add_undefined(known.part(), size);
            world.buffers.push(known);
        }
        return Ok(());
    }
    world.say(|| format!("create b{number} with {size} B"));
    let bytes = rng.bytes(size);
    let made = world.gpu.create_buffer_with(&desc, &bytes);
    if let Some(buffer) = world.allow("create a buffer with bytes", made)? {
        let known = KnownBuffer::new(number, buffer);
        world.contents.add(known.part(), bytes);
        world.buffers.push(known);
    }
    Ok(())
}

/// A buffer that the CPU reaches.
pub(super) fn create_mapped(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let memory = any(rng, [MemoryUse::Upload, MemoryUse::Readback, MemoryUse::GpuUpload]);
    let usage =
        if memory == MemoryUse::Readback { Usage::COPY_DST } else { Usage::SHADER_READ | Usage::COPY_SRC };
    let plain = BufferDesc::new(size(rng).min(1 << 20), usage);
    let usage = if memory == MemoryUse::Readback { plain.usage } else { usage };
    let desc = plain.usage(usage).memory(memory).name(format!("b{number}"));
    world.say(|| format!("create b{number}, {} B in {memory:?}", desc.size));
    let made = world.gpu.create_buffer(&desc);
    let Some(buffer) = world.allow("create a mapped buffer", made)? else { return Ok(()) };
    let known = KnownBuffer::new(number, buffer);
    if memory == MemoryUse::Readback {
        world.contents.add_undefined(known.part(), desc.size);
    } else {
        let bytes = rng.bytes(desc.size);
        let written = known.buffer.write(0, &bytes);
        if world.allow("write a new buffer", written)?.is_none() {
            return Ok(());
        }
        world.contents.add(known.part(), bytes);
    }
    world.buffers.push(known);
    Ok(())
}

pub(super) fn drop_one(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.buffers) {
        let known = world.buffers.swap_remove(at);
        world.say(|| format!("drop b{}", known.number));
    }
    Ok(())
}

pub(super) fn drop_many(world: &mut World, rng: &mut Rng) -> Checked {
    world.say(|| "drop most buffers".to_owned());
    world.buffers.retain(|_| happens(rng, 25));
    Ok(())
}

/// Whether the CPU may access a buffer: no open recording and no submission in flight uses it.
fn is_free(world: &mut World, at: usize) -> Checked<bool> {
    let known = &world.buffers[at];
    if world.is_busy(known.number) {
        return Ok(false);
    }
    let waited = world.gpu.wait(&known.last, LONG);
    match world.allow("wait for the GPU", waited)? {
        Some(false) => wrong("the GPU does not finish"),
        waited => Ok(waited.is_some()),
    }
}

pub(super) fn write_mapped(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let memory = world.buffers[at].buffer.memory();
    if !matches!(memory, MemoryUse::Upload | MemoryUse::GpuUpload) || !is_free(world, at)? {
        return Ok(());
    }
    let known = &world.buffers[at];
    let (number, (offset, size)) = (known.number, span(rng, known.buffer.size()));
    let bytes = rng.bytes(size);
    let to = Range { offset, size, ..known.all() };
    let written = known.buffer.write(offset, &bytes);
    world.say(|| format!("the CPU writes b{number} {offset}+{size}"));
    if world.allow("write a buffer", written)?.is_some() {
        world.contents.write(to, &bytes);
    }
    Ok(())
}

pub(super) fn read_mapped(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    let is_known = world.contents.is_known(known.part());
    if known.buffer.memory() != MemoryUse::Readback || !is_known || !is_free(world, at)? {
        return Ok(());
    }
    let known = &world.buffers[at];
    let (offset, size) = span(rng, known.buffer.size());
    let (name, from) = (known.buffer.name().to_string(), Range { offset, size, ..known.all() });
    let mut found = vec![0; size as usize];
    let read = known.buffer.read(offset, &mut found);
    world.say(|| format!("the CPU reads {name} {offset}+{size}"));
    if world.allow("read a buffer", read)?.is_some()
        && let Some(expected) = world.contents.known(from)
    {
        compare(&name, &found, expected)?;
    }
    Ok(())
}

/// Queries the place of a buffer outside a recording, which pins it.
pub(super) fn pin(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.buffers) {
        let known = &world.buffers[at];
        let _here = (known.buffer.raw(), known.buffer.offset(), known.buffer.gpu_address());
        if known.buffer.movable_id().is_some() && !known.buffer.is_pinned() {
            return wrong(format!("{} is not pinned", known.buffer.name()));
        }
        let (number, moves) = (known.number, known.buffer.moves());
        world.buffers[at].pinned.get_or_insert(moves);
        world.say(|| format!("pin b{number}"));
    }
    Ok(())
}

/// A buffer that the program created itself.
pub(super) fn adopt(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let size = 256 + rng.below(5000);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let Ok(object) =
        world.device().create_committed(&ResourceDesc::Buffer(BufferInfo::new(size, usage)), MemoryTypeId(0))
    else {
        return Ok(());
    };
    world.say(|| format!("adopt b{number}, {size} B"));
    let desc = BufferDesc::new(size, usage).usage(usage).name(format!("b{number}"));
    match world.gpu.adopt_buffer(object, &desc, State::COMMON) {
        Ok(buffer) => {
            let known = KnownBuffer::new(number, buffer);
            world.contents.add_undefined(known.part(), size);
            world.buffers.push(known);
        }
        Err(rejected) => {
            let permit = tenure_core::device::Permit::checked();
            world.device().destroy_resource(permit, rejected.object);
            world.allow::<()>("adopt a buffer", Err(rejected.error))?;
        }
    }
    Ok(())
}

/// A request that may not ask the driver for memory, or not leave the budget: it may find none, and asks for none.
pub(super) fn within_limits(world: &mut World, rng: &mut Rng) -> Checked {
    let number = world.number();
    let never = AllocationFlags::NEVER_ALLOCATE;
    let flags = any(rng, [never, never | AllocationFlags::NEVER_WAIT, AllocationFlags::WITHIN_BUDGET]);
    let flags = if happens(rng, 30) { flags | AllocationFlags::DEVICE_LOCAL_ONLY } else { flags };
    let desc = describe(rng, number).allocation(flags);
    world.say(|| format!("create b{number}, {} B, with {flags:?}", desc.size));
    let before = world.gpu.stats().reserved;
    let made = world.gpu.create_buffer(&desc);
    if world.is_counted() && flags.contains(never) && world.gpu.stats().reserved > before {
        return wrong(format!("{} B more are reserved, with {flags:?}", world.gpu.stats().reserved - before));
    }
    match made {
        Err(Error::OutOfMemory(_)) => Ok(()),
        made => {
            if let Some(buffer) = world.allow("create a buffer within limits", made)? {
                let known = KnownBuffer::new(number, buffer);
                world.contents.add_undefined(known.part(), desc.size);
                world.buffers.push(known);
            }
            Ok(())
        }
    }
}
