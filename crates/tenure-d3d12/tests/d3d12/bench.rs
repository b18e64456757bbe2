//! The objects of most tests: a device, and lists that are recorded, submitted and waited for.

use crate::harness::PERMIT;
use std::time::Duration;

use tenure_core::device::{
    FieldValue, HeapCategory, HeapDesc, MemoryTypeId, Priority, QueueSerial, ResourceDesc, StateModel,
    prelude::*,
};
use tenure_core::{BufferInfo, DeviceError, Format, QueueId, State, TextureDesc, TextureInfo, Usage};
use tenure_d3d12::{Device, DeviceConfig, List, Resource};

use crate::device_thread::on_device_thread;
use crate::matrix;

pub(crate) const GPU_ONLY: MemoryTypeId = MemoryTypeId(0);
pub(crate) const UPLOAD: MemoryTypeId = MemoryTypeId(1);
pub(crate) const READBACK: MemoryTypeId = MemoryTypeId(2);

pub(crate) const GRAPHICS: QueueId = QueueId(0);
pub(crate) const COMPUTE: QueueId = QueueId(1);
pub(crate) const COPY: QueueId = QueueId(2);

/// Longer than any device takes, even if tests that block a queue share it with others.
pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn device() -> Device {
    create(DeviceConfig::default())
}

/// A device as the environment requests it, see [`matrix`](crate::matrix).
pub(crate) fn create(options: DeviceConfig) -> Device {
    on_device_thread(move || matrix::create(options)).expect("a Direct3D 12 device")
}

/// A second device that is another object for Direct3D 12. Where devices are singletons of their adapter, as on
/// Windows, it needs a second adapter; `None` if there is none.
pub(crate) fn distinct_from(device: &Device) -> Option<Device> {
    let candidates = [DeviceConfig::default(), DeviceConfig::default().software(true)];
    let made =
        candidates.into_iter().filter_map(|options| on_device_thread(move || matrix::create(options)).ok());
    made.into_iter().find(|other| other.raw() != device.raw())
}

/// True with resource states, false with enhanced barriers.
pub(crate) fn is_legacy(device: &Device) -> bool {
    device.properties().state_model == StateModel::Promotion
}

pub(crate) fn buffer(size: u64, usage: Usage) -> ResourceDesc {
    ResourceDesc::Buffer(BufferInfo::new(size, usage))
}

pub(crate) fn texture(side: u32, format: Format, usage: Usage) -> ResourceDesc {
    ResourceDesc::Texture(info(side, format, usage))
}

pub(crate) fn info(side: u32, format: Format, usage: Usage) -> TextureInfo {
    TextureDesc::d2(side, side, format, usage).info
}

pub(crate) fn heap_desc(size: u64, memory: MemoryTypeId, category: HeapCategory) -> HeapDesc {
    HeapDesc { size, alignment: 64 << 10, memory, category, priority: Priority::Normal }
}

#[track_caller]
pub(crate) fn refused<T>(answer: Result<T, DeviceError>, rule: &str) -> (u64, u64) {
    match answer.err() {
        Some(DeviceError::InvalidCall { rule: broken, value, limit }) if broken.text() == rule => {
            let number = |value: Option<FieldValue>| value.and_then(FieldValue::number).unwrap_or(0);
            (number(value), number(limit))
        }
        other => panic!("expected a refusal by '{rule}', not {other:?}"),
    }
}

/// A state that is refused, and the states that are allowed instead.
#[track_caller]
pub(crate) fn refused_state<T>(answer: Result<T, DeviceError>, rule: &str) -> (State, State) {
    match answer.err() {
        Some(DeviceError::InvalidState { rule: broken, state, allowed }) if broken.text() == rule => {
            (state, allowed)
        }
        other => panic!("expected a refusal by '{rule}', not {other:?}"),
    }
}

/// The usages that a call needs, and those of the resource.
#[track_caller]
pub(crate) fn missing_usage<T>(answer: Result<T, DeviceError>) -> (Usage, Usage) {
    match answer.err() {
        Some(DeviceError::MissingUsage { needs, has }) => (needs, has),
        other => panic!("expected a missing usage, not {other:?}"),
    }
}

/// The value of a field that is refused.
#[track_caller]
pub(crate) fn bad<T>(answer: Result<T, DeviceError>, field: &str) -> FieldValue {
    match answer.err() {
        Some(DeviceError::InvalidDesc { field: found, value, .. }) if found == field => value,
        other => panic!("expected '{field}' to be refused, not {other:?}"),
    }
}

/// A device and its next serials.
pub(crate) struct Bench {
    pub(crate) device: Device,
    serials: [u64; 3],
}

impl Bench {
    pub(crate) fn new(device: Device) -> Self {
        Self { device, serials: [0; 3] }
    }

    pub(crate) fn recorded(
        &self,
        queue: QueueId,
        record: impl FnOnce(&mut List),
    ) -> Result<List, DeviceError> {
        let mut list = self.device.create_list(PERMIT, queue)?;
        list.begin()?;
        record(&mut list);
        list.close()?;
        Ok(list)
    }

    /// Submits and returns the serial to wait for.
    pub(crate) fn submit(&mut self, queue: QueueId, lists: &[&List], waits: &[QueueSerial]) -> QueueSerial {
        let serial = &mut self.serials[queue.index()];
        *serial += 1;
        self.device.submit(PERMIT, queue, lists, waits, *serial).unwrap();
        QueueSerial { queue, serial: *serial }
    }

    /// The serial of a submission made by other means.
    pub(crate) fn next(&mut self, queue: QueueId) -> u64 {
        self.serials[queue.index()] += 1;
        self.serials[queue.index()]
    }

    pub(crate) fn run(&mut self, queue: QueueId, record: impl FnOnce(&mut List)) {
        let list = self.recorded(queue, record).unwrap();
        let done = self.submit(queue, &[&list], &[]);
        assert!(self.device.wait(done, LONG).unwrap(), "it completes");
    }

    pub(crate) fn staging(&self, bytes: &[u8]) -> Resource {
        let desc = buffer(bytes.len() as u64, Usage::COPY_SRC);
        let staging = self.device.create_committed(&desc, UPLOAD).unwrap();
        self.device.map(&staging).unwrap().write(0, bytes).unwrap();
        staging
    }

    pub(crate) fn readback(&self, size: u64) -> Resource {
        self.device.create_committed(&buffer(size, Usage::COPY_DST), READBACK).unwrap()
    }

    pub(crate) fn contents(&self, readback: &Resource, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.device.map(readback).unwrap().read(0, &mut bytes).unwrap();
        bytes
    }

    /// Writes to a buffer in the GPU's memory and reads it back.
    pub(crate) fn round_trip(&mut self, target: &Resource, bytes: &[u8]) -> Vec<u8> {
        let (staging, size) = (self.staging(bytes), bytes.len() as u64);
        let readback = self.readback(size);
        self.run(GRAPHICS, |list| list.copy_buffer(&staging, 0, target, 0, size));
        self.run(GRAPHICS, |list| list.copy_buffer(target, 0, &readback, 0, size));
        self.contents(&readback, bytes.len())
    }
}

/// Bytes that are not all equal.
pub(crate) fn pattern(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|index| (index % 251) as u8 ^ seed).collect()
}
