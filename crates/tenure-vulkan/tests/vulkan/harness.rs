//! A device with the validation layers, and their messages.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use conformance::{Effort, Harness, Probe};
use parking_lot::{Mutex, MutexGuard};
use tenure_core::device::{Permit, prelude::*};
use tenure_vulkan::{
    Adapter, CreateError, Device, DeviceConfig, List, Message, MessageKind, OptionalFeatures, Raw, Severity,
    Validation, adapters,
};

use crate::disguise::{Costume, Disguise};
use crate::gate::Gate;
use crate::probe::Probes;

/// The tests obey the device contract, except in tests of refusals.
// SAFETY: each test waits for its submissions, and destroys in order.
pub(crate) const PERMIT: Permit<Device> = unsafe { Permit::new() };

/// One instance at a time: layers of some years ago mix up those made while others are used.
static ALONE: Mutex<()> = Mutex::new(());

/// Adapters that are never dropped, and with them an instance that keeps the driver loaded. NVIDIA's driver for Linux
/// (580.159) is no longer found by a process that has unloaded it some 25 times.
static DRIVER: LazyLock<Result<Vec<Adapter>, CreateError>> =
    LazyLock::new(|| adapters(&DeviceConfig::default()));

/// The messages of the layers.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Message>>>);

impl Log {
    /// A configuration whose messages go to this log.
    pub(crate) fn listen(&self, options: DeviceConfig) -> DeviceConfig {
        let log = self.0.clone();
        options.on_message(move |message| log.lock().push(message.clone()))
    }

    pub(crate) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.0.lock())
    }

    /// True if the instance that wrote to it is destroyed, with its devices.
    pub(crate) fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Messages that must not occur: errors, and advice on memory.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.take().iter().filter(|message| is_problem(message)).map(ToString::to_string).collect()
    }
}

pub(crate) fn is_problem(message: &Message) -> bool {
    let is_about_memory = || {
        let text = format!("{} {}", message.id, message.text).to_lowercase();
        ["memory", "alloc", "heap"].iter().any(|word| text.contains(word))
    };
    let is_warning = message.severity >= Severity::Warning;
    (message.severity == Severity::Error && !is_about_a_peers_layout(message))
        || (is_warning && message.kind == MessageKind::Performance && is_about_memory())
}

/// Layers before 1.4.304 do not know that another process changes the layout of an image, too
/// (KhronosGroup/Vulkan-ValidationLayers#8940). Only such old ones have this name for it.
fn is_about_a_peers_layout(message: &Message) -> bool {
    message.id == "UNASSIGNED-CoreValidation-DrawState-InvalidImageLayout"
        && message.text.contains("[shared texture]")
}

/// The options of most tests: all that the device offers, and layers that also look at barriers.
pub(crate) fn validated() -> DeviceConfig {
    DeviceConfig::default().validation(Validation::SYNCHRONIZATION)
}

/// The number of memory types of the device of the tests.
pub(crate) fn memory_types() -> usize {
    let vulkan = Vulkan::new(DeviceConfig::default());
    let types = vulkan.device().properties().memory_types.len();
    vulkan.end();
    types
}

/// The same with heaps of descriptors in buffers, where the device can.
pub(crate) fn in_buffers() -> DeviceConfig {
    validated().descriptor_buffers(true)
}

/// A device, created for each test.
pub(crate) struct Vulkan {
    // In this order they go when a test fails.
    gate: Mutex<Option<Gate>>,
    probes: Mutex<Option<Probes>>,
    device: Mutex<Option<Device>>,
    /// The device that `device` wraps, if any.
    host: Mutex<Option<Device>>,
    disguise: Option<Disguise>,
    /// The device has timeline semaphores, whether tenure uses them or not.
    can_hold: bool,
    log: Log,
    effort: Effort,
    _alone: MutexGuard<'static, ()>,
}

impl Vulkan {
    /// A device of tenure's own.
    pub(crate) fn new(options: DeviceConfig) -> Self {
        Self::made(options, |device| (device, None, None))
    }

    /// A device that wraps another, with only the features in `options`.
    pub(crate) fn wrapping(options: &DeviceConfig) -> Self {
        Self::made(validated(), |host| {
            let raw = crate::wrapped::raw_of(&host);
            // SAFETY: the host outlives it, and lists its enabled features; its queues have no other users.
            let device = unsafe { Device::from_raw(raw, options) }.unwrap();
            (device, Some(host), None)
        })
    }

    /// A device that looks like another one. A test that makes it look like a discrete card has that in its name: on a
    /// machine with a card `--skip discrete` leaves it out, as `cargo xtask test vulkan --native` does.
    pub(crate) fn disguised(costume: Costume, options: &DeviceConfig) -> Self {
        Self::made(validated(), |host| {
            let types = host.properties().memory_types.len();
            assert!(
                costume.fits(types),
                "only a device with one memory type, not {types}, can look like a card"
            );
            let (disguise, device) = Disguise::put_on(&host, costume, options);
            (device, Some(host), Some(disguise))
        })
    }

    /// As [`disguised`](Self::disguised), with a device created with options, which its wrapper also gets.
    pub(crate) fn wearing(costume: Costume, options: DeviceConfig, change: impl FnOnce(&mut Raw)) -> Self {
        Self::made(options.clone(), |host| {
            let (disguise, plain) = Disguise::put_on(&host, costume, &options);
            drop(plain);
            let device = disguise.wrap_with(&host, &options, change).unwrap();
            (device, Some(host), Some(disguise))
        })
    }

    fn made(
        options: DeviceConfig,
        wrap: impl FnOnce(Device) -> (Device, Option<Device>, Option<Disguise>),
    ) -> Self {
        let alone = ALONE.lock();
        LazyLock::force(&DRIVER);
        let log = Log::default();
        let host = Device::create(&log.listen(options)).expect("a Vulkan device");
        let can_hold = host.optional_features().contains(OptionalFeatures::TIMELINE_SEMAPHORES);
        let (device, host, disguise) = wrap(host);
        Self {
            device: Mutex::new(Some(device)),
            host: Mutex::new(host),
            disguise,
            gate: Mutex::new(None),
            probes: Mutex::new(None),
            can_hold,
            log,
            effort: Effort::default(),
            _alone: alone,
        }
    }

    /// The duration of tests with threads.
    pub(crate) fn threads(self, threads: Duration) -> Self {
        Self { effort: Effort { threads, ..self.effort }, ..self }
    }

    /// The number of repetitions of steady frames.
    pub(crate) fn frames(self, frames: u64) -> Self {
        Self { effort: Effort { frames, ..self.effort }, ..self }
    }

    /// Renders a number of frames of each size.
    pub(crate) fn rendering(self, rendered: u64, sizes: &'static [[u32; 2]]) -> Self {
        Self { effort: Effort { rendered, sizes, ..self.effort }, ..self }
    }

    pub(crate) fn disguise(&self) -> &Disguise {
        self.disguise.as_ref().expect("made with a costume")
    }

    /// The device that is wrapped.
    pub(crate) fn host(&self) -> Device {
        self.host.lock().clone().expect("wraps a device")
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The end of a test: no messages, and nothing left.
    pub(crate) fn end(self) {
        let problems = self.problems();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// Lets go of the device; what that means is in the log.
    pub(crate) fn close(&self) {
        self.settle();
        self.gate.lock().take();
        self.probes.lock().take();
        self.device.lock().take();
        self.host.lock().take();
    }
}

impl Harness for Vulkan {
    type Device = Device;

    fn device(&self) -> Device {
        self.device.lock().clone().expect("not asked for problems yet")
    }

    fn hold(&self) -> bool {
        if self.can_hold {
            let device = self.device();
            self.gate.lock().get_or_insert_with(|| Gate::new(&device)).close();
            self.disguise.iter().for_each(|disguise| disguise.are_held(true));
        }
        self.can_hold
    }

    fn settle(&self) {
        if let Some(gate) = &mut *self.gate.lock() {
            gate.open();
            self.disguise.iter().for_each(|disguise| disguise.are_held(false));
        }
    }

    fn probe(&self, list: &List, probe: &Probe<'_, Device>) {
        let device = self.device();
        self.probes.lock().get_or_insert_with(|| Probes::new(&device)).record(list, probe);
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.device().status().err().map(|error| error.to_string()));
        self.settle();
        self.gate.lock().take();
        self.probes.lock().take();
        self.device.lock().take();
        // A wrapped device is as alive as before, and no work of tenure's is left in it.
        problems.extend(self.disguise.as_ref().map(Disguise::take_off).unwrap_or_default());
        self.close();
        if !self.log.is_closed() {
            problems.push("something still holds the device".to_owned());
        }
        problems.extend(self.log.problems());
        problems
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}
