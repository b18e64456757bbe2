//! Reading shader inputs through tables and sets.

use tenure_core::device::Device;
use tenure_core::{
    Bind, BindingKind, Buffer, BufferDesc, Commands, DescriptorSet, DescriptorTable, DescriptorTableDesc,
    Descriptors, Error, Queue, Readback, Scratch, Set, SetBinding, SetDescriptor, SetLayout, State,
    Subresource, Usage,
};

use crate::bench::{Bench, contents};
use crate::shader_input::ShaderInput;
use crate::{Harness, Look, Probe, Through};

/// The distance in bytes between the results of two reads.
const STEP: u64 = 256;

/// The size in bytes of the result of a read.
const WORDS: u64 = 16;

/// The location of a view and of its sampler.
pub(crate) struct ViewBinding<'a, D: Device> {
    pub(crate) view: Through<'a, D>,
    pub(crate) sampler: Option<Through<'a, D>>,
}

/// The entries of a table with the views of the inputs.
pub(crate) fn views<D: Device>(inputs: &[ShaderInput<D>]) -> Vec<Bind<'_, D>> {
    inputs.iter().map(ShaderInput::bind).collect()
}

/// The entries of a table with the samplers of the inputs.
pub(crate) fn samplers<D: Device>(inputs: &[ShaderInput<D>]) -> Vec<Bind<'_, D>> {
    inputs.iter().filter_map(|input| input.sampler.as_ref()).map(Bind::from).collect()
}

/// The layout of a set of the inputs, with gaps between binding numbers and with bindings of several elements.
pub(crate) fn bindings<D: Device>(inputs: &[ShaderInput<D>]) -> Vec<SetBinding> {
    let mut bindings = Vec::new();
    for (input, index) in inputs.iter().zip(0..) {
        let kind = input.kind.binding();
        bindings.push(SetBinding { binding: view_binding(index), kind, count: element(index) + 1 });
        if input.sampler.is_some() {
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

/// The element of an input's binding that holds its view.
const fn element(index: u32) -> u32 {
    index % 3
}

/// The entries of a set of the inputs. All elements of an array are written, because Vulkan without descriptor
/// indexing requires it; the other elements hold another input of the same kind.
pub(crate) fn set_binds<D: Device>(inputs: &[ShaderInput<D>]) -> Vec<SetDescriptor<'_, D>> {
    let mut binds = Vec::new();
    for (input, index) in inputs.iter().zip(0..) {
        let is_other = |other: &&ShaderInput<D>| {
            let is_alike = other.kind.binding() == input.kind.binding();
            is_alike && other.sampler.is_some() == input.sampler.is_some() && !std::ptr::eq(*other, input)
        };
        let around = inputs.iter().find(is_other).unwrap_or(input);
        let at = |element, bind| SetDescriptor::new(view_binding(index), bind).element(element);
        binds.extend((0..element(index)).map(|element| at(element, around.bind())));
        binds.push(at(element(index), input.bind()));
        binds.extend(
            input.sampler.as_ref().map(|sampler| SetDescriptor::new(sampler_binding(index), sampler)),
        );
    }
    binds
}

/// The locations in tables of all views and all samplers, each given as heap and first index.
pub(crate) fn in_heaps<'a, D: Device>(
    inputs: &[ShaderInput<D>],
    (views, first): (&'a D::DescriptorHeap, u32),
    samplers: Option<(&'a D::DescriptorHeap, u32)>,
) -> Vec<ViewBinding<'a, D>> {
    let mut samplers =
        samplers.into_iter().flat_map(|(heap, first)| (first..).map(move |index| (heap, index)));
    inputs
        .iter()
        .zip(first..)
        .map(|(input, index)| ViewBinding {
            view: Through::Heap { heap: views, index },
            sampler: input.sampler.as_ref().map(|_| {
                let (heap, index) = samplers.next().unwrap();
                Through::Heap { heap, index }
            }),
        })
        .collect()
}

/// The locations in a set.
pub(crate) fn in_set<'a, D: Device>(
    inputs: &[ShaderInput<D>],
    layout: &'a SetLayout<D>,
    (block, set): (&'a D::SetPool, u32),
) -> Vec<ViewBinding<'a, D>> {
    let layout = layout.raw();
    let at = |binding, element| Through::Set { layout, block, set, binding, element };
    inputs
        .iter()
        .zip(0..)
        .map(|(input, index)| ViewBinding {
            view: at(view_binding(index), element(index)),
            sampler: input.sampler.as_ref().map(|_| at(sampler_binding(index), 0)),
        })
        .collect()
}

/// Tables of the views and of the samplers, if there are inputs with samplers.
pub(crate) struct Tables<D: Device> {
    pub(crate) views: DescriptorTable<D>,
    samplers: Option<DescriptorTable<D>>,
}

impl<D: Device> Tables<D> {
    pub(crate) fn view_bindings(&self, inputs: &[ShaderInput<D>]) -> Vec<ViewBinding<'_, D>> {
        let samplers = self.samplers.as_ref().map(|table| (table.heap(), table.first()));
        in_heaps(inputs, (self.views.heap(), self.views.first()), samplers)
    }
}

/// The locations in tables of a recording.
pub(crate) fn dynamic_bindings<'r, D: Device>(
    scratch: &Scratch<'r, D>,
    inputs: &[ShaderInput<D>],
) -> Vec<ViewBinding<'r, D>> {
    let table = scratch.descriptors(&views(inputs)).unwrap();
    let samplers = samplers(inputs);
    let samplers = (!samplers.is_empty()).then(|| scratch.descriptors(&samplers).unwrap());
    let at = |table: &Descriptors<'r, D>| (table.heap(), table.first());
    in_heaps(inputs, at(&table), samplers.as_ref().map(at))
}

impl<H: Harness> Bench<'_, H> {
    /// True if shaders access descriptors by index.
    pub(crate) fn has_heaps(&self) -> bool {
        self.properties().descriptors.visible_resources > 0
    }

    /// True if shaders access descriptors in sets.
    pub(crate) fn has_sets(&self) -> bool {
        self.properties().descriptors.sets
    }

    pub(crate) fn tables(&self, inputs: &[ShaderInput<H::Device>], name: &str) -> Tables<H::Device> {
        let table = |binds: &[Bind<'_, H::Device>]| {
            self.gpu.create_descriptor_table(&DescriptorTableDesc::new(binds).name(name.to_owned())).unwrap()
        };
        let samplers = samplers(inputs);
        let samplers = (!samplers.is_empty()).then(|| table(&samplers));
        Tables { views: table(&views(inputs)), samplers }
    }

    /// A buffer for the results of `reads` reads.
    pub(crate) fn output(&self, reads: usize) -> Buffer<H::Device> {
        let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
        let desc = BufferDesc::new(reads as u64 * STEP, usage).alignment(STEP).name("output");
        self.gpu.create_buffer(&desc).unwrap()
    }

    /// Records a read of each input.
    pub(crate) fn record_reads(
        &self,
        commands: &mut Commands<H::Device>,
        inputs: &[ShaderInput<H::Device>],
        view_bindings: &[ViewBinding<'_, H::Device>],
        out: &Buffer<H::Device>,
    ) {
        inputs.iter().for_each(|input| input.prepare(commands));
        self.open(commands, out);
        for ((input, binding), index) in inputs.iter().zip(view_bindings).zip(0..) {
            match (input.kind.look(), binding.sampler) {
                (Some(look), _) => self.probe(commands, binding.view, look, (out, index)),
                (None, sampler) => {
                    let look = Look::Sampler { texture: binding.view };
                    self.probe(commands, sampler.unwrap(), look, (out, index));
                }
            }
        }
    }

    /// Prepares reads whose results are written to `out`.
    pub(crate) fn open(&self, commands: &mut Commands<H::Device>, out: &Buffer<H::Device>) {
        commands.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
        commands.barriers();
        if self.has_heaps() {
            commands.set_descriptor_heaps().unwrap();
        }
    }

    pub(crate) fn probe(
        &self,
        commands: &mut Commands<H::Device>,
        through: Through<'_, H::Device>,
        look: Look<'_, H::Device>,
        (out, index): (&Buffer<H::Device>, u64),
    ) {
        let offset = out.offset() + index * STEP;
        let probe = Probe { through, look, out: out.raw(), offset };
        self.harness.probe(commands.raw(), &probe);
    }

    /// Records the readback of the result of a read.
    pub(crate) fn read_back_result(
        &self,
        commands: &mut Commands<H::Device>,
        out: &Buffer<H::Device>,
        index: u64,
    ) -> Result<Readback<H::Device>, Error> {
        commands.read_back(out, index * STEP, WORDS)
    }

    /// The results of all reads.
    pub(crate) fn results(&self, out: &Buffer<H::Device>) -> Vec<[u32; 4]> {
        let reads = out.size() / STEP;
        let readback = self.readback(reads * WORDS);
        let done = self.submit(Queue::Graphics, |recording| {
            for read in 0..reads {
                recording.copy_buffer(out, read * STEP, &readback, read * WORDS, WORDS).unwrap();
            }
        });
        self.wait(&done);
        let bytes = contents(&readback);
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let words: Vec<_> = bytes.chunks_exact(4).map(word).collect();
        words.as_chunks().0.to_vec()
    }

    /// Checks the result of each input.
    #[track_caller]
    pub(crate) fn check_results(
        &self,
        inputs: &[ShaderInput<H::Device>],
        out: &Buffer<H::Device>,
        what: &str,
    ) {
        for (input, seen) in inputs.iter().zip(self.results(out)) {
            input.check(seen, what);
        }
    }
}

/// Block and number of a persistent set.
pub(crate) fn lasting<D: Device>(set: &DescriptorSet<D>) -> (&D::SetPool, u32) {
    (set.block(), set.index())
}

/// Block and number of a set of a recording.
pub(crate) const fn dynamic<'r, D: Device>(set: &Set<'r, D>) -> (&'r D::SetPool, u32) {
    (set.block(), set.index())
}
