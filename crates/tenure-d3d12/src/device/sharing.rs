//! Resources and fences shared with other processes and APIs through NT handles.

use std::fmt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};

use tenure_core::device::{ApiCode, BufferInfo, CallRule, DeviceError, ResourceDesc, State, Usage};
use tenure_core::{Buffer, BufferDesc, Error, Gpu, Texture, TextureDesc};
use windows::Win32::Foundation::{E_NOTIMPL, GENERIC_ALL, HANDLE};
use windows::Win32::Graphics::Direct3D12::{D3D12_FENCE_FLAG_SHARED, ID3D12DeviceChild, ID3D12Fence};
use windows::core::{Interface, PCWSTR};

use crate::Device;
use crate::device::error::Asked;
use crate::device::external::ExternalFence;
use crate::device::inner::{Inner, made};
use crate::device::resource::object::{Memory, Resource};

/// The adapter of a device (its LUID): shared resources are opened on the same adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdapterId(pub u64);

impl fmt::Display for AdapterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A handle to a resource or a fence, and the adapter on which it can be opened.
#[derive(Debug)]
pub struct Exported {
    /// The handle. It keeps its object alive, and is closed when it is dropped. `DuplicateHandle` gives it to
    /// another process.
    pub handle: OwnedHandle,
    /// The adapter of the device that created it.
    pub adapter: AdapterId,
}

/// The error of an export or import.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum ShareError {
    /// It was created on another adapter than the importer's.
    OtherAdapter {
        /// The exporter's adapter.
        exporter: AdapterId,
        /// The importer's adapter.
        importer: AdapterId,
    },
    /// The resource was not created to be shared: its usage lacks `SHARED`.
    NotShared {
        /// The usage.
        usage: Usage,
    },
    /// The device refused, or the implementation does not support such handles, as in Wine.
    Device(DeviceError),
    /// The manager refused.
    Manager(Error),
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherAdapter { exporter, importer } => {
                write!(f, "exported on the adapter {exporter}; this is {importer}")
            }
            Self::NotShared { usage } => write!(f, "created as {usage}, without SHARED"),
            Self::Device(error) => error.fmt(f),
            Self::Manager(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShareError {}

impl From<DeviceError> for ShareError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

/// Buffers, textures and fences that other processes and APIs use, too.
///
/// One side creates a resource as [shared](BufferDesc::shared), a committed one in a heap with
/// `D3D12_HEAP_FLAG_SHARED`, and exports it. The other opens the handle and has a resource of its own in the same
/// memory: an ordinary handle, adopted. The memory is freed when the last side, and the last handle, has released
/// it.
///
/// Before the other side uses it, a recording [hands it over](tenure_core::Commands::release_to_peer), textures in
/// `COMMON`; the other [takes it](tenure_core::Commands::acquire_from_peer). A [`SharedFence`] that one recording signals
/// and the other waits for puts the two in order.
///
/// Memory that the CPU reaches is not shared: heaps of the types `UPLOAD` and `READBACK` cannot be
/// (<https://learn.microsoft.com/windows/win32/direct3d12/shared-heaps>). Exported memory counts as that of any committed
/// resource; imported memory counts in no budget.
pub trait Sharing {
    /// A handle to a buffer that was created [shared](BufferDesc::shared). Each call creates a new one.
    ///
    /// # Errors
    /// [`ShareError::NotShared`]; [`ShareError::Device`] if the implementation does not support such handles
    /// (`Unsupported`), for a shortage, or a lost device.
    fn export_buffer(&self, buffer: &Buffer<Device>) -> Result<Exported, ShareError>;

    /// A handle to a texture that was created [shared](TextureDesc::shared). Each call creates a new one.
    ///
    /// # Errors
    /// As [`export_buffer`](Self::export_buffer).
    fn export_texture(&self, texture: &Texture<Device>) -> Result<Exported, ShareError>;

    /// A buffer that another process exported. A recording [acquires](tenure_core::Commands::acquire_from_peer) it before
    /// its first use. The caller keeps the handle and may close it.
    ///
    /// # Errors
    /// [`ShareError::OtherAdapter`]; [`ShareError::Device`] if it does not match `desc`, or is not a handle to a
    /// resource; [`ShareError::Manager`].
    fn import_buffer(
        &self,
        handle: BorrowedHandle<'_>,
        adapter: AdapterId,
        desc: &BufferDesc,
    ) -> Result<Buffer<Device>, ShareError>;

    /// A texture that another process exported, as [`import_buffer`](Self::import_buffer) does.
    ///
    /// # Errors
    /// As [`import_buffer`](Self::import_buffer).
    fn import_texture(
        &self,
        handle: BorrowedHandle<'_>,
        adapter: AdapterId,
        desc: &TextureDesc,
    ) -> Result<Texture<Device>, ShareError>;

    /// A fence that can be exported (`D3D12_FENCE_FLAG_SHARED`), with a first value.
    ///
    /// # Errors
    /// [`ShareError::Device`]: a shortage, or a lost device.
    fn create_shared_fence(&self, value: u64) -> Result<SharedFence, ShareError>;

    /// A fence that another process exported. The caller keeps the handle.
    ///
    /// # Errors
    /// [`ShareError::OtherAdapter`]; [`ShareError::Device`] for a handle to another object, a shortage, or a lost
    /// device.
    fn import_fence(&self, handle: BorrowedHandle<'_>, adapter: AdapterId)
    -> Result<SharedFence, ShareError>;
}

impl Sharing for Gpu<Device> {
    fn export_buffer(&self, buffer: &Buffer<Device>) -> Result<Exported, ShareError> {
        self.device().inner.export_resource(buffer.raw())
    }

    fn export_texture(&self, texture: &Texture<Device>) -> Result<Exported, ShareError> {
        self.device().inner.export_resource(texture.raw())
    }

    fn import_buffer(
        &self,
        handle: BorrowedHandle<'_>,
        adapter: AdapterId,
        desc: &BufferDesc,
    ) -> Result<Buffer<Device>, ShareError> {
        let desc = desc.clone().shared();
        let info = BufferInfo::new(desc.size, desc.usage);
        let resource = open_resource(self.device(), (handle, adapter), ResourceDesc::Buffer(info))?;
        let adopted = self.adopt_buffer(resource, &desc, State::COMMON);
        adopted.map_err(|rejected| ShareError::Manager(rejected.error))
    }

    fn import_texture(
        &self,
        handle: BorrowedHandle<'_>,
        adapter: AdapterId,
        desc: &TextureDesc,
    ) -> Result<Texture<Device>, ShareError> {
        let desc = desc.clone().shared();
        let info = ResourceDesc::Texture(desc.info.clone());
        let resource = open_resource(self.device(), (handle, adapter), info)?;
        let adopted = self.adopt_texture(resource, &desc, State::COMMON);
        adopted.map_err(|rejected| ShareError::Manager(rejected.error))
    }

    fn create_shared_fence(&self, value: u64) -> Result<SharedFence, ShareError> {
        let inner = &self.device().inner;
        inner.look()?;
        // SAFETY: takes no pointers.
        let made = unsafe { inner.raw.CreateFence::<ID3D12Fence>(value, D3D12_FENCE_FLAG_SHARED) };
        let fence = made.map_err(|error| inner.fail(&error, Asked::Object("CreateFence")))?;
        Ok(SharedFence { fence, device: self.device().clone() })
    }

    fn import_fence(
        &self,
        handle: BorrowedHandle<'_>,
        adapter: AdapterId,
    ) -> Result<SharedFence, ShareError> {
        let fence = self.device().inner.open::<ID3D12Fence>(handle, adapter)?;
        Ok(SharedFence { fence, device: self.device().clone() })
    }
}

fn open_resource(
    device: &Device,
    (handle, adapter): (BorrowedHandle<'_>, AdapterId),
    desc: ResourceDesc,
) -> Result<Resource, ShareError> {
    let raw = device.inner.open(handle, adapter)?;
    Ok(Resource::from_raw(device, raw, desc)?)
}

impl Device {
    /// The adapter: devices on the same one can import its exports.
    #[must_use]
    pub fn adapter_id(&self) -> AdapterId {
        self.inner.adapter_id()
    }
}

impl Inner {
    fn adapter_id(&self) -> AdapterId {
        // SAFETY: the interface is alive; the number is returned by value.
        let luid = unsafe { self.raw.GetAdapterLuid() };
        AdapterId(u64::from(luid.HighPart.cast_unsigned()) << 32 | u64::from(luid.LowPart))
    }

    fn export_resource(&self, resource: &Resource) -> Result<Exported, ShareError> {
        if !std::ptr::eq(self, std::sync::Arc::as_ptr(&resource.device)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice).into());
        }
        let usage = resource.desc.usage();
        // An imported resource can be exported by its owner only.
        if !usage.contains(Usage::SHARED) || !matches!(resource.memory, Memory::Committed) {
            return Err(ShareError::NotShared { usage });
        }
        self.export(&resource.raw)
    }

    fn export(&self, object: &impl Interface) -> Result<Exported, ShareError> {
        const CALL: &str = "CreateSharedHandle";
        self.look()?;
        let fail = |error: &windows::core::Error| match error.code() {
            // The error that Wine returns.
            E_NOTIMPL => DeviceError::Unsupported { feature: CALL },
            _ => self.fail(error, Asked::Object(CALL)),
        };
        let object = object.cast::<ID3D12DeviceChild>().map_err(|error| fail(&error))?;
        // SAFETY: the object is alive and was created to be shared; attributes and name may be omitted, and the
        // access is the only valid one.
        let made = unsafe { self.raw.CreateSharedHandle(&object, None, GENERIC_ALL.0, PCWSTR::null()) };
        let handle = made.map_err(|error| fail(&error))?;
        if handle.is_invalid() {
            let code = ApiCode::HResult(0);
            return Err(DeviceError::ApiFailed { call: CALL, code }.into());
        }
        // SAFETY: the call has just created it, for the caller to close.
        let handle = unsafe { OwnedHandle::from_raw_handle(handle.0) };
        Ok(Exported { handle, adapter: self.adapter_id() })
    }

    fn open<T: Interface>(&self, handle: BorrowedHandle<'_>, exporter: AdapterId) -> Result<T, ShareError> {
        self.look()?;
        let importer = self.adapter_id();
        if exporter != importer {
            return Err(ShareError::OtherAdapter { exporter, importer });
        }
        let mut opened: Option<T> = None;
        // SAFETY: the handle is open, the pointer is to a local that outlives the call, and the call checks the
        // type of the handle.
        unsafe { self.raw.OpenSharedHandle(HANDLE(handle.as_raw_handle()), &raw mut opened) }
            .map_err(|error| self.fail(&error, Asked::Object("OpenSharedHandle")))?;
        Ok(made(opened, "OpenSharedHandle opens what the handle is to")?)
    }
}

/// A fence shared by two processes: created by [`Sharing`]. Recordings wait for its [values](Self::at) and signal them.
///
/// Work that waits for a value which the other process never signals, because it has ended, waits forever, and so
/// do later submissions: [`signal`](Self::signal) ends the wait.
#[derive(Clone)]
pub struct SharedFence {
    fence: ID3D12Fence,
    device: Device,
}

impl SharedFence {
    /// A value of it, for [`Recording::wait_for_external`](tenure_core::Recording::wait_for_external) and
    /// [`signal_external`](tenure_core::Recording::signal_external).
    #[must_use]
    pub fn at(&self, value: u64) -> ExternalFence {
        ExternalFence::new(self.fence.clone(), value)
    }

    /// The value that it has reached.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    pub fn value(&self) -> Result<u64, DeviceError> {
        // SAFETY: the interface is alive.
        let value = unsafe { self.fence.GetCompletedValue() };
        // Afterwards: the fences of a removed device report `u64::MAX`.
        self.device.inner.look()?;
        Ok(value)
    }

    /// Signals a value from the CPU: also one that the other process was to signal, and has ended before.
    ///
    /// # Errors
    /// [`DeviceError::Lost`]; a shortage.
    pub fn signal(&self, value: u64) -> Result<(), DeviceError> {
        let inner = &self.device.inner;
        inner.look()?;
        // SAFETY: the interface is alive.
        let signalled = unsafe { self.fence.Signal(value) };
        signalled.map_err(|error| inner.fail(&error, Asked::Object("ID3D12Fence::Signal")))
    }

    /// A handle for the other process. Each call creates a new one.
    ///
    /// # Errors
    /// As [`Sharing::export_buffer`].
    pub fn export(&self) -> Result<Exported, ShareError> {
        self.device.inner.export(&self.fence)
    }

    /// The fence itself.
    #[must_use]
    pub const fn raw(&self) -> &ID3D12Fence {
        &self.fence
    }
}

impl fmt::Debug for SharedFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFence").finish_non_exhaustive()
    }
}
