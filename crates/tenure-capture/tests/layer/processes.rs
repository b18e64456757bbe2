//! Files, processes, and the loading of the library.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, abort, exit};

use ash::vk;
use tempfile::tempdir;

use crate::REFUSED;
use crate::driver::Config;
use crate::loader::{Device, Environment, Instance, Layer, events, library, logs};

/// The environment variable with the folder of a program that a test runs in another process.
const FOLDER: &str = "TENURE_CAPTURE_TEST";

/// Runs `program` in a new process, in which the same test calls this function again.
fn apart(test: &str, folder: &Path, program: impl FnOnce(Instance, &Device)) -> ExitStatus {
    if let Some(folder) = env::var_os(FOLDER) {
        let instance = Instance::new(Path::new(&folder));
        let device = instance.device();
        device.allocate(100);
        device.submit(vk::Fence::null());
        device.allocate(200);
        program(instance, &device);
        exit(0);
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &format!("processes::{test}"), "--nocapture"]);
    command.env(FOLDER, folder).status().unwrap()
}

#[test]
fn a_process_that_is_killed_leaves_all_up_to_its_last_submission() {
    let folder = tempdir().unwrap();
    let name = "a_process_that_is_killed_leaves_all_up_to_its_last_submission";
    assert!(!apart(name, folder.path(), |_, _| abort()).success());
    // The second allocation is there as well if the process was slow.
    assert_eq!(events(folder.path())[..2], ["M 1 100 0", "S 1 0"]);
}

#[test]
fn a_process_that_is_killed_leaves_a_refused_allocation_and_what_led_to_it() {
    let folder = tempdir().unwrap();
    let name = "a_process_that_is_killed_leaves_a_refused_allocation_and_what_led_to_it";
    let ended = apart(name, folder.path(), |_, device| {
        let (result, _) = device.allocate_with(&vk::MemoryAllocateInfo::default().allocation_size(REFUSED));
        assert_eq!(result, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        abort()
    });
    assert!(!ended.success());
    assert_eq!(events(folder.path()), ["M 1 100 0", "S 1 0", "M 2 200 0", "N -2 666 0"]);
}

#[test]
fn lines_do_not_wait_long_for_a_submission() {
    let folder = tempdir().unwrap();
    let name = "lines_do_not_wait_long_for_a_submission";
    let ended = apart(name, folder.path(), |_, device| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        device.allocate(300);
        abort()
    });
    assert!(!ended.success());
    assert_eq!(events(folder.path()), ["M 1 100 0", "S 1 0", "M 2 200 0", "M 3 300 0"]);
}

#[cfg(unix)]
#[test]
fn a_forked_child_leaves_the_file_of_its_parent_alone() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    }
    let folder = tempdir().unwrap();
    let name = "a_forked_child_leaves_the_file_of_its_parent_alone";
    let ended = apart(name, folder.path(), |instance, device| {
        // SAFETY: the child uses nothing that another thread may have locked.
        let child = unsafe { fork() };
        if child == 0 {
            device.allocate(300);
            device.submit(vk::Fence::null());
            device.destroy();
            instance.destroy();
            exit(0);
        }
        let mut status = 0;
        // SAFETY: the child is this process's.
        assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        device.destroy();
        instance.destroy();
    });
    assert!(ended.success());
    assert_eq!(events(folder.path()), ["M 1 100 0", "S 1 0", "M 2 200 0", "end"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_started_does_not_inherit_the_file() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    let device = instance.device();
    let own = fs::read_dir("/proc/self/fd").unwrap();
    let links = own.filter_map(|it| fs::read_link(it.unwrap().path()).ok());
    assert!(links.filter(|it| it.starts_with(folder.path())).count() > 0);
    let listed = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap().stdout;
    assert!(!String::from_utf8_lossy(&listed).contains(folder.path().to_str().unwrap()));
    device.destroy();
    instance.destroy();
}

#[test]
fn files_are_opened_with_the_instance_and_a_folder_that_goes_disturbs_nothing() {
    let folder = tempdir().unwrap();
    let instance = Instance::new(folder.path());
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "before a sandbox can forbid it");
    fs::remove_dir_all(folder.path()).unwrap();
    for size in [1, 2] {
        let device = instance.device();
        device.bind(device.buffer(size), device.allocate(size), 0);
        device.submit(vk::Fence::null());
        device.destroy();
    }
    instance.destroy();
    assert!(!folder.path().exists());
}

#[test]
fn the_library_is_unloaded_and_loaded_again() {
    // Other tests hold the library itself.
    let folder = tempdir().unwrap();
    let copy = folder.path().join("copy-of-the-layer.so");
    fs::copy(library(), &copy).unwrap();
    let written = tempdir().unwrap();
    let environment = Environment { folder: Some(written.path()), ..Default::default() };
    for size in [1, 2] {
        let layer = Layer::load(&copy);
        let instance = Instance::with(&layer, &Config::default(), environment.clone());
        let device = instance.device();
        // On another thread too, whose variables the library must not keep.
        std::thread::scope(|scope| {
            scope.spawn(|| device.allocate(size));
        });
        device.submit(vk::Fence::null());
        device.destroy();
        drop(device);
        instance.destroy();
        drop(layer);
        #[cfg(target_os = "linux")]
        assert!(!fs::read_to_string("/proc/self/maps").unwrap().contains("copy-of-the-layer"));
    }
    let logs = logs(written.path());
    let memory: Vec<_> = logs.iter().flatten().filter(|line| line.starts_with('M')).collect();
    assert_eq!(memory, ["M 1 1 0", "M 1 2 0"]);
    assert_eq!(logs.len(), 2);
}
