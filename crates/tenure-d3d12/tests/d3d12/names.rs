//! Names reach the API.

use crate::harness::PERMIT;
use tenure_core::device::{HeapCategory, ObjectRef, prelude::*};
use tenure_core::{BufferDesc, Config, Format, Gpu, MemoryUse, TextureDesc, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D::WKPDID_D3DDebugObjectNameW;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Object;
use tenure_d3d12::windows::core::Interface;

use crate::bench::{GPU_ONLY, GRAPHICS, MIB, buffer, device, heap_desc};

/// The name that a debugger would show.
pub(crate) fn name<T: Interface>(object: &T) -> String {
    let object: ID3D12Object = object.cast().unwrap();
    let mut bytes = 0;
    // SAFETY: without a buffer the call only writes the size.
    unsafe { object.GetPrivateData(&WKPDID_D3DDebugObjectNameW, &raw mut bytes, None) }.unwrap();
    let mut units = vec![0_u16; bytes as usize / 2];
    // SAFETY: the buffer has the size asked for.
    unsafe {
        object.GetPrivateData(&WKPDID_D3DDebugObjectNameW, &raw mut bytes, Some(units.as_mut_ptr().cast()))
    }
    .unwrap();
    String::from_utf16(&units).unwrap().trim_end_matches('\0').to_owned()
}

#[test]
fn every_kind_of_object_is_named() {
    let device = device();
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let resource = device.create_placed(PERMIT, &buffer(64, Usage::VERTEX), &heap, 0).unwrap();
    let list = device.create_list(PERMIT, GRAPHICS).unwrap();
    device.set_name(PERMIT, ObjectRef::Heap(&heap), "level 3");
    device.set_name(PERMIT, ObjectRef::Resource(&resource), "Grünfels 岩");
    device.set_name(PERMIT, ObjectRef::List(&list), "shadows");
    assert_eq!(name(heap.raw()), "level 3");
    assert_eq!(name(resource.raw()), "Grünfels 岩");
    assert_eq!(name(list.raw()), "shadows");
    device.set_name(PERMIT, ObjectRef::Resource(&resource), "");
    device.set_name(PERMIT, ObjectRef::Resource(&resource), "half\0hidden");
    assert_eq!(name(resource.raw()), "half");
}

#[test]
fn names_of_handles_reach_the_api() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let grass = gpu.create_texture(&desc).unwrap();
    assert_eq!(name(grass.raw().raw()), "grass");
    let desc = BufferDesc::new(200 * MIB, Usage::VERTEX).name("terrain");
    let terrain = gpu.create_buffer(&desc).unwrap();
    assert_eq!(name(terrain.raw().raw()), "terrain");
    let desc = BufferDesc::new(100, Usage::VERTEX).memory(MemoryUse::Upload).name("shared");
    let shared = gpu.create_buffer(&desc).unwrap();
    assert!(!name(shared.raw().raw()).is_empty(), "the buffer that ranges share has its pool's name");
}
