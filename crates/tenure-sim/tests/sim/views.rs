//! Creation and use of descriptors, for their tests.

use tenure_core::device::{Device as _, *};
use tenure_sim::{DescriptorAt, DescriptorHeap, Device, List, Profile, Resource};

use crate::common::*;

/// One profile of each model of descriptors.
pub(crate) const BOTH: [Profile; 2] = [Profile::D3D12_TIER2, Profile::VULKAN_NVIDIA];

pub(crate) fn heap(
    device: &Device,
    name: &str,
    kind: DescriptorKind,
    shader_visible: bool,
) -> DescriptorHeap {
    let heap = device.create_descriptor_heap(&DescriptorHeapDesc { kind, count: 8, shader_visible }).unwrap();
    device.set_name(Permit::checked(), ObjectRef::DescriptorHeap(&heap), name);
    heap
}

pub(crate) fn bytes(
    resource: &Resource,
    offset: u64,
    size: u64,
    access: BufferAccess,
) -> Descriptor<'_, Device> {
    Descriptor::Buffer { resource, view: BufferView { offset, size, access } }
}

/// A view of the first mip and layer.
pub(crate) fn first(access: TextureAccess) -> TextureView {
    TextureView {
        access,
        shape: ViewShape::D2,
        format: Format::Rgba8Unorm,
        plane: Plane::First,
        first_mip: 0,
        mips: 1,
        first_layer: 0,
        layers: 1,
    }
}

pub(crate) fn sampled(resource: &Resource) -> Descriptor<'_, Device> {
    Descriptor::Texture { resource, view: first(TextureAccess::Sampled) }
}

/// A shader-visible heap, and the CPU heap in which its descriptors are created.
pub(crate) struct Heaps {
    pub(crate) made: DescriptorHeap,
    pub(crate) shown: DescriptorHeap,
}

impl Heaps {
    pub(crate) fn new(device: &Device, kind: DescriptorKind) -> Self {
        let made = heap(device, "made", kind, false);
        Self { made, shown: heap(device, "shown", kind, true) }
    }

    /// Creates a descriptor and copies it to the same index.
    pub(crate) fn put(&self, device: &Device, index: u32, descriptor: &Descriptor<'_, Device>) {
        device.write_descriptor(Permit::checked(), &self.made, index, descriptor).unwrap();
        self.copy(device, index);
    }

    pub(crate) fn copy(&self, device: &Device, index: u32) {
        let copy = DescriptorSource::Copy { heap: &self.made, index };
        device.fill_descriptors(Permit::checked(), &self.shown, index, &[copy]).unwrap();
    }

    pub(crate) fn at(&self, index: u32) -> DescriptorAt<'_> {
        DescriptorAt::Heap { heap: &self.shown, index }
    }

    /// Records a use through an index.
    pub(crate) fn look(&self, list: &mut List, index: u32, state: State) {
        tenure_core::device::CommandList::set_descriptor_heaps(list, Some(&self.shown), None);
        list.use_descriptor(self.at(index), state);
    }
}

/// A texture whose texels are all 1, to be read by shaders.
pub(crate) fn painted(device: &Device, serial: u64, name: &str, info: TextureInfo) -> Resource {
    let resource = committed(device, name, &ResourceDesc::Texture(info));
    submit(device, GRAPHICS, serial, &[], |list| {
        transition(list, &resource, State::COMMON, State::COPY_DST);
        list.clear_texture(&resource, Subresource::All, &[1]);
        transition(list, &resource, State::COPY_DST, State::SHADER_READ);
    });
    assert_clean(&hazards(device));
    resource
}

pub(crate) fn readable(width: u32, height: u32) -> TextureInfo {
    texture_info(width, height, Usage::SHADER_READ | Usage::COPY_DST)
}
