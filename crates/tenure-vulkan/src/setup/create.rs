//! Making devices.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use ash::vk;
use tenure_core::device::QueueProperties;

use super::adapter::{Adapter, best};
use super::chain::Chain;
use super::queues;
use super::queues::{Planned, plan};
use super::raw::{Raw, wrap};
use super::support::{FeatureChain, Support, both, either, extensions_for, versioned};
use crate::descriptor::{DescriptorTables, buffer_stages};
use crate::device::Device;
use crate::drivers::system_memory;
use crate::error::CreateError;
use crate::features::{ApiVersion, OptionalFeatures, Portability};
use crate::instance::{AddressReports, DeviceConfig};
use crate::loaded::{Api, Facts, Handles, Loaded, Owner, Tables};
use crate::queue::{Clock, Family, Fences, OwnQueue, Queue, Queues, Timeline, create_timeline};
use crate::stages::{QueueStages, ShaderStages};
use crate::{query, structure};

/// A queue before it has a clock.
pub(crate) struct QueueHandle {
    pub(crate) properties: QueueProperties,
    pub(crate) family: Family,
    pub(crate) handle: vk::Queue,
}

/// Creates a device on an adapter, with features of the program.
///
/// # Safety
/// The pointers of the chain are valid.
pub(crate) unsafe fn create(
    adapter: &Adapter,
    options: &DeviceConfig,
    own: vk::PhysicalDeviceFeatures2<'_>,
) -> Result<Device, CreateError> {
    // SAFETY: the caller guarantees the requirements of the call.
    let program = unsafe { Chain::copied(&own) }?;
    let options = &options.clone().features(either(&options.features, &own.features));
    let Adapter { instance, physical, support, .. } = adapter;
    let chosen = queues::choose(&support.families, options.max_queues);
    let chosen = chosen.ok_or(CreateError::NoAdapter { found: 1 })?;
    let planned = plan(&support.families, &chosen, &options.own_queues)?;
    let version = support.version.min(options.api_version);
    if version < ApiVersion::V1_1 {
        return Err(CreateError::TooOld { found: version });
    }
    program.check_device(&instance.raw, *physical, version)?;
    let mut enabled = wanted(support, options, version);
    if instance.addresses.is_none() {
        enabled.remove(OptionalFeatures::ADDRESS_REPORTS);
    }
    let maintenance = instance.swapchain_maintenance(|name| support.has_extension(name));
    if !options.presentation {
        enabled.remove(OptionalFeatures::PRESENTATION);
    }
    if maintenance.is_none() {
        enabled.remove(OptionalFeatures::SWAPCHAIN_MAINTENANCE1);
    }
    let extensions = extensions(support, options, enabled, (version, maintenance))?;
    let features = features(support, options, enabled);
    let device =
        create_device(adapter, &planned, &extensions, with_tenures(program, support, enabled, features)?)?;
    if !instance.debug_utils {
        enabled.remove(OptionalFeatures::DEBUG_NAMES);
    }
    let own_queues = own_queues(&device, &planned);
    let queues = chosen
        .into_iter()
        .map(|(kind, family)| QueueHandle {
            properties: QueueProperties { kind, family },
            family: family_of(&support.families, family),
            // SAFETY: the device was created with a queue of this family at least.
            handle: unsafe { device.get_device_queue(family, 0) },
        })
        .collect();
    let handles = Handles {
        entry: Some(instance.entry.clone()),
        instance: instance.raw.clone(),
        physical: *physical,
        device,
        version,
        enabled,
        features,
        extensions,
        indexing: support.indexing.features,
        portability: support.portability.map_or(Portability::ALL, |enabled| Portability::of(&enabled)),
        other_families: own_queues.iter().map(|own| own.family).collect(),
        assumed_driver: options.assumed_driver,
        has_markers: options.markers,
        fault_folder: options.fault_folder.clone(),
    };
    let device = handles.device.clone();
    let addresses =
        instance.addresses.clone().filter(|_| enabled.contains(OptionalFeatures::ADDRESS_REPORTS));
    assemble(handles, queues, own_queues, (Owner::Tenure(Arc::clone(instance)), addresses)).inspect_err(
        |_| {
            // SAFETY: it was just created, and none of its objects are left.
            unsafe { device.destroy_device(None) };
        },
    )
}

fn own_queues(device: &ash::Device, planned: &[Planned]) -> Vec<OwnQueue> {
    let own = planned.iter().flat_map(Planned::own).map(|(family, index)| OwnQueue {
        // SAFETY: the device was created with more than `index` queues of this family.
        queue: unsafe { device.get_device_queue(family, index) },
        family,
        index,
    });
    own.collect()
}

/// The capabilities of a family; none if it does not exist.
pub(crate) fn family_of(families: &[Family], family: u32) -> Family {
    let found = usize::try_from(family).ok().and_then(|family| families.get(family)).copied();
    found.unwrap_or(Family {
        flags: vk::QueueFlags::empty(),
        queues: 0,
        transfer_granularity: [0; 3],
        timestamp_bits: 0,
    })
}

/// The features both supported and requested, for a version that may be older than the device's.
pub(super) fn wanted(support: &Support, options: &DeviceConfig, version: ApiVersion) -> OptionalFeatures {
    let too_new = versioned().difference(support.offered_in(version));
    let mut enabled = (support.optional & options.usable()).difference(too_new);
    if options.features.robust_buffer_access == vk::TRUE && !support.indexing.is_robust {
        enabled.remove(OptionalFeatures::DESCRIPTOR_INDEXING);
    }
    enabled.without_unmet()
}

pub(super) fn extensions(
    support: &Support,
    options: &DeviceConfig,
    enabled: OptionalFeatures,
    (version, maintenance): (ApiVersion, Option<&'static CStr>),
) -> Result<Vec<CString>, CreateError> {
    let mut names = options.device_extensions.clone();
    let offered = |name: &&CStr| support.has_extension(name);
    let portability = Some(ash::khr::portability_subset::NAME).filter(offered);
    let swapchain = options.presentation.then_some(ash::khr::swapchain::NAME);
    let hdr = options.presentation.then_some(ash::ext::hdr_metadata::NAME).filter(offered);
    for name in extensions_for(enabled, version).chain(portability).chain(swapchain).chain(hdr) {
        let name = match maintenance {
            // Either the KHR or the EXT extension, like the instance's.
            Some(maintenance) if name == ash::ext::swapchain_maintenance1::NAME => maintenance,
            _ => support.offered_name(name).unwrap_or(name),
        };
        if !names.iter().any(|known| known.as_c_str() == name) {
            names.push(name.to_owned());
        }
    }
    match names.iter().find(|name| !support.has_extension(name)) {
        None => Ok(names),
        Some(missing) => Err(CreateError::NoExtension { extension: missing.to_string_lossy().into_owned() }),
    }
}

pub(super) fn features(
    support: &Support,
    options: &DeviceConfig,
    enabled: OptionalFeatures,
) -> vk::PhysicalDeviceFeatures {
    let sparse = OptionalFeatures::SPARSE_BUFFERS | OptionalFeatures::SPARSE_TEXTURES;
    let mut wanted = options.features;
    if enabled.contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
        wanted = wanted
            .shader_uniform_buffer_array_dynamic_indexing(true)
            .shader_sampled_image_array_dynamic_indexing(true)
            .shader_storage_buffer_array_dynamic_indexing(true)
            .shader_storage_image_array_dynamic_indexing(true);
    }
    wanted = wanted
        .occlusion_query_precise(true)
        .pipeline_statistics_query(true)
        .sparse_binding(enabled.intersects(sparse))
        .sparse_residency_buffer(enabled.contains(OptionalFeatures::SPARSE_BUFFERS))
        .sparse_residency_image2_d(enabled.contains(OptionalFeatures::SPARSE_TEXTURES))
        // Tiles may be mapped to more than one resource.
        .sparse_residency_aliased(enabled.intersects(sparse));
    both(&wanted, &support.features)
}

/// The program's chain, with tenure's features enabled.
fn with_tenures(
    mut program: Chain,
    support: &Support,
    enabled: OptionalFeatures,
    features: vk::PhysicalDeviceFeatures,
) -> Result<Chain, CreateError> {
    let mut own = FeatureChain::enabling(enabled, &support.indexing, support.portability);
    let own = own.link(enabled, vk::PhysicalDeviceFeatures2::default().features(features));
    // SAFETY: all that it points to is here.
    program.add(&unsafe { Chain::copied(&own) }?);
    Ok(program)
}

fn create_device(
    adapter: &Adapter,
    planned: &[Planned],
    extensions: &[CString],
    mut features: Chain,
) -> Result<ash::Device, CreateError> {
    let queues: Vec<_> = planned
        .iter()
        .map(|each| {
            vk::DeviceQueueCreateInfo::default()
                .queue_family_index(each.family)
                .queue_priorities(&each.priorities)
        })
        .collect();
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    features.add_implied(extensions);
    let mut info =
        vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    info.p_next = features.link();
    // SAFETY: the physical device belongs to the instance; all pointers in `info` are valid until the call
    // returns.
    let device = unsafe { adapter.instance.raw.create_device(adapter.physical, &info, None) };
    device.map_err(CreateError::failed("vkCreateDevice"))
}

/// Puts everything together.
pub(crate) fn assemble(
    mut handles: Handles,
    queues: Vec<QueueHandle>,
    own_queues: Vec<OwnQueue>,
    (owner, addresses): (Owner, Option<Arc<AddressReports>>),
) -> Result<Device, CreateError> {
    let binds = |queue: &QueueHandle| queue.family.flags.contains(vk::QueueFlags::SPARSE_BINDING);
    if !queues.iter().any(binds) {
        handles.enabled.remove(OptionalFeatures::SPARSE_BUFFERS | OptionalFeatures::SPARSE_TEXTURES);
    }
    let mut families = std::mem::take(&mut handles.other_families);
    families.extend(queues.iter().map(|queue| queue.properties.family));
    let (tables, descriptors) = tables(&handles, &queues);
    let marked = queues.iter().filter(|_| handles.has_markers).map(|queue| queue.handle).collect();
    let api = Api::new(handles)?;
    let clocks = clocks(&api, queues.len())?;
    let shaders = ShaderStages::of(&api);
    let queues = queues.into_iter().zip(clocks).map(|(queue, clock)| {
        let QueueHandle { properties, family, handle } = queue;
        Queue::new((properties, family), QueueStages::new(shaders, family.flags), handle, clock)
    });
    let queues = queues.collect();
    let loaded = Arc::new(Loaded::new(api, tables, families, (owner, marked), addresses));
    Ok(Device::new(Queues::new(loaded, queues, own_queues), descriptors))
}

fn clocks(handles: &Api, count: usize) -> Result<Vec<Clock>, CreateError> {
    if !handles.enabled.contains(OptionalFeatures::TIMELINE_SEMAPHORES) {
        return Ok((0..count).map(|_| Clock::Fences(Fences::default())).collect());
    }
    let mut semaphores = Vec::new();
    for _ in 0..count {
        match create_timeline(&handles.device) {
            Ok(semaphore) => semaphores.push(semaphore),
            Err(result) => {
                for semaphore in semaphores {
                    // SAFETY: it was just created.
                    unsafe { handles.device.destroy_semaphore(semaphore, None) };
                }
                return Err(CreateError::Failed { call: "vkCreateSemaphore", result });
            }
        }
    }
    Ok(semaphores.into_iter().map(|semaphore| Clock::Timeline(Timeline::new(semaphore))).collect())
}

fn tables(handles: &Handles, queues: &[QueueHandle]) -> (Tables, DescriptorTables) {
    let Handles { instance, physical, enabled, features, .. } = handles;
    let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut maintenance4 = vk::PhysicalDeviceMaintenance4Properties::default();
    let has_maintenance4 = enabled.contains(OptionalFeatures::MAINTENANCE4);
    let mut indexing = vk::PhysicalDeviceDescriptorIndexingProperties::default();
    let has_indexing = enabled.contains(OptionalFeatures::DESCRIPTOR_INDEXING);
    let mut buffers = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
    let has_buffers = enabled.contains(OptionalFeatures::DESCRIPTOR_BUFFERS);
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance3);
    if has_maintenance4 {
        properties = properties.push_next(&mut maintenance4);
    }
    if has_indexing {
        properties = properties.push_next(&mut indexing);
    }
    if has_buffers {
        properties = properties.push_next(&mut buffers);
    }
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let has_driver = handles.version >= ApiVersion::V1_2;
    if has_driver {
        properties = properties.push_next(&mut driver);
    }
    // SAFETY: the structures in the chain belong to Vulkan 1.1 and to enabled features.
    unsafe { instance.get_physical_device_properties2(*physical, &mut properties) };
    let properties = properties.properties;
    // SAFETY: the physical device is one of the instance's.
    let memory = unsafe { instance.get_physical_device_memory_properties(*physical) };
    let has_constants = handles.indexing.descriptor_binding_uniform_buffer_update_after_bind == vk::TRUE;
    let indexing = has_indexing.then_some((&indexing, has_constants));
    let (rays, traced) = structure::limits(handles);
    let mut descriptors = DescriptorTables::new(&properties.limits, features, indexing, *enabled, traced);
    if has_buffers {
        let has = |name: &CStr| handles.extensions.iter().any(|known| known.as_c_str() == name);
        descriptors.use_buffers(
            &properties.limits,
            &buffers,
            features.robust_buffer_access == vk::TRUE,
            buffer_stages(has),
        );
    }
    descriptors.cut(maintenance3.max_per_set_descriptors, |layout| {
        let mut support = vk::DescriptorSetLayoutSupport::default();
        // SAFETY: the layout is valid, and uses enabled features only.
        unsafe { handles.device.get_descriptor_set_layout_support(layout, &mut support) };
        support.supported == vk::TRUE
    });
    let tables = Tables::new(Facts {
        properties: &properties,
        descriptors: descriptors.contract,
        memory: &memory,
        max_allocation: maintenance3.max_memory_allocation_size,
        max_buffer: has_maintenance4.then_some(maintenance4.max_buffer_size),
        queues: queues.iter().map(|queue| queue.properties.clone()).collect(),
        queries: query::limits(
            &properties.limits,
            features,
            queues.iter().map(|queue| (queue.properties.kind, queue.family)),
        ),
        rays,
        enabled: *enabled,
        driver: handles.assumed_driver.or_else(|| has_driver.then_some(driver.driver_id)),
        system_memory: system_memory(),
    });
    (tables, descriptors)
}

impl Device {
    /// Creates an instance, and a device on the preferred adapter: a discrete GPU if there is one.
    ///
    /// ```no_run
    /// use tenure_core::{Config, Gpu};
    /// use tenure_vulkan::{Device, DeviceConfig};
    /// let gpu = Gpu::new(Device::create(&DeviceConfig::default())?, Config::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create(options: &DeviceConfig) -> Result<Self, CreateError> {
        Self::create_on(&best(options)?, options)
    }

    /// Creates a device on an adapter: see [`Adapter::create`].
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create_on(adapter: &Adapter, options: &DeviceConfig) -> Result<Self, CreateError> {
        // SAFETY: the chain is empty.
        unsafe { Self::create_on_with(adapter, options, vk::PhysicalDeviceFeatures2::default()) }
    }

    /// As [`create`](Self::create), but also enables the program's own features: all that are set in the chain,
    /// including Vulkan 1.0's. The device must support them; it may lack features of [`DeviceConfig::features`].
    ///
    /// The chain is copied, and never written to. tenure's features are enabled in the copy: in the program's
    /// structure if the chain has one for the feature, including a structure of a whole version of Vulkan, which
    /// forbids the smaller ones in the same chain.
    ///
    /// Structures that [`ash`] does not know are linked unchanged. They must be at the end of the chain, behind
    /// all others; `push_next` leaves the first pushed structure there.
    ///
    /// Features that the chain enables and [`DeviceConfig::without`] names are enabled for the program, but not used
    /// by tenure: they are not in [`optional_features`](Self::optional_features).
    ///
    /// ```no_run
    /// use ash::vk;
    /// use tenure_vulkan::{CreateError, Device, DeviceConfig};
    ///
    /// fn create() -> Result<Device, CreateError> {
    ///     let mut newer = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    ///     let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
    ///     // SAFETY: the chain is valid.
    ///     unsafe { Device::create_with(&DeviceConfig::default(), features) }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CreateError`]; [`CreateError::NoFeature`] names a feature that the device does not have, except for
    /// structures that `ash` does not know, which give [`CreateError::Failed`]; [`CreateError::InvalidFeatures`]
    /// for a chain that Vulkan forbids (a structure twice, a structure of a newer version than
    /// [`DeviceConfig::api_version`] allows, or a version's structure beside a part of it), or with an unknown
    /// structure before a known one.
    ///
    /// # Safety
    /// The pointers of the chain are valid during the call. The requirements of its features are enabled: other
    /// features, and their extensions, in [`DeviceConfig::device_extensions`].
    pub unsafe fn create_with(
        options: &DeviceConfig,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller guarantees the requirements of the call.
        unsafe { Self::create_on_with(&best(options)?, options, features) }
    }

    /// As [`create_with`](Self::create_with), on an adapter.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    ///
    /// # Safety
    /// As [`create_with`](Self::create_with).
    pub unsafe fn create_on_with(
        adapter: &Adapter,
        options: &DeviceConfig,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller guarantees the requirements of the call.
        unsafe { create(adapter, options, features) }
    }

    /// Wraps a device created by the program, and never destroys the program's objects.
    ///
    /// Its queues are then used for tenure's submissions: the program submits to them only inside
    /// [`Gpu::submit_external`](tenure_core::Gpu::submit_external), and uses them otherwise inside
    /// [`with_queue`](Self::with_queue).
    ///
    /// # Errors
    /// [`CreateError::TooOld`], [`CreateError::InvalidRaw`]; [`CreateError::ExtensionNotEnabled`] when something that
    /// `raw` calls enabled is of an extension which is neither in [`Raw::extensions`] nor part of
    /// [`Raw::api_version`], and [`CreateError::NoFunction`] when the device lacks a function of it, both unless
    /// [`DeviceConfig::without`] names it; [`CreateError::Failed`] when semaphores cannot be made.
    ///
    /// # Safety
    /// `raw` is correct: the objects belong together, and they were created with these versions, features and
    /// extensions. They stay valid until this device, its clones and all objects made with it are dropped. Until
    /// then the program uses the queues only inside [`Gpu::submit_external`](tenure_core::Gpu::submit_external)
    /// or [`with_queue`](Self::with_queue). `vkDeviceWaitIdle` uses all queues. With [`DeviceConfig::address_reports`], the program
    /// does not use the instance or its devices on another thread during this call, and while the last object of this device is
    /// dropped: Vulkan does not allow that for messengers.
    pub unsafe fn from_raw(raw: Raw, options: &DeviceConfig) -> Result<Self, CreateError> {
        // SAFETY: the caller guarantees the requirements of the call.
        unsafe { wrap(raw, options) }
    }
}
