//! The disguise: each function tells the same about memory.

use std::ptr;

use ash::vk;
use ash::vk::Handle as _;
use tempfile::tempdir;

use crate::driver::Config;
use crate::loader::{Environment, Instance, Layer, events, library, logs};

/// Types: host, device, host for the device.
const TABLE: &str = "name=card heaps=1000:1,4000:0 types=6:1,1:0,7:0 buffer=16 image=1024 large-image=65536 \
                     image-types=2 granularity=512 atom=64 allocations=4096 largest=900";
const BUFFERS: u32 = 0b111;
const IMAGES: u32 = 0b010;
const OF_CPU: u32 = 0b101;

#[test]
fn all_functions_tell_the_same() {
    let folder = tempdir().unwrap();
    // Of a card with types in another order: device, host, both.
    let config = Config { types: vec![1, 6, 7], bits: 0b111, ..Config::default() };
    let environment = Environment { folder: Some(folder.path()), table: Some(TABLE), has_names: false };
    let instance = Instance::with(&Layer::load(&library()), &config, environment);
    let device = instance.device();

    let mut memory = vk::PhysicalDeviceMemoryProperties::default();
    let ask: vk::PFN_vkGetPhysicalDeviceMemoryProperties =
        instance.get(c"vkGetPhysicalDeviceMemoryProperties");
    // SAFETY: valid handles and structures.
    unsafe { ask(instance.physical, &raw mut memory) };
    let types: Vec<_> =
        memory.memory_types_as_slice().iter().map(|it| (it.property_flags.as_raw(), it.heap_index)).collect();
    assert_eq!(types, [(6, 1), (1, 0), (7, 0)]);
    let usage = || {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory2 = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        let name = c"vkGetPhysicalDeviceMemoryProperties2KHR";
        let ask: vk::PFN_vkGetPhysicalDeviceMemoryProperties2 = instance.get(name);
        // SAFETY: valid handles and structures.
        unsafe { ask(instance.physical, &raw mut memory2) };
        assert_eq!(memory2.memory_properties.memory_type_count, 3);
        assert_eq!(budget.heap_budget[..3], [875, 3500, 0]);
        [budget.heap_usage[0], budget.heap_usage[1]]
    };

    let mut limits = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
    let ask: vk::PFN_vkGetPhysicalDeviceProperties2 = instance.get(c"vkGetPhysicalDeviceProperties2");
    // SAFETY: valid handles and structures.
    unsafe { ask(instance.physical, &raw mut properties) };
    let found = properties.properties.limits;
    assert_eq!((found.buffer_image_granularity, found.non_coherent_atom_size), (512, 64));
    assert_eq!((found.max_memory_allocation_count, limits.max_memory_allocation_size), (4096, 900));

    let buffer = device.buffer(100);
    let info = vk::ImageCreateInfo::default().extent(vk::Extent3D { width: 8, height: 8, depth: 1 });
    let image = device.image(&info);
    let told = |found: vk::MemoryRequirements| (found.alignment, found.memory_type_bits);
    let mut one = vk::MemoryRequirements::default();
    let mut two = vk::MemoryRequirements2::default();
    let buffer_info = vk::BufferCreateInfo::default().size(100);
    // SAFETY: valid handles and structures.
    unsafe {
        let ask: vk::PFN_vkGetBufferMemoryRequirements = device.get(c"vkGetBufferMemoryRequirements");
        ask(device.handle, buffer, &raw mut one);
        assert_eq!(told(one), (16, BUFFERS));
        let ask: vk::PFN_vkGetImageMemoryRequirements = device.get(c"vkGetImageMemoryRequirements");
        ask(device.handle, image, &raw mut one);
        assert_eq!(told(one), (1024, IMAGES));
        let ask: vk::PFN_vkGetBufferMemoryRequirements2 = device.get(c"vkGetBufferMemoryRequirements2");
        ask(device.handle, &vk::BufferMemoryRequirementsInfo2::default().buffer(buffer), &raw mut two);
        assert_eq!(told(two.memory_requirements), (16, BUFFERS));
        let ask: vk::PFN_vkGetImageMemoryRequirements2 = device.get(c"vkGetImageMemoryRequirements2KHR");
        ask(device.handle, &vk::ImageMemoryRequirementsInfo2::default().image(image), &raw mut two);
        assert_eq!(told(two.memory_requirements), (1024, IMAGES));
        let name = c"vkGetDeviceBufferMemoryRequirementsKHR";
        let ask: vk::PFN_vkGetDeviceBufferMemoryRequirements = device.get(name);
        let asked = vk::DeviceBufferMemoryRequirements::default().create_info(&buffer_info);
        ask(device.handle, &raw const asked, &raw mut two);
        assert_eq!(told(two.memory_requirements), (16, BUFFERS));
        let ask: vk::PFN_vkGetDeviceImageMemoryRequirements =
            device.get(c"vkGetDeviceImageMemoryRequirements");
        let asked = vk::DeviceImageMemoryRequirements::default().create_info(&info);
        ask(device.handle, &raw const asked, &raw mut two);
        assert_eq!(told(two.memory_requirements), (1024, IMAGES));
        let kind = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
        let mut of_descriptor = vk::MemoryFdPropertiesKHR::default();
        let ask: vk::PFN_vkGetMemoryFdPropertiesKHR = device.get(c"vkGetMemoryFdPropertiesKHR");
        _ = ask(device.handle, kind, 3, &raw mut of_descriptor);
        assert_eq!(of_descriptor.memory_type_bits, BUFFERS);
        let mut of_pointer = vk::MemoryHostPointerPropertiesEXT::default();
        let ask: vk::PFN_vkGetMemoryHostPointerPropertiesEXT =
            device.get(c"vkGetMemoryHostPointerPropertiesEXT");
        _ = ask(device.handle, kind, ptr::null(), &raw mut of_pointer);
        assert_eq!(of_pointer.memory_type_bits, OF_CPU);
        let ask: vk::PFN_vkGetMemoryHostPointerPropertiesEXT =
            device.get(c"vkGetMemoryMetalHandlePropertiesEXT");
        _ = ask(device.handle, kind, ptr::null(), &raw mut of_pointer);
        assert_eq!(of_pointer.memory_type_bits, BUFFERS);
        for name in [
            c"vkGetGeneratedCommandsMemoryRequirementsEXT",
            c"vkGetTensorMemoryRequirementsARM",
            c"vkGetDeviceTensorMemoryRequirementsARM",
            c"vkGetDataGraphPipelineSessionMemoryRequirementsARM",
        ] {
            let ask: vk::PFN_vkGetGeneratedCommandsMemoryRequirementsNV = device.get(name);
            ask(device.handle, ptr::null(), &raw mut two);
            assert_eq!(told(two.memory_requirements), (16, BUFFERS), "{name:?}");
        }
    }

    let allocate = |index, size| {
        device
            .allocate_with(&vk::MemoryAllocateInfo::default().memory_type_index(index).allocation_size(size))
    };
    let (_, first) = allocate(0, 900);
    let (_, second) = allocate(1, 900);
    assert_eq!(usage(), [900, 900]);
    assert_eq!(allocate(2, 101).0, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "the heap has 1000 bytes");
    assert_eq!(allocate(2, crate::REFUSED).0, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    device.free(second);
    assert_eq!(usage(), [0, 900]);
    assert_eq!(allocate(2, 100).0, vk::Result::SUCCESS);
    let chosen: Vec<_> = device.driver.seen().allocations.iter().map(|it| it.0).collect();
    assert_eq!(chosen, [1, 0, 2], "each type of the table stands for one of the driver's");
    device.bind(buffer, first, 0);
    device.destroy();
    assert_eq!(usage(), [0, 0], "a device that goes takes its memory along");
    instance.destroy();

    // The log has what the program saw.
    assert!(logs(folder.path())[0].contains(&"as card".to_owned()));
    let expected = ["M 3 900 0", "M 4 900 1", "N -2 101 2", "N -2 666 2", "F 4", "M 5 100 2"];
    let found = events(folder.path());
    assert_eq!(found[2..8], expected);
    assert_eq!(found[8], "B 1 3 0 100 16 0 wants-dedicated");
}

#[test]
fn a_wrong_table_is_no_disguise() {
    let folder = tempdir().unwrap();
    let environment = Environment { folder: Some(folder.path()), table: Some("name=card"), has_names: false };
    let instance = Instance::with(&Layer::load(&library()), &Config::default(), environment);
    let device = instance.device();
    assert_ne!(device.buffer(8).as_raw(), 0);
    device.destroy();
    instance.destroy();
    assert!(!logs(folder.path())[0].contains(&"as card".to_owned()));
}
