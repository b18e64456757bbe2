//! The time that the layer adds to a resource: `cargo test --release -p tenure-capture --test layer cost -- --nocapture`.

use std::time::{Duration, Instant};

use ash::vk;
use tempfile::tempdir;

use crate::driver::{self, Config};
use crate::loader::{Device, Environment, Instance, Layer, library};

/// Resources between two submissions; each submission writes to the log.
const IN_A_FRAME: u32 = 100;
const FRAMES: u32 = 200;

/// The functions of a resource's life, each of the layer or of the driver.
struct Calls {
    create: vk::PFN_vkCreateBuffer,
    ask: vk::PFN_vkGetBufferMemoryRequirements2,
    allocate: vk::PFN_vkAllocateMemory,
    bind: vk::PFN_vkBindBufferMemory,
    destroy: vk::PFN_vkDestroyBuffer,
    free: vk::PFN_vkFreeMemory,
    submit: vk::PFN_vkQueueSubmit,
}

/// Takes each function from `get`, whose types are those of the names.
macro_rules! calls {
    ($get:expr) => {
        Calls {
            create: $get(c"vkCreateBuffer"),
            ask: $get(c"vkGetBufferMemoryRequirements2"),
            allocate: $get(c"vkAllocateMemory"),
            bind: $get(c"vkBindBufferMemory"),
            destroy: $get(c"vkDestroyBuffer"),
            free: $get(c"vkFreeMemory"),
            submit: $get(c"vkQueueSubmit"),
        }
    };
}

/// A function of the driver itself.
fn of_driver<F: Copy>(device: &Device, name: &std::ffi::CStr) -> F {
    // SAFETY: a valid handle, and the type is that of the name.
    unsafe { std::mem::transmute_copy(&driver::device_function(device.handle, name.as_ptr()).unwrap()) }
}

impl Calls {
    /// The time of a resource.
    fn time(&self, device: &Device) -> Duration {
        let start = Instant::now();
        for _ in 0..FRAMES {
            for _ in 0..IN_A_FRAME {
                self.resource(device.handle);
            }
            // SAFETY: valid handles.
            let result = unsafe { (self.submit)(device.queue, 0, std::ptr::null(), vk::Fence::null()) };
            assert_eq!(result, vk::Result::SUCCESS);
        }
        start.elapsed() / (FRAMES * IN_A_FRAME)
    }

    fn resource(&self, device: vk::Device) {
        let none = std::ptr::null();
        let info = vk::BufferCreateInfo::default().size(64);
        let (mut buffer, mut memory) = (vk::Buffer::null(), vk::DeviceMemory::null());
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut out = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        // SAFETY: valid handles and structures.
        unsafe {
            assert_eq!((self.create)(device, &raw const info, none, &raw mut buffer), vk::Result::SUCCESS);
            (self.ask)(device, &vk::BufferMemoryRequirementsInfo2::default().buffer(buffer), &raw mut out);
            let size = out.memory_requirements.size;
            let info = vk::MemoryAllocateInfo::default().allocation_size(size);
            assert_eq!((self.allocate)(device, &raw const info, none, &raw mut memory), vk::Result::SUCCESS);
            assert_eq!((self.bind)(device, buffer, memory, 0), vk::Result::SUCCESS);
            (self.destroy)(device, buffer, none);
            (self.free)(device, memory, none);
        }
    }
}

#[test]
fn a_resource_costs_little() {
    let folder = tempdir().unwrap();
    let environment = Environment { folder: Some(folder.path()), ..Default::default() };
    let instance = Instance::with(&Layer::load(&library()), &Config::default(), environment);
    let device = instance.device();
    let (own, layers) = (calls!(|name| of_driver(&device, name)), calls!(|name| device.get(name)));
    // Once to warm up; then the least of some runs.
    let time = |calls: &Calls| (0..4).map(|_| calls.time(&device)).min().unwrap();
    let [without, with] = [time(&own), time(&layers)];
    let added = with.saturating_sub(without);
    println!(
        "the layer adds {added:?} to a resource: created, bound, destroyed, and its memory allocated and freed"
    );
    // Also without optimisation, on a busy machine.
    assert!(added < Duration::from_micros(30), "{added:?}");
    device.destroy();
    instance.destroy();
}
