//! The system's GPUs.

use tenure_core::device::DeviceError;
use windows::Wdk::System::SystemServices::RtlGetVersion;
use windows::Win32::Foundation::LUID;
use windows::Win32::Graphics::Dxgi::{
    CreateDXGIFactory2, DXGI_ADAPTER_DESC1, DXGI_ADAPTER_FLAG_SOFTWARE, DXGI_CREATE_FACTORY_FLAGS,
    DXGI_GPU_PREFERENCE_HIGH_PERFORMANCE, IDXGIAdapter1, IDXGIDevice, IDXGIFactory4, IDXGIFactory6,
};
use windows::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows::core::Interface;

use crate::device::error::unreachable_api;
use crate::drivers::{AdapterId, DriverVersion};

/// Windows' information about a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterReport {
    /// A display name, which does not identify the adapter.
    pub name: String,
    /// PCI vendor number.
    pub vendor: u32,
    /// PCI device number.
    pub device: u32,
    /// The version of the display driver, if Windows reports it.
    pub driver: Option<DriverVersion>,
    /// Bytes of video memory.
    pub dedicated_video: u64,
    /// Bytes of system memory set aside for it.
    pub dedicated_system: u64,
    /// Bytes of system memory it may share.
    pub shared_system: u64,
    /// True for WARP.
    pub software: bool,
}

impl AdapterReport {
    /// The properties that identify driver faults, with the build of the running Windows.
    #[must_use]
    pub fn id(&self) -> AdapterId {
        let Self { vendor, device, driver, .. } = *self;
        AdapterId { vendor, device, driver, windows_build: windows_build() }
    }
}

/// The build of Windows, independent of the version that the program's manifest declares.
fn windows_build() -> Option<u32> {
    let size = u32::try_from(size_of::<OSVERSIONINFOW>()).ok()?;
    let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size, ..Default::default() };
    // SAFETY: the pointer is to a local that outlives the call and contains its size.
    unsafe { RtlGetVersion(&raw mut version) }.ok().ok()?;
    Some(version.dwBuildNumber)
}

/// A GPU, to create a device on.
#[derive(Clone, Debug)]
pub struct Adapter {
    raw: IDXGIAdapter1,
    info: AdapterReport,
}

impl Adapter {
    /// Describes an adapter of the program.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when DXGI does not.
    pub fn new(raw: &IDXGIAdapter1) -> Result<Self, DeviceError> {
        // SAFETY: the interface is alive; the description is returned by value.
        let desc =
            unsafe { raw.GetDesc1() }.map_err(|error| unreachable_api("IDXGIAdapter1::GetDesc1", &error))?;
        Ok(Self { raw: raw.clone(), info: info(&desc, driver_version(raw)) })
    }

    /// Windows' information about it.
    #[must_use]
    pub const fn info(&self) -> &AdapterReport {
        &self.info
    }

    /// The adapter itself.
    #[must_use]
    pub const fn raw(&self) -> &IDXGIAdapter1 {
        &self.raw
    }
}

/// The adapters, the fastest first, WARP among the last, without those that DXGI does not describe.
///
/// # Errors
/// [`DeviceError::InvalidCall`] if DXGI fails, or describes none of them.
///
/// ```no_run
/// for adapter in tenure_d3d12::adapters()? {
///     println!("{}: {} MiB", adapter.info().name, adapter.info().dedicated_video >> 20);
/// }
/// # Ok::<(), tenure_core::device::DeviceError>(())
/// ```
pub fn adapters() -> Result<Vec<Adapter>, DeviceError> {
    let factory = factory()?;
    let by_speed = factory.cast::<IDXGIFactory6>().ok();
    let (mut found, mut failed) = (Vec::new(), None);
    for index in 0.. {
        let raw = match &by_speed {
            // SAFETY: the factory is alive and the index a number.
            Some(factory) => unsafe {
                factory.EnumAdapterByGpuPreference(index, DXGI_GPU_PREFERENCE_HIGH_PERFORMANCE)
            },
            // SAFETY: as above.
            None => unsafe { factory.EnumAdapters1(index) },
        };
        match raw {
            Ok(raw) => match Adapter::new(&raw) {
                Ok(adapter) => found.push(adapter),
                Err(error) => failed = failed.or(Some(error)),
            },
            // DXGI_ERROR_NOT_FOUND ends the list; so does any other error.
            Err(_) => break,
        }
    }
    // A stable sort: hardware keeps its order.
    found.sort_by_key(|adapter| adapter.info.software);
    failed.filter(|_| found.is_empty()).map_or(Ok(found), Err)
}

/// The software adapter.
pub(crate) fn warp() -> Result<Adapter, DeviceError> {
    // SAFETY: the factory is alive.
    let raw: IDXGIAdapter1 = unsafe { factory()?.EnumWarpAdapter() }
        .map_err(|error| unreachable_api("IDXGIFactory4::EnumWarpAdapter", &error))?;
    Adapter::new(&raw)
}

/// The adapter of a device.
pub(crate) fn by_luid(luid: LUID) -> Result<Adapter, DeviceError> {
    // SAFETY: the factory is alive; the number is passed by value.
    let raw: IDXGIAdapter1 = unsafe { factory()?.EnumAdapterByLuid(luid) }
        .map_err(|error| unreachable_api("IDXGIFactory4::EnumAdapterByLuid", &error))?;
    Adapter::new(&raw)
}

pub(crate) fn factory() -> Result<IDXGIFactory4, DeviceError> {
    // SAFETY: takes no pointers.
    unsafe { CreateDXGIFactory2(DXGI_CREATE_FACTORY_FLAGS(0)) }
        .map_err(|error| unreachable_api("CreateDXGIFactory2", &error))
}

/// The driver's version, which DXGI returns for a query about Direct3D 10.
fn driver_version(adapter: &IDXGIAdapter1) -> Option<DriverVersion> {
    // SAFETY: the interface is alive, and the identifier outlives the call.
    let version = unsafe { adapter.CheckInterfaceSupport(&IDXGIDevice::IID) }.ok()?;
    let part = |shift: u32| u16::try_from(version.cast_unsigned() >> shift & 0xffff).unwrap_or(u16::MAX);
    let driver = DriverVersion([part(48), part(32), part(16), part(0)]);
    (driver != DriverVersion::default()).then_some(driver)
}

fn info(desc: &DXGI_ADAPTER_DESC1, driver: Option<DriverVersion>) -> AdapterReport {
    AdapterReport {
        name: name(&desc.Description),
        vendor: desc.VendorId,
        device: desc.DeviceId,
        driver,
        dedicated_video: desc.DedicatedVideoMemory as u64,
        dedicated_system: desc.DedicatedSystemMemory as u64,
        shared_system: desc.SharedSystemMemory as u64,
        software: desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE.0.cast_unsigned() != 0,
    }
}

/// The text up to the first NUL; the rest is undefined.
fn name(description: &[u16]) -> String {
    let text = description.split(|unit| *unit == 0).next().unwrap_or_default();
    let name = String::from_utf16_lossy(text);
    if name.trim().is_empty() { "unnamed adapter".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_end_at_the_first_nul() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        assert_eq!(name(&units("GPU\0garbage\0")), "GPU");
        assert_eq!(name(&units("no end")), "no end");
        assert_eq!(name(&units("\0x")), "unnamed adapter");
        assert_eq!(name(&[0xd800, 0]), "\u{fffd}", "half a character");
    }
}
