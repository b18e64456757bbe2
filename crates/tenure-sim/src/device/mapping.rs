//! CPU mappings of resources.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use tenure_core::device::{CallRule, DeviceError, check};

use crate::resource::ResourceState;
use crate::timeline::Queues;

/// A mapped resource. Each access is checked, so it has no address.
///
/// With all checks off a write is a bounds check and the copy.
pub struct Mapping {
    queues: Arc<Queues>,
    resource: Arc<ResourceState>,
}

impl Mapping {
    pub(crate) const fn new(queues: Arc<Queues>, resource: Arc<ResourceState>) -> Self {
        Self { queues, resource }
    }

    fn range(&self, offset: u64, size: usize) -> Result<Range<u64>, DeviceError> {
        self.queues.alive()?;
        let limit = self.resource.layout.bytes();
        check::range(CallRule::InsideMapping, offset, size as u64, limit)?;
        Ok(offset..offset + size as u64)
    }
}

impl tenure_core::device::Mapping for Mapping {
    fn size(&self) -> u64 {
        self.resource.layout.bytes()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, bytes.len())?;
        self.queues.cpu_access(&self.resource, range, true)?;
        self.resource.memory.write(offset, bytes);
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, out.len())?;
        self.queues.cpu_access(&self.resource, range, false)?;
        self.resource.memory.read(offset, out);
        Ok(())
    }

    fn as_ptr(&self) -> Option<NonNull<u8>> {
        None
    }
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mapping({})", self.resource.label)
    }
}
