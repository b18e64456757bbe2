//! What the loader does: it loads the library, negotiates, and creates instances and devices through the layer.

use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute_copy;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex};

use ash::vk;
use libloading::Library;

use crate::driver::{self, Config, Driver};

/// One thread at a time changes the environment, and creates an instance that reads it.
static ENVIRONMENT: Mutex<()> = Mutex::new(());

#[repr(C)]
struct Negotiation {
    structure: i32,
    next: *mut c_void,
    version: u32,
    instance_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
    device_functions: Option<vk::PFN_vkGetDeviceProcAddr>,
    physical_device_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
}

#[repr(C)]
struct LayerLink {
    next: *mut LayerLink,
    instance_functions: vk::PFN_vkGetInstanceProcAddr,
    /// Of an instance: null.
    device_functions: Option<vk::PFN_vkGetDeviceProcAddr>,
}

#[repr(C)]
struct LinkInfo {
    structure: vk::StructureType,
    next: *const c_void,
    function: i32,
    link: *mut LayerLink,
}

/// The library that cargo builds with these tests.
pub(crate) fn library() -> PathBuf {
    let name = format!("{}tenure_capture{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    env::current_exe().unwrap().with_file_name(name)
}

/// The library, loaded.
pub(crate) struct Layer {
    _library: Library,
    instance_functions: vk::PFN_vkGetInstanceProcAddr,
    device_functions: vk::PFN_vkGetDeviceProcAddr,
}

impl Layer {
    pub(crate) fn load(library: &Path) -> Arc<Self> {
        // SAFETY: the layer's functions have these types.
        unsafe {
            let library = Library::new(library).unwrap();
            let negotiate = library
                .get::<unsafe extern "system" fn(*mut Negotiation) -> vk::Result>(
                    b"vkNegotiateLoaderLayerInterfaceVersion\0",
                )
                .unwrap();
            let mut negotiation = Negotiation {
                structure: 1,
                next: ptr::null_mut(),
                version: 9,
                instance_functions: None,
                device_functions: None,
                physical_device_functions: None,
            };
            assert_eq!(negotiate(&raw mut negotiation), vk::Result::SUCCESS);
            assert_eq!(negotiation.version, 2);
            let too_old = &mut Negotiation { version: 1, ..negotiation };
            assert_ne!(negotiate(&raw mut *too_old), vk::Result::SUCCESS);
            Arc::new(Self {
                instance_functions: negotiation.instance_functions.unwrap(),
                device_functions: negotiation.device_functions.unwrap(),
                _library: library,
            })
        }
    }
}

/// The environment of an instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment<'a> {
    pub(crate) folder: Option<&'a Path>,
    pub(crate) table: Option<&'a str>,
    pub(crate) has_names: bool,
}

/// An instance behind the layer.
pub(crate) struct Instance {
    layer: Arc<Layer>,
    pub(crate) handle: vk::Instance,
    /// It has the key of the instance, as the loader sees to.
    pub(crate) physical: vk::PhysicalDevice,
}

impl Instance {
    /// An instance with logs in a folder, on a driver with everything.
    pub(crate) fn new(folder: &Path) -> Self {
        Self::with(
            &Layer::load(&library()),
            &Config::default(),
            Environment { folder: Some(folder), ..Default::default() },
        )
    }

    pub(crate) fn with(layer: &Arc<Layer>, config: &Config, environment: Environment<'_>) -> Self {
        driver::CONFIG.set(config.clone());
        let _alone = ENVIRONMENT.lock().unwrap();
        let set = |name: &str, value: Option<&str>| {
            // SAFETY: all tests that read or write the environment hold the lock.
            unsafe {
                match value {
                    Some(value) => env::set_var(name, value),
                    None => env::remove_var(name),
                }
            }
        };
        set("TENURE_CAPTURE", environment.folder.map(|folder| folder.to_str().unwrap()));
        set("TENURE_CAPTURE_AS", environment.table);
        set("TENURE_CAPTURE_NAMES", environment.has_names.then_some("1"));
        let name = c"a test\nof mine";
        let application =
            vk::ApplicationInfo::default().application_name(name).api_version(vk::API_VERSION_1_3);
        let mut link = LayerLink {
            next: ptr::null_mut(),
            instance_functions: driver::instance_function,
            device_functions: None,
        };
        let chain = LinkInfo {
            structure: vk::StructureType::LOADER_INSTANCE_CREATE_INFO,
            next: ptr::null(),
            function: 0,
            link: &raw mut link,
        };
        let mut info = vk::InstanceCreateInfo::default().application_info(&application);
        info.p_next = (&raw const chain).cast();
        let mut handle = vk::Instance::null();
        // SAFETY: as the loader calls it. Before there is an instance, it asks with a handle of its own.
        unsafe {
            let any = [0_usize; 4];
            let own: vk::Instance = vk::Handle::from_raw(any.as_ptr() as u64);
            let create = (layer.instance_functions)(own, c"vkCreateInstance".as_ptr());
            assert!((layer.instance_functions)(own, c"vkCreateBuffer".as_ptr()).is_none());
            let create: vk::PFN_vkCreateInstance = transmute_copy(&create.unwrap());
            let result = create(&raw const info, ptr::null(), &raw mut handle);
            assert_eq!(result, vk::Result::SUCCESS);
        }
        assert!(chain.link.is_null(), "the next layer finds its own link");
        Self { layer: Arc::clone(layer), handle, physical: driver::child(handle) }
    }

    /// The function of a name; the type must be that of the name.
    pub(crate) fn get<F: Copy>(&self, name: &CStr) -> F {
        let found = self.find(name);
        // SAFETY: as the caller promises.
        unsafe { transmute_copy(&found.unwrap()) }
    }

    pub(crate) fn find(&self, name: &CStr) -> vk::PFN_vkVoidFunction {
        // SAFETY: a valid handle, and a string.
        unsafe { (self.layer.instance_functions)(self.handle, name.as_ptr()) }
    }

    pub(crate) fn device(&self) -> Device {
        let mut link = LayerLink {
            next: ptr::null_mut(),
            instance_functions: driver::instance_function,
            device_functions: Some(driver::device_function),
        };
        let mut chain = LinkInfo {
            structure: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
            next: ptr::null(),
            function: 0,
            link: &raw mut link,
        };
        // Behind another structure of the same type, as the loader's callback is.
        let callback = LinkInfo {
            structure: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
            next: (&raw mut chain).cast(),
            function: 1,
            link: ptr::null_mut(),
        };
        let info = vk::DeviceCreateInfo { p_next: (&raw const callback).cast(), ..Default::default() };
        let create: vk::PFN_vkCreateDevice = self.get(c"vkCreateDevice");
        let mut handle = vk::Device::null();
        // SAFETY: as the loader calls it.
        let result = unsafe { create(self.physical, &raw const info, ptr::null(), &raw mut handle) };
        assert_eq!(result, vk::Result::SUCCESS);
        assert!(chain.link.is_null(), "the next layer finds its own link");
        Device {
            layer: Arc::clone(&self.layer),
            handle,
            queue: driver::child(handle),
            driver: driver::driver(handle),
        }
    }

    pub(crate) fn destroy(self) {
        let destroy: vk::PFN_vkDestroyInstance = self.get(c"vkDestroyInstance");
        // SAFETY: a valid handle.
        unsafe { destroy(self.handle, ptr::null()) };
    }
}

/// A device behind the layer.
pub(crate) struct Device {
    layer: Arc<Layer>,
    pub(crate) handle: vk::Device,
    /// It has the key of the device.
    pub(crate) queue: vk::Queue,
    pub(crate) driver: Arc<Driver>,
}

// SAFETY: handles are numbers.
unsafe impl Sync for Device {}

impl Device {
    /// The function of a name; the type must be that of the name.
    pub(crate) fn get<F: Copy>(&self, name: &CStr) -> F {
        let found = self.find(name);
        // SAFETY: as the caller promises.
        unsafe { transmute_copy(&found.unwrap_or_else(|| panic!("no {name:?}"))) }
    }

    pub(crate) fn find(&self, name: &CStr) -> vk::PFN_vkVoidFunction {
        self.find_named(name.as_ptr())
    }

    fn find_named(&self, name: *const c_char) -> vk::PFN_vkVoidFunction {
        // SAFETY: a valid handle, and a string.
        unsafe { (self.layer.device_functions)(self.handle, name) }
    }

    pub(crate) fn allocate(&self, size: u64) -> vk::DeviceMemory {
        let (result, memory) = self.allocate_with(&vk::MemoryAllocateInfo::default().allocation_size(size));
        assert_eq!(result, vk::Result::SUCCESS);
        memory
    }

    pub(crate) fn allocate_with(&self, info: &vk::MemoryAllocateInfo<'_>) -> (vk::Result, vk::DeviceMemory) {
        let allocate: vk::PFN_vkAllocateMemory = self.get(c"vkAllocateMemory");
        let mut memory = vk::DeviceMemory::null();
        // SAFETY: a valid handle and structure.
        let result = unsafe { allocate(self.handle, &raw const *info, ptr::null(), &raw mut memory) };
        (result, memory)
    }

    pub(crate) fn free(&self, memory: vk::DeviceMemory) {
        let free: vk::PFN_vkFreeMemory = self.get(c"vkFreeMemory");
        // SAFETY: valid handles.
        unsafe { free(self.handle, memory, ptr::null()) };
    }

    pub(crate) fn buffer(&self, size: u64) -> vk::Buffer {
        let create: vk::PFN_vkCreateBuffer = self.get(c"vkCreateBuffer");
        let info = vk::BufferCreateInfo::default().size(size).usage(vk::BufferUsageFlags::VERTEX_BUFFER);
        let mut buffer = vk::Buffer::null();
        // SAFETY: a valid handle and structure.
        let result = unsafe { create(self.handle, &raw const info, ptr::null(), &raw mut buffer) };
        assert_eq!(result, vk::Result::SUCCESS);
        buffer
    }

    pub(crate) fn image(&self, info: &vk::ImageCreateInfo<'_>) -> vk::Image {
        let create: vk::PFN_vkCreateImage = self.get(c"vkCreateImage");
        let mut image = vk::Image::null();
        // SAFETY: a valid handle and structure.
        let result = unsafe { create(self.handle, &raw const *info, ptr::null(), &raw mut image) };
        assert_eq!(result, vk::Result::SUCCESS);
        image
    }

    pub(crate) fn bind(&self, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: u64) {
        let bind: vk::PFN_vkBindBufferMemory = self.get(c"vkBindBufferMemory");
        // SAFETY: valid handles.
        assert_eq!(unsafe { bind(self.handle, buffer, memory, offset) }, vk::Result::SUCCESS);
    }

    pub(crate) fn destroy_buffer(&self, buffer: vk::Buffer) {
        let destroy: vk::PFN_vkDestroyBuffer = self.get(c"vkDestroyBuffer");
        // SAFETY: valid handles.
        unsafe { destroy(self.handle, buffer, ptr::null()) };
    }

    pub(crate) fn submit(&self, fence: vk::Fence) {
        let submit: vk::PFN_vkQueueSubmit = self.get(c"vkQueueSubmit");
        // SAFETY: valid handles.
        assert_eq!(unsafe { submit(self.queue, 0, ptr::null(), fence) }, vk::Result::SUCCESS);
    }

    pub(crate) fn destroy(&self) {
        let destroy: vk::PFN_vkDestroyDevice = self.get(c"vkDestroyDevice");
        // SAFETY: a valid handle.
        unsafe { destroy(self.handle, ptr::null()) };
    }
}

/// The logs of a folder that have content, by name, without the lines' times and threads.
pub(crate) fn logs(folder: &Path) -> Vec<Vec<String>> {
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    texts.filter(|text| !text.is_empty()).map(|text| text.lines().map(event).collect()).collect()
}

/// The only log of a folder, without the lines about the program and the device.
pub(crate) fn events(folder: &Path) -> Vec<String> {
    let mut logs = logs(folder);
    assert_eq!(logs.len(), 1);
    let log = logs.remove(0);
    let first = log.iter().rposition(|line| line.starts_with("type ")).unwrap() + 1;
    log[first..].to_vec()
}

fn event(line: &str) -> String {
    line.splitn(3, ' ').nth(2).unwrap().to_owned()
}
