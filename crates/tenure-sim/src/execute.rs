//! Execution of a submission: the checks of each command, then its effect.

use std::ops::Range;
use std::sync::Arc;

use tenure_core::device::{BufferLayout, QueueId, QueueTransfer, State, Subresource, TextureRegion};

use crate::command::{Command, Recorded, TileChange, TileOrigin, clear_state, copied_rows, generated};
use crate::execution::{Execution, Use};
use crate::faults::BarrierChange;
use crate::hazard::{Checks, HazardKind};
use crate::journal::Step;
use crate::layout::{Ranges, Span, TILE};
use crate::memory::{Memory, TileTarget};
use crate::mips;
use crate::resource::{Part, ResourceState};
use crate::states::Role;

/// Number of bytes moved at a time.
const CHUNK: usize = 4096;

impl Execution<'_> {
    pub(crate) fn list(&mut self, list: &Recorded) {
        (self.heaps, self.keeps_unwritten) = ([None; 2], false);
        if self.shared.checks.is_empty() {
            list.commands.iter().for_each(|command| self.command(command));
            return;
        }
        self.list = list.label.to_string();
        for (index, command) in list.commands.iter().enumerate() {
            (self.index, self.name) = (index, command.name());
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        self.shared.query_clock.advance();
        match command {
            Command::Transition { resource, subresource, before, after, transfer } => {
                self.transition(resource, *subresource, (*before, *after), *transfer);
            }
            Command::Unordered { resource } => {
                if self.shared.faults.barrier() == Some(BarrierChange::Lost) {
                    return;
                }
                self.note(|| Step::Unordered { resource: resource.label.id });
                if self.is_alive(resource, true) {
                    resource.unordered.lock().settle();
                    resource.structures.lock().settle();
                    resource.states.lock().order_unordered(self.point);
                }
            }
            Command::Aliasing { before, after, from, to } => {
                let (resource, from, to) = (after.label.id, *from, *to);
                self.note(|| Step::Aliasing { resource, from, to });
                self.activate(before.as_ref(), after, (from, to));
            }
            Command::CopyBuffer { src, src_offset, dst, dst_offset, size } => {
                let from = Span::Bytes { start: *src_offset, end: src_offset + size };
                let to = Span::Bytes { start: *dst_offset, end: dst_offset + size };
                if self.uses((src, from, State::COPY_SRC), (dst, to, State::COPY_DST)) {
                    copy(&src.memory, *src_offset, &dst.memory, *dst_offset, *size);
                    self.copy_written((src, *src_offset), (dst, *dst_offset), *size);
                }
            }
            Command::CopyTexture { buffer, layout, texture, region, to_texture } => {
                self.copy_texture((buffer, *layout), (texture, region), *to_texture);
            }
            Command::CopySubresources { src, dst, subresource } => {
                let span = Span::Subresource(*subresource);
                self.initialize(dst, &span);
                if self.uses((src, span, State::COPY_SRC), (dst, span, State::COPY_DST)) {
                    copy_ranges(
                        (&src.memory, src.layout.ranges(&span)),
                        (&dst.memory, dst.layout.ranges(&span)),
                    );
                    // The two have one layout.
                    for range in src.layout.ranges(&span) {
                        let at = range.start;
                        self.copy_written((src, at), (dst, at), range.end - at);
                    }
                }
            }
            Command::GenerateMip { texture, mip, layers } => {
                for (layer, (from, to)) in layers.clone().zip(generated(texture, *mip, layers)) {
                    self.initialize(texture, &to);
                    if self.uses((texture, from, State::COPY_SRC), (texture, to, State::COPY_DST)) {
                        mips::fill(texture, *mip, layer);
                    }
                }
            }
            Command::ClearTexture { resource, subresource, pattern } => {
                let span = Span::Subresource(*subresource);
                self.initialize(resource, &span);
                if self.uses_one(resource, span, clear_state(resource)) {
                    for range in resource.layout.ranges(&span) {
                        fill_pattern(&resource.memory, range, pattern);
                    }
                }
            }
            Command::FillBuffer { resource, offset, size, byte } => {
                let span = Span::Bytes { start: *offset, end: offset + size };
                if self.uses_one(resource, span, clear_state(resource)) {
                    resource.memory.fill(*offset..offset + size, *byte);
                }
            }
            Command::Use { resource, span, state } => {
                self.count_use(*state);
                if *state == State::COPY_DST {
                    self.initialize(resource, span);
                }
                self.uses_one(resource, *span, *state);
            }
            Command::WriteMarker { word, value } => self.shared.write_marker(*word, *value),
            Command::KeepUnwritten => self.keeps_unwritten = true,
            Command::MakeVisible { written } => {
                self.note(|| Step::MakeVisible { written: *written });
                self.shared.host_barriers.note(self.queue, *written);
            }
            Command::SetDescriptorHeaps(heaps) => self.set_heaps(heaps.each_ref().map(Option::as_ref)),
            Command::UseDescriptor { at, state } => {
                self.count_use(*state);
                self.use_descriptor(at, *state);
            }
            Command::ReadDescriptor { at, state, out, offset, size } => {
                self.count_dispatch();
                self.read_descriptor(at, *state, (out, *offset), *size);
            }
            Command::SampleDescriptor { sampler, texture, state, out, offset } => {
                self.count_dispatch();
                self.sample_descriptor((sampler, texture), *state, (out, *offset));
            }
            Command::Discard { resource, subresource, state } => {
                self.discard(resource, *subresource, *state);
            }
            Command::ExpectBytes { resource, offset, bytes } => self.expect(resource, *offset, bytes),
            Command::Query(query) => self.query(query),
            Command::Structure(step) => self.structure(step),
        }
    }

    fn note(&self, step: impl FnOnce() -> Step) {
        self.shared.journal.note(step);
    }

    fn uses(
        &mut self,
        (src, from, src_state): (&Arc<ResourceState>, Span, State),
        (dst, to, dst_state): (&Arc<ResourceState>, Span, State),
    ) -> bool {
        let src_alive = self.uses_one(src, from, src_state);
        self.uses_one(dst, to, dst_state) && src_alive
    }

    fn copy_texture(
        &mut self,
        (buffer, layout): (&Arc<ResourceState>, BufferLayout),
        (texture, region): (&Arc<ResourceState>, &TextureRegion),
        to_texture: bool,
    ) {
        let rows = copied_rows(texture, region, layout);
        let texels = Span::Region(*region);
        let (read, written) = (State::COPY_SRC, State::COPY_DST);
        let legal = if to_texture {
            self.initialize_by_copy(texture, region);
            self.uses((buffer, rows, read), (texture, texels, written))
        } else {
            self.uses((texture, texels, read), (buffer, rows, written))
        };
        if !legal {
            return;
        }
        texture.layout.runs(region, |run| {
            let row = run.slice * u64::from(layout.rows) + run.row;
            let at = layout.offset + row * layout.row_pitch + run.column;
            if to_texture {
                copy(&buffer.memory, at, &texture.memory, run.offset, run.bytes);
            } else {
                copy(&texture.memory, run.offset, &buffer.memory, at, run.bytes);
            }
        });
    }

    fn transition(
        &mut self,
        resource: &Arc<ResourceState>,
        subresource: Subresource,
        states: (State, State),
        transfer: Option<QueueTransfer>,
    ) {
        let (before, after) = match self.shared.faults.barrier() {
            Some(BarrierChange::Lost) => return,
            Some(BarrierChange::Before(before)) => (before, states.1),
            Some(BarrierChange::After(after)) => (states.0, after),
            None => states,
        };
        self.note(|| Step::Transition { resource: resource.label.id, subresource, before, after, transfer });
        if !self.is_alive(resource, true) {
            return;
        }
        if let Some(QueueTransfer { from, to }) = transfer
            && (from == QueueId::PEER || to == QueueId::PEER)
        {
            self.change_hands(
                resource,
                before,
                if to == QueueId::PEER { Role::Release } else { Role::Acquire },
            );
            return;
        }
        let family = |queue: QueueId| self.shared.properties.queues[queue.index()].family;
        let half = match transfer {
            Some(transfer) if family(transfer.from) == family(transfer.to) => {
                if transfer.from != transfer.to && self.queue == transfer.to {
                    // Within a family there is no acquire: the first half did all of it.
                    return;
                }
                None
            }
            Some(transfer) => {
                let role = if self.queue == transfer.from { Role::Release } else { Role::Acquire };
                Some((role, family(transfer.to)))
            }
            None => None,
        };
        self.check_transition(resource, subresource, (before, after), half);
    }

    fn expect(&mut self, resource: &Arc<ResourceState>, offset: u64, bytes: &[u8]) {
        let span = Span::Bytes { start: offset, end: offset + bytes.len() as u64 };
        if !self.check(&Use { resource, span, state: None }) {
            return;
        }
        let mut buffer = [0; CHUNK];
        for (expected, at) in bytes.chunks(CHUNK).zip((offset..).step_by(CHUNK)) {
            let found = &mut buffer[..expected.len()];
            resource.memory.read(at, found);
            let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
            if let Some(index) = differs {
                let detail = format!(
                    "byte {} is {:#04x} where {:#04x} was expected",
                    at + index as u64,
                    found[index],
                    expected[index]
                );
                let at = at + index as u64;
                let part = Part { resource, range: at..at + 1 };
                self.report(Checks::empty(), HazardKind::WrongBytes, &[&part], detail);
                return;
            }
        }
    }

    /// Changes tile mappings. A newly mapped tile has the heap's current content.
    pub(crate) fn tiles(&mut self, change: &TileChange) {
        if !self.is_alive(&change.resource, true) {
            return;
        }
        let Memory::Reserved(table) = &change.resource.memory else { return };
        for (index, &tile) in change.tiles.iter().enumerate() {
            let bytes = tile * TILE..(tile + 1) * TILE;
            let target = match &change.origin {
                TileOrigin::Unmapped => None,
                TileOrigin::Heap { heap, offset } => {
                    Some(TileTarget { heap: Arc::clone(heap), offset: offset + index as u64 * TILE })
                }
                TileOrigin::CopyOf { resource, tiles } => {
                    let Memory::Reserved(source) = &resource.memory else { continue };
                    source.lock().get(tiles[index]).cloned()
                }
            };
            table.lock().set(tile, target);
            change.resource.written.remove(bytes.clone());
            change.resource.initialized.iter().for_each(|initialized| initialized.remove(bytes.clone()));
            match &change.origin {
                TileOrigin::Unmapped if self.shared.reads_unmapped_tiles() => {
                    change.resource.written.insert(bytes);
                }
                TileOrigin::Unmapped | TileOrigin::Heap { .. } => {}
                TileOrigin::CopyOf { resource, tiles } => {
                    let from = tiles[index] * TILE;
                    for range in resource.written.within(from..from + TILE) {
                        let start = bytes.start + (range.start - from);
                        change.resource.written.insert(start..start + (range.end - range.start));
                    }
                }
            }
        }
    }
}

fn copy(src: &Memory, src_offset: u64, dst: &Memory, dst_offset: u64, size: u64) {
    let mut buffer = [0; CHUNK];
    let mut done = 0;
    while done < size {
        let taken = (size - done).min(CHUNK as u64);
        let part = &mut buffer[..taken as usize];
        src.read(src_offset + done, part);
        dst.write(dst_offset + done, part);
        done += taken;
    }
}

/// Copies the bytes of the ranges `from` to the ranges `to`, in order, until either end.
fn copy_ranges((src, from): (&Memory, Ranges), (dst, to): (&Memory, Ranges)) {
    let (mut from, mut to) = (from.into_iter(), to.into_iter());
    let (mut read, mut write) = (0..0, 0..0);
    loop {
        if read.is_empty() {
            let Some(next) = from.next() else { return };
            read = next;
        }
        if write.is_empty() {
            let Some(next) = to.next() else { return };
            write = next;
        }
        let size = (read.end - read.start).min(write.end - write.start);
        copy(src, read.start, dst, write.start, size);
        read.start += size;
        write.start += size;
    }
}

fn fill_pattern(memory: &Memory, range: Range<u64>, pattern: &[u8]) {
    if let [byte] = pattern {
        memory.fill(range, *byte);
        return;
    }
    // Patterns are powers of two long, so each chunk begins with a whole one.
    let mut buffer = [0; CHUNK];
    for (byte, value) in buffer.iter_mut().zip(pattern.iter().cycle()) {
        *byte = *value;
    }
    let mut at = range.start;
    while at < range.end {
        let taken = (range.end - at).min(CHUNK as u64);
        memory.write(at, &buffer[..taken as usize]);
        at += taken;
    }
}
