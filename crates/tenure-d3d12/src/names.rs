//! Debug names.

use tenure_core::device::ObjectRef;
use windows::Win32::Graphics::Direct3D::WKPDID_D3DDebugObjectNameW;
use windows::Win32::Graphics::Direct3D12::ID3D12Object;
use windows::core::{HSTRING, Interface};

use crate::Device;

/// Names an object; a name that does not stick is nobody's loss.
fn set_name<T: Interface>(object: &T, name: &HSTRING) {
    let Ok(object) = object.cast::<ID3D12Object>() else { return };
    // SAFETY: the object is alive and the text ends in a NUL.
    let _named = unsafe { object.SetName(name) };
    // On Windows that was all. Other implementations hand the name on to their own API and do not
    // keep it where tools look for it.
    let Ok(bytes) = u32::try_from(size_of_val::<[u16]>(name)) else { return };
    // SAFETY: the object is alive and copies so many bytes of the text.
    let _kept =
        unsafe { object.SetPrivateData(&WKPDID_D3DDebugObjectNameW, bytes, Some(name.as_ptr().cast())) };
}

pub(crate) fn name(object: &ObjectRef<'_, Device>, name: &str) {
    // A NUL would end the name for some and not for others.
    let name = HSTRING::from(name.split('\0').next().unwrap_or_default());
    match object {
        ObjectRef::DescriptorHeap(heap) => set_name(&heap.raw, &name),
        ObjectRef::SetBlock(none) => match **none {},
        ObjectRef::Heap(heap) => set_name(heap.raw(), &name),
        ObjectRef::Resource(resource) => set_name(&resource.raw, &name),
        ObjectRef::List(list) => {
            set_name(&list.raw, &name);
            set_name(&list.allocator, &name);
        }
    }
}
