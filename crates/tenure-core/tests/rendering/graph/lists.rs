//! The operations around each pass.

use proptest::prelude::*;
use tenure_core::transient::graph::{Compiled, Graph, PassId, ResourceId};
use tenure_core::{Format, Queue, State, TextureDesc, Usage};

use super::model::{buffer, compile, compile_on, d3d12, texture, vulkan};
use super::random::declared;

fn sequence(compiled: &Compiled) -> Vec<PassId> {
    compiled.batches().iter().flat_map(|batch| batch.passes.clone()).collect()
}

fn bytes(compiled: &Compiled, resource: ResourceId) -> (usize, u64, u64) {
    let (place, need) = (compiled.placement(resource).unwrap(), compiled.need(resource).unwrap());
    (place.heap, place.offset, place.offset + need.size)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Follows the batches as an executor does: used resources are acquired, and no other resource has their
    /// bytes.
    #[test]
    fn used_resources_own_their_bytes(declared in declared(14)) {
        let (graph, _, buffers) = declared.graph();
        let compiled = compile(&graph).unwrap();
        let mut alive: Vec<ResourceId> = Vec::new();
        let mut acquired: Vec<ResourceId> = Vec::new();
        for pass in sequence(&compiled) {
            let plan = compiled.pass(pass).unwrap();
            for &resource in plan.acquires {
                let (heap, start, end) = bytes(&compiled, resource);
                for &other in &alive {
                    let (other_heap, other_start, other_end) = bytes(&compiled, other);
                    prop_assert!(heap != other_heap || end <= other_start || other_end <= start);
                }
                alive.push(resource);
                acquired.push(resource);
            }
            let declared = &declared.passes[pass.index()];
            let uses: Vec<(usize, State)> =
                plan.uses.iter().map(|one| (one.resource.index(), one.states)).collect();
            prop_assert_eq!(&uses, &declared.uses);
            prop_assert!(plan.uses.iter().all(|one| one.automatic && alive.contains(&one.resource)));
            for resource in plan.discards {
                prop_assert!(alive.contains(resource));
                alive.retain(|other| other != resource);
            }
        }
        prop_assert!(alive.is_empty());
        acquired.sort_unstable();
        let is_used = |buffer: &ResourceId| compiled.placement(*buffer).is_some();
        let used: Vec<ResourceId> = buffers.into_iter().filter(is_used).collect();
        prop_assert_eq!(acquired, used, "each once");
    }
}

/// Whether a texture acquired on one queue and last used on another is left in `COMMON`.
fn is_left_in_common(properties: &tenure_core::device::Properties, uses: &[(Queue, State)]) -> bool {
    let mut graph = Graph::new();
    let usage = texture().info.usage | Usage::COPY_DST;
    let texture = graph.texture(TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage));
    let same = graph.buffer(buffer(1));
    for &(queue, state) in uses {
        let pass = graph.pass(queue, "pass").uses(texture, state);
        let is_shader = state == State::PIXEL_SHADER || state == State::NON_PIXEL_SHADER;
        let of_buffer = if is_shader { State::COPY_SRC } else { state };
        let _ = pass.uses(same, of_buffer);
    }
    let compiled = compile_on(&graph, properties).unwrap();
    let lists: Vec<_> = sequence(&compiled).iter().map(|&pass| compiled.pass(pass).unwrap()).collect();
    let (last, others) = lists.split_last().unwrap();
    assert!(others.iter().all(|pass| pass.to_common.is_empty()), "only after the last use");
    assert!(last.to_common.iter().all(|it| *it == texture && last.discards.contains(it)), "no buffers");
    !last.to_common.is_empty()
}

#[test]
fn textures_end_in_a_state_that_the_next_frame_can_use() {
    use Queue::{Compute, Copy, Graphics};
    const WRITE: State = State::UNORDERED_ACCESS;
    let (d3d12, vulkan) = (d3d12(), vulkan());
    let cases: [(&[(Queue, State)], bool); 9] = [
        (&[(Compute, WRITE), (Graphics, State::PIXEL_SHADER)], true),
        (&[(Compute, WRITE), (Graphics, State::NON_PIXEL_SHADER)], false),
        (&[(Compute, WRITE), (Graphics, State::PIXEL_SHADER), (Graphics, State::NON_PIXEL_SHADER)], true),
        (&[(Compute, WRITE), (Graphics, State::PIXEL_SHADER), (Graphics, WRITE)], false),
        (&[(Graphics, WRITE), (Compute, State::NON_PIXEL_SHADER)], false),
        (&[(Copy, State::COPY_DST), (Graphics, State::PIXEL_SHADER)], true),
        (&[(Copy, State::COPY_DST), (Graphics, State::COPY_SRC)], true),
        (&[(Copy, State::COPY_DST), (Copy, State::COPY_SRC)], false),
        (&[(Compute, WRITE), (Graphics, State::PIXEL_SHADER), (Copy, State::COPY_DST)], false),
    ];
    for (uses, expected) in cases {
        assert_eq!(is_left_in_common(&d3d12, uses), expected, "{uses:?}");
        assert!(!is_left_in_common(&vulkan, uses), "states are the recording's on Vulkan");
    }
}

#[test]
fn uses_of_a_resource_combine_if_one_layout_suits_them() {
    let states = |states: &[State]| {
        let mut graph = Graph::new();
        let texture = graph.texture(texture());
        graph.pass(Queue::Graphics, "write").uses(texture, State::UNORDERED_ACCESS);
        let mut pass = graph.pass(Queue::Graphics, "pass");
        for &state in states {
            pass = pass.uses(texture, state);
        }
        let pass = pass.id();
        let compiled = compile(&graph).unwrap();
        let uses = compiled.pass(pass).unwrap().uses;
        assert_eq!(uses.len(), 1);
        (uses[0].states, uses[0].automatic)
    };
    let (pixel, other, copy) = (State::PIXEL_SHADER, State::NON_PIXEL_SHADER, State::COPY_SRC);
    assert_eq!(states(&[pixel, other]), (State::SHADER_READ, true));
    assert_eq!(states(&[pixel, copy]), (pixel | copy, false));
    assert_eq!(states(&[pixel | copy]), (pixel | copy, true), "asked for as one state");
    let write = State::UNORDERED_ACCESS;
    assert_eq!(states(&[write, pixel]), (write | pixel, false));
}

#[test]
fn unused_resources_cost_nothing() {
    let mut graph = Graph::new();
    let (unused, used) = (graph.buffer(buffer(100)), graph.buffer(buffer(1)));
    graph.pass(Queue::Graphics, "pass").uses(used, State::UNORDERED_ACCESS);
    let compiled = compile(&graph).unwrap();
    assert_eq!((compiled.placement(unused), compiled.need(unused)), (None, None));
    assert_eq!((compiled.peak(), compiled.bytes_apart(), compiled.heaps().len()), (64 << 10, 64 << 10, 1));
    let empty = compile(&Graph::new()).unwrap();
    assert_eq!((empty.peak(), empty.batches().len(), empty.is_proven()), (0, 0, true));
}
