//! Direct3D 12.

use std::sync::Arc;

use tenure::d3d12::{DeviceConfig, LiveObjects, Severity};
use tenure::{d3d12, error::DeviceError};

use super::{Api, Layer};
use crate::adapter_properties::About;
use crate::args::Validation;
use crate::replay::{Hazards, NoDevice, Opened, Watch};

const NO_ADAPTER: &str = "install the driver of a GPU with feature level 11.0";
const NO_LAYER: &str = "install the Graphics Tools of Windows, or disable it: --validation off";

/// Direct3D 12.
pub(crate) struct D3d12;

impl Api for D3d12 {
    type Adapter = d3d12::Adapter;
    type Device = d3d12::Device;

    const NAME: &'static str = "d3d12";

    fn adapters(_: &Layer) -> Result<Vec<d3d12::Adapter>, NoDevice> {
        let found = d3d12::adapters().map_err(|error| missing(&error))?;
        let none =
            || NoDevice { api: Self::NAME, reason: "DXGI reports no adapter".to_owned(), remedy: NO_ADAPTER };
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }

    fn name(adapter: &d3d12::Adapter) -> &str {
        &adapter.info().name
    }

    fn open(adapter: &d3d12::Adapter, layer: &Layer) -> Result<Opened<d3d12::Device>, NoDevice> {
        let options = options(layer);
        let device = d3d12::Device::create_on(adapter, &options).map_err(|error| missing(&error))?;
        let watch = match (device.is_validated(), layer.wanted) {
            (true, _) => Watch::Validation,
            (false, Validation::On) => {
                let reason = "the debug layer is not installed".to_owned();
                return Err(NoDevice { api: Self::NAME, reason, remedy: NO_LAYER });
            }
            (false, Validation::Auto | Validation::Off) => Watch::Replay,
        };
        let last = device.clone();
        Ok(Opened::new(device, watch).afterwards(move |hazards| check_end(&last, hazards)))
    }

    fn about(adapter: &d3d12::Adapter, device: &d3d12::Device) -> About {
        let info = adapter.info();
        About {
            kind: if info.software { "software" } else { "hardware" },
            version: format!("Direct3D 12, feature level {}", device.feature_level()),
            driver: info.driver.map_or_else(|| "unknown".to_owned(), |driver| driver.to_string()),
            vendor: info.vendor,
            device: info.device,
            uses: device.workarounds().faults().iter().map(|row| format!("avoids: {}", row.fault)).collect(),
        }
    }
}

fn options(layer: &Layer) -> DeviceConfig {
    let hazards = Arc::clone(&layer.hazards);
    let report = move |message: &d3d12::Message| {
        if message.severity >= Severity::Error {
            hazards.report(message);
        }
    };
    let validation = layer.wanted != Validation::Off;
    DeviceConfig::default().validation(validation).on_message(report)
}

/// Reports the objects that the device still counts after all of them should have been destroyed.
fn check_end(device: &d3d12::Device, hazards: &Hazards) {
    device.deliver_messages();
    let left = device.live_objects();
    if left != LiveObjects::default() {
        hazards.report(format_args!("objects left at the end: {left:?}"));
    }
}

fn missing(error: &DeviceError) -> NoDevice {
    NoDevice { api: D3d12::NAME, reason: error.to_string(), remedy: NO_ADAPTER }
}
