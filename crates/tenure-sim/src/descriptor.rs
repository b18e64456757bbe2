//! Descriptor tables, as far as they can point at the dead.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::DeviceError;

use crate::object::Label;
use crate::resource::{Resource, ResourceState};

pub(crate) struct TableState {
    pub(crate) label: Arc<Label>,
    slots: Mutex<Vec<Option<Arc<ResourceState>>>>,
}

impl TableState {
    pub(crate) fn get(&self, slot: u32) -> Option<Arc<ResourceState>> {
        self.slots.lock().get(slot as usize)?.clone()
    }
}

/// Descriptors that commands use by index: see
/// [`Device::create_descriptor_table`](crate::Device::create_descriptor_table).
///
/// As on real hardware a descriptor does not keep its resource alive; unlike there, using it
/// afterwards is found. Dropping the table frees it; submissions that use it keep what they need.
pub struct DescriptorTable {
    pub(crate) state: Arc<TableState>,
}

impl DescriptorTable {
    pub(crate) fn new(label: Arc<Label>, slots: u32) -> Self {
        let state = TableState { label, slots: Mutex::new(vec![None; slots as usize]) };
        Self { state: Arc::new(state) }
    }

    pub(crate) fn write(&self, slot: u32, resource: &Resource) -> Result<(), DeviceError> {
        let mut slots = self.state.slots.lock();
        let limit = slots.len() as u64;
        let Some(place) = slots.get_mut(slot as usize) else {
            return Err(DeviceError::InvalidCall {
                rule: "the descriptor slot exists",
                value: u64::from(slot),
                limit,
            });
        };
        *place = Some(Arc::clone(&resource.state));
        Ok(())
    }
}

impl std::fmt::Debug for DescriptorTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DescriptorTable({})", self.state.label)
    }
}
