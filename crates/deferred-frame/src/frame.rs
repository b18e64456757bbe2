//! The render graph of the frame.

use tenure::transient::graph::{PassId, ResourceId};
use tenure::{
    BufferDesc, Graph, Queue, State, TextureDesc, Usage, resource::TextureInfo, transient::TransientDesc,
};

use crate::passes::PASSES;
use crate::resources::{Extent, RESOURCES, Row, Shape};

/// The frame of a deferred renderer, at a resolution.
///
/// ```
/// use deferred_frame::DeferredFrame;
/// let frame = DeferredFrame::new(1920, 1080);
/// assert_eq!((frame.graph().resources(), frame.graph().passes()), (85, 85));
/// assert_eq!(frame.packed_bytes() >> 20, 395);
/// assert_eq!(DeferredFrame::new(3840, 2160).packed_bytes() >> 20, 1558);
/// ```
#[derive(Clone, Debug)]
pub struct DeferredFrame {
    graph: Graph,
    resources: Vec<(ResourceId, TransientDesc)>,
    passes: Vec<Pass>,
}

/// A pass of the frame.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Its identifier in the graph.
    pub id: PassId,
    /// Its queue.
    pub queue: Queue,
    /// Its name.
    pub name: &'static str,
    /// The resources that it uses, as indices of [`DeferredFrame::resources`], and their states.
    pub uses: Vec<(usize, State)>,
}

impl DeferredFrame {
    /// The frame at a resolution. A width or height of 0 counts as 1.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let size = [width.max(1), height.max(1)];
        let mut graph = Graph::new();
        let resources = RESOURCES.iter().zip(usages()).map(|(row, usage)| {
            let desc = describe(row, size, usage);
            let id = match desc.clone() {
                TransientDesc::Texture(desc) => graph.texture(desc),
                TransientDesc::Buffer(desc) => graph.buffer(desc),
            };
            (id, desc)
        });
        let resources: Vec<_> = resources.collect();
        let passes = PASSES.iter().map(|row| {
            let uses: Vec<_> = row.uses.iter().map(|(id, state)| (*id as usize, *state)).collect();
            let pass = graph.pass(row.queue, row.name);
            let pass = uses.iter().fold(pass, |pass, (index, state)| match resources.get(*index) {
                Some((id, desc)) if is_asked_for(desc, *state) => pass.uses(*id, *state),
                Some((id, _)) => pass.uses(*id, *state).uses(*id, State::COPY_SRC),
                None => pass,
            });
            Pass { id: pass.id(), queue: row.queue, name: row.name, uses }
        });
        let passes = passes.collect();
        Self { graph, resources, passes }
    }

    /// The render graph.
    #[must_use]
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The resources, with their identifiers in the graph.
    #[must_use]
    pub fn resources(&self) -> &[(ResourceId, TransientDesc)] {
        &self.resources
    }

    /// The passes, in the order of declaration.
    #[must_use]
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Bytes of all resources together, packed tightly; devices take more.
    #[must_use]
    pub fn packed_bytes(&self) -> u64 {
        let bytes = self.resources.iter().map(|(_, desc)| match desc {
            TransientDesc::Texture(desc) => desc.info.packed_bytes().unwrap_or(u64::MAX),
            TransientDesc::Buffer(desc) => desc.size,
        });
        bytes.fold(0, u64::saturating_add)
    }
}

/// Whether a declared state is requested before the pass. It is not for buffers that shaders write: on
/// Direct3D 12 the write of a shader promotes a buffer to this state, and here copies replace the shaders. Passes
/// declare `COPY_SRC` for such a buffer as well, and request the states of their copies themselves.
pub(crate) fn is_asked_for(desc: &TransientDesc, state: State) -> bool {
    desc.is_texture() || state != State::UNORDERED_ACCESS
}

/// The usage of each resource: by all passes, and by the copies that replace shaders.
fn usages() -> Vec<Usage> {
    let mut usages = vec![Usage::COPY_SRC | Usage::COPY_DST; RESOURCES.len()];
    for (id, state) in PASSES.iter().flat_map(|pass| pass.uses) {
        if let Some(usage) = usages.get_mut(*id as usize) {
            *usage |= usage_of(*state);
        }
    }
    usages
}

fn usage_of(state: State) -> Usage {
    const TABLE: [(State, Usage); 6] = [
        (State::RENDER_TARGET, Usage::RENDER_TARGET),
        (State::DEPTH_WRITE, Usage::DEPTH_STENCIL),
        (State::DEPTH_READ, Usage::DEPTH_STENCIL),
        (State::UNORDERED_ACCESS, Usage::UNORDERED_ACCESS),
        (State::SHADER_READ, Usage::SHADER_READ),
        (State::INDIRECT, Usage::INDIRECT),
    ];
    let used = TABLE.iter().filter(|(states, _)| states.intersects(state));
    used.fold(Usage::empty(), |usage, (_, more)| usage | *more)
}

fn describe(row: &Row, size: [u32; 2], usage: Usage) -> TransientDesc {
    let tiles = size.map(|side| u64::from(side.div_ceil(16)));
    let tiles = tiles[0] * tiles[1];
    let buffer = |bytes| TransientDesc::Buffer(BufferDesc::new(bytes, usage).name(row.name));
    let texture = |mut desc: TextureDesc| {
        desc.info.usage = usage;
        TransientDesc::Texture(desc.name(row.name))
    };
    match row.shape {
        Shape::Texture(format, extent) => {
            let [width, height] = extent.of(size);
            texture(TextureDesc::d2(width, height, format, usage))
        }
        Shape::Mipped(format, extent) => {
            let [width, height] = extent.of(size);
            texture(TextureDesc::d2(width, height, format, usage).mips(width.max(height).ilog2() + 1))
        }
        Shape::Volume(format, extent, depth) => {
            let [width, height] = extent.of(size);
            texture(TextureDesc::d3(width, height, depth, format, usage))
        }
        Shape::Buffer(bytes) => buffer(bytes),
        Shape::TileBuffer(bytes) => buffer(tiles.saturating_mul(bytes)),
        Shape::ClusterBuffer(bytes) => buffer(tiles.saturating_mul(32 * bytes)),
    }
}

impl Extent {
    /// The width and height in texels, for a frame of this size.
    fn of(self, [width, height]: [u32; 2]) -> [u32; 2] {
        match self {
            Self::Part(divisor) => [width, height].map(|side| side.div_ceil(divisor)),
            Self::Shadow(divisor) => {
                let side = height.checked_next_power_of_two().unwrap_or(height) / divisor;
                [side.max(1); 2]
            }
            Self::Fixed(width, height) => [width, height],
        }
    }
}

/// The texel in the middle of a mip.
pub(crate) fn middle(info: &TextureInfo, mip: u32) -> [u32; 3] {
    info.mip_extent(mip).map(|side| side / 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use super::*;

    #[test]
    fn every_resource_is_written_before_it_is_read() {
        let frame = DeferredFrame::new(640, 360);
        let mut written = vec![false; frame.resources().len()];
        for pass in frame.passes() {
            for (resource, state) in &pass.uses {
                assert!(
                    written[*resource] || state.is_write(),
                    "{}: {}",
                    pass.name,
                    RESOURCES[*resource].name
                );
                written[*resource] = true;
            }
        }
        assert!(written.iter().all(|written| *written), "{written:?}");
    }

    /// Vulkan copies depth on graphics queues alone, and the renderer's passes consist of copies.
    #[test]
    fn depth_textures_are_used_on_the_graphics_queue_alone() {
        let frame = DeferredFrame::new(640, 360);
        let others = frame.passes().iter().filter(|pass| pass.queue != Queue::Graphics);
        for (resource, _) in others.flat_map(|pass| &pass.uses) {
            let (_, desc) = &frame.resources()[*resource];
            let is_depth = matches!(desc, TransientDesc::Texture(desc) if desc.info.format.is_depth());
            assert!(!is_depth, "{}", desc.name());
        }
    }

    #[test]
    fn names_are_unique() {
        for names in [
            RESOURCES.iter().map(|row| row.name).collect::<Vec<_>>(),
            PASSES.iter().map(|row| row.name).collect(),
        ] {
            let unique: std::collections::HashSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len());
        }
    }
}
