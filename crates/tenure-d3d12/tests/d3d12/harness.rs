//! The devices under test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::{Effort, Harness, Probe};
use tenure_core::QueueId;
use tenure_core::device::{Permit, prelude::*};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{D3D12_FENCE_FLAG_NONE, ID3D12Fence};
use tenure_d3d12::{Device, DeviceConfig, List, Message, Severity};

use crate::bench::create;
use crate::shaders::Shaders;

/// The tests obey the device contract, except in tests of refusals.
// SAFETY: each test waits for its submissions, and destroys in order.
pub(crate) const PERMIT: Permit<Device> = unsafe { Permit::new() };

/// A fence that only the CPU signals: queues that wait for it are blocked.
pub(crate) struct Gate {
    device: Device,
    fence: ID3D12Fence,
    closed: Mutex<u64>,
}

impl Gate {
    pub(crate) fn new(device: &Device) -> Self {
        // SAFETY: takes no pointers.
        let fence = unsafe { device.raw().CreateFence(0, D3D12_FENCE_FLAG_NONE) }.unwrap();
        Self { device: device.clone(), fence, closed: Mutex::new(0) }
    }

    /// All submissions from now on wait.
    pub(crate) fn close(&self) {
        let mut closed = self.closed.lock().unwrap();
        *closed += 1;
        for queue in (0..).map_while(|id| self.device.queue(QueueId(id))) {
            // SAFETY: both are alive and of one device.
            unsafe { queue.Wait(&self.fence, *closed) }.unwrap();
        }
    }

    pub(crate) fn open(&self) {
        // SAFETY: the fence is alive.
        unsafe { self.fence.Signal(*self.closed.lock().unwrap()) }.unwrap();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// A new device, with its debug layer if there is one.
pub(crate) struct D3d12 {
    pub(crate) device: Device,
    gate: Gate,
    shaders: Shaders,
    messages: Arc<Mutex<Vec<Message>>>,
    effort: Effort,
}

impl D3d12 {
    pub(crate) fn new(options: DeviceConfig) -> Self {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let heard = messages.clone();
        let sink = move |message: &Message| heard.lock().unwrap().push(message.clone());
        let options = options.validation(true).on_message(sink);
        let device = create(options);
        let (gate, shaders) = (Gate::new(&device), Shaders::new(&device));
        let effort = Effort { threads: Duration::from_secs(1), ..Effort::default() };
        Self { device, gate, shaders, messages, effort }
    }

    pub(crate) fn threads(mut self, threads: Duration) -> Self {
        self.effort.threads = threads;
        self
    }

    /// Repeats steady frames this many times.
    pub(crate) fn frames(mut self, frames: u64) -> Self {
        self.effort.frames = frames;
        self
    }

    /// Renders a number of frames of each size.
    pub(crate) fn rendering(mut self, rendered: u64, sizes: &'static [[u32; 2]]) -> Self {
        (self.effort.rendered, self.effort.sizes) = (rendered, sizes);
        self
    }
}

impl Harness for D3d12 {
    type Device = Device;

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn hold(&self) -> bool {
        self.gate.close();
        true
    }

    fn settle(&self) {
        self.gate.open();
    }

    fn probe(&self, list: &List, probe: &Probe<'_, Device>) {
        self.shaders.probe(list, probe);
    }

    fn problems(&self) -> Vec<String> {
        self.device.deliver_messages();
        let mut problems: Vec<String> = Vec::new();
        let messages = self.messages.lock().unwrap();
        problems.extend(
            messages
                .iter()
                .filter(|message| message.severity >= Severity::Warning)
                .map(|message| message.text.clone()),
        );
        problems.extend(self.device.status().err().map(|lost| lost.to_string()));
        let live = self.device.live_objects();
        if live != Default::default() {
            problems.push(format!("left behind: {live:?}"));
        }
        problems
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}
