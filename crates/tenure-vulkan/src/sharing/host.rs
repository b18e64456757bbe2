//! The program's memory as a buffer, readable by the GPU without a copy.

use core::any::Any;
use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{
    Allowed, BufferInfo, DeviceError, MemoryFlags, MemoryTypeId, ResourceDesc, State, Usage,
};
use tenure_core::{Buffer, BufferDesc, Gpu, MemoryUse};

use super::info::ShareError;
use crate::device::Device;
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::memory::HandleTypes;
use crate::memory::{HostOwner, Import};
use crate::resource::Resource;
use crate::resource::Resources;

const HOST: HandleTypes = HandleTypes::HOST_ALLOCATION_EXT;

/// The program's own memory, for use as a buffer: a mapped file, for example, from which the GPU copies without
/// an earlier copy by the CPU.
///
/// ```no_run
/// use std::ptr::NonNull;
/// use tenure_core::{Buffer, BufferDesc, Gpu, Usage};
/// use tenure_vulkan::{Device, HostMemory, ShareError};
///
/// /// A mapping of a file, by whatever crate: it is unmapped when it is dropped.
/// trait Mapping: Send + Sync + 'static {
///     fn address(&self) -> NonNull<u8>;
///     fn size(&self) -> usize;
/// }
///
/// fn open(gpu: &Gpu<Device>, file: impl Mapping) -> Result<Buffer<Device>, ShareError> {
///     let (address, size) = (file.address(), file.size());
///     // SAFETY: the bytes stay mapped until `file` is dropped, and the file does not change.
///     let memory = unsafe { HostMemory::read_only(address, size, file) };
///     let desc = BufferDesc::new(size as u64, Usage::COPY_SRC).name("level");
///     Ok(memory.import(gpu, &desc).map_err(|rejected| *rejected.error)?)
/// }
/// ```
pub struct HostMemory {
    address: NonNull<u8>,
    size: usize,
    is_writable: bool,
    owner: HostOwner,
}

// SAFETY: the address is a number here, which only the driver uses; the owner may be sent and shared.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Memory that the GPU reads and writes. Address and size are multiples of
    /// [`Device::host_memory_alignment`].
    ///
    /// # Safety
    /// The bytes are mapped, for reading and writing, and stay so until `owner` is dropped. The program accesses them
    /// only while no submission does that uses the buffer.
    #[must_use]
    pub unsafe fn new(address: NonNull<u8>, size: usize, owner: impl Any + Send + Sync) -> Self {
        Self { address, size, is_writable: true, owner: Arc::new(owner) }
    }

    /// Memory that the GPU only reads.
    ///
    /// # Safety
    /// The bytes are mapped, at least for reading, and stay mapped until `owner` is dropped. They must not change
    /// while a submission reads them.
    #[must_use]
    pub unsafe fn read_only(address: NonNull<u8>, size: usize, owner: impl Any + Send + Sync) -> Self {
        Self { address, size, is_writable: false, owner: Arc::new(owner) }
    }

    /// Imports the memory as a buffer that begins at its first byte. The owner of the memory is dropped once the
    /// buffer is dropped and the GPU no longer uses it, at the same points as values of [`Gpu::defer`]: at the
    /// end of a frame or in a reclaim.
    ///
    /// The program has its own pointer to the bytes: the buffer is of [`MemoryUse::GpuOnly`], and not mapped.
    /// Read-only memory cannot be a destination of copies, whatever the description requests. It is not new
    /// memory: it counts in no budget, and is one of the adopted resources in reports.
    ///
    /// A driver need not support every kind of memory. If it refuses files, copy the memory that comes back in
    /// the error like any other bytes.
    ///
    /// # Errors
    /// [`ShareError::Unaligned`], [`ShareError::TooSmall`], [`ShareError::MemoryType`]; [`ShareError::Device`]:
    /// `Unsupported` without [`EXTERNAL_MEMORY_HOST`](OptionalFeatures::EXTERNAL_MEMORY_HOST), if the description
    /// is not of a GPU-only buffer, or writes read-only memory, and when the driver refuses;
    /// [`ShareError::Manager`]. The memory comes back in the error.
    pub fn import(self, gpu: &Gpu<Device>, desc: &BufferDesc) -> Result<Buffer<Device>, RejectedMemory> {
        let import = || {
            let desc = self.checked(desc)?;
            let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
            let resource = gpu.device().resources().import_host(&self, &resource)?;
            // Its destructor is the program's code, which not every call that destroys the buffer may run.
            let owner = self.owner.clone();
            gpu.adopt_buffer_in(owner, resource, &desc, State::COMMON).map_err(|rejected| {
                rejected.object.destroy();
                ShareError::Manager(rejected.error)
            })
        };
        import().map_err(|error| RejectedMemory { error: Box::new(error), memory: self })
    }

    /// The description of the buffer that this memory can be.
    fn checked(&self, desc: &BufferDesc) -> Result<BufferDesc, DeviceError> {
        let mut desc = desc.clone();
        if desc.memory != MemoryUse::GpuOnly {
            let rule = Allowed::Rule("GpuOnly, because the program has its own pointer to the bytes");
            return Err(DeviceError::invalid_desc("memory", desc.memory as u32, rule));
        }
        if !self.is_writable {
            desc.usage.remove(Usage::COPY_DST);
        }
        let written = Usage::UNORDERED_ACCESS | Usage::ACCELERATION_STRUCTURE;
        let refused = if self.is_writable { Usage::SHARING } else { Usage::SHARING | written };
        if desc.usage.intersects(refused) {
            return Err(DeviceError::invalid_desc(
                "usage",
                desc.usage,
                Allowed::Usage(Usage::all() - refused),
            ));
        }
        Ok(desc)
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostMemory")
            .field("address", &self.address)
            .field("size", &self.size)
            .field("is_writable", &self.is_writable)
            .finish_non_exhaustive()
    }
}

/// Host memory that was not imported: the reason, and the memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct RejectedMemory {
    /// Why.
    pub error: Box<ShareError>,
    /// The memory of the failed import.
    pub memory: HostMemory,
}

impl fmt::Display for RejectedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not imported: {}", self.error)
    }
}

impl std::error::Error for RejectedMemory {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.error)
    }
}

impl Device {
    /// The required alignment of address and size of [`HostMemory`], in bytes; `None` without
    /// [`OptionalFeatures::EXTERNAL_MEMORY_HOST`].
    #[must_use]
    pub fn host_memory_alignment(&self) -> Option<u64> {
        self.resources().host_alignment()
    }
}

impl Resources {
    fn host_alignment(&self) -> Option<u64> {
        if !self.api.uses(OptionalFeatures::EXTERNAL_MEMORY_HOST) {
            return None;
        }
        let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut host);
        // SAFETY: the structure in the chain belongs to an extension of the device.
        unsafe { self.api.instance.get_physical_device_properties2(self.api.physical, &mut properties) };
        Some(host.min_imported_host_pointer_alignment.max(1))
    }

    fn import_host(
        self: &Arc<Self>,
        memory: &HostMemory,
        desc: &ResourceDesc,
    ) -> Result<Resource, ShareError> {
        self.alive()?;
        let (Some(alignment), Some(calls)) = (self.host_alignment(), self.api.host_pointer) else {
            return Err(unsupported("the program's own memory (VK_EXT_external_memory_host)").into());
        };
        let (address, size) = (memory.address.as_ptr(), memory.size);
        let is_aligned = |number: usize| (number as u64).is_multiple_of(alignment);
        if size == 0 || !is_aligned(address.addr()) || !is_aligned(size) {
            return Err(ShareError::Unaligned { address: address.addr(), size, alignment });
        }
        let plan = self.plan_import(desc, HOST)?;
        let mut found = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the bytes are mapped, as the creator of `memory` has promised.
        let result = unsafe { (calls.properties)(self.api.handle(), HOST, address.cast(), &raw mut found) };
        self.check("vkGetMemoryHostPointerPropertiesEXT", result)?;
        let info =
            vk::ImportMemoryHostPointerInfoEXT::default().handle_type(HOST).host_pointer(address.cast());
        let import = Import::Host(info, memory.owner.clone());
        let size = size as u64;
        self.create_imported((desc, &plan), false, import, |needs| {
            if size < needs.size {
                return Err(ShareError::TooSmall { size, needed: needs.size });
            }
            let allowed = needs.memory_types & self.coherent_types();
            let (found, both) = (found.memory_type_bits, found.memory_type_bits & allowed);
            match u8::try_from(both.trailing_zeros()) {
                Ok(memory) if both != 0 => Ok((MemoryTypeId(memory), size)),
                _ => Err(ShareError::MemoryType { found, allowed }),
            }
        })
    }

    /// The memory types in which the GPU sees the program's writes through its own pointer.
    fn coherent_types(&self) -> u32 {
        let types = &self.tables.properties.memory_types;
        let is_coherent = |flags: MemoryFlags| flags.contains(MemoryFlags::HOST_COHERENT);
        (0..)
            .zip(types)
            .filter(|(_, found)| is_coherent(found.flags))
            .fold(0, |mask, (bit, _)| mask | 1 << bit)
    }
}
