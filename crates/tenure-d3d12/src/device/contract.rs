//! The device contract, and the debug names of objects.

use tenure_core::device::{self, DeviceError, DeviceFault, ObjectRef, Permit, Properties, SingleManager};
use windows::Win32::Graphics::Direct3D::WKPDID_D3DDebugObjectNameW;
use windows::Win32::Graphics::Direct3D12::ID3D12Object;
use windows::core::{HSTRING, Interface};

use crate::Device;
use crate::device::query::Storage;
use crate::device::setup::dred;

impl device::Device for Device {
    fn properties(&self) -> &Properties {
        &self.inner.properties
    }

    fn single_manager(&self) -> &SingleManager {
        &self.inner.single_manager
    }

    fn set_name(&self, _: Permit<Self>, object: ObjectRef<'_, Self>, name: &str) {
        name_object(&object, name);
    }

    fn status(&self) -> Result<(), DeviceError> {
        self.inner.look()
    }

    fn device_faults(&self) -> Vec<DeviceFault> {
        self.inner.alive().map_or_else(|_| dred::faults(&self.inner.raw), |()| Vec::new())
    }
}

/// Sets the name of an object; a failure is ignored, because names are only for debuggers.
fn set_name<T: Interface>(object: &T, name: &HSTRING) {
    let Ok(object) = object.cast::<ID3D12Object>() else { return };
    // SAFETY: the object is alive and the text ends in a NUL.
    let _named = unsafe { object.SetName(name) };
    // On Windows that was all. Other implementations hand the name on to their own API and do not
    // keep it where tools look for it.
    let Ok(bytes) = u32::try_from(size_of_val::<[u16]>(name)) else { return };
    // SAFETY: the object is alive and copies the given number of bytes of the text.
    let _kept =
        unsafe { object.SetPrivateData(&WKPDID_D3DDebugObjectNameW, bytes, Some(name.as_ptr().cast())) };
}

fn name_object(object: &ObjectRef<'_, Device>, name: &str) {
    // A NUL would end the name in some tools only.
    let name = HSTRING::from(name.split('\0').next().unwrap_or_default());
    match object {
        ObjectRef::DescriptorHeap(heap) => set_name(&heap.raw, &name),
        // Direct3D 12 has no object for it, and its API buffer has a name of its own.
        ObjectRef::AccelerationStructure(_) => {}
        ObjectRef::QueryHeap(heap) => match &heap.storage {
            Storage::Heap(raw) => set_name(raw, &name),
            Storage::Sizes(buffer) => set_name(&buffer.raw, &name),
        },
        ObjectRef::SetPool(none) => match **none {},
        ObjectRef::Heap(heap) => set_name(heap.raw(), &name),
        ObjectRef::Resource(resource) => set_name(&resource.raw, &name),
        ObjectRef::List(list) => {
            set_name(&list.raw, &name);
            set_name(&list.allocator, &name);
        }
    }
}
