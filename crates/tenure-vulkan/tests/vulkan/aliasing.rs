//! Aliased memory: the API barriers for a new owner, checked by the validation layers.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{Barrier, MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{BufferLayout, DeviceError, Format, Plane, State, Subresource, TextureRegion, Usage};
use tenure_vulkan::ash::vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stages};
use tenure_vulkan::{Device, DeviceConfig, Heap, Resource};

use crate::basics::buffer;
use crate::basics::{COPIES, GRAPHICS, bytes, heap, mapped, read, run, texture, write};
use crate::disguise::Costume;
use crate::disguise::barriers::Call;
use crate::harness::{Vulkan, validated};

const SIDE: u32 = 64;
const ROWS: BufferLayout = BufferLayout { offset: 0, row_pitch: 512, rows: SIDE };
const SIZE: usize = SIDE as usize * 512;

fn region(mip: u32) -> TextureRegion {
    let side = SIDE >> mip;
    TextureRegion { mip, layer: 0, plane: Plane::First, origin: [0; 3], extent: [side, side, 1] }
}

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
fn pair(device: &Device, desc: &ResourceDesc) -> (Heap, [Resource; 2]) {
    let heap = heap(device, desc, device.requirements(desc).unwrap().size);
    let both = [(), ()].map(|()| device.create_placed(PERMIT, desc, &heap, 0).unwrap());
    (heap, both)
}

fn images(device: &Device, mips: u32) -> (Heap, [Resource; 2]) {
    let info = texture(SIDE, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ).mips(mips);
    pair(device, &ResourceDesc::Texture(info))
}

fn destroy(device: Device, resources: impl IntoIterator<Item = Resource>, heap: Heap) {
    resources.into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
    device.destroy_heap(PERMIT, heap);
}

/// An image after another that was written, after one that was read, and back.
#[test]
fn images_take_turns() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let device = vulkan.device();
    let (heap, [bloom, shadow]) = images(&device, 1);
    let staging = mapped(&device, SIZE as u64);
    let readbacks = [(), (), ()].map(|()| mapped(&device, SIZE as u64));
    write(&device, &staging, &bytes(SIZE, 3));
    let (written, copied) = (State::COPY_DST, State::COPY_SRC);
    run(&device, 1, |list| {
        let mut fill = |after: &Resource, before: Option<&Resource>, from: State, readback: &Resource| {
            list.barriers(&[aliasing(before, after, (from, written)), step(after, State::COMMON, written)]);
            list.copy_buffer_to_texture(&staging, ROWS, after, region(0));
            if from != copied {
                list.barriers(&[step(after, written, copied)]);
                list.copy_texture_to_buffer(after, region(0), readback, ROWS);
            }
        };
        fill(&bloom, None, State::COMMON, &readbacks[0]);
        fill(&shadow, Some(&bloom), copied, &readbacks[1]);
        fill(&bloom, Some(&shadow), written, &readbacks[2]);
    });
    for readback in [&readbacks[0], &readbacks[2]] {
        let found = read(&device, readback, SIZE);
        for (row, expected) in found.chunks(512).zip(bytes(SIZE, 3).chunks(512)) {
            assert_eq!(row[..256], expected[..256]);
        }
    }
    let calls = vulkan.disguise().take_barriers();
    let write = (Stages::TRANSFER, Access::TRANSFER_WRITE);
    let only = |images: &[_], memory: &[_]| Call {
        images: images.to_vec(),
        memory: memory.to_vec(),
        ..Call::default()
    };
    let fresh = (Stages::TRANSFER, Access::empty());
    assert_eq!(calls[0], only(&[[fresh, write]], &[]), "nobody had the memory");
    assert_eq!(calls[2], only(&[[fresh, write]], &[[fresh, write]]), "bloom was only read");
    assert_eq!(calls[3], only(&[[write, write]], &[[write, write]]), "shadow was written");
    destroy(device, readbacks.into_iter().chain([staging, bloom, shadow]), heap);
    vulkan.end();
}

/// Former owners that a barrier does not name may be input attachments, which render passes write where they store them.
#[test]
fn unnamed_input_attachments_were_written() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let device = vulkan.device();
    let (heap, [sky, canvas]) = images(&device, 1);
    let wait_for = |serial| {
        let barrier = aliasing(None, &canvas, (State::PIXEL_SHADER, State::COPY_DST));
        run(&device, serial, |list| list.barriers(&[barrier]));
        let [[(_, access), _]] = vulkan.disguise().take_barriers()[0].memory[..] else { panic!() };
        access
    };
    assert_eq!(wait_for(1), Access::empty(), "there is none");
    let usage = Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT;
    let input = ResourceDesc::Texture(texture(SIDE, Format::Rgba8Unorm, usage));
    let input = device.create_committed(&input, MemoryTypeId(0)).unwrap();
    assert_eq!(wait_for(2), Access::COLOR_ATTACHMENT_WRITE | Access::DEPTH_STENCIL_ATTACHMENT_WRITE);
    destroy(device, [input, sky, canvas], heap);
    vulkan.end();
}

/// Only some subresources are used at first: the others get correct barriers, too.
#[test]
fn mips_follow_later() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let device = vulkan.device();
    let (heap, [bloom, chain]) = images(&device, 2);
    let staging = mapped(&device, SIZE as u64);
    let written = State::COPY_DST;
    run(&device, 1, |list| {
        list.barriers(&[step(&bloom, State::COMMON, written)]);
        list.copy_buffer_to_texture(&staging, ROWS, &bloom, region(0));
        for mip in [0, 1] {
            let one = Barrier::Transition {
                resource: &chain,
                subresource: Subresource::One(mip),
                before: State::COMMON,
                after: written,
                transfer: None,
            };
            let to = written | State::SHADER_READ;
            match mip {
                0 => list.barriers(&[aliasing(Some(&bloom), &chain, (written, to)), one]),
                _ => list.barriers(&[one]),
            }
            list.copy_buffer_to_texture(&staging, ROWS, &chain, region(mip));
        }
    });
    let calls = vulkan.disguise().take_barriers();
    let write = (Stages::TRANSFER, Access::TRANSFER_WRITE);
    assert_eq!(calls[1].images, [[write, write]]);
    let [[from, (stages, access)]] = calls[1].memory[..] else { panic!("{:?}", calls[1]) };
    assert_eq!(from, write);
    assert!(stages.contains(Stages::TRANSFER | Stages::FRAGMENT_SHADER | Stages::COMPUTE_SHADER));
    assert_eq!(access, Access::TRANSFER_WRITE | Access::SHADER_READ);
    destroy(device, [staging, bloom, chain], heap);
    vulkan.end();
}

#[test]
fn buffers_take_turns() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let device = vulkan.device();
    let (heap, [hits, rays]) = pair(&device, &buffer(4096, COPIES | Usage::INDEX));
    let (staging, readback) = (mapped(&device, 4096), mapped(&device, 4096));
    write(&device, &staging, &bytes(4096, 7));
    let (written, copied) = (State::COPY_DST, State::COPY_SRC);
    run(&device, 1, |list| {
        list.copy_buffer(&staging, 0, &hits, 0, 4096);
        list.barriers(&[aliasing(Some(&hits), &rays, (written, written))]);
        list.copy_buffer(&staging, 0, &rays, 0, 4096);
        list.barriers(&[step(&rays, written, copied)]);
        list.copy_buffer(&rays, 0, &readback, 0, 4096);
        list.barriers(&[aliasing(Some(&rays), &hits, (copied, written))]);
        list.copy_buffer(&staging, 64, &hits, 0, 64);
        // A resource without uses on this queue, and one with unknown uses.
        list.barriers(&[aliasing(Some(&hits), &rays, (State::COMMON, written))]);
        list.barriers(&[aliasing(None, &rays, (State::all(), State::COMMON))]);
        list.copy_buffer(&staging, 0, &rays, 0, 64);
    });
    assert_eq!(read(&device, &readback, 4096), bytes(4096, 7));
    let calls = vulkan.disguise().take_barriers();
    let write = (Stages::TRANSFER, Access::TRANSFER_WRITE);
    let all = (Stages::ALL_COMMANDS, Access::MEMORY_WRITE);
    let memory: Vec<_> = calls.iter().flat_map(|call| call.memory.clone()).collect();
    assert_eq!(memory[0], [write, write]);
    assert_eq!(memory[1], [write, (Stages::TRANSFER, Access::TRANSFER_READ)], "between two uses of a buffer");
    assert_eq!(memory[2], [(Stages::TRANSFER, Access::empty()), write]);
    assert_eq!(memory[3], [all, (Stages::ALL_COMMANDS, Access::MEMORY_READ | Access::MEMORY_WRITE)]);
    assert!(calls.iter().all(|call| call.images.is_empty() && call.buffers.is_empty()));
    destroy(device, [staging, readback, hits, rays], heap);
    vulkan.end();
}

#[test]
fn discards_are_checked_and_take_no_command() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let make = |usage| {
        let desc = ResourceDesc::Texture(texture(SIDE, Format::Rgba8Unorm, usage));
        device.create_committed(&desc, MemoryTypeId(0)).unwrap()
    };
    let (target, plain) = (make(Usage::RENDER_TARGET), make(Usage::SHADER_READ));
    let staging = mapped(&device, 64);
    run(&device, 1, |list| {
        list.barriers(&[step(&target, State::COMMON, State::RENDER_TARGET)]);
        list.discard(&target, Subresource::All);
        list.discard(&target, Subresource::One(0));
    });
    for (resource, subresource, rule) in [
        (&plain, Subresource::All, "for the queue to discard the texture"),
        (&staging, Subresource::All, "is a texture"),
        (&target, Subresource::One(1), "subresource exists"),
    ] {
        let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
        list.begin().unwrap();
        list.discard(resource, subresource);
        let refused = list.close().unwrap_err().to_string();
        assert!(refused.contains(rule), "{refused}");
        device.destroy_list(PERMIT, list);
    }
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    list.discard(&target, Subresource::All);
    list.begin().unwrap();
    assert_eq!(list.close(), Ok::<(), DeviceError>(()));
    device.destroy_list(PERMIT, list);
    [target, plain, staging].into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
    drop(device);
    vulkan.end();
}
