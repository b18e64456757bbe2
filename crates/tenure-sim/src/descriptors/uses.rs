//! Checks that descriptors refer to live objects of the expected kind.

use std::sync::Arc;

use tenure_core::device::{DescriptorKind, Filter, State, TextureRegion, TextureView};

use super::{At, DescriptorHeapState, Slot, Slots, What};
use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;
use crate::resource::{Part, ResourceState};
use crate::states::Shown;

/// Maximum number of bytes read through a descriptor at once.
pub(crate) const MOST_READ: usize = 4096;

/// A box of texels of the first mip and layer in view.
const fn first_mip(view: &TextureView, origin: [u32; 3], extent: [u32; 3]) -> TextureRegion {
    TextureRegion { mip: view.first_mip, layer: view.first_layer, plane: view.plane, origin, extent }
}

/// Reads the bytes of a span up to the length of `bytes`; returns their number.
fn read_span(resource: &ResourceState, span: &Span, bytes: &mut [u8]) -> usize {
    let mut done = 0;
    for range in resource.layout.ranges(span) {
        let taken = ((range.end - range.start) as usize).min(bytes.len() - done);
        resource.memory.read(range.start, &mut bytes[done..done + taken]);
        done += taken;
    }
    done
}

/// Writes `bytes` repeatedly.
fn repeat(bytes: &[u8], out: &mut [u8]) {
    for (to, from) in out.iter_mut().zip(bytes.iter().cycle()) {
        *to = *from;
    }
}

impl Execution<'_> {
    /// Sets the heaps of the list: from here on shaders find descriptors only in these heaps.
    pub(crate) fn set_heaps(&mut self, heaps: [Option<&Arc<DescriptorHeapState>>; 2]) {
        self.heaps = heaps.map(|heap| heap.map(|heap| heap.label.id));
    }

    /// Uses everything that a descriptor describes.
    pub(crate) fn use_descriptor(&mut self, at: &At, state: State) {
        let what = self.find(at, state);
        if let Some(What::Structure(structure)) = &what {
            self.trace(structure);
        } else if let Some(what) = what {
            what.parts(|resource, span| {
                self.uses_one(resource, span, state);
            });
        }
    }

    /// Reads the start of the described bytes, and writes it to a buffer: zeros where there is no descriptor or
    /// no resource.
    pub(crate) fn read_descriptor(
        &mut self,
        at: &At,
        state: State,
        out: (&Arc<ResourceState>, u64),
        size: u64,
    ) {
        let mut bytes = [0; MOST_READ];
        let bytes = &mut bytes[..(size as usize).min(MOST_READ)];
        let what = self.find(at, state);
        if let Some((resource, span)) = what.as_ref().and_then(|what| what.beginning(size))
            && self.uses_one(resource, span, state)
        {
            let found = read_span(resource, &span, bytes);
            if what.as_ref().is_some_and(What::is_of_texels) {
                let (first, rest) = bytes.split_at_mut(found);
                repeat(first, rest);
            }
        }
        self.write_out(out, bytes, state);
    }

    /// Samples the middle of the first viewed mip: four channels of a byte, each as a word.
    pub(crate) fn sample_descriptor(
        &mut self,
        (sampler, texture): (&At, &At),
        state: State,
        out: (&Arc<ResourceState>, u64),
    ) {
        let (sampler, shown) = (self.find_sampler(sampler), self.find(texture, state));
        let mut words = [0; 16];
        match (sampler, shown) {
            (Some(What::Sampler(sampler)), Some(What::Texture { resource, view })) => {
                let channels = self.sample(&resource, &view, sampler.mag, state);
                for (word, channel) in words.chunks_exact_mut(4).zip(channels) {
                    word.copy_from_slice(&channel.to_le_bytes());
                }
            }
            (Some(_), Some(other)) => self.wrong(texture, &other, "it is sampled"),
            _ => {}
        }
        self.write_out(out, &words, state);
    }

    /// The sampler of a descriptor, alone or combined with a texture.
    fn find_sampler(&self, at: &At) -> Option<What> {
        match at.slot() {
            // Other errors are reported when its texture is looked up.
            Slot::Combined(_, sampler) => (!sampler.is_destroyed()).then(|| sampler.what.clone()),
            _ => self.find(at, State::COMMON),
        }
    }

    fn sample(
        &mut self,
        resource: &Arc<ResourceState>,
        view: &TextureView,
        filter: Filter,
        state: State,
    ) -> [u32; 4] {
        let Some(info) = resource.layout.texture() else { return [0; 4] };
        let [width, height, _] = info.mip_extent(view.first_mip);
        // The middle of an even number of texels lies between two.
        let middle = |size: u32| match filter {
            Filter::Linear if size.is_multiple_of(2) => (size / 2 - 1, 2),
            _ => (size / 2, 1),
        };
        let ((x, across), (y, down)) = (middle(width), middle(height));
        let region = first_mip(view, [x, y, 0], [across, down, 1]);
        if !self.uses_one(resource, Span::Region(region), state) {
            return [0; 4];
        }
        let texel = u64::from(info.format.block().bytes).max(1);
        let (mut sums, mut texels) = ([0_u32; 4], 0_u32);
        resource.layout.runs(&region, |run| {
            for at in (run.offset..run.offset + run.bytes).step_by(texel as usize) {
                let mut channels = [0; 4];
                resource.memory.read(at, &mut channels[..(texel as usize).min(4)]);
                for (sum, channel) in sums.iter_mut().zip(channels) {
                    *sum += u32::from(channel);
                }
                texels += 1;
            }
        });
        sums.map(|sum| (sum + texels / 2) / texels.max(1))
    }

    /// Writes the result of a dispatch that reads in `state`.
    fn write_out(&mut self, (out, offset): (&Arc<ResourceState>, u64), bytes: &[u8], state: State) {
        let span = Span::Bytes { start: offset, end: offset + bytes.len() as u64 };
        let written = match state {
            State::COMPUTE_SHADER => State::COMPUTE_UNORDERED_ACCESS,
            _ => State::UNORDERED_ACCESS,
        };
        if self.uses_one(out, span, written) {
            out.memory.write(offset, bytes);
        }
    }

    /// The resource or sampler of a descriptor, if it may be used in `state`; otherwise a hazard.
    fn find(&self, at: &At, state: State) -> Option<What> {
        if !self.holder_is_alive(at) {
            return None;
        }
        self.check_heap_is_set(at);
        let slot = at.slot();
        let Some(what) = at.read(&slot) else {
            self.nothing(at, &slot);
            return None;
        };
        if let Some(content) = slot.contents().find(|content| content.is_destroyed()) {
            let name = content.what.kind_name();
            self.dead(at, content.what.resource(), format!("{at} is {name}, which was destroyed"));
            return None;
        }
        if let Some((resource, freed)) = what.resource().and_then(|each| Some((each, each.freed()?))) {
            let detail = format!("{at} points at {}, and {freed} was destroyed", resource.label);
            self.dead(at, Some(resource), detail);
            return None;
        }
        if !what.may_be_used_in(state) {
            self.wrong(at, &what, &format!("it is used as {}", Shown(state)));
            return None;
        }
        Some(what)
    }

    /// Reports a missing descriptor, or a missing resource behind it.
    fn nothing(&self, at: &At, slot: &Slot) {
        let detail = match slot {
            Slot::Freed(name) => format!("{at} was freed by '{name}'"),
            Slot::Empty => format!("{at} was never written"),
            Slot::Holds(_) | Slot::Combined(..) | Slot::Constants { .. } | Slot::Structure(_) => {
                let what = slot.what();
                let resource = what.as_ref().and_then(What::resource);
                let detail = format!("{at} shows bytes outside of its buffer at the offset it is bound with");
                return self.dead(at, resource, detail);
            }
        };
        self.dead(at, None, detail);
    }

    fn dead(&self, at: &At, resource: Option<&Arc<ResourceState>>, detail: String) {
        let (check, kind) = (Checks::DESCRIPTORS, HazardKind::DeadDescriptor);
        match resource {
            Some(resource) => self.report(check, kind, &[at.label(), &resource.label], detail),
            None => self.report(check, kind, &[at.label()], detail),
        }
    }

    fn wrong(&self, at: &At, what: &What, use_of_it: &str) {
        let (check, kind) = (Checks::DESCRIPTORS, HazardKind::WrongDescriptor);
        let detail = format!("{at} is {}, and {use_of_it}", what.kind_name());
        match what.resource().map(|resource| Part { resource, range: what.bytes() }) {
            Some(part) => self.report(check, kind, &[at.label(), &part], detail),
            None => self.report(check, kind, &[at.label()], detail),
        }
    }

    /// Checks that the heap, or the pool of sets, is not destroyed. Direct3D 12 reads targets when they are
    /// recorded, so they need no check.
    fn holder_is_alive(&self, at: &At) -> bool {
        let recorded = matches!(at.slots, Slots::Targets(..)) && self.shared.is_d3d12();
        if recorded || !at.label().is_destroyed() {
            return true;
        }
        let detail = "it was destroyed before the command ran";
        self.report(Checks::LIFETIME, HazardKind::ReadOfFreed, &[at.label()], detail);
        false
    }

    fn check_heap_is_set(&self, at: &At) {
        let (Slots::Heap(heap), true) = (&at.slots, self.shared.properties.sets_descriptor_heaps()) else {
            return;
        };
        let set = match heap.kind() {
            DescriptorKind::Sampler => self.heaps[1],
            _ => self.heaps[0],
        };
        if set != Some(heap.label.id) {
            let detail = match set {
                Some(other) => format!("{at} is used while heap #{other} is set on the list"),
                None => format!("{at} is used, and no heap is set on the list"),
            };
            self.report(Checks::DESCRIPTORS, HazardKind::HeapNotSet, &[&heap.label], detail);
        }
    }
}
