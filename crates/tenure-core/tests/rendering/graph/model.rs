//! The memory model of the tests, and a naive version of the rules of declarations.

use std::sync::Arc;

use tenure_core::device::{Properties, prelude::*};
use tenure_core::transient::graph::{
    Compiled, Graph, GraphError, Memory, Need, PassId, PlanCache, PlanCacheConfig, ResourceId, TransientDesc,
};
use tenure_core::{BufferDesc, Format, Queue, State, TextureDesc, Usage};
use tenure_sim::{Device, Profile};

/// Needs by description: buffers in class 0, textures in class 1, in units of `unit` bytes.
pub(crate) struct Needs {
    pub(crate) unit: u64,
    pub(crate) limit: u64,
    /// The number of queries.
    pub(crate) asked: usize,
}

impl Default for Needs {
    fn default() -> Self {
        Self { unit: 64 << 10, limit: 1 << 40, asked: 0 }
    }
}

impl Memory<TransientDesc> for Needs {
    type Error = GraphError;

    fn need(&mut self, resource: &TransientDesc) -> Result<Need, GraphError> {
        self.asked += 1;
        let (bytes, class) = match resource {
            TransientDesc::Buffer(desc) => (desc.size, 0),
            TransientDesc::Texture(desc) => (desc.info.packed_bytes().unwrap(), 1),
        };
        Ok(Need {
            size: bytes.next_multiple_of(self.unit),
            alignment: self.unit,
            heap_alignment: self.unit,
            class,
        })
    }

    fn largest_heap(&mut self, _class: u32) -> u64 {
        self.limit
    }
}

pub(crate) fn d3d12() -> Properties {
    Device::new(Profile::D3D12_TIER2).properties().clone()
}

pub(crate) fn vulkan() -> Properties {
    Device::new(Profile::VULKAN_AMD_SMALL_BAR).properties().clone()
}

pub(crate) fn compile_on(graph: &Graph, properties: &Properties) -> Result<Arc<Compiled>, GraphError> {
    let mut cache = PlanCache::new(PlanCacheConfig::default());
    cache.get_or_plan(graph, properties, &mut Needs::default()).map(|found| found.compiled)
}

pub(crate) fn compile(graph: &Graph) -> Result<Arc<Compiled>, GraphError> {
    compile_on(graph, &d3d12())
}

pub(crate) fn buffer(units: u64) -> BufferDesc {
    let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | Usage::COPY_SRC;
    BufferDesc::new(units * (64 << 10), usage).name("buffer")
}

/// A texture that can be written on every queue and read by every shader.
pub(crate) fn texture() -> TextureDesc {
    let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | Usage::COPY_SRC;
    TextureDesc::d2(128, 128, Format::Rgba8Unorm, usage).name("texture")
}

/// A declaration as the test sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    /// Units of each buffer.
    pub(crate) buffers: Vec<u64>,
    pub(crate) passes: Vec<Pass>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) queue: Queue,
    /// Each buffer once.
    pub(crate) uses: Vec<(usize, State)>,
    pub(crate) after: Vec<usize>,
}

impl Declared {
    pub(crate) fn graph(&self) -> (Graph, Vec<PassId>, Vec<ResourceId>) {
        let mut graph = Graph::new();
        let buffers: Vec<ResourceId> =
            self.buffers.iter().map(|&units| graph.buffer(buffer(units))).collect();
        let mut passes: Vec<PassId> = Vec::new();
        for pass in &self.passes {
            let mut builder = graph.pass(pass.queue, "pass");
            for &(buffer, state) in &pass.uses {
                builder = builder.uses(buffers[buffer], state);
            }
            for &after in &pass.after {
                builder = builder.after(passes[after]);
            }
            passes.push(builder.id());
        }
        (graph, passes, buffers)
    }

    /// Pairs of passes: the first must end before the second begins.
    pub(crate) fn order(&self) -> Vec<Vec<bool>> {
        let mut order = vec![vec![false; self.passes.len()]; self.passes.len()];
        for (b, later) in self.passes.iter().enumerate() {
            for (a, earlier) in self.passes[..b].iter().enumerate() {
                let mut pairs =
                    earlier.uses.iter().flat_map(|one| later.uses.iter().map(move |other| (one, other)));
                order[a][b] = earlier.queue == later.queue
                    || later.after.contains(&a)
                    || pairs.any(|(one, other)| one.0 == other.0 && (one.1.is_write() || other.1.is_write()));
            }
        }
        closure(order)
    }
}

pub(crate) fn closure(mut order: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let count = order.len();
    for middle in 0..count {
        for one in 0..count {
            for other in 0..count {
                order[one][other] |= order[one][middle] && order[middle][other];
            }
        }
    }
    order
}
