//! Memory shared by several devices, and its ownership.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::State;

use super::Bytes;
use super::Written;

/// The owner of a shared resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The device with that number.
    Device(u64),
    /// The next device to acquire it: it was released in that state.
    Released(State),
    /// The process has ended: any device may acquire it, in any state.
    Nobody,
}

/// A violation of the ownership of a shared resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Handover {
    #[error("used while a peer has it, or before it was acquired from one")]
    NotHeld,
    #[error("acquired before the peer that has it has handed it over")]
    NotReleased,
    #[error("acquired by the device that has it, and that has not handed it over")]
    AlreadyHeld,
    #[error("acquired in another state than {released}, in which it was handed over")]
    OtherState { released: State },
}

/// Memory shared by resources of several devices. It is freed with the last of them and the last handle.
pub(crate) struct SharedMemory {
    bytes: Arc<Bytes>,
    written: Arc<Written>,
    holder: Mutex<Holder>,
}

impl SharedMemory {
    pub(crate) fn new(bytes: &Arc<Bytes>, written: &Arc<Written>, device: u64) -> Arc<Self> {
        let (bytes, written) = (Arc::clone(bytes), Arc::clone(written));
        Arc::new(Self { bytes, written, holder: Mutex::new(Holder::Device(device)) })
    }

    pub(crate) fn check_use(&self, device: u64) -> Result<(), Handover> {
        match *self.holder.lock() {
            Holder::Device(holder) if holder == device => Ok(()),
            _ => Err(Handover::NotHeld),
        }
    }

    /// Releases it from a device. Fails if the device does not hold it, so that a peer is not blamed for that.
    pub(crate) fn release(&self, device: u64, state: State) -> Result<(), Handover> {
        let holder = &mut *self.holder.lock();
        if *holder != Holder::Device(device) {
            return Err(Handover::NotHeld);
        }
        *holder = Holder::Released(state);
        Ok(())
    }

    /// Transfers the resource to the device.
    pub(crate) fn acquire(&self, device: u64, state: State) -> Result<(), Handover> {
        let holder = &mut *self.holder.lock();
        let found = match *holder {
            Holder::Nobody => Ok(()),
            Holder::Released(released) if released == state => Ok(()),
            Holder::Released(released) => Err(Handover::OtherState { released }),
            Holder::Device(holder) if holder == device => Err(Handover::AlreadyHeld),
            Holder::Device(_) => Err(Handover::NotReleased),
        };
        *holder = Holder::Device(device);
        found
    }

    pub(crate) fn parts(&self) -> (Arc<Bytes>, Arc<Written>) {
        (Arc::clone(&self.bytes), Arc::clone(&self.written))
    }

    /// Notes the end of the device's process, which gives up the resource.
    pub(crate) fn abandon(&self, device: u64) {
        let holder = &mut *self.holder.lock();
        if *holder == Holder::Device(device) {
            *holder = Holder::Nobody;
        }
    }
}
