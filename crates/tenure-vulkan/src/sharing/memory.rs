//! Exported and imported buffers and textures.

use core::fmt;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{
    ApiCode, BufferInfo, DeviceError, MemoryTypeId, Requirements, ResourceDesc, State, Usage,
};
use tenure_core::{Buffer, BufferDesc, Gpu, Name, Texture, TextureDesc};

use super::identity::created_with;
use super::info::ShareError;
use super::info::{DeviceIds, ExportDesc, HandleKind};
use super::semaphore::SharedSemaphore;
use crate::device::Device;
use crate::error::unsupported;
use crate::loaded::{Loaded, MemoryFdCalls};
use crate::memory::Import;
use crate::resource::Resource;
use crate::resource::Resources;

/// A handle to memory, with the data for the importer.
#[derive(Debug)]
pub struct Exported {
    /// The handle. It keeps the memory alive independently of the resource, and is closed when it is dropped.
    pub handle: OwnedFd,
    /// The data that the importer needs in addition to the description of the resource.
    pub info: ExportDesc,
}

/// A handle that was not imported: the reason, and the handle, still open.
#[derive(Debug)]
#[non_exhaustive]
pub struct ImportError {
    /// Why.
    pub error: ShareError,
    /// The handle of the failed import.
    pub handle: OwnedFd,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not imported: {}", self.error)
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Buffers, textures and semaphores that other processes and APIs use, too (Unix).
///
/// One side creates a resource as [shared](BufferDesc::shared) and exports its memory. The other imports it with
/// the same description, and has a resource of its own in the same memory: an ordinary handle, adopted, with
/// deferred release. The memory is freed when the last side has released it, so either process may end first,
/// even without notice.
///
/// Before the other side uses it, a recording [hands it over](tenure_core::Commands::release_to_peer); the other
/// [takes it](tenure_core::Commands::acquire_from_peer), in the same state. That the latter comes later is the program's
/// business: by a [`SharedSemaphore`] that one recording signals and the other waits for, or by a message between the
/// processes that is sent when [`Gpu::wait`] has seen the first submission complete.
///
/// Exported memory counts as that of any committed resource. Imported memory is not new memory: it counts in no
/// budget, and its resource is one of the adopted ones in reports.
///
/// ```no_run
/// use std::os::fd::OwnedFd;
/// use tenure_core::{BufferDesc, Gpu, Queue, State, Usage};
/// use tenure_vulkan::{Device, ExportDesc, HandleKind, Sharing};
///
/// fn picture() -> BufferDesc {
///     BufferDesc::new(1 << 20, Usage::COPY_SRC).name("picture").shared()
/// }
///
/// fn one_process(gpu: &Gpu<Device>, send: impl Fn(OwnedFd, &[u8])) -> Result<(), Box<dyn std::error::Error>> {
///     let picture = gpu.create_buffer_with(&picture(), &[7; 1 << 20])?;
///     let exported = gpu.export_buffer(&picture, HandleKind::OpaqueFd)?;
///     let mut recording = gpu.record(Queue::Graphics, "hand over")?;
///     recording.release_to_peer(&picture, State::COPY_SRC)?;
///     let point = recording.submit()?;
///     gpu.wait(&point, std::time::Duration::from_secs(1))?;
///     send(exported.handle, &exported.info.to_bytes());
///     Ok(())
/// }
///
/// fn the_other(gpu: &Gpu<Device>, handle: OwnedFd, info: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
///     // SAFETY: the handle and the information come from one export, by a process that is trusted.
///     let picture = unsafe { gpu.import_buffer(handle, &ExportDesc::from_bytes(info)?, &picture())? };
///     let mut recording = gpu.record(Queue::Graphics, "read")?;
///     recording.acquire_from_peer(&picture, State::COPY_SRC)?;
///     let _pixels = recording.read_back(&picture, 0, 1 << 20)?;
///     recording.submit()?;
///     Ok(())
/// }
/// ```
pub trait Sharing {
    /// A handle to the memory of a buffer that was created [shared](BufferDesc::shared). Each call creates a new one.
    ///
    /// # Errors
    /// [`ShareError::NotExportable`]; [`ShareError::Device`] for a shortage or a lost device.
    fn export_buffer(&self, buffer: &Buffer<Device>, kind: HandleKind) -> Result<Exported, ShareError>;

    /// A handle to the memory of a texture that was created [shared](TextureDesc::shared). Each call creates a new one.
    ///
    /// # Errors
    /// As [`export_buffer`](Self::export_buffer).
    fn export_texture(&self, texture: &Texture<Device>, kind: HandleKind) -> Result<Exported, ShareError>;

    /// A buffer in memory that another process exported. A recording
    /// [acquires](tenure_core::Commands::acquire_from_peer) it before its first use. It is mapped if the
    /// description requests CPU-visible memory; the exporter's memory must then be CPU-visible.
    ///
    /// # Errors
    /// [`ShareError::OtherDevice`], [`ShareError::OtherDescription`], [`ShareError::TooSmall`],
    /// [`ShareError::MemoryType`]; [`ShareError::Device`] when the driver refuses; [`ShareError::Manager`]. The handle
    /// comes back in the error.
    ///
    /// # Safety
    /// The handle is of the kind in `info`, and `info` describes its memory correctly. The other process uses the
    /// memory as agreed: not while this one holds it.
    unsafe fn import_buffer(
        &self,
        handle: OwnedFd,
        info: &ExportDesc,
        desc: &BufferDesc,
    ) -> Result<Buffer<Device>, ImportError>;

    /// A texture in memory that another process exported, as [`import_buffer`](Self::import_buffer) does.
    ///
    /// # Errors
    /// As [`import_buffer`](Self::import_buffer).
    ///
    /// # Safety
    /// As [`import_buffer`](Self::import_buffer).
    unsafe fn import_texture(
        &self,
        handle: OwnedFd,
        info: &ExportDesc,
        desc: &TextureDesc,
    ) -> Result<Texture<Device>, ImportError>;

    /// A timeline semaphore that can be exported, with a first value.
    ///
    /// # Errors
    /// [`ShareError::Device`]: `Unsupported` without
    /// [`EXTERNAL_SEMAPHORE_FD`](crate::OptionalFeatures::EXTERNAL_SEMAPHORE_FD), and if the driver does not
    /// export timeline semaphores; a shortage; a lost device.
    fn create_shared_semaphore(
        &self,
        name: impl Into<Name>,
        value: u64,
    ) -> Result<SharedSemaphore, ShareError>;

    /// A timeline semaphore that another process exported.
    ///
    /// # Errors
    /// [`ShareError::OtherDevice`], and the errors of [`create_shared_semaphore`](Self::create_shared_semaphore).
    /// The handle comes back in the error.
    ///
    /// # Safety
    /// The handle is one that [`SharedSemaphore::export`] gave, with these `ids`.
    unsafe fn import_semaphore(
        &self,
        handle: OwnedFd,
        ids: &DeviceIds,
        name: impl Into<Name>,
    ) -> Result<SharedSemaphore, ImportError>;
}

impl Sharing for Gpu<Device> {
    fn export_buffer(&self, buffer: &Buffer<Device>, kind: HandleKind) -> Result<Exported, ShareError> {
        self.device().resources().export(buffer.raw(), kind)
    }

    fn export_texture(&self, texture: &Texture<Device>, kind: HandleKind) -> Result<Exported, ShareError> {
        self.device().resources().export(texture.raw(), kind)
    }

    unsafe fn import_buffer(
        &self,
        handle: OwnedFd,
        info: &ExportDesc,
        desc: &BufferDesc,
    ) -> Result<Buffer<Device>, ImportError> {
        let desc = desc.clone().shared();
        let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
        let import = |handle: &OwnedFd| {
            // SAFETY: the caller promises just this.
            let resource = unsafe { self.device().resources().import(handle, info, &resource) }?;
            self.adopt_buffer(resource, &desc, State::COMMON).map_err(|rejected| {
                rejected.object.destroy();
                ShareError::Manager(rejected.error)
            })
        };
        import(&handle).map_err(|error| ImportError { error, handle })
    }

    unsafe fn import_texture(
        &self,
        handle: OwnedFd,
        info: &ExportDesc,
        desc: &TextureDesc,
    ) -> Result<Texture<Device>, ImportError> {
        let desc = desc.clone().shared();
        let resource = ResourceDesc::Texture(desc.info.clone());
        let import = |handle: &OwnedFd| {
            // SAFETY: the caller promises just this.
            let resource = unsafe { self.device().resources().import(handle, info, &resource) }?;
            self.adopt_texture(resource, &desc, State::COMMON).map_err(|rejected| {
                rejected.object.destroy();
                ShareError::Manager(rejected.error)
            })
        };
        import(&handle).map_err(|error| ImportError { error, handle })
    }

    fn create_shared_semaphore(
        &self,
        name: impl Into<Name>,
        value: u64,
    ) -> Result<SharedSemaphore, ShareError> {
        SharedSemaphore::create(self, name, value)
    }

    unsafe fn import_semaphore(
        &self,
        handle: OwnedFd,
        ids: &DeviceIds,
        name: impl Into<Name>,
    ) -> Result<SharedSemaphore, ImportError> {
        // SAFETY: the caller promises just this.
        let imported = unsafe { SharedSemaphore::import(self, &handle, ids, name) };
        imported.map_err(|error| ImportError { error, handle })
    }
}

impl Loaded {
    /// The ids of this device and its driver.
    pub(super) fn ids(&self) -> DeviceIds {
        DeviceIds::of(&self.api.instance, self.api.physical)
    }

    pub(super) fn check_ids(&self, exporter: DeviceIds) -> Result<(), ShareError> {
        let importer = self.ids();
        match exporter == importer {
            true => Ok(()),
            false => Err(ShareError::OtherDevice { exporter, importer }),
        }
    }
}

impl Resources {
    fn fd_calls(&self) -> Result<MemoryFdCalls, ShareError> {
        let missing = || unsupported("shared memory (VK_KHR_external_memory_fd)").into();
        self.api.memory_fds.ok_or_else(missing)
    }

    fn export(&self, resource: &Resource, kind: HandleKind) -> Result<Exported, ShareError> {
        self.alive()?;
        resource.check_device(self)?;
        let calls = self.fd_calls()?;
        let exportable = resource.place().filter(|(memory, _)| memory.exported.contains(kind.vk()));
        let Some((memory, _)) = exportable else { return Err(ShareError::NotExportable { kind }) };
        let info = vk::MemoryGetFdInfoKHR::default().memory(memory.handle).handle_type(kind.vk());
        let mut fd = -1;
        // SAFETY: the memory is alive, and was allocated for export by such a handle.
        let result = unsafe { (calls.get)(self.api.handle(), &raw const info, &raw mut fd) };
        self.check("vkGetMemoryFdKHR", result)?;
        // SAFETY: the driver has just created it, for the caller to close.
        let handle = unsafe { created("vkGetMemoryFdKHR", fd) }?;
        let created_with = created_with(&resource.desc, resource.usage);
        let memory_type = u32::from(memory.kind.0);
        let (size, ids) = (memory.size, self.ids());
        Ok(Exported {
            handle,
            info: ExportDesc { kind, size, memory_type, is_dedicated: true, ids, created_with },
        })
    }

    /// A resource in imported memory. `handle` stays open.
    ///
    /// # Safety
    /// As [`Sharing::import_buffer`].
    unsafe fn import(
        self: &Arc<Self>,
        handle: &OwnedFd,
        info: &ExportDesc,
        desc: &ResourceDesc,
    ) -> Result<Resource, ShareError> {
        self.alive()?;
        let calls = self.fd_calls()?;
        // The queue family `EXTERNAL` is that of the same device and driver, as opaque handles are.
        let is_same_driver = !desc.usage().contains(Usage::SHARED_ACROSS_DRIVERS);
        if info.kind == HandleKind::OpaqueFd || is_same_driver {
            self.check_ids(info.ids)?;
        }
        let plan = self.plan_import(desc, info.kind.vk())?;
        let importer = created_with(desc, plan.usage());
        if ![0, importer].contains(&info.created_with) {
            return Err(ShareError::OtherDescription { exporter: info.created_with, importer });
        }
        let found = self.types_of_handle(calls, handle, info)?;
        // The driver closes an imported handle.
        let copy = handle.try_clone();
        let copy = copy.map_err(|error| ShareError::Descriptor { reason: error.to_string() })?;
        let fd = vk::ImportMemoryFdInfoKHR::default().handle_type(info.kind.vk()).fd(copy.as_raw_fd());
        // Another device numbers its memory types in another way.
        let is_numbered = info.kind == HandleKind::OpaqueFd || info.ids == self.ids();
        let exporters = u32::from(is_numbered).checked_shl(info.memory_type).unwrap_or(0);
        let choose = |needs: Requirements| choose_type(info, (found, exporters), &needs);
        self.create_imported((desc, &plan), info.is_dedicated, Import::Fd(fd, copy), choose)
    }

    /// A bit for each memory type that the memory behind a handle can be.
    fn types_of_handle(
        &self,
        calls: MemoryFdCalls,
        handle: &OwnedFd,
        info: &ExportDesc,
    ) -> Result<u32, ShareError> {
        // Vulkan has this query for other kinds only: an opaque handle is of the type it was exported from.
        if info.kind == HandleKind::OpaqueFd {
            return Ok(1_u32.checked_shl(info.memory_type).unwrap_or(0));
        }
        let mut found = vk::MemoryFdPropertiesKHR::default();
        // SAFETY: the caller promises that the handle is of this kind.
        let result = unsafe {
            (calls.properties)(self.api.handle(), info.kind.vk(), handle.as_raw_fd(), &raw mut found)
        };
        self.check("vkGetMemoryFdPropertiesKHR", result)?;
        Ok(found.memory_type_bits)
    }
}

/// A handle that a successful call has created; an error if there is none.
///
/// # Safety
/// The caller owns the handle.
pub(super) unsafe fn created(call: &'static str, fd: RawFd) -> Result<OwnedFd, DeviceError> {
    if fd < 0 {
        let code = ApiCode::VkResult(vk::Result::SUCCESS.as_raw());
        return Err(DeviceError::ApiFailed { call, code });
    }
    // SAFETY: the caller promises just this.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The memory type and the size to import with: of the exporter's type if that is known and possible.
fn choose_type(
    info: &ExportDesc,
    (found, exporters): (u32, u32),
    needs: &Requirements,
) -> Result<(MemoryTypeId, u64), ShareError> {
    if info.size < needs.size {
        return Err(ShareError::TooSmall { size: info.size, needed: needs.size });
    }
    let both = found & needs.memory_types;
    let best = if both & exporters != 0 { exporters } else { both };
    match u8::try_from(best.trailing_zeros()) {
        Ok(memory) if best != 0 => Ok((MemoryTypeId(memory), info.size)),
        _ => Err(ShareError::MemoryType { found, allowed: needs.memory_types }),
    }
}
