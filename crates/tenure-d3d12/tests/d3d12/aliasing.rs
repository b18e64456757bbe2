//! Aliased memory, and discarded contents.

use crate::harness::PERMIT;
use tenure_core::device::{Barrier, ResourceDesc, prelude::*};
use tenure_core::{BufferLayout, Format, Plane, QueueId, State, Subresource, TextureRegion, Usage};
use tenure_d3d12::{Device, Heap, Resource};

use crate::bench::{
    Bench, COMPUTE, COPY, GPU_ONLY, GRAPHICS, MIB, bad, buffer, device, heap_desc, info, pattern, refused,
    texture,
};

const SIDE: u32 = 64;
const ROWS: BufferLayout = BufferLayout { offset: 0, row_pitch: 256, rows: SIDE };
const REGION: TextureRegion =
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] };

fn step(resource: &Resource, before: State, after: State) -> Barrier<'_, Device> {
    Barrier::Transition { resource, subresource: Subresource::All, before, after, transfer: None }
}

fn aliasing<'a>(
    before: Option<&'a Resource>,
    after: &'a Resource,
    (from, to): (State, State),
) -> Barrier<'a, Device> {
    Barrier::Aliasing { before, after, from, to }
}

/// Two resources in the same memory.
fn pair(bench: &Bench, desc: &ResourceDesc) -> (Heap, [Resource; 2]) {
    let needs = bench.device.requirements(desc).unwrap();
    let heap = heap_desc(needs.size.next_multiple_of(MIB), GPU_ONLY, needs.category);
    let heap = bench.device.create_heap(&heap).unwrap();
    let both = [(), ()].map(|()| bench.device.create_placed(PERMIT, desc, &heap, 0).unwrap());
    (heap, both)
}

fn destroy(bench: &Bench, resources: impl IntoIterator<Item = Resource>, heap: Heap) {
    resources.into_iter().for_each(|resource| bench.device.destroy_resource(PERMIT, resource));
    bench.device.destroy_heap(PERMIT, heap);
}

#[test]
fn textures_take_turns() {
    let mut bench = Bench::new(device());
    let usage = Usage::RENDER_TARGET | Usage::COPY_DST | Usage::COPY_SRC;
    let (heap, [bloom, shadow]) = pair(&bench, &texture(SIDE, Format::Rgba8Unorm, usage));
    let bytes = pattern(SIDE as usize * 256, 5);
    let (staging, readback) = (bench.staging(&bytes), bench.readback(bytes.len() as u64));
    let (written, copied, common) = (State::COPY_DST, State::COPY_SRC, State::COMMON);
    let legacy = bench.device.properties().state_model == tenure_core::device::StateModel::Promotion;
    bench.run(GRAPHICS, |list| {
        let mut before = None;
        for texture in [&bloom, &shadow, &bloom] {
            // The order in the call does not matter.
            let from = if before.is_some() { copied } else { common };
            list.barriers(&[step(texture, common, written), aliasing(before, texture, (from, written))]);
            list.copy_buffer_to_texture(&staging, ROWS, texture, REGION);
            list.barriers(&[step(texture, written, copied)]);
            list.copy_texture_to_buffer(texture, REGION, &readback, ROWS);
            if legacy {
                // States outlive the contents.
                list.barriers(&[step(texture, copied, common)]);
            }
            before = Some(texture);
        }
    });
    assert_eq!(bench.contents(&readback, bytes.len()), bytes);
    destroy(&bench, [staging, readback, bloom, shadow], heap);
}

#[test]
fn buffers_take_turns() {
    let mut bench = Bench::new(device());
    let (heap, [hits, rays]) = pair(&bench, &buffer(4096, Usage::COPY_DST | Usage::COPY_SRC));
    let bytes = pattern(4096, 9);
    let (staging, readback) = (bench.staging(&bytes), bench.readback(4096));
    let (written, copied) = (State::COPY_DST, State::COPY_SRC);
    bench.run(GRAPHICS, |list| {
        list.copy_buffer(&staging, 0, &hits, 0, 4096);
        list.barriers(&[aliasing(Some(&hits), &rays, (written, written))]);
        list.copy_buffer(&staging, 0, &rays, 0, 4096);
        list.barriers(&[step(&rays, written, copied)]);
        list.copy_buffer(&rays, 0, &readback, 0, 4096);
        list.barriers(&[aliasing(None, &hits, (State::all(), State::COMMON))]);
    });
    assert_eq!(bench.contents(&readback, 4096), bytes);
    destroy(&bench, [staging, readback, hits, rays], heap);
}

/// A discarded resource can be used at once; a discard that the queue does not support is refused.
#[test]
fn targets_and_storage_are_discarded() {
    let mut bench = Bench::new(device());
    let make = |format, usage| {
        let info = info(SIDE, format, usage).mips(2);
        bench.device.create_committed(&ResourceDesc::Texture(info), GPU_ONLY).unwrap()
    };
    let target = make(Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::COPY_SRC);
    let depth = make(Format::D24UnormS8Uint, Usage::DEPTH_STENCIL);
    let storage = make(Format::Rgba8Unorm, Usage::UNORDERED_ACCESS);
    let plain = make(Format::Rgba8Unorm, Usage::SHADER_READ);
    let rock = bench.device.create_committed(&buffer(64, Usage::UNORDERED_ACCESS), GPU_ONLY).unwrap();
    bench.run(GRAPHICS, |list| {
        for (resource, state) in [
            (&target, State::RENDER_TARGET),
            (&depth, State::DEPTH_WRITE),
            (&storage, State::UNORDERED_ACCESS),
        ] {
            list.barriers(&[step(resource, State::COMMON, state)]);
            list.discard(resource, Subresource::All);
            list.discard(resource, Subresource::One(1));
        }
        list.barriers(&[step(&target, State::RENDER_TARGET, State::COPY_SRC)]);
    });
    bench.run(COMPUTE, |list| list.discard(&storage, Subresource::One(0)));
    let discarded = |queue: QueueId, resource: &Resource, subresource| {
        bench.recorded(queue, |list| list.discard(resource, subresource))
    };
    for (queue, texture) in [(GRAPHICS, &plain), (COMPUTE, &target), (COPY, &storage)] {
        bad(discarded(queue, texture, Subresource::All), "usage");
    }
    refused(discarded(GRAPHICS, &rock, Subresource::All), "the resource is a texture");
    refused(discarded(GRAPHICS, &target, Subresource::One(2)), "the subresource exists");
    [target, depth, storage, plain, rock]
        .into_iter()
        .for_each(|resource| bench.device.destroy_resource(PERMIT, resource));
}
