//! The declaration of a graph: its passes, their queues, and the resources they use.

use super::{Name, Resource};
use crate::device::{Queue, State};

/// The passes of a frame in a valid order of execution, and their transient resources.
///
/// A plain value, independent of devices: it can be built in each frame, cloned, and compared; equal graphs have the same
/// plan. Errors are reported when it is compiled.
///
/// Passes on one queue run in the order of declaration. Between queues, a pass waits for an earlier
/// one if both use a resource and one of them may write it, or if it is declared to run
/// [`after`](PassBuilder::after) it. The first pass that uses a resource must clear or write all of
/// it, so it must use it in a write state.
///
/// ```
/// use tenure::{BufferDesc, Format, Graph, Queue, State, TextureDesc, Usage};
///
/// let mut graph = Graph::new(); // with the descriptions of tenure
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Graph<R> {
    pub(super) resources: Vec<R>,
    pub(super) passes: Vec<Pass>,
    /// The uses of all passes, one after the other.
    pub(super) uses: Vec<Use>,
    /// The `after` declarations of all passes, one after the other.
    pub(super) after: Vec<PassId>,
}

/// A pass as declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pass {
    pub(super) queue: Queue,
    pub(super) name: Name,
    /// True for the first pass of a recording.
    pub(super) is_first: bool,
    /// The end of its uses in `Graph::uses`; they begin at the end of the previous pass.
    uses_end: usize,
    /// The end of its declarations in `Graph::after`.
    after_end: usize,
}

/// A use as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Use {
    pub(super) resource: ResourceId,
    pub(super) state: State,
}

impl<R> Default for Graph<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> Graph<R> {
    /// A graph without passes.
    #[must_use]
    pub const fn new() -> Self {
        Self { resources: Vec::new(), passes: Vec::new(), uses: Vec::new(), after: Vec::new() }
    }

    /// Removes all declarations, and keeps the allocated memory for the next ones.
    pub fn clear(&mut self) {
        self.resources.clear();
        self.passes.clear();
        self.uses.clear();
        self.after.clear();
    }

    /// Declares a texture.
    pub fn texture(&mut self, desc: R::Texture) -> ResourceId
    where
        R: Resource,
    {
        self.resource(desc.into())
    }

    /// Declares a buffer in GPU-only memory. It is always a separate API resource, independent of the description.
    pub fn buffer(&mut self, desc: R::Buffer) -> ResourceId
    where
        R: Resource,
    {
        self.resource(desc.into())
    }

    fn resource(&mut self, desc: R) -> ResourceId {
        let id = ResourceId::new(self.resources.len());
        self.resources.push(desc);
        id
    }

    /// Declares the next pass.
    pub fn pass(&mut self, queue: Queue, name: impl Into<Name>) -> PassBuilder<'_, R> {
        let (uses_end, after_end) = (self.uses.len(), self.after.len());
        self.passes.push(Pass { queue, name: name.into(), is_first: false, uses_end, after_end });
        PassBuilder { graph: self }
    }

    /// The number of passes.
    #[must_use]
    pub const fn passes(&self) -> usize {
        self.passes.len()
    }

    /// The number of resources.
    #[must_use]
    pub const fn resources(&self) -> usize {
        self.resources.len()
    }

    /// The ids of the passes, in the order of declaration.
    pub fn pass_ids(&self) -> impl ExactSizeIterator<Item = PassId> + use<R> {
        (0..self.passes.len()).map(PassId::new)
    }

    /// The ids of the resources, in the order of declaration.
    pub fn resource_ids(&self) -> impl ExactSizeIterator<Item = ResourceId> + use<R> {
        (0..self.resources.len()).map(ResourceId::new)
    }

    /// The description of a resource; `None` for one of another graph.
    #[must_use]
    pub fn desc(&self, resource: ResourceId) -> Option<&R> {
        self.resources.get(resource.index())
    }

    /// Every resource, in the order of declaration.
    pub fn each_resource(&self) -> impl ExactSizeIterator<Item = (ResourceId, &R)> {
        self.resources.iter().enumerate().map(|(index, desc)| (ResourceId::new(index), desc))
    }

    /// The uses of the pass with this index.
    pub(super) fn uses_of(&self, pass: usize) -> &[Use] {
        let start = self.before(pass).map_or(0, |before| before.uses_end);
        let end = self.passes.get(pass).map_or(start, |it| it.uses_end);
        self.uses.get(start..end).unwrap_or_default()
    }

    /// The passes that the pass with this index is declared to run after.
    pub(super) fn after_of(&self, pass: usize) -> &[PassId] {
        let start = self.before(pass).map_or(0, |before| before.after_end);
        let end = self.passes.get(pass).map_or(start, |it| it.after_end);
        self.after.get(start..end).unwrap_or_default()
    }

    fn before(&self, pass: usize) -> Option<&Pass> {
        pass.checked_sub(1).and_then(|before| self.passes.get(before))
    }
}

/// Builder for the last declared pass.
#[derive(Debug)]
pub struct PassBuilder<'g, R> {
    graph: &'g mut Graph<R>,
}

impl<R> PassBuilder<'_, R> {
    /// Declares that the pass uses the whole resource in that state; it is transitioned before the pass.
    ///
    /// One resource may be declared several times. If all states are reads in the same image layout, it is transitioned to all
    /// of them. Otherwise (two subresources in different states, for example) the pass itself must request the states; at most
    /// one of them may write.
    ///
    /// The pass must use a declared buffer: with Direct3D 12's legacy barriers, the use itself promotes it to the state. A
    /// declared texture may stay unused, for example until its content is loaded.
    pub fn uses(self, resource: ResourceId, state: State) -> Self {
        self.graph.uses.push(Use { resource, state });
        if let Some(pass) = self.graph.passes.last_mut() {
            pass.uses_end = self.graph.uses.len();
        }
        self
    }

    /// Declares that the pass runs after an earlier one, for a reason other than the resources they use.
    pub fn after(self, pass: PassId) -> Self {
        self.graph.after.push(pass);
        if let Some(pass) = self.graph.passes.last_mut() {
            pass.after_end = self.graph.after.len();
        }
        self
    }

    /// Declares that the pass begins a recording: earlier passes of its queue are submitted before it. A wait for an external
    /// semaphore or fence, which delays a whole recording, then delays only this pass and later ones: in a frame, only the
    /// passes from the one that draws to the swap chain's image.
    pub fn begins_recording(self) -> Self {
        if let Some(pass) = self.graph.passes.last_mut() {
            pass.is_first = true;
        }
        self
    }

    /// The id of the pass.
    #[must_use]
    pub fn id(self) -> PassId {
        PassId::new(self.graph.passes.len().saturating_sub(1))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// An index: valid for every graph with the same declarations in the same order. An index beyond the graph's
        /// is an error when the graph is compiled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id with this index; beyond `u32::MAX` an id that no graph has.
            pub(super) fn new(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The index in the order of declaration, from 0.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A pass of a [`Graph`](super::Graph).
    PassId
}

id! {
    /// A resource of a [`Graph`](super::Graph).
    ResourceId
}
