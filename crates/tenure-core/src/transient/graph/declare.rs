//! The declaration: which passes there are, on which queues, and what they use.

use super::{PassId, ResourceId, TransientDesc};
use crate::device::State;
use crate::{BufferDesc, Queue, TextureDesc};

/// The passes of a frame in an order in which they can run, and the resources that live only there.
///
/// A value that knows nothing of a device: it can be built anew each frame, cloned, and compared;
/// two that are equal have the same plan. What is wrong with it is said when it is compiled.
///
/// Passes on one queue run in the order of declaration. Between queues, a pass waits for an earlier
/// one if both use a resource and one of them may write it, or if it is said to come
/// [`after`](PassBuilder::after) it. The first pass that uses a resource must clear, discard or write
/// all of it, so it must use it in a write state.
///
/// ```
/// use tenure::device::{Format, State, Usage};
/// use tenure::transient::graph::Graph;
/// use tenure::{BufferDesc, Queue, TextureDesc};
///
/// let mut graph = Graph::new();
/// let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
/// let depth = graph.texture(TextureDesc::d2(1920, 1080, Format::D32Float, usage).name("depth"));
/// let lists = graph.buffer(BufferDesc::new(1 << 20, Usage::UNORDERED_ACCESS).name("light lists"));
/// let prepass = graph.pass(Queue::Graphics, "prepass").uses(depth, State::DEPTH_WRITE).id();
/// graph
///     .pass(Queue::Compute, "cull lights")
///     .uses(depth, State::NON_PIXEL_SHADER)
///     .uses(lists, State::UNORDERED_ACCESS)
///     .after(prepass); // not needed: it reads what the prepass wrote
/// assert_eq!((graph.passes(), graph.resources()), (2, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    pub(super) resources: Vec<TransientDesc>,
    pub(super) passes: Vec<Pass>,
    /// Of all passes, one after the other.
    pub(super) uses: Vec<Use>,
    /// Of all passes, one after the other.
    pub(super) after: Vec<PassId>,
}

/// A pass as declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pass {
    pub(super) queue: Queue,
    pub(super) name: &'static str,
    /// Where its uses end; they begin where those of the pass before end.
    uses_end: usize,
    /// Where the passes that it comes after end.
    after_end: usize,
}

/// A use as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Use {
    pub(super) resource: ResourceId,
    pub(super) state: State,
}

impl Graph {
    /// A graph without passes.
    #[must_use]
    pub const fn new() -> Self {
        Self { resources: Vec::new(), passes: Vec::new(), uses: Vec::new(), after: Vec::new() }
    }

    /// Forgets all that was declared, and keeps the memory for the next declaration.
    pub fn clear(&mut self) {
        self.resources.clear();
        self.passes.clear();
        self.uses.clear();
        self.after.clear();
    }

    /// Declares a texture.
    pub fn texture(&mut self, desc: TextureDesc) -> ResourceId {
        self.resource(TransientDesc::Texture(desc))
    }

    /// Declares a buffer, of memory for the GPU alone. It is an API resource of its own, whatever the
    /// description says.
    pub fn buffer(&mut self, desc: BufferDesc) -> ResourceId {
        self.resource(TransientDesc::Buffer(desc))
    }

    fn resource(&mut self, desc: TransientDesc) -> ResourceId {
        let id = ResourceId::new(self.resources.len());
        self.resources.push(desc);
        id
    }

    /// Declares the next pass.
    pub fn pass(&mut self, queue: Queue, name: &'static str) -> PassBuilder<'_> {
        let (uses_end, after_end) = (self.uses.len(), self.after.len());
        self.passes.push(Pass { queue, name, uses_end, after_end });
        PassBuilder { graph: self }
    }

    /// How many passes there are.
    #[must_use]
    pub const fn passes(&self) -> usize {
        self.passes.len()
    }

    /// How many resources there are.
    #[must_use]
    pub const fn resources(&self) -> usize {
        self.resources.len()
    }

    /// What the passes are called, in the order of declaration.
    pub fn pass_ids(&self) -> impl ExactSizeIterator<Item = PassId> + use<> {
        (0..self.passes.len()).map(PassId::new)
    }

    /// What the resources are called, in the order of declaration.
    pub fn resource_ids(&self) -> impl ExactSizeIterator<Item = ResourceId> + use<> {
        (0..self.resources.len()).map(ResourceId::new)
    }

    /// The description of a resource; `None` for one of another graph.
    #[must_use]
    pub fn desc(&self, resource: ResourceId) -> Option<&TransientDesc> {
        self.resources.get(resource.index())
    }

    /// Every resource, in the order of declaration.
    pub fn each_resource(&self) -> impl ExactSizeIterator<Item = (ResourceId, &TransientDesc)> {
        self.resources.iter().enumerate().map(|(index, desc)| (ResourceId::new(index), desc))
    }

    /// What the pass of that index uses.
    pub(super) fn uses_of(&self, pass: usize) -> &[Use] {
        let start = self.before(pass).map_or(0, |before| before.uses_end);
        let end = self.passes.get(pass).map_or(start, |it| it.uses_end);
        self.uses.get(start..end).unwrap_or_default()
    }

    /// What the pass of that index comes after.
    pub(super) fn after_of(&self, pass: usize) -> &[PassId] {
        let start = self.before(pass).map_or(0, |before| before.after_end);
        let end = self.passes.get(pass).map_or(start, |it| it.after_end);
        self.after.get(start..end).unwrap_or_default()
    }

    fn before(&self, pass: usize) -> Option<&Pass> {
        pass.checked_sub(1).and_then(|before| self.passes.get(before))
    }
}

/// The pass that was declared last, to say more about it.
#[derive(Debug)]
pub struct PassBuilder<'g> {
    graph: &'g mut Graph,
}

impl PassBuilder<'_> {
    /// The pass uses the resource, all of it, in that state; the state is brought about before it.
    ///
    /// One resource may be named several times. If all states are reads that one layout serves, it is
    /// brought into all of them. Otherwise (two parts of it in different states, say) the pass itself
    /// must ask for the states; at most one of them may write.
    ///
    /// The pass must make the use: with Direct3D 12's legacy barriers it is the use that brings a buffer
    /// into its state.
    pub fn uses(self, resource: ResourceId, state: State) -> Self {
        self.graph.uses.push(Use { resource, state });
        if let Some(pass) = self.graph.passes.last_mut() {
            pass.uses_end = self.graph.uses.len();
        }
        self
    }

    /// The pass runs after that earlier one, for a reason that resources do not tell.
    pub fn after(self, pass: PassId) -> Self {
        self.graph.after.push(pass);
        if let Some(pass) = self.graph.passes.last_mut() {
            pass.after_end = self.graph.after.len();
        }
        self
    }

    /// What to call the pass.
    #[must_use]
    pub fn id(self) -> PassId {
        PassId::new(self.graph.passes.len().saturating_sub(1))
    }
}
