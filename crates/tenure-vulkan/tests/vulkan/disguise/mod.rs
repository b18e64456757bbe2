//! A device in disguise: the functions between tenure and the driver make it look like a card with
//! several queue families, memory that is not coherent, and a coarse `bufferImageGranularity`. They
//! check what such a card would ask for, then pass the calls on in a form the real one accepts. The
//! validation layers are below them.
//!
//! Calls can also be made to fail.

pub(crate) mod barriers;
mod copies;
mod descriptors;
mod memory;
mod queues;
mod tables;
pub(crate) mod trace;

use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tenure_core::device::QueueId;
use tenure_vulkan::ash::vk;
use tenure_vulkan::ash::vk::Handle as _;
use tenure_vulkan::{Device, Options, Raw, RawQueue, ash};

pub(crate) use tables::Costume;

/// The one there is: functions of the API carry nothing of ours.
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
    lists: Mutex<HashMap<vk::CommandBuffer, queues::Recorded>>,
    releases: Mutex<Vec<barriers::Release>>,
    barriers: Mutex<Vec<barriers::Call>>,
    problems: Mutex<Vec<String>>,
    /// A call, how many of it succeed first, and the result then.
    failures: Mutex<Vec<(&'static str, u32, vk::Result)>>,
    calls: Mutex<HashMap<&'static str, u64>>,
    trace: Mutex<Vec<trace::Batch>>,
    seems_busy: AtomicBool,
    /// The queues wait for the CPU.
    are_held: AtomicBool,
}

impl Stage {
    fn problem(&self, problem: String) {
        self.problems.lock().push(problem);
    }

    /// Counts a call; the result it is to fail with, if it is.
    fn strike(&self, call: &'static str) -> Option<vk::Result> {
        *self.calls.lock().entry(call).or_default() += 1;
        let mut failures = self.failures.lock();
        let index = failures.iter().position(|(name, _, _)| *name == call)?;
        let (_, first, _) = &mut failures[index];
        if *first > 0 {
            *first -= 1;
            return None;
        }
        Some(failures.remove(index).2)
    }
}

fn stage() -> Arc<Stage> {
    WORN.lock().clone().expect("a disguise is worn")
}

/// A worn disguise.
pub(crate) struct Disguise(Arc<Stage>);

impl Disguise {
    /// Wraps `host` so that it looks like `costume`.
    pub(crate) fn put_on(host: &Device, costume: Costume, options: &Options) -> (Self, Device) {
        let stage = Arc::new(Stage {
            costume,
            instance: host.instance().clone(),
            device: host.raw().clone(),
            queue: Mutex::new(host.queue(QueueId(0)).unwrap()),
            memory: Mutex::default(),
            pools: Mutex::default(),
            lists: Mutex::default(),
            releases: Mutex::default(),
            barriers: Mutex::default(),
            problems: Mutex::default(),
            failures: Mutex::default(),
            calls: Mutex::default(),
            trace: Mutex::default(),
            seems_busy: AtomicBool::new(false),
            are_held: AtomicBool::new(false),
        });
        *WORN.lock() = Some(stage.clone());
        let queues = (0_u32..).zip(&stage.costume.families).map(|(family, _)| RawQueue {
            queue: stage.queue_of(family),
            family,
            kind: None,
        });
        let raw = Raw {
            instance: hooked_instance(host),
            device: hooked_device(host),
            queues: queues.collect(),
            ..crate::wrapped::raw_of(host)
        };
        // SAFETY: the host and the functions outlive it: the static is replaced by the next test.
        let device = unsafe { Device::from_raw(raw, options) }.unwrap();
        (Self(stage), device)
    }

    /// What was wrong, or is left; the device is gone.
    pub(crate) fn take_off(&self) -> Vec<String> {
        let left = |what, count: usize| (count > 0).then(|| format!("{count} {what} are left"));
        let mut problems = std::mem::take(&mut *self.0.problems.lock());
        problems.extend(left("allocations", self.0.memory.lock().len()));
        problems.extend(left("command pools", self.0.pools.lock().len()));
        problems.extend(left("failures that never happened", self.0.failures.lock().len()));
        problems.extend(left("releases without an acquire", self.0.releases.lock().len()));
        problems
    }

    /// The next call of that name fails.
    pub(crate) fn fail(&self, call: &'static str, result: vk::Result) {
        self.fail_after(0, call, result);
    }

    /// The call of that name after so many others fails.
    pub(crate) fn fail_after(&self, first: u32, call: &'static str, result: vk::Result) {
        self.0.failures.lock().push((call, first, result));
    }

    /// No call fails any more that was to.
    pub(crate) fn forgive(&self) {
        self.0.failures.lock().clear();
    }

    /// Whether fences seem not to be signalled, whatever they are. (To wait on the GPU for the CPU,
    /// with binary semaphores behind that, is not allowed.)
    pub(crate) fn seem_busy(&self, busy: bool) {
        self.0.seems_busy.store(busy, Ordering::Relaxed);
    }

    /// Whether the queues wait for the CPU: then nothing may wait for a binary semaphore of theirs.
    pub(crate) fn are_held(&self, held: bool) {
        self.0.are_held.store(held, Ordering::Relaxed);
    }

    /// What was submitted since this was last asked.
    pub(crate) fn take_trace(&self) -> Vec<trace::Batch> {
        std::mem::take(&mut *self.0.trace.lock())
    }

    /// The calls of `vkCmdPipelineBarrier2` since this was last asked.
    pub(crate) fn take_barriers(&self) -> Vec<barriers::Call> {
        std::mem::take(&mut *self.0.barriers.lock())
    }

    /// How often a function was called.
    pub(crate) fn calls(&self, call: &str) -> u64 {
        self.0.calls.lock().get(call).copied().unwrap_or(0)
    }
}

impl Stage {
    /// The queue of a family: numbers that nobody but this looks at.
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

fn hooked_instance(host: &Device) -> ash::Instance {
    let (entry, instance) = (host.entry().unwrap(), host.instance().handle());
    let hooks = tables::hooks();
    // SAFETY: each function is the instance's, or has its signature.
    unsafe {
        let load = |name: &CStr| hooked(&hooks, name, entry.get_instance_proc_addr(instance, name.as_ptr()));
        ash::Instance::load_with(load, instance)
    }
}

fn hooked_device(host: &Device) -> ash::Device {
    let (instance, device) = (host.instance(), host.raw().handle());
    let hooks: Vec<Hook> =
        [memory::hooks(), queues::hooks(), barriers::hooks(), copies::hooks(), descriptors::hooks()]
            .into_iter()
            .flatten()
            .collect();
    // SAFETY: each function is the device's, or has its signature.
    unsafe {
        let load = |name: &CStr| hooked(&hooks, name, instance.get_device_proc_addr(device, name.as_ptr()));
        ash::Device::load_with(load, device)
    }
}
