//! A device in disguise: the functions between tenure and the driver make it look like a card with several
//! queue families, memory that is not coherent, and a coarse `bufferImageGranularity`. They check the rules of
//! such a card, then pass the calls on in a form that the real one accepts. The validation layers are below
//! them.
//!
//! Failures of calls can be injected.

pub(crate) mod addresses;
pub(crate) mod barriers;
mod copies;
mod descriptors;
pub(crate) mod faults;
pub(crate) mod markers;
mod memory;
pub(crate) mod paging;
pub(crate) mod present;
mod queues;
mod tables;
pub(crate) mod trace;

use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tenure_core::QueueId;
use tenure_vulkan::ash::vk;
use tenure_vulkan::ash::vk::Handle as _;
use tenure_vulkan::{CreateError, Device, DeviceConfig, Raw, RawQueue, ash};

pub(crate) use tables::Costume;

/// The only one: functions of the API have no parameter for it.
static WORN: Mutex<Option<Arc<Stage>>> = Mutex::new(None);

/// Everything the functions know.
struct Stage {
    costume: Costume,
    instance: ash::Instance,
    device: ash::Device,
    /// The device's only queue, and the lock it is used under.
    queue: Mutex<vk::Queue>,
    memory: Mutex<HashMap<vk::DeviceMemory, memory::Block>>,
    pools: Mutex<HashMap<vk::CommandPool, u32>>,
    /// Swap chains that are not destroyed.
    chains: Mutex<Vec<u64>>,
    /// Every surface also offers HDR10, which is sRGB beneath.
    offers_hdr: AtomicBool,
    /// The colour spaces of the swap chains that were made.
    spaces: Mutex<Vec<vk::ColorSpaceKHR>>,
    /// The swap chains that were given metadata, with the brightest luminance in it.
    described: Mutex<Vec<(u64, f32)>>,
    /// Numbered presentations, and waits for them.
    presentations: Mutex<Vec<present::Presentation>>,
    /// Markers, in the order of their recording.
    markers: Mutex<Vec<markers::Marker>>,
    checkpoints: Mutex<markers::Checkpoints>,
    /// The address of the fault that the driver reports.
    fault: AtomicU64,
    has_khr_report: AtomicBool,
    messengers: Mutex<addresses::Messengers>,
    lists: Mutex<HashMap<vk::CommandBuffer, queues::Recorded>>,
    releases: Mutex<Vec<barriers::Release>>,
    barriers: Mutex<Vec<barriers::Call>>,
    problems: Mutex<Vec<String>>,
    /// A call, how many of it succeed first, and the result then.
    failures: Mutex<Vec<(&'static str, u32, vk::Result)>>,
    /// How many calls of any name that may fail succeed first, and the result of the next one.
    failure: Mutex<Option<(u32, vk::Result)>>,
    calls: Mutex<HashMap<&'static str, u64>>,
    trace: Mutex<Vec<trace::Batch>>,
    /// The budget of each heap; nothing: the driver's value.
    granted: Mutex<Vec<u64>>,
    /// Bytes that the driver wrongly reports as used; it wraps for negative ones.
    charged: AtomicU64,
    /// The changes of priorities, with their order.
    paged: Mutex<Vec<paging::Event>>,
    seems_busy: AtomicBool,
    loses_presents: AtomicBool,
    /// A function that is missing.
    lacks: Mutex<Option<&'static str>>,
    /// The queues wait for the CPU.
    are_held: AtomicBool,
}

impl Stage {
    fn problem(&self, problem: String) {
        self.problems.lock().push(problem);
    }

    /// Counts a call; returns its injected error, if any.
    fn strike(&self, call: &'static str) -> Option<vk::Result> {
        *self.calls.lock().entry(call).or_default() += 1;
        if let Some(result) = self.strike_any(call) {
            return Some(result);
        }
        let mut failures = self.failures.lock();
        let index = failures.iter().position(|(name, _, _)| *name == call)?;
        let (_, first, _) = &mut failures[index];
        if *first > 0 {
            *first -= 1;
            return None;
        }
        Some(failures.remove(index).2)
    }

    fn strike_any(&self, call: &str) -> Option<vk::Result> {
        // These return nothing.
        if call.starts_with("vkCmd") || call.starts_with("vkDestroy") {
            return None;
        }
        let mut failure = self.failure.lock();
        match &mut *failure {
            Some((first, _)) if *first > 0 => {
                *first -= 1;
                None
            }
            _ => failure.take().map(|(_, result)| result),
        }
    }
}

fn stage() -> Arc<Stage> {
    WORN.lock().clone().expect("a disguise is worn")
}

/// A worn disguise.
pub(crate) struct Disguise(Arc<Stage>);

impl Disguise {
    /// Wraps `host` so that it looks like `costume`.
    pub(crate) fn put_on(host: &Device, costume: Costume, options: &DeviceConfig) -> (Self, Device) {
        let stage = Arc::new(Stage {
            costume,
            instance: host.instance().clone(),
            device: host.raw().clone(),
            queue: Mutex::new(host.queue(QueueId(0)).unwrap()),
            memory: Mutex::default(),
            pools: Mutex::default(),
            chains: Mutex::default(),
            offers_hdr: AtomicBool::new(false),
            spaces: Mutex::default(),
            described: Mutex::default(),
            presentations: Mutex::default(),
            markers: Mutex::default(),
            checkpoints: Mutex::default(),
            fault: AtomicU64::new(0),
            has_khr_report: AtomicBool::new(false),
            messengers: Mutex::default(),
            lists: Mutex::default(),
            releases: Mutex::default(),
            barriers: Mutex::default(),
            problems: Mutex::default(),
            failures: Mutex::default(),
            failure: Mutex::default(),
            calls: Mutex::default(),
            trace: Mutex::default(),
            granted: Mutex::default(),
            charged: AtomicU64::new(0),
            paged: Mutex::default(),
            seems_busy: AtomicBool::new(false),
            loses_presents: AtomicBool::new(false),
            lacks: Mutex::default(),
            are_held: AtomicBool::new(false),
        });
        *WORN.lock() = Some(stage.clone());
        let disguise = Self(stage);
        let device = disguise.wrap_again(host, options).unwrap();
        (disguise, device)
    }

    /// Another device of tenure's on the same one of the host's.
    pub(crate) fn wrap_again(&self, host: &Device, options: &DeviceConfig) -> Result<Device, CreateError> {
        self.wrap_with(host, options, |_| ())
    }

    pub(crate) fn wrap_with(
        &self,
        host: &Device,
        options: &DeviceConfig,
        change: impl FnOnce(&mut Raw),
    ) -> Result<Device, CreateError> {
        let queues = (0_u32..).zip(&self.0.costume.families).map(|(family, _)| RawQueue {
            queue: self.0.queue_of(family),
            family,
            kind: None,
        });
        let mut raw = crate::wrapped::raw_of(host)
            .instance(hooked_instance(host))
            .device(hooked_device(host))
            .queues(queues.collect());
        change(&mut raw);
        // SAFETY: the host and the functions outlive it: the static is replaced by the next test.
        unsafe { Device::from_raw(raw, options) }
    }

    /// Hides a function of the device, by both of its names.
    pub(crate) fn lacks(&self, function: Option<&'static str>) {
        *self.0.lacks.lock() = function;
    }

    /// The violations, and the objects left; the device is destroyed.
    pub(crate) fn take_off(&self) -> Vec<String> {
        let left = |what, count: usize| (count > 0).then(|| format!("{count} {what} are left"));
        let mut problems = std::mem::take(&mut *self.0.problems.lock());
        problems.extend(left("allocations", self.0.memory.lock().len()));
        problems.extend(left("command pools", self.0.pools.lock().len()));
        problems.extend(left("messengers", self.0.messengers.lock().count()));
        problems.extend(left("swap chains", self.0.chains.lock().len()));
        problems.extend(left("failures that never happened", self.0.failures.lock().len()));
        problems.extend(left("releases without an acquire", self.0.releases.lock().len()));
        problems
    }

    /// The next call of that name fails.
    pub(crate) fn fail(&self, call: &'static str, result: vk::Result) {
        self.fail_after(0, call, result);
    }

    /// Makes the call with this name after `first` others fail.
    pub(crate) fn fail_after(&self, first: u32, call: &'static str, result: vk::Result) {
        self.0.failures.lock().push((call, first, result));
    }

    /// Makes any call after `first` others fail.
    pub(crate) fn fail_any(&self, first: u32, result: vk::Result) {
        *self.0.failure.lock() = Some((first, result));
    }

    /// Ends the injected failures; true if one has happened.
    pub(crate) fn forgive_any(&self) -> bool {
        self.0.failure.lock().take().is_none()
    }

    /// Removes all injected failures.
    pub(crate) fn forgive(&self) {
        self.0.failures.lock().clear();
    }

    /// True if all fences appear unsignalled. (To wait on the GPU for the CPU, with binary semaphores behind
    /// that, is not allowed.)
    pub(crate) fn seem_busy(&self, busy: bool) {
        self.0.seems_busy.store(busy, Ordering::Relaxed);
    }

    /// Stops signalling the fences of presentations, and leaves out presentations that fail.
    pub(crate) fn lose_presents(&self) {
        self.0.loses_presents.store(true, Ordering::Relaxed);
    }

    /// Whether the queues wait for the CPU: then nothing may wait for a binary semaphore of theirs.
    pub(crate) fn are_held(&self, held: bool) {
        self.0.are_held.store(held, Ordering::Relaxed);
    }

    /// The submissions since the last call.
    pub(crate) fn take_trace(&self) -> Vec<trace::Batch> {
        std::mem::take(&mut *self.0.trace.lock())
    }

    /// The calls of `vkCmdPipelineBarrier2` since the last call of this method.
    pub(crate) fn take_barriers(&self) -> Vec<barriers::Call> {
        std::mem::take(&mut *self.0.barriers.lock())
    }

    /// The numbered presentations, and the waits for them, so far.
    pub(crate) fn presentations(&self) -> Vec<present::Presentation> {
        self.0.presentations.lock().clone()
    }

    /// The markers so far.
    pub(crate) fn markers(&self) -> Vec<markers::Marker> {
        self.0.markers.lock().clone()
    }

    /// The number of swap chains that are not destroyed.
    pub(crate) fn chains(&self) -> usize {
        self.0.chains.lock().len()
    }

    /// Makes surfaces offer HDR10, or no longer.
    pub(crate) fn offer_hdr(&self, offers: bool) {
        self.0.offers_hdr.store(offers, Ordering::Relaxed);
    }

    /// The colour spaces of the swap chains since the last call.
    pub(crate) fn take_spaces(&self) -> Vec<vk::ColorSpaceKHR> {
        std::mem::take(&mut *self.0.spaces.lock())
    }

    /// The brightest luminances that swap chains were given since the last call, and the number of these chains.
    pub(crate) fn take_described(&self) -> (Vec<f32>, usize) {
        let described = std::mem::take(&mut *self.0.described.lock());
        let chains: std::collections::HashSet<_> = described.iter().map(|(chain, _)| *chain).collect();
        (described.iter().map(|(_, nits)| *nits).collect(), chains.len())
    }

    /// The number of calls of a function.
    pub(crate) fn calls(&self, call: &str) -> u64 {
        self.0.calls.lock().get(call).copied().unwrap_or(0)
    }
}

impl Stage {
    /// The queue of a family: numbers used only here.
    fn queue_of(&self, family: u32) -> vk::Queue {
        vk::Queue::from_raw(self.queue.lock().as_raw() + u64::from(family))
    }

    fn family_of(&self, queue: vk::Queue) -> u32 {
        u32::try_from(queue.as_raw() - self.queue.lock().as_raw()).unwrap()
    }
}

/// A function of ours in the driver's place.
type Hook = (&'static CStr, *const c_void);

fn hooked(hooks: &[Hook], name: &CStr, real: vk::PFN_vkVoidFunction) -> *const c_void {
    let hook = hooks.iter().find(|(hooked, _)| *hooked == name);
    hook.map_or(real.map_or(core::ptr::null(), |real| real as *const c_void), |(_, hook)| *hook)
}

/// A function of the device, by its name.
unsafe extern "system" fn device_function(
    device: vk::Device,
    name: *const core::ffi::c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the name is a valid string; a hook has the signature of the hooked function.
    unsafe {
        let stage = stage();
        let is_missing = |lacks: &str| {
            CStr::from_ptr(name).to_str().is_ok_and(|name| name.trim_end_matches("KHR") == lacks)
        };
        if stage.lacks.lock().is_some_and(is_missing) {
            return None;
        }
        let real = stage.instance.get_device_proc_addr(device, name);
        let found = hooked(&device_hooks(), CStr::from_ptr(name), real);
        core::mem::transmute::<*const c_void, vk::PFN_vkVoidFunction>(found)
    }
}

/// A loader whose surfaces can offer more, and whose messengers get reports of addresses.
pub(crate) fn hooked_entry(loader: ash::Entry) -> ash::Entry {
    let get_instance_proc_addr = present::instance_function;
    LOADER.lock().replace(loader);
    // SAFETY: it has the signature of the hooked function.
    unsafe { ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr }) }
}

/// The loader beneath.
static LOADER: Mutex<Option<ash::Entry>> = Mutex::new(None);

fn hooked_instance(host: &Device) -> ash::Instance {
    let (entry, instance) = (host.entry().unwrap(), host.instance().handle());
    let mut hooks = tables::hooks();
    hooks.extend(paging::instance_hooks());
    hooks.push((c"vkGetDeviceProcAddr", device_function as *const c_void));
    // SAFETY: each function is the instance's, or has its signature.
    unsafe {
        let load = |name: &CStr| hooked(&hooks, name, entry.get_instance_proc_addr(instance, name.as_ptr()));
        ash::Instance::load_with(load, instance)
    }
}

fn device_hooks() -> Vec<Hook> {
    [
        memory::hooks(),
        paging::device_hooks(),
        queues::hooks(),
        barriers::hooks(),
        copies::hooks(),
        descriptors::hooks(),
        present::hooks(),
        markers::hooks(),
        faults::hooks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn hooked_device(host: &Device) -> ash::Device {
    let (instance, device) = (host.instance(), host.raw().handle());
    let hooks = device_hooks();
    // SAFETY: each function is the device's, or has its signature.
    unsafe {
        let load = |name: &CStr| hooked(&hooks, name, instance.get_device_proc_addr(device, name.as_ptr()));
        ash::Device::load_with(load, device)
    }
}
