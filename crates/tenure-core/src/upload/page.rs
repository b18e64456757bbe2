//! Mapped ranges that are filled from front to back.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::{Device, DeviceError, Mapping};
use crate::gpu::{Garbage, Shared};
use crate::memory::Home;
use crate::resource::Tracked;
use crate::time::{Stamp, SyncPoint};
use crate::{BufferDesc, Error};

/// The last number given to a page.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// A mapped range of a buffer that only pages share, or a buffer of its own where the policy or the ladder
/// says so.
///
/// It is no handle: whoever holds it gives it back with [`release`](Self::release).
pub(crate) struct Page<D: Device> {
    home: Home<D>,
    /// A number that no other page of this process has.
    id: u64,
    size: u64,
    /// Byte of the API buffer at which it begins.
    base: u64,
    /// The GPU address of its first byte.
    address: Option<u64>,
    born: Stamp,
    /// It is filled from front to back, and may be again.
    pub(super) is_common: bool,
}

impl<D: Device> Page<D> {
    /// A page as `desc` says; of mapped memory.
    pub(crate) fn new(shared: &Shared<D>, desc: &BufferDesc) -> Result<Self, Error> {
        let home = shared.place_page(desc)?;
        let base = home.place.offset();
        let address = home.native.address.map(|address| address + base);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Self { home, id, size: desc.size, base, address, born: shared.clock.stamp(), is_common: false })
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    /// Bytes.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn resource(&self) -> &D::Resource {
        &self.home.native.object
    }

    /// Byte of the API buffer at which the page begins.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// The GPU address of the page's first byte, where the API has such.
    pub(crate) const fn address(&self) -> Option<u64> {
        self.address
    }

    pub(super) fn mapping(&self) -> Option<&D::Mapping> {
        self.home.native.mapping.as_ref()
    }

    /// Copies bytes to an offset of the page.
    #[inline]
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        match &self.home.native.mapping {
            Some(mapping) => mapping.write(self.base + offset, bytes),
            None => Err(self.not_mapped(offset)),
        }
    }

    /// Copies bytes from an offset of the page.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        match &self.home.native.mapping {
            Some(mapping) => mapping.read(self.base + offset, out),
            None => Err(self.not_mapped(offset)),
        }
    }

    /// What no page answers: its memory is of a use that is mapped.
    #[cold]
    const fn not_mapped(&self, offset: u64) -> DeviceError {
        DeviceError::InvalidCall { rule: "pages are mapped", value: offset, limit: self.size }
    }

    /// A share in the API buffer, by which states are followed.
    pub(crate) fn tracked(&self) -> Tracked<D> {
        Tracked(self.home.native.clone())
    }

    /// What it must outlive, if nothing more is recorded with it.
    pub(super) fn needs(&self, shared: &Shared<D>) -> SyncPoint {
        shared.clock.submissions().since(self.born)
    }

    /// Nothing uses it any more: whatever is submitted from now on counts alone.
    pub(super) fn begin_anew(&mut self, shared: &Shared<D>) {
        self.born = shared.clock.stamp();
    }

    /// Gives it back once no recording and no GPU work can use it any more.
    pub(crate) fn release(self, shared: &Shared<D>) {
        let bytes = self.home.place.reserved();
        shared.release(Garbage::from(self.home), self.born, bytes);
    }
}
