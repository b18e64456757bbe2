//! Views, tables, sets and samplers, and shader reads through them.

use tenure_core::device::prelude::*;
use tenure_core::{
    Bind, BindingKind, BufferViewDesc, DescriptorSetDesc, DescriptorTableDesc, MemoryUse, Queue, SamplerDesc,
    SamplerInfo, SetBinding, SetDescriptor, SetLayoutDesc, ShaderStages, State, Subresource, Usage,
};
use tenure_sim::{DescriptorAt, Device};
use test_random::Rng;

use super::{happens, one_of};
use crate::contents::{Effect, Range};
use crate::world::{Checked, OpenRecording, Shown, ShownRange, ShownSet, ShownTable, World};

/// Bytes that a shader reads through a view.
const READ: u64 = 16;
/// Descriptors of a set.
const ELEMENTS: u32 = 3;

/// A view of some bytes of a buffer, or of a texture.
pub(super) fn view(world: &mut World, rng: &mut Rng) -> Checked {
    if happens(rng, 30) {
        return texture_view(world, rng);
    }
    let Some(at) = one_of(rng, &world.buffers) else { return Ok(()) };
    let known = &world.buffers[at];
    if !known.buffer.usage().contains(Usage::SHADER_READ) || known.buffer.size() < 256 {
        return Ok(());
    }
    let offset = rng.below(known.buffer.size() / 256) * 256;
    let range = Range { offset, size: 256.min(known.buffer.size() - offset) & !15, ..known.all() };
    let made = world.gpu.create_buffer_view(&known.buffer, &BufferViewDesc::raw().range(offset, range.size));
    let (number, is_fixed) = (known.number, known.buffer.memory() == MemoryUse::Upload);
    world.say(|| format!("view b{number} {offset}+{}", range.size));
    if let Some(view) = world.allow("a view", made)? {
        world.shown.push(Shown { view, range: ShownRange { range, is_fixed } });
    }
    Ok(())
}

fn texture_view(world: &mut World, rng: &mut Rng) -> Checked {
    let Some(at) = one_of(rng, &world.textures) else { return Ok(()) };
    let known = &world.textures[at];
    let made = world.gpu.create_texture_view(&known.texture, &tenure_core::TextureViewDesc::sampled());
    let number = known.number;
    world.say(|| format!("view t{number}"));
    if let Some(view) = world.allow("a view of a texture", made)? {
        world.kept.push(Box::new(view));
    }
    Ok(())
}

pub(super) fn drop_view(world: &mut World, rng: &mut Rng) -> Checked {
    if let Some(at) = one_of(rng, &world.shown) {
        let shown = world.shown.swap_remove(at);
        world.say(|| format!("drop a view of b{}", shown.range.range.part.object));
    }
    Ok(())
}

/// Some views of readable ranges.
fn choose(world: &World, rng: &mut Rng, most: u64) -> Vec<usize> {
    let is_alive = |at: &usize| {
        let ShownRange { range, is_fixed } = world.shown[*at].range;
        is_fixed || world.buffer(range.part.object).is_some()
    };
    let count = 1 + rng.below(most);
    (0..count).filter_map(|_| one_of(rng, &world.shown)).filter(is_alive).collect()
}

fn ranges(world: &World, chosen: &[usize]) -> Vec<ShownRange> {
    chosen.iter().map(|at| world.shown[*at].range).collect()
}

pub(super) fn table(world: &mut World, rng: &mut Rng) -> Checked {
    let chosen = choose(world, rng, 7);
    if chosen.is_empty() {
        return Ok(());
    }
    let binds: Vec<Bind<'_, Device>> = chosen.iter().map(|at| (&world.shown[*at].view).into()).collect();
    let made = world.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table"));
    drop(binds);
    let ranges = ranges(world, &chosen);
    world.say(|| format!("table of {} views", ranges.len()));
    if let Some(table) = world.allow("a table", made)? {
        world.tables.push(ShownTable { table, ranges });
    }
    Ok(())
}

pub(super) fn set(world: &mut World, rng: &mut Rng) -> Checked {
    if world.layout.is_none() {
        let bindings = [SetBinding { binding: 0, kind: BindingKind::Buffer, count: ELEMENTS }];
        let made = world.gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("layout"));
        world.layout = world.allow("a layout", made)?;
    }
    let chosen = choose(world, rng, ELEMENTS.into());
    let Some(layout) = &world.layout else { return Ok(()) };
    let binds: Vec<_> = (0..)
        .zip(&chosen)
        .map(|(element, at)| SetDescriptor::new(0, &world.shown[*at].view).element(element))
        .collect();
    let made = world.gpu.create_descriptor_set(&DescriptorSetDesc::new(layout, &binds).name("set"));
    drop(binds);
    let ranges = ranges(world, &chosen);
    world.say(|| format!("set of {} views", ranges.len()));
    if let Some(set) = world.allow("a set", made)? {
        world.sets.push(ShownSet { set, ranges });
    }
    Ok(())
}

pub(super) fn drop_table_or_set(world: &mut World, rng: &mut Rng) -> Checked {
    world.say(|| "drop a table or set".to_owned());
    if happens(rng, 50) {
        one_of(rng, &world.tables).map(|at| world.tables.swap_remove(at));
    } else {
        one_of(rng, &world.sets).map(|at| world.sets.swap_remove(at));
    }
    Ok(())
}

/// How the shown resources are declared: by their table or set, at its place in the list.
enum Declared {
    OneByOne,
    Table(usize),
    Set(usize),
}

/// A separate recording, in which shaders copy the contents of views to a buffer.
struct Look {
    open: OpenRecording,
    /// The buffer for the words read: its place in the list, and its next byte.
    out: usize,
    next: u64,
}

impl Look {
    /// `None` if there is no buffer for the words read.
    fn begin(world: &mut World) -> Checked<Option<Self>> {
        let fits = |known: &crate::world::KnownBuffer| {
            known.buffer.usage().contains(Usage::UNORDERED_ACCESS) && known.buffer.size() >= 4096
        };
        let Some(out) = world.buffers.iter().position(fits) else { return Ok(None) };
        let made = world.gpu.record(Queue::Graphics, "look");
        let Some(recording) = world.allow("record", made)? else { return Ok(None) };
        Ok(Some(Self { open: OpenRecording::new(recording, false), out, next: 0 }))
    }

    /// Declares everything that shaders will read; the ranges are known, live, and are not written. False if
    /// nothing can be read.
    fn prepare(&mut self, world: &mut World, ranges: &[ShownRange], declared: Declared) -> Checked<bool> {
        let out = world.buffers[self.out].part();
        let read = || ranges.iter().filter(|shown| !shown.is_fixed).map(|shown| shown.range.part);
        let is_fine =
            |part| world.contents.is_known(part) && part != out && world.buffer(part.object).is_some();
        if !read().all(is_fine) {
            return Ok(false);
        }
        let recording = &mut self.open.recording;
        let used = match declared {
            Declared::Table(at) => recording.use_table(&world.tables[at].table, ShaderStages::NonPixel),
            Declared::Set(at) => recording.use_set(&world.sets[at].set, ShaderStages::NonPixel),
            Declared::OneByOne => {
                let mut buffers = read().filter_map(|part| world.buffer(part.object));
                buffers.try_for_each(|buffer| {
                    recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER)
                })
            }
        };
        if world.allow("use a shown resource", used)?.is_none() {
            return Ok(false);
        }
        let out = &world.buffers[self.out].buffer;
        let used = self.open.recording.use_resource(out, Subresource::All, State::UNORDERED_ACCESS);
        let used = used.and_then(|()| self.open.recording.set_descriptor_heaps());
        Ok(world.allow("use the written buffer", used)?.is_some())
    }

    fn effect(&mut self, world: &World, from: Range) {
        let size = READ.min(from.size);
        let to = Range { offset: self.next, size: READ, ..world.buffers[self.out].all() };
        let from = Range { size, ..from };
        if size == READ {
            self.open.note(Effect::Copy { from, to });
        }
        self.next += READ;
    }
}

/// Shaders read through a lasting table, and a lasting set; both may be dropped at once, and others take their places.
pub(super) fn read(world: &mut World, rng: &mut Rng) -> Checked {
    let sets_heaps = world.device().properties().sets_descriptor_heaps();
    let at = one_of(rng, &world.tables);
    let of_set = one_of(rng, &world.sets).filter(|_| !sets_heaps || happens(rng, 50));
    read_table(world, at, of_set, happens(rng, 50))?;
    if happens(rng, 40) {
        world.say(|| "drop the descriptors".to_owned());
        at.into_iter().for_each(|at| drop(world.tables.swap_remove(at)));
        of_set.into_iter().for_each(|at| drop(world.sets.swap_remove(at)));
        for _ in 0..rng.below(4) {
            table(world, rng)?;
            set(world, rng)?;
        }
    }
    Ok(())
}

/// Shaders read through a table and a set, by their places in the lists. Their resources are declared one by one, or as a
/// whole.
pub(super) fn read_table(
    world: &mut World,
    of_table: Option<usize>,
    of_set: Option<usize>,
    is_whole: bool,
) -> Checked {
    let Some(mut look) = Look::begin(world)? else { return Ok(()) };
    world.say(|| "look through a table and a set".to_owned());
    if let Some(at) = of_table {
        let ranges = world.tables[at].ranges.clone();
        let declared = if is_whole { Declared::Table(at) } else { Declared::OneByOne };
        if look.prepare(world, &ranges, declared)? {
            let out = &world.buffers[look.out].buffer;
            let (commands, scratch) = look.open.recording.split();
            if let (Ok(row), Ok(place)) = (scratch.table(&world.tables[at].table), scratch.buffer(out)) {
                for index in 0..row.len() {
                    let (heap, index) = (row.heap(), row.first() + index);
                    let offset = place.offset() + look.next + READ * u64::from(index - row.first());
                    let at = DescriptorAt::Heap { heap, index };
                    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, place.raw(), offset, READ);
                }
                ranges.iter().for_each(|range| look.effect(world, range.range));
            }
        }
    }
    if let Some(at) = of_set {
        let ranges = world.sets[at].ranges.clone();
        let declared = if is_whole { Declared::Set(at) } else { Declared::OneByOne };
        if look.prepare(world, &ranges, declared)? {
            let out = &world.buffers[look.out].buffer;
            let (commands, scratch) = look.open.recording.split();
            if let (Ok(set), Ok(place)) = (scratch.lasting_set(&world.sets[at].set), scratch.buffer(out)) {
                for element in 0..ranges.len() as u32 {
                    let (block, set) = (set.block(), set.index());
                    let offset = place.offset() + look.next + READ * u64::from(element);
                    let at = DescriptorAt::Set { block, set, binding: 0, element };
                    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, place.raw(), offset, READ);
                }
                ranges.iter().for_each(|range| look.effect(world, range.range));
            }
        }
    }
    world.submit(look.open)?;
    Ok(())
}

/// Shaders read through descriptors of the recording.
pub(super) fn read_dynamic(world: &mut World, rng: &mut Rng) -> Checked {
    let chosen = choose(world, rng, 6);
    let Some(mut look) = Look::begin(world)? else { return Ok(()) };
    world.say(|| format!("look through {} descriptors of a recording", chosen.len()));
    let ranges = ranges(world, &chosen);
    if !chosen.is_empty() && look.prepare(world, &ranges, Declared::OneByOne)? {
        let binds: Vec<Bind<'_, Device>> = chosen.iter().map(|at| (&world.shown[*at].view).into()).collect();
        let out = &world.buffers[look.out].buffer;
        let (commands, scratch) = look.open.recording.split();
        let made = scratch.descriptors(&binds).and_then(|row| {
            let place = scratch.buffer(out)?;
            for index in 0..row.len() {
                let offset = place.offset() + look.next + READ * u64::from(index);
                let at = DescriptorAt::Heap { heap: row.heap(), index: row.first() + index };
                commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, place.raw(), offset, READ);
            }
            Ok(())
        });
        drop(binds);
        if world.allow("descriptors of a recording", made)?.is_some() {
            ranges.iter().for_each(|range| look.effect(world, range.range));
        }
    }
    world.submit(look.open)?;
    Ok(())
}

pub(super) fn sampler(world: &mut World, rng: &mut Rng) -> Checked {
    let info = SamplerInfo::default().max_lod(rng.below(20) as f32);
    let made = world.gpu.create_sampler(&SamplerDesc::new(info).name("sampler"));
    world.say(|| "a sampler".to_owned());
    if let Some(sampler) = world.allow("a sampler", made)? {
        world.kept.push(Box::new(sampler));
    }
    Ok(())
}

/// A set of the recording, with samplers beside views.
pub(super) fn samplers(world: &mut World, rng: &mut Rng) -> Checked {
    let bindings = [SetBinding::new(0, BindingKind::Buffer), SetBinding::new(1, BindingKind::Sampler)];
    let made = world.gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("with a sampler"));
    let Some(layout) = world.allow("a set of samplers", made)? else { return Ok(()) };
    let made = world.gpu.create_sampler(&SamplerDesc::new(SamplerInfo::default()).name("shared"));
    let Some(sampler) = world.allow("a sampler", made)? else { return Ok(()) };
    let chosen = choose(world, rng, 1);
    let Some(at) = chosen.first().copied() else { return Ok(()) };
    let Some(mut look) = Look::begin(world)? else { return Ok(()) };
    world.say(|| "look through a set with a sampler".to_owned());
    let ranges = ranges(world, &chosen);
    if look.prepare(world, &ranges, Declared::OneByOne)? {
        let binds = [SetDescriptor::new(0, &world.shown[at].view), SetDescriptor::new(1, &sampler)];
        let out = &world.buffers[look.out].buffer;
        let (commands, scratch) = look.open.recording.split();
        let made = scratch.set(&layout, &binds).and_then(|set| {
            let place = scratch.buffer(out)?;
            let (block, set) = (set.block(), set.index());
            let at = DescriptorAt::Set { block, set, binding: 0, element: 0 };
            let offset = place.offset() + look.next;
            commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, place.raw(), offset, READ);
            Ok(())
        });
        if world.allow("a set of a recording", made)?.is_some() {
            look.effect(world, ranges[0].range);
        }
    }
    // The layout and the sampler go while the recording has a set of them.
    drop((layout, sampler));
    world.submit(look.open)?;
    Ok(())
}

/// Shaders read constants of several sizes through the sets of their pages.
pub(super) fn dynamic_constants(world: &mut World, rng: &mut Rng) -> Checked {
    let binding = [SetBinding::new(0, BindingKind::DynamicConstants)];
    let made = world.gpu.create_set_layout(&SetLayoutDesc::new(&binding).name("draw"));
    let Some(layout) = world.allow("a layout", made)? else { return Ok(()) };
    let Some(mut look) = Look::begin(world)? else { return Ok(()) };
    world.say(|| "look through the sets of constants".to_owned());
    let count = if look.prepare(world, &[], Declared::OneByOne)? { 1 + rng.below(8) } else { 0 };
    for _ in 0..count {
        let size = READ + rng.size(11);
        let bytes = rng.bytes(size);
        let out = &world.buffers[look.out];
        let to = Range { offset: look.next, size: READ, ..out.all() };
        let (commands, scratch) = look.open.recording.split();
        let made = scratch.dynamic_constant_bytes(&layout, &bytes).and_then(|draw| {
            let place = scratch.buffer(&out.buffer)?;
            let (block, set, offset) = (draw.set().block(), draw.set().index(), draw.dynamic_offset().into());
            let at = DescriptorAt::Dynamic { block, set, binding: 0, element: 0, offset };
            let to = place.offset() + to.offset;
            commands.raw().read_descriptor(at, State::VERTEX_OR_CONSTANT, place.raw(), to, READ);
            Ok(())
        });
        if world.allow("dynamic constants", made)?.is_some() {
            look.open.note(Effect::Write { to, bytes: bytes[..READ as usize].to_vec() });
            look.next += READ;
        }
    }
    drop(layout);
    world.submit(look.open)?;
    Ok(())
}
