//! Looking at exhibits through tables and sets.

use tenure_core::device::{BindingKind, Device, SetBinding, State, Subresource, Usage};
use tenure_core::{
    Bind, Buffer, BufferDesc, Commands, DescriptorSet, DescriptorTable, Descriptors, Error, Queue, Readback,
    Scratch, Set, SetLayout,
};

use crate::bench::{Bench, contents};
use crate::exhibit::Exhibit;
use crate::{Harness, Look, Probe, Through};

/// Bytes from the words of one look to those of the next.
const STEP: u64 = 256;

/// Bytes of the words of one look.
const WORDS: u64 = 16;

/// Where shaders find a view, and what it is sampled with.
pub(crate) struct Place<'a, D: Device> {
    pub(crate) view: Through<'a, D>,
    pub(crate) sampler: Option<Through<'a, D>>,
}

/// What a table of their views holds.
pub(crate) fn views<D: Device>(exhibits: &[Exhibit<D>]) -> Vec<Bind<'_, D>> {
    exhibits.iter().map(Exhibit::bind).collect()
}

/// What a table of their samplers holds.
pub(crate) fn samplers<D: Device>(exhibits: &[Exhibit<D>]) -> Vec<Bind<'_, D>> {
    exhibits.iter().filter_map(|exhibit| exhibit.sampler.as_ref()).map(Bind::from).collect()
}

/// The layout of a set of them: numbers with gaps, and bindings of several elements.
pub(crate) fn bindings<D: Device>(exhibits: &[Exhibit<D>]) -> Vec<SetBinding> {
    let mut bindings = Vec::new();
    for (exhibit, index) in exhibits.iter().zip(0..) {
        let kind = exhibit.kind.binding();
        bindings.push(SetBinding { binding: view_binding(index), kind, count: element(index) + 1 });
        if exhibit.sampler.is_some() {
            let (binding, kind) = (sampler_binding(index), BindingKind::Sampler);
            bindings.push(SetBinding { binding, kind, count: 1 });
        }
    }
    bindings
}

const fn view_binding(index: u32) -> u32 {
    3 * index
}

const fn sampler_binding(index: u32) -> u32 {
    3 * index + 1
}

/// Which of its binding's descriptors is written.
const fn element(index: u32) -> u32 {
    index % 3
}

/// What a set of them holds: of an array all, because Vulkan without descriptor indexing wants it so,
/// and around what is looked at something else that can be looked at in the same way.
pub(crate) fn set_binds<D: Device>(exhibits: &[Exhibit<D>]) -> Vec<(u32, u32, Bind<'_, D>)> {
    let mut binds = Vec::new();
    for (exhibit, index) in exhibits.iter().zip(0..) {
        let is_other = |other: &&Exhibit<D>| {
            let is_alike = other.kind.binding() == exhibit.kind.binding();
            is_alike && other.sampler.is_some() == exhibit.sampler.is_some() && !std::ptr::eq(*other, exhibit)
        };
        let around = exhibits.iter().find(is_other).unwrap_or(exhibit);
        binds.extend((0..element(index)).map(|element| (view_binding(index), element, around.bind())));
        binds.push((view_binding(index), element(index), exhibit.bind()));
        binds.extend(exhibit.sampler.as_ref().map(|sampler| (sampler_binding(index), 0, sampler.into())));
    }
    binds
}

/// Where they are in tables of all views and all samplers: heap and first index.
pub(crate) fn in_heaps<'a, D: Device>(
    exhibits: &[Exhibit<D>],
    (views, first): (&'a D::DescriptorHeap, u32),
    samplers: Option<(&'a D::DescriptorHeap, u32)>,
) -> Vec<Place<'a, D>> {
    let mut samplers =
        samplers.into_iter().flat_map(|(heap, first)| (first..).map(move |index| (heap, index)));
    exhibits
        .iter()
        .zip(first..)
        .map(|(exhibit, index)| Place {
            view: Through::Heap { heap: views, index },
            sampler: exhibit.sampler.as_ref().map(|_| {
                let (heap, index) = samplers.next().unwrap();
                Through::Heap { heap, index }
            }),
        })
        .collect()
}

/// Where they are in a set.
pub(crate) fn in_set<'a, D: Device>(
    exhibits: &[Exhibit<D>],
    layout: &'a SetLayout<D>,
    (block, set): (&'a D::SetBlock, u32),
) -> Vec<Place<'a, D>> {
    let layout = layout.raw();
    let at = |binding, element| Through::Set { layout, block, set, binding, element };
    exhibits
        .iter()
        .zip(0..)
        .map(|(exhibit, index)| Place {
            view: at(view_binding(index), element(index)),
            sampler: exhibit.sampler.as_ref().map(|_| at(sampler_binding(index), 0)),
        })
        .collect()
}

/// Tables of views and of samplers, if there are any.
pub(crate) struct Tables<D: Device> {
    pub(crate) views: DescriptorTable<D>,
    samplers: Option<DescriptorTable<D>>,
}

impl<D: Device> Tables<D> {
    pub(crate) fn places(&self, exhibits: &[Exhibit<D>]) -> Vec<Place<'_, D>> {
        let samplers = self.samplers.as_ref().map(|table| (table.heap(), table.first()));
        in_heaps(exhibits, (self.views.heap(), self.views.first()), samplers)
    }
}

/// The same of a recording.
pub(crate) fn dynamic_places<'r, D: Device>(
    scratch: &Scratch<'r, D>,
    exhibits: &[Exhibit<D>],
) -> Vec<Place<'r, D>> {
    let table = scratch.descriptors(&views(exhibits)).unwrap();
    let samplers = samplers(exhibits);
    let samplers = (!samplers.is_empty()).then(|| scratch.descriptors(&samplers).unwrap());
    let at = |table: &Descriptors<'r, D>| (table.heap(), table.first());
    in_heaps(exhibits, at(&table), samplers.as_ref().map(at))
}

impl<H: Harness> Bench<'_, H> {
    /// True when shaders find descriptors by index.
    pub(crate) fn has_heaps(&self) -> bool {
        self.properties().descriptors.visible_resources > 0
    }

    /// True when shaders find descriptors in sets.
    pub(crate) fn has_sets(&self) -> bool {
        self.properties().descriptors.sets
    }

    pub(crate) fn tables(&self, exhibits: &[Exhibit<H::Device>], name: &str) -> Tables<H::Device> {
        let table =
            |binds: &[Bind<'_, H::Device>]| self.gpu.create_descriptor_table(binds, name.to_owned()).unwrap();
        let samplers = samplers(exhibits);
        let samplers = (!samplers.is_empty()).then(|| table(&samplers));
        Tables { views: table(&views(exhibits)), samplers }
    }

    /// A buffer for what is seen by so many looks.
    pub(crate) fn sight(&self, looks: usize) -> Buffer<H::Device> {
        let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
        let desc = BufferDesc::new(looks as u64 * STEP, usage).alignment(STEP).name("sight");
        self.gpu.create_buffer(&desc).unwrap()
    }

    /// Records a look at each exhibit.
    pub(crate) fn look(
        &self,
        commands: &mut Commands<'_, H::Device>,
        exhibits: &[Exhibit<H::Device>],
        places: &[Place<'_, H::Device>],
        out: &Buffer<H::Device>,
    ) {
        exhibits.iter().for_each(|exhibit| exhibit.prepare(commands));
        self.open(commands, out);
        for ((exhibit, place), index) in exhibits.iter().zip(places).zip(0..) {
            match (exhibit.kind.look(), place.sampler) {
                (Some(look), _) => self.probe(commands, place.view, look, (out, index)),
                (None, sampler) => {
                    let look = Look::Sampler { texture: place.view };
                    self.probe(commands, sampler.unwrap(), look, (out, index));
                }
            }
        }
    }

    /// Everything is ready for looks, whose words go to `out`.
    pub(crate) fn open(&self, commands: &mut Commands<'_, H::Device>, out: &Buffer<H::Device>) {
        commands.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
        commands.barriers();
        if self.has_heaps() {
            commands.set_descriptor_heaps().unwrap();
        }
    }

    pub(crate) fn probe(
        &self,
        commands: &mut Commands<'_, H::Device>,
        through: Through<'_, H::Device>,
        look: Look<'_, H::Device>,
        (out, index): (&Buffer<H::Device>, u64),
    ) {
        let offset = out.offset() + index * STEP;
        let probe = Probe { through, look, out: out.raw(), offset };
        self.harness.probe(commands.raw(), &probe);
    }

    /// Records that what was seen by a look is to be read back.
    pub(crate) fn read_look(
        &self,
        commands: &mut Commands<'_, H::Device>,
        out: &Buffer<H::Device>,
        index: u64,
    ) -> Result<Readback<H::Device>, Error> {
        commands.read_back(out, index * STEP, WORDS)
    }

    /// What was seen by each look.
    pub(crate) fn seen(&self, out: &Buffer<H::Device>) -> Vec<[u32; 4]> {
        let looks = out.size() / STEP;
        let readback = self.readback(looks * WORDS);
        let done = self.submit(Queue::Graphics, |recording| {
            for look in 0..looks {
                recording.copy_buffer(out, look * STEP, &readback, look * WORDS, WORDS).unwrap();
            }
        });
        self.wait(&done);
        let bytes = contents(&readback);
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let words: Vec<_> = bytes.chunks_exact(4).map(word).collect();
        words.as_chunks().0.to_vec()
    }

    /// Checks what was seen of each exhibit.
    #[track_caller]
    pub(crate) fn check_seen(&self, exhibits: &[Exhibit<H::Device>], out: &Buffer<H::Device>, what: &str) {
        for (exhibit, seen) in exhibits.iter().zip(self.seen(out)) {
            exhibit.check(seen, what);
        }
    }
}

/// Block and number of a set that lasts.
pub(crate) fn lasting<D: Device>(set: &DescriptorSet<D>) -> (&D::SetBlock, u32) {
    (set.block(), set.index())
}

/// Block and number of a set of a recording.
pub(crate) const fn dynamic<'r, D: Device>(set: &Set<'r, D>) -> (&'r D::SetBlock, u32) {
    (set.block(), set.index())
}
