//! Which functions the layer hands out, and that calls arrive at the driver as the program made them.

use std::ffi::CStr;
use std::ptr;

use ash::vk;
use ash::vk::Handle as _;
use tempfile::tempdir;

use crate::driver::{self, Config};
use crate::loader::{Environment, Instance, Layer, events, library};

/// Functions with several names, and the place where the driver counts them.
const ALIASES: [([&CStr; 2], &str); 6] = [
    ([c"vkMapMemory2", c"vkMapMemory2KHR"], "vkMapMemory2"),
    ([c"vkUnmapMemory2", c"vkUnmapMemory2KHR"], "vkUnmapMemory2"),
    ([c"vkBindBufferMemory2", c"vkBindBufferMemory2KHR"], "vkBindBufferMemory2"),
    ([c"vkBindImageMemory2", c"vkBindImageMemory2KHR"], "vkBindImageMemory2"),
    ([c"vkQueueSubmit2", c"vkQueueSubmit2KHR"], "vkQueueSubmit2"),
    ([c"vkWaitSemaphores", c"vkWaitSemaphoresKHR"], "vkWaitSemaphores"),
];

fn on(config: &Config) -> Instance {
    Instance::with(&Layer::load(&library()), config, Environment::default())
}

#[test]
fn each_alias_is_hooked_where_the_driver_has_it_and_calls_arrive() {
    for (names, count) in ALIASES {
        for only in names {
            let absent = names.into_iter().filter(|name| *name != only).collect::<Vec<_>>();
            let instance = on(&Config { absent: absent.clone(), ..Config::default() });
            let device = instance.device();
            assert!(device.find(absent[0]).is_none(), "a program would see a missing function: {absent:?}");
            // SAFETY: all take a handle, a count or a structure, and addresses that the driver ignores.
            unsafe {
                match count {
                    "vkMapMemory2" => {
                        let map: vk::PFN_vkMapMemory2KHR = device.get(only);
                        _ = map(device.handle, &vk::MemoryMapInfoKHR::default(), ptr::null_mut());
                    }
                    "vkUnmapMemory2" => {
                        let unmap: vk::PFN_vkUnmapMemory2KHR = device.get(only);
                        _ = unmap(device.handle, &vk::MemoryUnmapInfoKHR::default());
                    }
                    "vkBindBufferMemory2" => {
                        let bind: vk::PFN_vkBindBufferMemory2 = device.get(only);
                        _ = bind(device.handle, 0, ptr::null());
                    }
                    "vkBindImageMemory2" => {
                        let bind: vk::PFN_vkBindImageMemory2 = device.get(only);
                        _ = bind(device.handle, 0, ptr::null());
                    }
                    "vkQueueSubmit2" => {
                        let submit: vk::PFN_vkQueueSubmit2 = device.get(only);
                        _ = submit(device.queue, 0, ptr::null(), vk::Fence::null());
                    }
                    _ => {
                        let wait: vk::PFN_vkWaitSemaphores = device.get(only);
                        _ = wait(device.handle, &vk::SemaphoreWaitInfo::default(), 0);
                    }
                }
            }
            assert_eq!(device.driver.seen().count(count), 1, "{only:?}");
            device.destroy();
            instance.destroy();
        }
    }
}

#[test]
fn functions_that_the_driver_lacks_stay_absent() {
    let absent = vec![
        c"vkGetMemoryFdPropertiesKHR",
        c"vkGetMemoryHostPointerPropertiesEXT",
        c"vkQueuePresentKHR",
        c"vkCreateSwapchainKHR",
        c"vkSetDebugUtilsObjectNameEXT",
        c"vkGetPhysicalDeviceMemoryProperties2KHR",
    ];
    let instance = on(&Config { absent: absent.clone(), ..Config::default() });
    let device = instance.device();
    for name in absent {
        assert!(device.find(name).is_none() && instance.find(name).is_none(), "{name:?}");
    }
    // Never in this driver.
    for name in [c"vkGetMemoryWin32HandlePropertiesKHR", c"vkBindVideoSessionMemoryKHR", c"vkNothing"] {
        assert!(device.find(name).is_none() && instance.find(name).is_none(), "{name:?}");
    }
    // Functions of devices also come from the instance.
    for name in [c"vkCreateBuffer", c"vkQueueSubmit", c"vkAllocateMemory"] {
        let hook = instance.find(name).map(|it| it as usize);
        assert_eq!(hook, device.find(name).map(|it| it as usize), "{name:?}");
        // SAFETY: a valid handle, and a string.
        let own = unsafe { driver::instance_function(instance.handle, name.as_ptr()) };
        assert_ne!(hook, own.map(|it| it as usize), "{name:?} is hooked");
    }
    device.destroy();
    instance.destroy();
}

#[test]
fn without_a_folder_nothing_is_written_and_everything_works() {
    let instance = on(&Config::default());
    let device = instance.device();
    let (buffer, memory) = (device.buffer(100), device.allocate(100));
    device.bind(buffer, memory, 0);
    device.submit(vk::Fence::null());
    device.destroy_buffer(buffer);
    device.free(memory);
    device.destroy();
    instance.destroy();
    assert_eq!(device.driver.seen().count("vkFreeMemory"), 1);
}

#[test]
fn chains_are_passed_on_unread_and_unchanged() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    // A structure that nobody knows, before ones that the log names.
    let mut address = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
    let mut host = vk::ImportMemoryHostPointerInfoEXT::default()
        .handle_type(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT);
    host.p_next = (&raw mut address).cast();
    let mut priority = vk::MemoryPriorityAllocateInfoEXT::default().priority(0.5);
    priority.p_next = (&raw mut host).cast();
    let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(vk::Buffer::from_raw(3));
    dedicated.p_next = (&raw mut priority).cast();
    let unknown = vk::BaseInStructure {
        s_type: vk::StructureType::from_raw(0x7fff_fff0),
        p_next: (&raw const dedicated).cast(),
        ..Default::default()
    };
    let mut info = vk::MemoryAllocateInfo::default().allocation_size(64);
    info.p_next = (&raw const unknown).cast();
    let (result, memory) = device.allocate_with(&info);
    assert_eq!(result, vk::Result::SUCCESS);
    assert_eq!(device.driver.seen().allocations, [(0, &raw const unknown as usize)]);
    assert_eq!(unknown.p_next, (&raw const dedicated).cast());
    assert_eq!(address.p_next, ptr::null());
    // A dedicated allocation for nothing, and an export to nowhere, are none.
    let mut export = vk::ExportMemoryAllocateInfo::default();
    let mut none = vk::MemoryDedicatedAllocateInfo::default();
    let info =
        vk::MemoryAllocateInfo::default().allocation_size(8).push_next(&mut export).push_next(&mut none);
    assert_eq!(device.allocate_with(&info).0, vk::Result::SUCCESS);
    let (result, _) =
        device.allocate_with(&vk::MemoryAllocateInfo::default().allocation_size(crate::REFUSED));
    assert_eq!(result, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    device.free(memory);
    device.destroy();
    instance.destroy();
    let expected =
        ["M 1 64 0 dedicated address priority=0.5 import-host", "M 2 8 0", "N -2 666 0", "F 1", "end"];
    assert_eq!(events(folder.path()), expected);
}
