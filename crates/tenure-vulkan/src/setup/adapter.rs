//! The system's GPUs.

use std::sync::Arc;

use ash::vk;

use super::queues;
use super::queues::QueueFamily;
use super::support::Support;
use crate::device::Device;
use crate::error::CreateError;
use crate::features::ApiVersion;
use crate::instance::DeviceConfig;
use crate::instance::Instance;

/// The kind of GPU, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdapterKind {
    /// A card with its own memory.
    Discrete,
    /// Integrated in the processor, or next to it, with shared memory.
    Integrated,
    /// Part of one, in a virtual machine.
    Virtual,
    /// The processor itself.
    Cpu,
    /// Another kind.
    Other,
}

/// A GPU as a driver offers it. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub(crate) instance: Arc<Instance>,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) support: Arc<Support>,
    name: String,
    kind: AdapterKind,
    vendor_id: u32,
    device_id: u32,
    driver: String,
}

/// The adapters that tenure can use, in order of preference, without those whose driver fails. Their instance is created with
/// `options`.
///
/// ```no_run
/// use tenure_vulkan::{DeviceConfig, adapters};
/// for adapter in adapters(&DeviceConfig::default())? {
///     println!("{} ({:?}), {}", adapter.name(), adapter.kind(), adapter.driver());
/// }
/// # Ok::<(), tenure_vulkan::CreateError>(())
/// ```
///
/// # Errors
/// [`CreateError`] if there is no loader, an instance cannot be made, or drivers fail and no other adapter is left.
pub fn adapters(options: &DeviceConfig) -> Result<Vec<Adapter>, CreateError> {
    Ok(find(options)?.0)
}

/// The usable adapters, and the number of all adapters.
fn find(options: &DeviceConfig) -> Result<(Vec<Adapter>, usize), CreateError> {
    let instance = Arc::new(Instance::create(options)?);
    // SAFETY: the instance is alive.
    let found = unsafe { instance.raw.enumerate_physical_devices() };
    let found = found.map_err(CreateError::failed("vkEnumeratePhysicalDevices"))?;
    let described = found.iter().map(|physical| Adapter::new(&instance, *physical));
    let usable = described.filter(|adapter| adapter.as_ref().map_or(true, Adapter::is_usable));
    let mut adapters = without_failed(usable)?;
    adapters.sort_by_key(Adapter::kind);
    Ok((adapters, found.len()))
}

/// Leaves out adapters whose driver fails; their first error if no other is left.
fn without_failed<T, E>(found: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let (mut adapters, mut failed) = (Vec::new(), None);
    for adapter in found {
        match adapter {
            Ok(adapter) => adapters.push(adapter),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.filter(|_| adapters.is_empty()).map_or(Ok(adapters), Err)
}

/// The adapter to prefer.
pub(crate) fn best(options: &DeviceConfig) -> Result<Adapter, CreateError> {
    let (adapters, found) = find(options)?;
    adapters.into_iter().next().ok_or(CreateError::NoAdapter { found })
}

impl Adapter {
    fn new(instance: &Arc<Instance>, physical: vk::PhysicalDevice) -> Result<Self, CreateError> {
        let support = Support::of(&instance.raw, physical, instance.version)?;
        // SAFETY: the physical device is one of the instance's.
        let properties = unsafe { instance.raw.get_physical_device_properties(physical) };
        let name = properties.device_name_as_c_str().unwrap_or_default();
        Ok(Self {
            instance: instance.clone(),
            physical,
            name: name.to_string_lossy().into_owned(),
            kind: match properties.device_type {
                vk::PhysicalDeviceType::DISCRETE_GPU => AdapterKind::Discrete,
                vk::PhysicalDeviceType::INTEGRATED_GPU => AdapterKind::Integrated,
                vk::PhysicalDeviceType::VIRTUAL_GPU => AdapterKind::Virtual,
                vk::PhysicalDeviceType::CPU => AdapterKind::Cpu,
                _ => AdapterKind::Other,
            },
            vendor_id: properties.vendor_id,
            device_id: properties.device_id,
            driver: driver(instance, physical, &support, properties.driver_version),
            support: Arc::new(support),
        })
    }

    fn is_usable(&self) -> bool {
        self.support.version >= ApiVersion::V1_1 && queues::choose(&self.support.families, 1).is_some()
    }

    /// The GPU's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of GPU.
    #[must_use]
    pub const fn kind(&self) -> AdapterKind {
        self.kind
    }

    /// The vendor's PCI number, or one of Khronos.
    #[must_use]
    pub const fn vendor_id(&self) -> u32 {
        self.vendor_id
    }

    /// The vendor's number of the GPU.
    #[must_use]
    pub const fn device_id(&self) -> u32 {
        self.device_id
    }

    /// The driver's name and version, as reported by the driver.
    #[must_use]
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// The Vulkan version used with it.
    #[must_use]
    pub fn api_version(&self) -> ApiVersion {
        self.support.version
    }

    /// The queue families, in Vulkan's order, for [`DeviceConfig::own_queues`].
    pub fn queue_families(&self) -> impl Iterator<Item = QueueFamily> + '_ {
        self.support.families.iter().map(|found| QueueFamily { flags: found.flags, queues: found.queues })
    }

    /// Creates a device on it. The options of the instance (validation, the sink, the instance's extensions) were
    /// applied by [`adapters`] and are ignored here.
    ///
    /// # Errors
    /// [`CreateError`] if a requested extension is missing, or the driver refuses.
    pub fn create(&self, options: &DeviceConfig) -> Result<Device, CreateError> {
        Device::create_on(self, options)
    }
}

/// Name and version of the driver if it reports them; otherwise its packed number.
fn driver(instance: &Instance, physical: vk::PhysicalDevice, support: &Support, version: u32) -> String {
    let offers =
        support.version >= ApiVersion::V1_2 || support.has_extension(ash::khr::driver_properties::NAME);
    if !offers || support.version < ApiVersion::V1_1 {
        return format!("driver {version:#x}");
    }
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
    // SAFETY: the structure in the chain belongs to the device's version or extensions.
    unsafe { instance.raw.get_physical_device_properties2(physical, &mut properties) };
    let name = driver.driver_name_as_c_str().unwrap_or_default().to_string_lossy();
    let info = driver.driver_info_as_c_str().unwrap_or_default().to_string_lossy();
    format!("{name} {info}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_failed;

    #[test]
    fn a_failing_driver_hides_no_other_adapter() {
        assert_eq!(without_failed([Err("a"), Ok(1), Err("b"), Ok(2)].into_iter()), Ok(vec![1, 2]));
        assert_eq!(without_failed([Err::<u8, _>("a"), Err("b")].into_iter()), Err("a"));
        assert_eq!(without_failed::<u8, u8>([].into_iter()), Ok(vec![]));
    }
}
