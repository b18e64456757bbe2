//! Vulkan.

use std::sync::Arc;

use tenure::vulkan;
use tenure::vulkan::ash::vk;
use tenure::vulkan::{AdapterKind, CreateError, DeviceConfig, Message, MessageKind, Severity};

use super::{Api, Layer};
use crate::adapter_properties::About;
use crate::args::Validation;
use crate::examined::{Failure, Presentation};
use crate::replay::{NoDevice, Opened, Watch};

const NO_LOADER: &str = "install a Vulkan driver and its loader; on Debian, with a device in software: apt \
                         install libvulkan1 mesa-vulkan-drivers";
const NO_ADAPTER: &str = "install the driver of a GPU with Vulkan 1.1; on Debian, one in software: apt install \
                          mesa-vulkan-drivers";
const NO_LAYER: &str = "install it (on Debian: apt install vulkan-validationlayers), or disable it: --validation \
                        off";

/// Vulkan 1.1 and newer.
pub(crate) struct Vulkan;

/// An adapter, and the source of its instance's hazard reports.
pub(crate) struct Adapter {
    inner: vulkan::Adapter,
    watch: Watch,
}

impl Api for Vulkan {
    type Adapter = Adapter;
    type Device = vulkan::Device;

    const NAME: &'static str = "vulkan";

    fn adapters(layer: &Layer) -> Result<Vec<Adapter>, NoDevice> {
        let validated = options(layer).validation(vulkan::Validation::SYNCHRONIZATION);
        let unvalidated = || (vulkan::adapters(&DeviceConfig::default()), Watch::Replay);
        let (found, watch) = match layer.wanted {
            Validation::Off => unvalidated(),
            Validation::On => (vulkan::adapters(&validated), Watch::Validation),
            Validation::Auto => match vulkan::adapters(&validated) {
                Err(CreateError::NoLayer { .. }) => unvalidated(),
                found => (found, Watch::Validation),
            },
        };
        let found = found.map_err(|error| missing(&error))?;
        if found.is_empty() {
            return Err(missing(&CreateError::NoAdapter { found: 0 }));
        }
        Ok(found.into_iter().map(|inner| Adapter { inner, watch }).collect())
    }

    fn name(adapter: &Adapter) -> &str {
        adapter.inner.name()
    }

    fn open(adapter: &Adapter, layer: &Layer) -> Result<Opened<vulkan::Device>, NoDevice> {
        let device = adapter.inner.create(&options(layer)).map_err(|error| missing(&error))?;
        Ok(Opened::new(device, adapter.watch))
    }

    fn present(number: usize, found: &mut Presentation) -> Result<(), Failure> {
        super::headless::present(number, found)
    }

    fn about(Adapter { inner, .. }: &Adapter, device: &vulkan::Device) -> About {
        let uses = device.optional_features().iter_names();
        About {
            kind: match inner.kind() {
                AdapterKind::Discrete => "discrete",
                AdapterKind::Integrated => "integrated",
                AdapterKind::Virtual => "virtual",
                AdapterKind::Cpu => "software",
                AdapterKind::Other => "other",
            },
            version: format!("Vulkan {}", device.api_version()),
            driver: inner.driver().to_owned(),
            vendor: inner.vendor_id(),
            device: inner.device_id(),
            uses: uses.map(|(name, _)| name.to_lowercase().replace('_', " ")).collect(),
        }
    }
}

fn options(layer: &Layer) -> DeviceConfig {
    let hazards = Arc::clone(&layer.hazards);
    DeviceConfig::default().on_message(move |message| {
        if is_hazard(message) {
            hazards.report(message);
        }
    })
}

/// True for errors, and for performance warnings that the layer reports by default.
fn is_hazard(message: &Message) -> bool {
    let is_slow = message.severity == Severity::Warning && message.kind == MessageKind::Performance;
    message.severity == Severity::Error || is_slow
}

fn missing(error: &CreateError) -> NoDevice {
    let remedy = match error {
        CreateError::NoLoader { .. } | CreateError::TooOld { .. } => NO_LOADER,
        CreateError::NoLayer { .. } => NO_LAYER,
        CreateError::NoAdapter { .. } => NO_ADAPTER,
        CreateError::Failed { result: vk::Result::ERROR_INCOMPATIBLE_DRIVER, .. } => NO_ADAPTER,
        _ => "",
    };
    NoDevice { api: Vulkan::NAME, reason: error.to_string(), remedy }
}
