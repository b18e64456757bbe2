//! Every error of a graph is reported, with its numbers.

use tenure_core::device::Allowed;
use tenure_core::transient::graph::{
    Graph, GraphError, Memory, Need, PlanCache, PlanCacheConfig, TransientDesc,
};
use tenure_core::{DeviceError, Format, MemoryUse, Queue, QueueId, QueueKind, State, TextureDesc, Usage};

use super::model::{Needs, buffer, compile, d3d12, texture};

const WRITE: State = State::UNORDERED_ACCESS;

fn error(declare: impl FnOnce(&mut Graph)) -> GraphError {
    let mut graph = Graph::new();
    declare(&mut graph);
    compile(&graph).unwrap_err()
}

#[test]
fn ids_of_another_graph() {
    let mut other = Graph::new();
    other.buffer(buffer(1));
    let (far, pass) = (other.buffer(buffer(1)), other.pass(Queue::Graphics, "other").id());
    let found = error(|graph| {
        graph.pass(Queue::Graphics, "draw").uses(far, WRITE);
    });
    assert_eq!(found, GraphError::UnknownResource { pass: "draw".into(), index: 1, resources: 0 });
    let found = error(|graph| {
        graph.pass(Queue::Graphics, "draw").after(pass);
    });
    let after_itself =
        GraphError::NotEarlier { pass: "draw".into(), index: 0, other: "draw".into(), after: 0 };
    assert_eq!(found, after_itself, "its index is that of the pass itself");
    other.pass(Queue::Graphics, "second");
    let pass = other.pass(Queue::Graphics, "third").id();
    let found = error(|graph| {
        graph.pass(Queue::Graphics, "draw").after(pass);
    });
    assert_eq!(found, GraphError::UnknownPass { pass: "draw".into(), index: 2, passes: 1 });
    let found = error(|graph| {
        graph.pass(Queue::Graphics, "draw").after(pass);
        graph.pass(Queue::Graphics, "second");
        graph.pass(Queue::Graphics, "third");
    });
    assert_eq!(
        found,
        GraphError::NotEarlier { pass: "draw".into(), index: 0, other: "third".into(), after: 2 }
    );
}

#[test]
fn queues_that_are_not_there() {
    let queues = d3d12().queues.len();
    let queue = QueueId(200);
    let found = error(|graph| _ = graph.pass(Queue::Id(queue), "draw"));
    assert_eq!(found, GraphError::UnknownQueue { pass: "draw".into(), queue, queues });
}

#[test]
fn invalid_states_are_refused() {
    let use_of = |queue, desc, state| {
        error(|graph| {
            let texture = graph.texture(desc);
            graph.pass(queue, "pass").uses(texture, state);
        })
    };
    let resource = texture().name;
    let both = State::UNORDERED_ACCESS | State::COPY_SRC;
    for state in [State::COMMON, both, State::ACCELERATION_STRUCTURE | State::NON_PIXEL_SHADER] {
        let found = use_of(Queue::Graphics, texture(), state);
        assert_eq!(
            found,
            GraphError::InvalidState { pass: "pass".into(), resource: resource.clone(), state }
        );
    }
    let state = State::RENDER_TARGET;
    let usage = texture().info.usage;
    let found = use_of(Queue::Graphics, texture(), state);
    assert_eq!(
        found,
        GraphError::NotInUsage { pass: "pass".into(), resource: resource.clone(), state, usage }
    );
    let (state, kind) = (State::UNORDERED_ACCESS, QueueKind::Copy);
    let found = use_of(Queue::Copy, texture(), state);
    assert_eq!(
        found,
        GraphError::NotOnQueue { pass: "pass".into(), resource: resource.clone(), state, kind }
    );
    let state = State::NON_PIXEL_SHADER;
    let found = use_of(Queue::Graphics, texture(), state);
    assert_eq!(found, GraphError::NotWrittenFirst { pass: "pass".into(), resource, state });
}

#[test]
fn two_writes_in_one_pass() {
    let twice = |first, second| {
        let mut graph = Graph::new();
        let texture = graph.texture(texture());
        graph.pass(Queue::Graphics, "pass").uses(texture, first).uses(texture, second);
        compile(&graph).map(|compiled| compiled.peak())
    };
    let (state, other, resource) = (State::UNORDERED_ACCESS, State::COPY_DST, texture().name);
    assert_eq!(
        twice(state, other),
        Err(GraphError::TwoWrites { pass: "pass".into(), resource, state, other })
    );
    assert_eq!(twice(state, state), Ok(64 << 10), "said twice is said once");
    assert_eq!(twice(state, State::COPY_SRC), Ok(64 << 10), "a part of it is written, another read");
}

#[test]
fn invalid_descriptions_are_refused() {
    let of_buffer = |desc| error(|graph| _ = graph.buffer(desc));
    let resource = buffer(1).name;
    for memory in [MemoryUse::Upload, MemoryUse::Readback, MemoryUse::GpuUpload] {
        let found = of_buffer(buffer(1).memory(memory));
        assert_eq!(found, GraphError::NotGpuOnly { resource: resource.clone(), memory });
    }
    let found = of_buffer(buffer(1).alignment(48));
    assert_eq!(found, GraphError::BadAlignment { resource: resource.clone(), alignment: 48 });
    let source = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
    assert_eq!(of_buffer(buffer(0)), GraphError::InvalidDesc { resource, source });
    let source = DeviceError::invalid_desc("mips", 9_u32, Allowed::AtMost(8));
    let found = error(|graph| _ = graph.texture(texture().mips(9)));
    assert_eq!(found, GraphError::InvalidDesc { resource: texture().name, source });
    let unused = error(|graph| _ = graph.buffer(buffer(1).memory(MemoryUse::Upload)));
    assert!(matches!(unused, GraphError::NotGpuOnly { .. }), "said even where no pass uses it");
}

/// A memory model with a given requirement.
struct Told(Need);

impl Memory<TransientDesc> for Told {
    type Error = GraphError;

    fn need(&mut self, _resource: &TransientDesc) -> Result<Need, GraphError> {
        Ok(self.0)
    }

    fn largest_heap(&mut self, _class: u32) -> u64 {
        1 << 62
    }
}

fn plan<M: Memory<TransientDesc, Error = GraphError>>(
    buffers: usize,
    memory: &mut M,
) -> Result<u64, GraphError> {
    let mut graph = Graph::new();
    for _ in 0..buffers {
        let buffer = graph.buffer(buffer(2));
        graph.pass(Queue::Graphics, "pass").uses(buffer, WRITE);
    }
    let mut cache = PlanCache::new(PlanCacheConfig::default());
    Ok(cache.get_or_plan(&graph, &d3d12(), memory)?.compiled.peak())
}

#[test]
fn needs_that_cannot_be_met() {
    let (resource, limit) = (buffer(2).name, (128 << 10) - 1);
    let too_large = GraphError::TooLarge { resource: resource.clone(), size: 128 << 10, limit };
    assert_eq!(plan(1, &mut Needs { limit, ..Needs::default() }), Err(too_large));
    assert_eq!(plan(1, &mut Needs { limit: limit + 1, ..Needs::default() }), Ok(128 << 10));
    let told = |size, alignment, class| Told(Need { size, alignment, heap_alignment: 1, class });
    let bad = GraphError::BadAlignment { resource, alignment: 48 };
    assert_eq!(plan(1, &mut told(64, 48, 0)), Err(bad));
    for size in [1 << 60, 1 << 61] {
        assert!(matches!(plan(2, &mut told(size, 1, 0)), Err(GraphError::Plan(_))), "{size}");
    }
    assert_eq!(plan(3, &mut told(u64::MAX, 1, Need::ALONE)), Ok(u64::MAX), "sums stop at the largest number");
}

/// A resource that never leaves its pass cannot be used by another pass, whether to load or to clear it.
#[test]
fn transient_attachments_of_two_passes() {
    let usage = Usage::DEPTH_STENCIL | Usage::TRANSIENT_ATTACHMENT;
    for state in [State::DEPTH_READ, State::DEPTH_WRITE] {
        let mut graph = Graph::new();
        let depth = graph.texture(TextureDesc::d2(64, 64, Format::D32Float, usage).name("depth"));
        graph.pass(Queue::Graphics, "one").uses(depth, State::DEPTH_WRITE).uses(depth, State::DEPTH_WRITE);
        assert!(compile(&graph).is_ok());
        graph.pass(Queue::Graphics, "between");
        graph.pass(Queue::Graphics, "other").uses(depth, state);
        let (resource, first, pass) = ("depth".into(), "one".into(), "other".into());
        assert_eq!(compile(&graph).unwrap_err(), GraphError::LeavesPass { resource, first, pass });
    }
}

#[test]
fn errors_name_the_pass_the_resource_and_the_state() {
    let found = error(|graph| {
        let buffer = graph.buffer(buffer(1).name("tiles"));
        graph.pass(Queue::Graphics, "shade").uses(buffer, State::PIXEL_SHADER);
    });
    let said = found.to_string();
    assert!(said.contains("shade") && said.contains("tiles") && said.contains("PIXEL_SHADER"), "{said}");
}
