//! The lines of the logs.

use std::collections::HashSet;
use std::ptr;
use std::thread;

use ash::vk;
use ash::vk::Handle as _;
use tempfile::tempdir;

use crate::driver::Config;
use crate::loader::{Device, Environment, Instance, Layer, events, library, logs};

fn target() -> vk::ImageCreateInfo<'static> {
    vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::R8G8B8A8_UNORM)
        .extent(vk::Extent3D { width: 8, height: 4, depth: 1 })
        .mip_levels(3)
        .array_layers(2)
        .samples(vk::SampleCountFlags::TYPE_4)
        .usage(vk::ImageUsageFlags::SAMPLED)
}

#[test]
fn a_resource_has_a_line_for_each_event_in_its_life() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let (buffer, image, memory) = (device.buffer(100), device.image(&target()), device.allocate(1024));
    device.bind(buffer, memory, 256);
    let bind: vk::PFN_vkBindImageMemory = device.get(c"vkBindImageMemory");
    let map: vk::PFN_vkMapMemory = device.get(c"vkMapMemory");
    let destroy: vk::PFN_vkDestroyImage = device.get(c"vkDestroyImage");
    // SAFETY: valid handles.
    unsafe {
        _ = bind(device.handle, image, memory, 512);
        // An image of a swap chain has no memory.
        _ = bind(device.handle, image, vk::DeviceMemory::null(), 0);
        _ = map(device.handle, memory, 0, 8, vk::MemoryMapFlags::empty(), ptr::null_mut());
        let unmap: vk::PFN_vkUnmapMemory = device.get(c"vkUnmapMemory");
        unmap(device.handle, memory);
        destroy(device.handle, image, ptr::null());
    }
    device.destroy_buffer(buffer);
    // Null is allowed, and no event.
    device.destroy_buffer(vk::Buffer::null());
    device.free(vk::DeviceMemory::null());
    device.free(memory);
    device.destroy();
    instance.destroy();
    let expected = [
        "R 1 b 100 80",
        "R 2 i 8x4x1 37 3 2 4 o 4",
        "M 3 1024 0",
        "B 1 3 256 100 4 0 wants-dedicated",
        "B 2 3 512 128 4 0",
        "m 3",
        "u 3",
        "D 2",
        "D 1",
        "F 3",
        "end",
    ];
    assert_eq!(events(folder.path()), expected);
    let head = &logs(folder.path())[0][..8];
    assert_eq!(head[0], "capture 1");
    assert_eq!(head[1], format!("process {}", std::process::id()));
    // Names have no line ends, and there are no paths and arguments.
    let expected = ["application a test?of mine", "engine ", "api 1.3", "device A?name"];
    assert_eq!(head[2..6], expected);
}

#[test]
fn memory_may_go_before_its_resources_and_a_device_with_everything_alive() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let (one, two, memory) = (device.buffer(8), device.buffer(16), device.allocate(64));
    device.bind(one, memory, 0);
    device.bind(two, memory, 8);
    device.free(memory);
    device.destroy_buffer(one);
    device.allocate(32);
    device.destroy();
    instance.destroy();
    assert_eq!(events(folder.path())[5..], ["F 3", "D 1", "M 4 32 0", "end"]);
}

#[test]
fn the_driver_is_asked_once_about_a_resource() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let (buffer, memory) = (device.buffer(100), device.allocate(100));
    let ask: vk::PFN_vkGetBufferMemoryRequirements2 = device.get(c"vkGetBufferMemoryRequirements2");
    let mut dedicated = vk::MemoryDedicatedRequirements::default();
    let mut out = vk::MemoryRequirements2::default().push_next(&mut dedicated);
    let info = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
    // SAFETY: valid handles and structures.
    unsafe { ask(device.handle, &raw const info, &raw mut out) };
    device.bind(buffer, memory, 0);
    assert_eq!(device.driver.seen().count("vkGetBufferMemoryRequirements2"), 1);
    // The first version does not tell about dedicated memory.
    let other = device.buffer(50);
    let ask: vk::PFN_vkGetBufferMemoryRequirements = device.get(c"vkGetBufferMemoryRequirements");
    // SAFETY: valid handles and structures.
    unsafe { ask(device.handle, other, &raw mut out.memory_requirements) };
    device.bind(other, memory, 0);
    assert_eq!(device.driver.seen().count("vkGetBufferMemoryRequirements2"), 2);
    device.destroy();
    instance.destroy();
}

#[test]
fn a_device_of_version_1_0_is_asked_by_the_first_functions() {
    let folder = tempdir().unwrap();
    let config = Config {
        absent: vec![c"vkGetBufferMemoryRequirements2KHR", c"vkGetImageMemoryRequirements2KHR"],
        version: vk::API_VERSION_1_0,
        ..Config::default()
    };
    let environment = Environment { folder: Some(folder.path()), ..Default::default() };
    let instance = Instance::with(&Layer::load(&library()), &config, environment);
    let device = instance.device();
    let (buffer, memory) = (device.buffer(100), device.allocate(100));
    device.bind(buffer, memory, 0);
    device.destroy();
    instance.destroy();
    assert_eq!(events(folder.path())[2], "B 1 2 0 100 4 0");
    // The function is there, but the program may not call it.
    assert_eq!(device.driver.seen().count("vkGetBufferMemoryRequirements2"), 0);
}

#[test]
fn bindings_of_one_call_count_by_their_own_results() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let (one, two, memory) = (device.buffer(8), device.buffer(16), device.allocate(64));
    let mut refused = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    let mut status = vk::BindMemoryStatusKHR { p_result: &raw mut refused, ..Default::default() };
    let binds = [
        vk::BindBufferMemoryInfo::default().buffer(one).memory(memory).memory_offset(8),
        vk::BindBufferMemoryInfo::default().buffer(two).memory(memory).push_next(&mut status),
    ];
    let bind: vk::PFN_vkBindBufferMemory2 = device.get(c"vkBindBufferMemory2");
    let disjoint = device.image(&target().flags(vk::ImageCreateFlags::DISJOINT));
    let mut planes = [vk::ImageAspectFlags::PLANE_0, vk::ImageAspectFlags::PLANE_1]
        .map(|plane| vk::BindImagePlaneMemoryInfo::default().plane_aspect(plane));
    let [first, second] = &mut planes;
    let images = [
        vk::BindImageMemoryInfo::default().image(disjoint).memory(memory).push_next(first),
        vk::BindImageMemoryInfo::default()
            .image(disjoint)
            .memory(memory)
            .memory_offset(128)
            .push_next(second),
    ];
    let bind_images: vk::PFN_vkBindImageMemory2 = device.get(c"vkBindImageMemory2");
    // SAFETY: valid handles and structures.
    unsafe {
        _ = bind(device.handle, 2, binds.as_ptr());
        _ = bind_images(device.handle, 2, images.as_ptr());
    }
    device.destroy();
    instance.destroy();
    let expected = [
        "B 1 3 8 8 4 0 wants-dedicated",
        "R 4 i 8x4x1 37 3 2 4 o 4",
        "B 4 3 0 128 4 10",
        "B 4 3 128 64 4 20",
        "end",
    ];
    let mut found = events(folder.path()).split_off(3);
    found.swap(0, 1);
    assert_eq!(found, expected);
}

#[test]
fn submissions_are_seen_complete_by_fences_semaphores_and_idle_queues() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let (fence, timeline) = (vk::Fence::from_raw(5), vk::Semaphore::from_raw(6));
    device.submit(fence);
    let wait: vk::PFN_vkWaitForFences = device.get(c"vkWaitForFences");
    let status: vk::PFN_vkGetFenceStatus = device.get(c"vkGetFenceStatus");
    let fences = [fence, vk::Fence::from_raw(9)];
    // SAFETY: the driver ignores all but the handle and the time.
    unsafe {
        _ = wait(device.handle, 1, fences.as_ptr(), vk::TRUE, 0);
        _ = wait(device.handle, 2, fences.as_ptr(), vk::FALSE, 1);
        _ = status(device.handle, fence);
    }
    let signal = vk::SemaphoreSubmitInfo::default().semaphore(timeline).value(7);
    let batches = [vk::SubmitInfo2::default().signal_semaphore_infos(std::slice::from_ref(&signal))];
    let values = [8];
    let mut timelines = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
    let semaphores = [timeline];
    let older = [vk::SubmitInfo::default().signal_semaphores(&semaphores).push_next(&mut timelines)];
    let submit: vk::PFN_vkQueueSubmit = device.get(c"vkQueueSubmit");
    let submit2: vk::PFN_vkQueueSubmit2 = device.get(c"vkQueueSubmit2");
    let sparse: vk::PFN_vkQueueBindSparse = device.get(c"vkQueueBindSparse");
    let value: vk::PFN_vkGetSemaphoreCounterValue = device.get(c"vkGetSemaphoreCounterValue");
    let wait: vk::PFN_vkWaitSemaphores = device.get(c"vkWaitSemaphores");
    let present: vk::PFN_vkQueuePresentKHR = device.get(c"vkQueuePresentKHR");
    let idle: vk::PFN_vkQueueWaitIdle = device.get(c"vkQueueWaitIdle");
    let all_idle: vk::PFN_vkDeviceWaitIdle = device.get(c"vkDeviceWaitIdle");
    let buffer_bind = vk::SparseBufferMemoryBindInfo::default();
    let binds = [vk::BindSparseInfo::default().buffer_binds(std::slice::from_ref(&buffer_bind)); 2];
    let (mut reached, bound) = (0, [9]);
    let mut timelines = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&bound);
    let signalling = vk::BindSparseInfo::default().signal_semaphores(&semaphores).push_next(&mut timelines);
    // SAFETY: valid handles and structures.
    unsafe {
        _ = submit2(device.queue, 1, batches.as_ptr(), vk::Fence::null());
        _ = submit(device.queue, 1, older.as_ptr(), vk::Fence::null());
        _ = value(device.handle, timeline, &raw mut reached);
        let both = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        _ = wait(device.handle, &raw const both, 1);
        _ = sparse(device.queue, 2, binds.as_ptr(), vk::Fence::null());
        _ = sparse(device.queue, 1, &raw const signalling, vk::Fence::null());
        _ = wait(device.handle, &vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&bound), 1);
        device.submit(vk::Fence::null());
        _ = present(device.queue, &vk::PresentInfoKHR::default());
        _ = idle(device.queue);
        _ = all_idle(device.handle);
        let chain = vk::SwapchainCreateInfoKHR::default()
            .image_extent(vk::Extent2D { width: 640, height: 480 })
            .image_format(vk::Format::B8G8R8A8_UNORM)
            .min_image_count(3);
        let create: vk::PFN_vkCreateSwapchainKHR = device.get(c"vkCreateSwapchainKHR");
        let mut made = vk::SwapchainKHR::null();
        _ = create(device.handle, &raw const chain, ptr::null(), &raw mut made);
    }
    device.destroy();
    instance.destroy();
    let expected = [
        "S 1 0",
        "W 1 0",
        "S 2 0",
        "S 3 0",
        "W 2 0",
        "W 3 0",
        "X 2 0 0",
        "S 4 0",
        "X 0 0 0",
        "S 5 0",
        "W 5 0",
        "S 6 0",
        "P 0",
        "W 6 0",
        "C 640x480 3 44",
        "end",
    ];
    assert_eq!(events(folder.path()), expected);
}

#[test]
fn names_are_written_on_demand() {
    let name = |has_names| {
        let folder = tempdir().unwrap();
        let environment = Environment { folder: Some(folder.path()), has_names, table: None };
        let instance = Instance::with(&Layer::load(&library()), &Config::default(), environment);
        let device = instance.device();
        let buffer = device.buffer(8);
        let set: vk::PFN_vkSetDebugUtilsObjectNameEXT = device.get(c"vkSetDebugUtilsObjectNameEXT");
        let info =
            vk::DebugUtilsObjectNameInfoEXT::default().object_handle(buffer).object_name(c"rock\tvertices");
        // SAFETY: valid handles and structures.
        assert_eq!(unsafe { set(device.handle, &raw const info) }, vk::Result::SUCCESS);
        device.destroy();
        instance.destroy();
        assert_eq!(device.driver.seen().count("vkSetDebugUtilsObjectNameEXT"), 1);
        events(folder.path())
    };
    assert_eq!(name(false), ["R 1 b 8 80", "end"]);
    assert_eq!(name(true), ["R 1 b 8 80", "n 1 rock?vertices", "end"]);
}

#[test]
fn several_devices_of_several_instances_have_their_own_files_and_numbers() {
    let folder = tempdir().unwrap();
    let instances = [Instance::new(folder.path()), Instance::new(folder.path())];
    let devices: Vec<Device> = instances.iter().flat_map(|it| [it.device(), it.device()]).collect();
    for (index, device) in devices.iter().enumerate() {
        device.allocate(100 + index as u64);
        device.submit(vk::Fence::null());
    }
    devices.iter().for_each(Device::destroy);
    instances.into_iter().for_each(Instance::destroy);
    let mut sizes: Vec<_> = logs(folder.path())
        .into_iter()
        .map(|log| log.into_iter().filter(|line| line.starts_with(['M', 'S'])).collect::<Vec<_>>())
        .collect();
    sizes.sort();
    let expected: Vec<_> = (100..104).map(|size| vec![format!("M 1 {size} 0"), "S 1 0".to_owned()]).collect();
    assert_eq!(sizes, expected);
    // The reserves of the instances are gone.
    assert_eq!(folder.path().read_dir().unwrap().count(), 4);
}

#[test]
fn a_handle_that_another_thread_gets_at_once_is_never_in_two_places() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..500 {
                    let (buffer, memory) = (device.buffer(8), device.allocate(16));
                    device.bind(buffer, memory, 8);
                    device.destroy_buffer(buffer);
                    device.free(memory);
                    if round % 100 == 0 {
                        device.submit(vk::Fence::null());
                    }
                }
            });
        }
    });
    device.destroy();
    instance.destroy();
    let (mut memory, mut resources, mut bound) = (HashSet::new(), HashSet::new(), 0);
    for event in events(folder.path()) {
        let words: Vec<_> = event.split(' ').collect();
        match words[0] {
            "M" => assert!(memory.insert(words[1].to_owned()), "{event}"),
            "F" => assert!(memory.remove(words[1]), "{event}"),
            "R" => assert!(resources.insert(words[1].to_owned()), "{event}"),
            "D" => assert!(resources.remove(words[1]), "{event}"),
            "B" => {
                assert!(resources.contains(words[1]) && memory.contains(words[2]), "{event}");
                bound += 1;
            }
            _ => {}
        }
    }
    assert_eq!((bound, memory.len(), resources.len()), (2000, 0, 0));
}
