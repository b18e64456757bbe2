//! The allocator on a real Vulkan driver: buffers and images bound to its allocations.

#![cfg(all(feature = "vulkan", not(windows)))]
#![allow(clippy::unwrap_used, reason = "tests")]

use ash::vk;
use gpu_allocator::vulkan::{
    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};

struct Vulkan {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    physical_device: vk::PhysicalDevice,
}

impl Vulkan {
    fn new() -> Self {
        // SAFETY: this process makes no other Vulkan calls.
        unsafe {
            let entry = ash::Entry::load().expect("a Vulkan loader: run this in the lab");
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let info = vk::InstanceCreateInfo::default().application_info(&app);
            let instance = entry.create_instance(&info, None).unwrap();
            let physical_device = instance.enumerate_physical_devices().unwrap()[0];
            let priorities = [1.0];
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
            let mut addresses =
                vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut addresses);
            let device = instance.create_device(physical_device, &info, None).unwrap();
            Self { _entry: entry, instance, device, physical_device }
        }
    }

    fn allocator(&self) -> Allocator {
        Allocator::new(&AllocatorCreateDesc {
            instance: self.instance.clone(),
            device: self.device.clone(),
            physical_device: self.physical_device,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: true,
            allocation_sizes: AllocationSizes::default(),
        })
        .unwrap()
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: no child objects are left.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

fn desc(
    requirements: vk::MemoryRequirements,
    location: MemoryLocation,
    linear: bool,
    allocation_scheme: AllocationScheme,
) -> AllocationCreateDesc<'static> {
    AllocationCreateDesc { name: "thing", requirements, location, linear, allocation_scheme }
}

#[test]
fn buffers_keep_their_bytes() {
    let vulkan = Vulkan::new();
    let device = &vulkan.device;
    let mut allocator = vulkan.allocator();
    let mut live: Vec<(vk::Buffer, Allocation, u8)> = Vec::new();
    for number in 0..200_u8 {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(100 + 777 * u64::from(number)).usage(usage);
        // SAFETY: the buffer is bound to memory of a suitable kind and size.
        let (buffer, mut allocation) = unsafe {
            let buffer = device.create_buffer(&info, None).unwrap();
            let needs = device.get_buffer_memory_requirements(buffer);
            let scheme = match number % 10 {
                0 => AllocationScheme::DedicatedBuffer(buffer),
                _ => AllocationScheme::GpuAllocatorManaged,
            };
            let location = if number % 2 == 0 { MemoryLocation::CpuToGpu } else { MemoryLocation::GpuToCpu };
            let allocation = allocator.allocate(&desc(needs, location, true, scheme)).unwrap();
            device.bind_buffer_memory(buffer, allocation.memory(), allocation.offset()).unwrap();
            assert_eq!(allocation.is_dedicated(), number % 10 == 0);
            let address = vk::BufferDeviceAddressInfo::default().buffer(buffer);
            assert_ne!(device.get_buffer_device_address(&address), 0);
            (buffer, allocation)
        };
        allocation.mapped_slice_mut().unwrap().fill(number);
        live.push((buffer, allocation, number));
        if number % 3 == 2 {
            let (buffer, allocation, _) = live.swap_remove(usize::from(number) % live.len());
            // SAFETY: it is no longer in use.
            unsafe { device.destroy_buffer(buffer, None) };
            allocator.free(allocation).unwrap();
        }
    }
    for (buffer, allocation, number) in live {
        assert!(allocation.mapped_slice().unwrap().iter().all(|byte| *byte == number), "buffer {number}");
        // SAFETY: it is no longer in use.
        unsafe { device.destroy_buffer(buffer, None) };
        allocator.free(allocation).unwrap();
    }
    assert_eq!(allocator.generate_report().total_allocated_bytes, 0);
}

#[test]
fn images_are_bound() {
    let vulkan = Vulkan::new();
    let device = &vulkan.device;
    let mut allocator = vulkan.allocator();
    let mut live = Vec::new();
    for number in 0..40_u32 {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .extent(vk::Extent3D { width: 16 + 8 * number, height: 32, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::SAMPLED);
        // SAFETY: the image is bound to memory of a suitable kind and size.
        unsafe {
            let image = device.create_image(&info, None).unwrap();
            let needs = device.get_image_memory_requirements(image);
            let scheme = match number % 10 {
                0 => AllocationScheme::DedicatedImage(image),
                _ => AllocationScheme::GpuAllocatorManaged,
            };
            let wanted = desc(needs, MemoryLocation::GpuOnly, false, scheme);
            let allocation = allocator.allocate(&wanted).unwrap();
            device.bind_image_memory(image, allocation.memory(), allocation.offset()).unwrap();
            live.push((image, allocation));
        }
    }
    for (image, allocation) in live {
        // SAFETY: it is no longer in use.
        unsafe { device.destroy_image(image, None) };
        allocator.free(allocation).unwrap();
    }
    assert_eq!(allocator.generate_report().total_allocated_bytes, 0);
}

#[test]
fn mapped_bytes_outlive_the_allocator() {
    let vulkan = Vulkan::new();
    let mut allocator = vulkan.allocator();
    let requirements = vk::MemoryRequirements { size: 1000, alignment: 256, memory_type_bits: u32::MAX };
    let wanted = desc(requirements, MemoryLocation::CpuToGpu, true, AllocationScheme::GpuAllocatorManaged);
    let mut allocation = allocator.allocate(&wanted).unwrap();
    allocation.mapped_slice_mut().unwrap().fill(1);
    drop(allocator);
    assert!(allocation.mapped_slice().unwrap().iter().all(|byte| *byte == 1));
    allocation.mapped_slice_mut().unwrap().fill(2);
    assert!(allocation.mapped_slice().unwrap().iter().all(|byte| *byte == 2));
    // SAFETY: nothing is bound to it, and the allocation is not used again.
    unsafe { vulkan.device.free_memory(allocation.memory(), None) };
}
