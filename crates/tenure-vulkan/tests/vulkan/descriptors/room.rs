//! Resources, and heaps for their views.

use crate::harness::PERMIT;
use std::cell::Cell;

use conformance::{Harness as _, Look, Probe, Through};
use tenure_core::device::{
    Barrier, BufferView, Descriptor, DescriptorHeapDesc, DescriptorSource, MemoryFlags, ResourceDesc,
    TextureView, prelude::*,
};
use tenure_core::{
    BufferAccess, BufferLayout, DescriptorKind, DeviceError, Elements, Filter, Format, Plane, SamplerInfo,
    SetBinding, State, Subresource, TextureAccess, TextureInfo, TextureRegion, Usage, ViewShape,
};
use tenure_vulkan::{DescriptorHeap, Device, OptionalFeatures, Resource, SetLayout};

use crate::basics::{buffer, memory_type, read, run, texture, write};
use crate::harness::Vulkan;

/// Bytes of a part of the buffer.
pub(crate) const PART: u64 = 256;
/// The value of integer texels.
pub(crate) const TEXEL: u32 = 0x1234_5678;

pub(crate) struct Room {
    pub(crate) device: Device,
    /// Views that shaders do not see.
    pub(crate) views: DescriptorHeap,
    pub(crate) samplers: DescriptorHeap,
    /// Eight parts that begin with four distinct words each.
    pub(crate) buffer: Resource,
    pub(crate) texture: Resource,
    /// Written by shaders.
    pub(crate) canvas: Resource,
    /// Of one colour.
    pub(crate) picture: Resource,
    out: Resource,
    serial: Cell<u64>,
    /// The last to go when a test fails.
    vulkan: Vulkan,
}

/// The words at the beginning of a part.
pub(crate) fn words(part: u32) -> [u32; 4] {
    [1, 2, 3, 4].map(|word| 100 * (part + 1) + word)
}

pub(crate) fn part(part: u64, access: BufferAccess) -> BufferView {
    BufferView { offset: part * PART, size: 64, access }
}

pub(crate) const TYPED: Elements = Elements::Typed(Format::R32Uint);

pub(crate) fn whole(access: TextureAccess, format: Format) -> TextureView {
    TextureView {
        access,
        shape: ViewShape::D2,
        format,
        plane: Plane::First,
        first_mip: 0,
        mips: 1,
        first_layer: 0,
        layers: 1,
    }
}

pub(crate) fn nearest() -> SamplerInfo {
    let filter = Filter::Nearest;
    SamplerInfo::default().mag(filter).min(filter).mip(filter)
}

fn hidden(device: &Device, kind: DescriptorKind) -> DescriptorHeap {
    device.create_descriptor_heap(&DescriptorHeapDesc { kind, count: 32, shader_visible: false }).unwrap()
}

pub(crate) fn visible(
    device: &Device,
    kind: DescriptorKind,
    count: u32,
) -> Result<DescriptorHeap, DeviceError> {
    device.create_descriptor_heap(&DescriptorHeapDesc { kind, count, shader_visible: true })
}

fn on_the_gpu(device: &Device, desc: &ResourceDesc) -> Resource {
    device.create_committed(desc, memory_type(device, desc, MemoryFlags::empty())).unwrap()
}

pub(crate) fn image(device: &Device, info: TextureInfo) -> Resource {
    on_the_gpu(device, &ResourceDesc::Texture(info))
}

fn mapped(device: &Device, size: u64, usage: Usage) -> Resource {
    let desc = buffer(size, usage);
    device.create_committed(&desc, memory_type(device, &desc, MemoryFlags::HOST_VISIBLE)).unwrap()
}

impl Room {
    pub(crate) fn new(vulkan: Vulkan) -> Self {
        let device = vulkan.device();
        let all = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let buffer = mapped(&device, 8 * PART, all);
        for part in 0..8 {
            let bytes: Vec<u8> = words(part).iter().flat_map(|word| word.to_le_bytes()).collect();
            device.map(&buffer).unwrap().write(u64::from(part) * PART, &bytes).unwrap();
        }
        let out = mapped(&device, PART, Usage::UNORDERED_ACCESS);
        let of = |format, usage| image(&device, texture(8, format, usage | Usage::COPY_DST));
        let room = Self {
            views: hidden(&device, DescriptorKind::Resource),
            samplers: hidden(&device, DescriptorKind::Sampler),
            texture: of(Format::R32Uint, Usage::SHADER_READ),
            canvas: of(Format::R32Uint, Usage::UNORDERED_ACCESS),
            picture: of(Format::Rgba8Unorm, Usage::SHADER_READ),
            buffer,
            out,
            vulkan,
            device,
            serial: Cell::new(0),
        };
        room.paint(&room.texture, TEXEL, State::NON_PIXEL_SHADER);
        room.paint(&room.canvas, TEXEL, State::UNORDERED_ACCESS);
        room.paint(&room.picture, u32::from_le_bytes([10, 20, 30, 40]), State::NON_PIXEL_SHADER);
        room
    }

    /// Fills an 8 by 8 texture with one texel of four bytes.
    pub(crate) fn paint(&self, resource: &Resource, texel: u32, after: State) {
        let staging = mapped(&self.device, 8 * PART, Usage::COPY_SRC);
        write(&self.device, &staging, &texel.to_le_bytes().repeat(512));
        let transition = |before, after| Barrier::Transition {
            resource,
            subresource: Subresource::All,
            before,
            after,
            transfer: None,
        };
        run(&self.device, self.next(), |list| {
            let region =
                TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [8, 8, 1] };
            list.barriers(&[transition(State::COMMON, State::COPY_DST)]);
            let layout = BufferLayout { offset: 0, row_pitch: PART, rows: 8 };
            list.copy_buffer_to_texture(&staging, layout, resource, region);
            list.barriers(&[transition(State::COPY_DST, after)]);
        });
        self.device.destroy_resource(PERMIT, staging);
    }

    /// Makes a view or sampler at an index of the heap that it belongs into.
    pub(crate) fn write(&self, index: u32, descriptor: &Descriptor<'_, Device>) -> Result<(), DeviceError> {
        let heap = if descriptor.kind() == DescriptorKind::Sampler { &self.samplers } else { &self.views };
        self.device.write_descriptor(PERMIT, heap, index, descriptor)
    }

    pub(crate) fn view_buffer(&self, index: u32, view: BufferView) -> Result<(), DeviceError> {
        self.write(index, &Descriptor::Buffer { resource: &self.buffer, view })
    }

    /// Fills the heap of views: one of each kind, from index 0 on, and a sampler.
    pub(crate) fn furnish(&self) -> [Look<'static, Device>; 7] {
        for (index, access) in (0..).zip([
            BufferAccess::Constants,
            BufferAccess::Read(Elements::Raw),
            BufferAccess::ReadWrite(Elements::Structured(16)),
            BufferAccess::Read(TYPED),
            BufferAccess::ReadWrite(TYPED),
        ]) {
            self.view_buffer(index, part(u64::from(index), access)).unwrap();
        }
        let format = Format::R32Uint;
        let textures = [(&self.texture, TextureAccess::Sampled), (&self.canvas, TextureAccess::Storage)];
        for (index, (resource, access)) in (5..).zip(textures) {
            self.write(index, &Descriptor::Texture { resource, view: whole(access, format) }).unwrap();
        }
        let view = whole(TextureAccess::Sampled, Format::Rgba8Unorm);
        self.write(7, &Descriptor::Texture { resource: &self.picture, view }).unwrap();
        self.write(0, &Descriptor::Sampler(nearest())).unwrap();
        [
            Look::Constants,
            Look::Buffer,
            Look::StorageBuffer,
            Look::TypedBuffer,
            Look::TypedStorageBuffer,
            Look::Texture,
            Look::StorageTexture,
        ]
    }

    /// The words that shaders read through its views.
    pub(crate) fn expected(index: u32) -> [u32; 4] {
        match index {
            0..3 => words(index),
            3..5 => [words(index)[0]; 4],
            _ => [TEXEL; 4],
        }
    }

    pub(crate) fn source(&self, index: u32) -> DescriptorSource<'_, Device> {
        DescriptorSource::Copy { heap: &self.views, index }
    }

    pub(crate) fn constants(&self, part: u64) -> DescriptorSource<'_, Device> {
        DescriptorSource::Constants { resource: &self.buffer, offset: part * PART, size: 64 }
    }

    /// The words that a shader reads.
    pub(crate) fn look(&self, look: Look<'_, Device>, through: Through<'_, Device>) -> [u32; 4] {
        write(&self.device, &self.out, &[0xEE; 16]);
        let probe = Probe { through, look, out: &self.out, offset: 0 };
        let mut heaps = [None; 2];
        let beside = if let Look::Sampler { texture } = &probe.look { Some(texture) } else { None };
        for through in [Some(&probe.through), beside].into_iter().flatten() {
            if let Through::Heap { heap, .. } = through {
                heaps[usize::from(heap.kind() == DescriptorKind::Sampler)] = Some(*heap);
            }
        }
        run(&self.device, self.next(), |list| {
            list.set_descriptor_heaps(heaps[0], heaps[1]);
            self.vulkan.probe(list, &probe);
        });
        let seen = read(&self.device, &self.out, 16);
        std::array::from_fn(|word| u32::from_le_bytes(seen[4 * word..4 * word + 4].try_into().unwrap()))
    }

    /// Whether shaders see heaps on this device, which otherwise says so.
    pub(crate) fn has_heaps(&self) -> bool {
        let limits = self.device.properties().descriptors;
        let has = self.device.optional_features().contains(OptionalFeatures::DESCRIPTOR_INDEXING);
        for kind in [DescriptorKind::Resource, DescriptorKind::Sampler] {
            assert_eq!(limits.visible(kind) > 0, has);
            let refused = visible(&self.device, kind, u32::MAX).unwrap_err();
            let says_so = refused == DeviceError::Unsupported { feature: "descriptor indexing" };
            assert_eq!(says_so, !has, "{refused:?}");
        }
        has
    }

    fn next(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    pub(crate) fn layout(&self, bindings: &[SetBinding]) -> SetLayout {
        self.device.create_set_layout(bindings).unwrap()
    }

    pub(crate) fn disguise(&self) -> &crate::disguise::Disguise {
        self.vulkan.disguise()
    }

    /// Checks that nothing is left, and that there were no messages.
    pub(crate) fn end(self) {
        self.take_apart().end();
    }

    /// The same for a lost device.
    pub(crate) fn end_lost(self) {
        let vulkan = self.take_apart();
        vulkan.close();
        let problems = vulkan.log().problems();
        assert!(problems.is_empty(), "{problems:?}");
    }

    fn take_apart(self) -> Vulkan {
        let Self { vulkan, device, views, samplers, buffer, texture, canvas, picture, out, .. } = self;
        device.destroy_descriptor_heap(PERMIT, views);
        device.destroy_descriptor_heap(PERMIT, samplers);
        for resource in [buffer, texture, canvas, picture, out] {
            device.destroy_resource(PERMIT, resource);
        }
        drop(device);
        vulkan
    }
}
